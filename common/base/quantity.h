/*
 * quantity.h - Kubernetes quantities as exact integers.
 *
 * Grammar as apimachinery's resource.Quantity: sign, decimal number, suffix n u m "" k M G T P E,
 * Ki Mi Gi Ti Pi Ei, or e/E exponent. Values are kept as int64 in one of two units: thousandths
 * (cpu_milli) or whole (bytes, counts). What does not divide is rounded away from zero, as
 * Quantity.MilliValue and .Value do; what does not fit is clamped to INT64_MAX/MIN.
 * Printing is the API server's canonical form: cpu "1500m", "2" and, as the server has it, "1k" for
 * 1000; counts likewise; bytes with the largest binary suffix that divides ("1536Mi", "20Gi"),
 * else plain digits. Texts longer than QUANTITY_PARSE_MAX, and numbers without a digit ("Ki", ".",
 * which the server's parser lets through as 0), are refused.
 */
#ifndef KARP_BASE_QUANTITY_H
#define KARP_BASE_QUANTITY_H

#include "compat.h"

#include <stdbool.h>

#define QUANTITY_TEXT 32
#define QUANTITY_PARSE_MAX 256

bool quantity_parse_milli(const char *s, int64_t *ret_milli);
bool quantity_parse(const char *s, int64_t *ret_whole);
/* Compares two texts exactly: to the billionth, all above 2^63-1 alike, as the API server keeps
 * them. False if either is no quantity. */
bool quantity_cmp(const char *a, const char *b, int *ret);
/* Each returns dst, which holds QUANTITY_TEXT bytes. */
char *quantity_fmt_milli(int64_t milli, char *dst);
char *quantity_fmt_bytes(int64_t bytes, char *dst);
char *quantity_fmt_count(int64_t n, char *dst);

#endif
