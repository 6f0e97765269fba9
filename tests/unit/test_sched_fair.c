/* Fairness: nobody waits behind those that find no place, and what a decision did not get to comes
 * first in the next. */
#include "fixture.h"
#include "unit.h"

#define N_GPU 2100
#define N_SMALL 70

/* Many pools; GPU pods of which no two are alike, for types that are sold out; small pods that
 * any pool would take, and which come last by size. */
static struct fix *crowd(void)
{
    struct fix *f = fix_new();
    uint32_t gpu = (uint32_t)catalog_find_type(f->catalog, fix_sym(f, "g.xlarge"));
    for (uint32_t zone = 0; zone < 3; zone++) {
        offerings_set_available(f->offerings, gpu, zone, CT_SPOT, false);
        offerings_set_available(f->offerings, gpu, zone, CT_ON_DEMAND, false);
    }
    for (int i = 0; i < 20; i++) {
        fix_pool(f, arena_printf(&f->a, "pool-%02d", i), "");
    }
    for (uint32_t i = 0; i < N_GPU; i++) {
        struct pod_class *cls = fix_class(f, 1000 + i, 64);
        cls->requests.v[RES_NVIDIA_GPU] = 1;
        fix_pod(f, cls, arena_printf(&f->a, "gpu-%04u", i));
    }
    fix_pods(f, fix_class(f, 100, 64), N_SMALL, "small");
    return f;
}

static uint32_t small_placed(const struct sched_result *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        for (uint32_t k = 0; k < r->claims[i].n_pods; k++) {
            n += str_starts(r->claims[i].pods[k]->m.name, "small");
        }
    }
    return n;
}

START_TEST(nobody_waits)
{
    struct fix *f = crowd();
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert(!r->truncated);
    ck_assert_uint_eq(small_placed(r), N_SMALL);
    ck_assert_uint_eq(r->n_refused, N_GPU);
    ck_assert_int_eq(r->refused[0].reason.code, REASON_Offering);
    fix_done(f);
}
END_TEST

/* Decisions that get to two thirds of them: after two, everybody has been looked at. */
START_TEST(tail_first)
{
    struct fix *f = crowd();
    f->opt.max_units = 28000;
    f->opt.record_reasons = false;
    const struct sched_result *first = fix_schedule(f, 1000000);
    ck_assert(first->truncated);
    ck_assert_uint_eq(small_placed(first), 0);
    ck_assert_uint_gt(first->n_refused, N_GPU / 2);
    const char **uids = ARENA_NEW_N(&f->a, const char *, first->n_undecided);
    for (uint32_t i = 0; i < first->n_undecided; i++) {
        uids[i] = first->undecided[i]->m.uid;
    }
    qsort(uids, first->n_undecided, sizeof(*uids), str_qsort_cmp);
    f->in.first = uids;
    f->in.n_first = first->n_undecided;
    const struct sched_result *second = fix_schedule(f, 1000000);
    ck_assert(second->truncated);
    ck_assert_uint_eq(small_placed(second), N_SMALL);
    for (uint32_t i = 0; i < second->n_undecided; i++) {
        const char *uid = second->undecided[i]->m.uid;
        ck_assert_ptr_null(bsearch(&uid, uids, f->in.n_first, sizeof(*uids), str_qsort_cmp));
    }
    fix_done(f);
}
END_TEST

/* Pods spread over zones, the largest first, no two alike: the three claims that fill up side by
 * side end up alike, none gets the larger of every three. */
START_TEST(evened_out)
{
    struct fix *f = fix_new();
    static const char *const web[] = {"web"};
    static const struct selector_expr expr = {
        .key = "app", .op = SELECTOR_IN, .values = web, .n = 1};
    static const struct kv label = {"app", "web"};
    struct spread spread = {.key = L_ZONE, .max_skew = 1, .sel = {.v = &expr, .n = 1}};
    int64_t least = INT64_MAX, most = 0;
    fix_pool(f, "main", "kubernetes.io/arch In amd64");
    for (uint32_t i = 0; i < 90; i++) {
        struct pod_class *cls = fix_class(f, 900 - 9 * (int64_t)i, 64);
        cls->spreads = &spread;
        cls->n_spreads = 1;
        fix_pod(f, cls, arena_printf(&f->a, "p-%02u", i))->labels = (struct kvs){&label, 1};
    }
    const struct sched_result *r = fix_schedule(f, 1000000);
    ck_assert_uint_eq(r->n_claims, 3);
    for (uint32_t i = 0; i < r->n_claims; i++) {
        int64_t cpu = r->claims[i].requests.v[RES_CPU];
        ck_assert_uint_eq(r->claims[i].n_pods, 30);
        least = cpu < least ? cpu : least;
        most = cpu > most ? cpu : most;
    }
    ck_assert_int_le(most - least, 100);
    fix_done(f);
}
END_TEST

UNIT_MAIN("sched_fair", UNIT_TEST(nobody_waits), UNIT_TEST(tail_first), UNIT_TEST(evened_out))
