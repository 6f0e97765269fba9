/* What `kubectl karp consolidate --dry-run` prints is what the agent then does: 500 random
 * clusters, four in each simulated world, whose load comes and goes; the plugin's plan from the
 * objects that the API server has; the plan digests that the agent writes on what it begins with;
 * and what its history says afterwards: the same nodes left by the same plan for the same kinds of
 * new ones. */
#include "cmdrun.h"
#include "common/base/alloc.h"
#include "common/base/entropy.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/ec2/ec2type.h"
#include "tests/sim/run.h"

#ifdef __SANITIZE_ADDRESS__
#define WORLDS 10 /* the rest costs minutes */
#else
#define WORLDS 125
#endif
#define ROUNDS 4
#define APPS 5
#define DECIDED_NS (NS_PER_S * 6 / 10)
#define QUIET_NS (15 * NS_PER_S)
#define DIGESTS_MAX 200
#define AGENT "karp-agent-0"

struct digests {
    char v[DIGESTS_MAX][65];
    size_t n;
};

static struct scenario scenario;

static bool digests_have(const struct digests *d, const char *digest)
{
    for (size_t i = 0; i < d->n; i++) {
        if (str_eq(d->v[i], digest)) {
            return true;
        }
    }
    return false;
}

static void digests_add(struct digests *d, const char *digest)
{
    if (!digests_have(d, digest)) {
        ck_assert_uint_lt(d->n, DIGESTS_MAX);
        str_copy(d->v[d->n++], sizeof(d->v[0]), digest);
    }
}

/* ---- the world ---------------------------------------------------------------------------------
 */

static void put(struct sim_run *r, const char *text)
{
    struct err e = ERR_INIT;
    char *copy AUTO_FREE = xstrdup(text);
    for (char *p = copy; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    json_error_t je;
    AUTO_JSON json_t *o = json_loads(copy, 0, &je);
    ck_assert_msg(o != NULL, "%s in %s", je.text, copy);
    ck_assert_msg(sim_api_apply(r->world->api, "somebody", o, NULL, &e) == 0, "%s", e.msg);
}

static void put_pool(struct sim_run *r, const char *name, const char *policy, const char *kinds,
                     const char *approval)
{
    char *text AUTO_FREE = xasprintf(
        "{'apiVersion':'karpenter.sh/v1','kind':'NodePool','metadata':{'name':'%s','annotations':{"
        "'karp.dev/disruption-approval':'%s'}},'spec':{'template':{'metadata':{'labels':{"
        "'pool':'%s'}},'spec':{'nodeClassRef':{'group':'karpenter.k8s.aws','kind':'EC2NodeClass',"
        "'name':'default'},'requirements':[{'key':'karpenter.sh/capacity-type','operator':'In',"
        "'values':[%s]},{'key':'karpenter.k8s.aws/instance-cpu','operator':'Lt','values':["
        "'9']}]}},'disruption':{'consolidationPolicy':'%s','consolidateAfter':'0s',"
        "'budgets':[{'nodes':'100%%'}]}}}",
        name, approval, name, kinds, policy);
    put(r, text);
}

static void put_pools(struct sim_run *r, const char *approval)
{
    put_pool(r, "a", "WhenEmptyOrUnderutilized", "'on-demand'", approval);
    put_pool(r, "b", "Balanced", "'spot','on-demand'", approval);
}

static void put_app(struct sim_run *r, int i, int cpu_milli, int mem_mib, int replicas)
{
    char *text AUTO_FREE = xasprintf(
        "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'app%d','namespace':"
        "'default'},'spec':{'replicas':%d,'selector':{'matchLabels':{'app':'app%d'}},'template':{"
        "'metadata':{'labels':{'app':'app%d'}},'spec':{'nodeSelector':{'pool':'%s'},'containers':["
        "{'name':'c','image':'i','resources':{'requests':{'cpu':'%dm','memory':'%dMi'}}}]}}}}",
        i, replicas, i, i, i % 2 ? "b" : "a", cpu_milli, mem_mib);
    put(r, text);
}

static void pass(struct sim_run *r, int64_t ns)
{
    vclock_run_to(&r->world->clock, vclock_now(&r->world->clock) + ns);
}

/* ---- the two plans -----------------------------------------------------------------------------
 */

static void write_objects(const struct sim_run *r, const char *path)
{
    AUTO_JSON json_t *list =
        json_pack("{s:s, s:s, s:[]}", "apiVersion", "v1", "kind", "List", "items");
    for (int k = 0; k < SIM_KINDS; k++) {
        for (size_t i = 0; k != SIM_EVENT && i < sim_api_count(r->world->api, (enum sim_kind_id)k);
             i++) {
            const json_t *o = sim_api_at(r->world->api, (enum sim_kind_id)k, i);
            json_array_append_new(json_object_get(list, "items"), json_deep_copy(o));
        }
    }
    ck_assert_int_eq(json_dump_file(list, path, 0), 0);
}

/* What the plugin prints now. */
static json_t *plugin_says(struct sim_run *r)
{
    char path[] = "/tmp/karp-same-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    write_objects(r, path);
    const char *const args[] = {"--dry-run", "--snapshot", path, "-o", "json", NULL};
    struct cmdrun run;
    cmdrun_at(&cmd_consolidate_info, args, NULL, &r->clock, &run);
    unlink(path);
    ck_assert_msg(run.rc == 0, "%s", run.err.msg);
    json_error_t je;
    json_t *plan = json_loads(run.out, 0, &je);
    ck_assert_msg(plan != NULL, "%s", je.text);
    cmdrun_done(&run);
    return plan;
}

/* What it shows; empty nodes go by themselves, without a plan. */
static json_t *plugin_plan(struct sim_run *r, struct digests *ret)
{
    AUTO_JSON json_t *plan = plugin_says(r);
    json_t *actions = json_array(), *action;
    size_t i;
    json_array_foreach (jsonx_arr(plan, "actions"), i, action) {
        if (!str_eq(jsonx_str(action, "reason"), "Empty")) {
            digests_add(ret, jsonx_str(action, "planDigest"));
            json_array_append(actions, action);
        }
    }
    return actions;
}

static void agent_plan(const struct sim_run *r, struct digests *ret)
{
    for (size_t i = 0; i < sim_api_count(r->world->api, SIM_NODECLAIM); i++) {
        const json_t *o = sim_api_at(r->world->api, SIM_NODECLAIM, i);
        size_t k;
        json_t *c;
        json_array_foreach (jsonx_arr(o, "status.conditions"), k, c) {
            const char *message = jsonx_str_or(c, "message", "");
            const char *at = str_eq(jsonx_str(c, "type"), "DisruptionReason")
                                 ? strstr(message, ", plan ")
                                 : NULL;
            if (at) {
                digests_add(ret, at + strlen(", plan "));
            }
        }
    }
}

/* ---- what the history says afterwards ----------------------------------------------------------
 */

static json_t *history_of(const struct sim_run *r)
{
    const json_t *cm = sim_api_get(r->world->api, SIM_CONFIGMAP, "karp", "karp-history");
    const char *text = json_string_value(json_object_get(jsonx_obj(cm, "data"), "history.json"));
    json_error_t je;
    ck_assert_ptr_nonnull(text);
    json_t *o = json_loads(text, 0, &je);
    ck_assert_msg(o != NULL, "%s", je.text);
    return o;
}

static const json_t *entry_of(const json_t *history, const char *claim)
{
    size_t i;
    json_t *e;
    json_array_foreach (jsonx_arr(history, "entries"), i, e) {
        if (str_eq(jsonx_str(e, "nodeClaim"), claim)) {
            return e;
        }
    }
    return NULL;
}

static bool is_among(const json_t *list, const char *text)
{
    size_t i;
    json_t *v;
    json_array_foreach (list, i, v) {
        if (str_eq(json_string_value(v), text)) {
            return true;
        }
    }
    return false;
}

/* Every claim that came is of a type and pool of one of the new nodes that were shown. */
static void same_replacements(const struct sim_run *r, const json_t *action, const json_t *entry,
                              const char *where)
{
    const json_t *shown = jsonx_arr(action, "nodesIn"), *came = jsonx_arr(entry, "replacedBy");
    ck_assert_msg(json_array_size(shown) == json_array_size(came), "%s: %zu new nodes shown, %zu",
                  where, json_array_size(shown), json_array_size(came));
    size_t i, k;
    json_t *name, *in;
    json_array_foreach (came, i, name) {
        const json_t *nc = sim_api_get(r->world->api, SIM_NODECLAIM, NULL, json_string_value(name));
        const json_t *labels = jsonx_obj(nc, "metadata.labels");
        const char *type =
            json_string_value(json_object_get(labels, "node.kubernetes.io/instance-type"));
        const char *pool = json_string_value(json_object_get(labels, "karpenter.sh/nodepool"));
        bool found = !nc; /* it has left since */
        json_array_foreach (shown, k, in) {
            found |= str_eq(jsonx_str(in, "nodePool"), pool) &&
                     is_among(jsonx_arr(in, "instanceTypes"), type);
        }
        ck_assert_msg(found, "%s: %s of pool %s was not shown", where, type ? type : "?",
                      pool ? pool : "?");
    }
}

static void same_history(const struct sim_run *r, const json_t *actions, const char *where)
{
    AUTO_JSON json_t *history = json_array_size(actions) ? history_of(r) : NULL;
    size_t i, k;
    json_t *action, *out;
    json_array_foreach (actions, i, action) {
        json_array_foreach (jsonx_arr(action, "nodesOut"), k, out) {
            const char *claim = jsonx_str(out, "nodeClaim");
            const json_t *e = entry_of(history, claim);
            ck_assert_msg(e != NULL, "%s: %s has not left", where, claim);
            ck_assert_msg(str_eq(jsonx_str(e, "planDigest"), jsonx_str(action, "planDigest")),
                          "%s: %s left by another plan", where, claim);
            ck_assert_str_eq(jsonx_str(e, "node"), jsonx_str(out, "node"));
            ck_assert_str_eq(jsonx_str(e, "reason"), jsonx_str(action, "reason"));
            same_replacements(r, action, e, where);
        }
    }
}

/* ---- one cluster after the other ---------------------------------------------------------------
 */

struct load {
    int cpu_milli[APPS], replicas[APPS];
};

static void load_comes(struct sim_run *r, struct entropy *dice, struct load *l)
{
    for (int i = 0; i < APPS; i++) {
        l->replicas[i] = 3 + (int)entropy_below(dice, 12);
        put_app(r, i, l->cpu_milli[i], l->cpu_milli[i] * 2, l->replicas[i]);
        pass(r, 4 * NS_PER_S);
    }
    pass(r, 45 * NS_PER_S);
}

static void load_goes(struct sim_run *r, struct entropy *dice, const struct load *l)
{
    for (int i = 0; i < APPS; i++) {
        put_app(r, i, l->cpu_milli[i], l->cpu_milli[i] * 2,
                (int)entropy_below(dice, (uint64_t)l->replicas[i]));
    }
    pass(r, 50 * NS_PER_S);
}

/* What was shown is what is done. */
static void same_digests(struct sim_run *r, const struct digests *shown, const char *where)
{
    struct digests done = {.n = 0};
    for (int i = 0; i < 40; i++) {
        pass(r, NS_PER_S / 4);
        agent_plan(r, &done);
    }
    ck_assert_msg(done.n == shown->n, "%s: %zu shown, %zu done", where, shown->n, done.n);
    for (size_t i = 0; i < shown->n; i++) {
        ck_assert_msg(digests_have(&done, shown->v[i]), "%s: %s is not done", where, shown->v[i]);
    }
}

static bool same(const struct digests *a, const struct digests *b)
{
    bool ret = a->n == b->n;
    for (size_t i = 0; ret && i < a->n; i++) {
        ret = digests_have(b, a->v[i]);
    }
    return ret;
}

/* Everything waits for a decision while the load changes, then for none any more. False: the plan
 * became another one in the quiet time, so what was shown need not be done. */
static bool one_cluster(struct sim_run *r, struct entropy *dice, struct load *l, const char *where)
{
    struct digests first = {.n = 0}, shown = {.n = 0}, early = {.n = 0};
    put_pools(r, "Required");
    load_comes(r, dice, l);
    load_goes(r, dice, l);
    agent_plan(r, &early);
    ck_assert_msg(early.n == 0, "%s: something began undecided", where);
    put_pools(r, "Off");
    pass(r, DECIDED_NS);
    json_decref(plugin_plan(r, &first));
    pass(r, QUIET_NS - DECIDED_NS);
    AUTO_JSON json_t *actions = plugin_plan(r, &shown);
    if (!same(&first, &shown)) {
        return false;
    }
    same_digests(r, &shown, where);
    pass(r, 55 * NS_PER_S);
    same_history(r, actions, where);
    return true;
}

/* "$/h", within so many percent of the list's. */
static json_t *about(struct entropy *dice, const char *type, int from, int to)
{
    int64_t percent = from + (int64_t)entropy_below(dice, (uint64_t)(to - from));
    return json_real((double)(ec2_builtin_price(type) / 100 * percent) / (double)PUSD_PER_USD);
}

/* Prices of its own: what the agent knows of them the plugin has from the agent alone. */
static json_t *new_market(uint64_t seed)
{
    struct entropy dice = entropy_seeded(&seed);
    const char *const *zones = ec2_builtin_zones("us-west-2");
    json_t *on_demand = json_object(), *spot = json_object();
    for (uint32_t t = 0; t < ec2_facts_n; t++) {
        const char *type = ec2_facts[t].name;
        uint64_t offered = ec2_builtin_offered("us-west-2", type);
        if (ec2_builtin_price(type) == PRICE_UNKNOWN || ec2_facts[t].vcpus > 8 || !offered) {
            continue;
        }
        json_object_set_new(on_demand, type, about(&dice, type, 70, 130));
        json_t *by_zone = json_object();
        for (int z = 0; zones[z]; z++) {
            if (offered >> z & 1) {
                json_object_set_new(by_zone, zones[z], about(&dice, type, 15, 65));
            }
        }
        json_object_set_new(spot, type, by_zone);
    }
    return json_pack("{s:o, s:o}", "onDemand", on_demand, "spot", spot);
}

static json_t *market;

static struct sim_run *new_world(uint64_t seed)
{
    struct err e = ERR_INIT;
    struct run_options o = {.seed = seed};
    scenario = (struct scenario){.path = (char *)(uintptr_t) "t",
                                 .name = "t",
                                 .region = "us-west-2",
                                 .replicas = 1,
                                 .ec2 = market = new_market(seed),
                                 .docs = json_array()};
    struct sim_run *r = sim_run_new(&scenario, &o, &e);
    ck_assert_msg(r != NULL, "%s", e.msg);
    ck_assert_int_eq(sim_run_play(r, &e), 0);
    return r;
}

static void world_free(struct sim_run *r)
{
    sim_run_free(r);
    json_decref(scenario.docs);
    json_decref(market);
}

START_TEST(what_is_shown_is_done)
{
    uint64_t state = (uint64_t)_i + 1;
    struct entropy dice = entropy_seeded(&state);
    struct load load;
    int n_same = 0;
    struct sim_run *r = new_world((uint64_t)_i + 1);
    for (int i = 0; i < APPS; i++) {
        load.cpu_milli[i] = 200 + 100 * (int)entropy_below(&dice, 16);
    }
    for (int i = 0; n_same < ROUNDS; i++) {
        char where[40];
        snprintf(where, sizeof(where), "world %d, cluster %d", _i, i);
        n_same += one_cluster(r, &dice, &load, where);
        ck_assert_msg(i < 2 * ROUNDS, "%s: the plan changes every time", where);
    }
    world_free(r);
}
END_TEST

/* ---- what came to nothing ----------------------------------------------------------------------
 */

/* Until something has begun. */
static void begins(struct sim_run *r, struct digests *ret)
{
    for (int i = 0; i < 200 && ret->n == 0; i++) {
        pass(r, NS_PER_S / 2);
        agent_plan(r, ret);
    }
    ck_assert_uint_gt(ret->n, 0);
}

static json_t *plugin_blocked(struct sim_run *r)
{
    AUTO_JSON json_t *plan = plugin_says(r);
    return json_incref(jsonx_arr(plan, "blocked"));
}

/* A node is being replaced, a Hold undoes that and goes again: for a minute the agent leaves the
 * node in peace, and the plugin says so. Then both have the plan again. */
START_TEST(what_came_to_nothing_waits)
{
    struct sim_run *r = new_world(1);
    struct digests begun = {.n = 0}, peace = {.n = 0}, again = {.n = 0}, done = {.n = 0};
    struct err e = ERR_INIT;
    put_pools(r, "Off");
    put_app(r, 0, 1000, 1500, 7);
    pass(r, NS_PER_MIN);
    put_app(r, 0, 1000, 1500, 1);
    begins(r, &begun);
    put(r, "{'apiVersion':'karp.dev/v1alpha1','kind':'Hold','metadata':{'name':'h'},'spec':{"
           "'target':{'kind':'Cluster'}}}");
    pass(r, 3 * NS_PER_S);
    agent_plan(r, &peace);
    ck_assert_msg(peace.n == 0, "the Hold does not undo it");
    ck_assert_int_eq(
        sim_api_delete(r->world->api, "somebody", SIM_HOLD, NULL, "h", NULL, -1, NULL, &e), 0);
    pass(r, 3 * NS_PER_S);
    AUTO_JSON json_t *none = plugin_plan(r, &peace);
    AUTO_JSON json_t *blocked = plugin_blocked(r);
    ck_assert_uint_eq(json_array_size(none), 0);
    ck_assert_uint_eq(json_array_size(blocked), 2); /* and the replacement, which comes up */
    ck_assert_str_eq(jsonx_str(json_array_get(blocked, 1), "code"), "Waiting");
    pass(r, 40 * NS_PER_S);
    agent_plan(r, &peace);
    ck_assert_msg(peace.n == 0, "it is not left in peace");
    pass(r, 20 * NS_PER_S);
    AUTO_JSON json_t *shown = plugin_plan(r, &again);
    ck_assert_uint_eq(json_array_size(shown), 1);
    begins(r, &done);
    ck_assert(same(&again, &done));
    world_free(r);
}
END_TEST

static const int worlds[WORLDS];

UNIT_MAIN("same_plan", UNIT_CASES(what_is_shown_is_done, worlds),
          UNIT_TEST(what_came_to_nothing_waits))
