/* queue.c - level-triggered work queues; see queue.h. */
#include "queue.h"

#include "agent/runtime.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "marker.h"

#define QUEUE_JITTER_PERCENT 20

enum item_state { ITEM_WAITING, ITEM_RUNNING, ITEM_BUSY, ITEM_ENDED };

struct item {
    struct queue *q;
    struct item *next, **prev; /* all items of the queue */
    struct timer timer;
    enum item_state state;
    unsigned failures;
    int64_t again_ns;         /* wanted again while running or busy; NS_NEVER = not */
    int64_t news_ns;          /* the part of it that came while busy */
    enum queue_verdict early; /* queue_done from within the handler */
    int64_t early_retry_ns;
    void *mem; /* queue_attach */
    char key[];
};

struct queue {
    struct runtime *rt;
    const char *name;
    enum store_kind of;
    int64_t base_ns, cap_ns;
    queue_fn fn;
    void *ctx;
    struct map *items;
    struct item *first;
    bool full; /* said once */
};

struct queue *queue_new(struct runtime *rt, const char *name, enum store_kind of,
                        int64_t backoff_base_ns, int64_t backoff_cap_ns, queue_fn fn, void *ctx)
{
    struct queue *q = NEW(struct queue);
    q->rt = rt;
    q->name = name;
    q->of = of;
    q->base_ns = backoff_base_ns;
    q->cap_ns = backoff_cap_ns;
    q->fn = fn;
    q->ctx = ctx;
    q->items = map_new(QUEUE_MAX_KEYS);
    return q;
}

static void item_free(struct item *it)
{
    timer_stop(&it->q->rt->timers, &it->timer);
    *it->prev = it->next;
    if (it->next) {
        it->next->prev = it->prev;
    }
    free(it->mem);
    free(it);
}

static void item_forget(struct item *it)
{
    map_del(it->q->items, it->key);
    item_free(it);
}

void queue_free(struct queue *q)
{
    if (!q) {
        return;
    }
    while (q->first) {
        item_free(q->first);
    }
    map_free(q->items);
    free(q);
}

static int64_t queue_now(const struct queue *q)
{
    return clock_mono(q->rt->clock);
}

static int64_t item_backoff(struct item *it)
{
    struct queue *q = it->q;
    int64_t ns = q->base_ns;
    for (unsigned i = 0; i < it->failures && ns < q->cap_ns; i++) {
        ns *= 2;
    }
    it->failures++;
    return entropy_jitter(q->rt->entropy, ns < q->cap_ns ? ns : q->cap_ns, QUEUE_JITTER_PERCENT);
}

static void item_run(void *arg);

static void item_wait(struct item *it, int64_t at_ns)
{
    it->state = ITEM_WAITING;
    it->again_ns = it->news_ns = NS_NEVER;
    timer_set(&it->q->rt->timers, &it->timer, at_ns, item_run, it);
}

/* What comes after a look that is over. */
static void item_finish(struct item *it, enum queue_verdict verdict, int64_t retry_after_ns)
{
    free(it->mem);
    it->mem = NULL;
    if (verdict == QUEUE_FAIL) {
        int64_t pause = item_backoff(it);
        int64_t at = queue_now(it->q) + (retry_after_ns > 0 ? retry_after_ns : pause);
        /* What the look asked for itself was meant for its success: a write that fails at once
         * would else be tried in a tight loop. */
        bool sooner = retry_after_ns <= 0 && it->news_ns < at;
        item_wait(it, sooner ? it->news_ns : at);
        return;
    }
    it->failures = 0;
    if (it->again_ns != NS_NEVER) {
        item_wait(it, it->again_ns);
        return;
    }
    item_forget(it);
}

static enum queue_verdict look(struct item *it)
{
    struct marker *m = it->q->rt->marker;
    if (!marker_look(m, it->q->of, it->key)) {
        return QUEUE_OK;
    }
    enum queue_verdict v = it->q->fn(it->q->ctx, it->key);
    marker_done(m);
    return v;
}

static void item_run(void *arg)
{
    struct item *it = arg;
    it->state = ITEM_RUNNING;
    it->again_ns = it->news_ns = NS_NEVER;
    enum queue_verdict v = look(it);
    if (it->state == ITEM_ENDED) {
        item_finish(it, it->early, it->early_retry_ns);
    } else if (v == QUEUE_BUSY) {
        it->state = ITEM_BUSY;
    } else {
        item_finish(it, v, 0);
    }
}

static struct item *item_new(struct queue *q, const char *key)
{
    size_t n = strlen(key) + 1;
    struct item *it = xcalloc(1, sizeof(*it) + n);
    memcpy(it->key, key, n);
    bool full = false;
    map_put(q->items, key, it, &full);
    if (full) {
        free(it);
        if (!q->full) {
            q->full = true;
            log_error(q->rt->log, "work queue is full, objects wait for their next change",
                      "controller", q->name, "name", key);
        }
        return NULL;
    }
    it->q = q;
    it->next = q->first;
    it->prev = &q->first;
    if (it->next) {
        it->next->prev = &it->next;
    }
    q->first = it;
    return it;
}

static void queue_add_at(struct queue *q, const char *key, int64_t at_ns)
{
    struct item *it = map_get(q->items, key);
    if (!it) {
        it = item_new(q, key);
        if (it) {
            item_wait(it, at_ns);
        }
        return;
    }
    if (it->state != ITEM_WAITING) {
        if (at_ns < it->again_ns) {
            it->again_ns = at_ns;
        }
        if (it->state == ITEM_BUSY && at_ns < it->news_ns) {
            it->news_ns = at_ns;
        }
    } else if (at_ns < it->timer.at_ns) {
        item_wait(it, at_ns);
    }
}

void queue_add(struct queue *q, const char *key)
{
    queue_add_at(q, key, queue_now(q));
}

void queue_add_after(struct queue *q, const char *key, int64_t delay_ns)
{
    int64_t wait_ns = delay_ns < QUEUE_WAIT_MAX_NS ? delay_ns : QUEUE_WAIT_MAX_NS;
    queue_add_at(q, key, queue_now(q) + wait_ns);
}

void queue_done(struct queue *q, const char *key, enum queue_verdict verdict,
                int64_t retry_after_ns)
{
    struct item *it = map_get(q->items, key);
    if (!it) {
        return;
    }
    if (it->state == ITEM_RUNNING) {
        it->state = ITEM_ENDED;
        it->early = verdict;
        it->early_retry_ns = retry_after_ns;
    } else if (it->state == ITEM_BUSY) {
        item_finish(it, verdict, retry_after_ns);
    }
}

void queue_attach(struct queue *q, const char *key, void *mem)
{
    struct item *it = map_get(q->items, key);
    if (!it) {
        BUG("queue %s: attach to an unknown key %s", q->name, key);
    }
    free(it->mem);
    it->mem = mem;
}

bool queue_has(const struct queue *q, const char *key)
{
    return map_has(q->items, key);
}

size_t queue_depth(const struct queue *q)
{
    return map_count(q->items);
}
