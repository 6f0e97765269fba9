#include "jsonpath.h"

#include "alloc.h"
#include "jsonpath_parse.h"
#include "jsonx.h"

#define PARSE_ARENA_MAX (64u << 20)

/* Borrowed values. */
struct list {
    const json_t **v;
    size_t n, cap;
};

struct eval {
    uint64_t steps; /* values looked at so far */
    struct err *err;
};

static int eval_path(struct eval *ev, const struct jsonpath_step *path, const json_t *from,
                     struct list *ret);

static int add(struct eval *ev, struct list *l, const json_t *v)
{
    if (!v) {
        return 0;
    }
    if (++ev->steps > JSONPATH_MAX_STEPS || l->n >= JSONPATH_MAX_MATCHES) {
        return err_set(ev->err, ERR_LIMIT, "jsonpath: too many values match");
    }
    ARRAY_GROW(l->v, l->n, l->cap);
    l->v[l->n++] = v;
    return 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static struct jsonpath_value value_of(const json_t *v)
{
    struct jsonpath_value r = {.kind = VALUE_NONE};
    switch (json_typeof(v)) {
    case JSON_STRING:
        r.kind = VALUE_TEXT;
        r.s = json_string_value(v);
        break;
    case JSON_INTEGER:
        r.kind = VALUE_INT;
        r.i = json_integer_value(v);
        break;
    case JSON_REAL:
        r.kind = VALUE_REAL;
        r.r = json_real_value(v);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        r.kind = VALUE_BOOL;
        r.i = json_is_true(v);
        break;
    case JSON_NULL:
        r.kind = VALUE_NULL;
        break;
    case JSON_OBJECT:
    case JSON_ARRAY:
        break;
    }
    return r;
}

static bool is_number(const struct jsonpath_value *v)
{
    return v->kind == VALUE_INT || v->kind == VALUE_REAL;
}

/* False if the two are of kinds that do not compare. */
static bool compare(const struct jsonpath_value *a, const struct jsonpath_value *b, int *ret)
{
    if (is_number(a) && is_number(b) && a->kind != b->kind) {
        double x = a->kind == VALUE_INT ? (double)a->i : a->r;
        double y = b->kind == VALUE_INT ? (double)b->i : b->r;
        *ret = (x > y) - (x < y);
        return true;
    }
    if (a->kind != b->kind || a->kind == VALUE_NONE) {
        return false;
    }
    if (a->kind == VALUE_TEXT) {
        *ret = strcmp(a->s, b->s);
    } else if (a->kind == VALUE_REAL) {
        *ret = (a->r > b->r) - (a->r < b->r);
    } else {
        *ret = (a->i > b->i) - (a->i < b->i);
    }
    return true;
}

static bool holds(enum jsonpath_op op, const struct jsonpath_value *a,
                  const struct jsonpath_value *b)
{
    int c;
    if (!compare(a, b, &c)) {
        return op == OP_NE;
    }
    switch (op) {
    case OP_EQ:
        return c == 0;
    case OP_NE:
        return c != 0;
    case OP_LT:
        return c < 0;
    case OP_LE:
        return c <= 0;
    case OP_GT:
        return c > 0;
    case OP_GE:
        return c >= 0;
    case OP_EXISTS:
        break;
    }
    return true;
}

/* How many values the side has (a literal has one); the first of them goes to *ret. */
static int eval_operand(struct eval *ev, const struct jsonpath_operand *op, const json_t *at,
                        struct jsonpath_value *ret, size_t *ret_n)
{
    if (!op->is_path) {
        *ret = op->literal;
        *ret_n = 1;
        return 0;
    }
    struct list l = {0};
    int rc = eval_path(ev, op->path, at, &l);
    *ret_n = l.n;
    if (rc == 0 && l.n > 0) {
        *ret = value_of(l.v[0]);
    }
    free(l.v);
    return rc;
}

static int filter_matches(struct eval *ev, const struct jsonpath_step *step, const json_t *at,
                          bool *ret)
{
    struct jsonpath_value left, right;
    size_t n_left, n_right;
    *ret = false;
    if (eval_operand(ev, &step->left, at, &left, &n_left) < 0) {
        return -1;
    }
    if (step->op == OP_EXISTS) {
        *ret = n_left > 0;
        return 0;
    }
    if (eval_operand(ev, &step->right, at, &right, &n_right) < 0) {
        return -1;
    }
    if (n_left > 1 || n_right > 1) {
        return err_set(ev->err, ERR_INVALID, "jsonpath: a filter compares one value, not several");
    }
    *ret = n_left == 1 && n_right == 1 && holds(step->op, &left, &right);
    return 0;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int64_t clamp_bound(bool has, int64_t v, int64_t fallback, int64_t n)
{
    if (!has) {
        return fallback;
    }
    v = v < 0 ? v + n : v;
    return v < 0 ? 0 : v > n ? n : v;
}

static int pick_slice(struct eval *ev, const struct jsonpath_pick *pick, const json_t *v,
                      struct list *ret)
{
    int64_t n = (int64_t)json_array_size(v); /* 0 unless an array */
    if (pick->single) {
        int64_t i = pick->lo < 0 ? pick->lo + n : pick->lo;
        return i < 0 || i >= n ? 0 : add(ev, ret, json_array_get(v, (size_t)i));
    }
    int64_t lo = clamp_bound(pick->has_lo, pick->lo, 0, n);
    int64_t hi = clamp_bound(pick->has_hi, pick->hi, n, n);
    while (lo < hi) {
        if (add(ev, ret, json_array_get(v, (size_t)lo)) < 0) {
            return -1;
        }
        if (pick->step >= hi - lo) {
            break;
        }
        lo += pick->step;
    }
    return 0;
}

static int step_pick(struct eval *ev, const struct jsonpath_step *step, const json_t *v,
                     struct list *ret)
{
    for (const struct jsonpath_pick *p = step->picks; p; p = p->next) {
        int rc = p->key ? add(ev, ret, json_object_get(v, p->key)) : pick_slice(ev, p, v, ret);
        if (rc < 0) {
            return -1;
        }
    }
    return 0;
}

static int step_all(struct eval *ev, const json_t *v, struct list *ret)
{
    const char *key;
    json_t *child;
    size_t i;
    json_array_foreach ((json_t *)v, i, child) {
        if (add(ev, ret, child) < 0) {
            return -1;
        }
    }
    json_object_foreach ((json_t *)v, key, child) {
        if (add(ev, ret, child) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The value, then all below it, parents first. */
static int step_deep(struct eval *ev, const json_t *v, struct list *ret)
{
    struct list children = {0};
    int rc = add(ev, ret, v) < 0 ? -1 : step_all(ev, v, &children);
    for (size_t i = 0; rc == 0 && i < children.n; i++) {
        rc = step_deep(ev, children.v[i], ret);
    }
    free(children.v);
    return rc;
}

static int step_filter(struct eval *ev, const struct jsonpath_step *step, const json_t *v,
                       struct list *ret)
{
    json_t *child;
    size_t i;
    json_array_foreach ((json_t *)v, i, child) {
        bool match;
        ev->steps++;
        if (filter_matches(ev, step, child, &match) < 0 || (match && add(ev, ret, child) < 0)) {
            return -1;
        }
    }
    return 0;
}

static int eval_step(struct eval *ev, const struct jsonpath_step *step, const json_t *v,
                     struct list *ret)
{
    switch (step->kind) {
    case STEP_PICK:
        return step_pick(ev, step, v, ret);
    case STEP_ALL:
        return step_all(ev, v, ret);
    case STEP_DEEP:
        return step_deep(ev, v, ret);
    case STEP_FILTER:
        return step_filter(ev, step, v, ret);
    }
    return 0;
}

/* Fills ret, which the caller frees in any case. */
static int eval_path(struct eval *ev, const struct jsonpath_step *path, const json_t *from,
                     struct list *ret)
{
    if (add(ev, ret, from) < 0) {
        return -1;
    }
    for (; path; path = path->next) {
        struct list next = {0};
        int rc = 0;
        for (size_t i = 0; rc == 0 && i < ret->n; i++) {
            rc = eval_step(ev, path, ret->v[i], &next);
        }
        free(ret->v);
        *ret = next;
        if (rc < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- the two ways in ------------------------------------------------------------------------- */

json_t *jsonpath_find(const json_t *root, const char *path, struct err *reterr)
{
    struct arena a;
    struct jsonpath_step *steps;
    struct list l = {0};
    struct eval ev = {.err = reterr};
    json_t *result = NULL;
    arena_init(&a, 0, PARSE_ARENA_MAX);
    if (jsonpath_parse_path(path, &a, &steps, reterr) == 0 &&
        eval_path(&ev, steps, root, &l) == 0) {
        result = json_array();
        for (size_t i = 0; i < l.n; i++) {
            (void)json_array_append(result, (json_t *)l.v[i]);
        }
    }
    free(l.v);
    arena_done(&a);
    return result;
}

static void put_value(struct buf *out, const json_t *v)
{
    if (json_is_string(v)) {
        buf_put(out, json_string_value(v), json_string_length(v));
    } else {
        AUTO_FREE char *text = jsonx_canonical(v);
        buf_puts(out, text);
    }
}

static int render(struct eval *ev, const struct jsonpath_node *node, const json_t *at,
                  struct buf *out);

static int render_matches(struct eval *ev, const struct jsonpath_node *node, const json_t *at,
                          struct buf *out)
{
    struct list l = {0};
    int rc = eval_path(ev, node->path, at, &l);
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        if (node->kind == NODE_RANGE) {
            rc = render(ev, node->body, l.v[i], out);
        } else {
            buf_puts(out, i > 0 ? " " : "");
            put_value(out, l.v[i]);
        }
        if (rc == 0 && out->over) {
            rc = err_set(ev->err, ERR_LIMIT, "jsonpath: output is longer than %zu bytes", out->max);
        }
    }
    free(l.v);
    return rc;
}

static int render(struct eval *ev, const struct jsonpath_node *node, const json_t *at,
                  struct buf *out)
{
    for (; node; node = node->next) {
        if (node->kind == NODE_TEXT) {
            buf_puts(out, node->text);
        } else if (render_matches(ev, node, at, out) < 0) {
            return -1;
        }
    }
    return 0;
}

int jsonpath_render(const json_t *root, const char *tmpl, struct buf *out, struct err *reterr)
{
    struct arena a;
    struct jsonpath_node *nodes;
    struct eval ev = {.err = reterr};
    arena_init(&a, 0, PARSE_ARENA_MAX);
    int rc = jsonpath_parse_template(tmpl, &a, &nodes, reterr);
    if (rc == 0) {
        rc = render(&ev, nodes, root, out);
    }
    if (rc == 0 && out->over) {
        rc = err_set(reterr, ERR_LIMIT, "jsonpath: output is longer than %zu bytes", out->max);
    }
    arena_done(&a);
    return rc;
}
