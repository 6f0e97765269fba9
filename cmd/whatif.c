/* whatif.c - see whatif.h. */
#include "whatif.h"

#include "cmd/read/input.h"
#include "cmd/read/workload.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/yamlx.h"
#include "setpath.h"

struct touched {
    enum kube_kind kind;
    const char *ns, *name;
    int64_t n; /* pods, -1 = what the object asks for */
};

struct whatif {
    struct session *s;
    struct touched *v;
    size_t n, cap;
    struct err *err;
};

bool whatif_any(const struct cmd_opts *o)
{
    return o->files.n || o->scales.n || o->sets.n;
}

bool whatif_reads_stdin(const struct cmd_opts *o)
{
    bool ret = false;
    for (size_t i = 0; i < o->files.n; i++) {
        ret = ret || str_eq(o->files.v[i], "-");
    }
    return ret;
}

uint64_t whatif_kinds(const struct cmd_opts *o)
{
    uint64_t workloads = GATHER(KIND_DEPLOYMENT) | GATHER(KIND_STATEFUL_SET) |
                         GATHER(KIND_REPLICA_SET) | GATHER(KIND_JOB);
    uint64_t admission = GATHER(KIND_PRIORITY_CLASS) | GATHER(KIND_RESOURCE_QUOTA);
    return (o->scales.n || o->sets.n ? workloads : 0) | (whatif_any(o) ? admission : 0);
}

static void touch(struct whatif *x, const struct object *o, int64_t n)
{
    struct arena *a = &x->s->a;
    for (size_t i = 0; i < x->n; i++) {
        struct touched *t = &x->v[i];
        if (t->kind == o->kind && str_eq(t->ns, o->ns) && str_eq(t->name, o->name)) {
            t->n = n >= 0 ? n : t->n;
            return;
        }
    }
    ARENA_GROW(a, x->v, x->n, x->cap);
    x->v[x->n++] = (struct touched){o->kind, arena_strdup(a, o->ns), arena_strdup(a, o->name), n};
}

/* ---- files ----------------------------------------------------------------------------------- */

/* kind and api_version: what the list says, for items that do not. */
static int add_object(struct whatif *x, const char *path, json_t *o, const char *kind,
                      const char *api_version)
{
    enum kube_kind k;
    const char *own_kind = jsonx_str(o, "kind"), *name = jsonx_str_or(o, "metadata.name", "");
    kind = own_kind ? own_kind : kind;
    api_version = own_kind ? jsonx_str(o, "apiVersion") : api_version;
    if (!json_is_object(o) || !kind || !kube_kind_find(kind, api_version, &k)) {
        cmd_warn(x->s->c, "%s: %s%s%s is of no kind that karp knows and is left out", path,
                 kind ? kind : "an object", *name ? " " : "", name);
        return 0;
    }
    if (!*name) {
        return err_set(x->err, ERR_INVALID, "%s: %s without metadata.name", path, kind);
    }
    json_t *own = json_deep_copy(o);
    if (kube_kind(k)->namespaced && !*jsonx_str_or(own, "metadata.namespace", "")) {
        jsonx_set_new(own, "metadata.namespace", json_string(session_ns(x->s)));
    }
    objects_put(x->s->keep, k, own);
    const struct object *at =
        objects_find(x->s->keep, k, jsonx_str_or(own, "metadata.namespace", ""), name);
    if (at && workload_is(k)) {
        touch(x, at, -1);
    }
    json_decref(own);
    return 0;
}

static int add_document(struct whatif *x, const char *path, json_t *doc)
{
    const json_t *items = jsonx_arr(doc, "items");
    if (!json_is_object(doc)) {
        return err_set(x->err, ERR_INVALID, "%s: not an object", path);
    }
    if (!items || !str_ends(jsonx_str_or(doc, "kind", ""), "List")) {
        return add_object(x, path, doc, NULL, NULL);
    }
    size_t i;
    json_t *o;
    const char *list = jsonx_str(doc, "kind"); /* "PodList" */
    const char *kind = arena_strndup(&x->s->a, list, strlen(list) - strlen("List"));
    json_array_foreach ((json_t *)(uintptr_t)items, i, o) {
        if (add_object(x, path, o, *kind ? kind : NULL, jsonx_str(doc, "apiVersion")) != 0) {
            return -1;
        }
    }
    return 0;
}

static int add_file(struct whatif *x, const char *path)
{
    AUTO_BUF struct buf text;
    buf_init(&text, INPUT_FILE_MAX);
    if (input_read(path, &text, x->err) != 0) {
        return -1;
    }
    AUTO_JSON json_t *docs = yamlx_parse_all(text.p, text.n, path, NULL, x->err);
    if (!docs) {
        return -1;
    }
    size_t i;
    json_t *doc;
    json_array_foreach (docs, i, doc) {
        if (add_document(x, path, doc) != 0) {
            return -1;
        }
    }
    return 0;
}

static int add_path(struct whatif *x, const char *path)
{
    const char *const *files;
    size_t n;
    if (str_eq(path, "-")) {
        return add_file(x, path);
    }
    if (input_files(&x->s->a, path, &files, &n, x->err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        if (add_file(x, files[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- --set ----------------------------------------------------------------------------------- */

static const struct object *object_of(const struct whatif *x, const struct setpath *p)
{
    bool namespaced = kube_kind(p->kind)->namespaced;
    const char *ns = !namespaced ? "" : p->ns ? p->ns : session_ns(x->s);
    return objects_find(x->s->keep, p->kind, ns, p->name);
}

static int unknown_object(const struct whatif *x, const struct setpath *p)
{
    bool namespaced = kube_kind(p->kind)->namespaced;
    return err_set(x->err, ERR_NOT_FOUND, "--set %s: there is no %s %s%s%s%s", p->text,
                   kube_kind(p->kind)->kind, p->name, namespaced ? " in namespace " : "",
                   namespaced ? (p->ns ? p->ns : session_ns(x->s)) : "",
                   x->s->w.hidden[p->kind] ? " (not allowed to list them)" : "");
}

/* *ret_later: the object is not there (yet). */
static int set_one(struct whatif *x, const char *text, bool *ret_later)
{
    struct setpath p;
    int rc = setpath_parse(&x->s->a, text, &p, x->err);
    if (rc == 0 && (str_eq(p.path, "metadata.name") || str_eq(p.path, "metadata.namespace"))) {
        rc = err_set(x->err, ERR_INVALID, "--set %s: names cannot be changed", text);
    }
    const struct object *at = rc == 0 ? object_of(x, &p) : NULL;
    if (rc == 0 && !at && !ret_later) {
        rc = unknown_object(x, &p);
    } else if (rc == 0 && !at) {
        *ret_later = true;
    } else if (rc == 0) {
        rc = setpath_apply(&p, objects_edit(x->s->keep, at), x->err);
        if (rc == 0 && workload_is(p.kind)) {
            touch(x, object_of(x, &p), -1);
        }
    }
    setpath_done(&p);
    return rc;
}

/* ---- --scale --------------------------------------------------------------------------------- */

static int bad_scale(const struct whatif *x, const char *text)
{
    return err_set(x->err, ERR_INVALID,
                   "--scale %s: say NAMESPACE/NAME=N or NAMESPACE/KIND/NAME=N, N from 0 to %d",
                   text, WORKLOAD_PODS_MAX);
}

static const struct object *workload_of(const struct whatif *x, const char *kind, const char *ns,
                                        const char *name)
{
    static const enum kube_kind either[] = {KIND_DEPLOYMENT, KIND_STATEFUL_SET};
    enum kube_kind k;
    if (kind) {
        bool known = objects_kind(kind, &k) && workload_is(k);
        return known ? objects_find(x->s->keep, k, ns, name) : NULL;
    }
    const struct object *ret = NULL;
    for (size_t i = 0; !ret && i < ARRAY_LEN(either); i++) {
        ret = objects_find(x->s->keep, either[i], ns, name);
    }
    return ret;
}

static int scale_one(struct whatif *x, const char *text)
{
    struct arena *a = &x->s->a;
    const char *equals = strrchr(text, '='), *kind = NULL;
    int64_t n;
    if (!equals || !str_parse_i64(equals + 1, &n) || n < 0 || n > WORKLOAD_PODS_MAX) {
        return bad_scale(x, text);
    }
    char *ns = arena_strndup(a, text, (size_t)(equals - text));
    char *name = strchr(ns, '/');
    if (!name) {
        return bad_scale(x, text);
    }
    *name++ = '\0';
    char *second = strchr(name, '/');
    if (second) {
        *second = '\0';
        kind = name;
        name = second + 1;
    }
    if (!*ns || !*name || strchr(name, '/')) {
        return bad_scale(x, text);
    }
    const struct object *w = workload_of(x, kind, ns, name);
    if (!w) {
        bool hidden = x->s->w.hidden[KIND_DEPLOYMENT] || x->s->w.hidden[KIND_STATEFUL_SET];
        return err_set(x->err, ERR_NOT_FOUND, "--scale %s: there is no %s %s in namespace %s%s",
                       text, kind ? kind : "Deployment or StatefulSet", name, ns,
                       hidden ? " (not allowed to list them)" : "");
    }
    touch(x, w, n);
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void scale_all(struct whatif *x, bool aloud)
{
    struct session *s = x->s;
    for (size_t i = 0; i < x->n; i++) {
        const struct touched *t = &x->v[i];
        const struct object *w = objects_find(s->keep, t->kind, t->ns, t->name);
        if (w) {
            int64_t n = t->n >= 0 ? t->n : workload_wants(t->kind, w->o);
            struct held held;
            if (!workload_scale(s->keep, &s->a, s->w.decoder, w, n, s->w.now_ns, &held) && aloud) {
                held_add(&s->held, &s->a, &held);
            }
        }
    }
}

int whatif_apply(struct session *s, bool with_sets, struct err *reterr)
{
    const struct cmd_opts *o = s->c->o;
    struct whatif x = {.s = s, .err = reterr};
    bool *later = ARENA_NEW_N(&s->a, bool, o->sets.n);
    for (size_t i = 0; i < o->files.n; i++) {
        if (add_path(&x, o->files.v[i]) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; with_sets && i < o->sets.n; i++) {
        if (set_one(&x, o->sets.v[i], &later[i]) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < o->scales.n; i++) {
        if (scale_one(&x, o->scales.v[i]) != 0) {
            return -1;
        }
    }
    scale_all(&x, with_sets);
    for (size_t i = 0; with_sets && i < o->sets.n; i++) {
        if (later[i] && set_one(&x, o->sets.v[i], NULL) != 0) {
            return -1;
        }
    }
    world_reload(&s->w);
    return 0;
}
