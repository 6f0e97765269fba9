/*
 * test_whatif.c - a picture that was asked many times answers as a new one does
 * (core/sched/sched_whatif.h).
 *
 * On random fleets: trials that are undone, whole or in part, leave no trace, whatever was kept
 * before and in between.
 */
#include "randomfleet.h"

#include "common/core/sched/sched_whatif.h"

#define WORLDS 300

struct rig {
    struct fleet *fl;
    const struct snapshot *snap;
    const struct pod *moving[1024];
    uint32_t first[FIX_MAX], n[FIX_MAX]; /* per node of the snapshot: its pods' numbers */
    uint32_t numbers[1024];
    uint32_t n_moving;
    uint32_t ranks[FIX_MAX];
};

static int cmp_pod(const void *x, const void *y)
{
    return snapshot_pod_cmp(*(const struct pod *const *)x, *(const struct pod *const *)y);
}

static void rig_begin(struct rig *r, struct fleet *fl)
{
    memset(r, 0, sizeof(*r));
    r->fl = fl;
    r->snap = fix_snapshot(fl->w.f);
    for (uint32_t i = 0; i < r->snap->n_nodes; i++) {
        r->first[i] = r->n_moving;
        for (uint32_t k = 0; k < r->snap->n_bound; k++) {
            if (r->snap->bound[k].node == &r->snap->nodes[i] &&
                pod_reschedulable(r->snap->bound[k].pod)) {
                r->numbers[r->n_moving] = r->snap->n_pods + r->n_moving;
                r->moving[r->n_moving++] = r->snap->bound[k].pod;
            }
        }
        r->n[i] = r->n_moving - r->first[i];
        qsort(r->moving + r->first[i], r->n[i], sizeof(r->moving[0]), cmp_pod);
        r->ranks[i] = (uint32_t)(i * 7 % 5);
    }
}

static struct sched *picture(struct rig *r)
{
    struct sched *s =
        whatif_begin(&r->fl->w.f->a, r->snap, &r->fl->opt.sched, r->moving, r->n_moving);
    ck_assert(whatif_settle(s, UINT64_MAX));
    whatif_start(s, r->ranks);
    return s;
}

static bool leave(struct rig *r, struct sched *s, uint32_t node)
{
    return whatif_leave(s, &r->snap->nodes[node], r->numbers + r->first[node], r->n[node]);
}

/* Where everything went, and what the new claims may be. */
static const char *answer(struct rig *r, struct sched *s, bool fits)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_printf(&b, "%d", fits);
    for (uint32_t i = 0; fits && i < s->result.n_existing; i++) {
        buf_printf(&b, " %u>%s/%u", s->existing_taken[i].pod, s->existing[i].node->name,
                   s->existing_taken[i].way);
    }
    for (uint32_t i = 0; fits && i < s->n_claims; i++) {
        const struct sched_open *c = s->claims[i];
        buf_printf(&b, " | %s %llx/%x/%u", c->pool->in->np->m.name,
                   (unsigned long long)c->offer.zones, c->offer.cts, c->reservation);
        for (uint32_t w = 0; w < catalog_words(c->pool->tm.catalog); w++) {
            buf_printf(&b, " %llx", (unsigned long long)c->types[w]);
        }
        for (uint32_t k = 0; k < c->n_pods; k++) {
            buf_printf(&b, " %u", c->taken[k].pod);
        }
    }
    const char *ret = arena_strdup(&r->fl->w.f->a, b.p);
    buf_done(&b);
    return ret;
}

/* Two nodes of the seed's choice with so many new claims. */
static const char *trial(struct rig *r, struct sched *s, struct draw *d, uint32_t a, uint32_t b,
                         bool noise)
{
    whatif_begin_trial(s, 2);
    struct whatif_mark start = whatif_mark(s);
    bool fits = leave(r, s, a);
    if (noise && fits) {
        struct whatif_mark part = whatif_mark(s);
        uint32_t other = rnd(d, r->snap->n_nodes);
        if (other != a && other != b) {
            (void)leave(r, s, other);
        }
        whatif_undo(s, &part);
    }
    fits = fits && (a == b || leave(r, s, b));
    const char *ret = answer(r, s, fits);
    whatif_undo(s, &start);
    return ret;
}

/* The node goes for good, if it can. */
static void keep(struct rig *r, struct sched *s, uint32_t node)
{
    whatif_begin_trial(s, 1);
    struct whatif_mark start = whatif_mark(s);
    if (!leave(r, s, node)) {
        whatif_undo(s, &start);
        return;
    }
    struct resources *reserve = ARENA_NEW_N(&r->fl->w.f->a, struct resources, s->n_claims);
    const struct snapshot_node *left = &r->snap->nodes[node];
    whatif_keep(s, &left, 1, reserve);
}

START_TEST(test_no_trace)
{
    static struct fleet fl;
    static struct rig r;
    struct draw d;
    draw(&d, (uint64_t)_i);
    f_build(&fl, d.text.p);
    rig_begin(&r, &fl);
    struct sched *tired = picture(&r), *fresh = picture(&r);
    uint32_t n = r.snap->n_nodes, gone = rnd(&d, n);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 8; i++) {
            uint32_t a = rnd(&d, n), b = rnd(&d, n);
            if (round == 0 || (a != gone && b != gone)) {
                (void)trial(&r, tired, &d, a, b, true);
            }
        }
        uint32_t a = rnd(&d, n), b = rnd(&d, n);
        if (round == 0 || (a != gone && b != gone)) {
            const char *want = trial(&r, fresh, &d, a, b, false);
            const char *got = trial(&r, tired, &d, a, b, true);
            ck_assert_msg(str_eq(got, want), "round %d:\n%s\nnot\n%s", round, got, want);
        }
        keep(&r, tired, gone);
        whatif_end(fresh);
        fresh = picture(&r);
        keep(&r, fresh, gone);
    }
    whatif_end(tired);
    whatif_end(fresh);
    draw_done(&d);
    f_done(&fl);
}
END_TEST

static const int worlds[WORLDS];

UNIT_MAIN("whatif", UNIT_CASES(test_no_trace, worlds))
