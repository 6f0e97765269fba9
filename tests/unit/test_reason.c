#include "fixture.h"
#include "unit.h"

START_TEST(test_names)
{
    ck_assert_str_eq(reason_name(REASON_NONE), "");
    ck_assert_str_eq(reason_name(REASON_Gated), "Gated");
    ck_assert_str_eq(reason_name(REASON_MultiplePDB), "MultiplePDB");
    ck_assert_str_eq(reason_name(REASON_Expiring), "Expiring");
    ck_assert_str_eq(reason_name(REASON_END), "");
}
END_TEST

/* The order of the codes is that of the machine output's documentation. */
START_TEST(test_order)
{
    static const enum reason_code pod[] = {
        REASON_Gated,           REASON_NotScheduledByUs, REASON_ResourceClaim,
        REASON_PoolNotReady,    REASON_CloudError,       REASON_Taint,
        REASON_UnknownLabel,    REASON_Requirement,      REASON_Volume,
        REASON_HostPort,        REASON_PodAffinity,      REASON_TopologySpread,
        REASON_ResourceUnknown, REASON_Resources,        REASON_NoSubnet,
        REASON_Offering,        REASON_MinValues,        REASON_NodeLimit,
        REASON_Limit,           REASON_LaunchBrake,      REASON_NoPool};
    for (size_t i = 1; i < ARRAY_LEN(pod); i++) {
        ck_assert_int_lt(pod[i - 1], pod[i]);
    }
}
END_TEST

/* Every code has a text even without operands, in one line and without a period. */
START_TEST(test_every_code)
{
    struct fix *f = fix_new();
    for (int c = REASON_NONE + 1; c < REASON_END; c++) {
        struct reason r = {.code = (enum reason_code)c, .short_of = {.res = RES_FIXED}};
        struct buf out;
        buf_init(&out, 4096);
        reason_fmt(f->syms, &r, &out);
        ck_assert_msg(out.n > 5, "%s", reason_name(r.code));
        ck_assert_ptr_null(strchr(out.p, '\n'));
        ck_assert_msg(out.p[out.n - 1] != '.' && out.p[out.n - 1] != ' ', "%s", out.p);
        buf_done(&out);
    }
    fix_done(f);
}
END_TEST

static const struct text {
    struct reason r;
    const char *want;
} texts[] = {
    {{.code = REASON_Limit, .short_of = {RES_CPU, 0, 30000, 18000}, .limit = 96000},
     "needs cpu 30, 18 left of limit 96"},
    {{.code = REASON_Limit,
      .short_of = {RES_MEMORY, 0, 64 * FIX_GIB, FIX_GIB / 2},
      .limit = 100 * FIX_GIB,
      .nearest_type = L_ARCH},
     "needs memory 64Gi for kubernetes.io/arch, 512Mi left of limit 100Gi"},
    {{.code = REASON_NodeLimit, .count = 3, .limit = 3}, "limit of nodes is used up: 3 of 3"},
    {{.code = REASON_Resources, .short_of = {RES_NVIDIA_GPU, 0, 4, 1}},
     "short of 3 nvidia.com/gpu (4 > 1)"},
    {{.code = REASON_Resources,
      .short_of = {RES_CPU, 0, 1990, 1930},
      .pod_need = 1000,
      .nearest_type = L_ARCH},
     "short of 60m cpu (pod 1 + daemonsets 990m > 1930m of kubernetes.io/arch)"},
    {{.code = REASON_Resources, .short_of = {RES_CPU, 0, 1990, 1930}, .pod_need = 1990},
     "short of 60m cpu (1990m > 1930m)"},
    {{.code = REASON_ResourceUnknown, .short_of = {RES_FIXED, V_SPOT, 1, 0}},
     "resource spot is provided by no instance type of the pool"},
    {{.code = REASON_MinValues, .key = L_ZONE, .count = 1, .limit = 2},
     "minValues 2 for topology.kubernetes.io/zone, 1 left"},
    {{.code = REASON_Waiting, .until_ns = FIX_NOW},
     "waits for consolidateAfter until 2023-11-14T22:13:20Z"},
    {{.code = REASON_Waiting, .until_ns = INT64_MAX}, "waits for consolidateAfter"},
    {{.code = REASON_PoolNotReady, .text = "NodeClassNotFound"},
     "the pool is not ready: NodeClassNotFound"},
    {{.code = REASON_DoNotDisruptPod, .count = 2}, "2 pods with karpenter.sh/do-not-disrupt"},
    {{.code = REASON_DoNotDisruptPod, .count = 1}, "1 pod with karpenter.sh/do-not-disrupt"},
    {{.code = REASON_LaunchBrake, .count = 3, .limit = 3},
     "launches that the brake allows are used up: 3 of 3"},
    {{.code = REASON_Budget, .count = 1, .limit = 1}, "the disruption budget is used up: 1 of 1"},
    {{.code = REASON_Offering, .count = 0}, "no instance type is offered"},
    {{.code = REASON_NONE}, ""},
    {{.code = (enum reason_code)9999}, ""},
};

START_TEST(test_texts)
{
    struct fix *f = fix_new();
    struct buf out;
    buf_init(&out, 4096);
    reason_fmt(f->syms, &texts[_i].r, &out);
    ck_assert_str_eq(out.p, texts[_i].want);
    buf_done(&out);
    fix_done(f);
}
END_TEST

UNIT_MAIN("reason", UNIT_TEST(test_names), UNIT_TEST(test_order), UNIT_TEST(test_every_code),
          UNIT_CASES(test_texts, texts))
