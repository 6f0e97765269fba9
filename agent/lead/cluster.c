/* cluster.c - see cluster.h. */
#include "cluster.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"

#define RETRY_MIN_NS (1 * NS_PER_S)
#define RETRY_MAX_NS (30 * NS_PER_S)

struct cluster {
    struct runtime *rt;
    struct timer timer;
    uint64_t open;
    int64_t wait_ns;
    char *uid;
};

static void cluster_ask(void *arg);

static void on_namespace(void *arg, const struct kube_resp *resp)
{
    struct cluster *c = arg;
    c->open = 0;
    const char *uid = resp->body ? jsonx_str(resp->body, "metadata.uid") : NULL;
    if (resp->err.kind == ERR_NONE && uid && *uid) {
        c->uid = xstrdup(uid);
        c->rt->cluster_uid = c->uid;
        return;
    }
    log_error(c->rt->log, "cannot read namespace kube-system", "error",
              resp->err.kind == ERR_NONE ? "it has no UID" : resp->err.msg);
    timer_set(&c->rt->timers, &c->timer,
              clock_mono(c->rt->clock) + entropy_jitter(c->rt->entropy, c->wait_ns, 20),
              cluster_ask, c);
    c->wait_ns = c->wait_ns * 2 < RETRY_MAX_NS ? c->wait_ns * 2 : RETRY_MAX_NS;
}

static void cluster_ask(void *arg)
{
    struct cluster *c = arg;
    c->open = kube_get(&c->rt->client, KIND_NAMESPACE, NULL, "kube-system", on_namespace, c);
}

struct cluster *cluster_new(struct runtime *rt)
{
    struct cluster *c = NEW(struct cluster);
    c->rt = rt;
    c->wait_ns = RETRY_MIN_NS;
    return c;
}

void cluster_free(struct cluster *c)
{
    if (!c) {
        return;
    }
    timer_stop(&c->rt->timers, &c->timer);
    if (c->open) {
        kube_cancel(&c->rt->client, c->open);
    }
    c->rt->cluster_uid = NULL;
    free(c->uid);
    free(c);
}

void cluster_start(struct cluster *c)
{
    cluster_ask(c);
}
