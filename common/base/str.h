/*
 * str.h - strict parsing and comparing of C strings. No locale, no allocation.
 *
 * Parsers accept the whole string or nothing: no leading blanks, no trailing bytes, no overflow.
 */
#ifndef KARP_BASE_STR_H
#define KARP_BASE_STR_H

#include "compat.h"

#include <stdbool.h>
#include <string.h>

#define STR_I64_TEXT 24

/* NULL equals only NULL. */
static inline bool str_eq(const char *a, const char *b)
{
    return a == b || (a && b && *a == *b && strcmp(a, b) == 0);
}

int str_cmp(const char *a, const char *b); /* byte order; NULL first */
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
bool str_contains(const char *s, const char *part);
/* Shell-like pattern with * and ? (and nothing else). */
bool str_glob(const char *pattern, const char *s);
bool str_parse_i64(const char *s, int64_t *ret); /* -?[0-9]+ */
/* The number in decimal, written to the end of dst; returns where it begins. */
const char *str_from_i64(int64_t n, char dst[STR_I64_TEXT]);
bool str_parse_bool(const char *s, bool *ret);  /* true, false: as Karpenter's flags */
bool str_parse_f64(const char *s, double *ret); /* decimal or 1e3, no inf, nan or hex */
/* Bytes of the UTF-8 character at s (n > 0 bytes are there); 0 if it is malformed, overlong, a
 * surrogate or beyond U+10FFFF. */
size_t str_utf8_len(const char *s, size_t n);
/* The longest prefix of s that has at most max bytes and does not end inside a character. */
size_t str_cut(const char *s, size_t max);
/* Copies s into dst[size], cut if need be (as str_cut), always terminated. NULL copies "". */
void str_copy(char *dst, size_t size, const char *s);
/* For qsort/bsearch over char *. */
int str_qsort_cmp(const void *a, const void *b);

#endif
