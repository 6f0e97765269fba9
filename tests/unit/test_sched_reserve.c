/* Capacity reservations: rows of reservations and pods, and which claims come of them. */
#include "fixture.h"
#include "unit.h"

struct units {
    const char *id, *type;
    uint32_t zone, count;
};

struct group {
    uint32_t n;
    int64_t cpu_milli;
    const char *selector;
};

static const struct reserve_row {
    const char *name, *pools[3]; /* requirements of each */
    struct units units[4];
    struct group pods[4];
    const char *claims;  /* "type zone id pods" or "type - pods", sorted as they were opened */
    const char *refused; /* reason of the first, or NULL */
} rows[] = {
    {"as many as there are units",
     {""},
     {{"cr-1", "c.4xlarge", 0, 2}},
     {{3, 15000, ""}},
     "c.4xlarge zone-a cr-1 1, c.4xlarge zone-a cr-1 1, c.4xlarge - 1",
     NULL},
    {"pods share a unit",
     {""},
     {{"cr-1", "c.4xlarge", 0, 2}},
     {{5, 3000, ""}},
     "c.4xlarge zone-a cr-1 5",
     NULL},
    {"the claim moves to the reservation that holds more",
     {""},
     {{"cr-1", "c.large", 0, 1}, {"cr-2", "c.4xlarge", 1, 1}},
     {{5, 1000, ""}},
     "c.4xlarge zone-b cr-2 5",
     NULL},
    {"what does not fit in the reservation goes elsewhere",
     {"kubernetes.io/arch In amd64"},
     {{"cr-1", "c.large", 0, 1}},
     {{3, 1000, ""}},
     "c.large zone-a cr-1 1, c.xlarge - 2",
     NULL},
    {"one claim makes room for another",
     {""},
     {{"cr-1", "c.large", 0, 1}, {"cr-2", "c.large", 1, 1}},
     {{1, 1800, ""}, {1, 1700, "topology.kubernetes.io/zone In zone-a"}},
     "c.large zone-b cr-2 1, c.large zone-a cr-1 1",
     NULL},
    {"by way of a third",
     {""},
     {{"cr-1", "c.large", 0, 1}, {"cr-2", "c.large", 1, 1}, {"cr-3", "c.large", 2, 1}},
     {{1, 1800, "topology.kubernetes.io/zone In zone-a,zone-b"},
      {1, 1750, "topology.kubernetes.io/zone In zone-b,zone-c"},
      {1, 1700, "topology.kubernetes.io/zone In zone-a"}},
     "c.large zone-b cr-2 1, c.large zone-c cr-3 1, c.large zone-a cr-1 1",
     NULL},
    {"no room that others could make",
     {"kubernetes.io/arch In amd64"},
     {{"cr-1", "c.large", 0, 1}, {"cr-2", "c.large", 1, 1}},
     {{1, 1800, "topology.kubernetes.io/zone In zone-a,zone-b"},
      {1, 1750, "topology.kubernetes.io/zone In zone-b,zone-a"},
      {1, 1700, "topology.kubernetes.io/zone In zone-a"}},
     "c.large zone-a cr-1 1, c.large zone-b cr-2 1, c.large - 1",
     NULL},
    {"pools share them",
     {"team In a", "team In b"},
     {{"cr-1", "c.4xlarge", 0, 1}},
     {{1, 15000, "team In a"}, {1, 14000, "team In b"}},
     "c.4xlarge zone-a cr-1 1, c.4xlarge - 1",
     NULL},
    {"not where the pool does not take reserved capacity",
     {"karpenter.sh/capacity-type In on-demand"},
     {{"cr-1", "c.4xlarge", 0, 2}},
     {{1, 15000, ""}},
     "c.4xlarge - 1",
     NULL},
    {"a reservation that is used up",
     {""},
     {{"cr-1", "c.4xlarge", 0, 0}},
     {{1, 15000, ""}},
     "c.4xlarge - 1",
     NULL},
    {"reserved capacity only",
     {"karpenter.sh/capacity-type In reserved"},
     {{"cr-1", "c.4xlarge", 0, 1}},
     {{2, 15000, ""}},
     "c.4xlarge zone-a cr-1 1",
     "none of 2 fitting instance types can be had, nearest is c.4xlarge: no capacity reservation "
     "has an instance left"},
    {"a reservation by name",
     {""},
     {{"cr-1", "c.4xlarge", 0, 5}, {"cr-2", "c.8xlarge", 1, 1}},
     {{2, 1000, "karpenter.k8s.aws/capacity-reservation-id In cr-2"}},
     "c.8xlarge zone-b cr-2 2",
     NULL},
    {"no such reservation",
     {""},
     {{"cr-1", "c.4xlarge", 0, 5}},
     {{1, 1000, "karpenter.k8s.aws/capacity-reservation-id In cr-9"}},
     "",
     "asks for karpenter.k8s.aws/capacity-reservation-id In [cr-9], which nothing in the pool has"},
    {"a kind that there is not",
     {""},
     {{"cr-1", "c.4xlarge", 0, 5}},
     {{1, 1000, "karpenter.k8s.aws/capacity-reservation-type In capacity-block"}},
     "",
     "asks for karpenter.k8s.aws/capacity-reservation-type In [capacity-block], which nothing in "
     "the pool has"},
    {"minValues that one type does not reach",
     {"node.kubernetes.io/instance-type Exists min 2"},
     {{"cr-1", "c.4xlarge", 0, 5}},
     {{1, 15000, ""}},
     "c.4xlarge - 1",
     NULL},
};

static void reserve(struct fix *f, const struct units *u)
{
    struct reservation r = {
        .id = fix_sym(f, u->id),
        .kind = fix_sym(f, "default"),
        .type = (uint32_t)catalog_find_type(f->catalog, fix_sym(f, u->type)),
        .zone = u->zone,
        .count = u->count,
        .price_pusd_h =
            offerings_price(f->offerings,
                            (uint32_t)catalog_find_type(f->catalog, fix_sym(f, u->type)), u->zone,
                            CT_ON_DEMAND) /
            10000000,
    };
    ck_assert(offerings_add_reservation(f->offerings, &r));
}

static const char *claims_text(struct fix *f, const struct sched_result *r)
{
    struct buf b;
    buf_init(&b, 1 << 16);
    for (uint32_t i = 0; i < r->n_claims; i++) {
        const struct sched_claim *c = &r->claims[i];
        buf_printf(&b, "%s%s ", i ? ", " : "", fix_type_name(f, c, 0));
        if (c->reservation) {
            sym zone = req_single(reqset_get(&c->reqs, L_ZONE));
            sym id = req_single(reqset_get(&c->reqs, L_RESERVATION_ID));
            sym ct = req_single(reqset_get(&c->reqs, L_CAPACITY_TYPE));
            ck_assert_uint_eq(ct, V_RESERVED);
            ck_assert_uint_eq(c->n_types, 1);
            ck_assert_int_eq(c->price_pusd_h, c->reservation->price_pusd_h);
            buf_printf(&b, "%s %s ", sym_str(f->syms, zone), sym_str(f->syms, id));
        } else {
            ck_assert(!(c->offer.cts & 1u << CT_RESERVED));
            buf_puts(&b, "- ");
        }
        buf_printf(&b, "%u", c->n_pods);
    }
    const char *ret = arena_strdup(&f->a, b.p);
    buf_done(&b);
    return ret;
}

START_TEST(reserve_row)
{
    const struct reserve_row *row = &rows[_i];
    struct fix *f = fix_new();
    for (int i = 0; row->pools[i]; i++) {
        fix_pool(f, arena_printf(&f->a, "pool-%d", i), row->pools[i]);
    }
    for (int i = 0; row->units[i].id; i++) {
        reserve(f, &row->units[i]);
    }
    for (int i = 0; row->pods[i].n; i++) {
        struct pod_class *cls = fix_class(f, row->pods[i].cpu_milli, 64);
        cls->selector = fix_reqs(f, row->pods[i].selector);
        fix_pods(f, cls, row->pods[i].n, arena_printf(&f->a, "p%d", i));
    }
    const struct sched_result *r = fix_schedule(f, 1000000);
    const char *got = claims_text(f, r);
    ck_assert_msg(str_eq(got, row->claims), "%s: %s", row->name, got);
    ck_assert_str_eq(claims_text(f, fix_schedule(f, 1)), got);
    ck_assert((r->n_refused > 0) == (row->refused != NULL));
    if (row->refused) {
        struct buf b;
        buf_init(&b, 4096);
        reason_fmt(f->syms, &r->refused[0].reason, &b);
        ck_assert_msg(str_eq(b.p, row->refused), "%s: %s", row->name, b.p);
        buf_done(&b);
    }
    fix_done(f);
}
END_TEST

/* A claim that was not launched yet has its unit coming. */
START_TEST(promised)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "");
    reserve(f, &(struct units){"cr-1", "c.4xlarge", 0, 2});
    struct nodeclaim *nc = fix_claim(f, "on-its-way", "main");
    nc->reqs = fix_reqs(f, "karpenter.k8s.aws/capacity-reservation-id In cr-1");
    fix_pods(f, fix_class(f, 15000, 64), 2, "p");
    ck_assert_str_eq(claims_text(f, fix_schedule(f, 1000000)),
                     "c.4xlarge zone-a cr-1 1, c.4xlarge - 1");
    fix_done(f);
}
END_TEST

/* Under a limit that leaves room for one, reserved capacity comes first too. */
START_TEST(under_a_limit)
{
    struct fix *f = fix_new();
    struct nodepool *np = fix_pool(f, "main", "kubernetes.io/arch In amd64");
    np->has_limits = true;
    np->limits.v[RES_CPU] = 20000;
    reserve(f, &(struct units){"cr-1", "c.4xlarge", 0, 2});
    reserve(f, &(struct units){"cr-2", "c.8xlarge", 0, 2});
    fix_pods(f, fix_class(f, 15000, 64), 2, "p");
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_str_eq(claims_text(f, r), "c.4xlarge zone-a cr-1 1");
    ck_assert_int_eq(r->refused[0].reason.code, REASON_Limit);
    fix_done(f);
}
END_TEST

/* Many claims, few units: as many are reserved as a matching allows. */
START_TEST(many)
{
    struct fix *f = fix_new();
    fix_pool(f, "main", "node.kubernetes.io/instance-type In c.large");
    for (uint32_t i = 0; i < 30; i++) {
        const char *id = arena_printf(&f->a, "cr-%02u", i);
        reserve(f, &(struct units){id, "c.large", i % 3, 1 + i % 2});
    }
    static const char *const zones[] = {"", "topology.kubernetes.io/zone In zone-a",
                                        "topology.kubernetes.io/zone In zone-a,zone-b"};
    for (uint32_t i = 0; i < 90; i++) {
        struct pod_class *cls = fix_class(f, 1500, 64);
        cls->selector = fix_reqs(f, zones[i % 3]);
        fix_pods(f, cls, 1, arena_printf(&f->a, "p%u", i));
    }
    const struct sched_result *r = fix_schedule(f, 1000000);
    uint32_t used[30] = {0}, all = 0;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        if (r->claims[i].reservation) {
            used[atoi(sym_str(f->syms, r->claims[i].reservation->id) + 3)]++;
            all++;
        }
    }
    for (uint32_t i = 0; i < 30; i++) {
        ck_assert_uint_le(used[i], 1 + i % 2);
    }
    ck_assert_uint_eq(all, 45);
    fix_done(f);
}
END_TEST

START_TEST(not_too_many)
{
    struct fix *f = fix_new();
    struct reservation r = {.id = fix_sym(f, "cr"), .count = 1};
    for (int i = 0; i < OFFERINGS_MAX_RESERVATIONS; i++) {
        ck_assert(offerings_add_reservation(f->offerings, &r));
    }
    ck_assert(!offerings_add_reservation(f->offerings, &r));
    uint32_t n;
    struct offerings *copy = offerings_copy(f->offerings);
    (void)offerings_reservations(copy, &n);
    ck_assert_uint_eq(n, OFFERINGS_MAX_RESERVATIONS);
    offerings_free(copy);
    fix_done(f);
}
END_TEST

UNIT_MAIN("sched_reserve", UNIT_CASES(reserve_row, rows), UNIT_TEST(promised),
          UNIT_TEST(under_a_limit), UNIT_TEST(many), UNIT_TEST(not_too_many))
