/* cloud.c - the parts of the cloud put together; see cloud.h. */
#include "cloud_int.h"

#include "common/base/alloc.h"

struct cloud *cloud_new(struct runtime *rt)
{
    struct cloud *c = NEW(struct cloud);
    c->rt = rt;
    facts_init(c);
    reserve_init(c);
    market_init(c);
    network_init(c);
    templates_init(c);
    instances_init(c);
    classes_init(c);
    return c;
}

void cloud_free(struct cloud *c)
{
    if (!c) {
        return;
    }
    classes_done(c); /* before the jobs: it ends its own */
    jobs_end(&c->jobs);
    instances_done(c);
    templates_done(c);
    market_done(c);
    network_done(c);
    facts_done(c);
    reserve_done(c);
    home_done(c);
    free(c);
}

void cloud_start(struct cloud *c)
{
    c->started = true;
    home_start(c);
    facts_start(c);
    classes_start(c);
    templates_start(c);
}

bool cloud_ready(const struct cloud *c)
{
    return c->home.account && c->home.asked && facts_ready(c);
}

int64_t cloud_backoff(struct cloud *c, unsigned failures, int64_t max_ns)
{
    int64_t ns = RETRY_MIN_NS;
    for (unsigned i = 1; i < failures && ns < max_ns; i++) {
        ns *= 2;
    }
    return entropy_jitter(c->rt->entropy, ns < max_ns ? ns : max_ns, 20);
}
