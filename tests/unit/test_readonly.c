/* test_readonly.c - the reading commands against a server that writes down every request: they send
 * GETs and nothing else (cmd/disrupt/simulate.c, cmd/explain/explain.c, cmd/disrupt/consolidate.c,
 * cmd/read/snapshot.c, cmd/status/status.c). */
#include "cmdrun.h"
#include "cmdserver.h"
#include "common/base/buf.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/yamlx.h"

#define ROLES "deploy/base/10-rbac.yaml"
#define ROLES_MAX (64u << 10)

/* A cluster with a pod that waits, one pool and a node without room. The first path that fits; else
 * an empty list. */
static const struct {
    const char *path, *body;
} answers[] = {
    {"/version", "{\"gitVersion\": \"v1.34.4\"}"},
    {"/api/v1/pods",
     LIST("Pod", "v1",
          "{\"metadata\": {\"name\": \"waits\", \"namespace\": \"default\"}, \"spec\": "
          "{\"containers\": [{\"name\": \"c\", \"env\": [{\"name\": \"P\", \"value\": "
          "\"hunter2\"}], \"resources\": {\"requests\": {\"cpu\": \"1\"}}}]}, \"status\": "
          "{\"phase\": \"Pending\", \"conditions\": [{\"type\": \"PodScheduled\", \"status\": "
          "\"False\", \"reason\": \"Unschedulable\"}]}}, {\"metadata\": {\"name\": \"runs\", "
          "\"namespace\": \"default\"}, \"spec\": {\"nodeName\": \"n1\", \"containers\": "
          "[{\"name\": \"c\"}]}, \"status\": {\"phase\": \"Running\"}}")},
    {"/api/v1/events",
     LIST("Event", "v1",
          "{\"metadata\": {\"name\": \"e\", \"namespace\": \"default\"}, \"involvedObject\": "
          "{\"kind\": \"Pod\", \"name\": \"waits\", \"namespace\": \"default\"}, \"reason\": "
          "\"FailedScheduling\", \"message\": \"said by the controller\", \"source\": "
          "{\"component\": \"karp\"}}")},
    {"/apis/apps/v1/deployments",
     LIST("Deployment", "apps/v1",
          "{\"metadata\": {\"name\": \"web\", \"namespace\": \"shop\"}, \"spec\": {\"template\": "
          "{\"spec\": {\"containers\": [{\"name\": \"c\", \"resources\": {\"requests\": "
          "{\"cpu\": \"1\"}}}]}}}}")},
    {"/apis/karpenter.sh/v1/nodepools",
     LIST("NodePool", "karpenter.sh/v1",
          "{\"metadata\": {\"name\": \"only\"}, \"spec\": {\"template\": {\"spec\": "
          "{\"nodeClassRef\": {\"group\": \"karpenter.k8s.aws\", \"kind\": \"EC2NodeClass\", "
          "\"name\": \"d\"}, \"requirements\": [{\"key\": \"node.kubernetes.io/instance-type\", "
          "\"operator\": \"In\", \"values\": [\"m5.large\"]}]}}}}")},
    {"/api/v1/nodes",
     LIST("Node", "v1",
          "{\"metadata\": {\"name\": \"n1\", \"labels\": {\"karpenter.sh/nodepool\": \"only\", "
          "\"karpenter.sh/registered\": \"true\", \"karpenter.sh/initialized\": \"true\", "
          "\"node.kubernetes.io/instance-type\": \"m5.large\"}}, \"spec\": {\"providerID\": "
          "\"aws:///us-east-1a/i-1\"}, \"status\": {\"allocatable\": {\"cpu\": \"100m\", "
          "\"pods\": \"10\"}, \"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}]}}")},
    {"/apis/karpenter.sh/v1/nodeclaims",
     LIST("NodeClaim", "karpenter.sh/v1",
          "{\"metadata\": {\"name\": \"only-x\", \"labels\": {\"karpenter.sh/nodepool\": "
          "\"only\"}}, \"spec\": {\"nodeClassRef\": {\"group\": \"karpenter.k8s.aws\", "
          "\"kind\": \"EC2NodeClass\", \"name\": \"d\"}}, \"status\": {\"nodeName\": \"n1\", "
          "\"providerID\": \"aws:///us-east-1a/i-1\", \"conditions\": [{\"type\": "
          "\"Initialized\", \"status\": \"True\"}]}}")},
    {"/api/v1/namespaces/karp/configmaps", NULL},
    {"/apis/karp.dev", NULL},
};

static const char *answer_to(const struct server *s, const char *request, int *ret_status)
{
    const char *path = strchr(request, ' ') + 1;
    if (s->forbid && str_starts(path, s->forbid)) {
        *ret_status = 403;
        return "{\"kind\": \"Status\", \"code\": 403, \"reason\": \"Forbidden\", \"message\": "
               "\"viewer cannot list it\"}";
    }
    *ret_status = 200;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        if (str_starts(path, answers[i].path)) {
            *ret_status = answers[i].body ? 200 : 404;
            return answers[i].body ? answers[i].body
                                   : "{\"kind\": \"Status\", \"code\": 404, \"reason\": "
                                     "\"NotFound\", \"message\": \"no such thing\"}";
        }
    }
    return LIST("", "v1", "");
}

/* A command, what its answer says, and a request that it makes. */
static const struct {
    const struct cmd_info *info;
    const char *args[8];
    const char *says, *asks;
} runs[] = {
    {&cmd_simulate_info, {NULL}, "1 pod: 0 on existing nodes, 1 on new nodes", "GET /api/v1/pods?"},
    {&cmd_simulate_info,
     {"--scale", "shop/web=3", "--set", "nodepool/only.spec.limits.cpu=0"},
     "4 pods: 0 on existing nodes, 0 on new nodes, 4 without a home",
     "GET /apis/apps/v1/deployments?"},
    {&cmd_explain_info,
     {"pod", "waits"},
     "said by the controller",
     "GET /api/v1/events?fieldSelector=involvedObject.kind%3DPod%2CinvolvedObject.name%3Dwaits"},
    {&cmd_explain_info,
     {"pods", "--pending", "--scheduler-config={podTopologySpread: {}}"},
     "1 pending pod",
     "GET /api/v1/services?"},
    {&cmd_explain_info, {"pods", "--pending"}, "1 pending pod", "GET /api/v1/nodes?"},
    {&cmd_explain_info, {"pod", "runs"}, "runs on n1", "GET /api/v1/events?"},
    {&cmd_explain_info, {"pod/waits", "-ojson"}, "\"Schedulable\"", "GET /api/v1/pods?"},
    {&cmd_snapshot_info, {NULL}, "name: waits", "GET /apis/storage.k8s.io/v1/storageclasses?"},
    {&cmd_snapshot_info, {"--redact", "-ojson"}, "\"r0000001\"", "GET /api/v1/pods?"},
    {&cmd_explain_info,
     {"node", "n1"},
     "Node n1   nodeclaim only-x   m5.large",
     "GET /api/v1/events?fieldSelector=involvedObject.namespace%3D"},
    {&cmd_explain_info,
     {"nodeclaim/only-x", "-ojson"},
     "\"NodeExplanation\"",
     "GET /apis/policy/v1/poddisruptionbudgets?"},
    {&cmd_explain_info,
     {"nodepool", "only"},
     "NodePool only",
     "GET /apis/karpenter.sh/v1/nodeclaims?"},
    {&cmd_consolidate_info,
     {"--dry-run"},
     "over 1 managed node",
     "GET /apis/policy/v1/poddisruptionbudgets?"},
    {&cmd_consolidate_info,
     {"--dry-run", "-ojson"},
     "\"ConsolidationPlan\"",
     "GET /apis/karpenter.sh/v1/nodeclaims?"},
    {&cmd_status_info, {NULL}, "1 needs a new node", "GET /api/v1/pods?"},
    {&cmd_history_info,
     {NULL},
     "No history",
     "GET /api/v1/namespaces/karp/configmaps/karp-history"},
    {&cmd_version_info, {NULL}, "Server Version: v1.34.4", "GET /version"},
    {&cmd_status_info, {"-owide"}, "NODECLASS", "GET /apis/karpenter.sh/v1/nodeclaims?"},
    {&cmd_status_info, {"-oyaml"}, "kind: StatusReport", "GET /apis/coordination.k8s.io/v1/leases"},
};

static bool has_text(const json_t *list, const char *text)
{
    size_t i;
    json_t *v;
    json_array_foreach ((json_t *)(uintptr_t)list, i, v) {
        if (str_eq(json_string_value(v), text)) {
            return true;
        }
    }
    return false;
}

/* The shipped role for people lets them list it. */
static bool viewer_may_list(const json_t *docs, const char *group, const char *plural)
{
    size_t i, k;
    json_t *o, *rule;
    json_array_foreach ((json_t *)(uintptr_t)docs, i, o) {
        bool viewer = str_eq(jsonx_str(o, "kind"), "ClusterRole") &&
                      str_eq(jsonx_str(o, "metadata.name"), "karp-viewer");
        json_array_foreach (viewer ? jsonx_arr(o, "rules") : NULL, k, rule) {
            if (has_text(jsonx_arr(rule, "apiGroups"), group) &&
                has_text(jsonx_arr(rule, "resources"), plural) &&
                has_text(jsonx_arr(rule, "verbs"), "list")) {
                return true;
            }
        }
    }
    return false;
}

static json_t *read_roles(void)
{
    char text[ROLES_MAX];
    struct err err = ERR_INIT;
    FILE *f = fopen(ROLES, "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(text, 1, sizeof(text), f);
    fclose(f);
    json_t *docs = yamlx_parse_all(text, n, ROLES, NULL, &err);
    ck_assert_msg(docs != NULL, "%s", err.msg);
    return docs;
}

/* Lists have a query: "GET /apis/GROUP/VERSION/PLURAL?…". */
static void check_role(const json_t *docs, const char *line)
{
    char path[256], group[64] = "", end;
    if (sscanf(line, "GET %255[^? ]%c", path, &end) == 2 && end == '?') {
        (void)sscanf(path, "/apis/%63[^/]", group);
        ck_assert_msg(viewer_may_list(docs, group, strrchr(path, '/') + 1), "%s", path);
    }
}

START_TEST(only_gets)
{
    struct server *s = calloc(1, sizeof(*s));
    struct cmdrun r;
    char url[64];
    s->answer = answer_to;
    s->forbid = NULL;
    server_start(s, url);
    cmdrun(runs[_i].info, runs[_i].args, url, &r);
    server_stop(s);
    ck_assert_msg(r.rc == 0, "%s", r.err.msg);
    ck_assert_msg(str_contains(r.out, runs[_i].says), "%s", r.out);
    ck_assert_msg(!str_contains(r.out, "hunter2"), "%s", r.out);
    ck_assert_msg(str_contains(s->log, runs[_i].asks), "%s", s->log);
    ck_assert_msg(!str_contains(s->log, "secrets"), "%s", s->log);
    size_t lines = 0;
    AUTO_JSON json_t *roles = read_roles();
    for (const char *line = s->log; *line; line = strchr(line, '\n') + 1) {
        ck_assert_msg(str_starts(line, "GET "), "%s", line);
        check_role(roles, line);
        lines++;
    }
    bool small = runs[_i].info == &cmd_version_info || runs[_i].info == &cmd_history_info;
    ck_assert_uint_ge(lines, small ? 2 : 9);
    cmdrun_done(&r);
    free(s);
}
END_TEST

/* What the user may not see is said aloud, and nothing is claimed about it. */
static const struct {
    const struct cmd_info *info;
    const char *args[8];
    const char *forbid;
    const char *warns, *says, *never; /* on stderr; on stdout; nowhere there */
} partial[] = {
    {&cmd_explain_info,
     {"pod", "waits"},
     "/api/v1/nodes",
     "not allowed to list nodes",
     "only",
     "x!"},
    {&cmd_explain_info,
     {"pod", "waits", "-ojson"},
     "/api/v1/nodes",
     "not allowed to list nodes",
     "\"incomplete\": true",
     "x!"},
    {&cmd_explain_info,
     {"pod", "waits"},
     "/apis/karpenter.sh/v1/nodepools",
     "not allowed to list nodepools",
     "not allowed to list nodepools",
     "There is no NodePool"},
    {&cmd_explain_info,
     {"pods", "--pending", "-ojson"},
     "/apis/karpenter.sh/v1/nodepools",
     "not allowed to list nodepools",
     "\"incomplete\": true",
     "there is no NodePool"},
    {&cmd_simulate_info,
     {"-ojson"},
     "/apis/karpenter.sh/v1/nodepools",
     "not allowed to list nodepools",
     "\"incomplete\": true",
     "there is no NodePool"},
    {&cmd_simulate_info,
     {NULL},
     "/api/v1/pods",
     "not allowed to list pods",
     "cannot be seen",
     "No pods wait"},
    {&cmd_explain_info,
     {"pods", "--pending"},
     "/api/v1/pods",
     "not allowed to list pods",
     "cannot be seen",
     "No pods wait"},
    {&cmd_explain_info,
     {"pod", "waits"},
     "/api/v1/nodes",
     "not allowed to list nodes",
     "EXISTING NODES   cannot be seen",
     "looked at"},
    {&cmd_simulate_info,
     {NULL},
     "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
     "not allowed to list ec2nodeclasses",
     "ec2nodeclass/d: cannot be seen",
     "is not there"},
    {&cmd_simulate_info,
     {NULL},
     "/apis/apps/v1/daemonsets",
     "not allowed to list daemonsets",
     "1 on new nodes",
     "x!"},
    {&cmd_snapshot_info,
     {NULL},
     "/api/v1/persistentvolumes",
     "not allowed to list persistentvolumes",
     "name: waits",
     "x!"},
    {&cmd_status_info,
     {"-ojson"},
     "/api/v1/nodes",
     "not allowed to list nodes",
     "\"incomplete\": true",
     "x!"},
};

START_TEST(says_what_is_hidden)
{
    struct server *s = calloc(1, sizeof(*s));
    struct cmdrun r;
    char url[64];
    s->answer = answer_to;
    s->forbid = partial[_i].forbid;
    server_start(s, url);
    cmdrun(partial[_i].info, partial[_i].args, url, &r);
    server_stop(s);
    ck_assert_msg(r.rc == 0, "%s", r.err.msg);
    ck_assert_msg(str_contains(r.said, partial[_i].warns), "%s", r.said);
    ck_assert_msg(str_contains(r.out, partial[_i].says), "%s", r.out);
    ck_assert_msg(!str_contains(r.out, partial[_i].never), "%s", r.out);
    cmdrun_done(&r);
    free(s);
}
END_TEST

/* Nobody answers, or the pod itself cannot be seen. */
static const struct {
    const struct cmd_info *info;
    const char *args[8];
    const char *forbid; /* NULL: the server is gone */
    const char *says;
} failing[] = {
    {&cmd_explain_info, {"pod", "waits"}, NULL, "127.0.0.1"},
    {&cmd_simulate_info, {NULL}, NULL, "127.0.0.1"},
    {&cmd_snapshot_info, {NULL}, NULL, "127.0.0.1"},
    {&cmd_status_info, {NULL}, NULL, "127.0.0.1"},
    {&cmd_explain_info, {"pod", "waits"}, "/api/v1/pods", "not allowed to list pods"},
};

START_TEST(says_why_not)
{
    struct server *s = calloc(1, sizeof(*s));
    struct cmdrun r;
    char url[64];
    s->answer = answer_to;
    s->forbid = failing[_i].forbid;
    server_start(s, url);
    if (!failing[_i].forbid) {
        server_stop(s);
    }
    cmdrun(failing[_i].info, failing[_i].args, url, &r);
    if (failing[_i].forbid) {
        server_stop(s);
    }
    ck_assert_int_eq(r.rc, -1);
    ck_assert_msg(str_contains(r.err.msg, failing[_i].says), "%s", r.err.msg);
    ck_assert_str_eq(r.out, "");
    cmdrun_done(&r);
    free(s);
}
END_TEST

UNIT_MAIN("readonly", UNIT_CASES(only_gets, runs), UNIT_CASES(says_what_is_hidden, partial),
          UNIT_CASES(says_why_not, failing))
