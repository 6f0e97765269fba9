/* test_hold.c - Holds: what is read of them (kube/decode.h) and what they are about
 * (core/consent/hold.h).
 */
#include "common/core/consent/hold.h"

#include "decodetest.h"

#define HOLD(rest) "{metadata: {name: h}, " rest "}"
#define NAMELESS "spec.target.name is not said"
#define KINDLESS "spec.target.kind is none of Cluster, NodePool, Node and NodeClaim"

/* "about name | scope | text | problem" */
static const struct {
    const char *object, *want;
} rows[] = {
    {HOLD("spec: {target: {kind: Cluster}}"), "Cluster |  | hold h"},
    {HOLD("spec: {target: {kind: NodePool, name: a}, scope: Disruption}"),
     "NodePool a |  | hold h"},
    {HOLD("spec: {target: {kind: Node, name: m-1}, scope: All, by: alice}"),
     "Node m-1 | all | hold h by alice"},
    {HOLD("spec: {target: {kind: NodeClaim, name: c}, until: '2026-01-05T09:00:00Z', by: bob, "
          "reason: 'release 7'}"),
     "NodeClaim c |  | hold h by bob until 2026-01-05T09:00:00Z: release 7"},
    {HOLD("spec: {target: {kind: Cluster, name: prod}, until: null}"), "Cluster |  | hold h"},
    /* What it is about cannot be read: everything. */
    {HOLD("spec: {target: {kind: NodePool}}"), "Cluster |  | hold h | " NAMELESS},
    {HOLD("spec: {target: {kind: Node, name: ''}}"), "Cluster |  | hold h | " NAMELESS},
    {HOLD("spec: {target: {kind: Node, name: 7}}"), "Cluster |  | hold h | " NAMELESS},
    {HOLD("spec: {target: {kind: Rack, name: a}, scope: All}"),
     "Cluster | all | hold h | " KINDLESS},
    {HOLD("spec: {target: everything}"), "Cluster |  | hold h | " KINDLESS},
    {HOLD("spec: []"), "Cluster |  | hold h | " KINDLESS},
    {HOLD("status: {}"), "Cluster |  | hold h | " KINDLESS},
    /* Likewise its end, but not its scope. */
    {HOLD("spec: {target: {kind: Node, name: m-1}, until: tomorrow}"),
     "Node m-1 |  | hold h | spec.until is not a time"},
    {HOLD("spec: {target: {kind: Node, name: m-1}, until: 5}"),
     "Node m-1 |  | hold h | spec.until is not a time"},
    {HOLD("spec: {target: {kind: Node, name: m-1}, scope: Launches}"),
     "Node m-1 |  | hold h | spec.scope is neither Disruption nor All"},
    {HOLD("spec: {target: {kind: Node, name: m-1}, scope: [All]}"),
     "Node m-1 |  | hold h | spec.scope is neither Disruption nor All"},
};

START_TEST(read)
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf b;
    begin();
    buf_init(&b, 4096);
    AUTO_JSON json_t *o = parse(rows[_i].object);
    struct hold *h = decode_hold(decoder, o, &err);
    ck_assert_msg(h != NULL, "%s", err.msg);
    buf_printf(&b, "%s%s%s | %s | %s%s%s", hold_target_name(h->target), *h->name ? " " : "",
               h->name, h->all ? "all" : "", h->text, h->problem ? " | " : "",
               h->problem ? h->problem : "");
    ck_assert_str_eq(b.p, rows[_i].want);
    decode_hold_free(h);
    end();
}
END_TEST

START_TEST(nameless)
{
    struct err err = ERR_INIT;
    begin();
    AUTO_JSON json_t *o = parse("{spec: {target: {kind: Cluster}}}");
    ck_assert_ptr_null(decode_hold(decoder, o, &err));
    ck_assert_int_eq(err.kind, ERR_INVALID);
    end();
}
END_TEST

/* Of pool p, claim c and node n, in that order; then launches of p and of no pool. */
static const struct {
    enum hold_target target;
    const char *name;
    bool all, node, launches, poolless;
} about[] = {
    {HOLD_CLUSTER, "", false, true, false, false}, {HOLD_CLUSTER, "", true, true, true, true},
    {HOLD_POOL, "p", false, true, false, false},   {HOLD_POOL, "p", true, true, true, false},
    {HOLD_POOL, "q", true, false, false, false},   {HOLD_POOL, "c", true, false, false, false},
    {HOLD_CLAIM, "c", true, true, false, false},   {HOLD_CLAIM, "n", true, false, false, false},
    {HOLD_NODE, "n", false, true, false, false},   {HOLD_NODE, "p", true, false, false, false},
};

START_TEST(is_about)
{
    struct hold h = {.target = about[_i].target, .name = about[_i].name, .all = about[_i].all};
    ck_assert_int_eq(hold_is_about(&h, "p", "c", "n"), about[_i].node);
    ck_assert_int_eq(hold_is_about_launches(&h, "p"), about[_i].launches);
    ck_assert_int_eq(hold_is_about_launches(&h, NULL), about[_i].poolless);
    ck_assert_int_eq(hold_is_about(&h, NULL, NULL, NULL), h.target == HOLD_CLUSTER);
}
END_TEST

static const struct {
    int64_t until_ns, deleted_ns, now_ns;
    bool want;
} forces[] = {
    {HOLD_WITHOUT_END, 0, 10, true},  {11, 0, 10, true}, {10, 0, 10, false}, {9, 0, 10, false},
    {HOLD_WITHOUT_END, 5, 10, false},
};

START_TEST(in_force)
{
    const struct hold h = {.until_ns = forces[_i].until_ns, .m.deleted_ns = forces[_i].deleted_ns};
    ck_assert_int_eq(hold_in_force(&h, forces[_i].now_ns), forces[_i].want);
}
END_TEST

UNIT_MAIN("hold", UNIT_CASES(read, rows), UNIT_TEST(nameless), UNIT_CASES(is_about, about),
          UNIT_CASES(in_force, forces))
