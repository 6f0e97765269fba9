/* status_screen.c - the screen of kubectl karp status. */
#include "status.h"

#include "cmd/explain/budgetview.h"
#include "cmd/read/requests.h"
#include "cmd/screen.h"
#include "cmd/table.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/labels.h"
#include "holds.h"
#include "money.h"

#define BAR_CELLS 10u
#define GAP "   "
#define ATTENTION_INDENT 13u
#define ATTENTION_TEXT_MAX 58u /* wider texts have their command on a line of its own */
#define SCREEN_WIDTH 100u      /* where the terminal's is not known */
#define SCREEN_WIDTH_MIN 40u
#define LINE_MAX_BYTES 1024u

/* ---- amounts --------------------------------------------------------------------------------- */

static void put_cpu(struct buf *out, const struct fleet_count *n, bool always)
{
    screen_tenths(out, n->requested_cpu_milli, 1000, always);
    buf_putc(out, '/');
    screen_tenths(out, n->allocatable_cpu_milli, 1000, always);
}

static void put_mem(struct buf *out, const struct fleet_count *n)
{
    screen_gib(out, n->requested_mem_bytes);
    buf_putc(out, '/');
    screen_gib(out, n->allocatable_mem_bytes);
    buf_puts(out, "Gi");
}

/* ">=" when a node's price is not known, "~" when one is an estimate, "?" when none is known. */
static void put_money(struct buf *out, const struct cost *c, const char *sign, bool month)
{
    char text[MONEY_TEXT];
    if (c->priced == 0 && c->unpriced > 0) {
        buf_puts(out, "?");
        return;
    }
    buf_printf(out, "%s%s%s%s", c->unpriced ? ">=" : "", c->estimated ? "~" : "", sign,
               month ? money_month(c->pusd_h, text) : money_hour(c->pusd_h, text));
}

/* ---- head ------------------------------------------------------------------------------------ */

static void put_controller(const struct status_view *s, struct buf *out)
{
    const struct facts *f = &s->facts;
    char age[TIMEFMT_TEXT];
    if (f->charge == CHARGE_UNKNOWN || f->charge == CHARGE_NONE) {
        buf_puts(out, f->charge == CHARGE_NONE ? "no controller in charge"
                                               : "controller unknown (Leases are hidden)");
        return;
    }
    buf_printf(out, "%s%s%s, leader %s", f->charge == CHARGE_KARP ? "karp-agent" : "Karpenter",
               f->version ? " " : "", f->version ? text_safe(s->a, f->version) : "",
               text_safe(s->a, f->leader));
    if (f->synced_ns) {
        buf_printf(out, ", synced %s ago", timefmt_age(s->w->now_ns - f->synced_ns, age));
    }
    if (f->mode && !str_eq(f->mode, "full")) {
        buf_printf(out, ", mode %s", text_safe(s->a, f->mode));
    }
}

/* "v1.33.4-eks" is Kubernetes 1.33. */
static void put_version(const char *version, struct buf *out)
{
    const char *v = version + (*version == 'v');
    const char *dot = strchr(v, '.');
    size_t n = dot ? (size_t)(dot - v) + 1 + strspn(dot + 1, "0123456789") : strlen(v);
    buf_printf(out, "Kubernetes %.*s" GAP, (int)n, v);
}

static void put_head(const struct status_view *s, struct buf *out)
{
    term_put(&s->c->term, COLOR_BOLD, text_safe(s->a, s->w->name), out);
    buf_puts(out, GAP);
    if (!s->w->live) {
        buf_puts(out, "snapshot" GAP);
    }
    if (s->w->version) {
        put_version(text_safe(s->a, s->w->version), out);
    }
    put_controller(s, out);
    buf_puts(out, "\n\n");
}

static void put_trouble(const struct status_view *s, enum node_state state, const char *what,
                        struct buf *out)
{
    uint32_t n = s->fleet.all.state[state];
    if (n) {
        buf_puts(out, ", ");
        term_put(&s->c->term, COLOR_RED, arena_printf(s->a, "%u %s", n, what), out);
    }
}

static void put_nodes(const struct status_view *s, struct buf *out)
{
    const struct fleet *f = &s->fleet;
    if (s->w->hidden[KIND_NODE]) {
        buf_puts(out, "Nodes   hidden\n");
        return;
    }
    buf_printf(out, "Nodes   %u ready, %u launching, %u draining", f->all.state[NODE_READY],
               f->all.state[NODE_LAUNCHING], f->all.state[NODE_DRAINING]);
    put_trouble(s, NODE_NOT_READY, "not ready", out);
    put_trouble(s, NODE_LOST, "lost", out);
    if (f->unmanaged) {
        buf_printf(out, "; %u more not managed by %s", f->unmanaged,
                   s->facts.charge == CHARGE_KARPENTER ? "Karpenter" : "karp");
    }
    buf_putc(out, '\n');
}

static void put_pods(const struct status_view *s, struct buf *out)
{
    const struct fleet *f = &s->fleet;
    const char *sep = ": ";
    if (s->w->hidden[KIND_POD]) {
        buf_puts(out, "Pods    hidden\n");
        return;
    }
    uint32_t waiting = f->waiting_bind + f->waiting_launching + f->waiting_new;
    uint32_t pending = waiting + f->unschedulable + f->gated;
    buf_printf(out, "Pods    %u bound, %u pending", f->bound, pending);
    if (f->waiting_bind) {
        buf_printf(out, "%s%u fit%s on a node that is there", sep, f->waiting_bind,
                   f->waiting_bind == 1 ? "s" : "");
        sep = ", ";
    }
    if (f->waiting_launching) {
        buf_printf(out, "%s%u wait%s for a launching node", sep, f->waiting_launching,
                   f->waiting_launching == 1 ? "s" : "");
        sep = ", ";
    }
    if (f->waiting_new) {
        buf_printf(out, "%s%u need%s a new node", sep, f->waiting_new,
                   f->waiting_new == 1 ? "s" : "");
        sep = ", ";
    }
    if (f->gated) {
        buf_printf(out, "%s%u gated", sep, f->gated);
        sep = ", ";
    }
    if (f->unschedulable) {
        buf_puts(out, sep);
        term_put(&s->c->term, COLOR_RED,
                 arena_printf(s->a, "%u ha%s no home", f->unschedulable,
                              f->unschedulable == 1 ? "s" : "ve"),
                 out);
    }
    buf_putc(out, '\n');
}

static void put_usage(const struct status_view *s, struct buf *out)
{
    const struct fleet_count *n = &s->fleet.all;
    if (s->w->hidden[KIND_NODE] || s->w->hidden[KIND_POD]) {
        return;
    }
    buf_puts(out, "Usage   cpu ");
    put_cpu(out, n, true);
    buf_printf(out, "  %d%% ", screen_percent(n->requested_cpu_milli, n->allocatable_cpu_milli));
    term_bar(&s->c->term, n->requested_cpu_milli, n->allocatable_cpu_milli, BAR_CELLS, out);
    buf_puts(out, "    mem ");
    put_mem(out, n);
    buf_printf(out, "  %d%% ", screen_percent(n->requested_mem_bytes, n->allocatable_mem_bytes));
    term_bar(&s->c->term, n->requested_mem_bytes, n->allocatable_mem_bytes, BAR_CELLS, out);
    buf_puts(out, "    (requests / allocatable)\n");
}

/* "$0.096/h ($70/mo)" */
static const char *hour_and_month(struct arena *a, int64_t pusd_h, bool estimated)
{
    char month[MONEY_TEXT];
    return arena_printf(a, "%s (%s$%s/mo)", screen_hour(a, pusd_h, estimated, ""),
                        estimated ? "~" : "", money_month(pusd_h, month));
}

/* What holds how much of it back. */
static void put_held_back(const struct status_view *s, bool estimated, struct buf *out)
{
    static const char *const names[HOLDERS] = {"budgets", "Holds", "decisions that are missing"};
    struct disrupt_held held = disrupt_held_back(s->disrupt);
    const char *next = "        held back now by ";
    for (int i = 0; i < HOLDERS; i++) {
        if (held.by_pusd_h[i] != 0) {
            buf_printf(out, "%s%s: %s", next, names[i],
                       hour_and_month(s->a, held.by_pusd_h[i], estimated));
            next = ", ";
        }
    }
    buf_puts(out, held.all_pusd_h != 0 ? "\n" : "");
}

/* What consolidation could save, and what is in the way. */
static void put_potential(const struct status_view *s, struct buf *out)
{
    const struct consolidate_result *p = s->disrupt ? s->disrupt->plan : NULL;
    struct arena *a = s->a;
    if (!p || (p->n_steps == 0 && s->kept_by_policy_pusd_h == 0)) {
        return;
    }
    bool estimated = false;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        estimated = estimated || disrupt_step_estimated(s->disrupt, &p->steps[i]);
    }
    buf_printf(out, "        consolidation could save %s\n",
               hour_and_month(a, p->saving_pusd_h, estimated));
    put_held_back(s, estimated, out);
    if (s->kept_by_policy_pusd_h > 0) {
        buf_printf(out, "        and %s more if no NodePool kept its nodes by policy\n",
                   hour_and_month(a, s->kept_by_policy_pusd_h, estimated));
    }
}

static void put_cost(const struct status_view *s, struct buf *out)
{
    const struct fleet_count *n = &s->fleet.all;
    if (!s->money || s->w->hidden[KIND_NODE]) {
        return;
    }
    buf_puts(out, "Cost    ");
    put_money(out, &n->cost, "$", false);
    buf_puts(out, "/h" GAP);
    put_money(out, &n->cost, "$", true);
    buf_printf(out, "/mo" GAP "spot %u of %u nodes\n", n->spot, n->initialized);
    put_potential(s, out);
}

/* ---- pools ----------------------------------------------------------------------------------- */

static const char *nodes_cell(const struct status_view *s, const struct fleet_pool *p)
{
    uint32_t launching = p->n.state[NODE_LAUNCHING];
    return launching ? arena_printf(s->a, "%u+%u", p->n.initialized, launching)
                     : arena_printf(s->a, "%u", p->n.initialized);
}

static void put_limit(struct buf *out, enum resource r, int64_t used, int64_t limit)
{
    buf_puts(out, out->n ? ", " : "");
    if (r == RES_MEMORY) {
        buf_puts(out, "mem ");
        screen_gib(out, used);
        buf_putc(out, '/');
        screen_gib(out, limit);
        buf_puts(out, "Gi");
    } else {
        buf_puts(out, "cpu ");
        screen_tenths(out, used, 1000, false);
        buf_putc(out, '/');
        screen_tenths(out, limit, 1000, false);
    }
}

static uint32_t count_limits(const struct nodepool *np)
{
    uint32_t n = np->limit_nodes >= 0;
    for (int r = 0; np->has_limits && r < RES_FIXED; r++) {
        n += np->limits.v[r] >= 0;
    }
    for (uint32_t i = 0; np->has_limits && i < np->limits.n_ext; i++) {
        n += np->limits.ext[i].amount >= 0;
    }
    return n;
}

/* nodes, cpu and mem; how many others there are, which stand in the JSON. */
static const char *limit_cell(const struct status_view *s, const struct snapshot_pool *p)
{
    const struct nodepool *np = p->np;
    uint32_t others = count_limits(np);
    AUTO_BUF struct buf text;
    buf_init(&text, LINE_MAX_BYTES);
    if (np->limit_nodes >= 0) {
        buf_printf(&text, "nodes %lld/%lld", (long long)p->nodes_in_use,
                   (long long)np->limit_nodes);
        others--;
    }
    for (int r = RES_CPU; np->has_limits && r <= RES_MEMORY; r++) {
        if (np->limits.v[r] >= 0) {
            put_limit(&text, (enum resource)r, p->in_use.v[r], np->limits.v[r]);
            others--;
        }
    }
    if (others) {
        buf_printf(&text, "%s%u more", text.n ? ", " : "", others);
    }
    return text.n ? arena_strdup(s->a, text.p) : "-";
}

/* "1 of 2", "0 until 22:00"; reasons that differ from the first are told apart. */
static const char *budget_cell(const struct status_view *s, const struct fleet_pool *p)
{
    struct budget_row rows[BUDGET_REASONS];
    AUTO_BUF struct buf text;
    buf_init(&text, LINE_MAX_BYTES);
    budget_rows(p->pool->np, p->n.counted, p->n.disrupting, s->w->now_ns, rows);
    if (rows[0].allowed == 0 && rows[0].opens_ns) {
        buf_printf(&text, "0 until %s", screen_clock(s->a, rows[0].opens_ns, s->w->now_ns));
    } else {
        buf_printf(&text, "%lld of %lld", (long long)rows[0].remaining, (long long)rows[0].allowed);
    }
    for (int i = 1; i < BUDGET_REASONS; i++) {
        if (rows[i].remaining != rows[0].remaining) {
            buf_printf(&text, ", %s %lld", budget_reason_name(rows[i].reason),
                       (long long)rows[i].remaining);
        }
    }
    return arena_strdup(s->a, text.p);
}

static const char *money_cell(const struct status_view *s, const struct cost *c)
{
    AUTO_BUF struct buf text;
    buf_init(&text, LINE_MAX_BYTES);
    put_money(&text, c, "", false);
    return arena_strdup(s->a, text.p);
}

static const char *use_cell(const struct status_view *s, const struct fleet_count *n, bool cpu)
{
    AUTO_BUF struct buf text;
    buf_init(&text, LINE_MAX_BYTES);
    if (cpu) {
        put_cpu(&text, n, false);
    } else {
        put_mem(&text, n);
    }
    return arena_strdup(s->a, text.p);
}

static void pool_ready(struct table *t, const struct snapshot_pool *p)
{
    bool ready = p->closed != REASON_PoolNotReady;
    table_cell_color(t, ready ? COLOR_GREEN : COLOR_RED, ready ? "True" : "False");
}

static const struct table_column columns[] = {
    {"NODEPOOL", false, false}, {"READY", false, false},
    {"NODES", false, false},    {"CPU", false, false},
    {"MEM", false, false},      {"LIMIT", false, false},
    {"WEIGHT", true, false},    {"DISRUPTIONS NOW", false, false},
    {"$/H", true, false},       {"SPOT", true, true},
    {"NODECLASS", false, true}, {"AGE", false, true}};
#define COLUMN_MONEY 8

/* Without money its column goes. */
static size_t columns_of(const struct status_view *s, struct table_column dst[ARRAY_LEN(columns)])
{
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        if (i != COLUMN_MONEY || s->money) {
            dst[n++] = columns[i];
        }
    }
    return n;
}

static void put_pool(const struct status_view *s, struct table *t, const struct fleet_pool *p)
{
    const struct nodepool *np = p->pool->np;
    char age[TIMEFMT_TEXT];
    table_cell(t, np->m.name);
    pool_ready(t, p->pool);
    table_cell(t, nodes_cell(s, p));
    table_cell(t, use_cell(s, &p->n, true));
    table_cell(t, use_cell(s, &p->n, false));
    table_cell(t, limit_cell(s, p->pool));
    table_cell(t, np->weight ? arena_printf(s->a, "%d", np->weight) : "-");
    table_cell(t, budget_cell(s, p));
    if (s->money) {
        table_cell(t, money_cell(s, &p->n.cost));
    }
    table_cell(t, arena_printf(s->a, "%u", p->n.spot));
    table_cell(t, np->class_ref.name);
    table_cell(t, np->m.created_ns
                      ? arena_strdup(s->a, timefmt_age(s->w->now_ns - np->m.created_ns, age))
                      : "<unknown>");
}

static void put_pools(const struct status_view *s, bool wide, struct buf *out)
{
    struct table t;
    struct table_column shown[ARRAY_LEN(columns)];
    buf_putc(out, '\n');
    if (s->fleet.n_pools == 0) {
        buf_puts(out, s->w->hidden[KIND_NODE_POOL] ? "NodePools are hidden.\n" : "No NodePools.\n");
        return;
    }
    table_init(&t, s->a, shown, columns_of(s, shown));
    for (size_t i = 0; i < s->fleet.n_pools; i++) {
        put_pool(s, &t, &s->fleet.pools[i]);
    }
    table_write(&t, &s->c->term, !s->c->o->no_headers, wide, out);
}

/* ---- attention ------------------------------------------------------------------------------- */

static const char *attention_text(const struct status_view *s, const struct attention *x)
{
    const char *text = *x->name ? arena_printf(s->a, "%s %s", x->name, x->message) : x->message;
    return text_safe(s->a, text);
}

/* A pod without a home, not one that could not be read. */
static bool is_pod(const struct attention *x)
{
    return str_eq(x->kind, "pod") && !str_eq(x->code, "Malformed");
}

/* Width of the text column: that of the widest text that still has its command beside it. */
static size_t attention_width(const struct status_view *s)
{
    size_t ret = 0;
    for (size_t i = 0; i < s->attention.n; i++) {
        size_t w = term_text_width(attention_text(s, &s->attention.v[i]));
        ret = w <= ATTENTION_TEXT_MAX && w > ret ? w : ret;
    }
    return ret;
}

/* Words from column ATTENTION_INDENT on; a word that is wider than the screen stays whole. */
static void put_wrapped(const struct status_view *s, const char *text, struct buf *out)
{
    unsigned screen = s->c->term.width ? s->c->term.width : SCREEN_WIDTH;
    size_t max = (screen < SCREEN_WIDTH_MIN ? SCREEN_WIDTH_MIN : screen) - ATTENTION_INDENT;
    size_t at = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        size_t width = term_text_width(arena_strndup(s->a, text, n));
        if (at > 0 && at + 1 + width > max) {
            buf_printf(out, "\n%*s", (int)ATTENTION_INDENT, "");
            at = 0;
        }
        buf_printf(out, "%s%.*s", at > 0 ? " " : "", (int)n, text);
        at += (at > 0) + width;
        text += n + strspn(text + n, " ");
    }
}

static void put_attention_line(const struct status_view *s, const struct attention *x, size_t width,
                               struct buf *out)
{
    const char *text = attention_text(s, x), *fix = x->fix ? text_safe(s->a, x->fix) : NULL;
    size_t w = term_text_width(text);
    buf_puts(out, "  ");
    term_put(&s->c->term, COLOR_YELLOW, arena_printf(s->a, "%-10s", text_safe(s->a, x->kind)), out);
    buf_putc(out, ' ');
    put_wrapped(s, text, out);
    if (fix && w <= width) {
        buf_printf(out, "%*s" GAP "%s", (int)(width - w), "", fix);
    } else if (fix) {
        buf_printf(out, "\n%*s%s", (int)ATTENTION_INDENT, "", fix);
    }
    buf_putc(out, '\n');
}

static void put_attention(const struct status_view *s, struct buf *out)
{
    size_t width = attention_width(s), pods = 0, left_out = 0;
    if (s->attention.n == 0) {
        return;
    }
    buf_puts(out, "\nATTENTION\n");
    for (size_t i = 0; i < s->attention.n; i++) {
        const struct attention *x = &s->attention.v[i];
        bool last_pod = i + 1 == s->attention.n || !is_pod(&s->attention.v[i + 1]);
        if (!is_pod(x)) {
            put_attention_line(s, x, width, out);
            continue;
        }
        if (++pods <= STATUS_POD_LINES) {
            put_attention_line(s, x, width, out);
        } else {
            left_out++;
        }
        if (last_pod && left_out) {
            buf_printf(out, "  pod        %zu more entries like these   (-o json lists all)\n",
                       left_out);
        }
    }
}

static void put_stockouts(const struct status_view *s, struct buf *out)
{
    const struct facts *f = &s->facts;
    if (f->n_stockouts == 0) {
        return;
    }
    buf_puts(out, "\nSOLD OUT\n");
    for (size_t i = 0; i < f->n_stockouts && i < STATUS_STOCK_LINES; i++) {
        const struct facts_stockout *x = &f->stockouts[i];
        const char *until =
            x->until_ns
                ? arena_printf(s->a, " until %s", screen_clock(s->a, x->until_ns, s->w->now_ns))
                : "";
        buf_printf(out, "  %s %s %s%s\n", text_safe(s->a, x->type),
                   text_safe(s->a, x->capacity_type), text_safe(s->a, x->zone), until);
    }
    if (f->n_stockouts > STATUS_STOCK_LINES) {
        buf_printf(out, "  %zu more\n", f->n_stockouts - STATUS_STOCK_LINES);
    }
}

void status_screen(const struct status_view *s, bool wide, struct buf *out)
{
    put_head(s, out);
    holds_banner(s->w, &s->facts, &s->c->term, s->a, out);
    grants_banner(s->w, &s->facts, &s->c->term, s->a, out);
    put_nodes(s, out);
    put_pods(s, out);
    put_usage(s, out);
    put_cost(s, out);
    put_pools(s, wide, out);
    put_attention(s, out);
    put_stockouts(s, out);
    if (s->money) {
        screen_prices(&s->c->term, s->a, s->prices, out);
    }
}
