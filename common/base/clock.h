/*
 * clock.h - time as a port. Nobody but the real clock here asks the system.
 *
 * wall_ns   nanoseconds since 1970-01-01 UTC; may jump. For comparing with timestamps of others.
 * mono_ns   nanoseconds since an arbitrary start; never jumps. For deadlines and time-outs.
 */
#ifndef KARP_BASE_CLOCK_H
#define KARP_BASE_CLOCK_H

#include "compat.h"

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MIN (60 * NS_PER_S)
#define NS_PER_H (3600 * NS_PER_S)
#define NS_NEVER INT64_MAX

struct clock {
    int64_t (*wall_ns)(void *ctx);
    int64_t (*mono_ns)(void *ctx);
    void *ctx;
};

static inline int64_t clock_wall(const struct clock *c)
{
    return c->wall_ns(c->ctx);
}

static inline int64_t clock_mono(const struct clock *c)
{
    return c->mono_ns(c->ctx);
}

/* The system's clock. */
extern const struct clock clock_real;

#endif
