#include "yamlx_scalar.h"

#include "str.h"

#include <ctype.h>
#include <math.h>

/* A longer plain text is no number. */
#define NUMBER_MAX 400
/* A longer plain text is no word either. */
#define WORD_MAX 5

struct word {
    const char *text;
    enum yamlx_kind kind;
    bool b;
};

static const struct word words[] = {
    {"", YAMLX_NULL, false},          {"~", YAMLX_NULL, false},
    {"null", YAMLX_NULL, false},      {"Null", YAMLX_NULL, false},
    {"NULL", YAMLX_NULL, false},      {"y", YAMLX_BOOL, true},
    {"Y", YAMLX_BOOL, true},          {"yes", YAMLX_BOOL, true},
    {"Yes", YAMLX_BOOL, true},        {"YES", YAMLX_BOOL, true},
    {"true", YAMLX_BOOL, true},       {"True", YAMLX_BOOL, true},
    {"TRUE", YAMLX_BOOL, true},       {"on", YAMLX_BOOL, true},
    {"On", YAMLX_BOOL, true},         {"ON", YAMLX_BOOL, true},
    {"n", YAMLX_BOOL, false},         {"N", YAMLX_BOOL, false},
    {"no", YAMLX_BOOL, false},        {"No", YAMLX_BOOL, false},
    {"NO", YAMLX_BOOL, false},        {"false", YAMLX_BOOL, false},
    {"False", YAMLX_BOOL, false},     {"FALSE", YAMLX_BOOL, false},
    {"off", YAMLX_BOOL, false},       {"Off", YAMLX_BOOL, false},
    {"OFF", YAMLX_BOOL, false},       {".nan", YAMLX_NOT_JSON, false},
    {".NaN", YAMLX_NOT_JSON, false},  {".NAN", YAMLX_NOT_JSON, false},
    {".inf", YAMLX_NOT_JSON, false},  {".Inf", YAMLX_NOT_JSON, false},
    {".INF", YAMLX_NOT_JSON, false},  {"+.inf", YAMLX_NOT_JSON, false},
    {"+.Inf", YAMLX_NOT_JSON, false}, {"+.INF", YAMLX_NOT_JSON, false},
    {"-.inf", YAMLX_NOT_JSON, false}, {"-.Inf", YAMLX_NOT_JSON, false},
    {"-.INF", YAMLX_NOT_JSON, false}, {"<<", YAMLX_MERGE, false},
};

static int digit_value(char c)
{
    if (isdigit((unsigned char)c)) {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* Go's base 0: the prefix names the base. */
static unsigned take_base(const char **p)
{
    const char *s = *p;
    if (s[0] != '0' || !s[1]) {
        return 10;
    }
    char c = (char)(s[1] | 0x20);
    if (s[2] && (c == 'x' || c == 'o' || c == 'b')) {
        *p = s + 2;
        return c == 'x' ? 16 : c == 'o' ? 8 : 2;
    }
    *p = s + 1;
    return 8;
}

/* An integer, exact as INT or, unsigned beyond it, as REAL. */
static bool resolve_int(const char *s, struct yamlx_scalar *ret)
{
    bool neg = *s == '-', sign = neg || *s == '+';
    uint64_t v = 0;
    s += sign;
    if (!*s) {
        return false;
    }
    unsigned base = take_base(&s);
    for (; *s; s++) {
        int d = digit_value(*s);
        if (d >= (int)base || __builtin_mul_overflow(v, (uint64_t)base, &v) ||
            __builtin_add_overflow(v, (uint64_t)d, &v)) {
            return false;
        }
    }
    if (v > (uint64_t)INT64_MAX + neg) {
        ret->kind = YAMLX_REAL;
        ret->r = (double)v;
        return !sign;
    }
    ret->kind = YAMLX_INT;
    ret->i = neg ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

static const char *skip_digits(const char *p)
{
    while (isdigit((unsigned char)*p)) {
        p++;
    }
    return p;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool float_shape(const char *s)
{
    s += *s == '-' || *s == '+';
    const char *whole = s;
    s = skip_digits(s);
    bool any = s != whole;
    if (*s == '.') {
        const char *frac = s + 1;
        s = skip_digits(frac);
        any = any || s != frac;
    }
    if (any && (*s == 'e' || *s == 'E')) {
        s++;
        s += *s == '-' || *s == '+';
        const char *exp = s;
        s = skip_digits(s);
        any = s != exp;
    }
    return any && !*s;
}

static bool resolve_real(const char *s, struct yamlx_scalar *ret)
{
    if (!float_shape(s)) {
        return false;
    }
    ret->r = strtod(s, NULL);
    ret->kind = YAMLX_REAL;
    return isfinite(ret->r);
}

/* Copies without underscores, which may stand anywhere behind the first character; but if that is a
 * point, only between digits (Go's two parsers differ here). */
static bool number_text(const char *s, size_t n, char dst[NUMBER_MAX + 1])
{
    size_t m = 0;
    if (n == 0 || n > NUMBER_MAX || !strchr("+-.0123456789", *s)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (s[i] != '_') {
            dst[m++] = s[i];
        } else if (*s == '.' && !(isdigit((unsigned char)s[i - 1]) && i + 1 < n &&
                                  isdigit((unsigned char)s[i + 1]))) {
            return false;
        }
    }
    dst[m] = '\0';
    return true;
}

void yamlx_resolve(const char *s, size_t n, struct yamlx_scalar *ret)
{
    char text[NUMBER_MAX + 1];
    ret->kind = YAMLX_STRING;
    if (memchr(s, '\0', n)) {
        return;
    }
    for (size_t i = 0; n <= WORD_MAX && i < ARRAY_LEN(words); i++) {
        if (strlen(words[i].text) == n && memcmp(words[i].text, s, n) == 0) {
            ret->kind = words[i].kind;
            ret->b = words[i].b;
            return;
        }
    }
    if (!number_text(s, n, text) || (*s != '.' && resolve_int(text, ret)) ||
        resolve_real(text, ret)) {
        return;
    }
    ret->kind = YAMLX_STRING;
}

/* ---- for writing ----------------------------------------------------------------------------- */

/* What some reader may take for a number, a date or a base-60 integer: it begins like one and has
 * no character that none of them has. */
static bool looks_numeric(const char *s, size_t n)
{
    const char *first = s + (*s == '-' || *s == '+');
    if (first < s + n && *first == '.') {
        first++;
    }
    if (first == s + n || !isdigit((unsigned char)*first)) {
        return false;
    }
    size_t span = strspn(s, "0123456789abcdefABCDEFxXoO_+-:.tTzZ ");
    /* Two or more dots without anything else: a version or an address. */
    const char *dot = memchr(s, '.', n);
    bool dots =
        dot && memchr(dot + 1, '.', n - (size_t)(dot + 1 - s)) && strspn(s, "0123456789.") == n;
    return span == n && !dots;
}

static bool bad_start(const char *s, size_t n)
{
    if (strchr(",[]{}#&*!|>'\"%@`=<~", *s)) {
        return true;
    }
    if (strchr("-?:", *s)) {
        return n == 1 || s[1] == ' ' || s[1] == *s || *s != '-';
    }
    return n >= 3 && memcmp(s, "...", 3) == 0;
}

/* The Unicode characters YAML calls printable, without line breaks, BOM and tab. */
bool yamlx_printable(const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i], d = i + 1 < n ? (unsigned char)s[i + 1] : 0;
        size_t len = str_utf8_len(s + i, n - i);
        if (len == 0 || c < 0x20 || c == 0x7f || (c == 0xc2 && d < 0xa0)) {
            return false;
        }
        if (len == 3 &&
            (memcmp(s + i, "\xe2\x80\xa8", 3) == 0 || memcmp(s + i, "\xe2\x80\xa9", 3) == 0 ||
             memcmp(s + i, "\xef\xbb\xbf", 3) == 0 || memcmp(s + i, "\xef\xbf\xbe", 3) == 0 ||
             memcmp(s + i, "\xef\xbf\xbf", 3) == 0)) {
            return false;
        }
        i += len;
    }
    return true;
}

bool yamlx_plain_ok(const char *s, size_t n)
{
    struct yamlx_scalar sc;
    yamlx_resolve(s, n, &sc);
    if (sc.kind != YAMLX_STRING || bad_start(s, n) || looks_numeric(s, n)) {
        return false;
    }
    if (s[0] == ' ' || s[n - 1] == ' ' || s[n - 1] == ':' || !yamlx_printable(s, n)) {
        return false;
    }
    return !strstr(s, ": ") && !strstr(s, " #");
}
