/* test_hold_cmd.c - pause, resume, hold, unhold, and cordon of NodePools (cmd/act/hold.h), against
 * a server that writes down every request: what is sent, what is asked, and when nothing is. */
#include "canned.h"
#include "cmdrun.h"
#include "cmdserver.h"

#define POOL(name)                                                                                 \
    "{\"metadata\": {\"name\": \"" name "\", \"uid\": \"u-" name "\"}, \"spec\": {\"template\": "  \
    "{\"spec\": {\"nodeClassRef\": {\"group\": \"karpenter.k8s.aws\", \"kind\": "                  \
    "\"EC2NodeClass\", \"name\": \"d\"}, \"requirements\": []}}}}"
#define CLAIM(name, pool)                                                                          \
    "{\"metadata\": {\"name\": \"" name "\", \"uid\": \"u-" name "\", \"labels\": "                \
    "{\"karpenter.sh/nodepool\": \"" pool "\"}}, \"spec\": {\"nodeClassRef\": {\"group\": "        \
    "\"karpenter.k8s.aws\", \"kind\": \"EC2NodeClass\", \"name\": \"d\"}}, \"status\": "           \
    "{\"nodeName\": \"n-" name "\", \"providerID\": \"aws:///a/i-" name "\"}}"
#define NODE(name, id)                                                                             \
    "{\"kind\": \"Node\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"" name                \
    "\", \"uid\": \"u-" name "\"}, \"spec\": {\"providerID\": \"aws:///a/i-" id                    \
    "\"}, \"status\": {}}"
#define HOLD(name, target, more)                                                                   \
    "{\"metadata\": {\"name\": \"" name "\", \"uid\": \"u-" name                                   \
    "\"}, \"spec\": {\"target\": {" target "}" more "}}"
#define CLUSTER "\"kind\": \"Cluster\""
#define ON(kind, name) "\"kind\": \"" kind "\", \"name\": \"" name "\""
#define BOB ", \"by\": \"bob\""
#define ME ", \"by\": \"alice\""
#define ALL ", \"scope\": \"All\""

static char leases[512] = LIST("Lease", "coordination.k8s.io/v1", "");
static const char *holds; /* items; NULL: the server does not know the kind */
static bool anonymous;

static const struct canned answers[] = {
    {"/api/v1/nodes/n-a", NODE("n-a", "a")},
    {"/api/v1/nodes/n-c", NODE("n-c", "c")},
    {"/api/v1/nodes?",
     LIST("Node", "v1", NODE("n-a", "a") "," NODE("n-c", "c") "," NODE("bare", "x"))},
    {"/apis/karpenter.sh/v1/nodeclaims?",
     LIST("NodeClaim", "karpenter.sh/v1", CLAIM("a", "p") "," CLAIM("c", "q"))},
    {"/apis/karpenter.sh/v1/nodepools?",
     LIST("NodePool", "karpenter.sh/v1", POOL("p") "," POOL("q"))},
    {"/version", "{\"gitVersion\": \"v1.34.4\"}"},
    {"/api/v1/namespaces/karp/configmaps", NULL},
};

static const char *answer_karp(const char *path, int *ret_status)
{
    static char list[4096];
    if (!holds) {
        *ret_status = 404;
        return NOT_FOUND;
    }
    if (!str_starts(path, "/apis/karp.dev/v1alpha1/holds")) {
        return "{\"resources\": [{\"name\": \"holds\"}]}";
    }
    snprintf(list, sizeof(list), LIST("Hold", "karp.dev/v1alpha1", "%s"), holds);
    return list;
}

static const char *answer_to(const struct server *s, const char *request, int *ret_status)
{
    const struct canned_api api = {answers, ARRAY_LEN(answers), leases, anonymous, answer_karp};
    return canned_answer(&api, s, request, ret_status);
}

#define MADE "POST /apis/karp.dev/v1alpha1/holds?fieldManager=kubectl-karp HTTP/1.1\n"
#define BODY(name, spec)                                                                           \
    "{\"apiVersion\":\"karp.dev/v1alpha1\",\"kind\":\"Hold\",\"metadata\":{\"name\":\"" name       \
    "\"},\"spec\":{" spec "}}"
#define GONE(name) "DELETE /apis/karp.dev/v1alpha1/holds/" name " HTTP/1.1\n"
#define UID(name)                                                                                  \
    "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":\"u-" name "\"}" \
    "}"

static const struct {
    const struct cmd_info *info;
    const char *args[8];
    const char *there; /* Holds */
    const char *types; /* what the person at the terminal does; NULL = there is none */
    int rc, code;
    const char *out, *said; /* parts of stdout and stderr */
    const char *sends;      /* part of what was asked of the server; NULL = nothing is written */
} rows[] = {
    /* pause */
    {&cmd_pause_info,
     {NULL},
     "",
     NULL,
     0,
     0,
     "cluster paused\n",
     "Take it back:  kubectl karp resume",
     MADE BODY("pause", "\"target\":{\"kind\":\"Cluster\"},\"scope\":\"Disruption\","
                        "\"by\":\"alice\"")},
    {&cmd_pause_info,
     {"--until", "2099-01-05T09:00:00Z", "--reason", "release 7"},
     "",
     NULL,
     0,
     0,
     "cluster paused until 2099-01-05 09:00 UTC\n",
     "No consolidation, drift, expiry or repair. ",
     "\"until\":\"2099-01-05T09:00:00Z\",\"reason\":\"release 7\",\"by\":\"alice\"}}"},
    {&cmd_pause_info,
     {"--for", "2h"},
     "",
     NULL,
     0,
     0,
     "cluster paused until ",
     "",
     "\"until\":\"20"},
    {&cmd_pause_info, {"--for=2h", "--until=18:00"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_pause_info, {"--until=2020-01-05T09:00:00Z"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_pause_info, {"--until=later"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_pause_info, {"n-a"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_pause_info, {"--all"}, "", NULL, 0, 3, "", "refused: there is no terminal", NULL},
    {&cmd_pause_info, {"--all"}, "", "n\n", 0, 3, "", "will wait. Stop launches? [y/N]", NULL},
    {&cmd_pause_info,
     {"--all", "-y"},
     "",
     NULL,
     0,
     0,
     "cluster paused, launches too,\n",
     "and no new nodes",
     "\"scope\":\"All\""},
    {&cmd_pause_info,
     {"--dry-run=server"},
     "",
     NULL,
     0,
     0,
     "cluster paused (server dry run)\n",
     "",
     "POST /apis/karp.dev/v1alpha1/holds?fieldManager=kubectl-karp&dryRun=All"},
    {&cmd_pause_info, {"--dry-run"}, "", NULL, 0, 0, "cluster paused (dry run)\n", "", NULL},
    /* again: mine is changed, another's is asked about */
    {&cmd_pause_info,
     {NULL},
     HOLD("pause", CLUSTER, ALL ME ", \"until\": \"2099-01-05T09:00:00Z\""),
     NULL,
     0,
     0,
     "cluster paused\n",
     "",
     "PATCH /apis/karp.dev/v1alpha1/holds/pause?fieldManager=kubectl-karp HTTP/1.1\n"
     "{\"metadata\":{\"uid\":\"u-pause\"},\"spec\":{\"target\":{\"kind\":\"Cluster\"},\"scope\":"
     "\"Disruption\",\"until\":null,\"reason\":null,\"by\":\"alice\"}}"},
    {&cmd_pause_info,
     {NULL},
     HOLD("pause", CLUSTER, BOB),
     "no\n",
     0,
     3,
     "",
     "Somebody else's: hold pause by bob. Replace it? [y/N]",
     NULL},
    {&cmd_pause_info, {NULL}, HOLD("pause", ON("NodePool", "p"), ""), NULL, -1, 0, "", "", NULL},
    /* resume */
    {&cmd_resume_info, {NULL}, "", NULL, 0, 0, "cluster is not paused\n", "", NULL},
    {&cmd_resume_info,
     {NULL},
     HOLD("pause", CLUSTER, ME) "," HOLD("kubectl", CLUSTER, ""),
     NULL,
     0,
     0,
     "cluster resumed\n",
     "",
     GONE("kubectl") UID("kubectl")},
    {&cmd_resume_info, {NULL}, HOLD("pause", CLUSTER, BOB), NULL, 0, 3, "", "refused", NULL},
    {&cmd_resume_info,
     {"-y"},
     HOLD("pause", CLUSTER, BOB),
     NULL,
     0,
     0,
     "resumed\n",
     "",
     GONE("pause")},
    /* what is over is nobody's to ask about; what cannot be read is about all and stays */
    {&cmd_resume_info,
     {NULL},
     HOLD("pause", CLUSTER, BOB ", \"until\": \"2020-01-05T09:00:00Z\""),
     NULL,
     0,
     0,
     "cluster resumed\n",
     "",
     GONE("pause")},
    {&cmd_resume_info,
     {NULL},
     HOLD("odd", ON("Rack", "a"), ""),
     NULL,
     0,
     0,
     "cluster is not paused\n",
     "cluster is still held: hold odd",
     NULL},
    /* hold */
    {&cmd_hold_info,
     {"n-a", "--reason=kernel oops"},
     "",
     NULL,
     0,
     0,
     "nodeclaim/a held\n",
     "Take it back:  kubectl karp unhold nodeclaim/a\n",
     MADE BODY("nodeclaim-a", "\"target\":{\"kind\":\"NodeClaim\",\"name\":\"a\"},\"scope\":"
                              "\"Disruption\",\"reason\":\"kernel oops\",\"by\":\"alice\"")},
    {&cmd_hold_info,
     {"nodepool/p", "nodeclaim/c"},
     "",
     NULL,
     0,
     0,
     "nodepool/p held\nnodeclaim/c held\n",
     "",
     "{\"name\":\"nodepool-p\"},\"spec\":{\"target\":{\"kind\":\"NodePool\",\"name\":\"p\"},"},
    {&cmd_hold_info,
     {"nodepool", "p", "q"},
     "",
     NULL,
     0,
     0,
     "nodepool/p held\nnodepool/q held\n",
     "",
     MADE},
    {&cmd_hold_info, {"bare"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_hold_info, {"nobody"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_hold_info, {"nodepool/nobody"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_hold_info, {"nodepool/"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_hold_info, {"deploy/web"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_hold_info, {NULL}, "", NULL, -1, 0, "", "", NULL},
    /* unhold */
    {&cmd_unhold_info, {"n-a"}, "", NULL, 0, 0, "nodeclaim/a is not held\n", "", NULL},
    {&cmd_unhold_info,
     {"n-a"},
     HOLD("x", ON("Node", "n-a"), "") "," HOLD("nodepool-p", ON("NodePool", "p"), BOB),
     NULL,
     0,
     0,
     "nodeclaim/a no longer held\n",
     "nodeclaim/a is still held: hold nodepool-p by bob",
     GONE("x")},
    {&cmd_unhold_info,
     {"gone-node"},
     HOLD("x", ON("Node", "gone-node"), ""),
     NULL,
     0,
     0,
     "node/gone-node no longer held\n",
     "",
     GONE("x")},
    {&cmd_unhold_info,
     {"nodepool/p"},
     HOLD("cordon-p", ON("NodePool", "p"), ALL),
     NULL,
     0,
     0,
     "nodepool/p is not held\n",
     "nodepool/p is still held: hold cordon-p",
     NULL},
    /* cordon */
    {&cmd_cordon_info,
     {"nodepool/p", "-y"},
     "",
     NULL,
     0,
     0,
     "nodepool/p cordoned\n",
     "uncordon nodepool/p\n",
     MADE BODY("cordon-p", "\"target\":{\"kind\":\"NodePool\",\"name\":\"p\"},\"scope\":\"All\","
                           "\"by\":\"alice\"")},
    {&cmd_cordon_info, {"nodepool/p"}, "", "y\n", 0, 0, "cordoned\n", "Stop launches?", MADE},
    {&cmd_cordon_info, {"nodepools/p"}, "", NULL, 0, 3, "", "refused", NULL},
    {&cmd_cordon_info, {"n-a", "--for=1h"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_cordon_info, {"nodepool/p", "n-a"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_uncordon_info,
     {"nodepool/p"},
     HOLD("cordon-p", ON("NodePool", "p"), ALL) "," HOLD("nodepool-p", ON("NodePool", "p"), ""),
     NULL,
     0,
     0,
     "nodepool/p uncordoned\n",
     "nodepool/p is still held: hold nodepool-p",
     GONE("cordon-p")},
    {&cmd_uncordon_info, {"nodepool/p"}, "", NULL, 0, 0, "nodepool/p is not cordoned\n", "", NULL},
    /* cordon --hold: nodes get both, and lose both again */
    {&cmd_cordon_info,
     {"n-a", "--hold=4h", "--reason=kernel oops"},
     "",
     NULL,
     0,
     0,
     "node/n-a cordoned\nnodeclaim/a held until ",
     "No consolidation, drift, expiry or repair. Interruptions and deletions by others still "
     "apply.\nTake it back:  kubectl karp uncordon n-a\n",
     MADE "{\"apiVersion\":\"karp.dev/v1alpha1\",\"kind\":\"Hold\",\"metadata\":{\"name\":"
          "\"cordon-node-n-a\"},\"spec\":{\"target\":{\"kind\":\"NodeClaim\",\"name\":\"a\"},"
          "\"scope\":\"Disruption\",\"until\":\"20"},
    {&cmd_cordon_info,
     {"n-a", "node/n-c", "--hold=4h"},
     "",
     NULL,
     0,
     0,
     "node/n-a cordoned\nnode/n-c cordoned\nnodeclaim/a held until ",
     "uncordon n-a ...\n",
     "\"target\":{\"kind\":\"NodeClaim\",\"name\":\"c\"}"},
    {&cmd_cordon_info,
     {"n-a", "--hold=4h", "--dry-run=server"},
     "",
     NULL,
     0,
     0,
     " (server dry run)\n",
     "",
     "POST /apis/karp.dev/v1alpha1/holds?fieldManager=kubectl-karp&dryRun=All"},
    {&cmd_cordon_info,
     {"n-a", "--hold=4h"},
     HOLD("cordon-node-n-a", ON("NodeClaim", "a"), BOB),
     NULL,
     0,
     3,
     "",
     "refused: there is no terminal",
     NULL},
    {&cmd_cordon_info,
     {"n-a", "--hold=4h"},
     HOLD("cordon-node-n-a", ON("NodePool", "p"), ""),
     NULL,
     -1,
     0,
     "",
     "",
     NULL},
    {&cmd_cordon_info, {"n-a", "--hold=4h", "--for=1h"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_cordon_info, {"n-a", "--reason=x"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_cordon_info, {"nodepool/p", "--hold=4h"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_cordon_info, {"bare", "--hold=4h"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_cordon_info, {"nobody", "--hold=4h"}, "", NULL, -1, 0, "", "", NULL},
    {&cmd_cordon_info, {"n-a", "--hold=4h"}, NULL, NULL, -1, 0, "", "", NULL},
    {&cmd_unhold_info,
     {"n-a"},
     HOLD("cordon-node-n-a", ON("NodeClaim", "a"), ME),
     NULL,
     0,
     0,
     "nodeclaim/a no longer held\n",
     "",
     GONE("cordon-node-n-a")},
    {&cmd_uncordon_info,
     {"n-a"},
     HOLD("cordon-node-n-a", ON("NodeClaim", "a"), ME) "," HOLD("nodeclaim-a", ON("NodeClaim", "a"),
                                                                ME),
     NULL,
     0,
     0,
     "node/n-a already uncordoned\nnode/n-a no longer held\n",
     "",
     GONE("cordon-node-n-a") UID("cordon-node-n-a")},
    {&cmd_uncordon_info,
     {"n-a"},
     HOLD("nodeclaim-a", ON("NodeClaim", "a"), BOB) "," HOLD("pause", CLUSTER, BOB),
     NULL,
     0,
     0,
     "node/n-a already uncordoned\n",
     "",
     NULL},
    {&cmd_uncordon_info,
     {"n-a"},
     HOLD("cordon-node-n-a", ON("NodePool", "node-n-a"), ALL),
     NULL,
     0,
     0,
     "node/n-a already uncordoned\n",
     "",
     NULL},
    {&cmd_uncordon_info,
     {"n-a"},
     HOLD("cordon-node-n-a", ON("NodeClaim", "a"), BOB),
     "n\n",
     0,
     3,
     "",
     "Somebody else's: hold cordon-node-n-a by bob. Delete it? [y/N]",
     NULL},
    {&cmd_uncordon_info, {"n-a"}, NULL, NULL, 0, 0, "node/n-a already uncordoned\n", "", NULL},
    /* a server dry run of each that is left */
    {&cmd_hold_info,
     {"n-a", "--dry-run=server"},
     "",
     NULL,
     0,
     0,
     "nodeclaim/a held (server dry run)\n",
     "",
     "holds?fieldManager=kubectl-karp&dryRun=All"},
    {&cmd_cordon_info,
     {"nodepool/p", "--dry-run=server"},
     "",
     NULL,
     0,
     0,
     "nodepool/p cordoned (server dry run)\n",
     "",
     "holds?fieldManager=kubectl-karp&dryRun=All"},
    {&cmd_resume_info,
     {"--dry-run=server"},
     HOLD("pause", CLUSTER, BOB),
     NULL,
     0,
     0,
     "cluster resumed (server dry run)\n",
     "",
     "DELETE /apis/karp.dev/v1alpha1/holds/pause?dryRun=All"},
    {&cmd_unhold_info,
     {"n-a", "--dry-run=server"},
     HOLD("x", ON("Node", "n-a"), ""),
     NULL,
     0,
     0,
     "nodeclaim/a no longer held (server dry run)\n",
     "",
     "DELETE /apis/karp.dev/v1alpha1/holds/x?dryRun=All"},
    {&cmd_uncordon_info,
     {"nodepool/p", "--dry-run=server"},
     HOLD("cordon-p", ON("NodePool", "p"), ALL),
     NULL,
     0,
     0,
     "nodepool/p uncordoned (server dry run)\n",
     "",
     "DELETE /apis/karp.dev/v1alpha1/holds/cordon-p?dryRun=All"},
    {&cmd_uncordon_info,
     {"n-a", "--dry-run=server"},
     HOLD("cordon-node-n-a", ON("NodeClaim", "a"), ME),
     NULL,
     0,
     0,
     "node/n-a no longer held (server dry run)\n",
     "",
     "DELETE /apis/karp.dev/v1alpha1/holds/cordon-node-n-a?dryRun=All"},
    /* no CRD */
    {&cmd_pause_info, {NULL}, NULL, NULL, -1, 0, "", "", NULL},
    {&cmd_resume_info, {NULL}, NULL, NULL, -1, 0, "", "", NULL},
};

static void run(size_t i, const char *forbid, struct ran *ret)
{
    holds = rows[i].there;
    ran_typing(rows[i].info, rows[i].args, rows[i].types, answer_to, forbid, ret);
}

static bool wrote(const struct ran *x)
{
    return str_contains(x->log, "POST /apis/karp.dev") || str_contains(x->log, "PATCH") ||
           str_contains(x->log, "DELETE");
}

START_TEST(writes)
{
    struct ran x;
    run((size_t)_i, NULL, &x);
    ck_assert_msg(x.r.rc == rows[_i].rc, "%s", x.r.err.msg);
    ck_assert_int_eq(x.code, rows[_i].code);
    ck_assert_msg(str_contains(x.r.out, rows[_i].out), "%s", x.r.out);
    ck_assert_msg(str_contains(x.r.said, rows[_i].said), "%s", x.r.said);
    ck_assert_msg(rows[_i].sends ? str_contains(x.log, rows[_i].sends) : !wrote(&x), "%s", x.log);
    ran_done(&x);
}
END_TEST

/* A server without SelfSubjectReview: nobody stands there, and what is somebody's is another's. */
START_TEST(nobody_known)
{
    struct ran x;
    anonymous = true;
    run(0, NULL, &x);
    ck_assert_int_eq(x.r.rc, 0);
    ck_assert_msg(str_contains(x.log, BODY("pause", "\"target\":{\"kind\":\"Cluster\"},\"scope\":"
                                                    "\"Disruption\"")),
                  "%s", x.log);
    ran_done(&x);
    anonymous = false;
}
END_TEST

START_TEST(who_leads)
{
    struct ran x;
    server_leases(leases, sizeof(leases), leads[_i].holder);
    run(0, NULL, &x);
    ck_assert_int_eq(x.code, leads[_i].code);
    ck_assert_msg(str_contains(x.r.said, leads[_i].said), "%s", x.r.said);
    ck_assert(wrote(&x) == (leads[_i].code == 0));
    ran_done(&x);
}
END_TEST

/* Nodes are cordoned and uncordoned before their Holds are written and deleted. */
static const char *after_nodes(size_t row, const char *out)
{
    bool nodes = rows[row].info == &cmd_cordon_info || rows[row].info == &cmd_uncordon_info;
    while (nodes && str_starts(out, "node/") && strchr(out, '\n')) {
        out = strchr(out, '\n') + 1;
    }
    return out;
}

START_TEST(forbidden)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ran x;
        if (!rows[i].sends) {
            continue;
        }
        run(i, "/apis/karp.dev", &x);
        ck_assert_int_eq(x.r.rc, -1);
        ck_assert_msg(str_contains(x.r.err.msg, "somebody may not"), "%s", x.r.err.msg);
        ck_assert_str_eq(after_nodes(i, x.r.out), "");
        ran_done(&x);
    }
}
END_TEST

UNIT_MAIN("hold_cmd", UNIT_CASES(writes, rows), UNIT_TEST(nobody_known),
          UNIT_CASES(who_leads, leads), UNIT_TEST(forbidden))
