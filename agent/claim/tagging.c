/* tagging.c - see tagging.h. */
#include "tagging.h"

#include "agent/cloud/cloud.h"
#include "agent/store/store.h"
#include "agent/work/queue.h"
#include "agent/work/work.h"
#include "claim.h"
#include "common/base/alloc.h"
#include "common/base/str.h"

#define BACKOFF_NS (1 * NS_PER_S)
#define BACKOFF_MAX_NS (60 * NS_PER_S)

struct tagging {
    struct runtime *rt;
    struct queue *q;
};

/* One order of tags that is on its way. */
struct request {
    struct tagging *t;
    char key[];
};

static void on_tagged(void *arg, const struct err *err)
{
    struct request *r = arg;
    struct tagging *t = r->t;
    const struct nodeclaim *nc = store_claim(t->rt->store, r->key);
    if (err->kind != ERR_NONE && err->kind != ERR_NOT_FOUND) {
        log_error(t->rt->log, "cannot tag instance", "NodeClaim", r->key, "error", err->msg);
        queue_done(t->q, r->key, QUEUE_FAIL, work_retry_ns(err));
        return;
    }
    if (!nc || nc->m.deleted_ns || err->kind == ERR_NOT_FOUND) {
        queue_done(t->q, r->key, QUEUE_OK, 0);
        return;
    }
    json_t *patch = json_pack("{s:{s:{s:s}}}", "metadata", "annotations", ANN_TAGGED, "true");
    AUTO_FREE char *key = xstrdup(r->key); /* the next step takes the request's place */
    struct work w = {t->rt, t->q, key, NULL, NULL};
    work_patch(&w, KIND_NODE_CLAIM, NULL, key, "", patch, NULL);
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct tagging *t = ctx;
    const struct nodeclaim *nc = store_claim(t->rt->store, key);
    const char *id = nc ? cloud_instance_id(nc->provider_id) : NULL;
    if (!id || nc->m.deleted_ns || !store_ours(&nc->class_ref) || !claim_is(nc, "Registered") ||
        !*nc->node_name || str_eq(kvs_get(&nc->m.annotations, ANN_TAGGED), "true") ||
        t->rt->opt->mode == MODE_OBSERVE) {
        return QUEUE_OK;
    }
    struct kv tags[] = {
        {"Name", nc->node_name}, {TAG_CLAIM, nc->m.name}, {TAG_CLUSTER, t->rt->opt->cluster_name}};
    size_t n = strlen(key) + 1;
    struct request *r = xcalloc(1, sizeof(*r) + n);
    r->t = t;
    memcpy(r->key, key, n);
    queue_attach(t->q, key, r);
    cloud_tag(t->rt->cloud, id, tags, ARRAY_LEN(tags), on_tagged, r);
    return QUEUE_BUSY;
}

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct tagging *t = arg;
    const struct nodeclaim *is = now, *was = before;
    if (is && claim_is(is, "Registered") && !(was && claim_is(was, "Registered"))) {
        queue_add(t->q, key);
    }
}

struct tagging *tagging_new(struct runtime *rt)
{
    struct tagging *t = NEW(struct tagging);
    t->rt = rt;
    t->q = queue_new(rt, "nodeclaim.tagging", BACKOFF_NS, BACKOFF_MAX_NS, handle, t);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, t);
    return t;
}

void tagging_free(struct tagging *t)
{
    if (t) {
        queue_free(t->q);
        free(t);
    }
}

void tagging_start(struct tagging *t)
{
    (void)t;
}
