/* disrupt_json.c - what a plan says, for machines: see disrupt.h. */
#include "disrupt.h"

#include "cmd/read/fleet.h"
#include "cmd/report.h"
#include "cmd/status/money.h"
#include "common/base/clock.h"
#include "common/base/quantity.h"
#include "common/core/labels.h"

/* ---- reasons --------------------------------------------------------------------------------- */

/* {resource: {need, have}} */
static json_t *shortage(const struct disrupt *d, const struct reason *r)
{
    char text[QUANTITY_TEXT];
    json_t *o = json_object(), *one = json_object();
    bool ext = r->short_of.res == RES_FIXED;
    report_text(one, "need", report_quantity(r->short_of.res, r->short_of.need, text));
    report_text(one, "have", report_quantity(r->short_of.res, r->short_of.have, text));
    report_put(o, ext ? sym_str(d->s->w.syms, r->short_of.ext) : resource_name(r->short_of.res),
               one);
    return o;
}

static void put_counts(const struct disrupt *d, const struct reason *r, json_t *o)
{
    switch (r->code) {
    case REASON_Budget:
        report_int(o, "inUse", r->count);
        report_int(o, "allowed", r->limit);
        return;
    case REASON_DoNotDisruptPod:
        report_int(o, "pods", r->count);
        return;
    case REASON_PDB:
    case REASON_PDBPermanent:
    case REASON_MultiplePDB:
        if (r->object2) {
            report_int(o, "allowed", r->limit);
        }
        return;
    case REASON_SpotToSpot:
        report_int(o, "cheaperTypes", r->count);
        report_int(o, "needed", r->limit);
        return;
    case REASON_NotCheaper:
        if (d->s->money && r->limit > 0) {
            report_money(o, "best", r->count);
            report_money(o, "price", r->limit);
        }
        return;
    case REASON_TooSmallSaving:
        if (d->s->money) {
            report_money(o, "saving", r->count);
            report_money(o, "least", r->limit);
        }
        return;
    case REASON_NotBalanced:
        report_int(o, "scorePermyriad", r->count);
        report_int(o, "leastPermyriad", r->limit);
        return;
    default:
        return;
    }
}

json_t *disrupt_operands(const struct disrupt *d, const struct reason *r)
{
    const struct symtab *t = d->s->w.syms;
    json_t *o = json_object();
    report_text(o, "pod", r->object);
    report_text(o, "podDisruptionBudget", r->object2);
    report_text(o, "key", sym_str(t, r->key));
    report_text(o, "instanceType", sym_str(t, r->nearest_type));
    report_time(o, "since", r->since_ns);
    report_time(o, "until", r->until_ns == NS_NEVER ? 0 : r->until_ns);
    report_text(o, r->code == REASON_Budget ? "nodePool" : "text", r->text);
    if (r->short_of.need > 0) {
        report_put(o, "short", shortage(d, r));
    }
    put_counts(d, r, o);
    return o;
}

/* ---- actions --------------------------------------------------------------------------------- */

/* What stands here beside money is what the digest is made of (plan.h), no more and no less. */

static void put_money(const struct disrupt *d, json_t *o, const char *key, int64_t pusd_h)
{
    if (d->s->money) {
        report_money(o, key, pusd_h);
    }
}

static void put_label(const struct disrupt *d, json_t *o, const char *key,
                      const struct snapshot_node *n, sym label)
{
    const char *value = fleet_label(&d->s->d.snap, n, label);
    report_put(o, key, json_string(value ? value : ""));
}

static json_t *out_json(const struct disrupt *d, const struct step_out *out)
{
    const struct snapshot_node *n = out->node;
    json_t *o = json_object();
    report_text(o, "node", report_node(&d->s->a, n));
    report_text(o, "nodeClaim", n->claim->m.name);
    report_text(o, "nodePool", n->pool->np->m.name);
    put_label(d, o, "instanceType", n, L_INSTANCE_TYPE);
    put_label(d, o, "zone", n, L_ZONE);
    put_label(d, o, "capacityType", n, L_CAPACITY_TYPE);
    put_money(d, o, "pricePerHour", out->price_pusd_h);
    report_int(o, "podsMoved", out->pods_moved);
    return o;
}

static json_t *zones_json(const struct disrupt *d, const struct step_in *in)
{
    const struct catalog *c = in->pool->catalog;
    json_t *list = json_array();
    for (uint32_t z = 0; z < catalog_n_zones(c); z++) {
        if (in->claim.offer.zones >> z & 1) {
            (void)json_array_append_new(list,
                                        json_string(sym_str(d->s->w.syms, catalog_zone(c, z))));
        }
    }
    return list;
}

static json_t *in_json(const struct disrupt *d, const struct step_in *in)
{
    json_t *o = json_object();
    report_text(o, "nodePool", in->pool->np->m.name);
    report_claim_lists(o, d->s->w.syms, &in->claim);
    report_put(o, "zones", zones_json(d, in));
    put_money(d, o, "pricePerHour", in->price_pusd_h);
    return o;
}

static json_t *moves_json(const struct disrupt *d, const struct consolidate_step *step)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < step->n_moves; i++) {
        const struct step_move *m = &step->moves[i];
        json_t *o = json_object();
        report_text(o, "pod", report_pod(&d->s->a, m->pod));
        report_text(o, "from", report_node(&d->s->a, m->from));
        report_text(o, "to", disrupt_to(d, m));
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *pods_json(const struct disrupt *d, const struct pod *const *pods, uint32_t n)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++) {
        (void)json_array_append_new(list, json_string(report_pod(&d->s->a, pods[i])));
    }
    return list;
}

static void put_held(const struct consolidate_step *step, json_t *o)
{
    json_t *codes = json_array();
    for (uint32_t i = 0; i < step->n_held_by; i++) {
        (void)json_array_append_new(codes, json_string(reason_name(step->held_by[i].code)));
    }
    report_put(o, "allowedNow", json_boolean(step->n_held_by == 0));
    report_put(o, "heldBy", codes);
}

json_t *disrupt_action_json(const struct disrupt *d, const struct consolidate_step *step)
{
    json_t *o = json_object(), *out = json_array(), *in = json_array();
    char text[MONEY_TEXT];
    for (uint32_t i = 0; i < step->n_out; i++) {
        (void)json_array_append_new(out, out_json(d, &step->out[i]));
    }
    for (uint32_t i = 0; i < step->n_in; i++) {
        (void)json_array_append_new(in, in_json(d, &step->in[i]));
    }
    report_int(o, "id", step->id);
    report_text(o, "type", consolidate_kind_name(step->kind));
    report_text(o, "reason", budget_reason_name(step->reason));
    report_put(o, "nodesOut", out);
    report_put(o, "nodesIn", in);
    report_put(o, "moves", moves_json(d, step));
    put_money(d, o, "savingsPerHour", step->saving_pusd_h);
    put_held(step, o);
    if (d->s->money) { /* dollars per hour and unit of disruption */
        report_text(o, "score", money_exact(step->score * (PUSD_PER_USD / 1000000), text));
    }
    report_text(o, "planDigest", step->digest);
    report_put(o, "interruptsSingleReplicas", pods_json(d, step->singles, step->n_singles));
    return o;
}

void disrupt_warnings(const struct disrupt *d, const struct consolidate_step *step, json_t *list)
{
    for (uint32_t i = 0; i < step->n_naked; i++) {
        json_t *o = json_object();
        report_text(o, "code", "NakedPod");
        report_text(o, "object",
                    arena_printf(&d->s->a, "pod/%s", report_pod(&d->s->a, step->naked[i])));
        report_text(o, "message",
                    arena_printf(&d->s->a,
                                 "has no controller: nobody makes it again once action %u evicts "
                                 "it",
                                 step->id));
        (void)json_array_append_new(list, o);
    }
}

void disrupt_preferences(const struct disrupt *d, const struct consolidate_step *step, json_t *list)
{
    for (uint32_t i = 0; i < step->n_given_up; i++) {
        json_t *o = json_object();
        report_text(o, "pod", report_pod(&d->s->a, step->given_up[i].pod));
        report_text(o, "rule", step->given_up[i].rule);
        (void)json_array_append_new(list, o);
    }
}
