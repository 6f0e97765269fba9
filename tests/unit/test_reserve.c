/* Capacity reservations: counts, the plan's filters, status of the class, launches. */
#include "cloudrig.h"

#include "fixture.h"

/* ---- counts -------------------------------------------------------------------------------------
 */

#define AT(s) ((s)*NS_PER_S)

/* What happens to a reservation, one after the other, and what is left in the end. "3@0" is EC2's
 * answer to a question of second 0, "-" a launch, "x" a refusal, "+10" time passing. */
static const struct {
    const char *story;
    int64_t left;
} counts[] = {
    {"", 0},
    {"3@0", 3},
    {"3@0 - -", 1},
    {"1@0 - -", 0},
    {"-", 0}, /* nobody has told of it */
    {"3@0 x", 0},
    {"3@0 +5 - 3@5", 2},  /* asked before EC2 counted the launch */
    {"3@0 +5 - 3@14", 2}, /* not yet */
    {"3@0 +5 - 3@15", 3}, /* somebody gave one back */
    {"3@0 +5 - 1@6", 1},  /* others took one, too */
    {"3@0 +5 x 3@6", 0},
    {"3@0 +5 x 2@20", 2},
    {"3@0 0@1", 0},
};

START_TEST(counts_are)
{
    struct rig r;
    rig_init(&r);
    AUTO_FREE char *story = xstrdup(counts[_i].story);
    int64_t began_ns = r.f->now_ns, left, at;
    uint64_t version = r.cloud->facts.version;
    char *save = NULL;
    for (char *s = strtok_r(story, " ", &save); s; s = strtok_r(NULL, " ", &save)) {
        char *when = strchr(s, '@');
        if (when) {
            *when = '\0';
            ck_assert(str_parse_i64(s, &left) && str_parse_i64(when + 1, &at));
            reserve_told(r.cloud, "cr-1", left, began_ns + AT(at));
        } else if (*s == '+') {
            ck_assert(str_parse_i64(s + 1, &at));
            r.f->now_ns += AT(at);
        } else if (*s == 'x') {
            cloud_reservation_empty(r.cloud, "cr-1");
        } else {
            reserve_take(r.cloud, "cr-1");
        }
    }
    ck_assert_msg(reserve_left(r.cloud, "cr-1") == counts[_i].left, "%s: %lld", counts[_i].story,
                  (long long)reserve_left(r.cloud, "cr-1"));
    ck_assert((r.cloud->facts.version != version) == (strchr(counts[_i].story, '@') != NULL));
    rig_done(&r);
}
END_TEST

/* ---- the plan -----------------------------------------------------------------------------------
 */

/* Types and zones of the fixture. Prices count down from the first, which is the dearest. */
static const struct {
    const char *name, *reservations; /* "ID TYPE ZONE COUNT [block|spare]; …" */
    const char *reqs;
    const char *want; /* "reserved: TYPE/ID …" */
} plans[] = {
    {"none", "", "karpenter.sh/capacity-type In reserved,on-demand", "on-demand"},
    {"none but reserved is wanted", "", "karpenter.sh/capacity-type In reserved", ""},
    {"before spot and on-demand", "a c.large zone-a 1", "", "reserved: c.large/a"},
    {"used up", "a c.large zone-a 0", "", "spot"},
    {"not allowed", "a c.large zone-a 1", "karpenter.sh/capacity-type In on-demand", "on-demand"},
    {"another zone", "a c.large zone-a 1", "topology.kubernetes.io/zone In zone-b", "spot"},
    {"by id", "a c.large zone-a 1; b c.xlarge zone-b 1",
     "karpenter.k8s.aws/capacity-reservation-id In a", "reserved: c.large/a"},
    {"cheapest first", "a c.large zone-a 1; b c.xlarge zone-b 1", "",
     "reserved: c.xlarge/b c.large/a"},
    {"of one place that with most room",
     "a c.large zone-a 1; b c.large zone-a 5; c c.large zone-b 1", "",
     "reserved: c.large/c c.large/b"},
    {"one kind: that of the cheapest", "a c.large zone-a 1; b c.xlarge zone-b 1 spare", "",
     "reserved: c.xlarge/b"},
    {"one block alone", "a c.large zone-a 1 block; b c.xlarge zone-b 1 block", "",
     "reserved: c.xlarge/b"},
    {"the kind that is asked for", "a c.large zone-a 1; b c.xlarge zone-b 1 spare",
     "karpenter.k8s.aws/capacity-reservation-interruptible In false", "reserved: c.large/a"},
    {"of a type that is too small", "a c.large zone-a 1",
     "node.kubernetes.io/instance-type In c.xlarge", "spot"},
};

static void add_reservations(struct fix *f, const char *text)
{
    char *rest = arena_strdup(&f->a, text);
    int64_t price = 1000, count;
    for (char *one; (one = fix_part(&rest, ';')) != NULL;) {
        struct reservation r = {.id = sym_intern(f->syms, fix_part(&one, ' '))};
        r.type = (uint32_t)catalog_find_type(f->catalog, sym_find(f->syms, fix_part(&one, ' ')));
        r.zone = (uint32_t)catalog_find_zone(f->catalog, sym_find(f->syms, fix_part(&one, ' ')));
        ck_assert(str_parse_i64(fix_part(&one, ' '), &count));
        const char *kind = fix_part(&one, ' ');
        r.count = (uint32_t)count;
        r.kind = sym_intern(f->syms, str_eq(kind, "block") ? "capacity-block" : "default");
        r.interruptible = str_eq(kind, "spare");
        r.price_pusd_h = price--;
        ck_assert(offerings_add_reservation(f->offerings, &r));
    }
}

START_TEST(plan_is)
{
    struct fix *f = fix_new();
    struct plan p;
    AUTO_BUF struct buf b;
    buf_init(&b, 4096);
    add_reservations(f, plans[_i].reservations);
    struct reqset reqs = fix_reqs(f, plans[_i].reqs);
    struct resources need = fix_res(1000, 1024, 3);
    const struct plan_in in = {.syms = f->syms,
                               .catalog = f->catalog,
                               .offerings = f->offerings,
                               .reqs = &reqs,
                               .requests = &need,
                               .max_types = 60};
    plan_make(&f->a, &in, &p);
    if (p.n_types > 0) {
        buf_puts(&b, sym_str(f->syms, capacity_type_sym(p.ct)));
    }
    for (uint32_t i = 0; p.ct == CT_RESERVED && i < p.n_types; i++) {
        const struct reservation *r = &p.types[i].reservation;
        buf_printf(&b, "%s %s/%s", i ? "" : ":",
                   sym_str(f->syms, catalog_type_name(f->catalog, p.types[i].type)),
                   sym_str(f->syms, r->id));
        ck_assert(p.types[i].zones == UINT64_C(1) << r->zone);
    }
    ck_assert_msg(str_eq(b.p, plans[_i].want), "%s: %s", plans[_i].name, b.p);
    fix_done(f);
}
END_TEST

/* ---- the class --------------------------------------------------------------------------------
 */

#define SHOP                                                                                       \
    "{\"capacityReservations\":[{\"id\":\"cr-1\",\"type\":\"m5.xlarge\",\"zone\":\"us-west-2a\","  \
    "\"count\":1,\"tags\":{\"team\":\"shop\"}},{\"id\":\"cr-2\",\"type\":\"m5.2xlarge\",\"zone\":" \
    "\"us-west-2b\",\"count\":1,\"open\":true,\"tags\":{\"team\":\"shop\"}},{\"id\":\"cr-3\","     \
    "\"type\":\"m5.xlarge\",\"zone\":\"us-west-2a\",\"count\":5,\"block\":true,\"for\":\"%s\"}]}"
#define SELECT(terms) "{\"spec\":{\"capacityReservationSelectorTerms\":[" terms "]}}"
#define BY_TEAM SELECT("{\"tags\":{\"team\":\"shop\"}}")

static const struct {
    const char *patch, *ids, *condition;
    bool gate_off;
} selects[] = {
    {NULL, "", "True", false},
    {BY_TEAM, "cr-1 cr-2", "True", false},
    {SELECT("{\"tags\":{\"team\":\"*\"},\"instanceMatchCriteria\":\"open\"}"), "cr-2", "True",
     false},
    {SELECT("{\"id\":\"cr-2\"},{\"tags\":{\"team\":\"shop\"}}"), "cr-1 cr-2", "True", false},
    {SELECT("{\"id\":\"cr-0gone\"},{\"id\":\"cr-1\"}"), "cr-1", "True", false},
    {SELECT("{\"instanceMatchCriteria\":\"targeted\",\"ownerID\":\"999999999999\"}"), "", "True",
     false},
    {BY_TEAM, "", "absent", true},
};

START_TEST(class_selects)
{
    struct rig r;
    char got[256];
    rig_init(&r);
    AUTO_FREE char *step = xasprintf(SHOP, "10h");
    rig_step(&r, step);
    r.f->opt.gate_reserved_capacity = !selects[_i].gate_off;
    cloud_start(r.cloud);
    rig_put(&r, rig_class(selects[_i].patch));
    rig_run(&r, 5 * NS_PER_S);
    AUTO_BUF struct buf b;
    buf_init(&b, 4096);
    const json_t *list = jsonx_arr(rig_object(&r, "default"), "status.capacityReservations");
    for (size_t i = 0; i < json_array_size(list); i++) {
        buf_printf(&b, "%s%s", i ? " " : "", jsonx_str(json_array_get(list, i), "id"));
    }
    ck_assert_str_eq(b.p, selects[_i].ids);
    ck_assert_str_eq(rig_condition(&r, "default", "CapacityReservationsReady", got),
                     selects[_i].condition);
    ck_assert_str_eq(rig_condition(&r, "default", "Ready", got), "True");
    size_t patches = r.patches;
    rig_run(&r, 5 * NS_PER_MIN);
    ck_assert_uint_eq(r.patches, patches); /* what is left is no matter of status */
    rig_done(&r);
}
END_TEST

/* A block takes nothing new in its last 40 minutes. */
START_TEST(blocks_end)
{
    struct rig r;
    rig_init(&r);
    AUTO_FREE char *step = xasprintf(SHOP, "42m");
    rig_step(&r, step);
    cloud_start(r.cloud);
    rig_put(&r, rig_class(SELECT("{\"id\":\"cr-3\"}")));
    rig_run(&r, 5 * NS_PER_S);
    const json_t *o = rig_object(&r, "default");
    const json_t *one = json_array_get(jsonx_arr(o, "status.capacityReservations"), 0);
    ck_assert_str_eq(jsonx_str(one, "reservationType"), "capacity-block");
    ck_assert_str_eq(jsonx_str(one, "state"), "active");
    ck_assert_ptr_nonnull(jsonx_str(one, "endTime"));
    ck_assert_int_eq(reserve_left(r.cloud, "cr-3"), 5);
    rig_run(&r, 4 * NS_PER_MIN);
    one = json_array_get(jsonx_arr(o, "status.capacityReservations"), 0);
    ck_assert_str_eq(jsonx_str(one, "state"), "expiring");
    rig_done(&r);
}
END_TEST

/* A class that may not look at them still launches everything else; before it has looked nothing.
 */
START_TEST(not_allowed_to_look)
{
    struct rig r;
    struct err err = ERR_INIT;
    char got[256];
    rig_init(&r);
    rig_step(&r, "{\"fail\":{\"action\":\"ec2:DescribeCapacityReservations\",\"code\":"
                 "\"UnauthorizedOperation\",\"times\":1}}");
    cloud_start(r.cloud);
    rig_put(&r, rig_class(BY_TEAM));
    rig_run(&r, 100 * NS_PER_MS);
    const struct nodeclass *cls = store_class(r.rt->store, "default");
    if (class_entry(r.cloud, "default")) {
        ck_assert_ptr_null(market_of(r.cloud, cls, &err));
    }
    for (int i = 0; i < 20 && !class_entry(r.cloud, "default")->res.err[PART_RESERVATIONS].kind;
         i++) {
        rig_run(&r, 100 * NS_PER_MS);
    }
    ck_assert_ptr_nonnull(market_of(r.cloud, store_class(r.rt->store, "default"), &err));
    rig_run(&r, 10 * NS_PER_S);
    ck_assert_str_eq(rig_condition(&r, "default", "CapacityReservationsReady", got), "True");
    rig_done(&r);
}
END_TEST

/* ---- launches ---------------------------------------------------------------------------------
 */

struct outcome {
    unsigned n;
    enum launch_outcome outcome;
    enum capacity_type ct;
    char id[64], reservation[64], kind[64], reason[64];
};

static void on_launch(void *arg, const struct launch_result *r)
{
    struct outcome *o = arg;
    const struct instance *i = &r->instance;
    o->n++;
    o->outcome = r->outcome;
    o->ct = i->ct;
    str_copy(o->id, sizeof(o->id), i->id ? i->id : "");
    str_copy(o->reservation, sizeof(o->reservation), i->reservation_id ? i->reservation_id : "");
    str_copy(o->kind, sizeof(o->kind), i->reservation_kind ? i->reservation_kind : "");
    str_copy(o->reason, sizeof(o->reason), r->reason);
}

static struct outcome launch(struct rig *r, int attempt)
{
    struct outcome o = {.n = 0};
    cloud_launch(r->cloud, store_claim(r->rt->store, "claim"), attempt, on_launch, &o);
    rig_run(r, 3 * NS_PER_S);
    ck_assert_uint_eq(o.n, 1);
    return o;
}

static void on_found(void *arg, const struct err *err, const struct instance *list, uint32_t n)
{
    struct outcome *o = arg;
    ck_assert_int_eq(err->kind, ERR_NONE);
    for (uint32_t i = 0; i < n; i++) {
        o->n += list[i].ct == CT_RESERVED && str_eq(list[i].reservation_kind, "default");
    }
}

static void rig_ready(struct rig *r, const char *cls)
{
    rig_init(r);
    AUTO_FREE char *step = xasprintf(SHOP, "10h");
    rig_step(r, step);
    cloud_start(r->cloud);
    rig_put(r, rig_class(cls));
    rig_put(r, rig_claim("{\"spec\":{\"requirements\":[{\"key\":\"karpenter.sh/capacity-type\","
                         "\"operator\":\"In\",\"values\":[\"reserved\",\"spot\"]}]}}"));
    rig_run(r, 3 * NS_PER_S);
}

/* Two reservations of one instance each: a template for each; then spot. */
START_TEST(launches)
{
    struct rig r;
    struct outcome found = {.n = 0};
    struct arena a;
    const struct stockout *v;
    rig_ready(&r, BY_TEAM);
    struct outcome first = launch(&r, 1), second = launch(&r, 2), third = launch(&r, 3);
    ck_assert(first.outcome == LAUNCH_OK && first.ct == CT_RESERVED);
    ck_assert_str_eq(first.reservation, "cr-1");
    ck_assert_str_eq(first.kind, "default");
    ck_assert(second.outcome == LAUNCH_OK && second.ct == CT_RESERVED);
    ck_assert_str_eq(second.reservation, "cr-2");
    ck_assert(third.outcome == LAUNCH_OK && third.ct == CT_SPOT && !*third.reservation);
    ck_assert_str_eq(simec2_find(r.ec2, first.id)->type, "m5.xlarge");
    ck_assert(!simec2_find(r.ec2, first.id)->spot);
    cloud_find(r.cloud, "claim-1", on_found, &found);
    rig_run(&r, NS_PER_S);
    ck_assert_uint_eq(found.n, 2);
    arena_init(&a, 0, 1u << 20);
    ck_assert_uint_eq(cloud_stockouts(r.cloud, &a, &v), 0);
    arena_done(&a);
    rig_done(&r);
}
END_TEST

/* Others have taken it: a refusal, no stock-out, and the next launch is of something else. */
START_TEST(taken_by_others)
{
    struct rig r;
    struct arena a;
    const struct stockout *v;
    rig_ready(&r, SELECT("{\"id\":\"cr-1\"}"));
    rig_step(&r, "{\"capacityReservations\":[{\"id\":\"cr-1\",\"type\":\"m5.xlarge\",\"zone\":"
                 "\"us-west-2a\",\"count\":0}]}");
    struct outcome o = launch(&r, 1);
    ck_assert_int_eq(o.outcome, LAUNCH_NO_CAPACITY);
    ck_assert_str_eq(o.reason, "InsufficientCapacityError");
    ck_assert_int_eq(reserve_left(r.cloud, "cr-1"), 0);
    arena_init(&a, 0, 1u << 20);
    ck_assert_uint_eq(cloud_stockouts(r.cloud, &a, &v), 0);
    arena_done(&a);
    ck_assert_int_eq(launch(&r, 2).ct, CT_SPOT);
    rig_done(&r);
}
END_TEST

/* It has ended since: likewise. */
START_TEST(ended)
{
    struct rig r;
    rig_init(&r);
    rig_step(&r, "{\"capacityReservations\":[{\"id\":\"cr-1\",\"type\":\"m5.xlarge\",\"zone\":"
                 "\"us-west-2a\",\"count\":1,\"for\":\"5s\"}]}");
    cloud_start(r.cloud);
    rig_put(&r, rig_class(SELECT("{\"id\":\"cr-1\"}")));
    rig_put(&r, rig_claim("{\"spec\":{\"requirements\":[{\"key\":\"karpenter.sh/capacity-type\","
                          "\"operator\":\"In\",\"values\":[\"reserved\"]}]}}"));
    rig_run(&r, 8 * NS_PER_S);
    ck_assert_int_eq(reserve_left(r.cloud, "cr-1"), 1);
    ck_assert_int_eq(launch(&r, 1).outcome, LAUNCH_NO_CAPACITY);
    ck_assert_int_eq(reserve_left(r.cloud, "cr-1"), 0);
    rig_done(&r);
}
END_TEST

UNIT_MAIN("reserve", UNIT_CASES(counts_are, counts), UNIT_CASES(plan_is, plans),
          UNIT_CASES(class_selects, selects), UNIT_TEST(blocks_end), UNIT_TEST(not_allowed_to_look),
          UNIT_TEST(launches), UNIT_TEST(taken_by_others), UNIT_TEST(ended))
