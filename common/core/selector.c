/* selector.c - see selector.h. */
#include "selector.h"

#include "common/base/sort.h"
#include "common/base/str.h"

#include <string.h>

static const char *const op_names[] = {
    [SELECTOR_IN] = "In",
    [SELECTOR_NOT_IN] = "NotIn",
    [SELECTOR_EXISTS] = "Exists",
    [SELECTOR_DOES_NOT_EXIST] = "DoesNotExist",
};

bool selector_op_parse(const char *s, enum selector_op *ret)
{
    for (size_t i = 0; s != NULL && i < ARRAY_LEN(op_names); i++) {
        if (str_eq(op_names[i], s)) {
            *ret = (enum selector_op)i;
            return true;
        }
    }
    return false;
}

const char *kvs_get(const struct kvs *l, const char *key)
{
    uint32_t lo = 0, hi = l->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int c = strcmp(l->v[mid].key, key);
        if (c == 0) {
            return l->v[mid].value;
        }
        if (c < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return NULL;
}

static bool lists(const struct selector_expr *e, const char *value)
{
    for (uint32_t i = 0; i < e->n; i++) {
        if (strcmp(e->values[i], value) == 0) {
            return true;
        }
    }
    return false;
}

static bool holds(const struct selector_expr *e, const char *value)
{
    switch (e->op) {
    case SELECTOR_IN:
        return value != NULL && lists(e, value);
    case SELECTOR_NOT_IN:
        return value == NULL || !lists(e, value);
    case SELECTOR_EXISTS:
        return value != NULL;
    case SELECTOR_DOES_NOT_EXIST:
        return value == NULL;
    }
    return false;
}

bool selector_matches(const struct selector *s, const struct kvs *labels)
{
    for (uint32_t i = 0; !s->nothing && i < s->n; i++) {
        if (!holds(&s->v[i], kvs_get(labels, s->v[i].key))) {
            return false;
        }
    }
    return !s->nothing;
}

static int cmp_expr(const void *x, const void *y)
{
    const struct selector_expr *a = x, *b = y;
    int c = strcmp(a->key, b->key);
    c = c != 0 ? c : (int)a->op - (int)b->op;
    for (uint32_t i = 0; c == 0 && i < a->n && i < b->n; i++) {
        c = strcmp(a->values[i], b->values[i]);
    }
    return c != 0 ? c : (a->n > b->n) - (a->n < b->n);
}

int selector_cmp(const struct selector *x, const struct selector *y)
{
    int c = (int)x->nothing - (int)y->nothing;
    for (uint32_t i = 0; c == 0 && i < x->n && i < y->n; i++) {
        c = cmp_expr(&x->v[i], &y->v[i]);
    }
    return c != 0 ? c : (x->n > y->n) - (x->n < y->n);
}

void selector_sort(struct selector_expr *v, uint32_t n)
{
    sort_items(v, n, sizeof(*v), cmp_expr);
}

struct selector selector_with(struct arena *a, const struct selector *s, const struct kvs *labels,
                              const char *const *keys, uint32_t n, enum selector_op op)
{
    struct selector ret = *s;
    if (n == 0 || s->nothing) {
        return ret;
    }
    struct selector_expr *v = ARENA_NEW_N(a, struct selector_expr, s->n + n);
    if (s->n > 0) {
        memcpy(v, s->v, s->n * sizeof(*v));
    }
    for (uint32_t i = 0; i < n; i++) {
        const char *value = kvs_get(labels, keys[i]);
        if (value != NULL) {
            const char **one = ARENA_NEW(a, const char *);
            *one = value;
            v[ret.n++] = (struct selector_expr){.key = keys[i], .op = op, .values = one, .n = 1};
        }
    }
    selector_sort(v, ret.n);
    ret.v = v;
    return ret;
}

static void fmt_expr(const struct selector_expr *e, struct buf *out)
{
    buf_printf(out, "%s %s", e->key, op_names[e->op]);
    for (uint32_t i = 0; i < e->n; i++) {
        buf_printf(out, "%s%s", i == 0 ? " [" : " ", e->values[i]);
    }
    buf_puts(out, e->n > 0 ? "]" : "");
}

void selector_fmt(const struct selector *s, struct buf *out)
{
    if (s->nothing || s->n == 0) {
        buf_puts(out, s->nothing ? "nothing" : "everything");
        return;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        buf_puts(out, i > 0 ? "," : "");
        fmt_expr(&s->v[i], out);
    }
}
