/* str.c - see str.h */
#include "str.h"

#include <math.h>

int str_cmp(const char *a, const char *b)
{
    if (a == b) {
        return 0;
    }
    if (!a || !b) {
        return a ? 1 : -1;
    }
    int c = strcmp(a, b);
    return (c > 0) - (c < 0);
}

bool str_starts(const char *s, const char *prefix)
{
    return s && prefix && strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
    if (!s || !suffix) {
        return false;
    }
    size_t n = strlen(s);
    size_t m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

bool str_contains(const char *s, const char *part)
{
    return s && part && strstr(s, part) != NULL;
}

/* Only the last star can need another try, so the work is at most pattern times text. */
bool str_glob(const char *pattern, const char *s)
{
    if (!pattern || !s) {
        return false;
    }
    const char *star = NULL;
    const char *resume = NULL;
    while (*s) {
        if (*pattern == '*') {
            star = ++pattern;
            resume = s;
        } else if (*pattern && (*pattern == '?' || *pattern == *s)) {
            pattern++;
            s++;
        } else if (star) {
            pattern = star;
            s = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Counts on the negative side, which is one larger. */
bool str_parse_i64(const char *s, int64_t *ret)
{
    if (!s) {
        return false;
    }
    bool negative = *s == '-';
    s += negative;
    if (!*s) {
        return false;
    }
    int64_t v = 0;
    for (; *s; s++) {
        if (!is_digit(*s) || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_sub_overflow(v, *s - '0', &v)) {
            return false;
        }
    }
    if (!negative && v == INT64_MIN) {
        return false;
    }
    *ret = negative ? v : -v;
    return true;
}

const char *str_from_i64(int64_t n, char dst[STR_I64_TEXT])
{
    uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;
    char *p = dst + STR_I64_TEXT - 1;
    *p = '\0';
    do {
        *--p = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (n < 0) {
        *--p = '-';
    }
    return p;
}

bool str_parse_bool(const char *s, bool *ret)
{
    if (str_eq(s, "true")) {
        *ret = true;
        return true;
    }
    if (str_eq(s, "false")) {
        *ret = false;
        return true;
    }
    return false;
}

static size_t skip_digits(const char **s)
{
    size_t n = 0;
    while (is_digit(**s)) {
        (*s)++;
        n++;
    }
    return n;
}

/* [+-]? digits with at most one point, then an optional exponent. */
static bool is_decimal(const char *s)
{
    s += *s == '+' || *s == '-';
    size_t digits = skip_digits(&s);
    if (*s == '.') {
        s++;
        digits += skip_digits(&s);
    }
    if (digits == 0) {
        return false;
    }
    if (*s == 'e' || *s == 'E') {
        s++;
        s += *s == '+' || *s == '-';
        if (skip_digits(&s) == 0) {
            return false;
        }
    }
    return *s == '\0';
}

/* strtod reads a point because no program of ours ever calls setlocale. */
bool str_parse_f64(const char *s, double *ret)
{
    if (!s || !is_decimal(s)) {
        return false;
    }
    double v = strtod(s, NULL);
    if (!isfinite(v)) {
        return false;
    }
    *ret = v;
    return true;
}

static bool is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

size_t str_utf8_len(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;
    if (p[0] < 0x80) {
        return 1;
    }
    size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || n < len) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if (!is_tail(p[i])) {
            return 0;
        }
    }
    /* What the second byte may be after a first byte at the edge of its range. */
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xed && p[1] > 0x9f;
    bool beyond = p[0] == 0xf4 && p[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : len;
}

size_t str_cut(const char *s, size_t max)
{
    size_t n = strnlen(s, max);
    if (n < max || max == 0) {
        return n;
    }
    /* A character has at most four bytes: look back for the first byte of the last one. */
    size_t start = n - 1;
    while (start > 0 && n - start < 4 && is_tail((unsigned char)s[start])) {
        start--;
    }
    unsigned char c = (unsigned char)s[start];
    size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    return start + want > n ? start : n;
}

void str_copy(char *dst, size_t size, const char *s)
{
    if (size == 0) {
        return;
    }
    size_t n = s ? str_cut(s, size - 1) : 0;
    if (n > 0) {
        memcpy(dst, s, n);
    }
    dst[n] = '\0';
}

int str_qsort_cmp(const void *a, const void *b)
{
    return str_cmp(*(const char *const *)a, *(const char *const *)b);
}
