/* labelsel.c - see labelsel.h. */
#include "labelsel.h"

#include "common/base/str.h"

#define KEY_CHARS                                                                                  \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./" /* of keys and values */

struct reader {
    struct arena *a;
    const char *text, *at;
    struct err *err;
};

static int bad(const struct reader *r, const char *want)
{
    return err_set(r->err, ERR_INVALID,
                   "invalid argument \"%s\" for \"-l, --selector\" flag: %s at \"%s\"", r->text,
                   want, r->at);
}

static void skip_blanks(struct reader *r)
{
    r->at += strspn(r->at, " \t\n");
}

static bool take(struct reader *r, const char *token)
{
    skip_blanks(r);
    if (!str_starts(r->at, token)) {
        return false;
    }
    r->at += strlen(token);
    return true;
}

/* A key or value, "" if there is none. */
static const char *word(struct reader *r)
{
    skip_blanks(r);
    size_t n = strspn(r->at, KEY_CHARS);
    const char *ret = arena_strndup(r->a, r->at, n);
    r->at += n;
    return ret;
}

/* "(a, b)" */
static int values(struct reader *r, struct selector_expr *e)
{
    const char **v = NULL;
    size_t cap = 0;
    if (!take(r, "(")) {
        return bad(r, "\"(\" is missing");
    }
    do {
        if (e->n >= LABELSEL_VALUES_MAX) {
            return bad(r, "too many values");
        }
        ARENA_GROW(r->a, v, e->n, cap);
        v[e->n++] = word(r);
    } while (take(r, ","));
    qsort(v, e->n, sizeof(*v), str_qsort_cmp);
    e->values = v;
    return take(r, ")") ? 0 : bad(r, "\")\" is missing");
}

static void one_value(struct reader *r, struct selector_expr *e, enum selector_op op)
{
    const char **v = ARENA_NEW_N(r->a, const char *, 1);
    v[0] = word(r);
    e->op = op;
    e->values = v;
    e->n = 1;
}

/* What stands behind the key. */
static int operation(struct reader *r, struct selector_expr *e)
{
    skip_blanks(r);
    if (take(r, "!=")) {
        one_value(r, e, SELECTOR_NOT_IN);
    } else if (take(r, "==") || take(r, "=")) {
        one_value(r, e, SELECTOR_IN);
    } else if (*r->at == '\0' || *r->at == ',') {
        e->op = SELECTOR_EXISTS;
    } else {
        const char *op = word(r);
        e->op = str_eq(op, "in") ? SELECTOR_IN : SELECTOR_NOT_IN;
        if (!str_eq(op, "in") && !str_eq(op, "notin")) {
            return bad(r, "no operator");
        }
        return values(r, e);
    }
    return 0;
}

static int expression(struct reader *r, struct selector_expr *e)
{
    bool absent = take(r, "!");
    memset(e, 0, sizeof(*e));
    e->key = word(r);
    if (*e->key == '\0') {
        return bad(r, "a label's name is missing");
    }
    if (absent) {
        e->op = SELECTOR_DOES_NOT_EXIST;
        return 0;
    }
    return operation(r, e);
}

int labelsel_parse(struct arena *a, const char *text, struct selector *ret, struct err *reterr)
{
    struct reader r = {a, text, text, reterr};
    struct selector_expr *v = NULL;
    size_t n = 0, cap = 0;
    memset(ret, 0, sizeof(*ret));
    skip_blanks(&r);
    while (*r.at) {
        if (n >= LABELSEL_EXPRS_MAX) {
            return bad(&r, "too many expressions");
        }
        ARENA_GROW(a, v, n, cap);
        if (expression(&r, &v[n++]) != 0) {
            return -1;
        }
        skip_blanks(&r);
        if (*r.at && !take(&r, ",")) {
            return bad(&r, "a comma is missing");
        }
    }
    selector_sort(v, (uint32_t)n);
    ret->v = v;
    ret->n = (uint32_t)n;
    return 0;
}

static int kv_cmp(const void *x, const void *y)
{
    return str_cmp(((const struct kv *)x)->key, ((const struct kv *)y)->key);
}

bool labelsel_matches(struct arena *a, const struct symtab *t, const struct selector *s,
                      const struct labels *labels)
{
    struct kv *v = ARENA_NEW_N(a, struct kv, labels->n);
    for (uint32_t i = 0; i < labels->n; i++) {
        v[i] = (struct kv){sym_str(t, labels->v[i].key), sym_str(t, labels->v[i].value)};
    }
    if (labels->n > 1) {
        qsort(v, labels->n, sizeof(*v), kv_cmp);
    }
    return selector_matches(s, &(struct kvs){v, labels->n});
}
