/* work.c - see work.h. */
#include "work.h"

#include "common/base/alloc.h"
#include "marker.h"

struct step {
    struct runtime *rt;
    struct queue *q;
    work_then_fn then;
    void *ctx;
    const char *what;
    char key[];
};

int64_t work_retry_ns(const struct err *e)
{
    switch (e->kind) {
    case ERR_CONFLICT:
        return WORK_CONFLICT_NS;
    case ERR_CANCELLED:
        return WORK_REFUSED_NS;
    case ERR_FORBIDDEN:
    case ERR_INVALID:
        return WORK_FORBIDDEN_NS;
    default:
        return e->retry_after_ns;
    }
}

static void step_done(void *arg, const struct kube_resp *resp)
{
    struct step *st = arg;
    const struct err *e = &resp->err;
    if (st->then) {
        st->then(st->ctx, st->key, resp);
    }
    if (e->kind == ERR_NONE) {
        queue_done(st->q, st->key, QUEUE_OK, 0);
        return;
    }
    if (e->kind == ERR_CONFLICT || e->kind == ERR_CANCELLED || e->kind == ERR_NOT_FOUND) {
        log_debug(st->rt->log, "write not done", "what", st->what, "name", st->key, "error",
                  e->msg);
    } else {
        log_error(st->rt->log, "write failed", "what", st->what, "name", st->key, "error", e->msg);
    }
    queue_done(st->q, st->key, QUEUE_FAIL, work_retry_ns(e));
}

static struct step *step_new(const struct work *w, const char *what)
{
    size_t n = strlen(w->key) + 1;
    struct step *st = xcalloc(1, sizeof(*st) + n);
    st->rt = w->rt;
    st->q = w->q;
    st->then = w->then;
    st->ctx = w->ctx;
    st->what = what;
    memcpy(st->key, w->key, n);
    queue_attach(w->q, w->key, st);
    return st;
}

enum queue_verdict work_patch(const struct work *w, enum kube_kind kind, const char *ns,
                              const char *name, const char *sub, json_t *patch, const char *rv)
{
    if (marker_is_aside(w->rt->marker, kube_kind(kind)->kind, ns, name)) {
        json_decref(patch);
        return QUEUE_FAIL;
    }
    struct step *st = step_new(w, "patch");
    kube_patch(&w->rt->client, kind, ns, name, *sub ? sub : NULL, patch, rv, step_done, st);
    json_decref(patch);
    return QUEUE_BUSY;
}

enum queue_verdict work_delete(const struct work *w, enum kube_kind kind, const char *ns,
                               const char *name, const char *uid)
{
    return work_delete_at(w, kind, ns, name, uid, NULL);
}

enum queue_verdict work_delete_at(const struct work *w, enum kube_kind kind, const char *ns,
                                  const char *name, const char *uid, const char *rv)
{
    struct step *st = step_new(w, "delete");
    struct kube_delete_opts o = {.uid = uid, .resource_version = rv, .grace_s = -1};
    kube_delete(&w->rt->client, kind, ns, name, &o, step_done, st);
    return QUEUE_BUSY;
}
