/* batch.c - see batch.h. */
#include "batch.h"

#include "common/base/alloc.h"
#include "common/base/map.h"

struct batch {
    struct runtime *rt;
    int64_t idle_ns, max_ns;
    void (*closed)(void *ctx);
    void *ctx;
    struct map *uids;
    struct timer idle, max;
};

struct batch *batch_new(struct runtime *rt, int64_t idle_ns, int64_t max_ns,
                        void (*closed)(void *ctx), void *ctx)
{
    struct batch *b = NEW(struct batch);
    *b = (struct batch){.rt = rt, .idle_ns = idle_ns, .max_ns = max_ns};
    b->closed = closed;
    b->ctx = ctx;
    b->uids = map_new(BATCH_MAX);
    return b;
}

void batch_free(struct batch *b)
{
    if (!b) {
        return;
    }
    timer_stop(&b->rt->timers, &b->idle);
    timer_stop(&b->rt->timers, &b->max);
    map_free(b->uids);
    free(b);
}

static void batch_close(void *arg)
{
    struct batch *b = arg;
    timer_stop(&b->rt->timers, &b->idle);
    timer_stop(&b->rt->timers, &b->max);
    map_clear(b->uids);
    b->closed(b->ctx);
}

void batch_trigger(struct batch *b, const char *uid)
{
    if (map_has(b->uids, uid)) {
        return;
    }
    int64_t now_ns = clock_mono(b->rt->clock);
    map_put(b->uids, uid, b, NULL);
    if (!timer_pending(&b->max)) {
        timer_set(&b->rt->timers, &b->max, now_ns + b->max_ns, batch_close, b);
    }
    int64_t wait_ns = map_count(b->uids) < BATCH_ENOUGH ? b->idle_ns : 0;
    timer_set(&b->rt->timers, &b->idle, now_ns + wait_ns, batch_close, b);
}
