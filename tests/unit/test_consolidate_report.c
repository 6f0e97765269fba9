/* test_consolidate_report.c - ConsolidationPlan tells every node once, and its digests can be
 * computed again from it (cmd/disrupt/consolidate_json.c, core/plan.h). */
#include "cmdrun.h"
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/yamlx.h"

#define FOLDER "tests/golden/consolidate" /* from the top of the tree */
#define ARGS                                                                                       \
    "--dry-run", "--prices", FOLDER "/prices.json", "--at", "2026-11-30T14:00:03Z", "-ojson"

/* What else is asked. The last has a drifted node, and one that carries others' settings. */
static const char *const rows[][4] = {
    {NULL},
    {"--reason=Drifted", "--snapshot", FOLDER "/karpenter.yaml", NULL},
    {"--reason=All", "--snapshot", FOLDER "/karpenter.yaml", NULL},
    {"--ignore-budgets", NULL},
    {"--min-saving=0.25", NULL},
    {"--no-prices", NULL},
    {"--max-actions=2", NULL},
};

static json_t *plan_of(const char *cluster, const char *const *more)
{
    const char *args[16] = {ARGS, "--snapshot", cluster};
    for (size_t i = 8; *more; more++) {
        args[i++] = *more;
    }
    return cmdrun_json(&cmd_consolidate_info, args);
}

static char *digest_of(const json_t *v)
{
    AUTO_FREE char *text = jsonx_canonical(v);
    char *ret = xmalloc(SHA256_HEX);
    hash_sha256_hex(text, strlen(text), ret);
    return ret;
}

static void without(json_t *o, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        (void)json_object_del(o, keys[i]);
    }
}

/* The actions as the digest takes them. */
static json_t *bare(const json_t *actions)
{
    static const char *const gone[] = {"id",    "planDigest", "savingsPerHour",
                                       "score", "allowedNow", "heldBy"};
    static const char *const price[] = {"pricePerHour"};
    json_t *copy = json_deep_copy(actions), *action, *node;
    size_t i, k;
    json_array_foreach (copy, i, action) {
        without(action, gone, ARRAY_LEN(gone));
        json_array_foreach (json_object_get(action, "nodesOut"), k, node) {
            without(node, price, 1);
        }
        json_array_foreach (json_object_get(action, "nodesIn"), k, node) {
            without(node, price, 1);
        }
    }
    return copy;
}

static int by_name(const void *x, const void *y)
{
    return str_cmp(jsonx_str(*(json_t *const *)x, "name"), jsonx_str(*(json_t *const *)y, "name"));
}

/* {candidates, replacements}; the UID of claim POOL-1-9 is c-1-9 in the cluster. */
static json_t *identity(const json_t *action)
{
    json_t *v[16], *candidates = json_array(), *replacements = json_array(), *node;
    size_t i, n = 0;
    json_array_foreach (jsonx_arr(action, "nodesOut"), i, node) {
        const char *name = jsonx_str(node, "nodeClaim");
        ck_assert_uint_lt(n, ARRAY_LEN(v));
        v[n++] = json_pack("{s:s, s:o}", "name", name, "uid",
                           json_sprintf("c-%s", strchr(name, '-') + 1));
    }
    qsort(v, n, sizeof(*v), by_name);
    for (i = 0; i < n; i++) {
        json_array_append_new(candidates, v[i]);
    }
    json_array_foreach (jsonx_arr(action, "nodesIn"), i, node) {
        json_array_append_new(replacements,
                              json_pack("{s:O, s:O}", "nodePool", json_object_get(node, "nodePool"),
                                        "capacityTypes", json_object_get(node, "capacityTypes")));
    }
    return json_pack("{s:o, s:o}", "candidates", candidates, "replacements", replacements);
}

START_TEST(digests)
{
    json_t *plan = plan_of(FOLDER "/cluster.yaml", rows[_i]), *action;
    json_t *stripped = bare(jsonx_arr(plan, "actions"));
    AUTO_FREE char *whole = digest_of(stripped);
    size_t i;
    ck_assert_uint_gt(json_array_size(stripped), 0);
    ck_assert_str_eq(jsonx_str(plan, "digest"), whole);
    json_array_foreach (jsonx_arr(plan, "actions"), i, action) {
        json_t *who = identity(action);
        AUTO_FREE char *one = digest_of(who);
        ck_assert_str_eq(jsonx_str(action, "planDigest"), one);
        json_decref(who);
    }
    json_decref(stripped);
    json_decref(plan);
}
END_TEST

static void see(json_t *seen, const char *node)
{
    ck_assert_msg(json_object_get(seen, node) == NULL, "%s is told about twice", node);
    json_object_set_new(seen, node, json_true());
}

/* Every managed node once; what is counted is there. */
START_TEST(complete)
{
    json_t *plan = plan_of(FOLDER "/cluster.yaml", rows[_i]), *seen = json_object(), *o, *node;
    size_t i, k, out = 0, in = 0, moves = 0;
    json_array_foreach (jsonx_arr(plan, "actions"), i, o) {
        ck_assert_int_eq(jsonx_int(o, "id", 0), (int64_t)i + 1);
        ck_assert_int_eq(jsonx_bool(o, "allowedNow", false),
                         json_array_size(jsonx_arr(o, "heldBy")) == 0);
        json_array_foreach (jsonx_arr(o, "nodesOut"), k, node) {
            see(seen, jsonx_str(node, "node"));
        }
        out += json_array_size(jsonx_arr(o, "nodesOut"));
        in += json_array_size(jsonx_arr(o, "nodesIn"));
        moves += json_array_size(jsonx_arr(o, "moves"));
    }
    json_array_foreach (jsonx_arr(plan, "blocked"), i, o) {
        see(seen, jsonx_str(o, "node"));
        ck_assert_ptr_nonnull(jsonx_str(o, "code"));
        ck_assert_ptr_nonnull(jsonx_obj(o, "operands"));
    }
    ck_assert_uint_eq(json_object_size(seen), 11);
    ck_assert_int_eq(jsonx_int(plan, "summary.nodes", 0), 11);
    ck_assert_int_eq(jsonx_int(plan, "summary.nodesOut", -1), (int64_t)out);
    ck_assert_int_eq(jsonx_int(plan, "summary.nodesIn", -1), (int64_t)in);
    ck_assert_int_eq(jsonx_int(plan, "summary.podsMoved", -1), (int64_t)moves);
    ck_assert_uint_eq(json_array_size(jsonx_arr(plan, "budgets")), 4 * 3);
    json_decref(seen);
    json_decref(plan);
}
END_TEST

/* The same objects the other way round, as one List. */
static void reversed(const char *from, char path[64])
{
    AUTO_BUF struct buf text;
    struct err err = ERR_INIT;
    char line[4096];
    FILE *f = fopen(from, "r");
    buf_init(&text, 1u << 20);
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof(line), f)) {
        buf_puts(&text, line);
    }
    fclose(f);
    AUTO_JSON json_t *docs = yamlx_parse_all(text.p, text.n, from, NULL, &err);
    ck_assert_msg(docs != NULL, "%s", err.msg);
    json_t *items = json_array();
    for (size_t i = json_array_size(docs); i > 0; i--) {
        json_array_append(items, json_array_get(docs, i - 1));
    }
    AUTO_JSON json_t *list =
        json_pack("{s:s, s:s, s:o}", "apiVersion", "v1", "kind", "List", "items", items);
    AUTO_FREE char *dump = jsonx_dump(list);
    cmdrun_file(path, dump);
}

START_TEST(any_order)
{
    char path[64];
    reversed(FOLDER "/cluster.yaml", path);
    json_t *a = plan_of(FOLDER "/cluster.yaml", rows[_i]), *b = plan_of(path, rows[_i]);
    AUTO_FREE char *x = jsonx_canonical(a);
    AUTO_FREE char *y = jsonx_canonical(b);
    ck_assert_str_eq(x, y);
    json_decref(a);
    json_decref(b);
    unlink(path);
}
END_TEST

UNIT_MAIN("consolidate_report", UNIT_CASES(digests, rows), UNIT_CASES(complete, rows),
          UNIT_CASES(any_order, rows))
