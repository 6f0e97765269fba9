/* test_taint.c - tolerating, comparing and writing taints */
#include "unit.h"

#include "common/core/labels.h"
#include "common/core/taint.h"

/* value NULL: none. In tolerations key NULL means every key. */
struct row_taint {
    const char *key, *value;
    enum taint_effect effect;
};

struct row_toleration {
    const char *key, *value;
    bool exists;
    enum taint_effect effect;
};

static const struct {
    struct row_taint taint;
    struct row_toleration by;
    bool ok;
} rows[] = {
    {{"a", "1", EFFECT_NO_SCHEDULE}, {"a", "1", false, EFFECT_NO_SCHEDULE}, true},
    {{"a", "1", EFFECT_NO_SCHEDULE}, {"a", "1", false, EFFECT_ANY}, true},
    {{"a", "1", EFFECT_NO_EXECUTE}, {"a", "1", false, EFFECT_NO_SCHEDULE}, false},
    {{"a", "1", EFFECT_NO_SCHEDULE}, {"a", "2", false, EFFECT_NO_SCHEDULE}, false},
    {{"a", "1", EFFECT_NO_SCHEDULE}, {"b", "1", false, EFFECT_NO_SCHEDULE}, false},
    {{"a", "1", EFFECT_NO_SCHEDULE}, {"a", NULL, true, EFFECT_NO_SCHEDULE}, true},
    {{"a", "1", EFFECT_NO_SCHEDULE}, {"a", "9", true, EFFECT_NO_SCHEDULE}, true},
    {{"a", "1", EFFECT_NO_SCHEDULE}, {"b", NULL, true, EFFECT_ANY}, false},
    {{"a", NULL, EFFECT_NO_SCHEDULE}, {"a", "", false, EFFECT_ANY}, true},
    {{"a", "", EFFECT_NO_SCHEDULE}, {"a", NULL, false, EFFECT_ANY}, true},
    {{"a", "1", EFFECT_NO_SCHEDULE}, {"a", NULL, false, EFFECT_ANY}, false},
    {{"a", "1", EFFECT_NO_SCHEDULE}, {NULL, NULL, true, EFFECT_ANY}, true},
    {{"a", "1", EFFECT_NO_SCHEDULE}, {NULL, NULL, true, EFFECT_NO_EXECUTE}, false},
    {{"a", "1", EFFECT_NO_SCHEDULE}, {NULL, "1", false, EFFECT_ANY}, false},
};

static struct taint taint_of(struct symtab *t, const struct row_taint *r)
{
    return (struct taint){sym_intern(t, r->key), sym_intern(t, r->value), r->effect};
}

START_TEST(tolerates)
{
    struct symtab *t = labels_symtab_new();
    struct taint taint = taint_of(t, &rows[_i].taint);
    struct toleration v[2] = {
        {.key = sym_intern(t, "elsewhere"), .exists = true},
        {.key = sym_intern(t, rows[_i].by.key),
         .value = sym_intern(t, rows[_i].by.value),
         .exists = rows[_i].by.exists,
         .effect = rows[_i].by.effect},
    };
    struct tolerations both = {v, 2}, none = {NULL, 0};
    ck_assert_int_eq(taint_tolerated(&taint, &both), rows[_i].ok);
    ck_assert(!taint_tolerated(&taint, &none));
    symtab_free(t);
}
END_TEST

START_TEST(the_first_that_refuses)
{
    struct symtab *t = labels_symtab_new();
    struct taint v[] = {taint_of(t, &(struct row_taint){"soft", "", EFFECT_PREFER_NO_SCHEDULE}),
                        taint_of(t, &(struct row_taint){"hard", "", EFFECT_NO_SCHEDULE}),
                        taint_of(t, &(struct row_taint){"run", "", EFFECT_NO_EXECUTE})};
    struct toleration hard = {.key = v[1].key, .exists = true};
    struct toleration all = {.exists = true};
    struct taints taints = {v, 3}, soft = {v, 1};
    struct tolerations nothing = {NULL, 0}, by_hard = {&hard, 1}, by_all = {&all, 1};
    ck_assert_ptr_eq(taints_refuse(&taints, &nothing, true), &v[0]);
    ck_assert_ptr_eq(taints_refuse(&taints, &nothing, false), &v[1]);
    ck_assert_ptr_eq(taints_refuse(&taints, &by_hard, false), &v[2]);
    ck_assert_ptr_null(taints_refuse(&soft, &nothing, false));
    ck_assert_ptr_null(taints_refuse(&taints, &by_all, true));
    symtab_free(t);
}
END_TEST

static const struct {
    struct row_taint a, b;
    bool equal, matches;
} pairs[] = {
    {{"a", "1", EFFECT_NO_SCHEDULE}, {"a", "1", EFFECT_NO_SCHEDULE}, true, true},
    {{"a", "1", EFFECT_NO_SCHEDULE}, {"a", "2", EFFECT_NO_SCHEDULE}, false, true},
    {{"a", "", EFFECT_NO_SCHEDULE}, {"a", NULL, EFFECT_NO_SCHEDULE}, true, true},
    {{"a", "1", EFFECT_NO_SCHEDULE}, {"a", "1", EFFECT_NO_EXECUTE}, false, false},
    {{"a", "1", EFFECT_NO_SCHEDULE}, {"b", "1", EFFECT_NO_SCHEDULE}, false, false},
};

START_TEST(compares)
{
    struct symtab *t = labels_symtab_new();
    struct taint a = taint_of(t, &pairs[_i].a), b = taint_of(t, &pairs[_i].b);
    ck_assert_int_eq(taint_equal(&a, &b), pairs[_i].equal);
    ck_assert_int_eq(taint_matches(&a, &b), pairs[_i].matches);
    symtab_free(t);
}
END_TEST

static const struct {
    struct row_taint taint;
    bool ephemeral;
    const char *text;
} singles[] = {
    {{"node.kubernetes.io/not-ready", "", EFFECT_NO_SCHEDULE},
     true,
     "node.kubernetes.io/not-ready:NoSchedule"},
    {{"node.kubernetes.io/not-ready", NULL, EFFECT_NO_EXECUTE},
     true,
     "node.kubernetes.io/not-ready:NoExecute"},
    {{"node.kubernetes.io/not-ready", NULL, EFFECT_PREFER_NO_SCHEDULE},
     false,
     "node.kubernetes.io/not-ready:PreferNoSchedule"},
    {{"node.kubernetes.io/unreachable", NULL, EFFECT_NO_SCHEDULE},
     true,
     "node.kubernetes.io/unreachable:NoSchedule"},
    {{"node.kubernetes.io/unreachable", NULL, EFFECT_NO_EXECUTE},
     false,
     "node.kubernetes.io/unreachable:NoExecute"},
    {{"node.cloudprovider.kubernetes.io/uninitialized", "true", EFFECT_NO_SCHEDULE},
     true,
     "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"},
    {{"karpenter.sh/unregistered", NULL, EFFECT_NO_EXECUTE},
     true,
     "karpenter.sh/unregistered:NoExecute"},
    {{"karpenter.sh/unregistered", NULL, EFFECT_NO_SCHEDULE},
     false,
     "karpenter.sh/unregistered:NoSchedule"},
    {{"karpenter.sh/disrupted", NULL, EFFECT_NO_SCHEDULE},
     false,
     "karpenter.sh/disrupted:NoSchedule"},
    {{"readiness.k8s.io/network", "pending", EFFECT_PREFER_NO_SCHEDULE},
     true,
     "readiness.k8s.io/network=pending:PreferNoSchedule"},
    {{"readiness.k8s.iox/network", "pending", EFFECT_NO_SCHEDULE},
     false,
     "readiness.k8s.iox/network=pending:NoSchedule"},
    {{"any", "x", EFFECT_ANY}, false, "any=x"},
};

START_TEST(knows_ephemeral_ones_and_writes)
{
    struct symtab *t = labels_symtab_new();
    struct taint taint = taint_of(t, &singles[_i].taint);
    struct buf b;
    buf_init(&b, 1024);
    ck_assert_int_eq(taint_ephemeral(t, &taint), singles[_i].ephemeral);
    taint_fmt(t, &taint, &b);
    ck_assert_str_eq(b.p, singles[_i].text);
    buf_done(&b);
    symtab_free(t);
}
END_TEST

static const char *const effects[] = {"", "NoSchedule", "PreferNoSchedule", "NoExecute"};

START_TEST(effects_are_spelt_as_in_kubernetes)
{
    enum taint_effect e;
    ck_assert(taint_effect_parse(effects[_i], &e));
    ck_assert_int_eq(e, _i);
    ck_assert_str_eq(taint_effect_name(e), effects[_i]);
    ck_assert(!taint_effect_parse("noschedule", &e));
    ck_assert(!taint_effect_parse(NULL, &e));
}
END_TEST

UNIT_MAIN("taint", UNIT_CASES(tolerates, rows), UNIT_TEST(the_first_that_refuses),
          UNIT_CASES(compares, pairs), UNIT_CASES(knows_ephemeral_ones_and_writes, singles),
          UNIT_CASES(effects_are_spelt_as_in_kubernetes, effects))
