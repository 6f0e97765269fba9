/* test_change.c - the commands that write (cmd/act/change.h, cmd/act/replace.c, cmd/act/cordon.c),
 * against a server that writes down every request: what is sent, what is asked, and when nothing
 * is. */
#include "cmdrun.h"
#include "cmdserver.h"

#define POOL(name, more)                                                                           \
    "{\"metadata\": {\"name\": \"" name "\", \"uid\": \"u-" name "\"" more "}, \"spec\": "         \
    "{\"template\": {\"spec\": {\"nodeClassRef\": {\"group\": \"karpenter.k8s.aws\", \"kind\": "   \
    "\"EC2NodeClass\", \"name\": \"d\"}, \"requirements\": []}}}}"
#define CLAIM(name, pool, more)                                                                    \
    "{\"metadata\": {\"name\": \"" name "\", \"uid\": \"u-" name "\", \"creationTimestamp\": "     \
    "\"2026-01-05T09:00:00Z\", \"labels\": {\"karpenter.sh/nodepool\": \"" pool                    \
    "\", \"node.kubernetes.io/instance-type\": \"m5.large\"}" more                                 \
    "}, \"spec\": {\"nodeClassRef\": "                                                             \
    "{\"group\": \"karpenter.k8s.aws\", \"kind\": \"EC2NodeClass\", \"name\": \"d\"}}, "           \
    "\"status\": {\"nodeName\": \"n-" name "\", \"providerID\": \"aws:///a/i-" name "\"}}"
#define NODE(name, id, more)                                                                       \
    "{\"kind\": \"Node\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"" name                \
    "\", \"uid\": \"u-" name "\"}, \"spec\": {\"providerID\": \"aws:///a/i-" id "\"" more          \
    "}, \"status\": {}}"
#define ASKED(at) ", \"annotations\": {\"karp.dev/replace\": \"" at "\"}"
#define NOT_FOUND                                                                                  \
    "{\"kind\": \"Status\", \"code\": 404, \"reason\": \"NotFound\", \"message\": \"nodes "        \
    "\\\"x\\\" not found\"}"

static char leases[512] = LIST("Lease", "coordination.k8s.io/v1", "");

static const struct {
    const char *path, *body;
} answers[] = {
    {"/api/v1/nodes?",
     LIST("Node", "v1", NODE("n-a", "a", "") "," NODE("n-b", "b", "") "," NODE("bare", "x", ""))},
    {"/api/v1/nodes/n-a", NODE("n-a", "a", "")},
    {"/api/v1/nodes/off", NODE("off", "o", ", \"unschedulable\": true")},
    {"/api/v1/nodes/", NULL},
    {"/apis/karpenter.sh/v1/nodeclaims?",
     LIST("NodeClaim", "karpenter.sh/v1",
          CLAIM("a", "p", "") "," CLAIM("b", "p", ASKED("2026-01-05T10:00:00Z")) "," CLAIM(
              "c", "q", "") "," CLAIM("d", "q",
                                      ", \"deletionTimestamp\": "
                                      "\"2026-01-05T10:00:00Z\", \"finalizers\": [\"f\"]"))},
    {"/apis/karpenter.sh/v1/nodepools?",
     LIST("NodePool", "karpenter.sh/v1",
          POOL("p", "") "," POOL("q", ASKED("2026-01-05T10:00:00Z")) "," POOL(
              "old", ASKED("2026-01-05T08:00:00Z")))},
    {"/apis/karpenter.sh/v1/nodepools/", "{}"},
    {"/apis/karpenter.sh/v1/nodeclaims/", "{}"},
    {"/version", "{\"gitVersion\": \"v1.34.4\"}"},
    {"/api/v1/namespaces/karp/configmaps", NULL},
    {"/apis/karp.dev", NULL},
};

static const char *answer_to(const struct server *s, const char *request, int *ret_status)
{
    const char *path = strchr(request, ' ') + 1;
    *ret_status = 200;
    if (s->forbid && str_starts(request, "PATCH") && str_starts(path, s->forbid)) {
        *ret_status = 403;
        return "{\"kind\": \"Status\", \"code\": 403, \"reason\": \"Forbidden\", \"message\": "
               "\"somebody may not patch\"}";
    }
    if (str_starts(path, "/apis/coordination.k8s.io")) {
        return leases;
    }
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        if (str_starts(path, answers[i].path)) {
            *ret_status = answers[i].body ? 200 : 404;
            return answers[i].body ? answers[i].body : NOT_FOUND;
        }
    }
    return LIST("", "v1", "");
}

#define WAITS "Replace 1 node? [y/N] "
#define AN "PATCH /apis/karpenter.sh/v1/nodeclaims/a?fieldManager=kubectl-karp"
#define BODY "{\"metadata\":{\"uid\":\"u-a\",\"annotations\":{\"karp.dev/replace\":\"20"

static const struct {
    const struct cmd_info *info;
    const char *args[8];
    const char *types; /* what the person at the terminal does; NULL = there is none */
    int rc, code;
    const char *out, *said; /* parts of stdout and stderr */
    const char *sends;      /* part of what was asked of the server; NULL = nothing is written */
} rows[] = {
    /* cordon */
    {&cmd_cordon_info,
     {"n-a"},
     NULL,
     0,
     0,
     "node/n-a cordoned\n",
     "",
     "PATCH /api/v1/nodes/n-a?fieldManager=kubectl-karp HTTP/1.1\n"
     "{\"metadata\":{\"uid\":\"u-n-a\"},\"spec\":{\"unschedulable\":true}}"},
    {&cmd_cordon_info, {"node/off"}, NULL, 0, 0, "node/off already cordoned\n", "", NULL},
    {&cmd_uncordon_info,
     {"off", "n-a"},
     NULL,
     0,
     0,
     "node/off uncordoned\nnode/n-a already uncordoned\n",
     "",
     "{\"metadata\":{\"uid\":\"u-off\"},\"spec\":{\"unschedulable\":null}}"},
    {&cmd_cordon_info,
     {"n-a", "--dry-run=server"},
     NULL,
     0,
     0,
     "node/n-a cordoned (server dry run)\n",
     "",
     "dryRun=All"},
    {&cmd_uncordon_info,
     {"off", "--dry-run=server"},
     NULL,
     0,
     0,
     "node/off uncordoned (server dry run)\n",
     "",
     "dryRun=All"},
    {&cmd_cordon_info, {"n-a", "--dry-run"}, NULL, 0, 0, "node/n-a cordoned (dry run)\n", "", NULL},
    {&cmd_cordon_info, {"nobody"}, NULL, -1, 0, "", "", NULL},
    {&cmd_cordon_info, {"n-a", "nodepool/p"}, NULL, -1, 0, "", "", NULL},
    {&cmd_cordon_info, {NULL}, NULL, -1, 0, "", "", NULL},
    {&cmd_cordon_info, {"node/"}, NULL, -1, 0, "", "", NULL},
    /* replace */
    {&cmd_replace_info,
     {"n-a", "-y"},
     NULL,
     0,
     0,
     "nodeclaim.karpenter.sh/a to be replaced\n",
     "nodeclaim/a   node n-a   m5.large",
     AN},
    {&cmd_replace_info, {"nodeclaim/a", "-y"}, NULL, 0, 0, "/a to be replaced\n", "", BODY},
    {&cmd_replace_info, {"n-a"}, "y\n", 0, 0, "/a to be replaced\n", WAITS, AN},
    {&cmd_replace_info, {"n-a"}, "YES\n", 0, 0, "/a to be replaced\n", WAITS, AN},
    {&cmd_replace_info, {"n-a"}, "n\n", 0, 3, "", "refused: nothing was changed", NULL},
    {&cmd_replace_info, {"n-a"}, "\n", 0, 3, "", WAITS, NULL},
    {&cmd_replace_info, {"n-a"}, "", 0, 3, "", "refused", NULL},
    {&cmd_replace_info, {"n-a"}, NULL, 0, 3, "", "refused: there is no terminal", NULL},
    {&cmd_replace_info,
     {"n-a", "--dry-run=client"},
     NULL,
     0,
     0,
     "/a to be replaced (dry run)\n",
     "",
     NULL},
    {&cmd_replace_info,
     {"n-a", "--dry-run=server"},
     NULL,
     0,
     0,
     "/a to be replaced (server dry run)\n",
     "",
     "dryRun=All"},
    {&cmd_replace_info, {"n-b", "-y"}, NULL, 0, 0, "was asked for", "", NULL},
    {&cmd_replace_info, {"node", "n-b", "n-a", "-y"}, NULL, 0, 0, "/a to be replaced\n", "", AN},
    {&cmd_replace_info, {"nodeclaim/d", "-y"}, NULL, 0, 0, "is leaving already\n", "", NULL},
    {&cmd_replace_info,
     {"nodepool/p", "-y"},
     NULL,
     0,
     0,
     "nodepool.karpenter.sh/p to be replaced\n",
     "nodepool/p   2 nodes",
     "PATCH /apis/karpenter.sh/v1/nodepools/p?"},
    {&cmd_replace_info, {"nodepool/q", "-y"}, NULL, 0, 0, "1 of its 1 nodes are left", "", NULL},
    {&cmd_replace_info, {"nodepool/old", "-y"}, NULL, 0, 0, "nodepool/old has no nodes", "", NULL},
    {&cmd_replace_info, {"bare", "-y"}, NULL, -1, 0, "", "", NULL},
    {&cmd_replace_info, {"nobody", "-y"}, NULL, -1, 0, "", "", NULL},
    {&cmd_replace_info, {"deploy/x", "-y"}, NULL, -1, 0, "", "", NULL},
    {&cmd_replace_info, {NULL}, NULL, -1, 0, "", "", NULL},
};

static void run(size_t i, const char *forbid, struct ran *ret)
{
    ran_typing(rows[i].info, rows[i].args, rows[i].types, answer_to, forbid, ret);
}

START_TEST(writes)
{
    struct ran x;
    run((size_t)_i, NULL, &x);
    ck_assert_msg(x.r.rc == rows[_i].rc, "%s", x.r.err.msg);
    ck_assert_int_eq(x.code, rows[_i].code);
    ck_assert_msg(str_contains(x.r.out, rows[_i].out), "%s", x.r.out);
    ck_assert_msg(str_contains(x.r.said, rows[_i].said), "%s", x.r.said);
    ck_assert_msg(rows[_i].sends ? str_contains(x.log, rows[_i].sends)
                                 : !str_contains(x.log, "PATCH"),
                  "%s", x.log);
    ck_assert(rows[_i].rc != 0 || rows[_i].code != 0 || *x.r.out);
    ran_done(&x);
}
END_TEST

START_TEST(who_leads)
{
    struct ran x;
    server_leases(leases, sizeof(leases), leads[_i].holder);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].info != &cmd_replace_info || rows[i].rc != 0 || rows[i].code != 0 ||
            !rows[i].sends) {
            continue;
        }
        run(i, NULL, &x);
        ck_assert_int_eq(x.code, leads[_i].code);
        ck_assert_msg(str_contains(x.r.said, leads[_i].said), "%s", x.r.said);
        ck_assert(str_contains(x.log, "PATCH") == (leads[_i].code == 0));
        ran_done(&x);
    }
}
END_TEST

START_TEST(forbidden)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ran x;
        if (!rows[i].sends || rows[i].args[1]) {
            continue;
        }
        run(i, "/", &x);
        ck_assert_int_eq(x.r.rc, -1);
        ck_assert_msg(str_contains(x.r.err.msg, "may not patch"), "%s", x.r.err.msg);
        ck_assert(!str_contains(x.r.out, "to be replaced") && !str_contains(x.r.out, "cordoned"));
        ran_done(&x);
    }
}
END_TEST

UNIT_MAIN("change", UNIT_CASES(writes, rows), UNIT_CASES(who_leads, leads), UNIT_TEST(forbidden))
