/* poolview_screen.c - the screen of `explain nodepool`. */
#include "poolview.h"

#include "cmd/screen.h"
#include "cmd/status/money.h"
#include "cmd/table.h"
#include "common/base/str.h"

#define GAP "   "
#define TEXT_MAX_BYTES 4096u
#define VERDICT_INDENT 9u
#define BLOCK_INDENT 11u
#define STOCK_LINES 5u
#define LAUNCH_LINES 10u

static void put_head(const struct poolview *v, struct buf *out)
{
    struct arena *a = &v->s->a;
    const struct nodepool *np = v->p->np;
    uint32_t launching = v->n.state[NODE_LAUNCHING], lost = v->n.state[NODE_LOST];
    buf_puts(out, "NodePool ");
    term_put(&v->s->c->term, COLOR_BOLD, text_safe(a, np->m.name), out);
    buf_printf(out, GAP "EC2NodeClass %s" GAP "%s", text_safe(a, np->class_ref.name),
               np->weight ? arena_printf(a, "weight %d" GAP, np->weight) : "");
    buf_puts(out, screen_count(a, v->n.initialized, "node"));
    if (launching) {
        buf_printf(out, ", %u launching", launching);
    }
    if (lost) {
        buf_printf(out, ", %u lost", lost);
    }
    if (v->s->money) {
        bool any = v->n.cost.priced > 0 || v->n.cost.unpriced == 0;
        buf_printf(out, GAP "%s%s", any && v->n.cost.unpriced ? ">=" : "",
                   screen_hour(a, any ? v->n.cost.pusd_h : PRICE_UNKNOWN, v->n.cost.estimated, ""));
    }
    if (np->m.created_ns) {
        buf_printf(out, GAP "age %s", screen_age(a, v->s->w.now_ns - np->m.created_ns));
    }
    buf_putc(out, '\n');
}

static void put_verdict(const struct poolview *v, struct buf *out)
{
    term_put(&v->s->c->term, v->open ? COLOR_GREEN : COLOR_RED, "VERDICT", out);
    buf_puts(out, "  ");
    screen_wrap(&v->s->c->term, &v->s->a, VERDICT_INDENT,
                arena_printf(&v->s->a, "%s%s (%s).",
                             v->open ? "" : "Launches nothing: ", v->message, v->code),
                out);
    buf_putc(out, '\n');
}

/* A title, then wrapped text behind it. */
static void put_block(const struct poolview *v, const char *title, const char *text,
                      struct buf *out)
{
    buf_printf(out, "%-*s", (int)BLOCK_INDENT, title);
    screen_wrap(&v->s->c->term, &v->s->a, BLOCK_INDENT, text, out);
    buf_putc(out, '\n');
}

/* ---- what it may launch ---------------------------------------------------------------------- */

static const char *step_name(const struct poolview_step *s)
{
    const char *slash = s->key ? strrchr(s->key, '/') : NULL;
    switch (s->code) {
    case REASON_NONE:
        return "all";
    case REASON_Requirement:
        return slash ? slash + 1 : s->key;
    case REASON_Offering:
        return "offered";
    default:
        return "under limit";
    }
}

static void put_types(const struct poolview *v, struct buf *out)
{
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_MAX_BYTES);
    for (uint32_t i = 0; i < v->n_steps; i++) {
        buf_printf(&text, "%s%s %u", i ? " > " : "", step_name(&v->steps[i]), v->steps[i].left);
    }
    if (text.n) {
        put_block(v, "TYPES", text.p, out);
    }
}

/* "cpu 24/32, nodes 2/4" from two objects of one shape. */
static void put_limits(const struct poolview *v, struct buf *out)
{
    AUTO_BUF struct buf text;
    json_t *limits = report_limits(v->s->w.syms, v->p->np), *one;
    json_t *used = report_in_use(v->s->w.syms, v->p);
    const char *key;
    buf_init(&text, TEXT_MAX_BYTES);
    json_object_foreach (limits, key, one) {
        const char *have = json_string_value(json_object_get(used, key));
        buf_printf(&text, "%s%s %s of %s", text.n ? ", " : "", key, have ? have : "0",
                   json_string_value(one));
    }
    put_block(v, "LIMITS", text.n ? text.p : "none", out);
    json_decref(limits);
    json_decref(used);
}

/* Those that say more than "fine". */
static void put_conditions(const struct poolview *v, struct buf *out)
{
    const struct conditions *c = &v->p->np->conditions;
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_MAX_BYTES);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct condition *one = &c->v[i];
        const char *status = one->status == STATUS_TRUE    ? "True"
                             : one->status == STATUS_FALSE ? "False"
                                                           : "Unknown";
        buf_printf(&text, "%s%s %s", text.n ? ", " : "", one->type, status);
        if (one->transition_ns) {
            buf_printf(&text, " for %s", screen_age(&v->s->a, v->s->w.now_ns - one->transition_ns));
        }
    }
    if (text.n) {
        put_block(v, "STATE", text.p, out);
    }
}

/* ---- what may leave -------------------------------------------------------------------------- */

static const char *change_text(const struct poolview *v, const struct budget_row *row)
{
    int64_t at = row->opens_ns ? row->opens_ns : row->closes_ns;
    if (!at) {
        return "-";
    }
    return arena_printf(&v->s->a, "%s at %s", row->opens_ns ? "opens" : "closes",
                        screen_clock(&v->s->a, at, v->s->w.now_ns));
}

static void put_budgets(const struct poolview *v, struct buf *out)
{
    static const struct table_column columns[] = {{"BUDGET FOR", false, false},
                                                  {"ALLOWED", true, false},
                                                  {"IN USE", true, false},
                                                  {"LEFT", true, false},
                                                  {"CHANGES", false, false}};
    struct table t;
    table_init(&t, &v->s->a, columns, ARRAY_LEN(columns));
    for (int i = 0; i < BUDGET_REASONS; i++) {
        const struct budget_row *row = &v->budgets[i];
        table_cell(&t, budget_reason_name(row->reason));
        table_cellf(&t, "%lld of %lld", (long long)row->allowed, (long long)row->nodes);
        table_cellf(&t, "%lld", (long long)row->disrupting);
        table_cellf(&t, "%lld", (long long)row->remaining);
        table_cell(&t, change_text(v, row));
    }
    buf_putc(out, '\n');
    table_write(&t, &v->s->c->term, !v->s->c->o->no_headers, false, out);
}

/* ---- what is under way ----------------------------------------------------------------------- */

static void put_launches(const struct poolview *v, struct buf *out)
{
    struct arena *a = &v->s->a;
    for (uint32_t i = 0; i < v->n_launches && i < LAUNCH_LINES; i++) {
        const struct poolview_launch *l = &v->launches[i];
        buf_puts(out, i == 0 ? "\nLAUNCHES   " : "           ");
        screen_wrap(&v->s->c->term, a, BLOCK_INDENT,
                    arena_printf(a, "%s for %s: not %s yet: %s%s%s", l->nc->m.name,
                                 screen_age(a, v->s->w.now_ns - l->nc->m.created_ns),
                                 str_eq(l->step, "Launched")     ? "launched"
                                 : str_eq(l->step, "Registered") ? "registered"
                                                                 : "initialized",
                                 l->code, *l->message ? ": " : "", l->message),
                    out);
        buf_putc(out, '\n');
    }
    if (v->n_launches > LAUNCH_LINES) {
        buf_printf(out, "           %u more\n", v->n_launches - LAUNCH_LINES);
    }
}

static void put_stockouts(const struct poolview *v, struct buf *out)
{
    struct arena *a = &v->s->a;
    struct facts f;
    size_t shown = 0, more = 0;
    facts_read(&v->s->w, a, &f);
    for (size_t i = 0; i < f.n_stockouts; i++) {
        const struct facts_stockout *one = &f.stockouts[i];
        if (!poolview_sells(v, one)) {
            continue;
        }
        if (shown >= STOCK_LINES) {
            more++;
            continue;
        }
        buf_puts(out, shown++ == 0 ? "\nSOLD OUT   " : "           ");
        buf_printf(out, "%s %s %s", text_safe(a, one->type), text_safe(a, one->capacity_type),
                   text_safe(a, one->zone));
        buf_printf(out, "%s%s\n", one->until_ns ? " until " : "",
                   one->until_ns ? screen_clock(a, one->until_ns, v->s->w.now_ns) : "");
    }
    if (more) {
        buf_printf(out, "           %zu more\n", more);
    }
}

void poolview_screen(const struct poolview *v, struct buf *out)
{
    put_head(v, out);
    put_verdict(v, out);
    buf_putc(out, '\n');
    put_conditions(v, out);
    put_types(v, out);
    put_limits(v, out);
    put_budgets(v, out);
    put_launches(v, out);
    put_stockouts(v, out);
    said_screen(v->s, &v->said, out);
}
