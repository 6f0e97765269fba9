/* resources.c - see resources.h */
#include "resources.h"

#include "common/base/str.h"

static const char *const names[RES_FIXED] = {
    [RES_CPU] = "cpu",
    [RES_MEMORY] = "memory",
    [RES_EPHEMERAL_STORAGE] = "ephemeral-storage",
    [RES_PODS] = "pods",
    [RES_POD_ENI] = "vpc.amazonaws.com/pod-eni",
    [RES_PRIVATE_IPV4] = "vpc.amazonaws.com/PrivateIPv4Address",
    [RES_EFA] = "vpc.amazonaws.com/efa",
    [RES_NVIDIA_GPU] = "nvidia.com/gpu",
    [RES_AMD_GPU] = "amd.com/gpu",
    [RES_GAUDI] = "habana.ai/gaudi",
    [RES_NEURON] = "aws.amazon.com/neuron",
    [RES_NEURONCORE] = "aws.amazon.com/neuroncore",
};

const char *resource_name(enum resource r)
{
    return (size_t)r < RES_FIXED ? names[r] : "";
}

bool resource_parse(const char *name, enum resource *ret)
{
    for (size_t i = 0; i < RES_FIXED; i++) {
        if (str_eq(name, names[i])) {
            *ret = (enum resource)i;
            return true;
        }
    }
    return false;
}

int64_t resources_get_ext(const struct resources *r, sym name)
{
    for (uint32_t i = 0; i < r->n_ext && r->ext[i].name <= name; i++) {
        if (r->ext[i].name == name) {
            return r->ext[i].amount;
        }
    }
    return 0;
}

/* x + y·times, kept within int64. */
static int64_t add_times(int64_t x, int64_t y, int64_t times)
{
    int64_t ret;
    __int128 exact = (__int128)x + (__int128)y * times;
    ret = (int64_t)exact;
    if (ret != exact) {
        return exact < 0 ? INT64_MIN : INT64_MAX;
    }
    return ret;
}

static int64_t greater(int64_t x, int64_t y, UNUSED int64_t times)
{
    return x > y ? x : y;
}

typedef int64_t (*combine_fn)(int64_t x, int64_t y, int64_t times);

static void combine_ext(struct arena *a, const struct resources *x, const struct resources *y,
                        int64_t times, combine_fn fn, struct resources *ret)
{
    if (x->n_ext + y->n_ext == 0) {
        return;
    }
    struct res_ext *v = ARENA_NEW_N(a, struct res_ext, (size_t)x->n_ext + y->n_ext);
    uint32_t i = 0, j = 0, n = 0;
    while (i < x->n_ext || j < y->n_ext) {
        bool from_x = j == y->n_ext || (i < x->n_ext && x->ext[i].name <= y->ext[j].name);
        bool from_y = i == x->n_ext || (j < y->n_ext && y->ext[j].name <= x->ext[i].name);
        v[n].name = from_x ? x->ext[i].name : y->ext[j].name;
        v[n].amount = fn(from_x ? x->ext[i].amount : 0, from_y ? y->ext[j].amount : 0, times);
        i += from_x;
        j += from_y;
        n++;
    }
    ret->ext = v;
    ret->n_ext = n;
}

struct resources resources_add(struct arena *a, const struct resources *x,
                               const struct resources *y, int64_t times)
{
    struct resources ret = {.n_ext = 0};
    bool over = times != 1;
    for (size_t i = 0; i < RES_FIXED && !over; i++) { /* nearly always, and much faster */
        over = __builtin_add_overflow(x->v[i], y->v[i], &ret.v[i]);
    }
    for (size_t i = 0; i < RES_FIXED && over; i++) {
        ret.v[i] = add_times(x->v[i], y->v[i], times);
    }
    combine_ext(a, x, y, times, add_times, &ret);
    return ret;
}

struct resources resources_max(struct arena *a, const struct resources *x,
                               const struct resources *y)
{
    struct resources ret = {.n_ext = 0};
    for (size_t i = 0; i < RES_FIXED; i++) {
        ret.v[i] = greater(x->v[i], y->v[i], 1);
    }
    combine_ext(a, x, y, 1, greater, &ret);
    return ret;
}

bool resources_is_zero(const struct resources *r)
{
    for (size_t i = 0; i < RES_FIXED; i++) {
        if (r->v[i] != 0) {
            return false;
        }
    }
    for (uint32_t i = 0; i < r->n_ext; i++) {
        if (r->ext[i].amount != 0) {
            return false;
        }
    }
    return true;
}

static bool ext_covered(const struct resources *x, const struct resources *y)
{
    for (uint32_t i = 0; i < x->n_ext; i++) {
        if (resources_get_ext(y, x->ext[i].name) != x->ext[i].amount) {
            return false;
        }
    }
    return true;
}

bool resources_equal(const struct resources *x, const struct resources *y)
{
    return memcmp(x->v, y->v, sizeof(x->v)) == 0 && ext_covered(x, y) && ext_covered(y, x);
}

static bool short_at(int64_t need, int64_t have)
{
    return have < 0 || (need > 0 && have < need);
}

/* Whether x is the greater shortage relative to what is needed: (need-have)/need, no doubles. */
static int short_cmp(const struct res_short *x, const struct res_short *y)
{
    __int128 x_need = x->need > 0 ? x->need : 1, y_need = y->need > 0 ? y->need : 1;
    __int128 l = ((__int128)x->need - x->have) * y_need;
    __int128 r = ((__int128)y->need - y->have) * x_need;
    return (l > r) - (l < r);
}

static bool fits(const struct resources *need, const struct resources *have)
{
    bool bad = false;
    for (size_t i = 0; i < RES_FIXED; i++) {
        bad |= short_at(need->v[i], have->v[i]);
    }
    if (bad) {
        return false;
    }
    for (uint32_t i = 0; i < have->n_ext; i++) {
        if (have->ext[i].amount < 0) {
            return false;
        }
    }
    for (uint32_t i = 0; i < need->n_ext; i++) {
        const struct res_ext *e = &need->ext[i];
        if (e->amount > 0 && resources_get_ext(have, e->name) < e->amount) {
            return false;
        }
    }
    return true;
}

struct shortage {
    const struct symtab *t; /* NULL: ties between extended resources stay as they come */
    struct res_short worst;
    bool any;
};

static void consider(struct shortage *s, enum resource res, sym ext, int64_t need, int64_t have)
{
    if (!short_at(need, have)) {
        return;
    }
    struct res_short x = {.res = res, .ext = ext, .need = need, .have = have};
    int cmp = s->any ? short_cmp(&x, &s->worst) : 1;
    if (cmp == 0 && s->t && res == RES_FIXED && s->worst.res == RES_FIXED) {
        cmp = -sym_cmp(s->t, ext, s->worst.ext);
    }
    if (cmp > 0) {
        s->worst = x;
        s->any = true;
    }
}

bool resources_shortage(const struct symtab *t, const struct resources *need,
                        const struct resources *have, struct res_short *ret)
{
    struct shortage s = {.t = t};
    for (size_t i = 0; i < RES_FIXED; i++) {
        consider(&s, (enum resource)i, SYM_NONE, need->v[i], have->v[i]);
    }
    for (uint32_t i = 0; i < need->n_ext; i++) {
        sym name = need->ext[i].name;
        consider(&s, RES_FIXED, name, need->ext[i].amount, resources_get_ext(have, name));
    }
    for (uint32_t i = 0; i < have->n_ext; i++) {
        sym name = have->ext[i].name;
        consider(&s, RES_FIXED, name, resources_get_ext(need, name), have->ext[i].amount);
    }
    if (s.any) {
        *ret = s.worst;
    }
    return s.any;
}

bool resources_fit(const struct resources *need, const struct resources *have,
                   struct res_short *ret_short)
{
    if (fits(need, have)) {
        return true;
    }
    if (ret_short) {
        resources_shortage(NULL, need, have, ret_short);
    }
    return false;
}
