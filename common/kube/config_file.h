/*
 * config_file.h - internal to kube: the kubeconfig files of one load, as parsed.
 *
 * Entries are looked up over all files in order, so the first file that defines a name wins whole,
 * and each entry knows the file it came from: relative paths belong to that.
 */
#ifndef KARP_KUBE_CONFIG_FILE_H
#define KARP_KUBE_CONFIG_FILE_H

#include "common/base/buf.h"
#include "config.h"

struct config_file {
    const char *path, *dir;
    json_t *root; /* owned */
};

struct config_files {
    struct config_file v[KUBE_CONFIG_FILES_MAX];
    size_t n;
    struct buf looked_at; /* for messages: every path that was tried */
};

/* An entry: the object under "cluster", "user" or "context", and whose it is. */
struct config_entry {
    const json_t *o; /* NULL = there is none of that name */
    const struct config_file *file;
    const char *where; /* "user \"x\" in FILE" */
};

int config_files_load(struct config_files *f, struct arena *a, const struct kube_flags *flags,
                      const struct kube_env *env, struct err *reterr);
void config_files_done(struct config_files *f);

/* The first current-context that is not empty, or NULL. */
const char *config_files_current(const struct config_files *f);
/* list "clusters", item "cluster", … */
struct config_entry config_files_find(const struct config_files *f, struct arena *a,
                                      const char *list, const char *item, const char *name);

/* A field of an entry: absent and null give NULL, another type is an error. */
int config_str(const struct config_entry *e, struct arena *a, const char *key, const char **ret,
               struct err *reterr);
int config_bool(const struct config_entry *e, const char *key, bool *ret, struct err *reterr);
/* key-data in base64, else the file that key names; *ret_file (may be NULL) is that file. */
int config_material(const struct config_entry *e, struct arena *a, const char *key,
                    const char **ret, size_t *ret_n, const char **ret_file, struct err *reterr);
/* path as it is if absolute, else under the entry's file. */
const char *config_path(const struct config_entry *e, struct arena *a, const char *path);
/* The exec section of a user; *ret NULL if there is none. */
int config_exec(const struct config_entry *user, const struct config_entry *cluster,
                struct arena *a, struct kube_exec **ret, struct err *reterr);

#endif
