/* test_viewer.c - the roles that we ship (deploy/base/10-rbac.yaml): karp-viewer grants what the
 * plugin lists (cmd/session.h, cmd/disrupt/disrupt.h, cmd/read/snapshot.c), and nothing but
 * reading; karp-agent grants what the agent asks for, and no other verb; karp-approver decides and
 * cannot file, the agent files and cannot decide; karp-operator grants what karp-approver does. */
#include "cmd/disrupt/disrupt.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/yamlx.h"
#include "unit.h"

#define FILE_NAME "deploy/base/10-rbac.yaml" /* from the top of the tree */

static json_t *read_role(const char *name)
{
    AUTO_BUF struct buf text;
    struct err err = ERR_INIT;
    char line[4096];
    FILE *f = fopen(FILE_NAME, "r");
    size_t i;
    json_t *o;
    ck_assert_ptr_nonnull(f);
    buf_init(&text, 1u << 20);
    while (fgets(line, sizeof(line), f)) {
        buf_puts(&text, line);
    }
    fclose(f);
    AUTO_JSON json_t *docs = yamlx_parse_all(text.p, text.n, FILE_NAME, NULL, &err);
    ck_assert_msg(docs != NULL, "%s", err.msg);
    json_array_foreach (docs, i, o) {
        if (str_eq(jsonx_str(o, "kind"), "ClusterRole") &&
            str_eq(jsonx_str(o, "metadata.name"), name)) {
            return json_incref(o);
        }
    }
    ck_abort_msg("%s has no %s", FILE_NAME, name);
    return NULL;
}

static bool names(const json_t *list, const char *text)
{
    size_t i;
    json_t *one;
    json_array_foreach ((json_t *)(uintptr_t)list, i, one) {
        if (str_eq(json_string_value(one), text)) {
            return true;
        }
    }
    return false;
}

static bool grants(const json_t *role, const char *verb, const char *group, const char *resource)
{
    size_t i;
    json_t *rule;
    json_array_foreach (jsonx_arr(role, "rules"), i, rule) {
        if (names(jsonx_arr(rule, "apiGroups"), group) &&
            names(jsonx_arr(rule, "resources"), resource) &&
            names(jsonx_arr(rule, "verbs"), verb)) {
            return true;
        }
    }
    return false;
}

START_TEST(may_list)
{
    json_t *role = read_role("karp-viewer");
    uint64_t kinds = session_kinds | disrupt_kinds | GATHER(KIND_EVENT) | GATHER(KIND_DEPLOYMENT) |
                     GATHER(KIND_REPLICA_SET) | GATHER(KIND_STATEFUL_SET) | GATHER(KIND_JOB) |
                     GATHER(KIND_PRIORITY_CLASS) | GATHER(KIND_RESOURCE_QUOTA) |
                     GATHER(KIND_SERVICE);
    for (int k = 0; k < KIND_COUNT; k++) {
        const struct kube_kind_info *info = kube_kind((enum kube_kind)k);
        const char *slash = strchr(info->api_version, '/');
        char group[64] = "";
        const char *verb = k == KIND_CONFIG_MAP ? "get" : "list"; /* one of them, by name */
        if (!(kinds & GATHER(k))) {
            continue;
        }
        snprintf(group, sizeof(group), "%.*s", slash ? (int)(slash - info->api_version) : 0,
                 info->api_version);
        ck_assert_msg(grants(role, verb, group, info->plural), "%s %s", verb, info->plural);
    }
    json_decref(role);
}
END_TEST

START_TEST(only_reads)
{
    static const char *const read[] = {"get", "list", "watch"};
    json_t *role = read_role("karp-viewer"), *rule, *verb;
    size_t i, k;
    json_array_foreach (jsonx_arr(role, "rules"), i, rule) {
        ck_assert(!names(jsonx_arr(rule, "resources"), "*"));
        ck_assert(!names(jsonx_arr(rule, "resources"), "secrets"));
        json_array_foreach (jsonx_arr(rule, "verbs"), k, verb) {
            const char *name = json_string_value(verb);
            ck_assert_msg(str_eq(name, read[0]) || str_eq(name, read[1]) || str_eq(name, read[2]),
                          "%s", name);
        }
    }
    json_decref(role);
}
END_TEST

#define READ "get list watch"
#define KARPENTER "karpenter.sh"
#define CLASS "karpenter.k8s.aws"

#define KARP "karp.dev"

struct row {
    const char *group, *resource, *verbs;
};

/* Everything that the role grants: a resource that is not here is not granted at all. */
static const struct row agent_rows[] = {
    {"", "pods", READ " delete"},
    {"", "pods/eviction", "create"},
    {"", "nodes", READ " patch delete"},
    {"", "namespaces", READ},
    {"", "services", READ},
    {"", "persistentvolumes", READ},
    {"", "persistentvolumeclaims", READ},
    {"", "limitranges", READ},
    {"", "events", "create patch"},
    {"apps", "daemonsets", READ},
    {"policy", "poddisruptionbudgets", READ},
    {"storage.k8s.io", "storageclasses", READ},
    {"storage.k8s.io", "csinodes", READ},
    {"storage.k8s.io", "volumeattachments", READ},
    {"node.k8s.io", "runtimeclasses", READ},
    {"coordination.k8s.io", "leases", "get list"},
    {KARPENTER, "nodepools", READ " patch"},
    {KARPENTER, "nodepools/status", "patch"},
    {KARPENTER, "nodepools/finalizers", "update"},
    {KARPENTER, "nodeclaims", READ " create patch delete"},
    {KARPENTER, "nodeclaims/status", "patch"},
    {KARPENTER, "nodeclaims/finalizers", "update"},
    {CLASS, "ec2nodeclasses", READ " patch"},
    {CLASS, "ec2nodeclasses/status", "patch"},
    {KARP, "holds", READ " delete"},
    {KARP, "disruptionrequests", READ " create delete"},
    {KARP, "disruptionrequests/status", "patch"},
    {KARP, "disruptiongrants", READ},
};

static const struct row approver_rows[] = {
    {KARP, "disruptionrequests", READ " patch"},
    {KARP, "disruptiongrants", READ " create delete"},
};

static const struct row operator_rows[] = {
    {"", "nodes", "get patch"},
    {KARPENTER, "nodepools", "get patch"},
    {KARPENTER, "nodeclaims", "get patch"},
    {KARP, "holds", READ " create update patch delete"},
    {KARP, "disruptionrequests", READ " patch"},
    {KARP, "disruptiongrants", READ " create delete"},
};

static const struct {
    const char *role;
    const struct row *v;
    size_t n;
} tables[] = {
    {"karp-agent", agent_rows, ARRAY_LEN(agent_rows)},
    {"karp-approver", approver_rows, ARRAY_LEN(approver_rows)},
    {"karp-operator", operator_rows, ARRAY_LEN(operator_rows)},
};

static bool is_row(const struct row *v, size_t n, const char *group, const char *resource)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(v[i].group, group) && str_eq(v[i].resource, resource)) {
            return true;
        }
    }
    return false;
}

static void check_row(const json_t *role, const struct row *r)
{
    static const char *const verbs[] = {"get",    "list",  "watch",  "create",
                                        "update", "patch", "delete", "deletecollection"};
    for (size_t k = 0; k < ARRAY_LEN(verbs); k++) {
        char want[64], verb[32];
        snprintf(want, sizeof(want), " %s ", r->verbs);
        snprintf(verb, sizeof(verb), " %s ", verbs[k]);
        ck_assert_msg(grants(role, verbs[k], r->group, r->resource) == (strstr(want, verb) != NULL),
                      "%s %s", verbs[k], r->resource);
    }
}

START_TEST(writers)
{
    const struct row *v = tables[_i].v;
    size_t i, k, n = tables[_i].n;
    json_t *role = read_role(tables[_i].role), *rule, *resource;
    for (i = 0; i < n; i++) {
        check_row(role, &v[i]);
    }
    json_array_foreach (jsonx_arr(role, "rules"), i, rule) {
        const char *group = json_string_value(json_array_get(jsonx_arr(rule, "apiGroups"), 0));
        json_array_foreach (jsonx_arr(rule, "resources"), k, resource) {
            ck_assert_msg(is_row(v, n, group, json_string_value(resource)), "%s %s",
                          tables[_i].role, json_string_value(resource));
        }
    }
    json_decref(role);
}
END_TEST

UNIT_MAIN("viewer", UNIT_TEST(may_list), UNIT_TEST(only_reads), UNIT_CASES(writers, tables))
