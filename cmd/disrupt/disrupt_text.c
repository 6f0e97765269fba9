/* disrupt_text.c - what a plan says, in words: see disrupt.h. */
#include "disrupt.h"

#include "cmd/read/fleet.h"
#include "cmd/report.h"
#include "cmd/screen.h"
#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/core/labels.h"

static const char *money(struct arena *a, int64_t pusd_h)
{
    return screen_hour(a, pusd_h, false, "");
}

/* Ten-thousandths as "0.42". */
static const char *share(struct arena *a, int64_t permyriad)
{
    return arena_printf(a, "%lld.%02lld", (long long)(permyriad / 10000),
                        (long long)(permyriad % 10000 / 100));
}

/* ---- reasons --------------------------------------------------------------------------------- */

static const char *pod_reason(struct arena *a, const struct reason *r)
{
    const char *pod = r->object, *pdb = r->object2 ? r->object2 : "?";
    switch (r->code) {
    case REASON_DoNotDisruptPod:
        return r->count > 1 ? arena_printf(a, "%s and %lld more have karpenter.sh/do-not-disrupt",
                                           pod, (long long)r->count - 1)
                            : arena_printf(a, "%s has karpenter.sh/do-not-disrupt", pod);
    case REASON_MultiplePDB:
        return arena_printf(a, "%s is under more than one PodDisruptionBudget (%s)", pod, pdb);
    case REASON_PDBPermanent:
        return arena_printf(a, "%s: PodDisruptionBudget %s never allows an eviction", pod, pdb);
    case REASON_PDB:
        return r->object2 ? arena_printf(a, "%s: PodDisruptionBudget %s allows %lld now", pod, pdb,
                                         (long long)r->limit)
                          : arena_printf(a, "%s: %s", pod, r->text ? r->text : "not now");
    case REASON_Nominated:
        return arena_printf(a, "%s is expected on it", pod);
    default:
        return NULL;
    }
}

static const char *waiting(const struct disrupt *d, const struct reason *r)
{
    struct arena *a = &d->s->a;
    int64_t now = d->s->w.now_ns;
    if (r->text) {
        return arena_printf(a, "%s until %s", r->text, screen_clock(a, r->until_ns, now));
    }
    if (r->until_ns == 0 || r->until_ns == NS_NEVER || r->since_ns == 0) {
        return NULL;
    }
    return arena_printf(a, "quiet for %s, consolidateAfter is %s: until %s",
                        screen_age(a, now - r->since_ns), screen_age(a, r->until_ns - r->since_ns),
                        screen_clock(a, r->until_ns, now));
}

/* The pool stands in text. */
static const char *budget_text(const struct disrupt *d, const struct reason *r)
{
    struct arena *a = &d->s->a;
    const char *of = r->text ? arena_printf(a, " of nodepool %s", r->text) : "";
    if (r->limit == 0) {
        return arena_printf(a, "no node%s may go now%s%s", of, r->until_ns ? ", opens at " : "",
                            r->until_ns ? screen_clock(a, r->until_ns, d->s->w.now_ns) : "");
    }
    return arena_printf(a, "%lld%s may go at once, %lld taken", (long long)r->limit, of,
                        (long long)r->count);
}

static const char *money_reason(const struct disrupt *d, const struct reason *r)
{
    struct arena *a = &d->s->a;
    bool about_money = r->code == REASON_NotCheaper || r->code == REASON_TooSmallSaving;
    if (about_money && !d->s->money) {
        return NULL;
    }
    switch (r->code) {
    case REASON_Budget:
        return budget_text(d, r);
    case REASON_SpotToSpot:
        return r->limit ? arena_printf(a,
                                       "%lld cheaper spot types would do, %lld are needed: widen "
                                       "the pool's requirements",
                                       (long long)r->count, (long long)r->limit)
                        : "spot is replaced by spot only with the feature gate "
                          "SpotToSpotConsolidation";
    case REASON_NotCheaper:
        return r->limit > 0 && r->count > 0
                   ? arena_printf(a,
                                  "no cheaper way: the cheapest replacement costs %s, the node %s",
                                  money(a, r->count), money(a, r->limit))
                   : NULL;
    case REASON_TooSmallSaving:
        return arena_printf(a, "saves %s, at least %s is asked for", money(a, r->count),
                            money(a, r->limit));
    case REASON_NotBalanced:
        return arena_printf(a, "score %s, at least %s is asked for", share(a, r->count),
                            share(a, r->limit));
    default:
        return NULL;
    }
}

static const char *fit_reason(const struct disrupt *d, const struct reason *r)
{
    struct reason rest = *r;
    if (r->code != REASON_PodsDoNotFit || !r->object) {
        return NULL;
    }
    rest.object = NULL;
    return arena_printf(&d->s->a, "%s: %s", r->object, report_reason(&d->s->a, d->s, &rest));
}

const char *disrupt_reason(const struct disrupt *d, const struct reason *r)
{
    const char *text = r->object ? pod_reason(&d->s->a, r) : NULL;
    text = text || r->code != REASON_Waiting ? text : waiting(d, r);
    text = text ? text : money_reason(d, r);
    text = text ? text : fit_reason(d, r);
    if (!text && r->text &&
        (r->code == REASON_Policy || r->code == REASON_Held || r->code == REASON_Denied ||
         r->code == REASON_ApprovalPending)) {
        return r->text; /* says it all */
    }
    return text ? text : report_reason(&d->s->a, d->s, r);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

const char *disrupt_type_text(const struct disrupt *d, const struct snapshot_node *n)
{
    const char *type = fleet_label(&d->s->d.snap, n, L_INSTANCE_TYPE);
    const char *ct = fleet_label(&d->s->d.snap, n, L_CAPACITY_TYPE);
    return arena_printf(&d->s->a, "%s %s", type ? type : "?",
                        str_eq(ct, "on-demand") ? "od"
                        : ct                    ? ct
                                                : "?");
}

/* The capacity type that goes to EC2 first. */
static const char *first_captype(const struct sched_claim *c)
{
    return c->offer.cts >> CT_RESERVED & 1 ? "reserved"
           : c->offer.cts >> CT_SPOT & 1   ? "spot"
                                           : "od";
}

const char *disrupt_in_text(const struct disrupt *d, const struct step_in *in)
{
    const struct sched_claim *c = &in->claim;
    const char *first =
        c->n_types ? sym_str(d->s->w.syms, catalog_type_name(c->pool->catalog, c->types[0])) : "?";
    return arena_printf(&d->s->a, "1 x %s %s", first, first_captype(c));
}

const char *disrupt_in_others(const struct disrupt *d, const struct step_in *in)
{
    uint32_t n = in->claim.n_types > REPORT_TYPES_MAX ? REPORT_TYPES_MAX : in->claim.n_types;
    return n > 1 ? arena_printf(&d->s->a, "(or %u other type%s)", n - 1, n == 2 ? "" : "s") : NULL;
}

#define NODES_NAMED 5u

static const char *same_nodes(const struct disrupt *d, const struct same_price *same)
{
    struct arena *a = &d->s->a;
    uint32_t named = same->n_out > NODES_NAMED ? NODES_NAMED : same->n_out;
    const char *ret = report_node(a, same->out[0]);
    for (uint32_t i = 1; i < named; i++) {
        bool last = i + 1 == same->n_out;
        ret = arena_printf(a, "%s%s%s", ret, last ? " and " : ", ", report_node(a, same->out[i]));
    }
    return named < same->n_out ? arena_printf(a, "%s and %u more", ret, same->n_out - named) : ret;
}

const char *disrupt_same(const struct disrupt *d, const struct same_price *same)
{
    struct arena *a = &d->s->a;
    const char *types = NULL;
    for (uint32_t i = 0; i < same->n_in; i++) {
        const char *type = sym_str(d->s->w.syms, same->in[i].type);
        types =
            types ? arena_printf(a, "%s + 1 x %s", types, type) : arena_printf(a, "1 x %s", type);
    }
    uint32_t fewer = same->n_out - same->n_in;
    const char *what = d->s->d.snap.n_daemonsets > 0 ? "DaemonSet set" : "node";
    return arena_printf(a, "%s would fit on %s: same price, %s fewer", same_nodes(d, same), types,
                        fewer == 1 ? arena_printf(a, "one %s", what)
                                   : arena_printf(a, "%u %ss", fewer, what));
}

const char *disrupt_to(const struct disrupt *d, const struct step_move *m)
{
    return m->to ? report_node(&d->s->a, m->to) : arena_printf(&d->s->a, "new-%u", m->to_new);
}
