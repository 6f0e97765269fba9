/* blockers.c - see blockers.h. */
#include "blockers.h"

#include "cmd/report.h"
#include "cmd/screen.h"
#include "common/base/str.h"

#define CODE_WIDTH 16u

static void add(json_t *list, const struct disrupt *d, const struct reason *r)
{
    json_t *o = json_object();
    report_text(o, "code", reason_name(r->code));
    report_text(o, "message", disrupt_reason(d, r));
    (void)json_array_append_new(list, o);
}

json_t *blockers_json(const struct disrupt *d, const struct pod *p)
{
    json_t *list = json_array();
    struct candidate_gate gates[GATE_COUNT];
    const struct snapshot_node *n = snapshot_find(&d->s->d.snap, p->node_name);
    const struct node_verdict *v = n ? disrupt_verdict(d, n) : NULL;
    if (!v) {
        return list;
    }
    if (p->owner == POWNER_DAEMONSET || p->owner == POWNER_NODE) {
        struct reason stays = consolidate_pod(d->pass, p);
        add(list, d, &stays);
        return list;
    }
    consolidate_gates(d->pass, n, gates);
    for (int i = 0; i < GATE_COUNT; i++) {
        if (gates[i].asked && !gates[i].pass) {
            add(list, d, &gates[i].reason);
        }
    }
    return list;
}

static const struct step_move *move_of(const struct consolidate_step *step, const struct pod *p)
{
    for (uint32_t i = 0; step && i < step->n_moves; i++) {
        if (step->moves[i].pod == p) {
            return &step->moves[i];
        }
    }
    return NULL;
}

void blockers_screen(const struct disrupt *d, const struct pod *p, struct buf *out)
{
    struct arena *a = &d->s->a;
    const struct snapshot_node *n = snapshot_find(&d->s->d.snap, p->node_name);
    const struct consolidate_step *step = n ? disrupt_step_of(d, n) : NULL;
    const struct step_move *m = move_of(step, p);
    json_t *list = blockers_json(d, p), *one;
    size_t i;
    if (m) {
        buf_printf(out,
                   "\nCOULD BE MOVED   to %s (action %u of kubectl karp consolidate --dry-run)\n",
                   m->to ? report_node(a, m->to) : "a new node", step->id);
    }
    json_array_foreach (list, i, one) {
        const char *code = json_string_value(json_object_get(one, "code"));
        const char *text = json_string_value(json_object_get(one, "message"));
        buf_puts(out, i > 0 ? "" : m ? "BUT\n" : "\nWHY IT IS NOT MOVED\n");
        buf_printf(out, "   %-*s ", (int)CODE_WIDTH, code ? code : "");
        screen_wrap(&d->s->c->term, a, CODE_WIDTH + 4, text ? text : "", out);
        buf_putc(out, '\n');
    }
    json_decref(list);
}
