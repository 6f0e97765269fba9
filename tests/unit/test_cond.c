/* test_cond.c - conditions as they are written, and the root derived from them. */
#include "unit.h"

#include "agent/work/cond.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"

#define T0 (INT64_C(1767603600) * 1000000000) /* 2026-01-05T09:00:00Z */
#define NOW (T0 + INT64_C(60) * 1000000000)

static const struct condition launched_v[] = {
    {"Launched", "Launched", "", STATUS_TRUE, T0, 1},
    {"Registered", "NodeNotFound", "Node not registered with cluster", STATUS_UNKNOWN, T0, 1},
};
static const struct conditions launched = {launched_v, 2};
static const struct meta meta = {.name = "a", .generation = 1, .created_ns = T0};

static json_t *find(json_t *list, const char *type)
{
    size_t i;
    json_t *c;
    json_array_foreach (list, i, c) {
        if (strcmp(jsonx_str_or(c, "type", ""), type) == 0) {
            return c;
        }
    }
    return NULL;
}

/* One condition set on top of `launched`. */
static const struct {
    const char *type;
    enum status status;
    const char *reason, *message;
    bool changed;
    const char *want_status, *want_since;
} set_rows[] = {
    {"Launched", STATUS_TRUE, NULL, NULL, false, "True", "2026-01-05T09:00:00Z"},
    {"Launched", STATUS_TRUE, "Other", NULL, true, "True", "2026-01-05T09:00:00Z"},
    {"Launched", STATUS_FALSE, "Lost", "gone", true, "False", "2026-01-05T09:01:00Z"},
    {"Registered", STATUS_UNKNOWN, "NodeNotFound", "Node not registered with cluster", false,
     "Unknown", "2026-01-05T09:00:00Z"},
    {"Registered", STATUS_UNKNOWN, "NodeNotFound", "other", true, "Unknown",
     "2026-01-05T09:00:00Z"},
    {"Registered", STATUS_TRUE, NULL, NULL, true, "True", "2026-01-05T09:01:00Z"},
    {"Drifted", STATUS_TRUE, "NodePoolDrifted", NULL, true, "True", "2026-01-05T09:01:00Z"},
};

START_TEST(sets)
{
    struct cond_edit e;
    cond_begin(&e, &launched, &meta, NOW);
    cond_set(&e, set_rows[_i].type, set_rows[_i].status, set_rows[_i].reason, set_rows[_i].message);
    ck_assert(e.changed == set_rows[_i].changed);
    AUTO_JSON json_t *list = cond_json(&e);
    json_t *c = find(list, set_rows[_i].type);
    ck_assert_str_eq(jsonx_str(c, "status"), set_rows[_i].want_status);
    ck_assert_str_eq(jsonx_str(c, "lastTransitionTime"), set_rows[_i].want_since);
    ck_assert_str_eq(jsonx_str(c, "reason"),
                     set_rows[_i].reason ? set_rows[_i].reason : set_rows[_i].type);
    ck_assert_str_eq(jsonx_str(c, "message"), set_rows[_i].message ? set_rows[_i].message : "");
    ck_assert_int_eq(jsonx_int(c, "observedGeneration", 0), 1);
}
END_TEST

static const struct {
    enum status launched, registered, initialized; /* STATUS_ABSENT: not there */
    const char *status, *reason, *message;
} root_rows[] = {
    {STATUS_TRUE, STATUS_TRUE, STATUS_TRUE, "True", "Ready", ""},
    {STATUS_TRUE, STATUS_UNKNOWN, STATUS_TRUE, "Unknown", "ReconcilingDependents",
     "Registered=Unknown"},
    {STATUS_TRUE, STATUS_FALSE, STATUS_UNKNOWN, "False", "UnhealthyDependents",
     "Registered=False, Initialized=Unknown"},
    {STATUS_ABSENT, STATUS_ABSENT, STATUS_ABSENT, "Unknown", "ReconcilingDependents",
     "Launched=Unknown, Registered=Unknown, Initialized=Unknown"},
};

START_TEST(root)
{
    static const char *const types[] = {"Launched", "Registered", "Initialized", NULL};
    enum status have[] = {root_rows[_i].launched, root_rows[_i].registered,
                          root_rows[_i].initialized};
    struct cond_edit e;
    struct conditions none = {NULL, 0};
    char message[COND_ROOT_MESSAGE];
    cond_begin(&e, &none, &meta, NOW);
    for (int i = 0; i < 3; i++) {
        if (have[i] != STATUS_ABSENT) {
            cond_set(&e, types[i], have[i], "R", NULL);
        }
    }
    cond_root(&e, types, T0, message);
    AUTO_JSON json_t *list = cond_json(&e);
    json_t *c = find(list, "Ready");
    ck_assert_str_eq(jsonx_str(c, "status"), root_rows[_i].status);
    ck_assert_str_eq(jsonx_str(c, "reason"), root_rows[_i].reason);
    ck_assert_str_eq(jsonx_str(c, "message"), root_rows[_i].message);
    ck_assert_uint_eq(json_array_size(list), 4);
    for (int i = 0; i < 3; i++) { /* what was missing waits since the object's creation */
        c = find(list, types[i]);
        ck_assert_str_eq(jsonx_str(c, "lastTransitionTime"), have[i] == STATUS_ABSENT
                                                                 ? "2026-01-05T09:00:00Z"
                                                                 : "2026-01-05T09:01:00Z");
    }
    e.changed = false; /* once more: nothing changes */
    char again[COND_ROOT_MESSAGE];
    cond_root(&e, types, T0, again);
    ck_assert(!e.changed);
}
END_TEST

START_TEST(clears)
{
    struct cond_edit e;
    cond_begin(&e, &launched, &meta, NOW);
    cond_clear(&e, "Drifted");
    ck_assert(!e.changed);
    cond_clear(&e, "Launched");
    ck_assert(e.changed);
    AUTO_JSON json_t *list = cond_json(&e);
    ck_assert_uint_eq(json_array_size(list), 1);
    ck_assert_ptr_null(find(list, "Launched"));
    ck_assert_int_eq(cond_since(&launched, "Launched", 7), T0);
    ck_assert_int_eq(cond_since(&launched, "Drifted", 7), 7);
}
END_TEST

/* More conditions than an edit holds: the rest is dropped, nothing breaks. */
START_TEST(many)
{
    struct condition v[COND_MAX + 10];
    char names[COND_MAX + 10][16];
    for (int i = 0; i < COND_MAX + 10; i++) {
        snprintf(names[i], sizeof(names[i]), "C%d", i);
        v[i] = (struct condition){names[i], "R", "", STATUS_TRUE, T0, 0};
    }
    struct conditions all = {v, COND_MAX + 10};
    struct cond_edit e;
    cond_begin(&e, &all, &meta, NOW);
    cond_set(&e, "OneMore", STATUS_TRUE, NULL, NULL);
    AUTO_JSON json_t *list = cond_json(&e);
    ck_assert_uint_eq(json_array_size(list), COND_MAX);
}
END_TEST

UNIT_MAIN("cond", UNIT_CASES(sets, set_rows), UNIT_CASES(root, root_rows), UNIT_TEST(clears),
          UNIT_TEST(many))
