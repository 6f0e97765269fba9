/* test_approve.c - approve, deny and grant (cmd/act/approve_int.h, cmd/act/grant.c), against a
 * server that writes down every request: what is sent, what is asked, and when nothing is. */
#include "canned.h"
#include "cmd/act/approve_int.h"
#include "cmdrun.h"
#include "cmdserver.h"

#define DIGEST "5be1c0d25be1c0d25be1c0d25be1c0d25be1c0d25be1c0d25be1c0d25be1c0d2"
#define CLAIM(name, more)                                                                          \
    "{\"metadata\": {\"name\": \"" name "\", \"uid\": \"u-" name "\"" more                         \
    ", \"labels\": {\"karpenter.sh/nodepool\": \"p\"}}, \"spec\": {\"nodeClassRef\": "             \
    "{\"group\": \"karpenter.k8s.aws\", \"kind\": \"EC2NodeClass\", \"name\": \"d\"}}, "           \
    "\"status\": {\"nodeName\": \"n-" name "\", \"providerID\": \"aws:///a/i-" name "\"}}"
#define REQ(name, claim, uid, expires, spec, status)                                               \
    "{\"metadata\": {\"name\": \"" name "\", \"uid\": \"d-" name                                   \
    "\", \"creationTimestamp\": \"2026-01-05T09:00:00Z\"}, \"spec\": {\"reason\": "                \
    "\"Underutilized\", \"nodePools\": [\"p\"], \"candidates\": [{\"nodeClaim\": \"" claim         \
    "\", \"uid\": \"" uid "\", \"node\": \"n-" claim "\"}], \"podCount\": 1, \"savingsPerHour\": " \
    "\"0.3\", \"planDigest\": \"" DIGEST "\", \"expiresAt\": \"" expires "\"" spec                 \
    "}, \"status\": {" status "}}"
#define LATE "2099-01-05T09:00:00Z"
#define R1 REQ("r1", "a", "u-a", LATE, "", "")
#define R2 REQ("r2", "b", "u-b", LATE, "", "\"phase\": \"Pending\"")
#define GONE REQ("gone", "x", "u-x", LATE, "", "")
#define OTHER REQ("other", "a", "u-old", LATE, "", "")
#define LEAVING REQ("leaving", "c", "u-c", LATE, "", "")
#define OVER REQ("over", "a", "u-a", "2020-01-05T09:00:00Z", "", "")
#define YES                                                                                        \
    REQ("yes", "a", "u-a", LATE, ", \"decision\": \"Approved\", \"decidedBy\": \"bob\"",           \
        "\"phase\": \"Succeeded\"")
#define GOES                                                                                       \
    REQ("goes", "a", "u-a", LATE, ", \"decision\": \"Approved\", \"decidedBy\": \"bob\"",          \
        "\"phase\": \"Approved\"")
#define NO                                                                                         \
    REQ("no", "a", "u-a", LATE,                                                                    \
        ", \"decision\": \"Denied\", \"decidedBy\": \"bob\", \"note\": \"not now\"", "")
#define NEWER                                                                                      \
    REQ("newer", "a", "u-a", LATE, "", "\"phase\": \"Superseded\", \"supersededBy\": \"r1\"")
#define GRANTED REQ("granted", "a", "u-a", LATE, "", "\"phase\": \"Approved\", \"grant\": \"g\"")
#define BAD REQ("bad", "a", "u-a", LATE, ", \"warnings\": [1]", "")
#define GRANT(name, by, more)                                                                      \
    "{\"metadata\": {\"name\": \"" name "\", \"uid\": \"g-" name                                   \
    "\"}, \"spec\": {\"pools\": [\"p\"], \"reasons\": [\"Drifted\"], \"grantedBy\": \"" by         \
    "\"" more "}}"

static char leases[512] = LIST("Lease", "coordination.k8s.io/v1", "");
static const char *there; /* items of the kind at hand; NULL: the server does not know the kind */
static bool grants, anonymous;
static const char *const *stages; /* what asking for a single request says, one after the other */

static const struct canned answers[] = {
    {"/apis/karpenter.sh/v1/nodeclaims?",
     LIST("NodeClaim", "karpenter.sh/v1",
          CLAIM("a", "") "," CLAIM("b", "") "," CLAIM(
              "c", ", \"deletionTimestamp\": \"2026-01-05T09:00:00Z\""))},
    {"/apis/karpenter.sh/v1/nodepools?",
     LIST("NodePool", "karpenter.sh/v1",
          "{\"metadata\": {\"name\": \"p\"}, \"spec\": {\"template\": {\"spec\": "
          "{\"nodeClassRef\": {\"group\": \"karpenter.k8s.aws\", \"kind\": \"EC2NodeClass\", "
          "\"name\": \"d\"}, \"requirements\": []}}}}")},
    {"/version", "{\"gitVersion\": \"v1.34.4\"}"},
    {"/api/v1/namespaces/karp/configmaps", NULL},
};

static const char *answer_karp(const char *path, int *ret_status)
{
    static char list[8192];
    if (!there) {
        *ret_status = 404;
        return NOT_FOUND;
    }
    if (str_starts(path, "/apis/karp.dev/v1alpha1/disruptionrequests/") && stages) {
        const char *now = *stages;
        stages += stages[1] != NULL;
        *ret_status = *now ? 200 : 404;
        return *now ? now : NOT_FOUND;
    }
    if (str_starts(path, "/apis/karp.dev/v1alpha1/disruptionrequests")) {
        snprintf(list, sizeof(list), LIST("DisruptionRequest", "karp.dev/v1alpha1", "%s"),
                 grants ? "" : there);
    } else if (str_starts(path, "/apis/karp.dev/v1alpha1/disruptiongrants")) {
        snprintf(list, sizeof(list), LIST("DisruptionGrant", "karp.dev/v1alpha1", "%s"),
                 grants ? there : "");
    } else {
        return "{\"resources\": [{\"name\": \"disruptionrequests\"}, {\"name\": "
               "\"disruptiongrants\"}]}";
    }
    return list;
}

static const char *answer_to(const struct server *s, const char *request, int *ret_status)
{
    const struct canned_api api = {answers, ARRAY_LEN(answers), leases, anonymous, answer_karp};
    return canned_answer(&api, s, request, ret_status);
}

#define APPROVE &cmd_approve_info
#define DENY &cmd_deny_info
#define PATH "/apis/karp.dev/v1alpha1/disruption"
#define SENT(name, spec)                                                                           \
    "PATCH " PATH "requests/" name "?fieldManager=kubectl-karp HTTP/1.1\n"                         \
    "{\"metadata\":{\"uid\":\"d-" name "\"},\"spec\":{" spec "}}"
#define DECIDED(what) "\"decision\":\"" what "\",\"decidedBy\":\"alice\""

struct row {
    const struct cmd_info *info;
    const char *args[14];
    const char *there;
    const char *types; /* what the person at the terminal does; NULL = there is none */
    int rc, code;
    const char *out, *said; /* parts of stdout, and of stderr or the error */
    const char *sends;      /* part of what was asked of the server; NULL = nothing is written */
};

static const struct row decisions[] = {
    /* the list, and a look */
    {APPROVE, {NULL}, R1 "," NO, NULL, 0, 0, "\nr1    Underutilized", "", NULL},
    {APPROVE, {NULL}, NO, NULL, 0, 0, "No request waits for a decision.\nNo agent", "", NULL},
    {APPROVE,
     {"-o", "name"},
     R1 "," R2 "," OVER,
     NULL,
     0,
     0,
     "disruptionrequest.karp.dev/r1\ndisruptionrequest.karp.dev/r2\n",
     "",
     NULL},
    {APPROVE,
     {"r1", "--show"},
     R1,
     NULL,
     0,
     0,
     "fresh  checked against the cluster now: nodeclaim/a would stay now: is not initialized",
     "",
     NULL},
    /* yes */
    {APPROVE,
     {"r1"},
     R1,
     "y\n",
     0,
     0,
     "disruptionrequest.karp.dev/r1 approved (expires 2099-01-05 09:00 UTC, agent starts within "
     "its budgets)\n",
     "Approve as alice? [y/N]",
     SENT("r1", DECIDED("Approved"))},
    {APPROVE, {"r1"}, R1, "y\n", 0, 0, "", "  out    n-a", SENT("r1", DECIDED("Approved"))},
    {APPROVE,
     {"dreq/r1", "-y"},
     R1,
     NULL,
     0,
     0,
     "r1 approved",
     "warning: r1: nodeclaim/a would stay now",
     SENT("r1", DECIDED("Approved"))},
    {APPROVE, {"r1"}, R1, "n\n", 0, 3, "", "refused: nothing was changed", NULL},
    {APPROVE, {"r1"}, R1, NULL, 0, 3, "", "refused: there is no terminal to ask at", NULL},
    {APPROVE,
     {"r1", "r2", "r1"},
     R1 "," R2,
     "y\n",
     0,
     0,
     "r1 approved",
     "Approve 2 requests as",
     SENT("r2", DECIDED("Approved"))},
    {APPROVE,
     {"r1", "-y", "--note=go", "--on-behalf-of", "bob"},
     R1,
     NULL,
     0,
     0,
     "r1 approved",
     "",
     SENT("r1", DECIDED("Approved") ",\"onBehalfOf\":\"bob\",\"note\":\"go\"")},
    {APPROVE,
     {"r1", "-y", "--not-before=2098-01-05T09:00:00Z"},
     R1,
     NULL,
     0,
     0,
     "(not before 2098-01-05 09:00 UTC, expires",
     "",
     SENT("r1", DECIDED("Approved") ",\"notBefore\":\"2098-01-05T09:00:00Z\"")},
    {APPROVE,
     {"r1", "-y", "--not-before=2099-02-05T09:00:00Z"},
     R1,
     NULL,
     0,
     3,
     "",
     "r1: it expires before that (--not-before)",
     NULL},
    {APPROVE, {"r1", "--not-before=soon"}, R1, NULL, -1, 0, "", "", NULL},
    {APPROVE,
     {"r1", "--dry-run=server"},
     R1,
     NULL,
     0,
     0,
     "r1 approved (server dry run)\n",
     "",
     "PATCH " PATH "requests/r1?fieldManager=kubectl-karp&dryRun=All"},
    {APPROVE, {"r1", "--dry-run", "--wait"}, R1, NULL, 0, 0, "r1 approved (dry run)\n", "", NULL},
    /* no */
    {DENY,
     {"r1", "--dry-run=server"},
     R1,
     NULL,
     0,
     0,
     "r1 denied (server dry run)\n",
     "",
     "PATCH " PATH "requests/r1?fieldManager=kubectl-karp&dryRun=All"},
    {DENY,
     {"r1", "--note=reports run"},
     R1,
     "yes\n",
     0,
     0,
     "disruptionrequest.karp.dev/r1 denied\n",
     "Deny as alice? [y/N]",
     SENT("r1", DECIDED("Denied") ",\"note\":\"reports run\"")},
    {DENY, {"gone", "-y"}, GONE, NULL, 0, 0, "gone denied\n", "", SENT("gone", DECIDED("Denied"))},
    /* what no longer holds */
    {APPROVE,
     {"gone", "-y"},
     GONE,
     NULL,
     0,
     3,
     "",
     "gone: plan changed since it was filed: n-x is gone",
     NULL},
    {APPROVE, {"other", "-y"}, OTHER, NULL, 0, 3, "", "n-a is another node by now", NULL},
    {APPROVE, {"leaving", "-y"}, LEAVING, NULL, 0, 3, "", "n-c is leaving already", NULL},
    {APPROVE, {"over", "-y"}, OVER, NULL, 0, 3, "", "over: it expired", NULL},
    {DENY, {"over", "-y"}, OVER, NULL, 0, 3, "", "over: it expired", NULL},
    {APPROVE,
     {"newer", "-y"},
     NEWER,
     NULL,
     0,
     3,
     "",
     "newer: plan changed since it was filed, superseded by r1",
     NULL},
    {APPROVE, {"yes", "-y"}, YES, NULL, 0, 3, "", "yes: it is Succeeded, approved by bob", NULL},
    {APPROVE, {"goes", "-y"}, GOES, NULL, 0, 3, "", "goes: already approved by bob", NULL},
    {APPROVE, {"no", "-y"}, NO, NULL, 0, 3, "", "no: already denied by bob: not now", NULL},
    {DENY, {"no", "-y"}, NO, NULL, 0, 3, "", "no: already denied by bob: not now", NULL},
    {APPROVE, {"granted", "-y"}, GRANTED, NULL, 0, 3, "", "grant g covers it already", NULL},
    {DENY,
     {"granted", "-y"},
     GRANTED,
     NULL,
     0,
     0,
     "granted denied\n",
     "",
     SENT("granted", DECIDED("Denied"))},
    {DENY, {"goes", "-y"}, GOES, NULL, 0, 3, "", "goes: already approved by bob", NULL},
    {APPROVE, {"bad", "-y"}, BAD, NULL, 0, 3, "", "bad: it cannot be read: spec.warnings", NULL},
    {APPROVE,
     {"gone", "r1", "-y"},
     R1 "," GONE,
     NULL,
     0,
     3,
     "r1 approved",
     "n-x is gone",
     SENT("r1", DECIDED("Approved"))},
    /* all */
    {APPROVE,
     {"--all", "-y"},
     R1 "," GONE "," NO "," R2,
     NULL,
     0,
     0,
     "gone skipped: plan changed since it was filed: n-x is gone\n",
     "",
     SENT("r2", DECIDED("Approved"))},
    {APPROVE,
     {"--all", "-y", "--max-nodes=1"},
     R1 "," R2,
     NULL,
     0,
     0,
     "r2 skipped: more than 1 nodes (--max-nodes)\n",
     "",
     SENT("r1", DECIDED("Approved"))},
    {DENY,
     {"--all"},
     R1 "," R2,
     "y\n",
     0,
     0,
     "r2 denied",
     "Deny 2 requests as alice? [y/N]",
     SENT("r1", DECIDED("Denied"))},
    {APPROVE, {"--all", "-y"}, NO, NULL, 0, 0, "", "nothing to decide", NULL},
    /* nonsense */
    {APPROVE, {"--all", "r1"}, R1, NULL, -1, 0, "", "either --all or which", NULL},
    {APPROVE, {"r9"}, R1, NULL, -1, 0, "", "\"r9\" not found", NULL},
    {APPROVE, {"pod/r1"}, R1, NULL, -1, 0, "", "\"pod/r1\" not found", NULL},
    {APPROVE, {"r1", "-o", "json"}, R1, NULL, -1, 0, "", "-o goes with the list", NULL},
    {APPROVE, {NULL}, NULL, NULL, -1, 0, "", "disruptionrequests.karp.dev is not installed", NULL},
};

static void run_row(const struct row *r, const char *forbid, struct ran *ret)
{
    there = r->there;
    ran_typing(r->info, r->args, r->types, answer_to, forbid, ret);
}

static bool wrote(const struct ran *x)
{
    return str_contains(x->log, "POST /apis/karp.dev") || str_contains(x->log, "PATCH") ||
           str_contains(x->log, "DELETE");
}

static void check_row(const struct row *r)
{
    struct ran x;
    run_row(r, NULL, &x);
    ck_assert_msg(x.r.rc == r->rc, "%s", x.r.err.msg);
    ck_assert_int_eq(x.code, r->code);
    ck_assert_msg(str_contains(x.r.out, r->out), "%s", x.r.out);
    ck_assert_msg(str_contains(r->rc ? x.r.err.msg : x.r.said, r->said), "%s%s", x.r.said,
                  x.r.err.msg);
    ck_assert_msg(r->sends ? str_contains(x.log, r->sends) : !wrote(&x), "%s", x.log);
    ran_done(&x);
}

START_TEST(decides)
{
    check_row(&decisions[_i]);
}
END_TEST

/* ---- grants -----------------------------------------------------------------------------------
 */

#define GRANTS &cmd_grant_info
#define MADE(name, spec)                                                                           \
    "POST " PATH "grants?fieldManager=kubectl-karp HTTP/1.1\n"                                     \
    "{\"apiVersion\":\"karp.dev/v1alpha1\",\"kind\":\"DisruptionGrant\",\"metadata\":{\"name\":"   \
    "\"" name "\"},\"spec\":{" spec "}}"
#define P_DRIFTED "\"pools\":[\"p\"],\"reasons\":[\"Drifted\"]"
#define BY_ALICE "\"grantedBy\":\"alice\""

static const struct row granting[] = {
    {GRANTS, {NULL}, GRANT("g", "bob", ""), NULL, 0, 0, "\ng      open    p", "", NULL},
    {GRANTS, {NULL}, "", NULL, 0, 0, "There are no grants", "", NULL},
    {GRANTS,
     {"g", "-o", "name"},
     GRANT("g", "bob", "") "," GRANT("h", "bob", ""),
     NULL,
     0,
     0,
     "disruptiongrant.karp.dev/g\n",
     "",
     NULL},
    {GRANTS,
     {"g", "--pool=p", "--reason=Drifted"},
     "",
     "y\n",
     0,
     0,
     "disruptiongrant.karp.dev/g created\n",
     "Drifted of p will need no decision (always), without end. Grant it as alice? [y/N]",
     MADE("g", P_DRIFTED "," BY_ALICE)},
    {GRANTS,
     {"g", "--pool=p,q", "--pool=p", "--reason=Drifted", "--reason=Underutilized,Empty", "-y"},
     "",
     NULL,
     0,
     0,
     "g created",
     "there is no NodePool q now",
     MADE("g", "\"pools\":[\"p\",\"q\"],\"reasons\":[\"Drifted\",\"Underutilized\",\"Empty\"]"
               "," BY_ALICE)},
    {GRANTS,
     {"g", "--pool=*", "--reason=Empty", "-y"},
     "",
     NULL,
     0,
     0,
     "g created",
     "",
     MADE("g", "\"pools\":[\"*\"],\"reasons\":[\"Empty\"]," BY_ALICE)},
    {GRANTS,
     {"g", "--pool=p", "--reason=Drifted", "--schedule=0 22 * * *", "--duration=90m",
      "--time-zone=UTC", "--max-nodes-per-hour=4", "--expires=" LATE, "--note=nights", "-y"},
     "",
     NULL,
     0,
     0,
     "g created",
     "Take it back:  kubectl karp grant g --delete\n",
     MADE("g", P_DRIFTED
          ",\"schedule\":\"0 22 * * *\",\"timeZone\":\"UTC\",\"note\":\"nights\"," BY_ALICE
          ",\"maxNodesPerHour\":4,\"duration\":\"1h30m\",\"expiresAt\":\"" LATE "\"")},
    {GRANTS,
     {"g", "--pool=p", "--reason=Drifted", "--for=8h"},
     "",
     "y\n",
     0,
     0,
     "g created",
     "(always), until ",
     "\"expiresAt\":\"20"},
    {GRANTS,
     {"g", "--pool=p", "--reason=Drifted"},
     "",
     "n\n",
     0,
     3,
     "",
     "nothing was changed",
     NULL},
    {GRANTS, {"g", "--pool=p", "--reason=Drifted"}, "", NULL, 0, 3, "", "no terminal", NULL},
    {GRANTS,
     {"g", "--pool=p", "--reason=Drifted", "--dry-run=server"},
     "",
     NULL,
     0,
     0,
     "g created (server dry run)\n",
     "",
     "POST " PATH "grants?fieldManager=kubectl-karp&dryRun=All"},
    {GRANTS,
     {"g", "--pool=p", "--reason=Drifted", "--dry-run"},
     "",
     NULL,
     0,
     0,
     "g created (dry run)\n",
     "",
     NULL},
    /* would cover nothing */
    {GRANTS, {"g", "--pool=p"}, "", NULL, -1, 0, "", "needs --pool and --reason", NULL},
    {GRANTS, {"g", "--pool=p", "--reason=Expired"}, "", NULL, -1, 0, "", "spec.reasons", NULL},
    {GRANTS, {"g", "--pool=,", "--reason=Empty"}, "", NULL, -1, 0, "", "spec.pools", NULL},
    {GRANTS,
     {"g", "--pool=p", "--reason=Empty", "--schedule=nightly", "--duration=1h"},
     "",
     NULL,
     -1,
     0,
     "",
     "spec.schedule",
     NULL},
    {GRANTS,
     {"g", "--pool=p", "--reason=Empty", "--schedule=@daily"},
     "",
     NULL,
     -1,
     0,
     "",
     "spec.duration",
     NULL},
    {GRANTS,
     {"g", "--pool=p", "--reason=Empty", "--duration=1h"},
     "",
     NULL,
     -1,
     0,
     "",
     "spec.schedule",
     NULL},
    {GRANTS,
     {"g", "--pool=p", "--reason=Empty", "--schedule=@daily", "--duration=90s"},
     "",
     NULL,
     -1,
     0,
     "",
     "whole minutes",
     NULL},
    {GRANTS,
     {"g", "--pool=p", "--reason=Empty", "--schedule=@daily", "--duration=1h",
      "--time-zone=Mars/Olympus"},
     "",
     NULL,
     -1,
     0,
     "",
     "spec.timeZone",
     NULL},
    {GRANTS,
     {"g", "--pool=p", "--reason=Empty", "--time-zone=UTC"},
     "",
     NULL,
     -1,
     0,
     "",
     "about a --schedule",
     NULL},
    {GRANTS,
     {"g", "--pool=p", "--reason=Empty", "--expires=2020-01-05T09:00:00Z"},
     "",
     NULL,
     -1,
     0,
     "",
     "is over",
     NULL},
    {GRANTS,
     {"g", "--pool=p", "--reason=Empty", "--for=1h", "--expires=18:00"},
     "",
     NULL,
     -1,
     0,
     "",
     "either --expires or --for",
     NULL},
    {GRANTS, {"--pool=p", "--reason=Empty"}, "", NULL, -1, 0, "", "say its name", NULL},
    {GRANTS, {"g", "h"}, "", NULL, -1, 0, "", "one grant at a time", NULL},
    {GRANTS,
     {"g", "--pool=p", "--reason=Empty", "-y"},
     GRANT("g", "bob", ""),
     NULL,
     -1,
     0,
     "",
     "grant g is there",
     NULL},
    /* and back */
    {GRANTS,
     {"g", "--delete"},
     GRANT("g", "alice", ""),
     NULL,
     0,
     0,
     "disruptiongrant.karp.dev/g deleted\n",
     "",
     "DELETE " PATH "grants/g HTTP/1.1\n"
     "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":\"g-g\"}}"},
    {GRANTS,
     {"g", "--delete"},
     GRANT("g", "bob", ""),
     "n\n",
     0,
     3,
     "",
     "Somebody else's: g by bob. Delete it? [y/N]",
     NULL},
    {GRANTS,
     {"g", "--delete", "-y"},
     GRANT("g", "bob", ""),
     NULL,
     0,
     0,
     "g deleted",
     "",
     "DELETE " PATH "grants/g "},
    {GRANTS,
     {"g", "--delete", "--dry-run=server"},
     GRANT("g", "bob", ""),
     NULL,
     0,
     0,
     "g deleted (server dry run)\n",
     "",
     "DELETE " PATH "grants/g?dryRun=All"},
    {GRANTS, {"h", "--delete"}, GRANT("g", "bob", ""), NULL, -1, 0, "", "not found", NULL},
    {GRANTS, {"--delete"}, GRANT("g", "bob", ""), NULL, -1, 0, "", "say its name", NULL},
    {GRANTS,
     {"g", "--delete", "--pool=p"},
     GRANT("g", "bob", ""),
     NULL,
     -1,
     0,
     "",
     "name alone",
     NULL},
    {GRANTS, {NULL}, NULL, NULL, -1, 0, "", "disruptiongrants.karp.dev is not installed", NULL},
};

START_TEST(grants_so)
{
    grants = true;
    check_row(&granting[_i]);
    grants = false;
}
END_TEST

/* ---- around it --------------------------------------------------------------------------------
 */

static const struct row one = {APPROVE, {"r1", "-y"}, R1, NULL, 0, 0, "", "", NULL};
static const struct row one_grant = {
    GRANTS, {"g", "--pool=p", "--reason=Empty", "-y"}, "", NULL, 0, 0, "", "", NULL};

/* Nobody signs with a name that the server does not give. */
START_TEST(nobody_known)
{
    static const struct row *const rows[] = {&one, &one_grant};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ran x;
        anonymous = true;
        grants = i == 1;
        run_row(rows[i], NULL, &x);
        ck_assert_int_eq(x.r.rc, -1);
        ck_assert_msg(str_contains(x.r.err.msg, "does not tell who you are"), "%s", x.r.err.msg);
        ck_assert(!wrote(&x));
        ran_done(&x);
        anonymous = grants = false;
    }
}
END_TEST

START_TEST(who_leads)
{
    struct ran x;
    server_leases(leases, sizeof(leases), leads[_i].holder);
    run_row(&one, NULL, &x);
    ck_assert_int_eq(x.code, leads[_i].code);
    ck_assert_msg(str_contains(x.r.said, leads[_i].said), "%s", x.r.said);
    ck_assert(wrote(&x) == (leads[_i].code == 0));
    ran_done(&x);
    grants = true;
    run_row(&one_grant, NULL, &x);
    ck_assert_int_eq(x.code, leads[_i].code);
    ck_assert(wrote(&x) == (leads[_i].code == 0));
    ran_done(&x);
    grants = false;
}
END_TEST

START_TEST(forbidden)
{
    static const struct row *const rows[] = {&one, &one_grant};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ran x;
        grants = i == 1;
        run_row(rows[i], "/apis/karp.dev", &x);
        ck_assert_int_eq(x.r.rc, -1);
        ck_assert_msg(str_contains(x.r.err.msg, "somebody may not"), "%s", x.r.err.msg);
        ck_assert_str_eq(x.r.out, "");
        ran_done(&x);
        grants = false;
    }
}
END_TEST

/* ---- waiting ----------------------------------------------------------------------------------
 */

#define STAGE(spec, status)                                                                        \
    REQ("goes", "a", "u-a", LATE, ", \"decision\": \"Approved\", \"decidedBy\": \"bob\"" spec,     \
        status)
#define PHASE(name) STAGE("", "\"phase\": \"" name "\"")

static const struct {
    const char *stages[6];
    int rc;
    const char *out, *said;
} waits[] = {
    {{PHASE("Pending"), PHASE("Approved"), PHASE("Executing"), PHASE("Executing"),
      PHASE("Succeeded")},
     0,
     "goes  Approved (0s) > Executing (0s) > Succeeded   saved $0.300/h\n",
     ""},
    {{PHASE("Approved"), PHASE("Failed")}, -1, "goes  Approved (0s) > Failed\n", "goes: Failed"},
    {{STAGE("", "\"phase\": \"Superseded\", \"supersededBy\": \"r2\"")},
     -1,
     "goes  Superseded   by r2\n",
     "goes: Superseded"},
    {{PHASE("Approved"), ""}, -1, "goes  Approved\n", "no such thing"},
    {{OVER}, -1, "goes  Pending\n", "expired before it was carried out"},
};

START_TEST(waits_for)
{
    struct cmd_opts o;
    struct kube_env env = {.home = "/nonexistent"};
    struct server *s = calloc(1, sizeof(*s));
    char url[64], *out;
    size_t n;
    struct err e = ERR_INIT;
    FILE *f = open_memstream(&out, &n);
    there = GOES;
    stages = waits[_i].stages;
    s->answer = answer_to;
    server_start(s, url);
    opts_init(&o);
    o.kube.server = url;
    o.kube.token = "secret";
    struct cmd c = {.o = &o, .env = &env, .clock = &clock_real, .out = f, .err = f};
    struct approver x = {.c = &c};
    session_init(&x.s, &c, false);
    x.w = &x.s.w;
    x.a = &x.s.a;
    ck_assert_int_eq(connect_open(&c, &x.n, &e), 0);
    ck_assert_int_eq(approve_wait(&x, "goes", 1, &e), waits[_i].rc);
    fclose(f);
    ck_assert_str_eq(out, waits[_i].out);
    ck_assert_msg(str_contains(e.msg, waits[_i].said), "%s", e.msg);
    connect_close(&x.n);
    session_done(&x.s);
    opts_done(&o);
    server_stop(s);
    free(s);
    free(out);
    stages = NULL;
}
END_TEST

UNIT_MAIN("approve", UNIT_CASES(decides, decisions), UNIT_CASES(grants_so, granting),
          UNIT_TEST(nobody_known), UNIT_CASES(who_leads, leads), UNIT_TEST(forbidden),
          UNIT_CASES(waits_for, waits))
