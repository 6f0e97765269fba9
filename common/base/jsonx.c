#include "jsonx.h"

#include "alloc.h"
#include "buf.h"
#include "str.h"

#include <ctype.h>
#include <math.h>

/* A text is at most some six times its tree, which is in memory already. */
#define TEXT_MAX (SIZE_MAX / 4)
/* Up to here every integer has its own double. */
#define EXACT_MAX 9007199254740992.0

/* jansson answers NULL when out of memory; the law of alloc.h holds for it too. */
static json_t *must(json_t *v)
{
    if (!v) {
        BUG("jansson: out of memory");
    }
    return v;
}

static void must_set(int rc)
{
    if (rc != 0) {
        BUG("jansson: object refused a member");
    }
}

/* ---- paths ----------------------------------------------------------------------------------- */

json_t *jsonx_at(const json_t *o, const char *path)
{
    const json_t *v = o;
    while (v && *path) {
        size_t n = strcspn(path, ".");
        v = json_object_getn(v, path, n);
        path += n;
        path += *path == '.';
    }
    return (json_t *)v;
}

const char *jsonx_str(const json_t *o, const char *path)
{
    return json_string_value(jsonx_at(o, path));
}

const char *jsonx_str_or(const json_t *o, const char *path, const char *d)
{
    const char *s = jsonx_str(o, path);
    return s ? s : d;
}

int64_t jsonx_int(const json_t *o, const char *path, int64_t d)
{
    const json_t *v = jsonx_at(o, path);
    return json_is_integer(v) ? (int64_t)json_integer_value(v) : d;
}

bool jsonx_bool(const json_t *o, const char *path, bool d)
{
    const json_t *v = jsonx_at(o, path);
    return json_is_boolean(v) ? json_is_true(v) : d;
}

json_t *jsonx_obj(const json_t *o, const char *path)
{
    json_t *v = jsonx_at(o, path);
    return json_is_object(v) ? v : NULL;
}

json_t *jsonx_arr(const json_t *o, const char *path)
{
    json_t *v = jsonx_at(o, path);
    return json_is_array(v) ? v : NULL;
}

void jsonx_set_new(json_t *o, const char *path, json_t *value)
{
    if (!json_is_object(o) || !*path) {
        BUG("jsonx_set_new needs an object and a path");
    }
    (void)must(value);
    for (;;) {
        size_t n = strcspn(path, ".");
        if (!path[n]) {
            must_set(json_object_setn_new(o, path, n, value));
            return;
        }
        json_t *next = json_object_getn(o, path, n);
        if (!json_is_object(next)) {
            next = must(json_object());
            must_set(json_object_setn_new(o, path, n, next));
        }
        o = next;
        path += n + 1;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

unsigned jsonx_text_depth(const char *p, size_t n)
{
    unsigned depth = 0, deepest = 0;
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        char c = p[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
            deepest = depth > deepest ? depth : deepest;
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
        }
    }
    return deepest;
}

/* Whole reals become integers, as far as they are exact. */
static json_t *whole_to_int(json_t *v)
{
    const char *key;
    json_t *child;
    size_t i;
    json_array_foreach (v, i, child) {
        must_set(json_array_set_new(v, i, whole_to_int(json_incref(child))));
    }
    json_object_foreach (v, key, child) {
        must_set(json_object_set_new(v, key, whole_to_int(json_incref(child))));
    }
    double r = json_real_value(v);
    if (!json_is_real(v) || r != trunc(r) || fabs(r) > EXACT_MAX) {
        return v;
    }
    json_decref(v);
    return must(json_integer((json_int_t)r));
}

json_t *jsonx_parse(const char *p, size_t n, const char *what, struct err *reterr)
{
    /* Before jansson, which recurses up to 2048 deep: all that walks trees later trusts this. */
    if (jsonx_text_depth(p, n) > JSONX_MAX_DEPTH) {
        err_set(reterr, ERR_LIMIT, "%s: nested deeper than %d levels", what, JSONX_MAX_DEPTH);
        return NULL;
    }
    json_error_t je;
    json_t *v = json_loadb(p, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &je);
    if (!v && json_error_code(&je) == json_error_numeric_overflow) {
        v = json_loadb(p, n, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &je);
        v = v ? whole_to_int(v) : NULL;
    }
    if (!v) {
        err_set(reterr, ERR_INVALID, "%s: line %d, column %d: %s", what, je.line, je.column,
                je.text);
    }
    return v;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Decimal digits of a positive double as d.ddd times 10^exp10. */
struct digits {
    char d[20];
    int n;
    int exp10;
};

static double digits_value(const struct digits *g)
{
    char text[40];
    (void)snprintf(text, sizeof(text), "%se%d", g->d, g->exp10 - (g->n - 1));
    return strtod(text, NULL);
}

/* v correctly rounded to n digits. */
static void digits_round(double v, int n, struct digits *ret)
{
    char text[40];
    (void)snprintf(text, sizeof(text), "%.*e", n - 1, v);
    const char *e = strchr(text, 'e');
    ret->n = 0;
    for (const char *c = text; c < e; c++) {
        if (isdigit((unsigned char)*c)) {
            ret->d[ret->n++] = *c;
        }
    }
    ret->d[ret->n] = '\0';
    ret->exp10 = (int)strtol(e + 1, NULL, 10);
}

/* Adds one unit in the last place; false if that would need another digit. */
static bool digits_up(struct digits *g)
{
    for (int i = g->n - 1; i >= 0; i--) {
        if (g->d[i] != '9') {
            g->d[i]++;
            return true;
        }
        g->d[i] = '0';
    }
    return false;
}

/*
 * The fewest digits that read back as v. Rounding to n digits finds them, but for powers of two:
 * there the gap below is half the gap above, so the next decimal above may be good where the
 * nearest one, below, is not.
 */
static void digits_shortest(double v, struct digits *ret)
{
    int exp2;
    bool pow2 = frexp(v, &exp2) == 0.5;
    for (int n = 1; n <= 17; n++) {
        digits_round(v, n, ret);
        if (digits_value(ret) == v) {
            return;
        }
        if (pow2 && digits_up(ret) && digits_value(ret) == v) {
            return;
        }
    }
}

/* Number::toString of ECMAScript; v is finite and positive. */
static void fmt_positive(double v, char *dst, size_t size)
{
    struct digits g;
    digits_shortest(v, &g);
    while (g.n > 1 && g.d[g.n - 1] == '0') {
        g.d[--g.n] = '\0';
    }
    int point = g.exp10 + 1; /* digits before the point */
    if (g.n <= point && point <= 21) {
        (void)snprintf(dst, size, "%s%.*s", g.d, point - g.n, "00000000000000000000");
    } else if (0 < point && point <= 21) {
        (void)snprintf(dst, size, "%.*s.%s", point, g.d, g.d + point);
    } else if (-6 < point && point <= 0) {
        (void)snprintf(dst, size, "0.%.*s%s", -point, "000000", g.d);
    } else {
        (void)snprintf(dst, size, "%c%s%se%+d", g.d[0], g.n > 1 ? "." : "", g.d + 1, point - 1);
    }
}

char *jsonx_fmt_real(double v, char *dst)
{
    if (v == 0 || !isfinite(v)) { /* jansson makes no infinite ones */
        (void)snprintf(dst, JSONX_REAL_TEXT, "0");
        return dst;
    }
    dst[0] = '-';
    fmt_positive(fabs(v), dst + (v < 0), JSONX_REAL_TEXT - 1);
    return dst;
}

/* ---- writing --------------------------------------------------------------------------------- */

static const char *short_escape(unsigned char c)
{
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        return NULL;
    }
}

static void put_string(struct buf *b, const char *s, size_t n)
{
    size_t done = 0;
    buf_putc(b, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        buf_put(b, s + done, i - done);
        done = i + 1;
        const char *esc = short_escape(c);
        if (esc) {
            buf_puts(b, esc);
        } else {
            buf_printf(b, "\\u%04x", c);
        }
    }
    buf_put(b, s + done, n - done);
    buf_putc(b, '"');
}

struct member {
    const char *key;
    const json_t *value;
};

/*
 * UTF-16 order is byte order of UTF-8 with one exception: characters past U+FFFF (lead byte F0..F4)
 * are surrogates there and come before U+E000 .. U+FFFF (lead bytes EE, EF).
 */
static int utf16_cmp(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    unsigned char x = (unsigned char)*a, y = (unsigned char)*b;
    if (x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0)) {
        return x >= 0xf0 ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static int member_cmp(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return utf16_cmp(x->key, y->key);
}

static void put_value(struct buf *b, const json_t *v, bool sorted);

static void put_object(struct buf *b, const json_t *v, bool sorted)
{
    size_t n = 0;
    AUTO_FREE struct member *members = NEW_N(struct member, json_object_size(v) + 1);
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)v, key, value) {
        members[n].key = key;
        members[n++].value = value;
    }
    if (sorted) {
        qsort(members, n, sizeof(*members), member_cmp);
    }
    buf_putc(b, '{');
    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            buf_putc(b, ',');
        }
        put_string(b, members[i].key, strlen(members[i].key));
        buf_putc(b, ':');
        put_value(b, members[i].value, sorted);
    }
    buf_putc(b, '}');
}

static void put_array(struct buf *b, const json_t *v, bool sorted)
{
    buf_putc(b, '[');
    for (size_t i = 0; i < json_array_size(v); i++) {
        if (i > 0) {
            buf_putc(b, ',');
        }
        put_value(b, json_array_get(v, i), sorted);
    }
    buf_putc(b, ']');
}

static void put_value(struct buf *b, const json_t *v, bool sorted)
{
    char real[JSONX_REAL_TEXT], integer[STR_I64_TEXT];
    switch (v ? json_typeof(v) : JSON_NULL) {
    case JSON_OBJECT:
        put_object(b, v, sorted);
        break;
    case JSON_ARRAY:
        put_array(b, v, sorted);
        break;
    case JSON_STRING:
        put_string(b, json_string_value(v), json_string_length(v));
        break;
    case JSON_INTEGER:
        buf_puts(b, str_from_i64(json_integer_value(v), integer));
        break;
    case JSON_REAL:
        buf_puts(b, jsonx_fmt_real(json_real_value(v), real));
        break;
    case JSON_TRUE:
        buf_puts(b, "true");
        break;
    case JSON_FALSE:
        buf_puts(b, "false");
        break;
    case JSON_NULL:
        buf_puts(b, "null");
        break;
    }
}

static char *write_text(const json_t *v, bool sorted)
{
    AUTO_BUF struct buf b;
    buf_init(&b, TEXT_MAX);
    put_value(&b, v, sorted);
    return buf_take(&b);
}

char *jsonx_canonical(const json_t *v)
{
    return write_text(v, true);
}

char *jsonx_dump(const json_t *v)
{
    return write_text(v, false);
}

/* ---- patches --------------------------------------------------------------------------------- */

void jsonx_merge_patch(json_t *target, const json_t *patch)
{
    const char *key;
    json_t *value;
    if (!json_is_object(target) || !json_is_object(patch)) {
        return;
    }
    json_object_foreach ((json_t *)patch, key, value) {
        if (json_is_null(value)) {
            (void)json_object_del(target, key); /* absent is fine */
        } else if (json_is_object(value)) {
            json_t *old = json_object_get(target, key);
            if (!json_is_object(old)) {
                old = must(json_object());
                must_set(json_object_set_new(target, key, old));
            }
            jsonx_merge_patch(old, value);
        } else {
            must_set(json_object_set_new(target, key, must(json_deep_copy(value))));
        }
    }
}

void jsonx_cleanup(json_t **v)
{
    json_decref(*v);
    *v = NULL;
}
