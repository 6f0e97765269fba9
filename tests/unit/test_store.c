/* test_store.c - the store against a scripted API server: versions, lists, own writes, indexes. */
#include "unit.h"

#include "agent/leave/drain.h"
#include "storerig.h"

/* ---- versions ----------------------------------------------------------------------------------
 */

/* What happens to claim "a", listed at version 50: w = watch event, o = own write, d = DELETED,
 * each with its version; then the version in the store (0 = absent). */
static const struct {
    const char *script;
    int64_t version;
    const char *changes;
} version_rows[] = {
    {"w60", 60, "~a "},
    {"w40", 50, ""},           /* older */
    {"w50", 50, ""},           /* the same */
    {"o120", 120, "~a "},      /* own write enters at once */
    {"o120 w110", 120, "~a "}, /* what was under way then is old news */
    {"o120 w120", 120, "~a "}, /* its own echo */
    {"o120 w130", 130, "~a ~a "},
    {"w130 o120", 130, "~a "}, /* an answer that comes late */
    {"d140", 0, "-a "},
    {"d140 o130", 0, "-a "},      /* an answer that comes after the end */
    {"d140 w150", 150, "-a +a "}, /* made anew */
    {"d140 o150", 150, "-a +a "}, /* made anew by us */
    {"o150 d140", 150, "~a "},    /* the end of an older one of that name */
};

START_TEST(versions)
{
    struct rig r = rig_new();
    sync(&r, NULL, NULL, json_pack("[o]", claim("a", 50, "")));
    store_subscribe(r.s, STORE_CLAIM, on_change, &r);
    char text[64];
    str_copy(text, sizeof(text), version_rows[_i].script);
    char *save = NULL;
    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        json_t *o = claim("a", atoi(w + 1), "");
        if (*w == 'o') {
            store_observe(r.s, o);
            json_decref(o);
        } else {
            event(&r, STORE_CLAIM, *w == 'd' ? KUBE_DELETED : KUBE_MODIFIED, o);
        }
    }
    const struct nodeclaim *nc = store_claim(r.s, "a");
    ck_assert_int_eq(nc ? store_version(&nc->m) : 0, version_rows[_i].version);
    ck_assert_str_eq(r.changes, version_rows[_i].changes);
    rig_free(&r);
}
END_TEST

START_TEST(own_end)
{
    struct rig r = rig_new();
    sync(&r, NULL, NULL, json_pack("[o]", claim("a", 50, "")));
    json_t *o = claim("a", 120, "");
    jsonx_set_new(o, "metadata.deletionTimestamp", json_string("2026-01-05T09:00:00Z"));
    store_observe(r.s, o);
    ck_assert_ptr_nonnull(store_claim(r.s, "a"));
    jsonx_set_new(o, "metadata.resourceVersion", json_string("121"));
    jsonx_set_new(o, "metadata.finalizers", json_array());
    store_observe(r.s, o); /* our patch took the last finalizer: it is gone */
    ck_assert_ptr_null(store_claim(r.s, "a"));
    json_decref(o);
    rig_free(&r);
}
END_TEST

/* Events that were under way when our patch ended it do not bring it back. */
START_TEST(own_end_echo)
{
    struct rig r = rig_new();
    sync(&r, NULL, NULL, json_pack("[o]", claim("a", 50, "")));
    store_subscribe(r.s, STORE_CLAIM, on_change, &r);
    json_t *o = claim("a", 121, "");
    jsonx_set_new(o, "metadata.deletionTimestamp", json_string("2026-01-05T09:00:00Z"));
    jsonx_set_new(o, "metadata.finalizers", json_array());
    store_observe(r.s, o);
    json_decref(o);
    event(&r, STORE_CLAIM, KUBE_MODIFIED, claim("a", 119, ""));
    event(&r, STORE_CLAIM, KUBE_MODIFIED, claim("a", 120, ""));
    event(&r, STORE_CLAIM, KUBE_DELETED, claim("a", 122, ""));
    ck_assert_str_eq(r.changes, "-a ");
    event(&r, STORE_CLAIM, KUBE_ADDED, claim("a", 123, ""));
    ck_assert_str_eq(r.changes, "-a +a ");
    rig_free(&r);
}
END_TEST

/* ---- lists -------------------------------------------------------------------------------------
 */

START_TEST(relist)
{
    struct rig r = rig_new();
    sync(&r, NULL, NULL,
         json_pack("[o, o, o]", claim("a", 50, ""), claim("b", 51, ""), claim("c", 52, "")));
    store_subscribe(r.s, STORE_CLAIM, on_change, &r);
    break_watch(&r, STORE_CLAIM, ERR_GONE);
    fake_run(r.f, 60 * NS_PER_S);
    ck_assert_ptr_nonnull(store_claim(r.s, "a")); /* the old copy is the best there is */
    json_t *own = claim("own", 190, "");
    store_observe(r.s, own);
    json_decref(own);
    give_list(&r, STORE_CLAIM, "200", json_pack("[o, o]", claim("b", 51, ""), claim("d", 150, "")));
    fake_run(r.f, 0);
    ck_assert_str_eq(r.changes, "+own +d -a -c ");
    /* Not in the list though written by us: a newer one than the list, or gone since. */
    fake_run(r.f, NS_PER_S);
    ck_assert_ptr_nonnull(store_claim(r.s, "own"));
    if (_i == 0) {
        event(&r, STORE_CLAIM, KUBE_ADDED, claim("own", 201, ""));
    }
    fake_run(r.f, 20 * NS_PER_S);
    ck_assert((store_claim(r.s, "own") != NULL) == (_i == 0));
    rig_free(&r);
}
END_TEST
static const int relist_rows[2] = {0, 1};

/* The server was restored from a backup: what it lists counts, though its versions are older. */
START_TEST(went_back)
{
    struct rig r = rig_new();
    sync(&r, NULL, NULL, json_pack("[o, o]", claim("a", 50, "aws:///a/i-2"), claim("b", 51, "")));
    break_watch(&r, STORE_CLAIM, ERR_GONE);
    fake_run(r.f, 60 * NS_PER_S);
    give_list(&r, STORE_CLAIM, "30", json_pack("[o]", claim("a", 20, "aws:///a/i-1")));
    fake_run(r.f, 0);
    ck_assert_int_eq(store_version(&store_claim(r.s, "a")->m), 20);
    ck_assert_ptr_null(store_claim(r.s, "b"));
    json_t *own = claim("c", 31, "");
    store_observe(r.s, own); /* newer than anything that this server has shown */
    json_decref(own);
    ck_assert_ptr_nonnull(store_claim(r.s, "c"));
    rig_free(&r);
}
END_TEST

/* One bad object among good ones, kind by kind: does it stay out or come with a problem? */
static const struct {
    enum store_kind kind;
    const char *object;
    bool kept;
} bad_rows[] = {
    {STORE_POD, "{\"kind\":\"Pod\"}", false},
    {STORE_NODE,
     "{\"kind\":\"Node\",\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"9\"},"
     "\"status\":{\"capacity\":{\"cpu\":\"four\"}}}",
     false},
    {STORE_POOL,
     "{\"kind\":\"NodePool\",\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"9\"},"
     "\"spec\":{\"limits\":{\"cpu\":\"four\"}}}",
     true},
};

START_TEST(bad_objects)
{
    struct rig r = rig_new();
    sync(&r, NULL, NULL, NULL);
    event(&r, bad_rows[_i].kind, KUBE_ADDED, fake_json(bad_rows[_i].object));
    ck_assert((map_count(store_all(r.s, bad_rows[_i].kind)) == 1) == bad_rows[_i].kept);
    event(&r, STORE_CLAIM, KUBE_ADDED, claim("a", 110, ""));
    ck_assert_ptr_nonnull(store_claim(r.s, "a"));
    if (bad_rows[_i].kept) {
        ck_assert_ptr_nonnull(store_pool(r.s, "x")->problem);
    }
    rig_free(&r);
}
END_TEST

/* A pod that cannot be read is known all the same: its node does not look empty, a drain waits for
 * it, and what can be read of it later replaces it. */
START_TEST(unread_pod)
{
    static const char *const odd =
        "{'kind':'Pod','metadata':{'name':'p','namespace':'ns','uid':'u','resourceVersion':'9'},"
        "'spec':{'nodeName':'n','containers':[{'resources':{'requests':{'cpu':'%s'}}}]},"
        "'status':{'phase':'Running'}}";
    struct rig r = rig_new();
    struct drain *d = drain_new(&r.f->rt);
    sync(&r, NULL, NULL, NULL);
    event(&r, STORE_NODE, KUBE_ADDED,
          fake_json("{\"kind\":\"Node\",\"metadata\":{\"name\":\"n\",\"uid\":\"n\","
                    "\"resourceVersion\":\"8\"}}"));
    for (int i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof(text), odd, i ? "1" : "four");
        for (char *c = text; *c; c++) {
            *c = *c == '\'' ? '"' : *c;
        }
        json_t *o = fake_json(text);
        jsonx_set_new(o, "metadata.resourceVersion", json_string(i ? "10" : "9"));
        event(&r, STORE_POD, KUBE_ADDED, o);
        const struct pod *p = store_pod(r.s, "ns", "p");
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq(map_count(store_pods_on(r.s, "n")), 1);
        ck_assert_int_eq(pod_do_not_disrupt(p, FAKE_WALL_NS), i == 0);
        ck_assert_uint_eq(drain_round(d, store_node(r.s, "n"), 0), 1);
    }
    drain_free(d);
    rig_free(&r);
}
END_TEST

START_TEST(trouble)
{
    struct rig r = rig_new();
    struct err why = ERR_INIT;
    ck_assert_str_eq(store_trouble(r.s, &why), "Pod");
    sync(&r, NULL, NULL, NULL);
    ck_assert_ptr_null(store_trouble(r.s, &why));
    break_watch(&r, STORE_NODE, ERR_FORBIDDEN);
    for (int i = 0; i < 100; i++) {
        fake_run(r.f, NS_PER_S);
        struct fake_call *c = fake_find(r.f, "WATCH", store_paths[STORE_NODE]);
        if (c) {
            break_watch(&r, STORE_NODE, ERR_FORBIDDEN);
        }
    }
    ck_assert(store_synced(r.s));
    ck_assert_str_eq(store_trouble(r.s, &why), "Node");
    ck_assert_int_eq(why.kind, ERR_FORBIDDEN);
    rig_free(&r);
}
END_TEST

/* A watch that is broken for long: what budgets allow now is not known any more. */
START_TEST(budgets_unknown)
{
    struct rig r = rig_new();
    sync(&r, NULL, NULL, NULL);
    for (int i = 0; i < 100; i++) {
        fake_run(r.f, NS_PER_S);
        if (fake_find(r.f, "WATCH", store_paths[STORE_PDB])) {
            break_watch(&r, STORE_PDB, ERR_FORBIDDEN);
        }
        ck_assert(i > 0 || store_pdbs_known(r.s));
    }
    ck_assert(store_synced(r.s) && !store_pdbs_known(r.s));
    rig_free(&r);
}
END_TEST

/* The agent serves without LimitRanges and RuntimeClasses where it has no right to them, says so,
 * and takes them in once it may; but for PodDisruptionBudgets, every other kind it waits for. */
static const struct withheld_row {
    enum store_kind kind;
    int http;
    enum err_kind why;
    bool synced;
} withheld_rows[] = {
    {STORE_LIMIT_RANGE, 403, ERR_FORBIDDEN, true},
    {STORE_RUNTIME_CLASS, 403, ERR_FORBIDDEN, true},
    {STORE_RUNTIME_CLASS, 404, ERR_NOT_FOUND, true},
    {STORE_RUNTIME_CLASS, 503, ERR_UNAVAILABLE, false},
    {STORE_SERVICE, 403, ERR_FORBIDDEN, true},
    {STORE_SERVICE, 503, ERR_UNAVAILABLE, false},
    {STORE_HOLD, 403, ERR_FORBIDDEN, true},
    {STORE_HOLD, 503, ERR_UNAVAILABLE, false},
    {STORE_DREQ, 403, ERR_FORBIDDEN, true},
    {STORE_DGRANT, 503, ERR_UNAVAILABLE, false},
    {STORE_PDB, 503, ERR_UNAVAILABLE, true},
    {STORE_DAEMONSET, 403, ERR_FORBIDDEN, false},
    {STORE_PVC, 403, ERR_FORBIDDEN, false},
};

START_TEST(withheld)
{
    const struct withheld_row *row = &withheld_rows[_i];
    struct rig r = rig_new();
    struct err why = ERR_INIT;
    store_start(r.s);
    fake_run(r.f, 0);
    for (int i = 0; i < STORE_KINDS; i++) {
        if (i != (int)row->kind) {
            give_list(&r, (enum store_kind)i, "100", json_array());
        }
    }
    fake_run(r.f, 0);
    ck_assert(store_synced(r.s) == (row->kind == STORE_PDB));
    fake_answer(list_call(&r, row->kind), row->http, row->why, NULL);
    fake_run(r.f, 0);
    ck_assert(store_synced(r.s) == row->synced);
    ck_assert_ptr_nonnull(store_trouble(r.s, &why));
    ck_assert_int_eq(why.kind, row->why);
    for (int i = 0; i < 60 && !fake_find(r.f, "GET", store_paths[row->kind]); i++) {
        fake_run(r.f, NS_PER_S);
    }
    give_list(&r, row->kind, "100", json_array());
    fake_run(r.f, 0);
    ck_assert(store_synced(r.s));
    ck_assert_ptr_null(store_trouble(r.s, &why));
    rig_free(&r);
}
END_TEST

/* Nobody asks for Services but default spread constraints. */
START_TEST(services)
{
    struct rig r = rig_new();
    struct snapshot_in in;
    struct err why = ERR_INIT;
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    for (int wanted = 0; wanted < 2; wanted++) {
        r.f->opt.scheduler_config = wanted ? "{}" : "";
        store_free(r.s);
        r.f->rt.store = r.s = store_new(&r.f->rt);
        store_start(r.s);
        fake_run(r.f, 0);
        for (int i = 0; i < STORE_KINDS; i++) {
            if (i != STORE_SERVICE) {
                give_list(&r, (enum store_kind)i, "100", json_array());
            }
        }
        ck_assert(!fake_find(r.f, "GET", store_paths[STORE_SERVICE]) == !wanted);
        ck_assert(store_synced(r.s) == !wanted);
        ck_assert(!store_trouble(r.s, &why) == !wanted);
        if (wanted) {
            json_t *web = json_pack("{s:{s:s, s:s, s:s}, s:{s:{s:s}}}", "metadata", "name", "web",
                                    "namespace", "shop", "resourceVersion", "7", "spec", "selector",
                                    "app", "web");
            give_list(&r, STORE_SERVICE, "100", json_pack("[o]", web));
            ck_assert(store_synced(r.s));
        }
        store_snapshot_in(r.s, &a, &in);
        ck_assert_uint_eq(in.n_services, (unsigned)wanted);
    }
    ck_assert_str_eq(in.services[0]->sel.v[0].values[0], "web");
    arena_done(&a);
    rig_free(&r);
}
END_TEST

/* ---- indexes -----------------------------------------------------------------------------------
 */

START_TEST(usage)
{
    struct rig r = rig_new();
    sync(&r, json_pack("[o, o]", pod("p", 10, "n1", 2, "Running"), pod("q", 11, "", 1, "Pending")),
         json_pack("[o]", node("n1", 12, "aws:///a/i-1")), NULL);
    ck_assert_int_eq(store_usage(r.s, "n1")->requested.v[RES_CPU], 2000);
    ck_assert_uint_eq(map_count(store_provisionable(r.s)), 1);
    event(&r, STORE_POD, KUBE_MODIFIED, pod("q", 110, "n1", 1, "Pending"));
    ck_assert_uint_eq(map_count(store_provisionable(r.s)), 0);
    ck_assert_int_eq(store_usage(r.s, "n1")->requested.v[RES_CPU], 3000);
    ck_assert_uint_eq(store_usage(r.s, "n1")->pods, 2);
    event(&r, STORE_POD, KUBE_MODIFIED, pod("p", 111, "n1", 2, "Succeeded"));
    ck_assert_int_eq(store_usage(r.s, "n1")->requested.v[RES_CPU], 1000);
    ck_assert_uint_eq(map_count(store_pods_on(r.s, "n1")), 2);
    event(&r, STORE_POD, KUBE_DELETED, pod("p", 112, "n1", 2, "Succeeded"));
    event(&r, STORE_POD, KUBE_DELETED, pod("q", 113, "n1", 1, "Pending"));
    ck_assert_ptr_null(store_usage(r.s, "n1"));
    ck_assert_ptr_null(store_pods_on(r.s, "n1"));
    rig_free(&r);
}
END_TEST

START_TEST(by_provider_id)
{
    struct rig r = rig_new();
    uint32_t n = 9;
    sync(&r, NULL, json_pack("[o]", node("n1", 12, "aws:///a/i-1")),
         json_pack("[o, o]", claim("a", 50, ""), claim("b", 51, "")));
    ck_assert_ptr_null(store_claim_by_provider_id(r.s, ""));
    event(&r, STORE_CLAIM, KUBE_MODIFIED, claim("a", 110, "aws:///a/i-1"));
    ck_assert_str_eq(store_claim_by_provider_id(r.s, "aws:///a/i-1")->m.name, "a");
    ck_assert_str_eq(store_claim_by_uid(r.s, "uid-b")->m.name, "b");
    ck_assert_str_eq(store_node_by_provider_id(r.s, "aws:///a/i-1", &n)->m.name, "n1");
    ck_assert_uint_eq(n, 1);
    event(&r, STORE_NODE, KUBE_ADDED, node("n2", 111, "aws:///a/i-1"));
    ck_assert_ptr_null(store_node_by_provider_id(r.s, "aws:///a/i-1", &n));
    ck_assert_uint_eq(n, 2);
    event(&r, STORE_NODE, KUBE_DELETED, node("n1", 112, "aws:///a/i-1"));
    ck_assert_str_eq(store_node_by_provider_id(r.s, "aws:///a/i-1", &n)->m.name, "n2");
    event(&r, STORE_CLAIM, KUBE_DELETED, claim("a", 113, "aws:///a/i-1"));
    ck_assert_ptr_null(store_claim_by_provider_id(r.s, "aws:///a/i-1"));
    ck_assert_ptr_null(store_claim_by_uid(r.s, "uid-a"));
    rig_free(&r);
}
END_TEST

/* Everything taken while frozen stays good until the thaw (ASan looks). */
START_TEST(frozen)
{
    struct rig r = rig_new();
    struct arena a;
    struct snapshot_in in;
    arena_init(&a, 0, 1 << 20);
    sync(&r, json_pack("[o, o]", pod("p", 10, "n1", 2, "Running"), pod("q", 11, "", 1, "Pending")),
         json_pack("[o]", node("n1", 12, "aws:///a/i-1")),
         json_pack("[o]", claim("a", 50, "aws:///a/i-1")));
    store_freeze(r.s);
    ck_assert(store_frozen(r.s));
    store_snapshot_in(r.s, &a, &in);
    event(&r, STORE_POD, KUBE_DELETED, pod("p", 110, "n1", 2, "Running"));
    event(&r, STORE_POD, KUBE_MODIFIED, pod("q", 111, "n1", 1, "Pending"));
    event(&r, STORE_NODE, KUBE_DELETED, node("n1", 112, "aws:///a/i-1"));
    event(&r, STORE_CLAIM, KUBE_MODIFIED, claim("a", 113, "aws:///a/i-9"));
    ck_assert_int_eq(store_usage(r.s, "n1")->requested.v[RES_CPU], 1000);
    ck_assert_uint_eq(in.n_nodes, 1);
    ck_assert_str_eq(in.nodes[0]->m.name, "n1");
    ck_assert_int_eq(in.usage[0]->requested.v[RES_CPU], 2000);
    ck_assert_str_eq(in.claims[0]->provider_id, "aws:///a/i-1");
    ck_assert_uint_eq(in.n_pods, 1);
    ck_assert_str_eq(in.pods[0]->m.name, "q");
    store_thaw(r.s);
    ck_assert(!store_frozen(r.s));
    ck_assert_ptr_null(store_node(r.s, "n1"));
    arena_done(&a);
    store_freeze(r.s); /* the end may come at any time */
    event(&r, STORE_CLAIM, KUBE_DELETED, claim("a", 114, "aws:///a/i-9"));
    rig_free(&r);
}
END_TEST

START_TEST(nominations)
{
    struct rig r = rig_new();
    sync(&r, NULL, json_pack("[o]", node("n1", 12, "aws:///a/i-1")),
         json_pack("[o]", claim("a", 50, "aws:///a/i-1")));
    const struct node *n = store_node(r.s, "n1");
    const struct nodeclaim *nc = store_claim(r.s, "a");
    ck_assert(!store_nominated(r.s, n, nc));
    store_nominate(r.s, "a", r.f->now_ns + 20 * NS_PER_S);
    store_nominate(r.s, "a", r.f->now_ns + 5 * NS_PER_S); /* never shortens */
    ck_assert(store_nominated(r.s, n, nc));
    ck_assert(!store_nominated(r.s, n, NULL));
    fake_run(r.f, 20 * NS_PER_S);
    ck_assert(!store_nominated(r.s, n, nc));
    rig_free(&r);
}
END_TEST

static int64_t daemonset_cpu(const struct rig *r, const char *key)
{
    const struct daemonset *ds = map_get(store_all(r->s, STORE_DAEMONSET), key);
    ck_assert_ptr_nonnull(ds);
    return ds->cls->requests.v[RES_CPU];
}

/* A LimitRange that comes, changes and goes changes what DaemonSets of its namespace ask for; while
 * a decision is open the old ones stay. */
START_TEST(limit_range_completes_daemonsets)
{
    static const char range[] =
        "{\"kind\":\"LimitRange\",\"metadata\":{\"name\":\"l\",\"namespace\":\"%s\","
        "\"resourceVersion\":\"%d\"},\"spec\":{\"limits\":[{\"type\":\"Container\","
        "\"defaultRequest\":{\"cpu\":\"%dm\"}}]}}";
    struct rig r = rig_new();
    char text[512];
    store_subscribe(r.s, STORE_DAEMONSET, on_change, &r);
    sync(&r, NULL, NULL, NULL);
    event(&r, STORE_DAEMONSET, KUBE_ADDED,
          fake_json("{\"kind\":\"DaemonSet\",\"metadata\":{\"name\":\"d\",\"namespace\":\"a\","
                    "\"resourceVersion\":\"101\"},\"spec\":{\"template\":{\"spec\":{"
                    "\"containers\":[{\"name\":\"c\"}]}}}}"));
    ck_assert_int_eq(daemonset_cpu(&r, "a/d"), 0);
    const struct daemonset *before = map_get(store_all(r.s, STORE_DAEMONSET), "a/d");
    store_freeze(r.s);
    snprintf(text, sizeof(text), range, "a", 102, 100);
    event(&r, STORE_LIMIT_RANGE, KUBE_ADDED, fake_json(text));
    ck_assert_int_eq(daemonset_cpu(&r, "a/d"), 100);
    ck_assert_int_eq(before->cls->requests.v[RES_CPU], 0);
    store_thaw(r.s);
    snprintf(text, sizeof(text), range, "ab", 103, 700);
    event(&r, STORE_LIMIT_RANGE, KUBE_ADDED, fake_json(text));
    ck_assert_int_eq(daemonset_cpu(&r, "a/d"), 100);
    snprintf(text, sizeof(text), range, "a", 104, 200);
    event(&r, STORE_LIMIT_RANGE, KUBE_MODIFIED, fake_json(text));
    ck_assert_int_eq(daemonset_cpu(&r, "a/d"), 200);
    snprintf(text, sizeof(text), range, "a", 105, 200);
    event(&r, STORE_LIMIT_RANGE, KUBE_DELETED, fake_json(text));
    ck_assert_int_eq(daemonset_cpu(&r, "a/d"), 0);
    ck_assert_str_eq(r.changes, "+a/d ~a/d ~a/d ~a/d ");
    rig_free(&r);
}
END_TEST

/* A RuntimeClass changes the DaemonSets that name it, and no others. */
START_TEST(runtime_class_completes_daemonsets)
{
    static const char ds[] =
        "{\"kind\":\"DaemonSet\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"a\","
        "\"resourceVersion\":\"101\"},\"spec\":{\"template\":{\"spec\":{%s"
        "\"containers\":[{\"name\":\"c\"}]}}}}";
    static const char class[] = "{\"kind\":\"RuntimeClass\",\"metadata\":{\"name\":\"vm\","
                                "\"resourceVersion\":\"%d\"},\"handler\":\"vm\","
                                "\"overhead\":{\"podFixed\":{\"cpu\":\"%dm\"}}}";
    struct rig r = rig_new();
    char text[512];
    store_subscribe(r.s, STORE_DAEMONSET, on_change, &r);
    sync(&r, NULL, NULL, NULL);
    snprintf(text, sizeof(text), ds, "d", "\"runtimeClassName\":\"vm\",");
    event(&r, STORE_DAEMONSET, KUBE_ADDED, fake_json(text));
    snprintf(text, sizeof(text), ds, "e", "");
    event(&r, STORE_DAEMONSET, KUBE_ADDED, fake_json(text));
    snprintf(text, sizeof(text), class, 102, 500);
    event(&r, STORE_RUNTIME_CLASS, KUBE_ADDED, fake_json(text));
    ck_assert_int_eq(daemonset_cpu(&r, "a/d"), 500);
    ck_assert_int_eq(daemonset_cpu(&r, "a/e"), 0);
    snprintf(text, sizeof(text), class, 103, 500);
    event(&r, STORE_RUNTIME_CLASS, KUBE_DELETED, fake_json(text));
    ck_assert_int_eq(daemonset_cpu(&r, "a/d"), 0);
    ck_assert_str_eq(r.changes, "+a/d +a/e ~a/d ~a/d ");
    rig_free(&r);
}
END_TEST

UNIT_MAIN("store", UNIT_CASES(withheld, withheld_rows), UNIT_TEST(services),
          UNIT_TEST(limit_range_completes_daemonsets),
          UNIT_TEST(runtime_class_completes_daemonsets), UNIT_CASES(versions, version_rows),
          UNIT_TEST(own_end), UNIT_TEST(own_end_echo), UNIT_TEST(went_back),
          UNIT_CASES(relist, relist_rows), UNIT_CASES(bad_objects, bad_rows), UNIT_TEST(unread_pod),
          UNIT_TEST(trouble), UNIT_TEST(budgets_unknown), UNIT_TEST(usage),
          UNIT_TEST(by_provider_id), UNIT_TEST(frozen), UNIT_TEST(nominations))
