/* Instances by id, many in one call; their tags; and what EC2's clock tells of ours. */
#include "agent/claim/tagging.h"
#include "cloudrig.h"

static void rig_begin(struct rig *r)
{
    rig_init(r);
    cloud_start(r->cloud);
    rig_run(r, 3 * NS_PER_S);
}

/* ---- the end of many ------------------------------------------------------------------------- */

struct end {
    int answers;
    enum err_kind kind;
};

static void on_end(void *arg, const struct err *err)
{
    struct end *e = arg;
    e->answers++;
    e->kind = err->kind;
}

static void ignore(void *arg, const struct launch_result *r)
{
    (void)arg;
    (void)r;
}

static void launch(struct rig *r)
{
    rig_put(r, rig_class(NULL));
    rig_run(r, 5 * NS_PER_S);
    rig_put(r, rig_claim(NULL));
    cloud_launch(r->cloud, store_claim(r->rt->store, "claim"), 1, ignore, NULL);
    rig_run(r, 5 * NS_PER_S);
}

static const struct {
    const char *other; /* id that is ended in the same call */
    enum err_kind kind;
} ends[] = {
    {"i-00000000000dead00", ERR_NOT_FOUND}, /* unknown */
    {"no-id", ERR_INVALID},                 /* malformed */
};

START_TEST(one_does_not_hold_up_others)
{
    struct rig r;
    struct end good = {.answers = 0}, bad = {.answers = 0};
    rig_begin(&r);
    launch(&r);
    const struct simec2_instance *i = simec2_instance_at(r.ec2, 0);
    cloud_terminate(r.cloud, ends[_i].other, on_end, &bad);
    cloud_terminate(r.cloud, i->id, on_end, &good);
    rig_run(&r, 5 * NS_PER_S);
    ck_assert_int_eq(good.answers, 1);
    ck_assert_int_eq(good.kind, ERR_NONE);
    ck_assert_int_eq(bad.answers, 1);
    ck_assert_int_eq(bad.kind, ends[_i].kind);
    rig_done(&r);
}
END_TEST

/* ---- many at once ---------------------------------------------------------------------------- */

#define MANY 10

struct found {
    char uid[32];
    int answers;
    bool right;
};

static void on_found(void *arg, const struct err *err, const struct instance *list, uint32_t n)
{
    struct found *f = arg;
    f->answers++;
    f->right = err->kind == ERR_NONE && n == 1 && str_eq(list[0].claim_uid, f->uid);
}

static uint64_t calls(struct rig *r, const char *action)
{
    return simec2_calls(r->ec2, "ec2", action);
}

/* Claims of one pool share the questions about their template and about their instances. */
START_TEST(many_at_once)
{
    struct rig r;
    struct found found[MANY] = {{.answers = 0}}, none = {.uid = "nobody"};
    rig_begin(&r);
    rig_put(&r, rig_class(NULL));
    rig_run(&r, 5 * NS_PER_S);
    for (int i = 0; i < MANY; i++) {
        char patch[128];
        snprintf(found[i].uid, sizeof(found[i].uid), "uid-%d", i);
        snprintf(patch, sizeof(patch), "{\"metadata\":{\"name\":\"c%d\",\"uid\":\"uid-%d\"}}", i,
                 i);
        rig_put(&r, rig_claim(patch));
        snprintf(patch, sizeof(patch), "c%d", i);
        cloud_launch(r.cloud, store_claim(r.rt->store, patch), 1, ignore, NULL);
    }
    rig_run(&r, 10 * NS_PER_S);
    ck_assert_uint_eq(calls(&r, "CreateFleet"), MANY);
    ck_assert_uint_eq(calls(&r, "DescribeLaunchTemplates"), 1);
    ck_assert_uint_eq(calls(&r, "CreateLaunchTemplate"), simec2_n_templates(r.ec2));
    uint64_t before = calls(&r, "DescribeInstances");
    for (int i = 0; i < MANY; i++) {
        cloud_find(r.cloud, found[i].uid, on_found, &found[i]);
    }
    cloud_find(r.cloud, none.uid, on_found, &none);
    rig_run(&r, 5 * NS_PER_S);
    ck_assert_uint_eq(calls(&r, "DescribeInstances") - before, 1);
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(found[i].answers, 1);
        ck_assert(found[i].right);
    }
    ck_assert_int_eq(none.answers, 1);
    ck_assert(!none.right);
    rig_done(&r);
}
END_TEST

/* ---- tags ------------------------------------------------------------------------------------ */

static const struct {
    const char *user; /* spec.tags.Name, NULL = none */
    const char *name; /* in the end */
} names[] = {
    {NULL, "node-1"},
    {"mine", "mine"},
};

START_TEST(tags)
{
    struct rig r;
    rig_begin(&r);
    struct tagging *t = tagging_new(r.rt);
    json_t *cls = rig_class(NULL);
    if (names[_i].user) {
        jsonx_set_new(cls, "spec.tags", json_pack("{s:s}", "Name", names[_i].user));
    }
    rig_put(&r, cls);
    rig_run(&r, 5 * NS_PER_S);
    rig_put(&r, rig_claim(NULL));
    cloud_launch(r.cloud, store_claim(r.rt->store, "claim"), 1, ignore, NULL);
    rig_run(&r, 5 * NS_PER_S);
    json_t *claim = rig_object(&r, "claim");
    jsonx_set_new(claim, "status.providerID",
                  json_string(simec2_instance_at(r.ec2, 0)->provider_id));
    jsonx_set_new(claim, "status.nodeName", json_string("node-1"));
    jsonx_set_new(claim, "status.conditions",
                  fake_json("[{\"type\":\"Registered\",\"status\":\"True\"}]"));
    rig_store(&r, claim);
    rig_run(&r, 5 * NS_PER_S);
    AUTO_JSON json_t *list = simec2_list(r.ec2);
    const json_t *have = json_object_get(json_array_get(list, 0), "tags");
    ck_assert_str_eq(json_string_value(json_object_get(have, "Name")), names[_i].name);
    ck_assert_str_eq(json_string_value(json_object_get(have, TAG_CLAIM)), "claim");
    const json_t *a = jsonx_obj(rig_object(&r, "claim"), "metadata.annotations");
    ck_assert_str_eq(json_string_value(json_object_get(a, ANN_TAGGED)), "true");
    tagging_free(t);
    rig_done(&r);
}
END_TEST

/* ---- the clock ------------------------------------------------------------------------------- */

static int64_t skew_s(struct rig *r)
{
    return cloud_clock_skew_ns(r->cloud) / NS_PER_S;
}

static const int jumps_s[] = {0, 40, -40, 40 * 24 * 3600};

/* A step of our clock counts at once, and goes on counting: EC2 says so. Back again it is right. */
START_TEST(clock_steps)
{
    struct rig r;
    rig_begin(&r);
    ck_assert_int_eq(skew_s(&r), 0);
    r.f->wall_shift_ns = jumps_s[_i] * NS_PER_S;
    ck_assert_int_eq(skew_s(&r), jumps_s[_i]);
    r.f->wall_shift_ns = 0;
    ck_assert_int_eq(skew_s(&r), 0);
    rig_done(&r);
}
END_TEST

static const struct {
    int64_t date_s, took_s, skew_s; /* date: against our clock */
} dates[] = {
    {0, 0, 0},    {-1, 0, 0},   {1, 0, 0},    {-5, 5, 0},
    {-40, 0, 39}, {40, 0, -39}, {-40, 30, 9}, {-86400, 0, 86399},
};

START_TEST(clock_differs)
{
    struct rig r;
    rig_begin(&r);
    int64_t now_ns = clock_wall(r.rt->clock);
    instance_note_date(r.cloud, now_ns + dates[_i].date_s * NS_PER_S, dates[_i].took_s * NS_PER_S);
    ck_assert_int_eq(skew_s(&r), dates[_i].skew_s);
    instance_note_date(r.cloud, 0, 0); /* no word */
    ck_assert_int_eq(skew_s(&r), dates[_i].skew_s);
    rig_done(&r);
}
END_TEST

/* ---- where they are ---------------------------------------------------------------------------
 */

/* Instances in the order in which EC2 lists them: c the claim's own, t its twin, d the claim's own
 * that has no groups any more, x that of an unknown claim. */
static const struct {
    const char *listed;
    bool known;
} listings[] = {
    {"c", true}, {"ct", true}, {"tc", true}, {"t", false}, {"x", false}, {"d", false}, {"cd", true},
};

START_TEST(a_claim_is_where_its_instance_is)
{
    struct rig r;
    struct arena a;
    static const char *const groups[] = {"sg-1", "sg-2"};
    struct instance own = {.id = "i-1",
                           .subnet_id = "subnet-1",
                           .claim_uid = "u1",
                           .groups = groups,
                           .n_groups = 2},
                    twin = own, dying = own, other = own, v[4];
    rig_begin(&r);
    arena_init(&a, 0, SIZE_MAX);
    twin.id = "i-2";
    twin.subnet_id = "subnet-2";
    dying.n_groups = 0;
    other.claim_uid = "u2";
    rig_put(&r, fake_json("{\"kind\":\"NodeClaim\",\"metadata\":{\"name\":\"n\",\"uid\":\"u1\"},"
                          "\"spec\":{\"nodeClassRef\":{\"group\":\"karpenter.k8s.aws\",\"kind\":"
                          "\"EC2NodeClass\",\"name\":\"d\"},\"requirements\":[]},\"status\":{"
                          "\"providerID\":\"aws:///us-west-2a/i-1\"}}"));
    uint32_t n = 0;
    for (const char *p = listings[_i].listed; *p; p++) {
        v[n++] = *p == 'c' ? own : *p == 't' ? twin : *p == 'd' ? dying : other;
        network_listed(r.cloud, &a, v, n);
    }
    const void *place = map_get(r.cloud->network.of_claim, "u1");
    ck_assert_int_eq(place != NULL, listings[_i].known);
    ck_assert_uint_eq(map_count(r.cloud->network.of_claim), listings[_i].known);
    ck_assert_ptr_eq(place, map_get(r.cloud->network.places, "subnet-1 sg-1 sg-2"));
    arena_done(&a);
    rig_done(&r);
}
END_TEST

/* ---- consoles ---------------------------------------------------------------------------------
 */

static const struct {
    const char *said, *shown;
} consoles[] = {
    {"", ""},
    {"\r\n\n  \r\n", ""},
    {"one", "one"},
    {"a\nb\r\n\r\nc\nd\n", "b | c | d"},
    {"\033[0;32m[  OK  ]\033[0m Started\tit\a\n", "[ OK ] Startedit"},
    {"caf\xc3\xa9 \xff\n", "caf"},
    {"\033[", NULL},
};

START_TEST(what_consoles_end_with)
{
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    const char *got = cloud_console_tail(&a, consoles[_i].said);
    ck_assert_str_eq(got, consoles[_i].shown ? consoles[_i].shown : "");
    char *longest AUTO_FREE = xcalloc(1, 100001);
    memset(longest, 'x', 100000);
    for (size_t i = 50; i < 100000; i += 1000) {
        longest[i] = '\n';
    }
    ck_assert_uint_le(strlen(cloud_console_tail(&a, longest)), CLOUD_CONSOLE_MAX);
    arena_done(&a);
}
END_TEST

static void on_console(void *arg, const char *tag, const char *text)
{
    char *into = arg;
    snprintf(into, 200, "%s: %s", tag, text);
}

/* Of one that does not join, of one that there is not, and where we may not ask. */
static const char *const wants[] = {
    "claim: [ OK ] Started cloud-init | nodeadm: told so (noBoot) | login:", "", ""};

START_TEST(a_console_is_asked_for)
{
    struct rig r;
    char got[200] = "";
    rig_begin(&r);
    AUTO_JSON json_t *dead = json_pack("{s:{s:i}}", "noBoot", "times", 1);
    ck_assert_int_eq(simec2_step(r.ec2, dead, NULL), 0);
    launch(&r);
    rig_run(&r, NS_PER_MIN);
    if (_i == 2) {
        AUTO_JSON json_t *no =
            json_pack("{s:[{s:s, s:s, s:i}]}", "fail", "action", "GetConsoleOutput", "code",
                      "UnauthorizedOperation", "times", 9);
        ck_assert_int_eq(simec2_step(r.ec2, no, NULL), 0);
    }
    cloud_console(r.cloud, _i == 1 ? "i-0" : simec2_instance_at(r.ec2, 0)->id, "claim", on_console,
                  got);
    rig_run(&r, 10 * NS_PER_S);
    ck_assert_str_eq(got, wants[_i]);
    rig_done(&r);
}
END_TEST

UNIT_MAIN("instances", UNIT_CASES(a_claim_is_where_its_instance_is, listings),
          UNIT_CASES(what_consoles_end_with, consoles), UNIT_CASES(a_console_is_asked_for, wants),
          UNIT_CASES(one_does_not_hold_up_others, ends), UNIT_TEST(many_at_once),
          UNIT_CASES(tags, names), UNIT_CASES(clock_steps, jumps_s),
          UNIT_CASES(clock_differs, dates))
