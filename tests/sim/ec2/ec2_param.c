/* ec2_param.c - the form body of a Query call, its filters and its paging. */
#include "common/base/hash.h"
#include "ec2_priv.h"

#include <ctype.h>
#include <stdarg.h>

#define PARAMS_MAX 200000u
#define FILTERS_MAX 200u
#define FILTER_VALUES_MAX 200u

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_utf8(const char *s)
{
    for (size_t n = strlen(s), step; n > 0; s += step, n -= step) {
        step = str_utf8_len(s, n);
        if (step == 0) {
            return false;
        }
    }
    return true;
}

/* One side of a k=v pair. NULL if it is badly escaped, holds a NUL or is not UTF-8. */
static char *unescape(struct arena *a, const char *p, size_t n)
{
    char *dst = arena_alloc(a, n + 1);
    size_t w = 0;
    for (size_t i = 0; i < n; i++) {
        int c = (unsigned char)p[i];
        if (c == '+') {
            c = ' ';
        } else if (c == '%') {
            int hi = n - i > 2 ? hex_digit(p[i + 1]) : -1;
            int lo = hi >= 0 ? hex_digit(p[i + 2]) : -1;
            if (lo < 0) {
                return NULL;
            }
            c = hi * 16 + lo;
            i += 2;
        }
        if (c == 0) {
            return NULL;
        }
        dst[w++] = (char)c;
    }
    return is_utf8(dst) ? dst : NULL;
}

static int by_key(const void *a, const void *b)
{
    const struct simec2_param *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static size_t count_pairs(const char *body, size_t n)
{
    size_t pairs = 1;
    for (size_t i = 0; i < n; i++) {
        pairs += body[i] == '&';
    }
    return pairs;
}

static int add_pair(struct arena *a, struct simec2_params *ret, const char *p, size_t n,
                    struct err *reterr)
{
    const char *eq = memchr(p, '=', n);
    size_t key_n = eq ? (size_t)(eq - p) : n;
    struct simec2_param x = {unescape(a, p, key_n), eq ? unescape(a, eq + 1, n - key_n - 1) : ""};
    if (!x.key || !x.value) {
        return err_set(reterr, ERR_INVALID, "the form is badly escaped");
    }
    ret->v[ret->n++] = x;
    return 0;
}

int simec2_params_parse(struct arena *a, const char *body, size_t n, struct simec2_params *ret,
                        struct err *reterr)
{
    size_t pairs = count_pairs(body, n);
    if (pairs > PARAMS_MAX) {
        return err_set(reterr, ERR_LIMIT, "more than %u parameters", PARAMS_MAX);
    }
    ret->v = ARENA_NEW_N(a, struct simec2_param, pairs);
    ret->n = 0;
    for (size_t at = 0; at < n;) {
        const char *amp = memchr(body + at, '&', n - at);
        size_t len = amp ? (size_t)(amp - body) - at : n - at;
        if (len > 0 && add_pair(a, ret, body + at, len, reterr) < 0) {
            return -1;
        }
        at += len + 1;
    }
    qsort(ret->v, ret->n, sizeof(*ret->v), by_key);
    for (size_t i = 1; i < ret->n; i++) {
        if (strcmp(ret->v[i - 1].key, ret->v[i].key) == 0) {
            return err_set(reterr, ERR_INVALID, "%s is given twice", ret->v[i].key);
        }
    }
    return 0;
}

/* The first parameter with key ≥ the given one. */
static size_t lower_bound(const struct simec2_params *p, const char *key)
{
    size_t lo = 0, hi = p->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (strcmp(p->v[mid].key, key) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static const char *get(const struct simec2_params *p, const char *key)
{
    size_t i = lower_bound(p, key);
    return i < p->n && strcmp(p->v[i].key, key) == 0 ? p->v[i].value : NULL;
}

const char *simec2_param(const struct simec2_call *c, const char *fmt, ...)
{
    char key[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(key, sizeof(key), fmt, ap);
    va_end(ap);
    return get(&c->form, key);
}

bool simec2_param_any(const struct simec2_call *c, const char *fmt, ...)
{
    char key[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(key, sizeof(key), fmt, ap);
    va_end(ap);
    size_t i = lower_bound(&c->form, key);
    return i < c->form.n && str_starts(c->form.v[i].key, key);
}

const char *const *simec2_param_list(struct simec2_call *c, size_t *ret_n, const char *fmt, ...)
{
    char prefix[224], key[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(prefix, sizeof(prefix), fmt, ap);
    va_end(ap);
    const char **v = NULL;
    size_t n = 0, cap = 0;
    for (;; n++) {
        snprintf(key, sizeof(key), "%s.%zu", prefix, n + 1);
        const char *value = get(&c->form, key);
        ARENA_GROW(&c->mem, v, n, cap);
        v[n] = value;
        if (!value) {
            break;
        }
    }
    if (ret_n) {
        *ret_n = n;
    }
    return v;
}

bool simec2_param_bool(const struct simec2_call *c, const char *name)
{
    return str_eq(simec2_param(c, "%s", name), "true");
}

/* Whether a key is what a pattern says: # stands for a number. */
static bool key_is(const char *key, const char *pat, size_t pat_n)
{
    size_t j = 0;
    while (j < pat_n) {
        if (pat[j] == '#') {
            size_t digits = strspn(key, "0123456789");
            if (digits == 0 || key[0] == '0') {
                return false;
            }
            key += digits;
            j++;
        } else if (*key == pat[j]) {
            key++;
            j++;
        } else {
            return false;
        }
    }
    return *key == 0;
}

static bool key_known(const char *key, const char *patterns)
{
    for (const char *p = patterns; *p;) {
        p += strspn(p, " ");
        size_t n = strcspn(p, " ");
        if (n > 0 && key_is(key, p, n)) {
            return true;
        }
        p += n;
    }
    return false;
}

static bool launch_known(const struct simec2_action *a, const char *key)
{
    return a->launch && str_starts(key, a->launch) &&
           key_known(key + strlen(a->launch), simec2_launch_params);
}

const char *simec2_param_unknown(const struct simec2_call *c)
{
    for (size_t i = 0; i < c->form.n; i++) {
        const char *key = c->form.v[i].key;
        if (!str_eq(key, "Action") && !str_eq(key, "Version") &&
            !key_known(key, c->action->params) && !launch_known(c->action, key)) {
            return key;
        }
    }
    return NULL;
}

/* ---- filters ------------------------------------------------------------------------------------
 */

static bool filter_known(const char *name, const char *names)
{
    return str_starts(name, "tag:") || str_eq(name, "tag-key") || key_known(name, names);
}

bool simec2_filters(struct simec2_call *c, const char *names, struct simec2_filters *ret)
{
    struct simec2_filter *v = ARENA_NEW_N(&c->mem, struct simec2_filter, FILTERS_MAX);
    size_t n = 0;
    for (;; n++) {
        const char *name = simec2_param(c, "Filter.%zu.Name", n + 1);
        if (!name) {
            break;
        }
        size_t values;
        const char *const *list = simec2_param_list(c, &values, "Filter.%zu.Value", n + 1);
        if (n == FILTERS_MAX || values > FILTER_VALUES_MAX) {
            simec2_fail(c, "FilterLimitExceeded", "There are too many filters or filter values");
            return false;
        }
        if (!filter_known(name, names)) {
            simec2_fail(c, "InvalidParameterValue", "The filter '%s' is invalid", name);
            return false;
        }
        if (values == 0) {
            simec2_fail(c, "InvalidParameterValue", "The filter '%s' has no value", name);
            return false;
        }
        v[n] = (struct simec2_filter){name, list};
    }
    ret->v = v;
    ret->n = n;
    return true;
}

static bool any_glob(const char *const *globs, const char *s)
{
    for (size_t i = 0; globs[i]; i++) {
        if (str_glob(globs[i], s)) {
            return true;
        }
    }
    return false;
}

static bool tag_match(const struct simec2_filter *f, const json_t *tags)
{
    if (!tags) {
        return true;
    }
    if (str_starts(f->name, "tag:")) {
        const char *value = json_string_value(json_object_get(tags, f->name + 4));
        return value && any_glob(f->values, value);
    }
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)tags, key, value) {
        if (any_glob(f->values, key)) {
            return true;
        }
    }
    return false;
}

static bool attr_match(const struct simec2_filter *f, simec2_attr_fn attr, const void *obj)
{
    for (size_t i = 0;; i++) {
        const char *value = attr(obj, f->name, i);
        if (!value) {
            return false;
        }
        if (any_glob(f->values, value)) {
            return true;
        }
    }
}

bool simec2_filter_match(const struct simec2_filters *f, const json_t *tags, simec2_attr_fn attr,
                         const void *obj)
{
    for (size_t i = 0; i < f->n; i++) {
        bool is_tag = str_starts(f->v[i].name, "tag:") || str_eq(f->v[i].name, "tag-key");
        if (is_tag ? !tag_match(&f->v[i], tags) : !attr_match(&f->v[i], attr, obj)) {
            return false;
        }
    }
    return true;
}

/* ---- paging -------------------------------------------------------------------------------------
 */

static bool page_from(struct simec2_call *c, const char *token, struct simec2_page *ret)
{
    ret->from = 0;
    if (!token || !*token) {
        return true;
    }
    size_t n = 0;
    AUTO_FREE char *text = (char *)base64_decode(token, &n);
    int64_t from;
    if (!text || !str_starts(text, "page:") || !str_parse_i64(text + 5, &from) || from < 0) {
        simec2_fail(
            c, c->action->style == STYLE_JSON ? "InvalidNextTokenException" : "InvalidNextToken",
            "The token '%.40s' is invalid", token);
        return false;
    }
    ret->from = (uint64_t)from;
    return true;
}

bool simec2_page(struct simec2_call *c, size_t min, size_t max, struct simec2_page *ret)
{
    const char *text = simec2_param(c, "MaxResults");
    int64_t limit = PAGE_MAX < max ? PAGE_MAX : (int64_t)max;
    if (text && (!str_parse_i64(text, &limit) || limit < (int64_t)min || limit > (int64_t)max)) {
        simec2_fail(c, "InvalidParameterValue",
                    "Value ( %s ) for parameter maxResults is invalid. Expecting a value between "
                    "%zu and %zu.",
                    text, min, max);
        return false;
    }
    ret->limit = (size_t)limit;
    return page_from(c, simec2_param(c, "NextToken"), ret);
}

bool simec2_page_json(struct simec2_call *c, size_t dflt, size_t max, struct simec2_page *ret)
{
    int64_t limit = jsonx_int(c->json, "MaxResults", (int64_t)dflt);
    if (limit < 1 || limit > (int64_t)max) {
        simec2_fail(c, "InvalidParameterException", "MaxResults must lie in 1 to %zu", max);
        return false;
    }
    ret->limit = (size_t)limit;
    return page_from(c, jsonx_str(c->json, "NextToken"), ret);
}

char *simec2_page_token(struct simec2_call *c, uint64_t from)
{
    char text[32];
    int n = snprintf(text, sizeof(text), "page:%llu", (unsigned long long)from);
    AUTO_FREE char *b64 = base64_encode(text, (size_t)n);
    return arena_strdup(&c->mem, b64);
}
