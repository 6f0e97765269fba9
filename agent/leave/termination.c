/* termination.c - see termination.h. */
#include "termination.h"

#include "agent/claim/claim.h"
#include "agent/claim/reaper.h"
#include "agent/store/store.h"
#include "agent/work/cond.h"
#include "agent/work/gate.h"
#include "common/base/alloc.h"
#include "drain.h"
#include "pace.h"
#include "volumes.h"

struct termination {
    struct ending shared;
    struct claim_termination *claims;
    struct node_termination *nodes;
};

int64_t termination_launched_ns(const struct nodeclaim *nc)
{
    return nc && claim_is(nc, "Launched") ? cond_since(&nc->conditions, "Launched", 0) : 0;
}

bool termination_may_act(const struct runtime *rt)
{
    return store_listed(rt->store, STORE_POD) && store_listed(rt->store, STORE_NODE) &&
           store_listed(rt->store, STORE_CLAIM) && gate_open(rt->gate);
}

struct termination *termination_new(struct runtime *rt)
{
    struct termination *t = NEW(struct termination);
    t->shared = (struct ending){.rt = rt,
                                .reaper = reaper_new(rt),
                                .drain = drain_new(rt),
                                .volumes = volumes_new(rt),
                                .pace = pace_new(rt)};
    t->claims = claim_termination_new(&t->shared);
    t->nodes = node_termination_new(&t->shared);
    return t;
}

void termination_free(struct termination *t)
{
    if (!t) {
        return;
    }
    node_termination_free(t->nodes);
    claim_termination_free(t->claims);
    pace_free(t->shared.pace);
    volumes_free(t->shared.volumes);
    drain_free(t->shared.drain);
    reaper_free(t->shared.reaper);
    free(t);
}

void termination_start(struct termination *t)
{
    (void)t;
}
