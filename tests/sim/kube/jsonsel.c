/* jsonsel.c - see jsonsel.h */
#include "jsonsel.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#include <ctype.h>

/* ---- building -------------------------------------------------------------------------------- */

static void term_done(struct jsonsel_term *t)
{
    free(t->key);
    for (size_t i = 0; i < t->n_values; i++) {
        free(t->values[i]);
    }
    free(t->values);
}

void jsonsel_done(struct jsonsel *s)
{
    for (size_t i = 0; i < s->n; i++) {
        term_done(&s->terms[i]);
    }
    free(s->terms);
    free(s->text);
    *s = (struct jsonsel){0};
}

static struct jsonsel_term *term_add(struct jsonsel *s, const char *key, size_t key_n,
                                     enum jsonsel_op op, struct err *reterr)
{
    if (s->n >= JSONSEL_TERMS_MAX) {
        err_set(reterr, ERR_INVALID, "selector has more than %d terms", JSONSEL_TERMS_MAX);
        return NULL;
    }
    ARRAY_GROW(s->terms, s->n, s->cap);
    struct jsonsel_term *t = &s->terms[s->n++];
    *t = (struct jsonsel_term){.key = xstrndup(key, key_n), .op = op};
    return t;
}

static int value_add(struct jsonsel_term *t, const char *v, size_t n, struct err *reterr)
{
    if (t->n_values >= JSONSEL_VALUES_MAX) {
        return err_set(reterr, ERR_INVALID, "selector has more than %d values", JSONSEL_VALUES_MAX);
    }
    t->values = xreallocarray(t->values, t->n_values + 1, sizeof(char *));
    t->values[t->n_values++] = xstrndup(v, n);
    return 0;
}

/* ---- scanning -------------------------------------------------------------------------------- */

static const char *skip_blank(const char *p)
{
    while (*p == ' ' || *p == '\t') {
        p++;
    }
    return p;
}

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || strchr("-_./", c) != NULL;
}

/* A key or value; empty is possible. */
static const char *scan_word(const char *p, size_t *ret_n)
{
    const char *start = p;
    while (*p && word_char(*p)) {
        p++;
    }
    *ret_n = (size_t)(p - start);
    return p;
}

static bool word_is(const char *p, size_t n, const char *word)
{
    return n == strlen(word) && strncmp(p, word, n) == 0;
}

static int bad(const char *text, const char *at, struct err *reterr)
{
    return err_set(reterr, ERR_INVALID, "unable to parse selector \"%s\" at \"%s\"", text, at);
}

/* "(a,b)"; *pp stands at the parenthesis. */
static int scan_set(const char **pp, struct jsonsel_term *t, const char *text, struct err *reterr)
{
    const char *p = skip_blank(*pp);
    if (*p != '(') {
        return bad(text, p, reterr);
    }
    do {
        size_t n;
        const char *word = skip_blank(p + 1);
        p = skip_blank(scan_word(word, &n));
        if (value_add(t, word, n, reterr)) {
            return -1;
        }
    } while (*p == ',');
    if (*p != ')') {
        return bad(text, p, reterr);
    }
    *pp = p + 1;
    return 0;
}

/* What follows a key: an operator with its values, or nothing. */
static int scan_rest(const char **pp, struct jsonsel *s, const char *key, size_t key_n,
                     const char *text, struct err *reterr)
{
    const char *p = skip_blank(*pp);
    size_t n;
    const char *word = p;
    const char *after = scan_word(p, &n);
    struct jsonsel_term *t;
    if (word_is(word, n, "in") || word_is(word, n, "notin")) {
        t = term_add(s, key, key_n, n == 2 ? JSONSEL_IN : JSONSEL_NOT_IN, reterr);
        *pp = after;
        return t ? scan_set(pp, t, text, reterr) : -1;
    }
    bool not_equal = p[0] == '!' && p[1] == '=';
    if (!not_equal && p[0] != '=') {
        *pp = p;
        return term_add(s, key, key_n, JSONSEL_EXISTS, reterr) ? 0 : -1;
    }
    p += not_equal || p[1] == '=' ? 2 : 1;
    word = skip_blank(p);
    *pp = scan_word(word, &n);
    t = term_add(s, key, key_n, not_equal ? JSONSEL_NOT_IN : JSONSEL_IN, reterr);
    return t ? value_add(t, word, n, reterr) : -1;
}

static int scan_term(const char **pp, struct jsonsel *s, const char *text, struct err *reterr)
{
    const char *p = skip_blank(*pp);
    bool negated = *p == '!';
    size_t n;
    const char *key = negated ? skip_blank(p + 1) : p;
    p = scan_word(key, &n);
    if (n == 0) {
        return bad(text, key, reterr);
    }
    *pp = p;
    if (negated) {
        return term_add(s, key, n, JSONSEL_NOT_EXISTS, reterr) ? 0 : -1;
    }
    return scan_rest(pp, s, key, n, text, reterr);
}

int jsonsel_parse_labels(const char *text, struct jsonsel *ret, struct err *reterr)
{
    *ret = (struct jsonsel){.text = xstrdup(text ? text : "")};
    const char *p = skip_blank(ret->text);
    while (*p) {
        if (scan_term(&p, ret, ret->text, reterr)) {
            jsonsel_done(ret);
            return -1;
        }
        p = skip_blank(p);
        if (*p == ',' && *skip_blank(p + 1) != '\0') {
            p++;
        } else if (*p != '\0') {
            bad(text, p, reterr);
            jsonsel_done(ret);
            return -1;
        }
    }
    return 0;
}

static int parse_field(struct jsonsel *s, const char *p, size_t n, struct err *reterr)
{
    const char *eq = memchr(p, '=', n);
    if (!eq || eq == p) {
        return err_set(reterr, ERR_INVALID, "invalid field selector \"%s\"", s->text);
    }
    bool negated = eq[-1] == '!';
    const char *value = eq[1] == '=' ? eq + 2 : eq + 1;
    struct jsonsel_term *t = term_add(s, p, (size_t)(eq - p) - (negated ? 1 : 0),
                                      negated ? JSONSEL_NOT_IN : JSONSEL_IN, reterr);
    return t ? value_add(t, value, n - (size_t)(value - p), reterr) : -1;
}

int jsonsel_parse_fields(const char *text, struct jsonsel *ret, struct err *reterr)
{
    *ret = (struct jsonsel){.text = xstrdup(text ? text : "")};
    for (const char *p = ret->text; *p;) {
        size_t n = strcspn(p, ",");
        if (parse_field(ret, p, n, reterr)) {
            jsonsel_done(ret);
            return -1;
        }
        p += n + (p[n] == ',');
    }
    return 0;
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool one_of(const struct jsonsel_term *t, const char *v)
{
    for (size_t i = 0; i < t->n_values; i++) {
        if (strcmp(t->values[i], v) == 0) {
            return true;
        }
    }
    return false;
}

bool jsonsel_match_labels(const struct jsonsel *s, const json_t *labels)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct jsonsel_term *t = &s->terms[i];
        const char *v = json_string_value(json_object_get(labels, t->key));
        bool hit = t->op == JSONSEL_EXISTS       ? v != NULL
                   : t->op == JSONSEL_NOT_EXISTS ? v == NULL
                   : t->op == JSONSEL_IN         ? v && one_of(t, v)
                                                 : !v || !one_of(t, v);
        if (!hit) {
            return false;
        }
    }
    return true;
}

bool jsonsel_match_fields(const struct jsonsel *s, const json_t *object)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct jsonsel_term *t = &s->terms[i];
        const json_t *at = jsonx_at(object, t->key);
        const char *v = json_string_value(at);
        if (!v) {
            v = json_is_true(at) ? "true" : json_is_false(at) ? "false" : "";
        }
        if (one_of(t, v) != (t->op == JSONSEL_IN)) {
            return false;
        }
    }
    return true;
}

static bool in_values(const json_t *values, const char *v)
{
    size_t i;
    json_t *item;
    json_array_foreach ((json_t *)values, i, item) {
        if (str_eq(json_string_value(item), v)) {
            return true;
        }
    }
    return false;
}

static bool compares(const json_t *values, const char *v, bool greater)
{
    int64_t have, want;
    const char *text = json_string_value(json_array_get(values, 0));
    if (!v || !text || !str_parse_i64(v, &have) || !str_parse_i64(text, &want)) {
        return false;
    }
    return greater ? have > want : have < want;
}

static bool match_op(const char *op, const json_t *values, const char *v)
{
    if (str_eq(op, "In")) {
        return v && in_values(values, v);
    }
    if (str_eq(op, "NotIn")) {
        return !v || !in_values(values, v);
    }
    if (str_eq(op, "Exists")) {
        return v != NULL;
    }
    if (str_eq(op, "DoesNotExist")) {
        return v == NULL;
    }
    if (str_eq(op, "Gt") || str_eq(op, "Lt")) {
        return compares(values, v, op[0] == 'G');
    }
    return false;
}

bool jsonsel_match_expr(const json_t *expr, const json_t *labels)
{
    const char *key = jsonx_str_or(expr, "key", "");
    const char *v = json_string_value(json_object_get(labels, key));
    return match_op(jsonx_str(expr, "operator"), json_object_get(expr, "values"), v);
}

static bool match_exprs(const json_t *exprs, const json_t *labels)
{
    size_t i;
    json_t *expr;
    json_array_foreach ((json_t *)exprs, i, expr) {
        if (!jsonsel_match_expr(expr, labels)) {
            return false;
        }
    }
    return true;
}

bool jsonsel_match_map(const json_t *map, const json_t *labels)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)map, key, value) {
        const char *have = json_string_value(json_object_get(labels, key));
        if (!have || !str_eq(have, json_string_value(value))) {
            return false;
        }
    }
    return true;
}

bool jsonsel_match_selector(const json_t *selector, const json_t *labels)
{
    return json_is_object(selector) &&
           jsonsel_match_map(json_object_get(selector, "matchLabels"), labels) &&
           match_exprs(json_object_get(selector, "matchExpressions"), labels);
}

bool jsonsel_match_node_term(const json_t *term, const json_t *node)
{
    const json_t *exprs = json_object_get(term, "matchExpressions");
    const json_t *fields = json_object_get(term, "matchFields");
    if (json_array_size(exprs) == 0 && json_array_size(fields) == 0) {
        return false;
    }
    if (!match_exprs(exprs, jsonx_at(node, "metadata.labels"))) {
        return false;
    }
    size_t i;
    json_t *field;
    json_array_foreach ((json_t *)fields, i, field) {
        /* metadata.name is the only field nodes can be selected by. */
        if (!str_eq(jsonx_str(field, "key"), "metadata.name") ||
            !match_op(jsonx_str(field, "operator"), json_object_get(field, "values"),
                      jsonx_str(node, "metadata.name"))) {
            return false;
        }
    }
    return true;
}
