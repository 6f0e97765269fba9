#include "quantity.h"

#include <ctype.h>

#define NANO 9
/* Past so many digits before the point every value is above 2^63-1. */
#define WHOLE_DIGITS_MAX 20
#define EXPONENT_MAX 100000
#define NANO_PER_WHOLE INT64_C(1000000000)
/* Digits of the text, and what multiplying by 2^60 adds. */
#define DIGITS_MAX (QUANTITY_PARSE_MAX + 20)

/* digit[0] .. digit[n-1] times 10^exp10, without zeros at either end; n = 0 is zero. */
struct decimal {
    uint8_t digit[DIGITS_MAX];
    int n;
    int64_t exp10;
    bool neg;
};

struct suffix {
    const char *text;
    int exp10;
    int exp2;
};

static const struct suffix suffixes[] = {
    {"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},  {"k", 3, 0},   {"M", 6, 0},
    {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
    {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
};

static void strip_zeros(struct decimal *d)
{
    int lead = 0;
    while (lead < d->n && d->digit[lead] == 0) {
        lead++;
    }
    d->n -= lead;
    memmove(d->digit, d->digit + lead, (size_t)d->n);
    while (d->n > 0 && d->digit[d->n - 1] == 0) {
        d->n--;
        d->exp10++;
    }
}

/* Long multiplication by 2^exp2, exp2 a multiple of ten. */
static void multiply_pow2(struct decimal *d, int exp2)
{
    for (; exp2 > 0; exp2 -= 10) {
        unsigned carry = 0;
        for (int i = d->n - 1; i >= 0; i--) {
            unsigned v = d->digit[i] * 1024u + carry;
            d->digit[i] = (uint8_t)(v % 10);
            carry = v / 10;
        }
        uint8_t front[8];
        int extra = 0;
        for (; carry > 0; carry /= 10) {
            front[extra++] = (uint8_t)(carry % 10);
        }
        memmove(d->digit + extra, d->digit, (size_t)d->n);
        for (int i = 0; i < extra; i++) {
            d->digit[i] = front[extra - 1 - i];
        }
        d->n += extra;
    }
}

/* Sign, digits and point; false without a digit. */
static bool take_number(const char **p, struct decimal *d)
{
    bool any = false, point = false;
    d->neg = **p == '-';
    if (**p == '-' || **p == '+') {
        (*p)++;
    }
    for (;; (*p)++) {
        if (isdigit((unsigned char)**p)) {
            any = true;
            d->digit[d->n++] = (uint8_t)(**p - '0');
            d->exp10 -= point;
        } else if (**p == '.' && !point) {
            point = true;
        } else {
            return any;
        }
    }
}

/* The text behind e or E: [+-]?[0-9]+ */
static bool parse_exponent(const char *s, int64_t *ret)
{
    bool neg = *s == '-';
    if (*s == '-' || *s == '+') {
        s++;
    }
    if (!*s) {
        return false;
    }
    int64_t v = 0;
    for (; isdigit((unsigned char)*s); s++) {
        if (v < EXPONENT_MAX) {
            v = v * 10 + (*s - '0');
        }
    }
    *ret = neg ? -v : v;
    return *s == '\0';
}

static bool apply_suffix(const char *s, struct decimal *d)
{
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        if (strcmp(s, suffixes[i].text) == 0) {
            multiply_pow2(d, suffixes[i].exp2);
            d->exp10 += suffixes[i].exp10;
            return true;
        }
    }
    int64_t e;
    if ((*s != 'e' && *s != 'E') || !parse_exponent(s + 1, &e)) {
        return false;
    }
    d->exp10 += e;
    return true;
}

static bool parse_decimal(const char *s, struct decimal *d)
{
    if (!s || strlen(s) > QUANTITY_PARSE_MAX) {
        return false;
    }
    d->n = 0;
    d->exp10 = 0;
    if (!take_number(&s, d)) {
        return false;
    }
    strip_zeros(d);
    if (!apply_suffix(s, d)) {
        return false;
    }
    strip_zeros(d);
    return true;
}

/* The value times 10^scale, rounded away from zero and clamped to INT64_MIN .. INT64_MAX. */
static int64_t scaled(const struct decimal *d, int scale)
{
    int64_t whole_digits = d->n + d->exp10 + scale;
    unsigned __int128 v = 0;
    if (d->n == 0) {
        return 0;
    }
    if (whole_digits > WHOLE_DIGITS_MAX) {
        return d->neg ? INT64_MIN : INT64_MAX;
    }
    for (int i = 0; i < whole_digits; i++) {
        v = v * 10 + (i < d->n ? d->digit[i] : 0);
    }
    /* The last digit is never 0, so what is cut off is never nothing. */
    v += whole_digits < d->n;
    if (v > (unsigned __int128)INT64_MAX) {
        return d->neg ? INT64_MIN : INT64_MAX;
    }
    return d->neg ? -(int64_t)v : (int64_t)v;
}

bool quantity_parse_milli(const char *s, int64_t *ret_milli)
{
    struct decimal d;
    if (!parse_decimal(s, &d)) {
        return false;
    }
    *ret_milli = scaled(&d, 3);
    return true;
}

bool quantity_parse(const char *s, int64_t *ret_whole)
{
    struct decimal d;
    if (!parse_decimal(s, &d)) {
        return false;
    }
    *ret_whole = scaled(&d, 0);
    return true;
}

/* Billionths in magnitude, rounded up and capped at 2^63-1 wholes, with the sign. */
static __int128 nanos(const struct decimal *d)
{
    const __int128 cap = (__int128)INT64_MAX * NANO_PER_WHOLE;
    int64_t whole_digits = d->n + d->exp10 + NANO;
    __int128 v = 0;
    if (d->n == 0) {
        return 0;
    }
    if (whole_digits > WHOLE_DIGITS_MAX + NANO) {
        v = cap;
    } else {
        for (int i = 0; i < whole_digits; i++) {
            v = v * 10 + (i < d->n ? d->digit[i] : 0);
        }
        v += whole_digits < d->n;
        v = v > cap ? cap : v;
    }
    return d->neg ? -v : v;
}

bool quantity_cmp(const char *a, const char *b, int *ret)
{
    struct decimal da, db;
    if (!parse_decimal(a, &da) || !parse_decimal(b, &db)) {
        return false;
    }
    __int128 na = nanos(&da), nb = nanos(&db);
    *ret = (na > nb) - (na < nb);
    return true;
}

/* Decimal with as many thousands as divide told by the suffix; units[0] is for n itself. */
static char *fmt_steps(int64_t n, int64_t step, const char *const *units, int n_units, char *dst)
{
    int i = 0;
    while (i + 1 < n_units && n != 0 && n % step == 0) {
        n /= step;
        i++;
    }
    (void)snprintf(dst, QUANTITY_TEXT, "%lld%s", (long long)n, n == 0 ? "" : units[i]);
    return dst;
}

char *quantity_fmt_milli(int64_t milli, char *dst)
{
    static const char *const units[] = {"m", "", "k", "M", "G", "T", "P"};
    return fmt_steps(milli, 1000, units, ARRAY_LEN(units), dst);
}

char *quantity_fmt_bytes(int64_t bytes, char *dst)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    return fmt_steps(bytes, 1024, units, ARRAY_LEN(units), dst);
}

char *quantity_fmt_count(int64_t n, char *dst)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
    return fmt_steps(n, 1000, units, ARRAY_LEN(units), dst);
}
