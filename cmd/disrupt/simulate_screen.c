/* simulate_screen.c - the screen of `simulate`. */
#include "simulate.h"

#include "cmd/out.h"
#include "cmd/read/fleet.h"
#include "cmd/screen.h"
#include "cmd/status/money.h"
#include "cmd/table.h"
#include "common/base/quantity.h"
#include "common/base/str.h"

#define HOMELESS_LINES 10u
#define ONTO_NODES 4u
#define LABEL_WIDTH 8u

/* ---- head ------------------------------------------------------------------------------------ */

/* "shop/api" of pods named api-0, api-1 …; NULL if they differ. */
static const char *common_owner(const struct simulate_view *v)
{
    const struct pod *first = NULL;
    const struct snapshot *snap = &v->s->d.snap;
    for (uint32_t i = 0; i < snap->n_pods; i++) {
        const struct pod *p = snap->pods[i];
        first = first ? first : p;
        if (!*p->owner_uid || !str_eq(p->owner_uid, first->owner_uid) ||
            !str_eq(p->m.ns, first->m.ns)) {
            return NULL;
        }
    }
    const char *dash = first ? strrchr(first->m.name, '-') : NULL;
    if (!dash) {
        return NULL;
    }
    return arena_printf(&v->s->a, "%s/%.*s", first->m.ns, (int)(dash - first->m.name),
                        first->m.name);
}

static void put_head(const struct simulate_view *v, struct buf *out)
{
    struct arena *a = &v->s->a;
    const struct plan *p = &v->plan;
    int64_t all =
        (int64_t)p->placed_existing + p->placed_new + p->n_refused + v->s->d.result->n_undecided;
    const char *owner = common_owner(v);
    if (all == 0) {
        buf_puts(out, v->s->w.hidden[KIND_POD] ? "Pods that wait cannot be seen.\n"
                                               : "No pods wait for a place.\n");
        return;
    }
    buf_printf(out, "%s%s%s: %u on existing nodes, %u on new nodes, ", screen_count(a, all, "pod"),
               owner ? " of " : "", owner ? text_safe(a, owner) : "", p->placed_existing,
               p->placed_new);
    const char *homeless = arena_printf(a, "%u without a home", p->n_refused);
    term_put(&v->s->c->term, p->n_refused ? COLOR_RED : COLOR_NONE, homeless, out);
    if (v->s->d.result->n_undecided) {
        buf_printf(out, ", %u undecided (too much work)", v->s->d.result->n_undecided);
    }
    buf_putc(out, '\n');
}

static void put_onto(const struct simulate_view *v, struct buf *out)
{
    const struct plan *p = &v->plan;
    struct arena *a = &v->s->a;
    AUTO_BUF struct buf text;
    buf_init(&text, OUT_MAX);
    for (uint32_t i = 0; i < p->n_nodes && i < ONTO_NODES; i++) {
        buf_printf(&text, "%s%s (%s)", i ? ", " : "", report_node(a, p->nodes[i].node),
                   screen_count(a, p->nodes[i].n_pods, "pod"));
    }
    if (p->n_nodes > ONTO_NODES) {
        buf_printf(&text, " and %u more", p->n_nodes - ONTO_NODES);
    }
    if (text.n) {
        buf_puts(out, "ONTO    ");
        screen_wrap(&v->s->c->term, a, LABEL_WIDTH, text.p, out);
        buf_putc(out, '\n');
    }
}

/* ---- new nodes ------------------------------------------------------------------------------- */

/* Claims that look alike are one line. */
struct line {
    const char *what, *zones, *pool;
    uint32_t n, pods;
    int64_t price_pusd_h;
    bool estimated;
};

static const char *claim_zones(const struct simulate_view *v, const struct sched_claim *c)
{
    json_t *o = json_object();
    report_claim_lists(o, v->s->w.syms, c);
    json_t *list = json_object_get(o, "zones");
    size_t n = json_array_size(list);
    const char **zones = ARENA_NEW_N(&v->s->a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        zones[i] = arena_strdup(&v->s->a, json_string_value(json_array_get(list, i)));
    }
    json_decref(o);
    return screen_zones(&v->s->a, zones, n);
}

/* "m5.large spot (or 59 others)" */
static const char *claim_what(const struct simulate_view *v, const struct sched_claim *c)
{
    struct arena *a = &v->s->a;
    const struct symtab *t = v->s->w.syms;
    uint32_t zone, others = c->n_types < REPORT_TYPES_MAX ? c->n_types : REPORT_TYPES_MAX;
    enum capacity_type ct;
    if (c->n_types == 0) {
        return "?";
    }
    const char *name = sym_str(t, catalog_type_name(c->pool->catalog, c->types[0]));
    bool priced =
        offerings_cheapest(c->pool->offerings, c->types[0], c->offer, &zone, &ct) != PRICE_UNKNOWN;
    const char *kind = priced ? sym_str(t, capacity_type_sym(ct)) : "";
    if (others <= 1) {
        return arena_printf(a, "%s%s%s", name, *kind ? " " : "", kind);
    }
    return arena_printf(a, "%s%s%s (or %u other type%s)", name, *kind ? " " : "", kind, others - 1,
                        others == 2 ? "" : "s");
}

static struct line *lines(const struct simulate_view *v, size_t *ret_n)
{
    struct line *ret = ARENA_NEW_N(&v->s->a, struct line, v->plan.n_claims);
    size_t n = 0;
    for (uint32_t i = 0; i < v->plan.n_claims; i++) {
        const struct sched_claim *c = v->plan.claims[i];
        struct line one = {claim_what(v, c),
                           claim_zones(v, c),
                           c->pool->np->m.name,
                           1,
                           c->n_pods,
                           c->price_pusd_h,
                           report_claim_estimated(v->s, c)};
        struct line *last = n ? &ret[n - 1] : NULL;
        if (last && str_eq(last->what, one.what) && str_eq(last->zones, one.zones) &&
            str_eq(last->pool, one.pool) && last->estimated == one.estimated &&
            (last->price_pusd_h == PRICE_UNKNOWN) == (one.price_pusd_h == PRICE_UNKNOWN)) {
            last->n++;
            last->pods += one.pods;
            last->price_pusd_h += one.price_pusd_h == PRICE_UNKNOWN ? 0 : one.price_pusd_h;
        } else {
            ret[n++] = one;
        }
    }
    *ret_n = n;
    return ret;
}

static void put_new(const struct simulate_view *v, struct buf *out)
{
    static const struct table_column columns[] = {{"NEW NODES", false, false},
                                                  {"NODEPOOL", false, false},
                                                  {"PODS", true, false},
                                                  {"ZONES", false, false},
                                                  {"$/H", true, false}};
    struct arena *a = &v->s->a;
    struct table t;
    size_t n;
    const struct line *l = lines(v, &n);
    if (n == 0) {
        return;
    }
    buf_putc(out, '\n');
    table_init(&t, a, columns, ARRAY_LEN(columns) - !v->s->money);
    for (size_t i = 0; i < n; i++) {
        table_cellf(&t, "%u x %s", l[i].n, l[i].what);
        table_cell(&t, l[i].pool);
        table_cellf(&t, "%u", l[i].pods);
        table_cell(&t, l[i].zones);
        if (v->s->money) {
            char text[MONEY_TEXT];
            bool priced = l[i].price_pusd_h != PRICE_UNKNOWN;
            table_cellf(&t, "%s%s%s", l[i].estimated ? "~" : "", priced ? "+" : "?",
                        priced ? money_hour(l[i].price_pusd_h, text) : "");
        }
    }
    table_write(&t, &v->s->c->term, !v->s->c->o->no_headers, false, out);
}

/* ---- afterwards ------------------------------------------------------------------------------ */

static void put_cpu(struct buf *out, int64_t milli)
{
    char text[QUANTITY_TEXT];
    buf_puts(out, quantity_fmt_milli(milli, text));
}

/* "default cpu 118/160": what a pool with limits holds after the first type of each claim. */
static void put_limits(const struct simulate_view *v, const struct snapshot_pool *p,
                       struct buf *out)
{
    int64_t cpu = p->in_use.v[RES_CPU], mem = p->in_use.v[RES_MEMORY], nodes = p->nodes_in_use;
    char used[QUANTITY_TEXT], all[QUANTITY_TEXT];
    bool any = false;
    for (uint32_t i = 0; i < v->plan.n_claims; i++) {
        const struct sched_claim *c = v->plan.claims[i];
        if (c->pool == p && c->n_types > 0) {
            const struct resources *cap = catalog_capacity(p->catalog, c->types[0]);
            cpu += cap->v[RES_CPU];
            mem += cap->v[RES_MEMORY];
            nodes++;
            any = true;
        }
    }
    bool cpus = p->np->has_limits && p->np->limits.v[RES_CPU] >= 0;
    bool mems = p->np->has_limits && p->np->limits.v[RES_MEMORY] >= 0;
    if (!any || (!cpus && !mems && p->np->limit_nodes < 0)) {
        return;
    }
    buf_printf(out, "   %s", text_safe(&v->s->a, p->np->m.name));
    if (cpus) {
        buf_puts(out, " cpu ");
        put_cpu(out, cpu);
        buf_putc(out, '/');
        put_cpu(out, p->np->limits.v[RES_CPU]);
    }
    if (mems) {
        buf_printf(out, " mem %s/%s", quantity_fmt_bytes(mem, used),
                   quantity_fmt_bytes(p->np->limits.v[RES_MEMORY], all));
    }
    if (p->np->limit_nodes >= 0) {
        buf_printf(out, " nodes %lld/%lld", (long long)nodes, (long long)p->np->limit_nodes);
    }
}

static void put_after(const struct simulate_view *v, struct buf *out)
{
    struct fleet f;
    char text[MONEY_TEXT];
    const struct snapshot *snap = &v->s->d.snap;
    if (v->plan.n_claims == 0) {
        return;
    }
    fleet_count(&v->s->w, &v->s->d, v->s->prices, &v->s->a, &f);
    buf_printf(out, "\nAFTER   %s",
               screen_count(&v->s->a, (int64_t)snap->n_nodes + v->plan.n_claims, "node"));
    if (v->s->money) {
        bool unknown = f.all.cost.unpriced > 0;
        bool estimated = f.all.cost.estimated || v->plan.estimated;
        buf_printf(out, "   %s%s$%s/h", unknown ? ">=" : "", estimated ? "~" : "",
                   money_hour(f.all.cost.pusd_h + v->plan.price_pusd_h, text));
        buf_printf(out, " (+%s)", money_hour(v->plan.price_pusd_h, text));
    }
    for (uint32_t i = 0; i < snap->n_pools; i++) {
        put_limits(v, &snap->pools[i], out);
    }
    buf_putc(out, '\n');
}

/* ---- without a home -------------------------------------------------------------------------- */

struct homeless {
    const struct plan_refusal *first;
    const char *why;
    uint32_t n;
};

/* The larger group first, then by the first pod. */
static int homeless_cmp(const void *x, const void *y)
{
    const struct homeless *a = x, *b = y;
    if (a->n != b->n) {
        return a->n > b->n ? -1 : 1;
    }
    return a->first < b->first ? -1 : a->first > b->first; /* one array, by pod */
}

static struct homeless *homeless(const struct simulate_view *v, size_t *ret_n)
{
    struct homeless *ret = NULL;
    size_t n = 0, cap = 0;
    for (uint32_t i = 0; i < v->plan.n_refused; i++) {
        const struct plan_refusal *r = &v->plan.refused[i];
        size_t k = 0;
        while (k < n && !(ret[k].first->why == r->why && r->why != NULL &&
                          str_eq(ret[k].first->refusal->pod->m.ns, r->refusal->pod->m.ns))) {
            k++;
        }
        if (k < n) {
            ret[k].n++;
            continue;
        }
        const char *why = report_reason(&v->s->a, v->s, &r->refusal->reason);
        if (r->why && r->why->n_pools) {
            why = arena_printf(&v->s->a, "%s: %s", r->why->pools[0].pool->np->m.name, why);
        }
        ARENA_GROW(&v->s->a, ret, n, cap);
        ret[n++] = (struct homeless){r, why, 1};
    }
    if (n > 1) {
        qsort(ret, n, sizeof(*ret), homeless_cmp);
    }
    *ret_n = n;
    return ret;
}

static void put_homeless(const struct simulate_view *v, struct buf *out)
{
    size_t n;
    struct arena *a = &v->s->a;
    const struct homeless *h = homeless(v, &n);
    if (n == 0) {
        return;
    }
    buf_puts(out, "\nWITHOUT A HOME\n");
    for (size_t i = 0; i < n && i < HOMELESS_LINES; i++) {
        const struct plan_refusal *r = h[i].first;
        buf_printf(out, "  %s%s   %s\n          ", text_safe(a, report_pod(a, r->refusal->pod)),
                   h[i].n > 1 ? arena_printf(a, " and %u more like it", h[i].n - 1) : "",
                   reason_name(r->refusal->reason.code));
        screen_wrap(&v->s->c->term, a, 10, h[i].why, out);
        buf_putc(out, '\n');
    }
    if (n > HOMELESS_LINES) {
        buf_printf(out, "  %zu more kinds of pods   (-o json lists all)\n", n - HOMELESS_LINES);
    }
}

static void put_given_up(const struct simulate_view *v, struct buf *out)
{
    if (v->plan.n_preferences > 0) {
        buf_printf(out, "\n%s given up (-o json lists them)\n",
                   screen_count(&v->s->a, v->plan.n_preferences, "preference"));
    }
}

static void put_prices(const struct simulate_view *v, struct buf *out)
{
    if (v->s->money && v->plan.n_claims > 0) {
        screen_prices(&v->s->c->term, &v->s->a, v->s->prices, out);
    }
}

/* -o wide: every pod with its place. */
static void put_moves(const struct simulate_view *v, struct buf *out)
{
    static const struct table_column columns[] = {{"POD", false, false}, {"GOES TO", false, false}};
    struct table t;
    struct arena *a = &v->s->a;
    table_init(&t, a, columns, ARRAY_LEN(columns));
    for (uint32_t i = 0; i < v->plan.n_nodes; i++) {
        for (uint32_t k = 0; k < v->plan.nodes[i].n_pods; k++) {
            table_cell(&t, report_pod(a, v->plan.nodes[i].pods[k]));
            table_cell(&t, report_node(a, v->plan.nodes[i].node));
        }
    }
    for (uint32_t i = 0; i < v->plan.n_claims; i++) {
        for (uint32_t k = 0; k < v->plan.claims[i]->n_pods; k++) {
            table_cell(&t, report_pod(a, v->plan.claims[i]->pods[k]));
            table_cellf(&t, "new-%u (%s)", i, v->plan.claims[i]->pool->np->m.name);
        }
    }
    if (t.n > 0) {
        buf_putc(out, '\n');
        table_write(&t, &v->s->c->term, !v->s->c->o->no_headers, true, out);
    }
}

void simulate_screen(const struct simulate_view *v, bool wide, struct buf *out)
{
    put_head(v, out);
    put_onto(v, out);
    put_new(v, out);
    put_after(v, out);
    if (v->without_sets) {
        screen_wrap(&v->s->c->term, &v->s->a, 0, v->without_sets, out);
        buf_putc(out, '\n');
    }
    put_homeless(v, out);
    put_given_up(v, out);
    if (wide) {
        put_moves(v, out);
    }
    json_t *warnings = json_array();
    plan_warnings(warnings, v->s, &v->plan);
    report_put_warning_list(v->s, warnings, out);
    put_prices(v, out);
}
