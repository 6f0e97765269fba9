/* timer.c - see timer.h */
#include "timer.h"

#include "alloc.h"
#include "clock.h"
#include "err.h"

void timers_init(struct timers *t)
{
    *t = (struct timers){0};
}

void timers_done(struct timers *t)
{
    for (size_t i = 0; i < t->n; i++) {
        t->heap[i]->slot = 0;
    }
    free(t->heap);
    *t = (struct timers){0};
}

static bool earlier(const struct timer *a, const struct timer *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->seq < b->seq;
}

static void place(struct timers *t, size_t i, struct timer *tm)
{
    t->heap[i] = tm;
    tm->slot = i + 1;
}

static void sift_up(struct timers *t, size_t i)
{
    struct timer *tm = t->heap[i];
    while (i > 0 && earlier(tm, t->heap[(i - 1) / 2])) {
        place(t, i, t->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    place(t, i, tm);
}

static void sift_down(struct timers *t, size_t i)
{
    struct timer *tm = t->heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= t->n) {
            break;
        }
        if (child + 1 < t->n && earlier(t->heap[child + 1], t->heap[child])) {
            child++;
        }
        if (!earlier(t->heap[child], tm)) {
            break;
        }
        place(t, i, t->heap[child]);
        i = child;
    }
    place(t, i, tm);
}

void timer_set(struct timers *t, struct timer *tm, int64_t at_ns, void (*fn)(void *), void *arg)
{
    timer_stop(t, tm);
    if (t->n >= TIMERS_MAX) {
        BUG("more than %u timers", TIMERS_MAX);
    }
    tm->at_ns = at_ns;
    tm->seq = t->seq++;
    tm->fn = fn;
    tm->arg = arg;
    ARRAY_GROW(t->heap, t->n, t->cap);
    place(t, t->n++, tm);
    sift_up(t, t->n - 1);
}

void timer_stop(struct timers *t, struct timer *tm)
{
    if (tm->slot == 0) {
        return;
    }
    size_t i = tm->slot - 1;
    if (i >= t->n || t->heap[i] != tm) {
        BUG("timer is pending elsewhere");
    }
    tm->slot = 0;
    struct timer *last = t->heap[--t->n];
    if (last != tm) {
        place(t, i, last);
        sift_up(t, i);
        sift_down(t, last->slot - 1);
    }
}

bool timer_pending(const struct timer *tm)
{
    return tm->slot != 0;
}

int64_t timers_next_ns(const struct timers *t)
{
    return t->n ? t->heap[0]->at_ns : NS_NEVER;
}

bool timers_run_one(struct timers *t, int64_t now_ns)
{
    if (t->n == 0 || t->heap[0]->at_ns > now_ns) {
        return false;
    }
    struct timer *tm = t->heap[0];
    /* The call may free the timer's owner: nothing of it is touched afterwards. */
    timer_stop(t, tm);
    tm->fn(tm->arg);
    return true;
}
