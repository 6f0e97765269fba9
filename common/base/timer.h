/*
 * timer.h - one-shot timers in a binary heap over monotonic time.
 *
 * A struct timer is embedded in its owner and zeroed before first use; setting a pending timer
 * moves it. Timers due at the same instant run in the order they were set (total order: replays are
 * exact). A callback may set and stop any timer, its own included, and free its owner.
 */
#ifndef KARP_BASE_TIMER_H
#define KARP_BASE_TIMER_H

#include "compat.h"

#include <stdbool.h>

#define TIMERS_MAX 2000000u

struct timer {
    int64_t at_ns;
    uint64_t seq;
    size_t slot; /* place in the heap + 1; 0 = not pending */
    void (*fn)(void *arg);
    void *arg;
};

struct timers {
    struct timer **heap;
    size_t n, cap;
    uint64_t seq;
};

void timers_init(struct timers *t);
/* Pending timers become not pending; so their owners must still be there. */
void timers_done(struct timers *t);
void timer_set(struct timers *t, struct timer *tm, int64_t at_ns, void (*fn)(void *), void *arg);
void timer_stop(struct timers *t, struct timer *tm);
bool timer_pending(const struct timer *tm);
/* When the next timer is due; NS_NEVER if none. */
int64_t timers_next_ns(const struct timers *t);
/* Runs the first timer due at or before now; false if there is none. */
bool timers_run_one(struct timers *t, int64_t now_ns);

#endif
