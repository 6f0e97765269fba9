/* podview_screen.c - the screens of `explain pod`: one that waits, one that runs. */
#include "podview.h"

#include "blockers.h"
#include "cmd/read/fleet.h"
#include "cmd/screen.h"
#include "cmd/table.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/labels.h"

#define VERDICT_INDENT 9u
#define TEXT_MAX_BYTES 4096u
#define GAP "   "

/* ---- head ------------------------------------------------------------------------------------ */

static void put_head(const struct podview *v, struct buf *out)
{
    struct arena *a = &v->s->a;
    char age[TIMEFMT_TEXT];
    int64_t since = podview_since(v->pod);
    const char *owner = podview_owner(a, v->pod);
    const char *state = v->pod->phase == POD_RUNNING ? "Running"
                        : v->over                    ? "Over"
                        : v->bound                   ? "Starting"
                                                     : "Pending";
    buf_puts(out, "Pod ");
    term_put(&v->s->c->term, COLOR_BOLD, text_safe(a, report_pod(a, v->pod)), out);
    buf_printf(out, GAP "%s", state);
    if (since) {
        buf_printf(out, " %s", timefmt_age(v->s->w.now_ns - since, age));
    }
    if (v->bound) {
        buf_printf(out, " on %s", text_safe(a, v->pod->node_name));
    }
    if (*owner) {
        buf_printf(out, GAP "%s", text_safe(a, owner));
    }
    buf_printf(out, GAP "requests %s\n",
               text_safe(a, report_resources_line(a, v->s->w.syms, &v->pod->cls->requests, false)));
}

static void put_verdict(const struct podview *v, struct buf *out)
{
    struct arena *a = &v->s->a;
    bool refused = v->homeless;
    term_put(&v->s->c->term, refused ? COLOR_RED : COLOR_GREEN, "VERDICT", out);
    buf_puts(out, "  ");
    screen_wrap(&v->s->c->term, a, VERDICT_INDENT,
                arena_printf(a, "%s%s (%s).", refused ? "No home: " : "", v->message, v->code),
                out);
    buf_putc(out, '\n');
}

/* ---- what it asks for ------------------------------------------------------------------------ */

static const char *req_text(const struct podview *v, const struct req *r)
{
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_MAX_BYTES);
    req_fmt(v->s->w.syms, r, 5, &text);
    return arena_strdup(&v->s->a, text.p);
}

struct named_req {
    const char *key;
    const struct req *r;
};

static int named_req_cmp(const void *x, const void *y)
{
    return str_cmp(((const struct named_req *)x)->key, ((const struct named_req *)y)->key);
}

static void add_reqs(const struct podview *v, struct table *t, const struct reqset *set,
                     const char *source)
{
    struct named_req *n = ARENA_NEW_N(&v->s->a, struct named_req, set->n);
    for (uint32_t i = 0; i < set->n; i++) {
        n[i] = (struct named_req){sym_str(v->s->w.syms, set->v[i].key), &set->v[i]};
    }
    if (set->n > 1) {
        qsort(n, set->n, sizeof(*n), named_req_cmp);
    }
    for (uint32_t i = 0; i < set->n; i++) {
        table_cell(t, req_text(v, n[i].r));
        table_cell(t, source);
    }
}

static void put_requirements(const struct podview *v, struct buf *out)
{
    static const struct table_column columns[] = {{"MUST HAVE", false, false},
                                                  {"ASKED BY", false, false}};
    struct table t;
    size_t n;
    const struct podview_ask *asks = podview_asks(v, &n);
    table_init(&t, &v->s->a, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < n; i++) {
        add_reqs(v, &t, asks[i].set, asks[i].source);
    }
    if (t.n > 0) {
        buf_putc(out, '\n');
        table_write(&t, &v->s->c->term, true, false, out);
    }
}

static const char *toleration_text(const struct podview *v, const struct toleration *t)
{
    const struct symtab *syms = v->s->w.syms;
    const char *effect = t->effect == EFFECT_ANY ? "" : taint_effect_name(t->effect);
    if (t->key == SYM_NONE) {
        return *effect ? arena_printf(&v->s->a, "everything:%s", effect) : "everything";
    }
    const char *value = t->exists ? "" : sym_str(syms, t->value);
    return arena_printf(&v->s->a, "%s%s%s%s%s", sym_str(syms, t->key), *value ? "=" : "", value,
                        *effect ? ":" : "", effect);
}

/* Those that every pod gets are not worth a word. */
static bool usual_toleration(const struct podview *v, const struct toleration *t)
{
    const char *key = sym_str(v->s->w.syms, t->key);
    return t->effect == EFFECT_NO_EXECUTE && t->seconds >= 0 &&
           (str_eq(key, "node.kubernetes.io/not-ready") ||
            str_eq(key, "node.kubernetes.io/unreachable"));
}

static void put_tolerations(const struct podview *v, struct buf *out)
{
    const struct tolerations *l = &v->pod->cls->tolerations;
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_MAX_BYTES);
    for (uint32_t i = 0; i < l->n; i++) {
        if (!usual_toleration(v, &l->v[i])) {
            buf_printf(&text, "%s%s", text.n ? ", " : "", toleration_text(v, &l->v[i]));
        }
    }
    if (text.n) {
        buf_puts(out, "\nTOLERATES   ");
        screen_wrap(&v->s->c->term, &v->s->a, 12, text.p, out);
        buf_putc(out, '\n');
    }
}

/* ---- how far it got -------------------------------------------------------------------------- */

static void put_existing(const struct podview *v, struct buf *out)
{
    struct arena *a = &v->s->a;
    if (v->s->w.hidden[KIND_NODE]) {
        buf_puts(out, "\nEXISTING NODES   cannot be seen\n");
    } else {
        buf_printf(out, "\nEXISTING NODES   %u looked at\n", v->e->nodes_seen);
    }
    for (uint32_t i = 0; i < v->e->n_nodes; i++) {
        const struct explain_nodes *n = &v->e->nodes[i];
        buf_printf(out, "%5u  %-15s ", n->count, reason_name(n->reason.code));
        screen_wrap(&v->s->c->term, a, 23, report_nodes_reason(a, v->s->w.syms, n), out);
        buf_putc(out, '\n');
    }
}

static void put_pools(const struct podview *v, struct buf *out)
{
    struct arena *a = &v->s->a;
    size_t pool_w = strlen("NODEPOOL"), code_w = strlen("REJECTED BY");
    for (uint32_t i = 0; i < v->e->n_pools; i++) {
        size_t p = term_text_width(v->e->pools[i].pool->np->m.name);
        size_t c = strlen(reason_name(v->e->pools[i].reason.code));
        pool_w = p > pool_w ? p : pool_w;
        code_w = c > code_w ? c : code_w;
    }
    if (v->e->n_pools == 0) {
        buf_puts(out, v->s->w.hidden[KIND_NODE_POOL] ? "\nNODEPOOLS   cannot be seen\n"
                                                     : "\nThere is no NodePool.\n");
        return;
    }
    buf_putc(out, '\n');
    if (!v->s->c->o->no_headers) {
        buf_printf(out, "%-*s" GAP "%-*s" GAP "DETAIL\n", (int)pool_w, "NODEPOOL", (int)code_w,
                   "REJECTED BY");
    }
    for (uint32_t i = 0; i < v->e->n_pools; i++) {
        const struct explain_pool *p = &v->e->pools[i];
        const char *name = text_safe(a, p->pool->np->m.name);
        bool fits = p->reason.code == REASON_NONE;
        buf_printf(out, "%s%*s" GAP "%-*s" GAP, name, (int)(pool_w - term_text_width(name)), "",
                   (int)code_w, fits ? "-" : reason_name(p->reason.code));
        screen_wrap(&v->s->c->term, a, (unsigned)(pool_w + code_w + 2 * strlen(GAP)),
                    podview_pool_text(v, p), out);
        buf_putc(out, '\n');
    }
}

/* "arch", "fits", "under limit" */
static const char *step_name(const struct podview *v, const struct explain_step *s)
{
    const char *key = s->key == SYM_NONE ? NULL : sym_str(v->s->w.syms, s->key);
    const char *slash = key ? strrchr(key, '/') : NULL;
    switch (s->code) {
    case REASON_PoolNotReady:
        return s->left ? "start" : "pool ready";
    case REASON_Requirement:
    case REASON_UnknownLabel:
        return key ? (slash ? slash + 1 : key) : "requirements";
    case REASON_Taint:
        return "taints";
    case REASON_VolumeZone:
        return "volumes";
    case REASON_VolumeLimit:
        return "volume limit";
    case REASON_HostPort:
        return "host ports";
    case REASON_Resources:
        return "large enough";
    case REASON_Offering:
        return "offered";
    case REASON_NodeLimit:
    case REASON_Limit:
        return "under limit";
    default:
        return reason_name(s->code);
    }
}

static void put_nearest(const struct podview *v, const struct explain_pool *p, struct buf *out)
{
    const struct symtab *t = v->s->w.syms;
    int at = p->nearest == SYM_NONE ? -1 : catalog_find_type(p->pool->catalog, p->nearest);
    char cpu[QUANTITY_TEXT], mem[QUANTITY_TEXT];
    if (at < 0) {
        return;
    }
    const struct resources *cap = catalog_capacity(p->pool->catalog, (uint32_t)at);
    buf_printf(out, "   nearest   %s", sym_str(t, p->nearest));
    if (p->captype != CT_COUNT) {
        buf_printf(out, GAP "%s" GAP "%s", sym_str(t, capacity_type_sym(p->captype)),
                   sym_str(t, p->zone));
    }
    buf_printf(out, GAP "cpu %s, mem %s", quantity_fmt_milli(cap->v[RES_CPU], cpu),
               quantity_fmt_bytes(cap->v[RES_MEMORY], mem));
    if (v->s->money && p->price_pusd_h != PRICE_UNKNOWN) {
        bool estimated = report_estimated(v->s, p->pool, (uint32_t)at, p->zone, p->captype);
        buf_printf(out, GAP "%s", screen_hour(&v->s->a, p->price_pusd_h, estimated, ""));
    }
    if (!resources_is_zero(&p->missing)) {
        buf_printf(out, GAP "short of %s", report_resources_line(&v->s->a, t, &p->missing, true));
    }
    buf_putc(out, '\n');
}

static void put_funnel(const struct podview *v, struct buf *out)
{
    AUTO_BUF struct buf text;
    const struct explain_pool *p = v->e->n_pools ? &v->e->pools[0] : NULL;
    if (!p || p->n_steps == 0) {
        return;
    }
    buf_init(&text, TEXT_MAX_BYTES);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        buf_printf(&text, "%s%s %u", i ? " > " : "", step_name(v, &p->steps[i]), p->steps[i].left);
    }
    buf_printf(out, "\nHOW FAR %s GOT   (instance types left after each step)\n   ",
               text_safe(&v->s->a, p->pool->np->m.name));
    screen_wrap(&v->s->c->term, &v->s->a, 3, text.p, out);
    buf_putc(out, '\n');
    put_nearest(v, p, out);
}

/* ---- its place ------------------------------------------------------------------------------- */

static void put_plan(const struct podview *v, struct buf *out)
{
    struct arena *a = &v->s->a;
    json_t *o = json_object();
    report_claim_lists(o, v->s->w.syms, v->claim);
    json_t *types = json_object_get(o, "instanceTypes"), *zones = json_object_get(o, "zones");
    size_t n_zones = json_array_size(zones), n = json_array_size(types);
    const char **names = ARENA_NEW_N(a, const char *, n_zones);
    for (size_t i = 0; i < n_zones; i++) {
        names[i] = json_string_value(json_array_get(zones, i));
    }
    buf_printf(out, "\nNEW NODE   nodepool %s" GAP "%s", text_safe(a, v->claim->pool->np->m.name),
               n ? json_string_value(json_array_get(types, 0)) : "?");
    if (n > 1) {
        buf_printf(out, " (or %zu other type%s)", n - 1, n == 2 ? "" : "s");
    }
    buf_printf(out, GAP "%s", screen_zones(a, names, n_zones));
    if (v->s->money) {
        buf_printf(
            out, GAP "%s",
            screen_hour(a, v->claim->price_pusd_h, report_claim_estimated(v->s, v->claim), ""));
    }
    buf_printf(out, "\n           for %s, this one among them\n",
               screen_count(a, v->claim->n_pods, "pod"));
    json_decref(o);
}

/* The line of the node's claim: pool, age. */
static void put_claim(const struct podview *v, const struct snapshot_node *n, struct buf *out)
{
    struct arena *a = &v->s->a;
    char age[TIMEFMT_TEXT];
    if (!n->claim) {
        buf_puts(out, "   nodeclaim   none: karp does not manage the node\n");
        return;
    }
    buf_printf(out, "   nodeclaim   %s, nodepool %s", text_safe(a, n->claim->m.name),
               text_safe(a, *n->claim->pool ? n->claim->pool : "none"));
    const struct condition *c = condition_find(&n->claim->conditions, "Launched");
    if (c && c->status == STATUS_TRUE && c->transition_ns) {
        buf_printf(out, ", launched %s ago", timefmt_age(v->s->w.now_ns - c->transition_ns, age));
    } else if (n->claim->m.created_ns) {
        buf_printf(out, ", made %s ago", timefmt_age(v->s->w.now_ns - n->claim->m.created_ns, age));
    }
    if (v->bound && v->pod->m.created_ns && v->pod->m.created_ns <= n->claim->m.created_ns) {
        buf_puts(out, "; this pod waited then");
    }
    buf_putc(out, '\n');
}

static void put_type(const struct podview *v, const struct snapshot_node *n, struct buf *out)
{
    static const sym keys[] = {L_INSTANCE_TYPE, L_CAPACITY_TYPE, L_ZONE};
    const struct snapshot *snap = &v->s->d.snap;
    bool estimated = false, any = false;
    int64_t price = fleet_price(snap, n, v->s->prices, &estimated);
    buf_puts(out, "   type        ");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *value = fleet_label(snap, n, keys[i]);
        if (value) {
            buf_printf(out, "%s%s", any ? " " : "", text_safe(&v->s->a, value));
            any = true;
        }
    }
    buf_puts(out, any ? "" : "unknown");
    if (v->s->money && any) {
        buf_printf(out, ", %s", screen_hour(&v->s->a, price, estimated, ""));
    }
    const struct req *asked = n->claim ? reqset_get(&n->claim->reqs, L_INSTANCE_TYPE) : NULL;
    if (asked && !asked->complement && asked->n > 1) {
        buf_printf(out, "; EC2 had %u types to choose from", asked->n);
    }
    buf_putc(out, '\n');
}

static void put_room(const struct podview *v, const struct snapshot_node *n, struct buf *out)
{
    uint32_t others = n->usage ? n->usage->pods : 0;
    struct resources free = n->free;
    free.n_ext = 0;
    for (int r = 0; r < RES_FIXED; r++) {
        free.v[r] = r == RES_CPU || r == RES_MEMORY ? (free.v[r] > 0 ? free.v[r] : 0) : 0;
    }
    buf_printf(out, "   room        %s on it, free: %s\n", screen_count(&v->s->a, others, "pod"),
               report_resources_line(&v->s->a, v->s->w.syms, &free, false));
}

static void put_node(const struct podview *v, const char *title, const struct snapshot_node *n,
                     struct buf *out)
{
    buf_printf(out, "\n%s   %s\n", title, text_safe(&v->s->a, report_node(&v->s->a, n)));
    put_claim(v, n, out);
    put_type(v, n, out);
    put_room(v, n, out);
    if (n == v->node) {
        podview_put_asked(v, out);
        podview_put_others(v, n, out);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void put_advice(const struct podview *v, struct buf *out)
{
    for (size_t i = 0; i < v->n_advice; i++) {
        buf_puts(out, i == 0 ? "\nTRY ONE OF\n   " : "   ");
        /* Commands stay on one line, so that they can be copied. */
        if (str_starts(v->advice[i], "kubectl ")) {
            buf_puts(out, text_safe(&v->s->a, v->advice[i]));
        } else {
            screen_wrap(&v->s->c->term, &v->s->a, 3, v->advice[i], out);
        }
        buf_putc(out, '\n');
    }
}

static void put_said(const struct podview *v, struct buf *out)
{
    char age[TIMEFMT_TEXT];
    struct arena *a = &v->s->a;
    for (size_t i = 0; i < v->n_said; i++) {
        const struct podview_said *s = &v->said[i];
        buf_puts(out, i == 0 ? "\nCONTROLLER SAYS   " : "                  ");
        screen_wrap(&v->s->c->term, a, 18,
                    arena_printf(a, "(%s, %s%s%s) %s", s->source, s->reason, s->time_ns ? ", " : "",
                                 s->time_ns
                                     ? arena_printf(a, "%s ago",
                                                    timefmt_age(v->s->w.now_ns - s->time_ns, age))
                                     : "",
                                 s->message),
                    out);
        buf_putc(out, '\n');
    }
}

void podview_screen(const struct podview *v, struct buf *out)
{
    put_head(v, out);
    put_verdict(v, out);
    put_requirements(v, out);
    put_tolerations(v, out);
    if (v->bound && v->node && !v->leaving) {
        put_node(v, "WHY THIS NODE", v->node, out);
    } else if (v->leaving) {
        put_node(v, "LEAVING NODE", v->leaving, out);
    }
    if (!v->bound && v->node) {
        put_node(v, "ITS PLACE", v->node, out);
    } else if (v->leaving && v->node && v->node != v->leaving) {
        put_node(v, "NEXT PLACE", v->node, out);
    }
    if (v->claim) {
        put_plan(v, out);
    }
    if (v->e && !v->node) {
        put_existing(v, out);
        put_pools(v, out);
        put_funnel(v, out);
    }
    if (v->bound && v->s->disrupt) {
        blockers_screen(v->s->disrupt, v->pod, out);
    }
    put_advice(v, out);
    put_said(v, out);
}
