/* test_reghealth.c - what a pool's launches say of it, and how a failing one is slowed
 * (claim/reghealth.h) */
#include "unit.h"

#include "agent/claim/reghealth.h"
#include "agent/store/store.h"
#include "common/base/jsonx.h"
#include "fakeagent.h"

struct rig {
    struct fake *f;
    struct store *s;
    struct reghealth *h;
    json_t *pool, *cls;
    int rv, claims;
};

static void put(struct rig *r, json_t *o)
{
    char rv[16];
    snprintf(rv, sizeof(rv), "%d", ++r->rv);
    jsonx_set_new(o, "metadata.resourceVersion", json_string(rv));
    store_observe(r->s, o);
}

/* Its conditions are the letters: l launched, r registered; n its Node was there once. */
static void claim(struct rig *r, int i, const char *is)
{
    json_t *o = fake_json(
        "{\"kind\":\"NodeClaim\",\"metadata\":{\"labels\":{\"karpenter.sh/nodepool\":\"p\"}},"
        "\"spec\":{\"nodeClassRef\":{\"group\":\"karpenter.k8s.aws\",\"kind\":\"EC2NodeClass\","
        "\"name\":\"d\"},\"requirements\":[]}}");
    char name[24];
    snprintf(name, sizeof(name), "c%d", i);
    jsonx_set_new(o, "metadata.name", json_string(name));
    jsonx_set_new(o, "metadata.uid", json_string(name));
    jsonx_set_new(o, "status.conditions",
                  json_pack("[{s:s, s:s, s:s, s:s}, {s:s, s:s, s:s, s:s}]", "type", "Launched",
                            "status", strchr(is, 'l') ? "True" : "Unknown", "reason",
                            "LaunchFailed", "message", "no", "type", "Registered", "status",
                            strchr(is, 'r') ? "True" : "Unknown", "reason", "NodeNotFound",
                            "message", "Node not registered with cluster"));
    if (strchr(is, 'n')) {
        jsonx_set_new(o, "status.nodeName", json_string(name));
    }
    put(r, o);
    json_decref(o);
}

static const struct nodeclaim *last(struct rig *r)
{
    char name[24];
    snprintf(name, sizeof(name), "c%d", r->claims);
    return store_claim(r->s, name);
}

static void go(struct rig *r)
{
    json_t *o = fake_json("{\"kind\":\"NodeClaim\",\"metadata\":{\"deletionTimestamp\":"
                          "\"2026-01-05T09:00:00Z\"},\"spec\":{}}");
    jsonx_set_new(o, "metadata.name", json_string(last(r)->m.name));
    jsonx_set_new(o, "metadata.uid", json_string(last(r)->m.name));
    put(r, o); /* without a finalizer that is its end */
    json_decref(o);
}

static void fails(struct rig *r, const char *is)
{
    claim(r, ++r->claims, is);
    reghealth_failed(r->h, last(r));
    go(r);
}

static const struct nodepool *pool(struct rig *r)
{
    return store_pool(r->s, "p");
}

static void conditions(struct rig *r, struct cond_edit *e)
{
    cond_begin(e, &pool(r)->conditions, &pool(r)->m, clock_wall(r->f->rt.clock));
    reghealth_conditions(r->h, pool(r), e);
}

static const struct cond_item *find(const struct cond_edit *e, const char *type)
{
    for (uint32_t i = 0; i < e->n; i++) {
        if (str_eq(e->v[i].type, type)) {
            return &e->v[i];
        }
    }
    return NULL;
}

static void bump(struct rig *r, json_t *o)
{
    jsonx_set_new(o, "metadata.generation",
                  json_integer(jsonx_int(o, "metadata.generation", 0) + 1));
    put(r, o);
}

/* The pool's status is written, and another process takes over. */
static void restart(struct rig *r)
{
    struct cond_edit e;
    conditions(r, &e);
    jsonx_set_new(r->pool, "status.conditions", cond_json(&e));
    jsonx_set_new(r->pool, "status.nodeClassObservedGeneration",
                  json_integer(jsonx_int(r->cls, "metadata.generation", 0)));
    put(r, r->pool);
    reghealth_free(r->h);
    store_free(r->s);
    r->s = r->f->rt.store = store_new(&r->f->rt);
    r->h = r->f->rt.reghealth = reghealth_new(&r->f->rt);
    put(r, r->pool);
    put(r, r->cls);
}

/* launch by launch:
 *   f launched, never registered   u never launched   g registered   w on its way
 *   n went because its Node was there and is gone     N the same is still there
 *   p somebody changes the pool    c or its class     R a restart
 *   1..9 that many times five minutes pass */
static const struct {
    const char *script;
    const char *healthy; /* status and reason */
    bool failing;
    int left;
} rows[] = {
    {"", "Unknown AwaitingReconciliation", false, -1},
    {"g", "True NodeRegistrationHealthy", false, -1},
    {"f", "Unknown AwaitingReconciliation", false, -1},
    {"fg", "True NodeRegistrationHealthy", false, -1},
    {"gf", "True NodeRegistrationHealthy", false, -1},
    {"gff", "False RegistrationFailed", false, -1},
    {"ffg", "False RegistrationFailed", false, -1},
    {"ffgg", "False RegistrationFailed", false, -1},
    {"ffggg", "True NodeRegistrationHealthy", false, -1},
    {"uu", "False LaunchFailed", false, -1},
    {"uuuuuu", "False LaunchFailed", false, -1}, /* costs nothing: not slowed */
    {"fff", "False RegistrationFailed", true, 0},
    {"fff2", "False RegistrationFailed", true, 0},
    {"fff3", "False RegistrationFailed", true, 1},
    {"fff3w", "False RegistrationFailed", true, 0},
    {"fff3w4", "False RegistrationFailed", true, 0}, /* one at a time */
    {"fff3f", "False RegistrationFailed", true, 0},
    {"fff3f3", "False RegistrationFailed", true, 1},
    {"nnnn", "Unknown AwaitingReconciliation", false, -1}, /* they had joined */
    {"ffnf", "False RegistrationFailed", true, 0},
    {"fffN3", "False RegistrationFailed", true, 1}, /* not one on its way */
    {"fffg", "False RegistrationFailed", false, -1},
    {"ffgf", "False RegistrationFailed", false, -1},
    {"fffp", "Unknown AwaitingReconciliation", false, -1},
    {"fffc", "Unknown AwaitingReconciliation", false, -1},
    {"gp", "Unknown AwaitingReconciliation", false, -1},
    {"gR", "True NodeRegistrationHealthy", false, -1},
    {"uuR", "False LaunchFailed", false, -1},
    {"fffR", "False RegistrationFailed", true, 0},
    {"fffR2", "False RegistrationFailed", true, 0},
    {"fffR3", "False RegistrationFailed", true, 1},
    {"fffRg", "False RegistrationFailed", false, -1},
    {"fffRp", "Unknown AwaitingReconciliation", false, -1},
    {"fffRc", "Unknown AwaitingReconciliation", false, -1},
    {"gRff", "False RegistrationFailed", false, -1},
};

static void play(struct rig *r, char c)
{
    switch (c) {
    case 'f':
        fails(r, "l");
        break;
    case 'n':
        fails(r, "ln");
        break;
    case 'N':
        claim(r, ++r->claims, "ln");
        break;
    case 'u':
        fails(r, "");
        break;
    case 'g':
        claim(r, ++r->claims, "l");
        claim(r, r->claims, "lr");
        break;
    case 'w':
        claim(r, ++r->claims, "l");
        break;
    case 'p':
        bump(r, r->pool);
        break;
    case 'c':
        bump(r, r->cls);
        break;
    case 'R':
        restart(r);
        break;
    default:
        fake_run(r->f, (c - '0') * 5 * NS_PER_MIN);
    }
}

static void begin(struct rig *r)
{
    *r = (struct rig){.f = fake_new()};
    r->f->opt.registration_timeout_ns = 15 * NS_PER_MIN;
    r->s = r->f->rt.store = store_new(&r->f->rt);
    r->h = r->f->rt.reghealth = reghealth_new(&r->f->rt);
    r->pool = fake_json("{\"kind\":\"NodePool\",\"metadata\":{\"name\":\"p\",\"uid\":\"p\","
                        "\"generation\":1},\"spec\":{\"template\":{\"spec\":{\"nodeClassRef\":{"
                        "\"group\":\"karpenter.k8s.aws\",\"kind\":\"EC2NodeClass\",\"name\":\"d\"},"
                        "\"requirements\":[]}}}}");
    r->cls = fake_json("{\"kind\":\"EC2NodeClass\",\"metadata\":{\"name\":\"d\",\"uid\":\"d\","
                       "\"generation\":1},\"spec\":{}}");
    put(r, r->cls);
    put(r, r->pool);
}

static void end(struct rig *r)
{
    reghealth_free(r->h);
    store_free(r->s);
    json_decref(r->pool);
    json_decref(r->cls);
    fake_free(r->f);
}

START_TEST(health)
{
    struct rig r;
    struct cond_edit e;
    begin(&r);
    for (const char *c = rows[_i].script; *c; c++) {
        play(&r, *c);
    }
    conditions(&r, &e);
    const struct cond_item *h = find(&e, "NodeRegistrationHealthy");
    char got[80];
    snprintf(got, sizeof(got), "%s %s",
             h->status == STATUS_TRUE    ? "True"
             : h->status == STATUS_FALSE ? "False"
                                         : "Unknown",
             h->reason);
    ck_assert_msg(str_eq(got, rows[_i].healthy), "%s: %s", rows[_i].script, got);
    ck_assert_msg(!!find(&e, "RegistrationFailing") == rows[_i].failing, "%s", rows[_i].script);
    int64_t left = reghealth_launches_left(r.h, pool(&r));
    ck_assert_msg(left == rows[_i].left, "%s: %lld", rows[_i].script, (long long)left);
    end(&r);
}
END_TEST

START_TEST(timeout)
{
    const struct agent_options o = {.registration_timeout_ns = 15 * NS_PER_MIN};
    static const struct {
        const char *text;
        int64_t min;
    } v[] = {{NULL, 15}, {"25m", 25}, {"1h", 60}, {"soon", 15}, {"-5m", 15}, {"0s", 15}};
    ck_assert_int_eq(reghealth_timeout_ns(&o, NULL), 15 * NS_PER_MIN);
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct kv kv = {ANN_REGISTRATION_TIMEOUT, v[i].text};
        const struct nodepool np = {.m = {.annotations = {&kv, v[i].text ? 1 : 0}}};
        ck_assert_int_eq(reghealth_timeout_ns(&o, &np), v[i].min * NS_PER_MIN);
    }
}
END_TEST

/* The newest failure's last words, once; another's are too late. */
START_TEST(consoles)
{
    struct rig r;
    struct cond_edit e;
    begin(&r);
    for (int i = 0; i < 3; i++) {
        fails(&r, "l");
    }
    reghealth_console(r.h, "c2", "not this");
    reghealth_console(r.h, "c3", "kernel panic");
    reghealth_console(r.h, "c3", "nor this");
    conditions(&r, &e);
    const char *text = find(&e, "RegistrationFailing")->message;
    ck_assert_msg(
        strstr(text, "(karp.dev/registration-timeout); its console ended with: kernel panic"), "%s",
        text);
    ck_assert(!strstr(text, "this"));
    ck_assert(strstr(find(&e, "NodeRegistrationHealthy")->message, "kernel panic"));
    fails(&r, "l");
    conditions(&r, &e);
    ck_assert(!strstr(find(&e, "RegistrationFailing")->message, "kernel panic"));
    end(&r);
}
END_TEST

UNIT_MAIN("reghealth", UNIT_TEST(consoles), UNIT_CASES(health, rows), UNIT_TEST(timeout))
