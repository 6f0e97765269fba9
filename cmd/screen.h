/*
 * screen.h - what screens share beside tables: wrapped text, money, amounts, times, zones.
 */
#ifndef KARP_CMD_SCREEN_H
#define KARP_CMD_SCREEN_H

#include "cmd/read/prices.h"
#include "common/base/arena.h"
#include "term.h"

#define SCREEN_COLUMNS 100u /* where the terminal's width is not known */
#define SCREEN_COLUMNS_MIN 40u

/* Words from column `indent` on, where the cursor stands already; further lines are indented alike.
 * A word wider than the screen stays whole. Made safe for a terminal. No newline at the end. */
void screen_wrap(const struct term *t, struct arena *a, unsigned indent, const char *text,
                 struct buf *out);
/* "eu-west-1a,b" of names in string order. */
const char *screen_zones(struct arena *a, const char *const *zones, size_t n);
/* "~$0.634/h", "?" without a price; sign: "", "+" or "-". */
const char *screen_hour(struct arena *a, int64_t pusd_h, bool estimated, const char *sign);
/* The last line of a screen with prices: where they come from. */
void screen_prices(const struct term *t, struct arena *a, const struct prices *p, struct buf *out);
/* Tenths of a unit, rounded: "1.4"; whole numbers as "52", or "52.0" with `always`. */
void screen_tenths(struct buf *out, int64_t v, int64_t unit, bool always);
/* Gibibytes without their unit: tenths below ten, whole above. */
void screen_gib(struct buf *out, int64_t bytes);
/* 0 if whole is. */
int screen_percent(int64_t part, int64_t whole);
/* "10:42" in UTC, with the date if that is a day away or more. */
const char *screen_clock(struct arena *a, int64_t t_ns, int64_t now_ns);
/* "5d3h" */
const char *screen_age(struct arena *a, int64_t ns);
/* "1 pod", "3 pods" */
const char *screen_count(struct arena *a, int64_t n, const char *what);

#endif
