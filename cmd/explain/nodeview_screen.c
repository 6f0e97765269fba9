/* nodeview_screen.c - the screen of `explain node`. */
#include "cmd/status/money.h"
#include "nodeview.h"

#include "cmd/read/fleet.h"
#include "cmd/screen.h"
#include "cmd/table.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "podview.h"

#define GAP "   "
#define VERDICT_INDENT 9u
#define BLOCK_INDENT 11u
#define BAR_CELLS 10u
#define PODS_SHOWN 10u
#define TEXT_MAX_BYTES 4096u

/* ---- head ------------------------------------------------------------------------------------ */

static void put_head(const struct nodeview *v, struct buf *out)
{
    struct arena *a = &v->s->a;
    const struct snapshot_node *n = v->n;
    const char *zone = fleet_label(&v->s->d.snap, n, L_ZONE);
    int64_t since = n->claim ? n->claim->m.created_ns : n->node ? n->node->m.created_ns : 0;
    buf_puts(out, n->node ? "Node " : "NodeClaim ");
    term_put(&v->s->c->term, COLOR_BOLD,
             text_safe(a, n->node    ? n->node->m.name
                          : n->claim ? n->claim->m.name
                                     : n->name),
             out);
    if (n->node && n->claim) {
        buf_printf(out, GAP "nodeclaim %s", text_safe(a, n->claim->m.name));
    }
    if (fleet_label(&v->s->d.snap, n, L_INSTANCE_TYPE)) {
        buf_printf(out, GAP "%s%s%s", text_safe(a, disrupt_type_text(v->d, n)), zone ? " " : "",
                   zone ? text_safe(a, zone) : "");
    }
    if (v->s->money && nodeview_managed(v) && v->n->launched) {
        buf_printf(out, GAP "%s", screen_hour(a, v->price_pusd_h, v->estimated, ""));
    }
    if (since) {
        buf_printf(out, GAP "age %s", screen_age(a, v->s->w.now_ns - since));
    }
    buf_putc(out, '\n');
}

/* What somebody has asked for is told with its price: " It costs $140/mo." */
static const char *price_of_peace(const struct nodeview *v)
{
    char month[MONEY_TEXT];
    bool asked = str_eq(v->code, "DoNotDisruptPod") || str_eq(v->code, "DoNotDisruptNode");
    return asked && v->s->money && v->price_pusd_h > 0
               ? arena_printf(&v->s->a, " It costs %s$%s/mo.", v->estimated ? "~" : "",
                              money_month(v->price_pusd_h, month))
               : "";
}

static void put_verdict(const struct nodeview *v, struct buf *out)
{
    struct arena *a = &v->s->a;
    bool goes = v->step != NULL;
    term_put(&v->s->c->term, goes ? COLOR_YELLOW : COLOR_GREEN, "VERDICT", out);
    buf_puts(out, "  ");
    screen_wrap(&v->s->c->term, a, VERDICT_INDENT,
                arena_printf(a, "%s%s (%s).%s",
                             goes                           ? "Could leave: "
                             : v->verdict && !v->n->leaving ? "Stays: "
                                                            : "",
                             v->message, v->code, price_of_peace(v)),
                out);
    buf_putc(out, '\n');
}

/* ---- what it is ------------------------------------------------------------------------------ */

static void put_block(const struct nodeview *v, const char *title, const char *text,
                      struct buf *out)
{
    buf_printf(out, "%-*s", (int)BLOCK_INDENT, title);
    screen_wrap(&v->s->c->term, &v->s->a, BLOCK_INDENT, text, out);
    buf_putc(out, '\n');
}

static void put_bar(const struct nodeview *v, int64_t part, int64_t whole, struct buf *out)
{
    buf_printf(out, "  %d%% ", screen_percent(part, whole));
    term_bar(&v->s->c->term, part, whole, BAR_CELLS, out);
}

static void put_contents(const struct nodeview *v, struct buf *out)
{
    static const struct resources none = {.n_ext = 0};
    const struct resources *used = v->n->usage ? &v->n->usage->requested : &none;
    const struct resources *all = &v->n->allocatable;
    buf_printf(out, "%-*scpu ", (int)BLOCK_INDENT, "CONTENTS");
    screen_tenths(out, used->v[RES_CPU], 1000, false);
    buf_putc(out, '/');
    screen_tenths(out, all->v[RES_CPU], 1000, false);
    put_bar(v, used->v[RES_CPU], all->v[RES_CPU], out);
    buf_puts(out, GAP "mem ");
    screen_gib(out, used->v[RES_MEMORY]);
    buf_putc(out, '/');
    screen_gib(out, all->v[RES_MEMORY]);
    buf_puts(out, "Gi");
    put_bar(v, used->v[RES_MEMORY], all->v[RES_MEMORY], out);
    buf_printf(out, GAP "pods %u/%lld", v->n_pods - v->daemons - v->statics,
               (long long)all->v[RES_PODS]);
    if (v->daemons) {
        buf_printf(out, " + %u daemonset", v->daemons);
    }
    if (v->statics) {
        buf_printf(out, " + %u static", v->statics);
    }
    buf_putc(out, '\n');
}

static void add_condition(const struct nodeview *v, const char *type, struct buf *text)
{
    const struct condition *c = v->n->claim ? condition_find(&v->n->claim->conditions, type) : NULL;
    if (c && c->status == STATUS_TRUE) {
        buf_printf(text, ", %s%s%s", type, c->transition_ns ? " since " : "",
                   c->transition_ns ? screen_age(&v->s->a, v->s->w.now_ns - c->transition_ns) : "");
    }
}

static void put_state(const struct nodeview *v, struct buf *out)
{
    static const char *const also[] = {"Consolidatable", "Drifted", "InstanceTerminating",
                                       "DisruptionReason"};
    AUTO_BUF struct buf text;
    struct arena *a = &v->s->a;
    const struct nodeclaim *nc = v->n->claim;
    buf_init(&text, TEXT_MAX_BYTES);
    for (unsigned i = 0; i < NODEVIEW_STEPS; i++) {
        const struct nodeview_step *s = &v->steps[i];
        buf_printf(&text, "%s%s%s", i ? ", " : "", s->done ? "" : "not ", s->step);
        if (s->since_ns) {
            buf_printf(&text, " %s%s", s->done ? "" : "for ",
                       screen_age(a, v->s->w.now_ns - s->since_ns));
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(also); i++) {
        add_condition(v, also[i], &text);
    }
    put_block(v, "STATE", text.p, out);
    if (nc && nc->expire_after_ns > 0 && nc->expire_after_ns != DURATION_NEVER &&
        nc->m.created_ns) {
        int64_t left = nc->m.created_ns + nc->expire_after_ns - v->s->w.now_ns;
        put_block(v, "LIFE",
                  left > 0 ? arena_printf(a, "expires in %s (expireAfter %s)", screen_age(a, left),
                                          screen_age(a, nc->expire_after_ns))
                           : arena_printf(a, "has expired %s ago (expireAfter %s)",
                                          screen_age(a, -left), screen_age(a, nc->expire_after_ns)),
                  out);
    }
}

static void put_origin(const struct nodeview *v, struct buf *out)
{
    const struct nodeclaim *nc = v->n->claim;
    struct arena *a = &v->s->a;
    if (!nc) {
        return;
    }
    put_block(v, "ORIGIN",
              arena_printf(a, "%s%s, for pods and daemonsets that ask for %s",
                           *nc->pool ? "launched by nodepool " : "a NodeClaim by itself", nc->pool,
                           report_resources_line(a, v->s->w.syms, &nc->requests, true)),
              out);
}

/* ---- gates ----------------------------------------------------------------------------------- */

/* Gates that people think of as one. */
struct gate_group {
    const char *text; /* %s is the pool */
    enum candidate_gate_id first, last;
};

static const struct gate_group groups[] = {
    {"managed and initialized", GATE_NotManaged, GATE_NotInitialized},
    {"not leaving, held or expected by pods", GATE_Deleting, GATE_Nominated},
    {"no do-not-disrupt on node", GATE_DoNotDisruptNode, GATE_DoNotDisruptNode},
    {"no do-not-disrupt on pods", GATE_DoNotDisruptPod, GATE_DoNotDisruptPod},
    {"every pod evictable now", GATE_MultiplePDB, GATE_PDB},
    {"policy of the pool", GATE_Policy, GATE_Policy},
    {"nothing unknown, failing or in doubt", GATE_UnknownFields, GATE_ChurnGuard},
    {"consolidateAfter", GATE_Waiting, GATE_Waiting},
    {"type and price known and fresh", GATE_UnknownType, GATE_PriceSuspect},
    {"no doubt about drift, no headroom", GATE_DriftSuspect, GATE_HeadroomNode},
    {"budget of the pool", GATE_Budget, GATE_Budget},
    {"pods fit elsewhere", GATE_PodsDoNotFit, GATE_PodsDoNotFit},
    {"cheaper, and worth it", GATE_SpotToSpot, GATE_NotBalanced},
    {"approval", GATE_Denied, GATE_ApprovalPending},
};

/* The first of the group that fails, else the first that has something to say, else the first. */
static enum candidate_gate_id speaker(const struct nodeview *v, const struct gate_group *g)
{
    enum candidate_gate_id ret = g->first;
    for (int i = g->first; i <= (int)g->last; i++) {
        if (v->gates[i].asked && !v->gates[i].pass) {
            return (enum candidate_gate_id)i;
        }
    }
    for (int i = g->last; i >= (int)g->first; i--) {
        if (*nodeview_gate_text(v, (enum candidate_gate_id)i)) {
            ret = (enum candidate_gate_id)i;
        }
    }
    return ret;
}

static bool any_asked(const struct nodeview *v, const struct gate_group *g)
{
    for (int i = g->first; i <= (int)g->last; i++) {
        if (v->gates[i].asked) {
            return true;
        }
    }
    return false;
}

static void put_gate(const struct nodeview *v, const char *name, enum candidate_gate_id id,
                     bool asked, size_t width, struct buf *out)
{
    const struct candidate_gate *g = &v->gates[id];
    const char *pass = !asked ? "-" : g->pass ? "yes" : "no";
    buf_printf(out, "%-*s" GAP, (int)width, name);
    term_put(&v->s->c->term, !asked ? COLOR_NONE : g->pass ? COLOR_GREEN : COLOR_RED, pass, out);
    const char *text = nodeview_gate_text(v, id);
    if (*text) {
        buf_printf(out, "%*s" GAP, (int)(4 - strlen(pass)), "");
        screen_wrap(&v->s->c->term, &v->s->a, (unsigned)(width + 10), text, out);
    }
    buf_putc(out, '\n');
}

static void put_gates(const struct nodeview *v, bool wide, struct buf *out)
{
    size_t width = 0;
    if (!v->verdict) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        width = strlen(groups[i].text) > width ? strlen(groups[i].text) : width;
    }
    buf_putc(out, '\n');
    if (!v->s->c->o->no_headers) {
        buf_printf(out, "%-*s" GAP "PASS" GAP "DETAIL\n", (int)width, "GATE");
    }
    for (int i = 0; wide && i < GATE_COUNT; i++) {
        put_gate(v, reason_name(candidate_gate_code((enum candidate_gate_id)i)),
                 (enum candidate_gate_id)i, v->gates[i].asked, width, out);
    }
    for (size_t i = 0; !wide && i < ARRAY_LEN(groups); i++) {
        put_gate(v, groups[i].text, speaker(v, &groups[i]), any_asked(v, &groups[i]), width, out);
    }
}

/* ---- pods ------------------------------------------------------------------------------------ */

static const char *goes_to(const struct nodeview_pod *p)
{
    if (p->goes) {
        return str_starts(p->goes, "new-") ? "new node" : p->goes;
    }
    return p->held.code != REASON_NONE ? reason_name(p->held.code) : "-";
}

static bool moves_at_all(const struct nodeview_pod *p)
{
    return p->pod->owner != POWNER_DAEMONSET && p->pod->owner != POWNER_NODE;
}

static void put_pod(const struct nodeview *v, struct table *t, const struct nodeview_pod *p)
{
    struct arena *a = &v->s->a;
    const char *owner = podview_owner(a, p->pod);
    struct resources one = {.n_ext = 0};
    table_cell(t, report_pod(a, p->pod));
    one.v[RES_CPU] = p->pod->cls->requests.v[RES_CPU];
    one.v[RES_MEMORY] = p->pod->cls->requests.v[RES_MEMORY];
    table_cell(t, report_resources_line(a, v->s->w.syms, &one, false));
    table_cell(t, *owner ? owner : "-");
    table_cell_color(t, p->held.code != REASON_NONE ? COLOR_YELLOW : COLOR_NONE, goes_to(p));
}

static void put_pods(const struct nodeview *v, bool wide, struct buf *out)
{
    static const struct table_column columns[] = {{"POD", false, false},
                                                  {"REQUESTS", false, false},
                                                  {"OWNER", false, false},
                                                  {"WOULD GO TO", false, false}};
    struct table_column shown[ARRAY_LEN(columns)];
    struct table t;
    uint32_t n = 0, left_out = 0;
    memcpy(shown, columns, sizeof(shown));
    shown[3].head = v->n->leaving ? "GOES TO" : v->step ? "WOULD GO TO" : "HELD BY";
    table_init(&t, &v->s->a, shown, ARRAY_LEN(shown));
    for (uint32_t i = 0; i < v->n_pods; i++) {
        if (!moves_at_all(&v->pods[i])) {
            continue;
        }
        if (wide || n < PODS_SHOWN) {
            put_pod(v, &t, &v->pods[i]);
            n++;
        } else {
            left_out++;
        }
    }
    if (n == 0) {
        return;
    }
    buf_putc(out, '\n');
    table_write(&t, &v->s->c->term, !v->s->c->o->no_headers, wide, out);
    if (left_out) {
        buf_printf(out, "%u more" GAP "(-o wide lists them)\n", left_out);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void put_action(const struct nodeview *v, struct buf *out)
{
    struct arena *a = &v->s->a;
    const struct consolidate_step *s = v->step;
    if (!s) {
        return;
    }
    buf_printf(out, "\nACTION     %s %u, %s", consolidate_kind_name(s->kind), s->id,
               screen_count(a, s->n_out, "node"));
    buf_printf(out, " out, %u in, %s", s->n_in, screen_count(a, s->n_moves, "pod"));
    if (v->s->money) {
        buf_printf(out, GAP "saves %s",
                   screen_hour(a, s->saving_pusd_h, disrupt_step_estimated(v->d, s), ""));
    }
    buf_puts(out, GAP "(kubectl karp consolidate --dry-run)\n");
}

void nodeview_screen(const struct nodeview *v, bool wide, struct buf *out)
{
    put_head(v, out);
    put_verdict(v, out);
    buf_putc(out, '\n');
    if (nodeview_managed(v)) {
        put_origin(v, out);
        put_state(v, out);
    }
    put_contents(v, out);
    put_gates(v, wide, out);
    put_pods(v, wide, out);
    put_action(v, out);
    said_screen(v->s, &v->said, out);
}
