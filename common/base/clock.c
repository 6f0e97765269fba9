/* clock.c - see clock.h */
#include "clock.h"

#include "err.h"

#include <errno.h>
#include <time.h>

static int64_t now_ns(clockid_t id)
{
    struct timespec ts;
    if (clock_gettime(id, &ts) != 0) {
        BUG("clock_gettime: %s", strerror(errno));
    }
    return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static int64_t real_wall_ns(UNUSED void *ctx)
{
    return now_ns(CLOCK_REALTIME);
}

static int64_t real_mono_ns(UNUSED void *ctx)
{
    /* Goes on while the machine is suspended: a lease does not wait for us. */
    return now_ns(CLOCK_BOOTTIME);
}

const struct clock clock_real = {real_wall_ns, real_mono_ns, NULL};
