/* test_catalog.c - building, narrowing by label, need and limit, offerings */
#include "unit.h"

#include "common/core/ec2/catalog.h"
#include "common/core/labels.h"

#define N_TYPES 200 /* several words, the last one not full */
#define USD PUSD_PER_USD

/*
 * A made-up catalog, the types handed over in reverse order. Type i (by name) has
 *   arch     amd64, every third arm64 (few values, many types: bitsets)
 *   cpu      i + 1 (many values, one type each: lists)
 *   tenancy  both values for even i, only default for odd
 *   gpu-name t4 for i % 10 == 0, DoesNotExist for other even ones, not defined for odd
 * and cpu i + 1 cores, memory (i % 7) GiB, a GPU where it says so, and fuse for i ≥ 150.
 */
struct world {
    struct symtab *syms;
    struct arena mem;
    struct catalog *c;
    sym fuse, t4, cpus[N_TYPES];
};

static const char *const zone_names[] = {"z-a", "z-b", "z-c"};
static const sym both_tenancies[] = {V_DEDICATED, V_DEFAULT}; /* not sorted */
static const sym archs[] = {V_AMD64, V_ARM64};

static struct req one(sym key, const sym *value, uint32_t n)
{
    return (struct req){.key = key, .n = n, .values = value};
}

static void describe(struct world *w, uint32_t i, struct catalog_type *ret)
{
    struct req *l = ARENA_NEW_N(&w->mem, struct req, 5);
    uint32_t n = 0;
    l[n++] = one(L_TENANCY, both_tenancies + i % 2, 2 - i % 2);
    l[n++] = one(L_CPU, &w->cpus[i], 1);
    l[n++] = one(L_ARCH, &archs[i % 3 == 0], 1);
    if (i % 2 == 0) {
        l[n++] = one(L_GPU_NAME, &w->t4, i % 10 == 0);
    }
    l[n++] = one(L_ZONE, &w->t4, 1); /* to be ignored */
    *ret = (struct catalog_type){.labels = l, .n_labels = n};
    ret->name = sym_intern(w->syms, arena_printf(&w->mem, "type.%03u", i));
    ret->capacity.v[RES_CPU] = (int64_t)(i + 1) * 1000;
    ret->capacity.v[RES_MEMORY] = (int64_t)(i % 7) << 30;
    ret->capacity.v[RES_NVIDIA_GPU] = i % 10 == 0;
    if (i >= 150) {
        struct res_ext *ext = ARENA_NEW(&w->mem, struct res_ext);
        *ext = (struct res_ext){w->fuse, i};
        ret->capacity.ext = ext;
        ret->capacity.n_ext = 1;
    }
    ret->allocatable = ret->capacity;
    ret->allocatable.v[RES_CPU] -= 100;
}

static void setup(struct world *w)
{
    struct err e = ERR_INIT;
    struct catalog_type types[N_TYPES];
    sym zones[3], ids[3];
    w->syms = labels_symtab_new();
    arena_init(&w->mem, 0, SIZE_MAX);
    for (int i = 0; i < 3; i++) {
        zones[i] = sym_intern(w->syms, zone_names[i]);
        ids[i] = i < 2 ? sym_intern(w->syms, arena_printf(&w->mem, "id%d", i)) : SYM_NONE;
    }
    w->fuse = sym_intern(w->syms, "example.com/fuse");
    w->t4 = sym_intern(w->syms, "t4");
    for (uint32_t i = 0; i < N_TYPES; i++) {
        w->cpus[i] = sym_intern(w->syms, arena_printf(&w->mem, "%u", i + 1));
    }
    for (uint32_t i = 0; i < N_TYPES; i++) {
        describe(w, i, &types[N_TYPES - 1 - i]);
    }
    w->c = catalog_new(w->syms, types, N_TYPES, &(struct catalog_zones){zones, ids, 3}, &e);
    ck_assert_msg(w->c != NULL, "%s", e.msg);
}

static void teardown(struct world *w)
{
    catalog_free(w->c);
    arena_done(&w->mem);
    symtab_free(w->syms);
}

/* ---- shape
 * ------------------------------------------------------------------------------------------- */

START_TEST(types_are_in_order_and_found)
{
    struct world w;
    setup(&w);
    ck_assert_uint_eq(catalog_n_types(w.c), N_TYPES);
    ck_assert_uint_eq(catalog_words(w.c), 4);
    for (uint32_t i = 0; i < N_TYPES; i++) {
        sym name = catalog_type_name(w.c, i);
        ck_assert_int_eq(catalog_find_type(w.c, name), (int)i);
        ck_assert_int_eq(catalog_capacity(w.c, i)->v[RES_CPU], (i + 1) * 1000);
        ck_assert_int_eq(catalog_allocatable(w.c, i)->v[RES_CPU], (i + 1) * 1000 - 100);
        ck_assert_int_eq(resources_get_ext(catalog_capacity(w.c, i), w.fuse), i >= 150 ? i : 0);
        ck_assert_uint_eq(req_single(catalog_label(w.c, i, L_INSTANCE_TYPE)), name);
        ck_assert_uint_eq(req_single(catalog_label(w.c, i, L_CPU)), w.cpus[i]);
        ck_assert_uint_eq(catalog_label(w.c, i, L_TENANCY)->n, 2 - i % 2);
        ck_assert_ptr_null(catalog_label(w.c, i, L_ZONE));
    }
    ck_assert_int_eq(catalog_find_type(w.c, w.t4), -1);
    ck_assert_int_eq(catalog_find_type(w.c, SYM_NONE), -1);
    ck_assert_uint_eq(catalog_n_zones(w.c), 3);
    ck_assert_int_eq(catalog_find_zone(w.c, catalog_zone(w.c, 2)), 2);
    ck_assert_uint_eq(catalog_zone_id(w.c, 2), SYM_NONE);
    ck_assert_int_eq(catalog_find_zone(w.c, w.t4), -1);
    teardown(&w);
}
END_TEST

/* All at once what each key says by itself; what a type does not define is not among it. */
START_TEST(labels_of_a_type)
{
    static const sym keys[] = {L_ARCH, L_CPU, L_GPU_NAME, L_INSTANCE_TYPE, L_TENANCY};
    struct world w;
    setup(&w);
    for (uint32_t i = 0; i < N_TYPES; i++) {
        struct reqset all = catalog_labels(w.c, &w.mem, i);
        uint32_t n = 0;
        for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
            const struct req *r = catalog_label(w.c, i, keys[k]), *in = reqset_get(&all, keys[k]);
            ck_assert((r == NULL) == (in == NULL));
            ck_assert(r == NULL || req_equal(r, in));
            n += r != NULL;
        }
        ck_assert_uint_eq(all.n, n);
        ck_assert_uint_eq(n, 5 - i % 2);
        ck_assert(i % 2 || catalog_label(w.c, i, L_GPU_NAME)->n == (i % 10 == 0));
    }
    ck_assert_ptr_null(catalog_label(w.c, 0, w.fuse));
    teardown(&w);
}
END_TEST

START_TEST(knows_keys_and_resources)
{
    struct world w;
    setup(&w);
    ck_assert(catalog_knows_key(w.c, L_ARCH) && catalog_knows_key(w.c, L_GPU_NAME));
    ck_assert(catalog_knows_key(w.c, L_ZONE) && catalog_knows_key(w.c, L_ZONE_ID));
    ck_assert(catalog_knows_key(w.c, L_CAPACITY_TYPE) && catalog_knows_key(w.c, L_REGION));
    ck_assert(catalog_knows_key(w.c, L_INSTANCE_TYPE));
    ck_assert(!catalog_knows_key(w.c, L_OS) && !catalog_knows_key(w.c, w.fuse));
    teardown(&w);
}
END_TEST

enum fault { TWICE, NAMELESS, COMPLEMENT, LABEL_TWICE, TOO_MANY, ZONE_ORDER, ZONE_TWICE, ZONES };

static const struct {
    enum fault fault;
    enum err_kind kind;
    const char *text;
} faults[] = {
    {TWICE, ERR_INVALID, "instance type spot is listed twice"},
    {NAMELESS, ERR_INVALID, "has no name"},
    {COMPLEMENT, ERR_INVALID, "label kubernetes.io/arch of instance type spot has no fixed values"},
    {LABEL_TWICE, ERR_INVALID, "label kubernetes.io/arch of instance type spot is listed twice"},
    {TOO_MANY, ERR_LIMIT, "4097 instance types"},
    {ZONE_ORDER, ERR_INVALID, "zone on-demand is listed twice or not in order"},
    {ZONE_TWICE, ERR_INVALID, "zone spot is listed twice"},
    {ZONES, ERR_LIMIT, "65 zones"},
};

START_TEST(refuses_what_is_no_catalog)
{
    struct symtab *t = labels_symtab_new();
    struct err e = ERR_INIT;
    static struct catalog_type types[CATALOG_MAX_TYPES + 1];
    struct req labels[] = {one(L_ARCH, archs, 1), one(L_ARCH, archs, 1)};
    sym many[CATALOG_MAX_ZONES + 1] = {V_SPOT, V_ON_DEMAND};
    struct catalog_zones zones = {many, NULL, 1};
    enum fault fault = faults[_i].fault;
    uint32_t n = fault == TOO_MANY ? CATALOG_MAX_TYPES + 1 : fault == TWICE ? 2 : 1;
    types[0] = (struct catalog_type){.name = V_SPOT, .labels = labels};
    types[1] = types[0];
    labels[0].complement = fault == COMPLEMENT;
    types[0].n_labels = fault == COMPLEMENT ? 1 : fault == LABEL_TWICE ? 2 : 0;
    types[0].name = fault == NAMELESS ? (sym)SYM_NONE : (sym)V_SPOT;
    zones.n = fault == ZONES ? CATALOG_MAX_ZONES + 1 : fault >= ZONE_ORDER ? 2 : 1;
    many[1] = fault == ZONE_TWICE ? V_SPOT : V_ON_DEMAND;
    ck_assert_ptr_null(catalog_new(t, types, n, &zones, &e));
    ck_assert_int_eq(e.kind, faults[_i].kind);
    ck_assert_msg(strstr(e.msg, faults[_i].text) != NULL, "%s", e.msg);
    symtab_free(t);
}
END_TEST

START_TEST(an_empty_catalog_works)
{
    struct symtab *t = labels_symtab_new();
    struct catalog_zones none = {NULL, NULL, 0};
    struct resources need = {.v = {1}};
    struct reqset reqs = {.n = 0};
    uint64_t bits[1] = {0};
    uint32_t out[1];
    struct catalog *c = catalog_new(t, NULL, 0, &none, NULL);
    ck_assert_ptr_nonnull(c);
    struct offerings *o = offerings_new(c);
    struct offer_mask m = offerings_mask(c, t, &reqs);
    catalog_all(c, bits);
    catalog_narrow_fit(c, &need, bits);
    offerings_narrow(o, m, bits);
    ck_assert_uint_eq(m.zones, 0);
    ck_assert_uint_eq(offerings_rank(o, bits, m, true, out, 1), 0);
    offerings_free(offerings_copy(o));
    offerings_free(o);
    offerings_free(NULL);
    catalog_free(c);
    catalog_free(NULL);
    symtab_free(t);
}
END_TEST

START_TEST(bitsets)
{
    struct world w;
    uint64_t bits[4];
    setup(&w);
    catalog_all(w.c, bits);
    ck_assert_uint_eq(bits_count(bits, 4), N_TYPES);
    ck_assert_uint_eq(bits[3] >> (N_TYPES % 64), 0);
    ck_assert_int_eq(bits_next(bits, 4, N_TYPES - 1), N_TYPES - 1);
    ck_assert_int_eq(bits_next(bits, 4, N_TYPES), -1);
    ck_assert_int_eq(bits_next(bits, 4, 1000), -1);
    memset(bits, 0, sizeof(bits));
    ck_assert_int_eq(bits_next(bits, 4, 0), -1);
    bits_set(bits, 0);
    bits_set(bits, 63);
    bits_set(bits, 130);
    ck_assert_int_eq(bits_next(bits, 4, 0), 0);
    ck_assert_int_eq(bits_next(bits, 4, 1), 63);
    ck_assert_int_eq(bits_next(bits, 4, 64), 130);
    ck_assert_uint_eq(bits_count(bits, 4), 3);
    bits_clear(bits, 63);
    ck_assert(bits_test(bits, 130) && !bits_test(bits, 63));
    bits[1] = UINT64_MAX;
    ck_assert_uint_eq(bits_count(bits, 4), 66);
    teardown(&w);
}
END_TEST

/* ---- narrowing by label: against the algebra, type by type
 * ------------------------------------------ */

static const struct {
    sym key;
    enum req_op op;
    const char *values[4];
} reqs[] = {
    {L_ARCH, REQ_IN, {"amd64"}},
    {L_ARCH, REQ_IN, {"amd64", "arm64"}},
    {L_ARCH, REQ_IN, {"mips"}},
    {L_ARCH, REQ_NOT_IN, {"amd64"}},
    {L_ARCH, REQ_NOT_IN, {"mips"}},
    {L_ARCH, REQ_EXISTS, {NULL}},
    {L_ARCH, REQ_DOES_NOT_EXIST, {NULL}},
    {L_ARCH, REQ_GT, {"1"}},
    {L_CPU, REQ_IN, {"7", "64", "65", "900"}},
    {L_CPU, REQ_NOT_IN, {"7", "64", "65"}},
    {L_CPU, REQ_GT, {"64"}},
    {L_CPU, REQ_LT, {"64"}},
    {L_CPU, REQ_GTE, {"200"}},
    {L_CPU, REQ_GT, {"200"}},
    {L_CPU, REQ_LTE, {"1"}},
    {L_TENANCY, REQ_IN, {"dedicated"}},
    {L_TENANCY, REQ_NOT_IN, {"dedicated"}},
    {L_TENANCY, REQ_NOT_IN, {"default"}},
    {L_TENANCY, REQ_NOT_IN, {"default", "dedicated"}},
    {L_TENANCY, REQ_EXISTS, {NULL}},
    {L_GPU_NAME, REQ_IN, {"t4"}},
    {L_GPU_NAME, REQ_IN, {"a100"}},
    {L_GPU_NAME, REQ_NOT_IN, {"t4"}},
    {L_GPU_NAME, REQ_EXISTS, {NULL}},
    {L_GPU_NAME, REQ_DOES_NOT_EXIST, {NULL}},
    {L_INSTANCE_TYPE, REQ_IN, {"type.000", "type.199", "type.200", "type.070"}},
    {L_INSTANCE_TYPE, REQ_NOT_IN, {"type.000"}},
    {L_OS, REQ_IN, {"linux"}},
    {L_OS, REQ_NOT_IN, {"linux"}},
    {L_OS, REQ_EXISTS, {NULL}},
    {L_OS, REQ_DOES_NOT_EXIST, {NULL}},
    {L_ZONE, REQ_IN, {"nowhere"}},
    {L_ZONE_ID, REQ_DOES_NOT_EXIST, {NULL}},
    {L_CAPACITY_TYPE, REQ_IN, {"spot"}},
};

static bool offering_key(sym key)
{
    return key == L_ZONE || key == L_ZONE_ID || key == L_CAPACITY_TYPE;
}

static bool allowed(const struct world *w, uint32_t type, const struct req *r, bool strict)
{
    const struct req *have = catalog_label(w->c, type, r->key);
    if (offering_key(r->key)) {
        return true;
    }
    if (!have) {
        return !strict || req_negative(r);
    }
    return req_intersects(w->syms, have, r) || (req_negative(have) && req_negative(r));
}

static struct req make(struct world *w, sym key, enum req_op op, const char *const *texts)
{
    sym values[4];
    struct req r;
    uint32_t n = 0;
    while (n < 4 && texts[n]) {
        values[n] = sym_intern(w->syms, texts[n]);
        n++;
    }
    ck_assert_int_eq(req_make(&w->mem, w->syms, key, op, values, n, 0, &r, NULL), 0);
    return r;
}

static void check_narrow(struct world *w, const struct req *r, bool strict)
{
    uint64_t bits[4], few[4] = {0x5555, 0, UINT64_C(1) << 63, 7};
    catalog_all(w->c, bits);
    catalog_narrow(w->c, w->syms, r, strict, bits);
    for (uint32_t i = 0; i < N_TYPES; i++) {
        ck_assert_msg(bits_test(bits, i) == allowed(w, i, r, strict), "type %u", i);
    }
    ck_assert_uint_eq(bits[3] >> (N_TYPES % 64), 0);
    catalog_narrow(w->c, w->syms, r, strict, few);
    for (uint32_t i = 0; i < N_TYPES; i++) {
        ck_assert(!bits_test(few, i) || bits_test(bits, i)); /* never adds */
    }
}

START_TEST(narrows_as_the_algebra_says)
{
    struct world w;
    setup(&w);
    struct req r = make(&w, reqs[_i].key, reqs[_i].op, reqs[_i].values);
    check_narrow(&w, &r, false);
    check_narrow(&w, &r, true);
    /* With every other one of the same key: bounds and exclusions together. */
    for (size_t j = 0; j < ARRAY_LEN(reqs); j++) {
        if (reqs[j].key == reqs[_i].key) {
            struct req other = make(&w, reqs[j].key, reqs[j].op, reqs[j].values);
            struct req both = req_intersect(&w.mem, w.syms, &r, &other);
            check_narrow(&w, &both, false);
            check_narrow(&w, &both, true);
        }
    }
    teardown(&w);
}
END_TEST

START_TEST(narrows_by_counted_examples)
{
    struct world w;
    uint64_t bits[4];
    setup(&w);
    struct req r = make(&w, L_GPU_NAME, REQ_IN, (const char *const[]){"t4", NULL});
    catalog_all(w.c, bits);
    catalog_narrow(w.c, w.syms, &r, false, bits);
    ck_assert_uint_eq(bits_count(bits, 4), 20 + 100); /* t4, and those that do not say */
    catalog_narrow(w.c, w.syms, &r, true, bits);
    ck_assert_uint_eq(bits_count(bits, 4), 20);
    r = make(&w, L_CPU, REQ_GT, (const char *const[]){"190", NULL});
    catalog_narrow(w.c, w.syms, &r, true, bits);
    ck_assert_uint_eq(bits_count(bits, 4), 1);
    ck_assert_int_eq(bits_next(bits, 4, 0), 190);
    teardown(&w);
}
END_TEST

/* ---- narrowing by amounts
 * ------------------------------------------------------------------------------ */

/* As need (0 and less asks nothing) and as limit (-1 is none). */
static const struct {
    int64_t cpu, mem_gib, gpu, fuse; /* fuse -2: not listed */
} amounts[] = {
    {-1, -1, -1, -2},    {0, 0, 0, -2},     {900, -1, -1, -2},    {901, -1, -1, -2},
    {1000, -1, -1, -2},  {199900, 0, 0, 0}, {199901, -1, -1, -2}, {200000, 6, 1, 199},
    {-1, 3, -1, -2},     {-1, 7, -1, -2},   {-1, -1, 1, -2},      {-1, -1, 2, -2},
    {-1, -1, -1, 150},   {-1, -1, -1, 175}, {-1, -1, -1, 200},    {50000, 2, 1, -2},
    {150500, 2, 0, 160}, {-1, -1, -1, -1},
};

START_TEST(narrows_by_need_and_limit)
{
    struct world w;
    uint64_t fit[4], limit[4];
    struct resources r = {.n_ext = 0};
    setup(&w);
    struct res_ext ext = {w.fuse, amounts[_i].fuse};
    for (size_t i = 0; i < RES_FIXED; i++) {
        r.v[i] = -1;
    }
    r.v[RES_CPU] = amounts[_i].cpu;
    r.v[RES_MEMORY] = amounts[_i].mem_gib < 0 ? -1 : amounts[_i].mem_gib << 30;
    r.v[RES_NVIDIA_GPU] = amounts[_i].gpu;
    r.ext = &ext;
    r.n_ext = amounts[_i].fuse != -2;
    catalog_all(w.c, fit);
    catalog_all(w.c, limit);
    catalog_narrow_fit(w.c, &r, fit);
    catalog_narrow_limit(w.c, &r, limit);
    for (uint32_t i = 0; i < N_TYPES; i++) {
        const struct resources *cap = catalog_capacity(w.c, i);
        bool within = true;
        for (size_t k = 0; k < RES_FIXED; k++) {
            within &= r.v[k] < 0 || cap->v[k] <= r.v[k];
        }
        within &= r.n_ext == 0 || ext.amount < 0 || resources_get_ext(cap, w.fuse) <= ext.amount;
        ck_assert_msg(bits_test(fit, i) == resources_fit(&r, catalog_allocatable(w.c, i), NULL),
                      "need, type %u", i);
        ck_assert_msg(bits_test(limit, i) == within, "limit, type %u", i);
    }
    teardown(&w);
}
END_TEST

START_TEST(unknown_resources_and_negative_room)
{
    struct world w;
    uint64_t bits[4];
    struct resources need = {.n_ext = 1};
    setup(&w);
    struct res_ext ext = {w.t4, 1};
    need.ext = &ext;
    catalog_all(w.c, bits);
    catalog_narrow_limit(w.c,
                         &(struct resources){.v = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
                                             .ext = &ext,
                                             .n_ext = 1},
                         bits);
    ck_assert_uint_eq(bits_count(bits, 4), N_TYPES);
    catalog_narrow_fit(w.c, &need, bits);
    ck_assert_uint_eq(bits_count(bits, 4), 0);
    ext.amount = 0;
    catalog_all(w.c, bits);
    catalog_narrow_fit(w.c, &need, bits);
    ck_assert_uint_eq(bits_count(bits, 4), N_TYPES);
    teardown(&w);

    struct symtab *t = labels_symtab_new();
    struct catalog_type tiny = {.name = V_SPOT};
    tiny.allocatable.v[RES_MEMORY] = -1;
    struct catalog *c = catalog_new(t, &tiny, 1, &(struct catalog_zones){NULL, NULL, 0}, NULL);
    catalog_all(c, bits);
    catalog_narrow_fit(c, &(struct resources){.n_ext = 0}, bits);
    ck_assert_uint_eq(bits_count(bits, 1), 0);
    catalog_free(c);
    symtab_free(t);
}
END_TEST

/* ---- offerings
 * -------------------------------------------------------------------------------------------- */

static const struct {
    sym key;
    enum req_op op;
    const char *values[4];
    uint64_t zones;
    unsigned cts;
} masks[] = {
    {L_ARCH, REQ_IN, {"amd64"}, 7, 7},
    {L_ZONE, REQ_IN, {"z-a", "z-c", "z-x"}, 5, 7},
    {L_ZONE, REQ_NOT_IN, {"z-a"}, 6, 7},
    {L_ZONE, REQ_EXISTS, {NULL}, 7, 7},
    {L_ZONE, REQ_DOES_NOT_EXIST, {NULL}, 0, 7},
    {L_ZONE_ID, REQ_IN, {"id1"}, 2, 7},
    {L_ZONE_ID, REQ_NOT_IN, {"id1"}, 1, 7},
    {L_ZONE_ID, REQ_EXISTS, {NULL}, 3, 7},
    {L_CAPACITY_TYPE, REQ_IN, {"spot"}, 7, 1u << CT_SPOT},
    {L_CAPACITY_TYPE, REQ_IN, {"spot", "on-demand"}, 7, 1u << CT_SPOT | 1u << CT_ON_DEMAND},
    {L_CAPACITY_TYPE, REQ_NOT_IN, {"spot"}, 7, 1u << CT_RESERVED | 1u << CT_ON_DEMAND},
    {L_CAPACITY_TYPE, REQ_DOES_NOT_EXIST, {NULL}, 7, 0},
};

START_TEST(masks_of_requirements)
{
    struct world w;
    setup(&w);
    struct req r = make(&w, masks[_i].key, masks[_i].op, masks[_i].values);
    struct offer_mask m = offerings_mask(w.c, w.syms, &(struct reqset){&r, 1});
    ck_assert_uint_eq(m.zones, masks[_i].zones);
    ck_assert_uint_eq(m.cts, masks[_i].cts);
    teardown(&w);
}
END_TEST

START_TEST(zone_and_zone_id_both_count)
{
    struct world w;
    setup(&w);
    struct req r[] = {make(&w, L_ZONE, REQ_IN, (const char *const[]){"z-a", "z-b", NULL}),
                      make(&w, L_ZONE_ID, REQ_IN, (const char *const[]){"id1", NULL})};
    ck_assert_uint_eq(offerings_mask(w.c, w.syms, &(struct reqset){r, 2}).zones, 2);
    teardown(&w);
}
END_TEST

static const struct offer_mask everything = {UINT64_MAX, 7};

START_TEST(prices_and_stock)
{
    struct world w;
    uint32_t zone = 99;
    enum capacity_type ct = CT_COUNT;
    setup(&w);
    struct offerings *o = offerings_new(w.c);
    ck_assert_int_eq(offerings_price(o, 5, 1, CT_SPOT), PRICE_UNKNOWN);
    ck_assert(!offerings_available(o, 5, 1, CT_SPOT));
    ck_assert_int_eq(offerings_cheapest(o, 5, everything, &zone, &ct), PRICE_UNKNOWN);
    ck_assert_uint_eq(zone, 99);

    offerings_set_price(o, 5, 1, CT_SPOT, 3 * USD);
    offerings_set_price(o, 5, 0, CT_ON_DEMAND, 9 * USD);
    offerings_set_price(o, 5, 2, CT_SPOT, 3 * USD);
    ck_assert_int_eq(offerings_cheapest(o, 5, everything, &zone, &ct), 3 * USD);
    ck_assert_uint_eq(zone, 1);
    ck_assert_int_eq(ct, CT_SPOT);
    ck_assert_int_eq(offerings_cheapest(o, 5, (struct offer_mask){1, 7}, &zone, &ct), 9 * USD);
    ck_assert_int_eq(ct, CT_ON_DEMAND);
    /* A tie goes to the lower capacity type before the lower zone. */
    offerings_set_price(o, 5, 2, CT_RESERVED, 3 * USD);
    offerings_cheapest(o, 5, everything, &zone, &ct);
    ck_assert_uint_eq(zone, 2);
    ck_assert_int_eq(ct, CT_RESERVED);

    offerings_set_available(o, 5, 2, CT_RESERVED, false);
    ck_assert(!offerings_available(o, 5, 2, CT_RESERVED));
    ck_assert_int_eq(offerings_price(o, 5, 2, CT_RESERVED), 3 * USD);
    offerings_set_price(o, 5, 2, CT_RESERVED, 1 * USD); /* still sold out */
    ck_assert(!offerings_available(o, 5, 2, CT_RESERVED));
    ck_assert_int_eq(offerings_cheapest(o, 5, everything, NULL, NULL), 3 * USD);
    offerings_set_available(o, 5, 2, CT_RESERVED, true);
    ck_assert_int_eq(offerings_cheapest(o, 5, everything, NULL, NULL), 1 * USD);
    offerings_set_price(o, 5, 2, CT_RESERVED, -5);
    ck_assert_int_eq(offerings_price(o, 5, 2, CT_RESERVED), PRICE_UNKNOWN);
    ck_assert_int_eq(offerings_cheapest(o, 5, everything, NULL, NULL), 3 * USD);
    offerings_set_price(o, 5, 0, CT_RESERVED, 0); /* for nothing is a price */
    ck_assert_int_eq(offerings_cheapest(o, 5, everything, NULL, NULL), 0);
    offerings_free(o);
    teardown(&w);
}
END_TEST

START_TEST(a_copy_is_its_own)
{
    struct world w;
    setup(&w);
    struct offerings *o = offerings_new(w.c);
    offerings_set_price(o, 1, 0, CT_SPOT, USD);
    offerings_set_available(o, 2, 0, CT_SPOT, false);
    offerings_set_generation(o, 41);
    struct offerings *copy = offerings_copy(o);
    ck_assert_uint_eq(offerings_generation(copy), 41);
    offerings_set_generation(copy, 42);
    offerings_set_price(copy, 1, 0, CT_SPOT, 2 * USD);
    offerings_set_price(copy, 2, 0, CT_SPOT, USD);
    ck_assert_int_eq(offerings_price(o, 1, 0, CT_SPOT), USD);
    ck_assert_uint_eq(offerings_generation(o), 41);
    offerings_free(o);
    ck_assert_int_eq(offerings_price(copy, 1, 0, CT_SPOT), 2 * USD);
    ck_assert(!offerings_available(copy, 2, 0, CT_SPOT)); /* the stock-out was copied too */
    offerings_free(copy);
    teardown(&w);
}
END_TEST

START_TEST(narrows_to_what_is_offered)
{
    struct world w;
    uint64_t bits[4];
    setup(&w);
    struct offerings *o = offerings_new(w.c);
    offerings_set_price(o, 10, 0, CT_SPOT, USD);
    offerings_set_price(o, 100, 1, CT_ON_DEMAND, USD);
    offerings_set_price(o, 199, 2, CT_SPOT, USD);
    offerings_set_available(o, 199, 2, CT_SPOT, false);
    catalog_all(w.c, bits);
    offerings_narrow(o, everything, bits);
    ck_assert_uint_eq(bits_count(bits, 4), 2);
    ck_assert(bits_test(bits, 10) && bits_test(bits, 100));
    offerings_narrow(o, (struct offer_mask){UINT64_MAX, 1u << CT_SPOT}, bits);
    ck_assert_uint_eq(bits_count(bits, 4), 1);
    offerings_narrow(o, (struct offer_mask){2, 7}, bits);
    ck_assert_uint_eq(bits_count(bits, 4), 0);
    offerings_free(o);
    teardown(&w);
}
END_TEST

START_TEST(ranks_by_price_then_name)
{
    struct world w;
    uint64_t bits[4];
    uint32_t out[N_TYPES];
    setup(&w);
    struct offerings *o = offerings_new(w.c);
    for (uint32_t i = 0; i < N_TYPES; i++) {
        if (i % 4 != 3) {
            offerings_set_price(o, i, i % 3, CT_ON_DEMAND, (int64_t)(i * 37 % 50) * USD);
        }
    }
    catalog_all(w.c, bits);
    bits_clear(bits, 0);
    ck_assert_uint_eq(offerings_rank(o, bits, everything, false, out, N_TYPES), 149);
    ck_assert_uint_eq(offerings_rank(o, bits, everything, true, out, N_TYPES), 199);
    for (uint32_t i = 1; i < 199; i++) {
        int64_t x = offerings_cheapest(o, out[i - 1], everything, NULL, NULL);
        int64_t y = offerings_cheapest(o, out[i], everything, NULL, NULL);
        bool last = y == PRICE_UNKNOWN && x != PRICE_UNKNOWN;
        bool price = x != PRICE_UNKNOWN && x < y;
        ck_assert(last || price || (x == y && out[i - 1] < out[i]));
    }
    ck_assert_uint_eq(out[148 + 1] % 4, 3);
    uint32_t first[3];
    ck_assert_uint_eq(offerings_rank(o, bits, everything, true, first, 3), 3);
    ck_assert(memcmp(first, out, sizeof(first)) == 0);
    ck_assert_uint_eq(offerings_rank(o, bits, (struct offer_mask){1, 7}, false, out, N_TYPES), 49);
    ck_assert_uint_eq(offerings_rank(o, bits, everything, true, out, 0), 0);
    offerings_free(o);
    teardown(&w);
}
END_TEST

START_TEST(capacity_types_have_names)
{
    ck_assert_int_eq(capacity_type_of(V_SPOT), CT_SPOT);
    ck_assert_int_eq(capacity_type_of(V_ON_DEMAND), CT_ON_DEMAND);
    ck_assert_int_eq(capacity_type_of(V_RESERVED), CT_RESERVED);
    ck_assert_int_eq(capacity_type_of(V_LINUX), CT_COUNT);
    ck_assert_int_eq(capacity_type_of(SYM_NONE), CT_COUNT);
    for (int i = 0; i < CT_COUNT; i++) {
        ck_assert_int_eq(capacity_type_of(capacity_type_sym((enum capacity_type)i)), i);
    }
    ck_assert_uint_eq(capacity_type_sym(CT_COUNT), SYM_NONE);
}
END_TEST

UNIT_MAIN("catalog", UNIT_TEST(types_are_in_order_and_found), UNIT_TEST(labels_of_a_type),
          UNIT_TEST(knows_keys_and_resources), UNIT_CASES(refuses_what_is_no_catalog, faults),
          UNIT_TEST(an_empty_catalog_works), UNIT_TEST(bitsets),
          UNIT_CASES(narrows_as_the_algebra_says, reqs), UNIT_TEST(narrows_by_counted_examples),
          UNIT_CASES(narrows_by_need_and_limit, amounts),
          UNIT_TEST(unknown_resources_and_negative_room), UNIT_CASES(masks_of_requirements, masks),
          UNIT_TEST(zone_and_zone_id_both_count), UNIT_TEST(prices_and_stock),
          UNIT_TEST(a_copy_is_its_own), UNIT_TEST(narrows_to_what_is_offered),
          UNIT_TEST(ranks_by_price_then_name), UNIT_TEST(capacity_types_have_names))
