/* entropy.c - see entropy.h */
#include "entropy.h"

#include "err.h"

#include <errno.h>
#include <sys/random.h>

/* What lies past the last whole multiple of n is thrown again, so that no value is favoured. */
uint64_t entropy_below(struct entropy *e, uint64_t n)
{
    if (n == 0) {
        BUG("entropy_below(0)");
    }
    uint64_t excess = (UINT64_MAX % n + 1) % n;
    uint64_t r;
    do {
        r = e->next(e->ctx);
    } while (r > UINT64_MAX - excess);
    return r % n;
}

int64_t entropy_jitter(struct entropy *e, int64_t base_ns, unsigned spread_percent)
{
    int64_t percent = spread_percent > 100 ? 100 : (int64_t)spread_percent;
    if (base_ns <= 0 || percent == 0) {
        return base_ns;
    }
    int64_t spread = base_ns / 100 * percent + base_ns % 100 * percent / 100;
    uint64_t up = entropy_below(e, 2 * (uint64_t)spread + 1);
    uint64_t ns = (uint64_t)(base_ns - spread) + up;
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

void entropy_suffix(struct entropy *e, char *dst, size_t n)
{
    /* No vowels and nothing that looks like one, so no words: apimachinery's util/rand. */
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    for (size_t i = 0; i < n; i++) {
        dst[i] = letters[entropy_below(e, sizeof(letters) - 1)];
    }
    dst[n] = '\0';
}

/* RFC 9562, version 4. */
void entropy_uuid(struct entropy *e, char dst[37])
{
    uint64_t hi = e->next(e->ctx);
    uint64_t lo = e->next(e->ctx);
    hi = (hi & ~UINT64_C(0xf000)) | UINT64_C(0x4000);
    lo = (lo & ~(UINT64_C(3) << 62)) | (UINT64_C(2) << 62);
    snprintf(dst, 37, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(hi >> 32),
             (unsigned)(hi >> 16) & 0xffff, (unsigned)hi & 0xffff, (unsigned)(lo >> 48),
             (unsigned long long)(lo & UINT64_C(0xffffffffffff)));
}

static uint64_t system_next(UNUSED void *ctx)
{
    uint64_t r;
    ssize_t n;
    do {
        n = getrandom(&r, sizeof(r), 0);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(r)) {
        BUG("getrandom: %s", strerror(errno));
    }
    return r;
}

struct entropy entropy_system(void)
{
    return (struct entropy){system_next, NULL};
}

/* splitmix64 (Steele, Lea and Flood, 2014) */
static uint64_t seeded_next(void *ctx)
{
    uint64_t *state = ctx;
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct entropy entropy_seeded(uint64_t *state)
{
    return (struct entropy){seeded_next, state};
}
