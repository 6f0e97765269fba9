/* What `kubectl karp consolidate --dry-run` prints is what the agent then does: random clusters in
 * the simulated world whose load goes, the plugin's plan from the objects that the API server has,
 * and the plan digests that the agent writes on what it begins with. */
#include "cmdrun.h"
#include "common/base/alloc.h"
#include "common/base/entropy.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "tests/sim/run.h"

#define CLUSTERS 24
#define APPS 5
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

static void put_pool(struct sim_run *r, const char *name, const char *policy, const char *approval)
{
    char *text AUTO_FREE = xasprintf(
        "{'apiVersion':'karpenter.sh/v1','kind':'NodePool','metadata':{'name':'%s','annotations':{"
        "'karp.dev/disruption-approval':'%s'}},'spec':{'template':{'metadata':{'labels':{"
        "'pool':'%s'}},'spec':{'nodeClassRef':{'group':'karpenter.k8s.aws','kind':'EC2NodeClass',"
        "'name':'default'},'requirements':[{'key':'karpenter.sh/capacity-type','operator':'In',"
        "'values':['on-demand']},{'key':'karpenter.k8s.aws/instance-cpu','operator':'Lt','values':["
        "'9']}]}},'disruption':{'consolidationPolicy':'%s','consolidateAfter':'0s',"
        "'budgets':[{'nodes':'100%%'}]}}}",
        name, approval, name, policy);
    put(r, text);
}

static void put_pools(struct sim_run *r, const char *approval)
{
    put_pool(r, "a", "WhenEmptyOrUnderutilized", approval);
    put_pool(r, "b", "Balanced", approval);
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
        for (size_t i = 0; i < sim_api_count(r->world->api, (enum sim_kind_id)k); i++) {
            const json_t *o = sim_api_at(r->world->api, (enum sim_kind_id)k, i);
            json_array_append_new(json_object_get(list, "items"), json_deep_copy(o));
        }
    }
    ck_assert_int_eq(json_dump_file(list, path, 0), 0);
}

static void plugin_plan(struct sim_run *r, struct digests *ret)
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
    AUTO_JSON json_t *plan = json_loads(run.out, 0, &je);
    ck_assert_msg(plan != NULL, "%s", je.text);
    size_t i;
    json_t *action;
    json_array_foreach (jsonx_arr(plan, "actions"), i, action) {
        if (!str_eq(jsonx_str(action, "reason"), "Empty")) {
            digests_add(ret, jsonx_str(action, "planDigest"));
        }
    }
    cmdrun_done(&run);
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

START_TEST(what_is_shown_is_done)
{
    struct err e = ERR_INIT;
    struct run_options o = {.seed = (uint64_t)_i + 1};
    uint64_t state = (uint64_t)_i + 1;
    struct entropy dice = entropy_seeded(&state);
    struct digests shown = {.n = 0}, done = {.n = 0};
    int size[APPS], replicas[APPS];
    scenario = (struct scenario){.path = (char *)(uintptr_t) "t",
                                 .name = "t",
                                 .region = "us-west-2",
                                 .replicas = 1,
                                 .docs = json_array()};
    struct sim_run *r = sim_run_new(&scenario, &o, &e);
    ck_assert_msg(r != NULL, "%s", e.msg);
    ck_assert_int_eq(sim_run_play(r, &e), 0);
    put_pools(r, "Required");
    for (int i = 0; i < APPS; i++) {
        size[i] = 200 + 100 * (int)entropy_below(&dice, 16);
        replicas[i] = 3 + (int)entropy_below(&dice, 12);
        put_app(r, i, size[i], size[i] * 2, replicas[i]);
        pass(r, 40 * NS_PER_S);
    }
    pass(r, 90 * NS_PER_S);
    for (int i = 0; i < APPS; i++) {
        put_app(r, i, size[i], size[i] * 2, (int)entropy_below(&dice, (uint64_t)replicas[i]));
    }
    pass(r, 150 * NS_PER_S);
    agent_plan(r, &done);
    ck_assert_uint_eq(done.n, 0); /* everything waits for a decision */
    put_pools(r, "Off");
    pass(r, 15 * NS_PER_S);
    plugin_plan(r, &shown);
    for (int i = 0; i < 40; i++) {
        pass(r, NS_PER_S / 4);
        agent_plan(r, &done);
    }
    ck_assert_msg(done.n == shown.n, "cluster %d: %zu shown, %zu done", _i, shown.n, done.n);
    for (size_t i = 0; i < shown.n; i++) {
        ck_assert_msg(digests_have(&done, shown.v[i]), "cluster %d: %s is not done", _i,
                      shown.v[i]);
    }
    sim_run_free(r);
    json_decref(scenario.docs);
}
END_TEST

static const int clusters[CLUSTERS];

UNIT_MAIN("same_plan", UNIT_CASES(what_is_shown_is_done, clusters))
