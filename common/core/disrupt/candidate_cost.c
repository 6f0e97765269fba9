/* candidate_cost.c - what nodes cost, and what it costs to disrupt them; see candidate.h. */
#include "candidate.h"
#include "common/core/labels.h"

#define MICRO INT64_C(1000000)
#define OLD_NS (INT64_C(7) * 24 * 3600 * 1000000000)

static sym label_of(const struct snapshot_node *n, sym key)
{
    const struct req *r = reqset_get(&n->labels, key);
    return r != NULL ? req_single(r) : SYM_NONE;
}

int64_t candidate_price(const struct snapshot_node *n, int *ret_type)
{
    int type = -1, zone = -1;
    enum capacity_type ct = CT_COUNT;
    if (n->pool != NULL && n->pool->catalog != NULL) {
        const struct catalog *c = n->pool->catalog;
        sym name = label_of(n, L_INSTANCE_TYPE), where = label_of(n, L_ZONE);
        sym how = label_of(n, L_CAPACITY_TYPE);
        type = name != SYM_NONE ? catalog_find_type(c, name) : -1;
        zone = where != SYM_NONE ? catalog_find_zone(c, where) : -1;
        ct = how != SYM_NONE ? capacity_type_of(how) : CT_COUNT;
    }
    if (ret_type != NULL) {
        *ret_type = type;
    }
    if (type < 0 || zone < 0 || ct == CT_COUNT || n->pool->offerings == NULL) {
        return PRICE_UNKNOWN;
    }
    return offerings_price(n->pool->offerings, (uint32_t)type, (uint32_t)zone, ct);
}

int64_t candidate_pod_cost(const struct pod *p)
{
    int64_t cost =
        MICRO + p->deletion_cost * MICRO / (1 << 27) + p->cls->priority * MICRO / (1 << 25);
    return cost > 10 * MICRO ? 10 * MICRO : cost < -10 * MICRO ? -10 * MICRO : cost;
}

/* The greater of cpu and memory asked for, in millionths of what there is. */
static int64_t fill(const struct snapshot_node *n)
{
    static const enum resource which[] = {RES_CPU, RES_MEMORY};
    int64_t ret = 0;
    for (size_t i = 0; n->usage != NULL && i < ARRAY_LEN(which); i++) {
        int64_t have = n->allocatable.v[which[i]], used = n->usage->requested.v[which[i]];
        int64_t share = have <= 0 || used <= 0 ? 0
                        : used >= have         ? MICRO
                        : have >= MICRO * 1000 ? used / (have / MICRO)
                                               : used * MICRO / have;
        ret = share > ret ? share : ret;
    }
    return ret > MICRO ? MICRO : ret;
}

int64_t candidate_disruption(const struct candidate_in *in, const struct snapshot_node *n)
{
    int64_t cost = MICRO + (in->index ? in->index->nodes[n - in->snap->nodes].cost_micro : 0);
    int64_t age = n->claim != NULL ? in->snap->now_ns - n->claim->m.created_ns : 0;
    age = age < 0 ? 0 : age > OLD_NS ? OLD_NS : age;
    int64_t weight = MICRO + age / (OLD_NS / MICRO) / 2 + fill(n) / 2;
    return cost / 1000 * (weight / 1000);
}
