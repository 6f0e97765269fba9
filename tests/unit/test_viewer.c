/* test_viewer.c - the role karp-viewer that we ship (deploy/base/10-rbac.yaml) grants what the
 * plugin lists (cmd/session.h, cmd/disrupt.h, cmd/snapshot.c), and nothing but reading. */
#include "cmd/disrupt.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/yamlx.h"
#include "unit.h"

#define FILE_NAME "deploy/base/10-rbac.yaml" /* from the top of the tree */

static json_t *read_role(void)
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
            str_eq(jsonx_str(o, "metadata.name"), "karp-viewer")) {
            return json_incref(o);
        }
    }
    ck_abort_msg("%s has no karp-viewer", FILE_NAME);
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
    json_t *role = read_role();
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
    json_t *role = read_role(), *rule, *verb;
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

UNIT_MAIN("viewer", UNIT_TEST(may_list), UNIT_TEST(only_reads))
