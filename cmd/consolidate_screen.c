/* consolidate_screen.c - the screen of `consolidate --dry-run`. */
#include "consolidate.h"

#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "money.h"
#include "report.h"
#include "screen.h"
#include "table.h"

#define GAP "   "
#define TEXT_MAX_BYTES 8192u
#define MOVES_INDENT 7u
#define SINGLES_SHOWN 5u
#define ACTIONS_SHOWN 50u /* without -o wide */
#define NODES_NAMED 3u    /* of one cause */
#define CODE_WIDTH 16u
#define BLANK " " /* a cell that says nothing */

struct screen {
    const struct consolidate_view *v;
    const struct consolidate_result *p;
    struct arena *a;
    const struct term *term;
    bool wide, estimated;
};

static void put_wrapped(const struct screen *x, unsigned indent, const char *text, struct buf *out)
{
    screen_wrap(x->term, x->a, indent, text, out);
    buf_putc(out, '\n');
}

/* ---- head ------------------------------------------------------------------------------------ */

static void put_head(const struct screen *x, struct buf *out)
{
    char at[TIMEFMT_TEXT];
    (void)timefmt_rfc3339(x->v->s->w.now_ns, at); /* 2026-01-05T09:00:00Z */
    buf_printf(out, "Plan of %.10s %.8s UTC over %s. Nothing was changed.\n", at, at + 11,
               screen_count(x->a, x->p->n_nodes, "managed node"));
}

/* "13.2%" of the fleet's price. */
static const char *share(const struct screen *x)
{
    if (x->p->price_pusd_h <= 0) {
        return "";
    }
    __int128 tenths = (__int128)x->p->saving_pusd_h * 1000 / x->p->price_pusd_h;
    return arena_printf(x->a, "%lld.%lld%% of ", (long long)(tenths / 10),
                        (long long)(tenths < 0 ? -tenths : tenths) % 10);
}

static const char *counts(const struct screen *x)
{
    return arena_printf(x->a, "%s, %s out, %u in, %s", screen_count(x->a, x->p->n_steps, "action"),
                        screen_count(x->a, x->p->nodes_out, "node"), x->p->nodes_in,
                        x->p->pods_moved == 1
                            ? "1 pod moves"
                            : arena_printf(x->a, "%u pods move", x->p->pods_moved));
}

static bool drifted_only(const struct screen *x)
{
    for (uint32_t i = 0; i < x->p->n_steps; i++) {
        if (x->p->steps[i].reason != DISRUPT_DRIFTED) {
            return false;
        }
    }
    return x->p->n_steps > 0;
}

static void put_savings(const struct screen *x, struct buf *out)
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

static size_t columns_of(const struct screen *x, struct table_column dst[ARRAY_LEN(columns)])
{
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        if (x->v->s->money || i < COLUMN_HOUR || i > COLUMN_SCORE) {
            dst[n++] = columns[i];
        }
    }
    return n;
}

static const char *held_codes(const struct screen *x, const struct consolidate_step *s)
{
    const char *ret = "-";
    for (uint32_t i = 0; i < s->n_held_by; i++) {
        const char *code = reason_name(s->held_by[i].code);
        ret = i == 0 ? code : arena_printf(x->a, "%s,%s", ret, code);
    }
    return ret;
}

static void money_cells(const struct screen *x, struct table *t, const struct consolidate_step *s)
{
    char text[MONEY_TEXT];
    const char *sign = disrupt_step_estimated(x->v->d, s) ? "~" : "";
    table_cellf(t, "%s%s", sign, money_hour(-s->saving_pusd_h, text));
    table_cellf(t, "%s%s", sign, money_month(-s->saving_pusd_h, text));
    table_cell(t, arena_strdup(x->a, money_hour(s->score * (PUSD_PER_USD / 1000000), text)));
}

/* What comes in, line by line. */
static const char **in_lines(const struct screen *x, const struct consolidate_step *s,
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
static void action_row(const struct screen *x, struct table *t, const struct consolidate_step *s,
                       uint32_t i, const char *in)
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

static void action_rows(const struct screen *x, struct table *t, const struct consolidate_step *s)
{
    uint32_t n;
    const char **in = in_lines(x, s, &n);
    for (uint32_t i = 0; i < s->n_out || i < n; i++) {
        action_row(x, t, s, i, i < n ? in[i] : BLANK);
    }
}

static void put_actions(const struct screen *x, struct buf *out)
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

/* ---- moves ----------------------------------------------------------------------------------- */

static void count_moves(const struct screen *x, uint32_t *ret_existing, uint32_t *ret_new)
{
    *ret_existing = *ret_new = 0;
    for (uint32_t i = 0; i < x->p->n_steps; i++) {
        for (uint32_t k = 0; k < x->p->steps[i].n_moves; k++) {
            *ret_existing += x->p->steps[i].moves[k].to != NULL;
            *ret_new += x->p->steps[i].moves[k].to == NULL;
        }
    }
}

struct names {
    struct buf text;
    uint32_t n;
};

static void name_pod(const struct screen *x, struct names *l, const struct pod *p)
{
    if (l->n++ < SINGLES_SHOWN) {
        buf_printf(&l->text, "%s%s", l->n > 1 ? ", " : "", report_pod(x->a, p));
    }
}

static void put_names(const struct screen *x, const char *what, struct names *l, struct buf *out)
{
    if (l->n > SINGLES_SHOWN) {
        buf_printf(&l->text, " and %u more", l->n - SINGLES_SHOWN);
    }
    if (l->n > 0) {
        buf_printf(out, "%*s", (int)MOVES_INDENT, "");
        put_wrapped(x, MOVES_INDENT, arena_printf(x->a, "%s: %s", what, l->text.p), out);
    }
}

static void put_interrupted(const struct screen *x, struct buf *out)
{
    struct names singles = {.n = 0}, naked = {.n = 0};
    uint32_t given_up = 0;
    buf_init(&singles.text, TEXT_MAX_BYTES);
    buf_init(&naked.text, TEXT_MAX_BYTES);
    for (uint32_t i = 0; i < x->p->n_steps; i++) {
        const struct consolidate_step *s = &x->p->steps[i];
        for (uint32_t k = 0; k < s->n_singles; k++) {
            name_pod(x, &singles, s->singles[k]);
        }
        for (uint32_t k = 0; k < s->n_naked; k++) {
            name_pod(x, &naked, s->naked[k]);
        }
        given_up += s->n_given_up;
    }
    put_names(x, "single replicas that will be interrupted", &singles, out);
    put_names(x, "pods without a controller, which nobody makes again", &naked, out);
    if (given_up) {
        buf_printf(out, "%*ssoft rules given up: %u\n", (int)MOVES_INDENT, "", given_up);
    }
    buf_done(&singles.text);
    buf_done(&naked.text);
}

static void put_move_list(const struct screen *x, struct buf *out)
{
    static const struct table_column heads[] = {
        {"#", false, false}, {"POD", false, false}, {"FROM", false, false}, {"TO", false, false}};
    struct table t;
    table_init(&t, x->a, heads, ARRAY_LEN(heads));
    for (uint32_t i = 0; i < x->p->n_steps; i++) {
        const struct consolidate_step *s = &x->p->steps[i];
        for (uint32_t k = 0; k < s->n_moves; k++) {
            table_cellf(&t, "%u", s->id);
            table_cell(&t, report_pod(x->a, s->moves[k].pod));
            table_cell(&t, report_node(x->a, s->moves[k].from));
            table_cell(&t, disrupt_to(x->v->d, &s->moves[k]));
        }
    }
    buf_putc(out, '\n');
    table_write(&t, x->term, !x->v->s->c->o->no_headers, x->wide, out);
}

static void put_moves(const struct screen *x, struct buf *out)
{
    uint32_t existing, fresh;
    if (x->p->pods_moved == 0) {
        return;
    }
    bool list = x->v->s->c->o->show_moves;
    count_moves(x, &existing, &fresh);
    buf_printf(out, "\nMOVES  %s" GAP "%u to existing nodes, %u to new nodes%s\n",
               screen_count(x->a, x->p->pods_moved, "pod"), existing, fresh,
               list ? "" : GAP "(--show-moves lists them)");
    put_interrupted(x, out);
    if (list) {
        put_move_list(x, out);
    }
}

/* ---- budgets --------------------------------------------------------------------------------- */

static bool in_plan(const struct screen *x, const struct snapshot_pool *p,
                    enum disruption_reason reason)
{
    for (uint32_t i = 0; i < x->p->n_steps; i++) {
        const struct consolidate_step *s = &x->p->steps[i];
        for (uint32_t k = 0; k < s->n_out && s->reason == reason; k++) {
            if (s->out[k].node->pool == p) {
                return true;
            }
        }
    }
    return false;
}

static const char *change_text(const struct screen *x, const struct plan_budget *b)
{
    int64_t at = b->opens_ns ? b->opens_ns : b->closes_ns;
    return at ? arena_printf(x->a, ", %s at %s UTC", b->opens_ns ? "opens" : "closes",
                             screen_clock(x->a, at, x->v->s->w.now_ns))
              : "";
}

static void put_budget(const struct screen *x, const struct plan_budget *b, bool first,
                       struct buf *out)
{
    buf_puts(out, first ? "\nBUDGET " : "       ");
    put_wrapped(
        x, MOVES_INDENT,
        arena_printf(
            x->a, "%s, %s: %s may go now%s%s", b->pool->np->m.name, budget_reason_name(b->reason),
            b->allowed
                ? arena_printf(x->a, "%lld of %lld", (long long)b->remaining, (long long)b->allowed)
                : "none",
            b->disrupting ? arena_printf(x->a, ", %lld out already", (long long)b->disrupting) : "",
            change_text(x, b)),
        out);
}

/* "1, 3-5" of the actions that pass the test. */
static const char *action_numbers(const struct screen *x,
                                  bool (*test)(const struct screen *,
                                               const struct consolidate_step *, const void *),
                                  const void *arg, uint32_t *ret_n)
{
    AUTO_BUF struct buf text;
    uint32_t n = x->p->n_steps;
    buf_init(&text, TEXT_MAX_BYTES);
    *ret_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t last = i;
        if (!test(x, &x->p->steps[i], arg)) {
            continue;
        }
        while (last + 1 < n && test(x, &x->p->steps[last + 1], arg)) {
            last++;
        }
        buf_printf(&text, last > i ? "%s%u-%u" : "%s%u", text.n ? ", " : "", x->p->steps[i].id,
                   x->p->steps[last].id);
        *ret_n += last - i + 1;
        i = last;
    }
    return *ret_n ? arena_strdup(x->a, text.p) : "";
}

static bool is_free(UNUSED const struct screen *x, const struct consolidate_step *s,
                    UNUSED const void *arg)
{
    return s->n_held_by == 0;
}

/* The first thing that holds it is this one, in the same words. */
static bool held_likewise(const struct screen *x, const struct consolidate_step *s, const void *arg)
{
    const struct reason *r = arg;
    return s->n_held_by > 0 && s->held_by[0].code == r->code &&
           (r->code == REASON_Budget ||
            str_eq(disrupt_reason(x->v->d, &s->held_by[0]), disrupt_reason(x->v->d, r)));
}

static void put_numbers(const struct screen *x, const char *numbers, uint32_t n, const char *text,
                        struct buf *out)
{
    buf_printf(out, "%*s", (int)MOVES_INDENT, "");
    put_wrapped(x, MOVES_INDENT,
                arena_printf(x->a, "Action%s %s %s", n == 1 ? "" : "s", numbers, text), out);
}

/* Which actions could start now, and what the others wait for: one line for each cause. */
static void put_starts(const struct screen *x, struct buf *out)
{
    uint32_t n;
    const char *numbers = action_numbers(x, is_free, NULL, &n);
    if (n > 0) {
        put_numbers(x, numbers, n, "could start now.", out);
    }
    for (uint32_t i = 0; i < x->p->n_steps; i++) {
        const struct consolidate_step *s = &x->p->steps[i];
        bool told = s->n_held_by == 0;
        for (uint32_t k = 0; k < i && !told; k++) {
            told = held_likewise(x, &x->p->steps[k], &s->held_by[0]);
        }
        if (told) {
            continue;
        }
        numbers = action_numbers(x, held_likewise, &s->held_by[0], &n);
        const char *verb = n == 1 ? "waits" : "wait";
        put_numbers(x, numbers, n,
                    s->held_by[0].code == REASON_Budget
                        ? arena_printf(x->a, "%s for the budget.", verb)
                        : arena_printf(x->a, "%s: %s (%s).", verb,
                                       disrupt_reason(x->v->d, &s->held_by[0]),
                                       reason_name(s->held_by[0].code)),
                    out);
    }
}

static void put_budgets(const struct screen *x, struct buf *out)
{
    bool first = true;
    if (x->p->n_steps == 0) {
        return;
    }
    for (uint32_t i = 0; i < x->p->n_budgets && !x->v->s->c->o->ignore_budgets; i++) {
        const struct plan_budget *b = &x->p->budgets[i];
        if (in_plan(x, b->pool, b->reason)) {
            put_budget(x, b, first, out);
            first = false;
        }
    }
    if (first) {
        buf_puts(out, "\nBUDGET not looked at\n");
    }
    put_starts(x, out);
}

/* ---- the rest -------------------------------------------------------------------------------- */

struct cause {
    const struct node_verdict *first; /* by pool, then name */
    uint32_t n;
};

static int cause_cmp(const void *x, const void *y)
{
    const struct cause *a = x, *b = y;
    if (a->n != b->n) {
        return a->n > b->n ? -1 : 1;
    }
    return (int)a->first->reason.code - (int)b->first->reason.code;
}

static struct cause *causes(const struct screen *x, uint32_t *ret_n)
{
    struct cause *v = ARENA_NEW_N(x->a, struct cause, REASON_END);
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->p->n_nodes; i++) {
        const struct node_verdict *one = &x->p->nodes[i];
        uint32_t at = 0;
        if (one->step >= 0) {
            continue;
        }
        while (at < n && v[at].first->reason.code != one->reason.code) {
            at++;
        }
        if (at == n) {
            v[n++] = (struct cause){one, 0};
        }
        v[at].n++;
    }
    if (n > 1) {
        qsort(v, n, sizeof(*v), cause_cmp);
    }
    *ret_n = n;
    return v;
}

/* "ip-1: PodDisruptionBudget …" for one node or as many as are named; the others are counted. */
static void put_cause(const struct screen *x, const struct cause *c, struct buf *out)
{
    enum reason_code code = c->first->reason.code;
    uint32_t named = 0;
    for (uint32_t i = 0; i < x->p->n_nodes && named < NODES_NAMED; i++) {
        const struct node_verdict *one = &x->p->nodes[i];
        if (one->step >= 0 || one->reason.code != code) {
            continue;
        }
        if (named == 0) {
            buf_printf(out, "%5u  %-*s ", c->n, (int)CODE_WIDTH, reason_name(code));
        } else {
            buf_printf(out, "%*s", (int)(8 + CODE_WIDTH), "");
        }
        put_wrapped(x, 8 + CODE_WIDTH,
                    arena_printf(x->a, "%s: %s", report_node(x->a, one->node),
                                 disrupt_reason(x->v->d, &one->reason)),
                    out);
        named++;
    }
    if (c->n > named) {
        buf_printf(out, "%*sand %u more%s\n", (int)(8 + CODE_WIDTH), "", c->n - named,
                   GAP "(-o wide lists them)");
    }
}

static void put_all_staying(const struct screen *x, struct buf *out)
{
    static const struct table_column heads[] = {{"NODE", false, false},
                                                {"NODEPOOL", false, false},
                                                {"STAYS FOR", false, false},
                                                {"DETAIL", false, false}};
    struct table t;
    table_init(&t, x->a, heads, ARRAY_LEN(heads));
    for (uint32_t i = 0; i < x->p->n_nodes; i++) {
        const struct node_verdict *one = &x->p->nodes[i];
        if (one->step < 0) {
            table_cell(&t, report_node(x->a, one->node));
            table_cell(&t, one->node->pool ? one->node->pool->np->m.name : NULL);
            table_cell(&t, reason_name(one->reason.code));
            table_cell(&t, disrupt_reason(x->v->d, &one->reason));
        }
    }
    table_write(&t, x->term, true, true, out);
}

static void put_staying(const struct screen *x, struct buf *out)
{
    uint32_t n_causes, staying = 0;
    const struct cause *v = causes(x, &n_causes);
    for (uint32_t i = 0; i < n_causes; i++) {
        staying += v[i].n;
    }
    if (staying == 0) {
        return;
    }
    buf_printf(out, "\nNOT IN THE PLAN (%s)\n", screen_count(x->a, staying, "node"));
    if (x->wide) {
        put_all_staying(x, out);
        return;
    }
    for (uint32_t i = 0; i < n_causes; i++) {
        put_cause(x, &v[i], out);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void put_who(const struct screen *x, struct buf *out)
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
        buf_puts(out, "Who acts: karp-agent, which removes empty nodes by itself.\n");
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
    struct screen x = {
        .v = v, .p = v->d->plan, .a = &v->s->a, .term = &v->s->c->term, .wide = wide};
    for (uint32_t i = 0; i < x.p->n_steps; i++) {
        x.estimated = x.estimated || disrupt_step_estimated(v->d, &x.p->steps[i]);
    }
    put_head(&x, out);
    put_savings(&x, out);
    put_actions(&x, out);
    put_moves(&x, out);
    put_budgets(&x, out);
    put_staying(&x, out);
    report_put_warnings(v->s, out);
    if (v->s->money) {
        screen_prices(x.term, x.a, v->s->prices, out);
    }
    put_who(&x, out);
}
