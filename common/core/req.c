/* req.c - see req.h */
#include "req.h"

#include "labels.h"

#include "common/base/sort.h"
#include "common/base/str.h"

static const char *const op_names[] = {
    [REQ_IN] = "In",         [REQ_NOT_IN] = "NotIn",
    [REQ_EXISTS] = "Exists", [REQ_DOES_NOT_EXIST] = "DoesNotExist",
    [REQ_GT] = "Gt",         [REQ_LT] = "Lt",
    [REQ_GTE] = "Gte",       [REQ_LTE] = "Lte",
};

bool req_op_parse(const char *s, enum req_op *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(op_names); i++) {
        if (str_eq(s, op_names[i])) {
            *ret = (enum req_op)i;
            return true;
        }
    }
    return false;
}

const char *req_op_name(enum req_op op)
{
    return (size_t)op < ARRAY_LEN(op_names) ? op_names[op] : "";
}

/* ---- making -----------------------------------------------------------------------------------
 */

static int sym_id_cmp(const void *a, const void *b)
{
    sym x = *(const sym *)a, y = *(const sym *)b;
    return (x > y) - (x < y);
}

static void set_values(struct arena *a, const sym *values, uint32_t n, struct req *ret)
{
    if (n == 0) {
        return;
    }
    sym *v = arena_memdup(a, values, n * sizeof(*v));
    sort_items(v, n, sizeof(*v), sym_id_cmp);
    uint32_t kept = 1;
    for (uint32_t i = 1; i < n; i++) {
        if (v[i] != v[kept - 1]) {
            v[kept++] = v[i];
        }
    }
    ret->values = v;
    ret->n = kept;
}

static void set_bound(enum req_op op, int64_t n, struct req *ret)
{
    ret->complement = true;
    switch (op) {
    case REQ_GT:
        if (n == INT64_MAX) {
            ret->complement = false; /* nothing is greater */
            ret->present = true;
            return;
        }
        ret->has_gte = true;
        ret->gte = n + 1;
        return;
    case REQ_GTE:
        ret->has_gte = true;
        ret->gte = n;
        return;
    case REQ_LT:
        ret->has_lte = true;
        ret->lte = n - 1;
        return;
    default:
        ret->has_lte = true;
        ret->lte = n;
        return;
    }
}

static int make_bound(const struct symtab *t, enum req_op op, const sym *values, uint32_t n,
                      struct req *ret, struct err *reterr)
{
    int64_t number;
    if (n != 1) {
        return err_set(reterr, ERR_INVALID, "operator %s takes exactly one value, not %u",
                       req_op_name(op), n);
    }
    if (!sym_int(t, values[0], &number) || number < 0) {
        return err_set(reterr, ERR_INVALID,
                       "operator %s takes a whole number that is not negative, not \"%s\"",
                       req_op_name(op), sym_str(t, values[0]));
    }
    set_bound(op, number, ret);
    return 0;
}

int req_make(struct arena *a, const struct symtab *t, sym key, enum req_op op, const sym *values,
             uint32_t n, uint16_t min_values, struct req *ret, struct err *reterr)
{
    struct req r = {.key = key, .min_values = min_values};
    if (n > REQ_MAX_VALUES) {
        return err_set(reterr, ERR_LIMIT, "operator %s with %u values, at most %d are possible",
                       req_op_name(op), n, REQ_MAX_VALUES);
    }
    switch (op) {
    case REQ_IN:
        if (n == 0) {
            return err_set(reterr, ERR_INVALID, "operator In takes at least one value");
        }
        set_values(a, values, n, &r);
        break;
    case REQ_NOT_IN:
        r.complement = true;
        set_values(a, values, n, &r);
        break;
    case REQ_EXISTS:
        r.complement = true;
        break;
    case REQ_DOES_NOT_EXIST:
        break;
    default:
        if (make_bound(t, op, values, n, &r, reterr) < 0) {
            return -1;
        }
    }
    *ret = r;
    return 0;
}

/* ---- asking ------------------------------------------------------------------------------------
 */

enum req_op req_op(const struct req *r)
{
    if (r->complement) {
        return r->n ? REQ_NOT_IN : REQ_EXISTS;
    }
    return r->n ? REQ_IN : REQ_DOES_NOT_EXIST;
}

/* Do values and bounds alone say that the label must be there? */
static bool implies_label(const struct req *r)
{
    return r->has_gte || r->has_lte || (r->complement ? r->n == 0 : r->n > 0);
}

bool req_negative(const struct req *r)
{
    return !r->present && !implies_label(r);
}

/* The first place in v[from..n) whose value is not below value. */
static uint32_t lower_bound(const sym *v, uint32_t from, uint32_t n, sym value)
{
    while (from < n) {
        uint32_t mid = from + (n - from) / 2;
        if (v[mid] < value) {
            from = mid + 1;
        } else {
            n = mid;
        }
    }
    return from;
}

static bool listed(const struct req *r, sym value)
{
    uint32_t i = lower_bound(r->values, 0, r->n, value);
    return i < r->n && r->values[i] == value;
}

static bool in_bounds(const struct symtab *t, const struct req *r, sym value)
{
    int64_t number;
    if (!r->has_gte && !r->has_lte) {
        return true;
    }
    return sym_int(t, value, &number) && (!r->has_gte || number >= r->gte) &&
           (!r->has_lte || number <= r->lte);
}

bool req_has(const struct symtab *t, const struct req *r, sym value)
{
    return listed(r, value) != r->complement && in_bounds(t, r, value);
}

static bool bounds_empty(const struct req *r)
{
    return r->has_gte && r->has_lte && r->gte > r->lte;
}

bool req_is_empty(const struct req *r)
{
    return r->complement ? bounds_empty(r) : r->n == 0;
}

sym req_single(const struct req *r)
{
    return !r->complement && r->n == 1 ? r->values[0] : SYM_NONE;
}

bool req_equal(const struct req *x, const struct req *y)
{
    return x->key == y->key && x->complement == y->complement && x->min_values == y->min_values &&
           x->has_gte == y->has_gte && (!x->has_gte || x->gte == y->gte) &&
           x->has_lte == y->has_lte && (!x->has_lte || x->lte == y->lte) &&
           req_negative(x) == req_negative(y) && x->n == y->n &&
           (x->n == 0 || memcmp(x->values, y->values, x->n * sizeof(*x->values)) == 0);
}

/* ---- intersecting ------------------------------------------------------------------------------
 */

/* ret's bounds become those of both. */
static void meet_bounds(const struct req *x, const struct req *y, struct req *ret)
{
    ret->has_gte = x->has_gte || y->has_gte;
    ret->has_lte = x->has_lte || y->has_lte;
    if (ret->has_gte) {
        ret->gte = !x->has_gte || (y->has_gte && y->gte > x->gte) ? y->gte : x->gte;
    }
    if (ret->has_lte) {
        ret->lte = !x->has_lte || (y->has_lte && y->lte < x->lte) ? y->lte : x->lte;
    }
}

static void drop_bounds(struct req *r)
{
    r->has_gte = r->has_lte = false;
    r->gte = r->lte = 0;
}

/* The values of the concrete set `of` that `by` admits and that lie within ret's bounds. */
static void keep_admitted(struct arena *a, const struct symtab *t, const struct req *of,
                          const struct req *by, struct req *ret)
{
    sym *v = ARENA_NEW_N(a, sym, of->n);
    uint32_t n = 0, j = 0;
    for (uint32_t i = 0; i < of->n; i++) {
        sym value = of->values[i];
        j = lower_bound(by->values, j, by->n, value);
        bool is_listed = j < by->n && by->values[j] == value;
        if (is_listed != by->complement && in_bounds(t, ret, value)) {
            v[n++] = value;
        }
    }
    ret->values = n ? v : NULL;
    ret->n = n;
}

/* All exclusions of both that lie within ret's bounds; others exclude nothing. */
static void unite_exclusions(struct arena *a, const struct symtab *t, const struct req *x,
                             const struct req *y, struct req *ret)
{
    if (x->n + y->n == 0) {
        return;
    }
    sym *v = ARENA_NEW_N(a, sym, (size_t)x->n + y->n);
    uint32_t i = 0, j = 0, n = 0;
    while (i < x->n || j < y->n) {
        bool from_x = j == y->n || (i < x->n && x->values[i] <= y->values[j]);
        sym value = from_x ? x->values[i] : y->values[j];
        i += from_x;
        j += j < y->n && y->values[j] == value;
        if (in_bounds(t, ret, value)) {
            v[n++] = value;
        }
    }
    ret->values = n ? v : NULL;
    ret->n = n;
}

static bool same_values(const struct req *x, const struct req *y)
{
    return x->n == y->n && (x->n == 0 || x->values == y->values ||
                            memcmp(x->values, y->values, x->n * sizeof(*x->values)) == 0);
}

struct req req_intersect(struct arena *a, const struct symtab *t, const struct req *x,
                         const struct req *y)
{
    struct req ret = {.key = x->key, .complement = x->complement && y->complement};
    ret.min_values = x->min_values > y->min_values ? x->min_values : y->min_values;
    meet_bounds(x, y, &ret);
    if (bounds_empty(&ret)) {
        ret.complement = false;
    } else if (ret.complement) {
        unite_exclusions(a, t, x, y, &ret);
        if (ret.n > REQ_MAX_VALUES) {
            /* Admitting nothing is the safe side of what is too large to remember. */
            ret.complement = false;
            ret.values = NULL;
            ret.n = 0;
        }
    } else if (x->complement) {
        keep_admitted(a, t, y, x, &ret);
    } else if (!y->complement && same_values(x, y)) {
        ret.values = x->values;
        ret.n = x->n;
    } else {
        keep_admitted(a, t, x, y, &ret);
    }
    if (!ret.complement) {
        drop_bounds(&ret);
    }
    ret.present = !implies_label(&ret) && !(req_negative(x) && req_negative(y));
    return ret;
}

bool req_intersects(const struct symtab *t, const struct req *x, const struct req *y)
{
    if (x->complement && y->complement) {
        struct req both = {.key = x->key};
        meet_bounds(x, y, &both);
        return !bounds_empty(&both);
    }
    /* Walk the smaller concrete set, search in the other. */
    const struct req *walk = x->complement || (!y->complement && y->n < x->n) ? y : x;
    const struct req *other = walk == x ? y : x;
    for (uint32_t i = 0; i < walk->n; i++) {
        if (req_has(t, other, walk->values[i])) {
            return true;
        }
    }
    return false;
}

/* ---- sets --------------------------------------------------------------------------------------
 */

/* The first place whose key is not below key. */
static uint32_t place_of(const struct reqset *s, sym key)
{
    uint32_t lo = 0, hi = s->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->v[mid].key < key) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

const struct req *reqset_get(const struct reqset *s, sym key)
{
    uint32_t i = place_of(s, key);
    return i < s->n && s->v[i].key == key ? &s->v[i] : NULL;
}

struct reqset reqset_add(struct arena *a, const struct symtab *t, const struct reqset *s,
                         const struct req *r)
{
    uint32_t at = place_of(s, r->key);
    bool present = at < s->n && s->v[at].key == r->key;
    struct req *v = ARENA_NEW_N(a, struct req, (size_t)s->n + 1);
    if (at > 0) {
        memcpy(v, s->v, at * sizeof(*v));
    }
    if (present) {
        v[at] = req_intersect(a, t, &s->v[at], r);
    } else {
        v[at] = *r;
        v[at].values = arena_memdup(a, r->values, r->n * sizeof(*r->values));
    }
    uint32_t behind = s->n - at - present;
    if (behind > 0) {
        memcpy(v + at + 1, s->v + at + present, behind * sizeof(*v));
    }
    return (struct reqset){.v = v, .n = s->n + !present};
}

struct reqset reqset_merge(struct arena *a, const struct symtab *t, const struct reqset *x,
                           const struct reqset *y)
{
    if (y->n == 0) {
        return *x;
    }
    if (x->n == 0) {
        return *y;
    }
    struct req *v = ARENA_NEW_N(a, struct req, (size_t)x->n + y->n);
    uint32_t i = 0, j = 0, n = 0;
    while (i < x->n && j < y->n) {
        if (x->v[i].key < y->v[j].key) {
            v[n++] = x->v[i++];
        } else if (x->v[i].key > y->v[j].key) {
            v[n++] = y->v[j++];
        } else {
            v[n++] = req_intersect(a, t, &x->v[i++], &y->v[j++]);
        }
    }
    while (i < x->n) {
        v[n++] = x->v[i++];
    }
    while (j < y->n) {
        v[n++] = y->v[j++];
    }
    return (struct reqset){.v = v, .n = n};
}

struct reqset reqset_without(struct arena *a, const struct reqset *s, sym key)
{
    uint32_t at = place_of(s, key);
    if (at == s->n || s->v[at].key != key) {
        return *s;
    }
    if (s->n == 1) {
        return (struct reqset){.n = 0};
    }
    struct req *v = ARENA_NEW_N(a, struct req, s->n - 1);
    memcpy(v, s->v, at * sizeof(*v));
    memcpy(v + at, s->v + at + 1, (s->n - at - 1) * sizeof(*v));
    return (struct reqset){.v = v, .n = s->n - 1};
}

enum verdict { AGREE, NO_SUCH_LABEL, NO_COMMON_VALUE };

/* have is NULL where the key is not defined. */
static enum verdict compare(const struct symtab *t, const struct req *have, const struct req *want,
                            bool allow_well_known)
{
    bool negative = req_negative(want);
    if (!have) {
        bool allowed = negative || (allow_well_known && labels_well_known(want->key));
        return allowed ? AGREE : NO_SUCH_LABEL;
    }
    if (req_intersects(t, have, want) || (negative && req_negative(have))) {
        return AGREE;
    }
    return NO_COMMON_VALUE;
}

bool reqset_compatible(const struct symtab *t, const struct reqset *have, const struct reqset *want,
                       bool allow_well_known, sym *ret_key, bool *ret_unknown)
{
    enum verdict worst = AGREE;
    sym key = SYM_NONE;
    uint32_t i = 0;
    for (uint32_t j = 0; j < want->n; j++) {
        const struct req *w = &want->v[j];
        while (i < have->n && have->v[i].key < w->key) {
            i++;
        }
        const struct req *h = i < have->n && have->v[i].key == w->key ? &have->v[i] : NULL;
        enum verdict verdict = compare(t, h, w, allow_well_known);
        if (verdict == AGREE) {
            continue;
        }
        if (!ret_key && !ret_unknown) {
            return false;
        }
        /* Unknown labels come before values that differ, then by string. */
        if (worst == AGREE || verdict < worst ||
            (verdict == worst && sym_cmp(t, w->key, key) < 0)) {
            worst = verdict;
            key = w->key;
        }
    }
    if (worst == AGREE) {
        return true;
    }
    if (ret_key) {
        *ret_key = key;
    }
    if (ret_unknown) {
        *ret_unknown = worst == NO_SUCH_LABEL;
    }
    return false;
}

/* ---- writing -----------------------------------------------------------------------------------
 */

static void fmt_values(const struct symtab *t, const struct req *r, unsigned max_values,
                       struct buf *out)
{
    struct arena tmp;
    arena_init(&tmp, 0, SIZE_MAX);
    const char **v = ARENA_NEW_N(&tmp, const char *, r->n);
    for (uint32_t i = 0; i < r->n; i++) {
        v[i] = sym_str(t, r->values[i]);
    }
    sort_items(v, r->n, sizeof(*v), str_qsort_cmp);
    uint32_t shown = max_values == 0 || r->n < max_values ? r->n : max_values;
    for (uint32_t i = 0; i < shown; i++) {
        buf_printf(out, "%s%s", i ? " " : "", v[i]);
    }
    if (shown < r->n) {
        buf_printf(out, " and %u more", r->n - shown);
    }
    arena_done(&tmp);
}

void req_fmt(const struct symtab *t, const struct req *r, unsigned max_values, struct buf *out)
{
    bool bounded = r->has_gte || r->has_lte;
    const char *sep = "";
    buf_printf(out, "%s ", sym_str(t, r->key));
    if (!bounded || r->n > 0) {
        buf_puts(out, req_op_name(req_op(r)));
        if (r->n > 0) {
            buf_puts(out, " [");
            fmt_values(t, r, max_values, out);
            buf_putc(out, ']');
        }
        sep = " and ";
    }
    if (r->present && r->complement) {
        buf_printf(out, "%sExists", sep);
    }
    if (r->has_gte) {
        buf_printf(out, "%sGte %lld", sep, (long long)r->gte);
        sep = " and ";
    }
    if (r->has_lte) {
        buf_printf(out, "%sLte %lld", sep, (long long)r->lte);
    }
}
