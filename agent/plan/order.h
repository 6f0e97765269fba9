/*
 * order.h - one NodeClaim to be created: what the scheduler decided, as the object to write.
 *
 * An order owns everything in it, so that it outlives the decision's arena and the store's objects.
 * What stands in the object is what Karpenter writes on its NodeClaims, and karp's own
 * (hash version karp1, karp.dev/launch-attempt); the finalizer is there from the start,
 * so that no claim can go before its instance.
 */
#ifndef KARP_AGENT_ORDER_H
#define KARP_AGENT_ORDER_H

#include "agent/runtime.h"
#include "common/core/sched/sched.h"

#include <jansson.h>

#define ORDER_COMMAND 16
#define ORDER_LOG_NAMES 5 /* pods and types named in log lines */

struct order_pod {
    char *key, *ns, *name, *uid;
    uint64_t cls; /* order_class */
};

struct order {
    json_t *body;
    char *pool;
    char command[ORDER_COMMAND + 1]; /* whose replacement it is (leave/command.h), "" = nobody's */
    bool min_values_relaxed;
    struct order_pod *pods;
    uint32_t n_pods;
    struct resources capacity; /* the largest of its types, without extended resources */
    int64_t price_pusd_h;      /* of its cheapest offering */
    char types[160];           /* "c5.large, c5a.large and 12 other(s)" */
};

/* Stands for what the pod asks for; pods of one class (core/model.h) share it. */
uint64_t order_class(const struct pod *p);

/* NULL and *reterr if the pool's template cannot be read. */
struct order *order_new(const struct runtime *rt, const struct sched_claim *sc, struct err *reterr);
void order_free(struct order *o);

#endif
