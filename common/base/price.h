/*
 * price.h - US dollars as AWS and our objects write them, to and from int64 pico-dollars, without
 * doubles.
 */
#ifndef KARP_BASE_PRICE_H
#define KARP_BASE_PRICE_H

#include "compat.h"

#include <stdbool.h>

#define PRICE_TEXT 32

/*
 * "0.0960000000" → 96000000000, exactly: digits with at most one point, nothing else. false for
 * anything else or that does not fit: more than twelve decimals that matter, more than about nine
 * million dollars, signs, exponents.
 */
bool price_parse(const char *usd, int64_t *ret_pusd);
/* The shortest text that price_parse reads back ("0.096"). pusd ≥ 0. Returns dst[PRICE_TEXT]. */
char *price_text(int64_t pusd, char *dst);

/* Adds a price to a sum. One that is not known (below 0) adds nothing; what is too much stays the
 * most there is. */
static inline void price_add(int64_t *sum, int64_t pusd)
{
    if (pusd > 0 && __builtin_add_overflow(*sum, pusd, sum)) {
        *sum = INT64_MAX;
    }
}

#endif
