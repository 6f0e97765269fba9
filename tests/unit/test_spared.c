/* test_spared.c - which claims are left in peace, for what and how long (leave/spared.h) */
#include "agent/leave/spared.h"
#include "agent/store/store.h"
#include "common/base/jsonx.h"
#include "fakeagent.h"

struct rig {
    struct fake *f;
    struct store *store;
    struct spared *s;
    int rv;
};

/* uid NULL: it goes. */
static const struct nodeclaim *claim(struct rig *r, const char *name, const char *uid)
{
    char rv[16];
    snprintf(rv, sizeof(rv), "%d", ++r->rv);
    json_t *o = fake_json("{\"kind\":\"NodeClaim\",\"metadata\":{},\"spec\":{\"nodeClassRef\":{"
                          "\"group\":\"karpenter.k8s.aws\",\"kind\":\"EC2NodeClass\",\"name\":"
                          "\"d\"},\"requirements\":[]}}");
    const struct nodeclaim *was = store_claim(r->store, name);
    jsonx_set_new(o, "metadata.name", json_string(name));
    jsonx_set_new(o, "metadata.resourceVersion", json_string(rv));
    jsonx_set_new(o, "metadata.uid", json_string(uid ? uid : was->m.uid));
    if (!uid) {
        jsonx_set_new(o, "metadata.deletionTimestamp", json_string("2026-01-05T09:00:00Z"));
    }
    store_observe(r->store, o);
    json_decref(o);
    return store_claim(r->store, name);
}

static void begin(struct rig *r)
{
    *r = (struct rig){.f = fake_new()};
    r->store = r->f->rt.store = store_new(&r->f->rt);
    r->s = spared_new(&r->f->rt);
}

static void end(struct rig *r)
{
    spared_free(r->s);
    store_free(r->store);
    fake_free(r->f);
}

/* For how many minutes from now, counted by half minutes. */
static double lasts(struct rig *r, enum spared_as as, const struct nodeclaim *nc)
{
    double ret = 0;
    for (; ret < 100 && spared_has(r->s, as, nc); ret += 0.5) {
        fake_run(r->f, NS_PER_MIN / 2);
    }
    return ret;
}

START_TEST(longer_each_time)
{
    static const double minutes[] = {1, 2, 4, 8, 16, 32, 60, 60};
    struct rig r;
    begin(&r);
    const struct nodeclaim *a = claim(&r, "a", "u1");
    for (size_t i = 0; i < ARRAY_LEN(minutes); i++) {
        spared_put(r.s, SPARED_PLANNED, a);
        ck_assert_double_eq(lasts(&r, SPARED_PLANNED, a), minutes[i]);
    }
    spared_put_briefly(r.s, SPARED_PLANNED, a);
    ck_assert_double_eq(lasts(&r, SPARED_PLANNED, a), 1);
    spared_put(r.s, SPARED_PLANNED, a);
    spared_drop(r.s, SPARED_PLANNED, "a");
    spared_drop(r.s, SPARED_PLANNED, "nobody");
    ck_assert(!spared_has(r.s, SPARED_PLANNED, a));
    spared_put(r.s, SPARED_PLANNED, a);
    ck_assert_double_eq(lasts(&r, SPARED_PLANNED, a), 1);
    end(&r);
}
END_TEST

static const struct {
    enum spared_as as;
    unsigned reasons;
    const char *json;
} kinds[] = {
    {SPARED_EMPTY, DISRUPT_EMPTY, "[\"Empty\"]"},
    {SPARED_PLANNED, DISRUPT_UNDERUTILIZED | DISRUPT_DRIFTED, "[\"Underutilized\",\"Drifted\"]"},
    {SPARED_ASKED, DISRUPT_DRIFTED, "[\"Drifted\"]"},
};

START_TEST(for_what)
{
    static const enum disruption_reason all[] = {DISRUPT_EMPTY, DISRUPT_UNDERUTILIZED,
                                                 DISRUPT_DRIFTED};
    struct rig r;
    char want[256];
    begin(&r);
    const struct nodeclaim *a = claim(&r, "a", "u1"), *b = claim(&r, "b", "u2");
    spared_put(r.s, kinds[_i].as, a);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        bool stays = kinds[_i].reasons & all[i];
        ck_assert_int_eq(spared_until(r.s, a, all[i]),
                         stays ? clock_wall(&r.f->clock) + SPARED_NS : 0);
        ck_assert_int_eq(spared_until(r.s, b, all[i]), 0);
        ck_assert(spared_has(r.s, (enum spared_as)i, a) == (i == (size_t)_i));
    }
    snprintf(want, sizeof(want),
             "[{\"nodeClaim\":\"a\",\"uid\":\"u1\",\"until\":\"2026-01-05T09:17:40.000000Z\","
             "\"reasons\":%s}]",
             kinds[_i].json);
    AUTO_JSON json_t *rows = spared_json(r.s);
    char *text AUTO_FREE = jsonx_dump(rows);
    ck_assert_str_eq(text, want);
    end(&r);
}
END_TEST

/* What stands longer counts, what is over is not published. */
START_TEST(of_two)
{
    struct rig r;
    begin(&r);
    const struct nodeclaim *a = claim(&r, "a", "u1");
    spared_put(r.s, SPARED_ASKED, a);
    fake_run(r.f, 30 * NS_PER_S);
    spared_put(r.s, SPARED_PLANNED, a);
    ck_assert_int_eq(spared_until(r.s, a, DISRUPT_DRIFTED), clock_wall(&r.f->clock) + SPARED_NS);
    fake_run(r.f, 30 * NS_PER_S);
    AUTO_JSON json_t *rows = spared_json(r.s);
    ck_assert_uint_eq(json_array_size(rows), 1);
    ck_assert_uint_eq(json_array_size(jsonx_arr(json_array_get(rows, 0), "reasons")), 2);
    end(&r);
}
END_TEST

START_TEST(namesakes_and_the_gone)
{
    struct rig r;
    begin(&r);
    spared_put(r.s, SPARED_PLANNED, claim(&r, "a", "u1"));
    spared_put(r.s, SPARED_PLANNED, claim(&r, "b", "u2"));
    ck_assert_ptr_null(claim(&r, "a", NULL));
    const struct nodeclaim *a = claim(&r, "a", "u3");
    ck_assert(!spared_has(r.s, SPARED_PLANNED, a));
    AUTO_JSON json_t *rows = spared_json(r.s);
    ck_assert_uint_eq(json_array_size(rows), 1);
    ck_assert_str_eq(jsonx_str(json_array_get(rows, 0), "nodeClaim"), "b");
    end(&r);
}
END_TEST

UNIT_MAIN("spared", UNIT_TEST(longer_each_time), UNIT_CASES(for_what, kinds), UNIT_TEST(of_two),
          UNIT_TEST(namesakes_and_the_gone))
