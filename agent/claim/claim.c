/* claim.c - see claim.h. */
#include "claim.h"

#include "agent/cloud/cloud.h"
#include "agent/store/store.h"
#include "agent/work/metrics.h"
#include "common/base/str.h"
#include "common/core/ec2/catalog.h"

static const char *label(const struct runtime *rt, const struct labels *l, sym key)
{
    return sym_str(rt->syms, labels_get(l, key));
}

const char *claim_label(const struct runtime *rt, const struct nodeclaim *nc, sym key)
{
    return label(rt, &nc->m.labels, key);
}

const char *node_label(const struct runtime *rt, const struct node *n, sym key)
{
    return label(rt, &n->m.labels, key);
}

int64_t claim_price(const struct runtime *rt, const struct nodeclaim *nc)
{
    enum capacity_type ct = capacity_type_of(labels_get(&nc->m.labels, L_CAPACITY_TYPE));
    return ct == CT_COUNT || !*nc->provider_id
               ? PRICE_UNKNOWN
               : cloud_price(rt->cloud, claim_label(rt, nc, L_INSTANCE_TYPE),
                             claim_label(rt, nc, L_ZONE), ct);
}

static const char *policy_text(const struct nodepool *np)
{
    if (!np) {
        return "";
    }
    switch (np->policy) {
    case POLICY_EMPTY:
        return "WhenEmpty";
    case POLICY_BALANCED:
        return "Balanced";
    default:
        return "WhenEmptyOrUnderutilized";
    }
}

static const char *mode_text(const struct nodeclaim *nc)
{
    if (nc->termination_grace_ns == DURATION_ABSENT) {
        return "graceful";
    }
    return nc->termination_grace_ns > 0 ? "eventual" : "forceful";
}

void claim_count_disrupted(struct runtime *rt, const struct nodeclaim *nc, const char *reason)
{
    struct metric_family *f = metrics_family(
        rt->metrics, "karpenter_nodeclaims_disrupted_total",
        "NodeClaims whose deletion was ordered, by reason.", METRIC_COUNTER,
        LABELS("reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"),
        NULL, 0);
    metric_add(f,
               LABELS(reason, nc->pool, claim_label(rt, nc, L_CAPACITY_TYPE),
                      policy_text(store_pool(rt->store, nc->pool)), mode_text(nc)),
               1);
}

void attention_set(struct runtime *rt, const char *code, bool on)
{
    struct metric_family *f = metrics_family(rt->metrics, "karp_attention",
                                             "1 while something needs a person's attention.",
                                             METRIC_GAUGE, LABELS("code"), NULL, 0);
    metric_set(f, LABELS(code), on ? 1 : 0);
}

bool node_has_taint(const struct runtime *rt, const struct node *n, const char *key)
{
    for (uint32_t i = 0; i < n->taints.n; i++) {
        if (str_eq(sym_str(rt->syms, n->taints.v[i].key), key)) {
            return true;
        }
    }
    return false;
}
