/* test_repair.c - which nodes are broken, and when the breaker holds (leave/repair.h) */
#include "agent/leave/repair.h"
#include "common/base/str.h"
#include "unit.h"

#define T INT64_C(1767603600) /* s */
#define BAD(type, status, min)                                                                     \
    {                                                                                              \
        type, "", "", status, (T + (min)*60) * NS_PER_S, 0                                         \
    }

/* Conditions by their minutes of transition; when the first of them is for long enough. */
static const struct {
    struct condition v[3];
    const char *bad; /* NULL = none */
    int due_min;
} rows[] = {
    {{BAD("Ready", STATUS_TRUE, 0)}, NULL, 0},
    {{BAD("Ready", STATUS_FALSE, 0)}, "Ready", 30},
    {{BAD("Ready", STATUS_UNKNOWN, 5)}, "Ready", 35},
    {{BAD("MemoryPressure", STATUS_TRUE, 0)}, NULL, 0},
    {{BAD("AcceleratedHardwareReady", STATUS_FALSE, 0)}, "AcceleratedHardwareReady", 10},
    {{BAD("AcceleratedHardwareReady", STATUS_UNKNOWN, 0)}, NULL, 0},
    {{BAD("StorageReady", STATUS_FALSE, 1)}, "StorageReady", 31},
    {{BAD("NetworkingReady", STATUS_FALSE, 1)}, "NetworkingReady", 31},
    {{BAD("KernelReady", STATUS_FALSE, 1)}, "KernelReady", 31},
    {{BAD("ContainerRuntimeReady", STATUS_FALSE, 1)}, "ContainerRuntimeReady", 31},
    /* The one whose time comes first, whatever the order. */
    {{BAD("Ready", STATUS_FALSE, 0), BAD("AcceleratedHardwareReady", STATUS_FALSE, 15)},
     "AcceleratedHardwareReady",
     25},
    {{BAD("KernelReady", STATUS_FALSE, 0), BAD("Ready", STATUS_FALSE, 2)}, "KernelReady", 30},
};

START_TEST(bad)
{
    struct node n = {.conditions = {rows[_i].v, 3}};
    int64_t due_ns;
    for (uint32_t i = 0; i < 3; i++) {
        if (!n.conditions.v[i].type) {
            n.conditions.n = i;
            break;
        }
    }
    const struct condition *c = repair_bad(&n, &due_ns);
    ck_assert_msg(!c == !rows[_i].bad && (!c || str_eq(c->type, rows[_i].bad)), "row %d: %s", _i,
                  c ? c->type : "none");
    if (c) {
        ck_assert_int_eq(due_ns, (T + rows[_i].due_min * 60) * NS_PER_S);
    }
}
END_TEST

/* Nobody knows since when. */
START_TEST(undated)
{
    const struct condition c = {"Ready", "", "", STATUS_FALSE, 0, 0};
    const struct node n = {.conditions = {&c, 1}};
    int64_t due_ns;
    ck_assert_ptr_null(repair_bad(&n, &due_ns));
}
END_TEST

static const struct {
    struct repair_zone zones[3];
    uint32_t n, permyriad;
    enum repair_verdict want;
} breaker[] = {
    {{{1, 1}}, 1, 2000, REPAIR_YES},
    {{{3, 1}}, 1, 2000, REPAIR_YES},
    {{{3, 2}}, 1, 2000, REPAIR_TOO_MANY},
    {{{10, 2}}, 1, 2000, REPAIR_YES},
    {{{10, 3}}, 1, 2000, REPAIR_TOO_MANY},
    {{{11, 3}}, 1, 2000, REPAIR_YES},
    {{{10, 3}}, 1, 3000, REPAIR_YES},
    {{{10, 10}}, 1, 10000, REPAIR_YES}, /* one zone is no zone of several */
    /* Over zones. */
    {{{5, 1}, {5, 1}, {5, 1}}, 3, 2000, REPAIR_YES},
    {{{5, 2}, {5, 1}, {5, 1}}, 3, 2000, REPAIR_TOO_MANY},
    {{{5, 5}, {5, 0}, {5, 0}}, 3, 2000, REPAIR_ZONE},
    {{{5, 5}, {5, 0}, {5, 0}}, 3, 5000, REPAIR_ZONE},
    {{{5, 4}, {5, 0}, {5, 0}}, 3, 5000, REPAIR_YES},
    {{{5, 5}, {5, 1}, {5, 0}}, 3, 5000, REPAIR_YES},
    {{{1, 1}, {5, 0}, {5, 0}}, 3, 2000, REPAIR_YES}, /* one machine is no zone */
};

START_TEST(judge)
{
    ck_assert_int_eq(repair_judge(breaker[_i].zones, breaker[_i].n, breaker[_i].permyriad),
                     breaker[_i].want);
}
END_TEST

UNIT_MAIN("repair", UNIT_CASES(bad, rows), UNIT_TEST(undated), UNIT_CASES(judge, breaker))
