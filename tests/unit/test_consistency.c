/* test_consistency.c - is the machine what was ordered? (claim/consistency.h) */
#include "agent/claim/consistency.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "unit.h"

/* cpu in milli and one extended resource: asked, expected, there. */
static const struct {
    int64_t cpu[3], gpu[3];
    bool holds;
} rows[] = {
    {{1000, 4000, 4000}, {0, 0, 0}, true},
    {{1000, 4000, 3600}, {0, 0, 0}, true},
    {{1000, 4000, 3500}, {0, 0, 0}, false},
    {{0, 4000, 100}, {0, 0, 0}, true}, /* nobody asks */
    {{1000, 0, 0}, {0, 0, 0}, true},   /* nothing promised */
    {{1000, 4000, 4000}, {1, 4, 4}, true},
    {{1000, 4000, 4000}, {1, 4, 3}, false},
    {{1000, 4000, 4000}, {1, 4, 0}, false},
    {{1000, 4000, 9000}, {1, 1, 8}, true},
    {{1, INT64_MAX, INT64_MAX}, {0, 0, 0}, true},
};

static struct resources of(int64_t cpu, struct res_ext *gpu)
{
    struct resources r = {.ext = gpu, .n_ext = gpu->amount ? 1 : 0};
    r.v[RES_CPU] = cpu;
    return r;
}

START_TEST(holds)
{
    struct symtab *t = labels_symtab_new();
    char text[CONSISTENCY_TEXT] = "";
    struct res_ext gpu[3];
    for (int i = 0; i < 3; i++) {
        gpu[i] = (struct res_ext){sym_intern(t, "nvidia.com/gpu"), rows[_i].gpu[i]};
    }
    const struct nodeclaim nc = {.requests = of(rows[_i].cpu[0], &gpu[0]),
                                 .capacity = of(rows[_i].cpu[1], &gpu[1])};
    const struct node n = {.capacity = of(rows[_i].cpu[2], &gpu[2])};
    ck_assert_msg(consistency_holds(t, &nc, &n, text) == rows[_i].holds, "row %d: %s", _i, text);
    ck_assert((*text == '\0') == rows[_i].holds);
    symtab_free(t);
}
END_TEST

UNIT_MAIN("consistency", UNIT_CASES(holds, rows))
