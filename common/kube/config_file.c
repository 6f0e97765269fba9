#include "config_file.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/yamlx.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define LOOKED_AT_MAX 400u

int kube_read_file(struct arena *a, const char *path, size_t max, const char **ret, size_t *ret_n,
                   struct err *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int os = errno;
    if (fd < 0) {
        err_set(reterr, os == ENOENT ? ERR_NOT_FOUND : ERR_INVALID, "%s: %s", path, strerror(os));
        return -1;
    }
    AUTO_BUF struct buf b;
    buf_init(&b, max);
    char block[4096];
    ssize_t n;
    while ((n = read(fd, block, sizeof(block))) > 0 && buf_put(&b, block, (size_t)n) == 0) {
    }
    os = errno;
    close(fd);
    if (b.over) {
        return err_set(reterr, ERR_LIMIT, "%s is longer than %zu bytes", path, max);
    }
    if (n < 0) {
        return err_set(reterr, ERR_INVALID, "%s: %s", path, strerror(os));
    }
    *ret = arena_strndup(a, "", 0);
    if (b.n) {
        char *copy = arena_alloc(a, b.n + 1);
        memcpy(copy, b.p, b.n);
        *ret = copy;
    }
    *ret_n = b.n;
    return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *dir_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) {
        return ".";
    }
    return slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

static int parse_file(const char *path, const char *p, size_t n, json_t **ret, struct err *reterr)
{
    json_t *docs = yamlx_parse_all(p, n, path, NULL, reterr);
    if (!docs) {
        return -1;
    }
    json_t *root = json_array_get(docs, 0);
    int rc = 0;
    if (!root) {
        *ret = json_object(); /* an empty file is an empty configuration */
    } else if (!json_is_object(root)) {
        rc = err_set(reterr, ERR_INVALID, "%s is no kubeconfig: not a mapping", path);
    } else {
        *ret = json_incref(root);
    }
    json_decref(docs);
    return rc;
}

/* required: a missing file is an error, not a file to skip. */
static int add_file(struct config_files *f, struct arena *a, const char *path, bool required,
                    struct err *reterr)
{
    for (size_t i = 0; i < f->n; i++) {
        if (str_eq(f->v[i].path, path)) {
            return 0;
        }
    }
    buf_printf(&f->looked_at, "%s%s", f->looked_at.n ? ", " : "", path);
    if (f->n >= KUBE_CONFIG_FILES_MAX) {
        return err_set(reterr, ERR_LIMIT, "KUBECONFIG names more than %u files",
                       KUBE_CONFIG_FILES_MAX);
    }
    const char *p;
    size_t n;
    struct err err = ERR_INIT;
    if (kube_read_file(a, path, KUBE_CONFIG_FILE_MAX, &p, &n, &err)) {
        if (err.kind == ERR_NOT_FOUND && !required) {
            return 0;
        }
        return err_set(reterr, err.kind, "kubeconfig %s", err.msg);
    }
    json_t *root = NULL;
    if (parse_file(path, p, n, &root, reterr)) {
        return err_wrap(reterr, "kubeconfig");
    }
    f->v[f->n++] =
        (struct config_file){.path = arena_strdup(a, path), .dir = dir_of(a, path), .root = root};
    return 0;
}

static int add_list(struct config_files *f, struct arena *a, const char *list, struct err *reterr)
{
    while (*list) {
        size_t n = strcspn(list, ":");
        if (n > 0 && add_file(f, a, arena_strndup(a, list, n), false, reterr)) {
            return -1;
        }
        list += n;
        list += *list == ':';
    }
    return 0;
}

int config_files_load(struct config_files *f, struct arena *a, const struct kube_flags *flags,
                      const struct kube_env *env, struct err *reterr)
{
    f->n = 0;
    buf_init(&f->looked_at, LOOKED_AT_MAX);
    int rc = 0;
    if (flags->kubeconfig && *flags->kubeconfig) {
        rc = add_file(f, a, flags->kubeconfig, true, reterr);
    } else if (env->kubeconfig && *env->kubeconfig) {
        rc = add_list(f, a, env->kubeconfig, reterr);
    } else if (env->home && *env->home) {
        rc = add_file(f, a, arena_printf(a, "%s/.kube/config", env->home), false, reterr);
    }
    if (rc) {
        config_files_done(f);
    }
    return rc;
}

void config_files_done(struct config_files *f)
{
    for (size_t i = 0; i < f->n; i++) {
        json_decref(f->v[i].root);
    }
    f->n = 0;
    buf_done(&f->looked_at);
}

const char *config_files_current(const struct config_files *f)
{
    for (size_t i = 0; i < f->n; i++) {
        const char *s = json_string_value(json_object_get(f->v[i].root, "current-context"));
        if (s && *s) {
            return s;
        }
    }
    return NULL;
}

struct config_entry config_files_find(const struct config_files *f, struct arena *a,
                                      const char *list, const char *item, const char *name)
{
    struct config_entry e = {NULL, NULL, NULL};
    for (size_t i = 0; i < f->n && !e.o; i++) {
        size_t k;
        json_t *v;
        json_array_foreach (json_object_get(f->v[i].root, list), k, v) {
            if (str_eq(json_string_value(json_object_get(v, "name")), name)) {
                e.o = json_object_get(v, item);
                e.file = &f->v[i];
                e.where = arena_printf(a, "%s \"%s\" in %s", item, name, f->v[i].path);
                break;
            }
        }
    }
    return e;
}

/* ---- fields ---------------------------------------------------------------------------------- */

int config_str(const struct config_entry *e, struct arena *a, const char *key, const char **ret,
               struct err *reterr)
{
    const json_t *v = json_object_get(e->o, key);
    *ret = NULL;
    if (!v || json_is_null(v)) {
        return 0;
    }
    if (!json_is_string(v)) {
        return err_set(reterr, ERR_INVALID, "%s: %s is not a string", e->where, key);
    }
    if (json_string_length(v) > 0) {
        *ret = arena_strdup(a, json_string_value(v));
    }
    return 0;
}

int config_bool(const struct config_entry *e, const char *key, bool *ret, struct err *reterr)
{
    const json_t *v = json_object_get(e->o, key);
    *ret = json_is_true(v);
    if (v && !json_is_boolean(v) && !json_is_null(v)) {
        return err_set(reterr, ERR_INVALID, "%s: %s is not true or false", e->where, key);
    }
    return 0;
}

const char *config_path(const struct config_entry *e, struct arena *a, const char *path)
{
    return path[0] == '/' ? path : arena_printf(a, "%s/%s", e->file->dir, path);
}

int config_material(const struct config_entry *e, struct arena *a, const char *key,
                    const char **ret, size_t *ret_n, const char **ret_file, struct err *reterr)
{
    const char *data, *file;
    const char *data_key = arena_printf(a, "%s-data", key);
    *ret = NULL;
    *ret_n = 0;
    if (config_str(e, a, data_key, &data, reterr) || config_str(e, a, key, &file, reterr)) {
        return -1;
    }
    if (data) {
        uint8_t *bytes = base64_decode(data, ret_n);
        if (!bytes) {
            return err_set(reterr, ERR_INVALID, "%s: %s is not base64", e->where, data_key);
        }
        char *copy = arena_alloc(a, *ret_n + 1);
        memcpy(copy, bytes, *ret_n);
        free(bytes);
        *ret = copy;
        return 0;
    }
    if (!file) {
        return 0;
    }
    file = config_path(e, a, file);
    if (ret_file) {
        *ret_file = file;
    }
    if (kube_read_file(a, file, KUBE_CONFIG_FILE_MAX, ret, ret_n, reterr)) {
        return err_wrap(reterr, "%s: %s", e->where, key);
    }
    return 0;
}

/* ---- exec ------------------------------------------------------------------------------------ */

static int exec_mode(const struct config_entry *e, const struct kube_exec *x, const char *mode,
                     enum kube_exec_mode *ret, struct err *reterr)
{
    static const char *const names[] = {"Never", "IfAvailable", "Always"};
    *ret = EXEC_IF_AVAILABLE;
    if (!mode && str_ends(x->api_version, "/v1beta1")) {
        return 0;
    }
    for (size_t i = 0; mode && i < ARRAY_LEN(names); i++) {
        if (str_eq(mode, names[i])) {
            *ret = (enum kube_exec_mode)i;
            return 0;
        }
    }
    return err_set(reterr, ERR_INVALID,
                   "%s: exec: interactiveMode \"%s\" must be Never, "
                   "IfAvailable or Always",
                   e->where, mode ? mode : "");
}

static int exec_version(const struct config_entry *e, const char *version, struct err *reterr)
{
    if (str_eq(version, "client.authentication.k8s.io/v1") ||
        str_eq(version, "client.authentication.k8s.io/v1beta1")) {
        return 0;
    }
    if (str_eq(version, "client.authentication.k8s.io/v1alpha1")) {
        return err_set(reterr, ERR_INVALID,
                       "%s: exec apiVersion %s is no longer supported: upgrade the plugin that "
                       "wrote this entry and have it write the entry anew (for EKS: upgrade the "
                       "aws CLI, then aws eks update-kubeconfig)",
                       e->where, version);
    }
    return err_set(reterr, ERR_INVALID, "%s: exec apiVersion \"%s\" is unknown", e->where,
                   version ? version : "");
}

static int exec_args(const struct config_entry *e, struct arena *a, struct kube_exec *x,
                     struct err *reterr)
{
    const json_t *list = json_object_get(e->o, "args");
    const char **args = ARENA_NEW_N(a, const char *, json_array_size(list) + 1);
    size_t i;
    json_t *v;
    json_array_foreach (list, i, v) {
        if (!json_is_string(v)) {
            return err_set(reterr, ERR_INVALID, "%s: exec args are not all strings", e->where);
        }
        args[i] = arena_strdup(a, json_string_value(v));
    }
    x->args = args;
    x->n_args = json_array_size(list);
    return 0;
}

static int exec_env(const struct config_entry *e, struct arena *a, struct kube_exec *x,
                    struct err *reterr)
{
    const json_t *list = json_object_get(e->o, "env");
    struct kube_exec_env *env = ARENA_NEW_N(a, struct kube_exec_env, json_array_size(list) + 1);
    size_t i;
    json_t *v;
    json_array_foreach (list, i, v) {
        const char *name = jsonx_str(v, "name");
        const char *value = jsonx_str(v, "value");
        if (!name || !*name || strchr(name, '=') || !value) {
            return err_set(reterr, ERR_INVALID, "%s: exec env needs name and value", e->where);
        }
        env[i] = (struct kube_exec_env){arena_strdup(a, name), arena_strdup(a, value)};
    }
    x->env = env;
    x->n_env = json_array_size(list);
    return 0;
}

static json_t *exec_cluster_config(const struct config_entry *cluster)
{
    size_t i;
    json_t *v;
    json_array_foreach (json_object_get(cluster->o, "extensions"), i, v) {
        if (str_eq(jsonx_str(v, "name"), "client.authentication.k8s.io/exec")) {
            return json_incref(json_object_get(v, "extension"));
        }
    }
    return NULL;
}

int config_exec(const struct config_entry *user, const struct config_entry *cluster,
                struct arena *a, struct kube_exec **ret, struct err *reterr)
{
    *ret = NULL;
    const json_t *o = json_object_get(user->o, "exec");
    if (!o || json_is_null(o)) {
        return 0;
    }
    struct config_entry e = {o, user->file, user->where};
    struct kube_exec *x = ARENA_NEW(a, struct kube_exec);
    const char *mode, *hint;
    if (config_str(&e, a, "apiVersion", &x->api_version, reterr) ||
        config_str(&e, a, "command", &x->command, reterr) ||
        config_str(&e, a, "interactiveMode", &mode, reterr) ||
        config_str(&e, a, "installHint", &hint, reterr) ||
        config_bool(&e, "provideClusterInfo", &x->provide_cluster_info, reterr) ||
        exec_version(&e, x->api_version, reterr) || exec_mode(&e, x, mode, &x->mode, reterr) ||
        exec_args(&e, a, x, reterr) || exec_env(&e, a, x, reterr)) {
        return -1;
    }
    if (!x->command) {
        return err_set(reterr, ERR_INVALID, "%s: exec has no command", e.where);
    }
    if (strchr(x->command, '/')) {
        x->command = config_path(&e, a, x->command);
    }
    x->install_hint = hint ? hint : "";
    x->cluster_config = exec_cluster_config(cluster);
    *ret = x;
    return 0;
}
