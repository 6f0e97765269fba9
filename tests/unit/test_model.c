/* test_model.c - pod predicates, look-ups in objects, the label keys the core knows */
#include "unit.h"

#include "common/core/labels.h"
#include "common/core/model.h"

#define S INT64_C(1000000000)

/* ---- pods
 * ----------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum pod_phase phase;
    enum pod_owner owner;
    bool deleted, unschedulable;
    const char *node, *nominated;
    bool terminal, active, provisionable, reschedulable;
} pods[] = {
    {"pending", POD_PENDING, POWNER_REPLICASET, false, true, "", "", false, true, true, true},
    {"not tried yet", POD_PENDING, POWNER_REPLICASET, false, false, "", "", false, true, false,
     true},
    {"preempting", POD_PENDING, POWNER_REPLICASET, false, true, "", "n1", false, true, false, true},
    {"bound", POD_RUNNING, POWNER_REPLICASET, false, true, "n1", "", false, true, false, true},
    {"daemon", POD_PENDING, POWNER_DAEMONSET, false, true, "", "", false, true, false, false},
    {"static", POD_PENDING, POWNER_NODE, false, true, "", "", false, true, false, false},
    {"leaving while pending", POD_PENDING, POWNER_REPLICASET, true, true, "", "", false, false,
     false, false},
    {"leaving", POD_RUNNING, POWNER_REPLICASET, true, false, "n1", "", false, false, false, false},
    {"leaving, comes back", POD_RUNNING, POWNER_STATEFULSET, true, false, "n1", "", false, false,
     false, true},
    {"succeeded", POD_SUCCEEDED, POWNER_JOB, false, false, "n1", "", true, false, false, false},
    {"failed", POD_FAILED, POWNER_NONE, false, false, "n1", "", true, false, false, false},
    {"failed member", POD_FAILED, POWNER_STATEFULSET, false, false, "n1", "", true, false, false,
     false},
    {"unknown phase", POD_UNKNOWN, POWNER_NONE, false, false, "n1", "", false, true, false, true},
};

START_TEST(pod_predicates)
{
    struct pod p = {.phase = pods[_i].phase,
                    .owner = pods[_i].owner,
                    .unschedulable = pods[_i].unschedulable,
                    .node_name = pods[_i].node,
                    .nominated_node = pods[_i].nominated};
    p.m.deleted_ns = pods[_i].deleted ? S : 0;
    ck_assert_msg(pod_terminal(&p) == pods[_i].terminal, "%s", pods[_i].name);
    ck_assert_msg(pod_active(&p) == pods[_i].active, "%s", pods[_i].name);
    ck_assert_msg(pod_provisionable(&p) == pods[_i].provisionable, "%s", pods[_i].name);
    ck_assert_msg(pod_reschedulable(&p) == pods[_i].reschedulable, "%s", pods[_i].name);
}
END_TEST

static const struct {
    const char *value; /* NULL: no annotation */
    int64_t start_ns, now_ns;
    bool in_force, unreadable;
} holds[] = {
    {NULL, 100 * S, 200 * S, false, false},
    {"true", 100 * S, 200 * S, true, false},
    {"true", 0, 200 * S, true, false},
    {"false", 100 * S, 200 * S, false, false},
    {"4h", 3600 * S, 3600 * S * 4, true, false},
    {"4h", 3600 * S, 3600 * S * 5 - 1, true, false},
    {"4h", 3600 * S, 3600 * S * 5, false, false},
    {"4h", 3600 * S, 3600 * S * 6, false, false},
    {"4h", 0, 3600 * S * 6, true, false},
    {"0s", 100 * S, 200 * S, false, true},
    {"-1h", 100 * S, 200 * S, false, true},
    {"x", 100 * S, 200 * S, false, true},
    {"", 100 * S, 200 * S, false, true},
    {"True", 100 * S, 200 * S, false, true},
    {"2562047h47m", 100 * S, INT64_MAX, true, false},
};

START_TEST(do_not_disrupt)
{
    struct kv kv = {ANN_DO_NOT_DISRUPT, holds[_i].value};
    struct pod p = {.start_ns = holds[_i].start_ns};
    p.m.annotations.v = &kv;
    p.m.annotations.n = holds[_i].value ? 1 : 0;
    ck_assert_int_eq(pod_do_not_disrupt(&p, holds[_i].now_ns), holds[_i].in_force);
    ck_assert_int_eq(pod_do_not_disrupt_unreadable(&p), holds[_i].unreadable);
}
END_TEST

/* ---- look-ups
 * ---------------------------------------------------------------------------------------- */

START_TEST(conditions_by_type)
{
    const struct condition v[] = {{.type = "Ready", .status = STATUS_TRUE},
                                  {.type = "Drifted", .status = STATUS_FALSE},
                                  {.type = "Launched", .status = STATUS_UNKNOWN}};
    struct conditions c = {v, 3}, none = {NULL, 0};
    ck_assert_ptr_eq(condition_find(&c, "Drifted"), &v[1]);
    ck_assert_ptr_null(condition_find(&c, "Empty"));
    ck_assert_ptr_null(condition_find(&none, "Ready"));
    ck_assert_int_eq(condition_status(&c, "Launched"), STATUS_UNKNOWN);
    ck_assert_int_eq(condition_status(&c, "Empty"), STATUS_ABSENT);
    ck_assert(condition_true(&c, "Ready"));
    ck_assert(!condition_true(&c, "Drifted") && !condition_true(&c, "Launched"));
    ck_assert(!condition_true(&c, "Empty"));
}
END_TEST

START_TEST(labels_and_annotations_by_key)
{
    struct label l[] = {{2, 20}, {4, 40}, {6, 60}};
    struct kv k[] = {{"a", "1"}, {"c", "3"}, {"e", "5"}};
    for (uint32_t n = 0; n <= 3; n++) {
        struct labels labels = {l, n};
        struct kvs kvs = {k, n};
        for (uint32_t key = 1; key <= 7; key++) {
            sym expected = key % 2 == 0 && key / 2 <= n ? key * 10 : SYM_NONE;
            ck_assert_uint_eq(labels_get(&labels, key), expected);
        }
        for (char c = 'a'; c <= 'f'; c++) {
            char key[] = {c, '\0'};
            uint32_t place = (uint32_t)(c - 'a');
            bool there = place % 2 == 0 && place / 2 < n;
            ck_assert_ptr_eq(kvs_get(&kvs, key), there ? k[place / 2].value : NULL);
        }
    }
}
END_TEST

START_TEST(finalizers)
{
    const char *const v[] = {"foregroundDeletion", FINALIZER_TERMINATION};
    struct meta m = {.finalizers = v, .n_finalizers = 2};
    ck_assert(meta_has_finalizer(&m, FINALIZER_TERMINATION));
    ck_assert(!meta_has_finalizer(&m, FINALIZER_CLASS));
    m.n_finalizers = 0;
    ck_assert(!meta_has_finalizer(&m, FINALIZER_TERMINATION));
}
END_TEST

/* ---- label keys
 * ---------------------------------------------------------------------------------------- */

static const struct {
    const char *key;
    bool well_known, restricted;
} keys[] = {
    {"karpenter.sh/nodepool", true, true},
    {"karpenter.sh/capacity-type", true, false},
    {"karpenter.sh/registered", false, true},
    {"karpenter.sh/anything", false, true},
    {"sub.karpenter.sh/anything", false, true},
    {"notkarpenter.sh/anything", false, false},
    {"karpenter.sh", false, false},
    {"kubernetes.io/hostname", false, true},
    {"kubernetes.io/arch", true, false},
    {"kubernetes.io/os", true, false},
    {"node.kubernetes.io/windows-build", true, false},
    {"node.kubernetes.io/instance-type", true, false},
    {"topology.kubernetes.io/zone", true, false},
    {"topology.kubernetes.io/region", true, false},
    {"topology.k8s.aws/zone-id", true, false},
    {"karpenter.k8s.aws/instance-category", true, false},
    {"karpenter.k8s.aws/instance-tenancy", true, false},
    {"karpenter.k8s.aws/nitro-sandbox", true, false},
    {"karpenter.k8s.aws/placement-group-partition", true, false},
    {"karpenter.k8s.aws/ec2nodeclass", false, true},
    {"karpenter.k8s.aws/instance-colour", false, true},
    {"x.karpenter.k8s.aws/y", false, true},
    {"example.com/team", false, false},
    {"team", false, false},
};

START_TEST(well_known_and_restricted_keys)
{
    struct symtab *t = labels_symtab_new();
    sym key = sym_intern(t, keys[_i].key);
    ck_assert_msg(labels_well_known(key) == keys[_i].well_known, "%s", keys[_i].key);
    ck_assert_msg(labels_restricted(t, key) == keys[_i].restricted, "%s", keys[_i].key);
    symtab_free(t);
}
END_TEST

START_TEST(fixed_symbols_are_what_they_say)
{
    static const struct {
        sym id;
        const char *text;
    } fixed[] = {
#define X(id, text) {id, text},
        LABELS_KEYS(X) LABELS_VALUES(X)
#undef X
    };
    struct symtab *t = labels_symtab_new();
    ck_assert_uint_eq(symtab_count(t), LABELS_END - 1);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        ck_assert_str_eq(sym_str(t, fixed[i].id), fixed[i].text);
        ck_assert_uint_eq(sym_find(t, fixed[i].text), fixed[i].id);
    }
    symtab_free(t);
}
END_TEST

static const char *const spellings[][2] = {
    {"beta.kubernetes.io/arch", "kubernetes.io/arch"},
    {"beta.kubernetes.io/os", "kubernetes.io/os"},
    {"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"},
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"topology.ebs.csi.aws.com/zone", "topology.kubernetes.io/zone"},
    {"kubernetes.io/arch", "kubernetes.io/arch"},
    {"team", "team"},
};

START_TEST(old_spellings)
{
    ck_assert_str_eq(labels_normalize(spellings[_i][0]), spellings[_i][1]);
}
END_TEST

UNIT_MAIN("model", UNIT_CASES(pod_predicates, pods), UNIT_CASES(do_not_disrupt, holds),
          UNIT_TEST(conditions_by_type), UNIT_TEST(labels_and_annotations_by_key),
          UNIT_TEST(finalizers), UNIT_CASES(well_known_and_restricted_keys, keys),
          UNIT_TEST(fixed_symbols_are_what_they_say), UNIT_CASES(old_spellings, spellings))
