/* test_pdb.c - what PodDisruptionBudgets allow (core/disrupt/pdb.h): eight pods of app=db at most.
 */
#include "plantest.h"

#include "common/core/disrupt/pdb.h"

static const struct pdb_row {
    const char *name, *world;
    int64_t allowed, desired;
    bool permanent;
    const char *code; /* of the first pod */
} rows[] = {
    {"as many as the status says", "{name: b, match: {app: db}, min: 1, allowed: 2}", 2, 1, false,
     ""},
    {"no more than the pods that are healthy", "{name: b, match: {app: db}, min: 3}", 1, 3, false,
     ""},
    {"percentages round up", "{name: b, match: {app: db}, min: '60%'}", 1, 3, false, ""},
    {"of maxUnavailable, too", "{name: b, match: {app: db}, max: '30%'}", 2, 2, false, ""},
    {"status allows nothing now", "{name: b, match: {app: db}, min: 1, allowed: 0}", 0, 1, false,
     "PDB"},
    {"minAvailable as many as there are", "{name: b, match: {app: db}, min: 4}", 0, 4, true,
     "PDBPermanent"},
    {"minAvailable 100%", "{name: b, match: {app: db}, min: '100%'}", 0, 4, true, "PDBPermanent"},
    {"maxUnavailable 0", "{name: b, match: {app: db}, max: 0}", 0, 4, true, "PDBPermanent"},
    {"maxUnavailable 0%", "{name: b, match: {app: db}, max: '0%'}", 0, 4, true, "PDBPermanent"},
    {"more are to come: percentages are of what is expected",
     "{name: b, match: {app: db}, min: '50%', expected: 8}", 0, 4, false, "PDB"},
    {"a status of before", "{name: b, match: {app: db}, min: 1, stale: true}", 0, 1, false, "PDB"},
    {"every pod of the namespace", "{name: b, match: {}, min: 1}", 3, 1, false, ""},
    {"another namespace", "{name: b, ns: other, match: {app: db}, max: 0}", 0, 0, false, ""},
    {"two budgets", "{name: b, match: {app: db}, min: 1}, {name: c, match: {}, min: 1}", 3, 1,
     false, "MultiplePDB"},
};

START_TEST(test_allowed)
{
    const struct pdb_row *row = &rows[_i];
    static struct fleet fl;
    char world[2048];
    (void)snprintf(world, sizeof(world),
                   "fleet: [{name: n1}]\npods: [{node: n1, count: 4, cpu: 10, labels: {app: db}}]\n"
                   "pdbs: [%s]",
                   row->world);
    f_build(&fl, world);
    const struct snapshot *s = fix_snapshot(fl.w.f);
    struct pdb_index x;
    pdb_index_build(&fl.w.f->a, s, &x);
    const struct pod *p = s->bound[0].pod;
    ck_assert_msg(x.v[0].allowed == row->allowed, "%s: %d allowed", row->name, (int)x.v[0].allowed);
    ck_assert_msg(x.v[0].desired == row->desired, "%s: %d desired", row->name, (int)x.v[0].desired);
    ck_assert_msg(x.v[0].permanent == row->permanent, "%s", row->name);
    ck_assert_msg(str_eq(reason_name(pdb_check(&x, p, pdb_of(&x, p))), row->code), "%s: %s",
                  row->name, reason_name(pdb_check(&x, p, pdb_of(&x, p))));
    f_done(&fl);
}
END_TEST

/* The first of two pods is not ready. */
static const struct sick_row {
    const char *name, *budget, *code;
} sick_rows[] = {
    {"AlwaysAllow lets it go", "min: 1, always: true, allowed: 0, healthy: 0", ""},
    {"IfHealthyBudget does not while too few are healthy",
     "min: 2, allowed: 0, healthy: 1, desired: 2", "PDBPermanent"},
    {"it does while the budget is met", "min: 1, allowed: 0, healthy: 1, desired: 1", ""},
    {"a status of before allows nothing", "min: 1, always: true, stale: true, allowed: 0", "PDB"},
};

START_TEST(test_unhealthy)
{
    const struct sick_row *row = &sick_rows[_i];
    static struct fleet fl;
    char world[2048];
    (void)snprintf(world, sizeof(world),
                   "fleet: [{name: n1}]\npods: [{node: n1, cpu: 10, name: sick, notReady: true, "
                   "labels: {app: db}}, {node: n1, cpu: 10, labels: {app: db}}]\n"
                   "pdbs: [{name: b, match: {app: db}, %s}]",
                   row->budget);
    f_build(&fl, world);
    const struct snapshot *s = fix_snapshot(fl.w.f);
    struct pdb_index x;
    pdb_index_build(&fl.w.f->a, s, &x);
    const struct pod *p = s->bound[0].pod;
    ck_assert_str_eq(p->m.name, "sick");
    ck_assert_msg(str_eq(reason_name(pdb_check(&x, p, pdb_of(&x, p))), row->code), "%s: %s",
                  row->name, reason_name(pdb_check(&x, p, pdb_of(&x, p))));
    f_done(&fl);
}
END_TEST

/* Nobody may move while budgets cannot be read; a pod that does not run yet is never held. */
START_TEST(test_unknown)
{
    static struct fleet fl;
    f_build(&fl, "fleet: [{name: n1}]\npods: [{node: n1, cpu: 10, labels: {app: db}}]\n"
                 "pdbs: [{name: b, match: {app: db}, max: 0}]");
    struct pod *p = (struct pod *)(uintptr_t)fl.w.bound[0];
    struct pdb_index x;
    pdb_index_build(&fl.w.f->a, fix_snapshot(fl.w.f), &x);
    p->phase = POD_PENDING;
    ck_assert_int_eq(pdb_check(&x, p, pdb_of(&x, p)), REASON_NONE);
    fl.w.f->in.pdbs_unknown = true;
    pdb_index_build(&fl.w.f->a, fix_snapshot(fl.w.f), &x);
    ck_assert_int_eq(pdb_check(&x, p, pdb_of(&x, p)), REASON_PDB);
    f_done(&fl);
}
END_TEST

UNIT_MAIN("pdb", UNIT_CASES(test_allowed, rows), UNIT_CASES(test_unhealthy, sick_rows),
          UNIT_TEST(test_unknown))
