/* initialization.c - a registered Node can take pods; see lifecycle.h. */
#include "agent/store/store.h"
#include "agent/work/work.h"
#include "claim.h"
#include "common/base/str.h"
#include "lifecycle.h"

#define MESSAGE_MAX 256

struct obstacle {
    const char *reason;
    char message[MESSAGE_MAX];
};

static bool taint_left(const struct claim_look *look, struct obstacle *o)
{
    const struct symtab *t = look->rt->syms;
    const struct taints *on = &look->node->taints, *startup = &look->nc->startup_taints;
    for (uint32_t i = 0; i < on->n; i++) {
        for (uint32_t j = 0; j < startup->n; j++) {
            if (taint_matches(&on->v[i], &startup->v[j])) {
                o->reason = "StartupTaintsExist";
                snprintf(o->message, MESSAGE_MAX, "StartupTaint \"%.200s\" still exists",
                         sym_str(t, on->v[i].key));
                return true;
            }
        }
    }
    for (uint32_t i = 0; i < on->n; i++) {
        if (taint_ephemeral(t, &on->v[i])) {
            o->reason = "KnownEphemeralTaintsExist";
            snprintf(o->message, MESSAGE_MAX, "KnownEphemeralTaint \"%.200s\" still exists",
                     sym_str(t, on->v[i].key));
            return true;
        }
    }
    return false;
}

static bool resource_missing(const struct claim_look *look, struct obstacle *o)
{
    const struct resources *want = &look->nc->requests, *have = &look->node->allocatable;
    const char *name = NULL;
    for (int i = 0; !name && i < RES_FIXED; i++) {
        if (want->v[i] != 0 && have->v[i] == 0) {
            name = resource_name((enum resource)i);
        }
    }
    for (uint32_t i = 0; !name && i < want->n_ext; i++) {
        if (want->ext[i].amount != 0 && resources_get_ext(have, want->ext[i].name) == 0) {
            name = sym_str(look->rt->syms, want->ext[i].name);
        }
    }
    if (!name) {
        return false;
    }
    o->reason = "ResourceNotRegistered";
    snprintf(o->message, MESSAGE_MAX, "Resource \"%.200s\" was requested but not registered", name);
    return true;
}

static bool hindered(const struct claim_look *look, struct obstacle *o)
{
    if (look->n_nodes != 1 || look->node->m.deleted_ns) {
        o->reason = "NodeNotFound";
        snprintf(o->message, MESSAGE_MAX, "Node not registered with cluster");
        return true;
    }
    if (look->node->ready != STATUS_TRUE) {
        o->reason = "NodeNotReady";
        snprintf(o->message, MESSAGE_MAX, "Node status is NotReady");
        return true;
    }
    return taint_left(look, o) || resource_missing(look, o);
}

static void on_initialized(void *ctx, const char *key, const struct kube_resp *resp)
{
    struct runtime *rt = ctx;
    const struct nodeclaim *nc = store_claim(rt->store, key);
    if (resp->err.kind == ERR_NONE && nc) {
        log_info(rt->log, "initialized nodeclaim", "NodeClaim", nc->m.name, "Node", nc->node_name,
                 "provider-id", nc->provider_id);
    }
}

static enum queue_verdict label_node(const struct claim_look *look)
{
    json_t *patch = json_pack("{s:{s:{s:s}}}", "metadata", "labels",
                              sym_str(look->rt->syms, L_INITIALIZED), "true");
    struct work w = {look->rt, look->q, look->nc->m.name, NULL, NULL};
    return work_patch(&w, KIND_NODE, NULL, look->node->m.name, "", patch,
                      look->node->m.resource_version);
}

bool initialization_again_step(const struct claim_look *look, enum queue_verdict *ret)
{
    struct obstacle o;
    if (look->n_nodes != 1 || labels_get(&look->node->m.labels, L_INITIALIZED) == V_TRUE ||
        hindered(look, &o)) {
        return false;
    }
    *ret = label_node(look);
    return true;
}

bool initialization_step(const struct claim_look *look, enum queue_verdict *ret)
{
    struct cond_edit e;
    struct obstacle o = {.reason = NULL};
    cond_begin(&e, &look->nc->conditions, &look->nc->m, look->now_ns);
    if (hindered(look, &o)) {
        cond_set(&e, "Initialized", STATUS_UNKNOWN, o.reason, o.message);
        return lifecycle_write(look, &e, NULL, NULL, ret);
    }
    if (labels_get(&look->node->m.labels, L_INITIALIZED) != V_TRUE) {
        *ret = label_node(look);
        return true;
    }
    cond_set(&e, "Initialized", STATUS_TRUE, NULL, NULL);
    return lifecycle_write(look, &e, NULL, on_initialized, ret);
}
