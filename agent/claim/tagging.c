/* tagging.c - see tagging.h. */
#include "tagging.h"

#include "agent/cloud/cloud.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "agent/work/queue.h"
#include "agent/work/work.h"
#include "claim.h"
#include "common/base/alloc.h"
#include "common/base/str.h"

#define BACKOFF_NS (1 * NS_PER_S)
#define BACKOFF_MAX_NS (60 * NS_PER_S)
#define CLOSED_NS (5 * NS_PER_S)

struct tagging {
    struct runtime *rt;
    struct queue *q;
};

/* One instance that is being tagged. */
struct request {
    struct tagging *t;
    char key[];
};

static bool wants_tags(const struct tagging *t, const struct nodeclaim *nc)
{
    return nc && cloud_instance_id(nc->provider_id) && !nc->m.deleted_ns &&
           store_ours(&nc->class_ref) && claim_is(nc, "Registered") && *nc->node_name &&
           !str_eq(kvs_get(&nc->m.annotations, ANN_TAGGED), "true") &&
           t->rt->opt->mode != MODE_OBSERVE;
}

static void failed(struct request *r, const struct err *err)
{
    struct tagging *t = r->t;
    if (err->kind == ERR_NOT_FOUND) { /* the instance is gone */
        queue_done(t->q, r->key, QUEUE_OK, 0);
        return;
    }
    log_error(t->rt->log, "cannot tag instance", "NodeClaim", r->key, "error", err->msg);
    queue_done(t->q, r->key, QUEUE_FAIL, work_retry_ns(err));
}

static void annotate(struct request *r, const struct nodeclaim *nc)
{
    struct tagging *t = r->t;
    json_t *patch = json_pack("{s:{s:{s:s}}}", "metadata", "annotations", ANN_TAGGED, "true");
    AUTO_FREE char *key = xstrdup(r->key); /* the next step takes the request's place */
    struct work w = {t->rt, t->q, key, NULL, NULL};
    work_patch(&w, KIND_NODE_CLAIM, NULL, key, "", patch, nc->m.resource_version);
}

static void on_tagged(void *arg, const struct err *err)
{
    struct request *r = arg;
    const struct nodeclaim *nc = store_claim(r->t->rt->store, r->key);
    if (err->kind != ERR_NONE) {
        failed(r, err);
    } else if (wants_tags(r->t, nc)) {
        annotate(r, nc);
    } else {
        queue_done(r->t->q, r->key, QUEUE_OK, 0);
    }
}

/* The user's own tags win: only what is not there is added. */
static void on_described(void *arg, const struct err *err, const struct instance *list, uint32_t n)
{
    struct request *r = arg;
    struct tagging *t = r->t;
    const struct nodeclaim *nc = store_claim(t->rt->store, r->key);
    struct kv tags[3];
    uint32_t n_tags = 0;
    if (err->kind != ERR_NONE) {
        failed(r, err);
        return;
    }
    if (n == 0 || !wants_tags(t, nc) || !str_eq(cloud_instance_id(nc->provider_id), list[0].id)) {
        queue_done(t->q, r->key, QUEUE_OK, 0);
        return;
    }
    const struct {
        const char *key, *has, *value;
    } want[] = {{"Name", list[0].name_tag, nc->node_name},
                {TAG_CLAIM, list[0].claim, nc->m.name},
                {TAG_CLUSTER, list[0].cluster, t->rt->opt->cluster_name}};
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        if (!*want[i].has) {
            tags[n_tags++] = (struct kv){want[i].key, want[i].value};
        }
    }
    if (n_tags > 0) {
        cloud_tag(t->rt->cloud, list[0].id, tags, n_tags, on_tagged, r);
    } else {
        annotate(r, nc);
    }
}

static enum queue_verdict handle(void *ctx, const char *key)
{
    struct tagging *t = ctx;
    const struct nodeclaim *nc = store_claim(t->rt->store, key);
    if (!wants_tags(t, nc)) {
        return QUEUE_OK;
    }
    if (!gate_open(t->rt->gate)) { /* whoever is in charge does it; look again without asking EC2 */
        queue_add_after(t->q, key, CLOSED_NS);
        return QUEUE_OK;
    }
    size_t n = strlen(key) + 1;
    struct request *r = xcalloc(1, sizeof(*r) + n);
    r->t = t;
    memcpy(r->key, key, n);
    queue_attach(t->q, key, r);
    cloud_get(t->rt->cloud, cloud_instance_id(nc->provider_id), on_described, r);
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
    t->q = queue_new(rt, "nodeclaim.tagging", STORE_CLAIM, BACKOFF_NS, BACKOFF_MAX_NS, handle, t);
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
