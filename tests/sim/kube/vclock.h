/*
 * vclock.h - virtual time: one event queue and one source of chance for a whole simulated world.
 *
 * Time moves only from event to event. mono_ns starts at 0; wall_ns is the scenario's start plus
 * mono_ns. Everything that happens later hangs in `timers` (base/timer.h: events due at the same
 * instant run in the order they were set), or in a driver: somebody with timers of its own, as an
 * agent, who is asked when it wants a turn. Events of the queue go before turns of drivers that are
 * due at the same instant, drivers in the order they were added.
 *
 * All chance comes from `chance`, seeded once: the same seed gives the same run, to the byte.
 * vclock_fork() derives an independent stream for one part, so that a part that draws more does not
 * change what the others draw.
 *
 * Work that sets itself to "now" for ever would hang a test; VCLOCK_STANDSTILL_MAX events without a
 * step of time are a BUG.
 *
 * A struct vclock is embedded in the world and must not move: the ports point into it.
 */
#ifndef KARP_SIM_VCLOCK_H
#define KARP_SIM_VCLOCK_H

#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/timer.h"

#define VCLOCK_DRIVERS_MAX 16
#define VCLOCK_STANDSTILL_MAX 20000000u /* events at one instant: somebody runs in a circle */

struct vclock_driver {
    int64_t (*next_ns)(void *ctx); /* mono; NS_NEVER if it waits for events only */
    void (*turn)(void *ctx);
    void *ctx;
};

struct vclock_once; /* a pending vclock_after */

struct vclock {
    struct timers timers;
    int64_t start_wall_ns;
    int64_t now_ns; /* mono */
    uint64_t seed, seed_state;
    struct entropy chance;
    uint64_t events;     /* run so far */
    uint64_t standstill; /* since time last moved */
    struct vclock_driver drivers[VCLOCK_DRIVERS_MAX];
    size_t n_drivers;
    struct vclock_once *once; /* all pending ones, to be freed at the end */
};

void vclock_init(struct vclock *v, int64_t start_wall_ns, uint64_t seed);
/* Pending events are dropped without running. */
void vclock_done(struct vclock *v);

static inline int64_t vclock_now(const struct vclock *v)
{
    return v->now_ns;
}

static inline int64_t vclock_wall(const struct vclock *v)
{
    return v->start_wall_ns + v->now_ns;
}

/* The clock port; borrowed from v. */
struct clock vclock_port(struct vclock *v);
/* Seed of an independent stream, a function of the seed and the name only; for entropy_seeded. */
uint64_t vclock_fork(const struct vclock *v, const char *name);

/* Sets an embedded timer to now + delay. */
void vclock_set(struct vclock *v, struct timer *tm, int64_t delay_ns, void (*fn)(void *),
                void *arg);
/* The same without a timer of one's own; cannot be taken back, dropped by vclock_done. */
void vclock_after(struct vclock *v, int64_t delay_ns, void (*fn)(void *), void *arg);

/* A driver must be removed before its ctx goes; both are allowed from within events. */
void vclock_add_driver(struct vclock *v, struct vclock_driver d);
void vclock_remove_driver(struct vclock *v, const void *ctx);

/* When the next event or turn is due; NS_NEVER if none. */
int64_t vclock_next(const struct vclock *v);
/* Moves to the next event or turn due at or before limit_ns and runs that one. False, with time
 * unchanged, if there is none. */
bool vclock_step(struct vclock *v, int64_t limit_ns);
/* Runs everything due up to and including at_ns, then sets the time to at_ns. */
void vclock_run_to(struct vclock *v, int64_t at_ns);

#endif
