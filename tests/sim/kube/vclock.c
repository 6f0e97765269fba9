/* vclock.c - see vclock.h */
#include "vclock.h"

#include "common/base/alloc.h"
#include "common/base/err.h"
#include "common/base/hash.h"

struct vclock_once {
    struct timer timer;
    struct vclock *v;
    void (*fn)(void *arg);
    void *arg;
    struct vclock_once *prev, *next;
};

void vclock_init(struct vclock *v, int64_t start_wall_ns, uint64_t seed)
{
    *v = (struct vclock){.start_wall_ns = start_wall_ns, .seed = seed, .seed_state = seed};
    timers_init(&v->timers);
    v->chance = entropy_seeded(&v->seed_state);
}

void vclock_done(struct vclock *v)
{
    while (v->once) {
        struct vclock_once *o = v->once;
        v->once = o->next;
        timer_stop(&v->timers, &o->timer);
        free(o);
    }
    timers_done(&v->timers);
}

static int64_t port_wall(void *ctx)
{
    return vclock_wall(ctx);
}

static int64_t port_mono(void *ctx)
{
    return vclock_now(ctx);
}

struct clock vclock_port(struct vclock *v)
{
    return (struct clock){.wall_ns = port_wall, .mono_ns = port_mono, .ctx = v};
}

uint64_t vclock_fork(const struct vclock *v, const char *name)
{
    uint64_t state = v->seed ^ hash_fnv1a(name, strlen(name));
    struct entropy e = entropy_seeded(&state);
    return e.next(e.ctx);
}

void vclock_set(struct vclock *v, struct timer *tm, int64_t delay_ns, void (*fn)(void *), void *arg)
{
    timer_set(&v->timers, tm, v->now_ns + (delay_ns > 0 ? delay_ns : 0), fn, arg);
}

static void once_unlink(struct vclock_once *o)
{
    if (o->prev) {
        o->prev->next = o->next;
    } else {
        o->v->once = o->next;
    }
    if (o->next) {
        o->next->prev = o->prev;
    }
}

static void once_run(void *arg)
{
    struct vclock_once *o = arg;
    void (*fn)(void *) = o->fn;
    void *fn_arg = o->arg;
    once_unlink(o);
    free(o);
    fn(fn_arg);
}

void vclock_after(struct vclock *v, int64_t delay_ns, void (*fn)(void *), void *arg)
{
    struct vclock_once *o = NEW(struct vclock_once);
    o->v = v;
    o->fn = fn;
    o->arg = arg;
    o->next = v->once;
    if (o->next) {
        o->next->prev = o;
    }
    v->once = o;
    vclock_set(v, &o->timer, delay_ns, once_run, o);
}

void vclock_add_driver(struct vclock *v, struct vclock_driver d)
{
    if (v->n_drivers >= VCLOCK_DRIVERS_MAX) {
        BUG("more than %d drivers", VCLOCK_DRIVERS_MAX);
    }
    v->drivers[v->n_drivers++] = d;
}

void vclock_remove_driver(struct vclock *v, const void *ctx)
{
    size_t kept = 0;
    for (size_t i = 0; i < v->n_drivers; i++) {
        if (v->drivers[i].ctx != ctx) {
            v->drivers[kept++] = v->drivers[i];
        }
    }
    v->n_drivers = kept;
}

/* The first driver whose turn is due soonest; -1 if none wants one. */
static int next_driver(const struct vclock *v, int64_t *ret_at_ns)
{
    int best = -1;
    *ret_at_ns = NS_NEVER;
    for (size_t i = 0; i < v->n_drivers; i++) {
        int64_t at = v->drivers[i].next_ns(v->drivers[i].ctx);
        if (at < *ret_at_ns) {
            *ret_at_ns = at;
            best = (int)i;
        }
    }
    return best;
}

int64_t vclock_next(const struct vclock *v)
{
    int64_t driver_ns;
    next_driver(v, &driver_ns);
    int64_t timer_ns = timers_next_ns(&v->timers);
    return timer_ns < driver_ns ? timer_ns : driver_ns;
}

bool vclock_step(struct vclock *v, int64_t limit_ns)
{
    int64_t driver_ns;
    int driver = next_driver(v, &driver_ns);
    int64_t timer_ns = timers_next_ns(&v->timers);
    /* A driver may be overdue: its turn is now. */
    if (driver_ns < v->now_ns) {
        driver_ns = v->now_ns;
    }
    int64_t at = timer_ns <= driver_ns ? timer_ns : driver_ns;
    if (at == NS_NEVER || at > limit_ns) {
        return false;
    }
    if (at > v->now_ns) {
        v->now_ns = at;
        v->standstill = 0;
    }
    if (++v->standstill > VCLOCK_STANDSTILL_MAX) {
        BUG("time stands still at %lld ns (seed %llu)", (long long)v->now_ns,
            (unsigned long long)v->seed);
    }
    v->events++;
    if (timer_ns <= driver_ns) {
        timers_run_one(&v->timers, v->now_ns);
    } else {
        v->drivers[driver].turn(v->drivers[driver].ctx);
    }
    return true;
}

void vclock_run_to(struct vclock *v, int64_t at_ns)
{
    while (vclock_step(v, at_ns)) {
    }
    if (v->now_ns < at_ns) {
        v->now_ns = at_ns;
    }
}
