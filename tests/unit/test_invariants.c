/* Each invariant can fail: a world that violates it, made by hand in an agent's name, and beside it
 * one that does not. */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "tests/sim/guest.h"
#include "tests/sim/invariants.h"
#include "tests/sim/run.h"
#include "unit.h"

#define AGENT "karp-agent-0"

static struct scenario scenario;

/* A run with so many agents, which waits until its one step; NULL: it has none. */
static struct sim_run *run_with(int replicas, int observers, struct scenario_step *wait,
                                int64_t turn_limit_ns)
{
    struct err e = ERR_INIT;
    struct run_options o = {.seed = 1, .turn_limit_ns = turn_limit_ns};
    scenario = (struct scenario){.path = (char *)(uintptr_t) "t",
                                 .name = "t",
                                 .region = "us-west-2",
                                 .replicas = replicas,
                                 .observers = observers,
                                 .steps = wait,
                                 .n_steps = wait ? 1 : 0,
                                 .docs = json_array()};
    struct sim_run *r = sim_run_new(&scenario, &o, &e);
    ck_assert_msg(r != NULL, "%s", e.msg);
    return r;
}

static struct sim_run *run_new(void)
{
    return run_with(0, 0, NULL, 0);
}

static void run_free(struct sim_run *r)
{
    sim_run_free(r);
    json_decref(scenario.docs);
}

static json_t *from_text(const char *text)
{
    char *copy AUTO_FREE = xstrdup(text);
    for (char *p = copy; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    json_error_t e;
    json_t *v = json_loads(copy, 0, &e);
    ck_assert_msg(v != NULL, "%s in %s", e.text, copy);
    return v;
}

static void put(struct sim_run *r, const char *who, const char *text)
{
    struct err e = ERR_INIT;
    AUTO_JSON json_t *o = from_text(text);
    ck_assert_msg(sim_api_apply(r->world->api, who, o, NULL, &e) == 0, "%s", e.msg);
}

static void put_status(struct sim_run *r, const char *who, enum sim_kind_id kind, const char *name,
                       const char *status)
{
    struct err e = ERR_INIT;
    ck_assert_msg(sim_api_patch(r->world->api, who, kind, "status", "default", name,
                                json_pack("{s:o}", "status", from_text(status)), NULL, &e) == 0,
                  "%s", e.msg);
}

static void del(struct sim_run *r, const char *who, enum sim_kind_id kind, const char *name)
{
    struct err e = ERR_INIT;
    ck_assert_msg(sim_api_delete(r->world->api, who, kind, "default", name, NULL, -1, NULL, &e) ==
                      0,
                  "%s", e.msg);
}

static void finalize(struct sim_run *r, const char *claim)
{
    struct err e = ERR_INIT;
    ck_assert_msg(sim_api_patch(r->world->api, AGENT, SIM_NODECLAIM, "", NULL, claim,
                                json_pack("{s:{s:n}}", "metadata", "finalizers"), NULL, &e) == 0,
                  "%s", e.msg);
}

/* Time passes in small steps, with a look at each. */
static void pass(struct sim_run *r, int64_t ns)
{
    int64_t end = vclock_now(&r->world->clock) + ns;
    while (vclock_now(&r->world->clock) < end) {
        vclock_run_to(&r->world->clock, vclock_now(&r->world->clock) + 5 * NS_PER_S);
        watchdog_look(r->watchdog);
    }
}

/* ---- the pieces
 * --------------------------------------------------------------------------------- */

#define POOL                                                                                       \
    "{'apiVersion':'karpenter.sh/v1','kind':'NodePool','metadata':{'name':'p'},'spec':{"           \
    "'limits':{'cpu':'10'},'disruption':{'consolidateAfter':'0s','budgets':[{'nodes':'1'}]},"      \
    "'template':{'spec':{'nodeClassRef':{'group':'karpenter.k8s.aws','kind':'EC2NodeClass',"       \
    "'name':'default'},'requirements':[{'key':'kubernetes.io/arch','operator':'In','values':["     \
    "'amd64']}]}}}}"

/* A claim of the pool with a finalizer, so that it stays while it goes. */
static void put_claim(struct sim_run *r, const char *name, const char *cpu, bool leaves)
{
    char *text AUTO_FREE = xasprintf(
        "{'apiVersion':'karpenter.sh/v1','kind':'NodeClaim','metadata':{'name':'%s','labels':{"
        "'karpenter.sh/nodepool':'p'},'finalizers':['karpenter.sh/termination']},'spec':{"
        "'nodeClassRef':{'group':'karpenter.k8s.aws','kind':'EC2NodeClass','name':'default'},"
        "'requirements':[{'key':'kubernetes.io/arch','operator':'In','values':['amd64']}]}}",
        name);
    put(r, AGENT, text);
    char *status AUTO_FREE = xasprintf(
        "{'nodeName':'n-%s','providerID':'aws:///us-west-2a/i-%s','capacity':{'cpu':'%s'},"
        "'conditions':[{'type':'DisruptionReason','status':'%s','reason':'Empty','message':'',"
        "'lastTransitionTime':'2026-01-05T09:00:00Z'}]}",
        name, name, cpu, leaves ? "True" : "False");
    put_status(r, AGENT, SIM_NODECLAIM, name, status);
}

static void put_node(struct sim_run *r, const char *name, const char *more)
{
    char *text AUTO_FREE =
        xasprintf("{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s',"
                  "'labels':{'karpenter.sh/nodepool':'p'}%s},'spec':{%s}}",
                  name, str_starts(more, ",") ? more : "", str_starts(more, ",") ? "" : more);
    put(r, "kubelet", text);
}

/* A ready pod of app a on the node. */
static void put_pod(struct sim_run *r, const char *name, const char *node, const char *more)
{
    char *text AUTO_FREE =
        xasprintf("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','namespace':'default',"
                  "'labels':{'app':'a'}%s},'spec':{'nodeName':'%s','containers':[{'name':'c',"
                  "'image':'i'}]}}",
                  name, more, node);
    put(r, "somebody", text);
    put_status(r, "kubelet", SIM_POD, name,
               "{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}");
}

static void put_instance(struct sim_run *r, bool ours)
{
    struct err e = ERR_INIT;
    const json_t *ns = sim_api_get(r->world->api, SIM_NAMESPACE, NULL, "kube-system");
    AUTO_JSON json_t *step =
        json_pack("{s:[{s:s, s:s}]}", "foreign", "type", "m5.large", "clusterUID",
                  ours ? jsonx_str(ns, "metadata.uid") : "another");
    ck_assert_msg(simec2_step(r->ec2, step, &e) == 0, "%s", e.msg);
}

/* ---- the worlds
 * --------------------------------------------------------------------------------- */

static void not_empty(struct sim_run *r, bool bad)
{
    put_claim(r, "a", "4", true);
    put_node(r, "n-a", "");
    put_pod(r, "x", bad ? "n-a" : "n-b", "");
    del(r, AGENT, SIM_NODECLAIM, "a");
}

/* A claim that waits for one replacement. */
static void replacement(struct sim_run *r, bool bad)
{
    put_claim(r, "a", "4", true);
    put_claim(r, "b", "4", false);
    put_status(r, AGENT, SIM_NODECLAIM, "a",
               "{'conditions':[{'type':'DisruptionReason','status':'True','reason':'Drifted',"
               "'message':'command abcdefghijklmnop: 1 node leaves for 1 new',"
               "'lastTransitionTime':'2026-01-05T09:00:00Z'}]}");
    put(r, AGENT,
        "{'apiVersion':'karpenter.sh/v1','kind':'NodeClaim','metadata':{'name':'b','annotations':{"
        "'karp.dev/replaces':'{\\\"command\\\":\\\"abcdefghijklmnop\\\",\\\"of\\\":1}'}}}");
    put_status(r, AGENT, SIM_NODECLAIM, "b",
               bad ? "{'conditions':[{'type':'Initialized','status':'Unknown','reason':'x',"
                     "'message':'','lastTransitionTime':'2026-01-05T09:00:00Z'}]}"
                   : "{'conditions':[{'type':'Initialized','status':'True','reason':'x',"
                     "'message':'','lastTransitionTime':'2026-01-05T09:00:00Z'}]}");
    del(r, AGENT, SIM_NODECLAIM, "a");
}

/* A claim, and what came for it in its command; the dearer type is two sizes larger. */
static void dearer(struct sim_run *r, bool bad)
{
    static const char ready[] = "{'conditions':[{'type':'Initialized','status':'True','reason':'x',"
                                "'message':'','lastTransitionTime':'2026-01-05T09:00:00Z'}]}";
    put_claim(r, "a", "4", true);
    put_claim(r, "b", "4", false);
    put_status(r, AGENT, SIM_NODECLAIM, "a",
               "{'conditions':[{'type':'DisruptionReason','status':'True',"
               "'reason':'Underutilized',"
               "'message':'command abcdefghijklmnop: 1 node leaves for 1 new',"
               "'lastTransitionTime':'2026-01-05T09:00:00Z'}]}");
    put(r, AGENT,
        "{'apiVersion':'karpenter.sh/v1','kind':'NodeClaim','metadata':{'name':'a','labels':{"
        "'node.kubernetes.io/instance-type':'m5.large','topology.kubernetes.io/zone':'us-west-2a',"
        "'karpenter.sh/capacity-type':'on-demand'}}}");
    char *b AUTO_FREE =
        xasprintf("{'apiVersion':'karpenter.sh/v1','kind':'NodeClaim','metadata':{'name':'b',"
                  "'labels':{'node.kubernetes.io/instance-type':'%s',"
                  "'topology.kubernetes.io/zone':'us-west-2a',"
                  "'karpenter.sh/capacity-type':'on-demand'},'annotations':{"
                  "'karp.dev/replaces':'{\\\"command\\\":\\\"abcdefghijklmnop\\\",\\\"of\\\":1,"
                  "\\\"claims\\\":[\\\"a\\\"]}'}}}",
                  bad ? "m5.2xlarge" : "c5.large");
    put(r, AGENT, b);
    put_status(r, AGENT, SIM_NODECLAIM, "b", ready);
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void approval(struct sim_run *r, bool bad)
{
    char *pool AUTO_FREE =
        xasprintf("{'apiVersion':'karpenter.sh/v1','kind':'NodePool','metadata':{'name':'p',"
                  "'annotations':{'karp.dev/disruption-approval':'%s'}}}",
                  bad ? "Drifted,Empty" : "Required");
    put(r, "somebody", pool);
    put_claim(r, "a", "4", true);
    del(r, AGENT, SIM_NODECLAIM, "a");
}

/* ---- approval: a request that stands behind the deletion of claim a */

static void put_request(struct sim_run *r, const char *name, const char *uid, const char *price,
                        const char *spec, const char *status)
{
    char *text AUTO_FREE = xasprintf(
        "{'apiVersion':'karp.dev/v1alpha1','kind':'DisruptionRequest','metadata':{'name':'%s'},"
        "'spec':{'reason':'Empty','nodePools':['p'],'candidates':[{'nodeClaim':'a','uid':'%s'}],"
        "'replacements':[{'nodePool':'p','pricePerHour':'%s'}],'podCount':0,'planDigest':'%064d',"
        "'savingsPerHour':'0.1','expiresAt':'2026-01-05T12:00:00Z'%s}}",
        name, uid, price, 0, spec);
    put(r, "somebody", text);
    put_status(r, AGENT, SIM_DISRUPTIONREQUEST, name, status);
}

#define YES ",'decision':'Approved','decidedBy':'alice'"
#define RUNS(at, more) "{'phase':'Executing','startedAt':'2026-01-05T" at "Z'" more "}"

/* The pool asks for a decision about a, which is as good as gone. Its UID. */
static const char *asks(struct sim_run *r)
{
    put(r, "somebody",
        "{'apiVersion':'karpenter.sh/v1','kind':'NodePool','metadata':{'name':'p','annotations':{"
        "'karp.dev/disruption-approval':'Empty'}}}");
    put_claim(r, "a", "4", true);
    return jsonx_str(sim_api_get(r->world->api, SIM_NODECLAIM, NULL, "a"), "metadata.uid");
}

static void approval_given(struct sim_run *r, bool bad)
{
    put_request(r, "dr-1", asks(r), "1", bad ? "" : YES, RUNS("10:00:00", ""));
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void approval_refused(struct sim_run *r, bool bad)
{
    const char *spec = bad ? ",'decision':'Denied','decidedBy':'alice'" : YES;
    put_request(r, "dr-1", asks(r), "1", spec, RUNS("10:00:00", ""));
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void approval_of_another(struct sim_run *r, bool bad)
{
    const char *uid = asks(r);
    put_request(r, "dr-1", bad ? "another" : uid, "1", YES, RUNS("10:00:00", ""));
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void approval_too_late(struct sim_run *r, bool bad)
{
    put_request(r, "dr-1", asks(r), "1", YES, bad ? RUNS("12:00:00", "") : RUNS("11:59:59", ""));
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void approval_too_early(struct sim_run *r, bool bad)
{
    put_request(r, "dr-1", asks(r), "1", YES ",'notBefore':'2026-01-05T11:00:00Z'",
                bad ? RUNS("10:59:59", "") : RUNS("11:00:00", ""));
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void approval_not_begun(struct sim_run *r, bool bad)
{
    put_request(r, "dr-1", asks(r), "1", YES,
                bad ? "{'phase':'Superseded'}" : RUNS("10:00:00", ""));
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void approval_inherited(struct sim_run *r, bool bad)
{
    const char *uid = asks(r);
    put_request(r, "dr-1", uid, "1", YES, "{'phase':'Superseded'}");
    put_request(r, "dr-2", uid, bad ? "1.1" : "0.9", ",'supersedes':'dr-1'", RUNS("10:00:00", ""));
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void put_grant(struct sim_run *r, const char *pool, const char *reason, int rate)
{
    char *text AUTO_FREE = xasprintf(
        "{'apiVersion':'karp.dev/v1alpha1','kind':'DisruptionGrant','metadata':{'name':'g'},"
        "'spec':{'pools':['%s'],'reasons':['%s'],'maxNodesPerHour':%d,'grantedBy':'carol'}}",
        pool, reason, rate);
    put(r, "somebody", text);
}

static void approval_granted(struct sim_run *r, bool bad)
{
    put_grant(r, bad ? "q" : "p", "Empty", 1);
    put_request(r, "dr-1", asks(r), "1", "", RUNS("10:00:00", ",'grant':'g'"));
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void approval_granted_reason(struct sim_run *r, bool bad)
{
    put_grant(r, "*", bad ? "Drifted" : "Empty", 1);
    put_request(r, "dr-1", asks(r), "1", "", RUNS("10:00:00", ",'grant':'g'"));
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void approval_rate(struct sim_run *r, bool bad)
{
    put_grant(r, "p", "Empty", 1);
    put_request(r, "dr-0", "another", "1", "",
                bad ? RUNS("09:00:01", ",'grant':'g'") : RUNS("09:00:00", ",'grant':'g'"));
    put_request(r, "dr-1", asks(r), "1", "", RUNS("10:00:00", ",'grant':'g'"));
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void do_not_disrupt_node(struct sim_run *r, bool bad)
{
    put_claim(r, "a", "4", true);
    put_node(r, "n-a",
             bad ? ",'annotations':{'karpenter.sh/do-not-disrupt':'true'}"
                 : ",'annotations':{'karpenter.sh/do-not-disrupt':'false'}");
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void do_not_disrupt_pod(struct sim_run *r, bool bad)
{
    put_claim(r, "a", "4", bad);
    put_node(r, "n-a", "");
    put_pod(r, "x", "n-a", ",'annotations':{'karpenter.sh/do-not-disrupt':'true'}");
    del(r, AGENT, SIM_POD, "x");
}

static void budget(struct sim_run *r, bool bad)
{
    put_claim(r, "a", "4", true);
    put_claim(r, "b", "4", true);
    del(r, AGENT, SIM_NODECLAIM, "a");
    del(r, bad ? AGENT : "somebody", SIM_NODECLAIM, "b");
}

static void pdb(struct sim_run *r, bool bad)
{
    put_node(r, "n-a", "");
    put_pod(r, "x", "n-a", "");
    put_pod(r, "y", "n-a", "");
    put(r, "somebody",
        bad ? "{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{'name':'b',"
              "'namespace':'default'},'spec':{'minAvailable':2,'selector':{'matchLabels':{"
              "'app':'a'}}}}"
            : "{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{'name':'b',"
              "'namespace':'default'},'spec':{'maxUnavailable':'50%','selector':{'matchLabels':{"
              "'app':'a'}}}}");
    del(r, AGENT, SIM_POD, "x");
}

static void limit(struct sim_run *r, bool bad)
{
    put_claim(r, "a", "6", false);
    put_claim(r, "b", bad ? "6" : "4", false);
}

static void two_instances(struct sim_run *r, bool bad)
{
    put_instance(r, true);
    put_instance(r, !bad ? false : true);
    watchdog_look(r->watchdog);
}

static void orphan(struct sim_run *r, bool bad)
{
    put_instance(r, true);
    pass(r, bad ? INVARIANT_ORPHAN_NS + NS_PER_MIN : INVARIANT_ORPHAN_NS - NS_PER_MIN);
}

static void foreign(struct sim_run *r, bool bad)
{
    put_instance(r, !bad);
    watchdog_look(r->watchdog);
    simec2_kill(r->ec2, simec2_instance_at(r->ec2, 0)->id);
    pass(r, NS_PER_MIN);
}

static void taint(struct sim_run *r, bool bad)
{
    put_claim(r, "a", "4", false);
    put_node(r, "n-a",
             "'providerID':'aws:///us-west-2a/i-a','taints':[{'key':'karpenter.sh/disrupted',"
             "'effect':'NoSchedule'}]");
    if (!bad) {
        del(r, AGENT, SIM_NODECLAIM, "a");
    }
    pass(r, INVARIANT_TAINT_NS + NS_PER_MIN);
}

/* Nobody launches for it; the other one is larger than the pool's limit. */
static void starved(struct sim_run *r, bool bad)
{
    put_status(r, AGENT, SIM_NODEPOOL, "p",
               "{'conditions':[{'type':'Ready','status':'True','reason':'Ready','message':'',"
               "'lastTransitionTime':'2026-01-05T09:00:00Z'}]}");
    put_status(r, AGENT, SIM_EC2NODECLASS, "default",
               "{'subnets':[{'id':'subnet-1','zone':'us-west-2a','zoneID':'usw2-az1'}]}");
    char *text AUTO_FREE = xasprintf(
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'x','namespace':'default'},'spec':{"
        "'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'%s'}}}]}}",
        bad ? "1" : "11");
    put(r, "somebody", text);
    pass(r, INVARIANT_STARVED_NS + 3 * NS_PER_MIN);
}

/* Only that it went well. */
static void went_well(void *arg, const struct aws_resp *resp)
{
    (void)arg;
    ck_assert_msg(resp->status == 200, "%s", resp->body);
}

static void growth(struct sim_run *r, bool bad)
{
    struct simec2_port *port = simec2_port_new(r->ec2);
    struct aws_port *aws = simec2_port_aws(port);
    int n = bad ? INVARIANT_TEMPLATES_MAX + 1 : INVARIANT_TEMPLATES_MAX;
    for (int i = 0; i < n; i++) {
        char *body AUTO_FREE = xasprintf("Action=CreateLaunchTemplate&Version=2016-11-15&"
                                         "LaunchTemplateName=t-%d&ClientToken=t-%d&"
                                         "LaunchTemplateData.IamInstanceProfile.Name=node",
                                         i, i);
        struct aws_req req = {.service = "ec2",
                              .action = "CreateLaunchTemplate",
                              .method = "POST",
                              .path = "/",
                              .body = body,
                              .body_n = strlen(body)};
        aws->request(aws->ctx, &req, went_well, NULL);
    }
    pass(r, NS_PER_MIN);
    ck_assert_uint_eq(simec2_n_templates(r->ec2), (size_t)n);
    simec2_port_free(port);
}

static void notice(struct sim_run *r, bool bad)
{
    static const char url[] = "{\"QueueUrl\": \"https://x/1/sim\"}";
    struct err e = ERR_INIT;
    put_instance(r, true);
    const struct simec2_instance *inst = simec2_instance_at(r->ec2, 0);
    AUTO_JSON json_t *step = json_pack("{s:[s]}", "spotInterruption", inst->id);
    ck_assert_msg(simec2_step(r->ec2, step, &e) == 0, "%s", e.msg);
    struct simec2_port *port = simec2_port_new(r->ec2);
    struct aws_port *aws = simec2_port_aws(port);
    const struct aws_req req = {.service = "sqs",
                                .action = "ReceiveMessage",
                                .method = "POST",
                                .path = "/",
                                .body = url,
                                .body_n = sizeof(url) - 1};
    put_claim(r, "a", "4", false);
    char *status AUTO_FREE = xasprintf("{'providerID':'%s'}", inst->provider_id);
    put_status(r, AGENT, SIM_NODECLAIM, "a", status);
    for (int i = 0; i < 3; i++) { /* its state-changes come first */
        aws->request(aws->ctx, &req, went_well, NULL);
        pass(r, NS_PER_S);
    }
    ck_assert(simec2_instance_at(r->ec2, 0)->notice_read);
    if (!bad) {
        del(r, AGENT, SIM_NODECLAIM, "a");
    }
    pass(r, 3 * INVARIANT_NOTICE_NS);
    simec2_port_free(port);
}

/* What is about the node only after the grace: made so many seconds before. */
static void put_hold(struct sim_run *r, const char *target, const char *more, int64_t before_s)
{
    char *text AUTO_FREE = xasprintf("{'apiVersion':'karp.dev/v1alpha1','kind':'Hold','metadata':{"
                                     "'name':'h'},'spec':{'target':{%s}%s}}",
                                     target, more);
    put(r, "somebody", text);
    vclock_run_to(&r->world->clock, vclock_now(&r->world->clock) + before_s * NS_PER_S);
}

static void hold_removal(struct sim_run *r, bool bad)
{
    put_claim(r, "a", "4", true);
    put_hold(r, "'kind':'Node','name':'n-a'", "", bad ? 6 : 4);
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void hold_of_a_pool(struct sim_run *r, bool bad)
{
    put_claim(r, "a", "4", true);
    put_hold(r, bad ? "'kind':'NodePool','name':'p'" : "'kind':'NodePool','name':'q'", "", 60);
    del(r, AGENT, SIM_NODECLAIM, "a");
}

static void hold_until(struct sim_run *r, bool bad)
{
    put_claim(r, "a", "4", true);
    put_hold(r, "'kind':'NodeClaim','name':'a'",
             bad ? ",'until':'2030-01-01T00:00:00Z'" : ",'until':'1970-01-01T00:00:30Z'", 60);
    del(r, AGENT, SIM_NODECLAIM, "a");
}

/* Forceful expiry deletes first and says why afterwards. */
static void hold_expiry(struct sim_run *r, bool bad)
{
    put_claim(r, "a", "4", false);
    put_hold(r, "'kind':'Cluster'", "", bad ? 8 : 2);
    del(r, AGENT, SIM_NODECLAIM, "a");
    put_status(r, AGENT, SIM_NODECLAIM, "a",
               "{'conditions':[{'type':'DisruptionReason','status':'True','reason':'Expired',"
               "'message':'','lastTransitionTime':'2026-01-05T09:00:00Z'}]}");
}

static void hold_launch(struct sim_run *r, bool bad)
{
    put_hold(r, "'kind':'Cluster'", bad ? ",'scope':'All'" : "", 60);
    put_claim(r, "a", "4", false);
}

/* The claim ends with one entry, and with two. */
static void history(struct sim_run *r, bool bad)
{
    put_claim(r, "a", "4", false);
    del(r, "somebody", SIM_NODECLAIM, "a");
    const json_t *claim = sim_api_get(r->world->api, SIM_NODECLAIM, NULL, "a");
    const char *uid = jsonx_str(claim, "metadata.uid");
    char *text AUTO_FREE = xasprintf(
        "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'karp-history','namespace':"
        "'karp'},'data':{'history.json':'{\\\"entries\\\":[{\\\"uid\\\":\\\"%s\\\"},{"
        "\\\"uid\\\":\\\"%s\\\"}]}'}}",
        uid, bad ? uid : "another");
    put(r, AGENT, text);
    finalize(r, "a");
}

static void no_history(struct sim_run *r, bool bad)
{
    put_claim(r, "a", "4", false);
    if (!bad) {
        put_status(r, AGENT, SIM_NODECLAIM, "a", "{'providerID':null}");
    }
    del(r, "somebody", SIM_NODECLAIM, "a");
    finalize(r, "a");
}

static const struct {
    const char *kind;
    void (*make)(struct sim_run *r, bool bad);
} worlds[] = {{"NotEmpty", not_empty},
              {"Replacement", replacement},
              {"Dearer", dearer},
              {"Approval", approval},
              {"Approval", approval_given},
              {"Approval", approval_refused},
              {"Approval", approval_of_another},
              {"Approval", approval_too_late},
              {"Approval", approval_too_early},
              {"Approval", approval_not_begun},
              {"Approval", approval_inherited},
              {"Approval", approval_granted},
              {"Approval", approval_granted_reason},
              {"Approval", approval_rate},
              {"DoNotDisrupt", do_not_disrupt_node},
              {"DoNotDisrupt", do_not_disrupt_pod},
              {"Budget", budget},
              {"Pdb", pdb},
              {"Hold", hold_removal},
              {"Hold", hold_of_a_pool},
              {"Hold", hold_until},
              {"Hold", hold_expiry},
              {"Hold", hold_launch},
              {"Limit", limit},
              {"TwoInstances", two_instances},
              {"Orphan", orphan},
              {"Foreign", foreign},
              {"Taint", taint},
              {"Starved", starved},
              {"Notice", notice},
              {"Growth", growth},
              {"History", history},
              {"History", no_history}};

START_TEST(each_can_fail)
{
    for (int bad = 0; bad < 2; bad++) {
        struct sim_run *r = run_new();
        put(r, "somebody", POOL);
        worlds[_i].make(r, bad);
        watchdog_end(r->watchdog);
        const char *first = r->violations.n ? r->violations.v[0] : "nothing";
        ck_assert_msg(bad ? str_starts(first, worlds[_i].kind) : r->violations.n == 0, "%s, %s: %s",
                      worlds[_i].kind, bad ? "violated" : "kept", first);
        run_free(r);
    }
}
END_TEST

/* ---- with an agent
 * ------------------------------------------------------------------------------ */

/* What the agent's watches have not told it of when the run ends. */
static const struct {
    const char *what, *says;
} views[] = {{"nothing", NULL},
             {"a node is new", "knows version 0 of Node n-b"},
             {"a node has changed", "of Node n-a, which is at"},
             {"a node is gone", "knows Node n-a, which is gone"}};

START_TEST(the_view_can_differ)
{
    struct err e = ERR_INIT;
    struct sim_run *r = run_with(1, 0, NULL, 0);
    ck_assert_int_eq(sim_run_play(r, &e), 0);
    put_node(r, "n-a", "");
    pass(r, 2 * INVARIANT_SETTLED_NS);
    ck_assert_uint_eq(r->violations.n, 0);
    if (_i > 0) {
        sim_api_lag_watches(r->world->api, SIM_NODE, NS_PER_H, NS_PER_H);
    }
    if (_i == 3) {
        del(r, "somebody", SIM_NODE, "n-a");
    } else {
        put_node(r, _i == 1 ? "n-b" : "n-a", _i == 2 ? ",'annotations':{'a':'b'}" : "");
    }
    pass(r, NS_PER_MIN);
    watchdog_end(r->watchdog);
    const char *seen = r->violations.n ? r->violations.v[0] : "nothing";
    ck_assert_msg(views[_i].says ? str_starts(seen, "View") && strstr(seen, views[_i].says) != NULL
                                 : r->violations.n == 0,
                  "%s: %s", views[_i].what, seen);
    run_free(r);
}
END_TEST

/* No turn is free. */
START_TEST(a_turn_can_be_too_long)
{
    for (int bad = 0; bad < 2; bad++) {
        struct err e = ERR_INIT;
        AUTO_JSON json_t *none = json_array();
        struct scenario_step wait = {.at_ns = NS_PER_MIN, .verb = STEP_EXPECT, .arg = none};
        struct sim_run *r = run_with(1, 0, &wait, bad ? 1 : NS_PER_H);
        ck_assert_int_eq(sim_run_play(r, &e), 0);
        ck_assert_uint_eq(r->violations.n, (size_t)bad);
        ck_assert(!bad || str_starts(r->violations.v[0], "Turn"));
        ck_assert_int_gt(r->longest_turn_ns, 0);
        run_free(r);
    }
}
END_TEST

/* Nobody minds the answer. */
static void answered(void *arg, const struct kube_resp *resp)
{
    (void)arg;
    (void)resp;
}

/* In an agent's name, past its throttle: as often in one second as one agent may ask, and once more
 * than that. */
START_TEST(the_rate_can_be_too_high)
{
    for (int bad = 0; bad < 2; bad++) {
        static const struct kube_req req = {.method = "GET", .path = "/api/v1/nodes/none"};
        struct sim_run *r = run_with(1, 0, NULL, 0);
        guest_crash(r->guests[0], -1); /* its own requests would count, too */
        struct kube_port *port = sim_api_port(r->world->api, guest_name(r->guests[0]));
        uint64_t most = guest_rate(r->guests[0]) + INVARIANT_LEASE_CALLS;
        pass(r, NS_PER_MIN);
        r->most_a_second = 0;
        for (uint64_t i = 0; i < most + (uint64_t)bad; i++) {
            port->request(port->ctx, &req, answered, NULL);
        }
        pass(r, NS_PER_MIN);
        ck_assert_uint_eq(r->most_a_second, most + (uint64_t)bad);
        const char *first = r->violations.n ? r->violations.v[0] : "nothing";
        ck_assert_msg(bad ? str_starts(first, "Rate") : r->violations.n == 0, "%s: %s",
                      bad ? "violated" : "kept", first);
        port->close(port->ctx);
        run_free(r);
    }
}
END_TEST

/* In an observing agent's name, past its fence. */
static const struct {
    const char *what, *method, *path, *body, *action;
    bool bad;
} observed[] = {
    {"reads", "GET", "/api/v1/nodes/none", NULL, NULL, false},
    {"asks EC2", NULL, NULL, NULL, "DescribeInstances", false},
    {"its own ConfigMap", "POST", "/api/v1/namespaces/karp/configmaps",
     "{'metadata':{'name':'karp-observed'}}", NULL, false},
    {"another ConfigMap", "POST", "/api/v1/namespaces/karp/configmaps",
     "{'metadata':{'name':'karp-history'}}", NULL, true},
    {"a write that is refused", "DELETE", "/api/v1/nodes/none", NULL, NULL, true},
    {"ends instances", NULL, NULL, NULL, "TerminateInstances", true},
};

START_TEST(an_observer_can_write)
{
    struct sim_run *r = run_with(0, 1, NULL, 0);
    ck_assert_int_eq(r->n_guests, 1);
    if (observed[_i].method) {
        struct kube_port *port = sim_api_port(r->world->api, guest_name(r->guests[0]));
        AUTO_JSON json_t *body = observed[_i].body ? from_text(observed[_i].body) : NULL;
        const struct kube_req req = {
            .method = observed[_i].method, .path = observed[_i].path, .body = body};
        port->request(port->ctx, &req, answered, NULL);
        pass(r, NS_PER_MIN);
        port->close(port->ctx);
    } else {
        watchdog_aws(r->watchdog, r->guests[0], observed[_i].action);
    }
    const char *first = r->violations.n ? r->violations.v[0] : "nothing";
    ck_assert_msg(observed[_i].bad ? str_starts(first, "Observes") : r->violations.n == 0, "%s: %s",
                  observed[_i].what, first);
    run_free(r);
}
END_TEST

UNIT_MAIN("invariants", UNIT_CASES(an_observer_can_write, observed),
          UNIT_CASES(each_can_fail, worlds), UNIT_CASES(the_view_can_differ, views),
          UNIT_TEST(a_turn_can_be_too_long), UNIT_TEST(the_rate_can_be_too_high))
