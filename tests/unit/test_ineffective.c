/* test_ineffective.c - launches that help nobody: what counts against a class of pods, what clears
 * it. */
#include "unit.h"

#include "agent/plan/ineffective.h"
#include "agent/store/intents.h"
#include "agent/store/store.h"
#include "common/base/jsonx.h"
#include "fakeagent.h"

struct rig {
    struct fake *f;
    struct store *s;
    struct ineffective *it;
    int rv, told, sent;
};

static void put(struct rig *r, json_t *o)
{
    char rv[16];
    snprintf(rv, sizeof(rv), "%d", ++r->rv);
    jsonx_set_new(o, "metadata.resourceVersion", json_string(rv));
    store_observe(r->s, o);
    json_decref(o);
}

static json_t *claim(int i, bool initialized, bool deleting)
{
    json_t *o = fake_json(
        "{\"kind\":\"NodeClaim\",\"metadata\":{\"finalizers\":[\"x\"]},\"spec\":{\"nodeClassRef\":{"
        "\"group\":\"karpenter.k8s.aws\",\"kind\":\"EC2NodeClass\",\"name\":\"d\"},"
        "\"requirements\":[]}}");
    char name[24], id[40];
    snprintf(name, sizeof(name), "c%d", i);
    snprintf(id, sizeof(id), "aws:///a/i-%d", i);
    jsonx_set_new(o, "metadata.name", json_string(name));
    jsonx_set_new(o, "metadata.uid", json_string(name));
    jsonx_set_new(o, "status.providerID", json_string(id));
    if (initialized) {
        jsonx_set_new(o, "status.conditions",
                      json_pack("[{s:s, s:s}]", "type", "Initialized", "status", "True"));
    }
    if (deleting) {
        jsonx_set_new(o, "metadata.deletionTimestamp", json_string("2026-01-05T09:00:00Z"));
    }
    return o;
}

/* Of a node that was there once: registered, or set back as the node was lost. */
static json_t *claim_with_node(int i, bool registered, bool deleting)
{
    json_t *o = claim(i, true, deleting);
    json_array_append_new(
        (json_t *)(uintptr_t)jsonx_arr(o, "status.conditions"),
        json_pack("{s:s, s:s}", "type", "Registered", "status", registered ? "True" : "Unknown"));
    jsonx_set_new(o, "status.nodeName", json_string("n"));
    return o;
}

static json_t *node(int i)
{
    json_t *o = fake_json("{\"kind\":\"Node\",\"metadata\":{},\"spec\":{},\"status\":{}}");
    char name[24], id[40];
    snprintf(name, sizeof(name), "n%d", i);
    snprintf(id, sizeof(id), "aws:///a/i-%d", i);
    jsonx_set_new(o, "metadata.name", json_string(name));
    jsonx_set_new(o, "metadata.uid", json_string(name));
    jsonx_set_new(o, "spec.providerID", json_string(id));
    return o;
}

static json_t *pod(const char *name, const char *cpu, const char *on)
{
    json_t *o = fake_json("{\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"default\"},\"spec\":{},"
                          "\"status\":{\"phase\":\"Pending\"}}");
    jsonx_set_new(o, "metadata.name", json_string(name));
    jsonx_set_new(o, "metadata.uid", json_string(name));
    jsonx_set_new(
        o, "spec.containers",
        json_pack("[{s:s, s:{s:{s:s}}}]", "name", "c", "resources", "requests", "cpu", cpu));
    if (*on) {
        jsonx_set_new(o, "spec.nodeName", json_string(on));
    } else {
        jsonx_set_new(o, "status.conditions",
                      json_pack("[{s:s, s:s, s:s}]", "type", "PodScheduled", "status", "False",
                                "reason", "Unschedulable"));
    }
    return o;
}

static void launched(struct rig *r, int i, bool fails)
{
    char name[24];
    struct order_pod p = {.cls = order_class(store_pod(r->s, "default", "p"))};
    struct order o = {.pool = (char *)(uintptr_t) "pool", .pods = &p, .n_pods = 1};
    snprintf(name, sizeof(name), "c%d", i);
    if (ineffective_refuses(r->it, &o)) {
        return;
    }
    r->sent++;
    ineffective_take(r->it, &o);
    if (fails) {
        ineffective_give_back(r->it, &o);
        return;
    }
    put(r, claim(i, false, false));
    ineffective_launched(r->it, &o, name);
}

/* Does a decision leave pod p out? */
static bool held(struct rig *r)
{
    const struct pod *pods[] = {store_pod(r->s, "default", "p"),
                                store_pod(r->s, "default", "other")};
    struct snapshot_in in = {.pods = pods, .n_pods = ARRAY_LEN(pods)};
    struct arena a;
    arena_init(&a, 0, 1 << 16);
    ineffective_put(r->it, &a, &in);
    bool ret = in.n_ineffective > 0;
    ck_assert(!ret || (in.n_ineffective == 1 && in.ineffective[0].cls == pods[0]->cls &&
                       str_eq(in.ineffective[0].pool, "pool")));
    arena_done(&a);
    return ret;
}

static void on_change(void *ctx, const char *pool)
{
    struct rig *r = ctx;
    ck_assert_str_eq(pool, "pool");
    r->told++;
}

/* Pod p waits, another of another class too. The script, launch by launch:
 *   l launched   f launched in vain   i initialized   d deleted   n its node is there
 *   r its node was there once   x it is set back and deleted   k deleted though not set back
 *   b p is bound to the node of the last launch   e p is bound elsewhere   p p waits again
 *   1..9 that many times ten seconds pass */
static const struct {
    const char *what, *script;
    bool held;
    int sent; /* launches that were not refused */
} rows[] = {
    {"nothing was launched", "", false, 0},
    {"two that did not help", "li3d li3d", false, 2},
    {"three that are gone", "li3d li3d li3d", true, 3},
    {"three that are there", "li li li3", true, 3},
    {"three, not long enough", "li li li1", false, 3},
    {"of both", "li3d li3d li3", true, 3},
    {"never initialized", "l3d l3d l3d", false, 3},
    {"one has helped", "li3d li3d linb", false, 3},
    {"and what came before does not count", "li3d li3d linbpd li3d li3d", false, 5},
    {"bound elsewhere", "li3d li3d li3d e", false, 3},
    {"three that were lost", "lir lir lir3", false, 3},
    {"three that were there and are", "lirn lirn lirn3", true, 3},
    {"three that went as lost", "lir3x lir3x lir3x", false, 3},
    {"three that died at once", "lir3k lir3k lir3k", true, 3},
    {"tried again", "li3d li3d li3d 9999999999999999999 99", false, 3},
    {"and then held again", "li3d li3d li3d 9999999999999999999 99 li3", true, 4},
    {"held: no launch", "li3d li3d li3d l l", true, 3},
    {"tried again with one", "li3d li3d li3d 9999999999999999999 99 l l l", true, 4},
    {"and with one again", "li3d li3d li3d 9999999999999999999 99 l l3 9999999999999999999 99 l l",
     true, 5},
    {"what was not created is no try", "li3d li3d li3d 9999999999999999999 99 f l l", true, 5},
};

static void play(struct rig *r, char c, int *i)
{
    switch (c) {
    case ' ':
        break;
    case 'l':
    case 'f':
        launched(r, ++*i, c == 'f');
        break;
    case 'i':
    case 'd':
        put(r, claim(*i, true, c == 'd'));
        break;
    case 'r':
    case 'k':
    case 'x':
        put(r, claim_with_node(*i, c != 'x', c != 'r'));
        break;
    case 'n':
        put(r, node(*i));
        break;
    case 'b':
    case 'e': {
        char on[24];
        snprintf(on, sizeof(on), "n%d", c == 'b' ? *i : 0);
        put(r, pod("p", "2", on));
        break;
    }
    case 'p':
        put(r, pod("p", "2", ""));
        break;
    default:
        fake_run(r->f, (c - '0') * 10 * NS_PER_S);
    }
}

START_TEST(counts)
{
    struct rig r = {.f = fake_new()};
    int i = 0;
    r.s = r.f->rt.store = store_new(&r.f->rt);
    r.f->rt.intents = intents_new(&r.f->rt);
    r.it = r.f->rt.ineffective = ineffective_new(&r.f->rt);
    ineffective_listen(r.it, on_change, &r);
    put(&r, pod("p", "2", ""));
    put(&r, pod("other", "1", ""));
    for (const char *c = rows[_i].script; *c; c++) {
        play(&r, *c, &i);
    }
    ck_assert_msg(held(&r) == rows[_i].held, "%s", rows[_i].what);
    ck_assert_msg(r.sent == rows[_i].sent, "%s: %d", rows[_i].what, r.sent);
    ck_assert_msg(ineffective_in(r.it, "pool") == (r.told % 2 != 0), "%s", rows[_i].what);
    ck_assert(!ineffective_in(r.it, "another"));
    /* Nobody waits any more: nothing is kept, nothing goes on. */
    if (ineffective_in(r.it, "pool")) {
        put(&r, pod("p", "2", "elsewhere"));
        ck_assert(!ineffective_in(r.it, "pool"));
    }
    ineffective_free(r.it);
    intents_free(r.f->rt.intents);
    store_free(r.s);
    fake_free(r.f);
}
END_TEST

UNIT_MAIN("ineffective", UNIT_CASES(counts, rows))
