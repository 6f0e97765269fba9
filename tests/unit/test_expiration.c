/* test_expiration.c - when a claim's time is up (leave/expiration.h) */
#include "agent/leave/expiration.h"
#include "common/base/str.h"
#include "unit.h"

#define H NS_PER_H
#define NEVER NS_NEVER

static const struct {
    const char *mode, *delay; /* annotations of the pool; NULL = absent */
    bool budgeted;            /* by the flag */
    int64_t after_ns;
    int64_t replace_from_ns, delete_ns; /* after creation */
} rows[] = {
    {NULL, NULL, false, 10 * H, NEVER, 10 * H},
    {"Forceful", NULL, false, 10 * H, NEVER, 10 * H},
    {"Budgeted", NULL, false, 10 * H, 9 * H, 82 * H},
    {NULL, NULL, true, 10 * H, 9 * H, 82 * H},
    {"Forceful", NULL, true, 10 * H, NEVER, 10 * H},
    {"Budgeted", "0s", false, 10 * H, 9 * H, 10 * H},
    {"Budgeted", "90m", false, 10 * H, 9 * H, 11 * H + H / 2},
    /* The delay is Budgeted's. */
    {NULL, "90m", false, 10 * H, NEVER, 10 * H},
    /* Not readable: nothing is disrupted. */
    {"budgeted", NULL, false, 10 * H, NEVER, NEVER},
    {"", NULL, true, 10 * H, NEVER, NEVER},
    {"Budgeted", "soon", false, 10 * H, NEVER, NEVER},
    {"Budgeted", "-1h", false, 10 * H, NEVER, NEVER},
    {"Forceful", "1 hour", false, 10 * H, NEVER, NEVER},
    /* Never. */
    {"Budgeted", NULL, false, DURATION_NEVER, NEVER, NEVER},
    {NULL, NULL, false, DURATION_ABSENT, NEVER, NEVER},
    {NULL, NULL, false, 0, NEVER, NEVER},
    /* Later than time can tell. */
    {NULL, NULL, false, INT64_MAX - 5, NEVER, NEVER},
    {"Budgeted", NULL, false, INT64_MAX - 5, NEVER, NEVER},
};

START_TEST(times)
{
    const int64_t created_ns = INT64_C(1767603600) * NS_PER_S;
    const struct agent_options o = {.expiration_budgeted = rows[_i].budgeted,
                                    .expiration_max_delay_ns = 72 * H};
    struct kv kv[2];
    uint32_t n = 0;
    if (rows[_i].mode) {
        kv[n++] = (struct kv){ANN_EXPIRATION, rows[_i].mode};
    }
    if (rows[_i].delay) {
        kv[n++] = (struct kv){ANN_EXPIRATION_MAX_DELAY, rows[_i].delay};
    }
    const struct nodepool np = {.m = {.annotations = {kv, n}}};
    const struct nodeclaim nc = {.m = {.uid = "a-uid", .created_ns = created_ns},
                                 .expire_after_ns = rows[_i].after_ns};
    struct expiration_times t = expiration_of(&o, &np, &nc);
    ck_assert_int_eq(t.delete_ns,
                     rows[_i].delete_ns == NEVER ? NEVER : created_ns + rows[_i].delete_ns);
    if (rows[_i].replace_from_ns == NEVER) {
        ck_assert_int_eq(t.replace_ns, NEVER);
    } else {
        ck_assert_int_ge(t.replace_ns, created_ns + rows[_i].replace_from_ns);
        ck_assert_int_le(t.replace_ns, created_ns + rows[_i].after_ns);
    }
}
END_TEST

/* Claims of one age do not go as one, and each always at its time. */
START_TEST(spread)
{
    const struct agent_options o = {.expiration_budgeted = true};
    int64_t seen[20];
    for (int i = 0; i < 20; i++) {
        char uid[64];
        snprintf(uid, sizeof(uid), "00000000-0000-4000-8000-0000000000%02d", i);
        const struct nodeclaim nc = {.m = {.uid = uid}, .expire_after_ns = 100 * H};
        seen[i] = expiration_of(&o, NULL, &nc).replace_ns;
        ck_assert_int_eq(seen[i], expiration_of(&o, NULL, &nc).replace_ns);
        for (int k = 0; k < i; k++) {
            ck_assert_int_ne(seen[i] / NS_PER_MIN, seen[k] / NS_PER_MIN);
        }
    }
}
END_TEST

UNIT_MAIN("expiration", UNIT_CASES(times, rows), UNIT_TEST(spread))
