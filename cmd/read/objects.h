/*
 * objects.h - API objects as they came, by kind, namespace and name.
 *
 * Objects given are never changed: who wants to change one takes a copy (objects_edit), which takes
 * its place. Removed objects leave no trace. Order is that of first appearance; objects_sort puts
 * kinds in the order of enum kube_kind, and within a kind namespaces and names by string.
 */
#ifndef KARP_CMD_OBJECTS_H
#define KARP_CMD_OBJECTS_H

#include "common/kube/client.h"

#include <stdbool.h>

#define OBJECTS_KEPT_MAX 5000000u

struct object {
    enum kube_kind kind;
    const char *ns, *name; /* in o */
    json_t *o;
};

struct objects;

struct objects *objects_new(void);
/* The same objects; what is done to one is not done to the other. */
struct objects *objects_clone(const struct objects *s);
void objects_free(struct objects *s); /* NULL is fine */

/* Takes o's place if there is one of that name. Past OBJECTS_KEPT_MAX nothing is added. */
void objects_put(struct objects *s, enum kube_kind k, const json_t *o);
/* NULL if there is none. ns is "" for cluster-scoped kinds. */
const struct object *objects_find(const struct objects *s, enum kube_kind k, const char *ns,
                                  const char *name);
/* A copy of its own to be changed in place, borrowed; name and namespace are to stay. */
json_t *objects_edit(struct objects *s, const struct object *at);
void objects_del(struct objects *s, enum kube_kind k, const char *ns, const char *name);
void objects_forget(struct objects *s, enum kube_kind k);
void objects_sort(struct objects *s);

size_t objects_n(const struct objects *s);
const struct object *objects_at(const struct objects *s, size_t i);

/* "pod", "pods", "po", "Pod": any spelling that kubectl takes. */
bool objects_kind(const char *word, enum kube_kind *ret);

#endif
