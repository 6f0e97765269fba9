/* consolidate_screen.c - the screen of `consolidate --dry-run`. */
#include "consolidate_int.h"

#include "cmd/report.h"
#include "cmd/screen.h"
#include "cmd/status/money.h"
#include "cmd/table.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define ACTIONS_SHOWN 50u /* without -o wide */
#define BLANK " "         /* a cell that says nothing */

void consolidate_wrap(const struct consolidate_screen *x, unsigned indent, const char *text,
                      struct buf *out)
{
    screen_wrap(x->term, x->a, indent, text, out);
    buf_putc(out, '\n');
}

/* ---- head ------------------------------------------------------------------------------------ */

static void put_head(const struct consolidate_screen *x, struct buf *out)
{
    char at[TIMEFMT_TEXT];
    (void)timefmt_rfc3339(x->v->s->w.now_ns, at); /* 2026-01-05T09:00:00Z */
    buf_printf(out, "Plan of %.10s %.8s UTC over %s. Nothing was changed.\n", at, at + 11,
               screen_count(x->a, x->p->n_nodes, "managed node"));
}

/* "13.2%" of the fleet's price. */
static const char *share(const struct consolidate_screen *x)
{
    if (x->p->price_pusd_h <= 0) {
        return "";
    }
    __int128 tenths = (__int128)x->p->saving_pusd_h * 1000 / x->p->price_pusd_h;
    return arena_printf(x->a, "%lld.%lld%% of ", (long long)(tenths / 10),
                        (long long)(tenths < 0 ? -tenths : tenths) % 10);
}

static const char *counts(const struct consolidate_screen *x)
{
    return arena_printf(x->a, "%s, %s out, %u in, %s", screen_count(x->a, x->p->n_steps, "action"),
                        screen_count(x->a, x->p->nodes_out, "node"), x->p->nodes_in,
                        x->p->pods_moved == 1
                            ? "1 pod moves"
                            : arena_printf(x->a, "%u pods move", x->p->pods_moved));
}

static bool drifted_only(const struct consolidate_screen *x)
{
    for (uint32_t i = 0; i < x->p->n_steps; i++) {
        if (x->p->steps[i].reason != DISRUPT_DRIFTED) {
            return false;
        }
    }
    return x->p->n_steps > 0;
}

static void put_savings(const struct consolidate_screen *x, struct buf *out)
{
    char month[MONEY_TEXT];
    const char *hidden = disrupt_hidden(&x->v->s->w, x->a);
    if (hidden) {
        term_put(x->term, COLOR_BOLD, "UNKNOWN", out);
        buf_printf(out, GAP "Too much is hidden to tell what could leave: %s.\n", hidden);
        return;
    }
    if (x->p->n_steps == 0) {
        term_put(x->term, COLOR_BOLD, "NO ACTION", out);
        buf_puts(out, GAP "No node can leave, and none can be replaced by a cheaper one.\n");
        return;
    }
    const char *title = drifted_only(x) && x->p->saving_pusd_h <= 0 ? "COSTS" : "SAVES";
    int64_t pusd = title[0] == 'C' ? -x->p->saving_pusd_h : x->p->saving_pusd_h;
    term_put(x->term, COLOR_BOLD, x->v->s->money ? title : "PLAN", out);
    if (x->v->s->money) {
        buf_printf(out, "  %s" GAP "%s$%s/mo" GAP "%s%s   ",
                   screen_hour(x->a, pusd, x->estimated, ""), x->estimated ? "~" : "",
                   money_month(pusd, month), title[0] == 'C' ? "on top of " : share(x),
                   screen_hour(x->a, x->p->price_pusd_h, x->estimated, ""));
    }
    buf_printf(out, GAP "%s\n", counts(x));
}

/* ---- actions --------------------------------------------------------------------------------- */

static const struct table_column columns[] = {
    {"#", false, false},       {"ACTION", false, false}, {"OUT", false, false},
    {"", false, false},        {"IN", false, false},     {"PODS", true, false},
    {"$/H", true, false},      {"$/MO", true, false},    {"SCORE", true, true},
    {"NODEPOOL", false, true}, {"HELD BY", false, true}};
#define COLUMN_HOUR 6
#define COLUMN_SCORE 8

static size_t columns_of(const struct consolidate_screen *x,
                         struct table_column dst[ARRAY_LEN(columns)])
{
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        if (x->v->s->money || i < COLUMN_HOUR || i > COLUMN_SCORE) {
            dst[n++] = columns[i];
        }
    }
    return n;
}

static const char *held_codes(const struct consolidate_screen *x, const struct consolidate_step *s)
{
    const char *ret = "-";
    for (uint32_t i = 0; i < s->n_held_by; i++) {
        const char *code = reason_name(s->held_by[i].code);
        ret = i == 0 ? code : arena_printf(x->a, "%s,%s", ret, code);
    }
    return ret;
}

static void money_cells(const struct consolidate_screen *x, struct table *t,
                        const struct consolidate_step *s)
{
    char text[MONEY_TEXT];
    const char *sign = disrupt_step_estimated(x->v->d, s) ? "~" : "";
    table_cellf(t, "%s%s", sign, money_hour(-s->saving_pusd_h, text));
    table_cellf(t, "%s%s", sign, money_month(-s->saving_pusd_h, text));
    table_cell(t, arena_strdup(x->a, money_hour(s->score * (PUSD_PER_USD / 1000000), text)));
}

/* What comes in, line by line. */
static const char **in_lines(const struct consolidate_screen *x, const struct consolidate_step *s,
                             uint32_t *ret_n)
{
    const char **v = ARENA_NEW_N(x->a, const char *, 2 * s->n_in + 1);
    *ret_n = 0;
    for (uint32_t i = 0; i < s->n_in; i++) {
        const char *others = disrupt_in_others(x->v->d, &s->in[i]);
        v[(*ret_n)++] = disrupt_in_text(x->v->d, &s->in[i]);
        if (others) {
            v[(*ret_n)++] = others;
        }
    }
    if (*ret_n == 0) {
        v[(*ret_n)++] = "-";
    }
    return v;
}

/* One line of an action: its i-th node that leaves beside the i-th line of what comes. */
static void action_row(const struct consolidate_screen *x, struct table *t,
                       const struct consolidate_step *s, uint32_t i, const char *in)
{
    bool first = i == 0, out = i < s->n_out;
    table_cell(t, first ? arena_printf(x->a, "%u", s->id) : BLANK);
    table_cell(t, first ? consolidate_kind_name(s->kind) : BLANK);
    table_cell(t, out ? report_node(x->a, s->out[i].node) : BLANK);
    table_cell(t, out ? disrupt_type_text(x->v->d, s->out[i].node) : BLANK);
    table_cell(t, in);
    table_cell(t, first ? arena_printf(x->a, "%u", s->n_moves) : BLANK);
    if (x->v->s->money && first) {
        money_cells(x, t, s);
    } else if (x->v->s->money) {
        for (int k = COLUMN_HOUR; k <= COLUMN_SCORE; k++) {
            table_cell(t, BLANK);
        }
    }
    table_cell(t, out && s->out[i].node->pool ? s->out[i].node->pool->np->m.name : BLANK);
    table_cell(t, first ? held_codes(x, s) : BLANK);
}

static void action_rows(const struct consolidate_screen *x, struct table *t,
                        const struct consolidate_step *s)
{
    uint32_t n;
    const char **in = in_lines(x, s, &n);
    for (uint32_t i = 0; i < s->n_out || i < n; i++) {
        action_row(x, t, s, i, i < n ? in[i] : BLANK);
    }
}

static void put_actions(const struct consolidate_screen *x, struct buf *out)
{
    struct table_column shown[ARRAY_LEN(columns)];
    struct table t;
    if (x->p->n_steps == 0) {
        return;
    }
    table_init(&t, x->a, shown, columns_of(x, shown));
    uint32_t shown_n = !x->wide && x->p->n_steps > ACTIONS_SHOWN ? ACTIONS_SHOWN : x->p->n_steps;
    for (uint32_t i = 0; i < shown_n; i++) {
        action_rows(x, &t, &x->p->steps[i]);
    }
    buf_putc(out, '\n');
    table_write(&t, x->term, !x->v->s->c->o->no_headers, x->wide, out);
    if (shown_n < x->p->n_steps) {
        buf_printf(out, "and %u more" GAP "(-o wide lists them)\n", x->p->n_steps - shown_n);
    }
    if (x->p->cut_short) {
        buf_puts(out, "There may be more (--max-actions).\n");
    }
    if (x->p->truncated) {
        buf_puts(out, "The search was cut short: there may be more.\n");
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

/* By Holds, every step. */
static bool all_held(const struct consolidate_screen *x)
{
    for (uint32_t i = 0; i < x->p->n_steps; i++) {
        const struct consolidate_step *s = &x->p->steps[i];
        if (s->n_held_by == 0 || s->held_by[0].code != REASON_Held) {
            return false;
        }
    }
    return x->p->n_steps > 0;
}

static void put_who(const struct consolidate_screen *x, struct buf *out)
{
    const struct facts *f = &x->v->d->facts;
    switch (f->charge) {
    case CHARGE_KARPENTER:
        buf_puts(out, "Who acts: Karpenter, by its own rules; its plan may be another.\n");
        return;
    case CHARGE_KARP:
        if (f->mode && !str_eq(f->mode, "full")) {
            buf_printf(out, "Who acts: nobody, karp-agent is in mode %s.\n",
                       text_safe(x->a, f->mode));
            return;
        }
        if (all_held(x)) {
            buf_printf(out, "Who acts: nobody as long as that lasts: %s.\n",
                       disrupt_reason(x->v->d, &x->p->steps[0].held_by[0]));
            return;
        }
        buf_puts(out,
                 "Who acts: karp-agent, as far as nothing holds a step back. To stop it:  kubectl "
                 "karp pause\n");
        consolidate_put_consent(x, out);
        return;
    case CHARGE_NONE:
        buf_puts(out, "Who acts: nobody, no controller is in charge.\n");
        return;
    case CHARGE_UNKNOWN:
        buf_puts(out, "Who acts is not known: Leases are hidden.\n");
        return;
    }
}

void consolidate_screen(const struct consolidate_view *v, bool wide, struct buf *out)
{
    struct consolidate_screen x = {
        .v = v, .p = v->d->plan, .a = &v->s->a, .term = &v->s->c->term, .wide = wide};
    for (uint32_t i = 0; i < x.p->n_steps; i++) {
        x.estimated = x.estimated || disrupt_step_estimated(v->d, &x.p->steps[i]);
    }
    put_head(&x, out);
    put_savings(&x, out);
    put_actions(&x, out);
    consolidate_put_moves(&x, out);
    consolidate_put_budgets(&x, out);
    consolidate_put_staying(&x, out);
    consolidate_put_same(&x, out);
    report_put_warnings(v->s, out);
    if (v->s->money) {
        screen_prices(x.term, x.a, v->s->prices, out);
    }
    put_who(&x, out);
}
