#include "watch.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "list.h"

/* A watch that ends in order sooner than this, without a word, is a failure: else a server that
 * closes at once would be asked in a tight loop. */
#define SHORT_LIFE_NS NS_PER_S

struct watch {
    struct kube_client client;
    struct timers *timers;
    const struct clock *clock;
    struct entropy *entropy;
    enum kube_kind kind;
    char *ns, *label_selector, *field_selector;
    unsigned limit;
    struct watch_cb cb;
    void *arg;
    /* at most one of these three is at work */
    struct kube_lister *lister;
    uint64_t handle;
    struct timer retry;
    struct timer stall;
    char *resource_version; /* where to go on; NULL = list first */
    bool synced, unhealthy;
    struct err err;
    unsigned failures; /* since two minutes of health */
    unsigned tries;    /* failed watches in a row without a word */
    int64_t failed_ns, heard_ns, opened_ns;
    bool heard_one; /* since the watch was opened */
};

static void watch_go(struct watch *w);

static int64_t now_ns(const struct watch *w)
{
    return clock_mono(w->clock);
}

static void heard(struct watch *w)
{
    w->heard_ns = now_ns(w);
    w->heard_one = true;
    w->unhealthy = false;
    w->tries = 0;
}

/* ---- failures -------------------------------------------------------------------------------- */

static void on_retry(void *arg)
{
    watch_go(arg);
}

static int64_t backoff_ns(struct watch *w)
{
    int64_t step_ns = 2 * WATCH_BACKOFF_MIN_NS;
    for (unsigned i = 1; i < w->failures && step_ns < WATCH_BACKOFF_MAX_NS; i++) {
        step_ns *= 2;
    }
    step_ns = step_ns < WATCH_BACKOFF_MAX_NS ? step_ns : WATCH_BACKOFF_MAX_NS;
    return step_ns / 2 + (int64_t)entropy_below(w->entropy, (uint64_t)(step_ns / 2) + 1);
}

/* Tries again later. Tells the owner last of all, for it may free the watch. */
static void watch_fail(struct watch *w, const struct err *why, bool at_once_first)
{
    if (w->failures > 0 && now_ns(w) - w->failed_ns > WATCH_HEALTHY_NS) {
        w->failures = 0;
    }
    w->failures++;
    w->failed_ns = now_ns(w);
    int64_t wait_ns = at_once_first && w->failures == 1 ? 0 : backoff_ns(w);
    wait_ns = wait_ns > why->retry_after_ns ? wait_ns : why->retry_after_ns;
    timer_set(w->timers, &w->retry, now_ns(w) + wait_ns, on_retry, w);
    w->unhealthy = true;
    w->err = *why;
    if (w->cb.failed) {
        w->cb.failed(w->arg, &w->err);
    }
}

static void watch_forget(struct watch *w)
{
    free(w->resource_version);
    w->resource_version = NULL;
}

/* ---- LIST ------------------------------------------------------------------------------------ */

static void on_list_begin(void *arg)
{
    struct watch *w = arg;
    heard(w);
    w->cb.list_begin(w->arg);
}

static void on_list_object(void *arg, json_t *object)
{
    struct watch *w = arg;
    w->heard_ns = now_ns(w);
    w->cb.object(w->arg, object);
}

static void on_list_end(void *arg, const struct err *why, const char *resource_version)
{
    struct watch *w = arg;
    struct err copy = *why;
    char *rv = xstrdup(resource_version);
    kube_lister_free(w->lister);
    w->lister = NULL;
    if (copy.kind != ERR_NONE) {
        free(rv);
        watch_fail(w, &copy, false);
        return;
    }
    watch_forget(w);
    w->resource_version = rv;
    heard(w);
    w->synced = true;
    /* Events come in a later turn, so the owner hears of the list's end before them. */
    watch_go(w);
    w->cb.list_end(w->arg);
}

static void watch_list(struct watch *w)
{
    static const struct kube_list_cb cb = {on_list_begin, on_list_object, on_list_end};
    struct kube_list_opts o = {
        .ns = w->ns,
        .label_selector = w->label_selector,
        .field_selector = w->field_selector,
        .limit = w->limit,
    };
    w->lister = kube_lister_new(&w->client, w->kind, &o, &cb, w);
}

/* ---- WATCH ----------------------------------------------------------------------------------- */

/* The retry counts as a failed try only if the server said nothing at all. */
static void watch_lost(struct watch *w, const struct err *why)
{
    timer_stop(w->timers, &w->stall);
    w->handle = 0;
    w->tries += w->heard_one ? 0 : 1;
    bool gone = why->kind == ERR_GONE;
    if (gone || w->tries >= WATCH_TRIES) {
        w->tries = 0;
        watch_forget(w);
    }
    watch_fail(w, why, gone);
}

static void on_stall(void *arg)
{
    struct watch *w = arg;
    struct err err = ERR_INIT;
    err_set(&err, ERR_TIMEOUT, "watch of %s: nothing heard for %d s", kube_kind(w->kind)->plural,
            (int)(WATCH_STALL_NS / NS_PER_S));
    kube_cancel(&w->client, w->handle);
    watch_lost(w, &err);
}

static void watch_arm(struct watch *w)
{
    timer_set(w->timers, &w->stall, now_ns(w) + WATCH_STALL_NS, on_stall, w);
}

static void on_event(void *arg, enum kube_event_type type, json_t *object)
{
    struct watch *w = arg;
    heard(w);
    watch_arm(w);
    const char *rv = jsonx_str(object, "metadata.resourceVersion");
    if (rv && *rv) {
        watch_forget(w);
        w->resource_version = xstrdup(rv);
    }
    if (type == KUBE_DELETED) {
        w->cb.removed(w->arg, object);
    } else if (type != KUBE_BOOKMARK) {
        w->cb.object(w->arg, object);
    }
}

static void on_end(void *arg, const struct err *why)
{
    struct watch *w = arg;
    if (why->kind != ERR_NONE) {
        struct err copy = *why;
        watch_lost(w, &copy);
        return;
    }
    if (!w->heard_one && now_ns(w) - w->opened_ns < SHORT_LIFE_NS) {
        struct err err = ERR_INIT;
        err_set(&err, ERR_UNAVAILABLE, "watch of %s was closed at once",
                kube_kind(w->kind)->plural);
        watch_lost(w, &err);
        return;
    }
    w->handle = 0;
    w->unhealthy = false;
    watch_go(w);
}

static void watch_open(struct watch *w)
{
    AUTO_BUF struct buf path;
    buf_init(&path, KUBE_PATH_MAX);
    char seconds[24];
    uint64_t span = WATCH_TIMEOUT_MAX_S - WATCH_TIMEOUT_MIN_S + 1;
    (void)snprintf(seconds, sizeof(seconds), "%d",
                   WATCH_TIMEOUT_MIN_S + (int)entropy_below(w->entropy, span));
    kube_path(&path, w->kind, w->ns, NULL, NULL);
    kube_path_query(&path, "labelSelector", w->label_selector);
    kube_path_query(&path, "fieldSelector", w->field_selector);
    kube_path_query(&path, "resourceVersion", w->resource_version);
    kube_path_query(&path, "allowWatchBookmarks", "true");
    kube_path_query(&path, "timeoutSeconds", seconds);
    kube_path_query(&path, "watch", "true");
    w->opened_ns = now_ns(w);
    w->heard_one = false;
    w->handle = w->client.port->watch(w->client.port->ctx, path.p, on_event, on_end, w);
    watch_arm(w);
}

static void watch_go(struct watch *w)
{
    if (w->resource_version) {
        watch_open(w);
    } else {
        watch_list(w);
    }
}

/* ---- the owner's side ------------------------------------------------------------------------ */

struct watch *watch_new(const struct watch_env *env, enum kube_kind k,
                        const struct kube_list_opts *opts, const struct watch_cb *cb, void *arg)
{
    static const struct kube_list_opts none;
    opts = opts ? opts : &none;
    struct watch *w = NEW(struct watch);
    w->client = *env->client;
    w->timers = env->timers;
    w->clock = env->clock;
    w->entropy = env->entropy;
    w->kind = k;
    w->ns = xstrdup(opts->ns);
    w->label_selector = xstrdup(opts->label_selector);
    w->field_selector = xstrdup(opts->field_selector);
    w->limit = opts->limit;
    w->cb = *cb;
    w->arg = arg;
    watch_go(w);
    return w;
}

void watch_free(struct watch *w)
{
    if (!w) {
        return;
    }
    kube_lister_free(w->lister);
    kube_cancel(&w->client, w->handle);
    timer_stop(w->timers, &w->retry);
    timer_stop(w->timers, &w->stall);
    watch_forget(w);
    free(w->ns);
    free(w->label_selector);
    free(w->field_selector);
    free(w);
}

bool watch_synced(const struct watch *w)
{
    return w->synced;
}

const struct err *watch_error(const struct watch *w)
{
    return w->unhealthy ? &w->err : NULL;
}

int64_t watch_heard_ns(const struct watch *w)
{
    return w->heard_ns;
}
