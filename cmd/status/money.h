/*
 * money.h - dollars per hour for people and for machines, from int64 pico-dollars.
 */
#ifndef KARP_CMD_MONEY_H
#define KARP_CMD_MONEY_H

#include "common/base/compat.h"

#include <jansson.h>
#include <stdbool.h>

#define MONEY_TEXT 48
#define MONEY_HOURS_PER_MONTH 730
#define MONEY_MAX_USD_H 1000000.0

/* "0.634", "4.812": three decimals, rounded half away from zero. Each returns dst[MONEY_TEXT]. */
char *money_hour(int64_t pusd_h, char *dst);
/* "3,513": whole dollars of 730 hours, with thousands apart. */
char *money_month(int64_t pusd_h, char *dst);
/* For machines: the shortest decimal of at most 10 places ("0.096", "-0.3", "0"). */
char *money_exact(int64_t pusd_h, char *dst);

/* A price from JSON, a number or its text; false unless it is 0 to MONEY_MAX_USD_H. Numbers are
 * rounded to the pico-dollar. */
bool money_read(const json_t *v, int64_t *ret_pusd_h);

#endif
