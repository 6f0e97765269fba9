/* test_decode_pdb.c - PodDisruptionBudgets (kube/decode.h). */
#include "decodetest.h"

#define PDB(rest) "{metadata: {name: web, namespace: shop, generation: 2}, " rest "}"

/* "min 1 max 10% | selects a, b | problem" and the status. */
static const struct {
    const char *object, *want;
} rows[] = {
    {PDB("spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}"),
     "min 1, app In [web], no status"},
    {PDB("spec: {maxUnavailable: 10%, selector: {}}"), "max 10%, everything, no status"},
    {PDB("spec: {maxUnavailable: 0}"), "max 0, nothing, no status"},
    {PDB("spec: {minAvailable: 100%, unhealthyPodEvictionPolicy: AlwaysAllow, selector: "
         "{matchExpressions: [{key: tier, operator: Exists}]}}"),
     "min 100%, tier Exists, always, no status"},
    {PDB("spec: {selector: {matchLabels: {app: web}}, unhealthyPodEvictionPolicy: "
         "IfHealthyBudget}, status: {observedGeneration: 2, disruptionsAllowed: 1, "
         "currentHealthy: 3, desiredHealthy: 2, expectedPods: 4}"),
     "app In [web], of 2: 1 3 2 4"},
    {PDB("spec: {minAvailable: many, selector: {}}"),
     "everything, no status: spec.minAvailable: neither a count nor a percentage"},
    {PDB("spec: {minAvailable: -1, selector: {}}"),
     "everything, no status: spec.minAvailable: neither a count nor a percentage"},
    {PDB("spec: {maxUnavailable: x%, selector: {}}"),
     "everything, no status: spec.maxUnavailable: neither a count nor a percentage"},
    {PDB("spec: {maxUnavailable: '%', selector: {}}"),
     "everything, no status: spec.maxUnavailable: neither a count nor a percentage"},
    {PDB("spec: {selector: {matchExpressions: [{key: tier, operator: Like}]}}"),
     "nothing, no status: spec.selector cannot be read"},
    {PDB("status: {observedGeneration: 1, disruptionsAllowed: -3}"), "nothing, of 1: 0 0 0 0"},
};

static void tell_amount(struct buf *b, const char *name, const struct pdb_amount *a)
{
    if (a->set) {
        buf_printf(b, "%s %d%s, ", name, a->value, a->percent ? "%" : "");
    }
}

START_TEST(test_rows)
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf b;
    begin();
    AUTO_JSON json_t *o = parse(rows[_i].object);
    struct pdb *p = decode_pdb(decoder, o, &err);
    ck_assert_msg(p != NULL, "%s", err.msg);
    ck_assert_str_eq(p->m.name, "web");
    ck_assert_str_eq(p->m.ns, "shop");
    ck_assert_int_eq(p->m.generation, 2);
    buf_init(&b, 4096);
    tell_amount(&b, "min", &p->min_available);
    tell_amount(&b, "max", &p->max_unavailable);
    selector_fmt(&p->sel, &b);
    buf_puts(&b, p->always_allow ? ", always" : "");
    if (p->has_status) {
        buf_printf(&b, ", of %lld: %d %d %d %d", (long long)p->observed_generation, p->allowed,
                   p->healthy, p->desired, p->expected);
    } else {
        buf_puts(&b, ", no status");
    }
    buf_printf(&b, "%s%s", p->problem ? ": " : "", p->problem ? p->problem : "");
    ck_assert_str_eq(b.p, rows[_i].want);
    decode_pdb_free(p);
    end();
}
END_TEST

START_TEST(nameless)
{
    struct err err = ERR_INIT;
    begin();
    AUTO_JSON json_t *o = parse("{spec: {selector: {}}}");
    ck_assert_ptr_null(decode_pdb(decoder, o, &err));
    ck_assert_int_eq(err.kind, ERR_INVALID);
    end();
}
END_TEST

UNIT_MAIN("decode_pdb", UNIT_CASES(test_rows, rows), UNIT_TEST(nameless))
