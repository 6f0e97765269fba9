/*
 * entropy.h - chance as a port: jitter, suffixes of names, UUIDs. Tests seed it, production uses
 * getrandom. The core has none.
 */
#ifndef KARP_BASE_ENTROPY_H
#define KARP_BASE_ENTROPY_H

#include "compat.h"

struct entropy {
    uint64_t (*next)(void *ctx); /* 64 uniform bits */
    void *ctx;
};

/* Uniform in [0, n); n > 0. */
uint64_t entropy_below(struct entropy *e, uint64_t n);
/* base_ns scaled by a factor uniform in [1-spread, 1+spread], spread in percent. */
int64_t entropy_jitter(struct entropy *e, int64_t base_ns, unsigned spread_percent);
/* n characters of [a-z0-9] without vowels (as Kubernetes' name suffixes), NUL-terminated. */
void entropy_suffix(struct entropy *e, char *dst, size_t n);
/* Random UUID, 36 characters and NUL. */
void entropy_uuid(struct entropy *e, char dst[37]);

/* getrandom */
struct entropy entropy_system(void);

/* Repeatable (splitmix64); the state is the caller's. */
struct entropy entropy_seeded(uint64_t *state);

#endif
