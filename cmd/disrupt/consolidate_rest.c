/* consolidate_rest.c - what holds a plan back, and what is not in it, as its screen tells. */
#include "consolidate_int.h"

#include "cmd/report.h"
#include "cmd/screen.h"
#include "cmd/table.h"
#include "common/base/str.h"

#define TEXT_MAX_BYTES 8192u
#define NODES_NAMED 3u /* of one cause */
#define SAME_SHOWN 3u
#define CODE_WIDTH 16u

/* ---- budgets --------------------------------------------------------------------------------- */

static bool in_plan(const struct consolidate_screen *x, const struct snapshot_pool *p,
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

static const char *change_text(const struct consolidate_screen *x, const struct plan_budget *b)
{
    int64_t at = b->opens_ns ? b->opens_ns : b->closes_ns;
    return at ? arena_printf(x->a, ", %s at %s UTC", b->opens_ns ? "opens" : "closes",
                             screen_clock(x->a, at, x->v->s->w.now_ns))
              : "";
}

static void put_budget(const struct consolidate_screen *x, const struct plan_budget *b, bool first,
                       struct buf *out)
{
    buf_puts(out, first ? "\nBUDGET " : "       ");
    consolidate_wrap(
        x, CONSOLIDATE_INDENT,
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
static const char *action_numbers(const struct consolidate_screen *x,
                                  bool (*test)(const struct consolidate_screen *,
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

static bool is_free(UNUSED const struct consolidate_screen *x, const struct consolidate_step *s,
                    UNUSED const void *arg)
{
    return s->n_held_by == 0;
}

/* The first thing that holds it is this one, in the same words. */
static bool held_likewise(const struct consolidate_screen *x, const struct consolidate_step *s,
                          const void *arg)
{
    const struct reason *r = arg;
    return s->n_held_by > 0 && s->held_by[0].code == r->code &&
           (r->code == REASON_Budget ||
            str_eq(disrupt_reason(x->v->d, &s->held_by[0]), disrupt_reason(x->v->d, r)));
}

static void put_numbers(const struct consolidate_screen *x, const char *numbers, uint32_t n,
                        const char *text, struct buf *out)
{
    buf_printf(out, "%*s", (int)CONSOLIDATE_INDENT, "");
    consolidate_wrap(x, CONSOLIDATE_INDENT,
                     arena_printf(x->a, "Action%s %s %s", n == 1 ? "" : "s", numbers, text), out);
}

/* Which actions could start now, and what the others wait for: one line for each cause. */
static void put_starts(const struct consolidate_screen *x, struct buf *out)
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

void consolidate_put_budgets(const struct consolidate_screen *x, struct buf *out)
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

/* ---- consent --------------------------------------------------------------------------------- */

static bool is_held_by(UNUSED const struct consolidate_screen *x, const struct consolidate_step *s,
                       const void *arg)
{
    const enum reason_code *code = arg;
    for (uint32_t i = 0; i < s->n_held_by; i++) {
        if (s->held_by[i].code == *code) {
            return true;
        }
    }
    return false;
}

static bool is_granted(const struct consolidate_screen *x, const struct consolidate_step *s,
                       const void *arg)
{
    return disrupt_grant(x->v->d, s->out[0].node) == arg;
}

static void put_granted(const struct consolidate_screen *x, struct buf *out)
{
    for (uint32_t i = 0; i < x->p->n_steps; i++) {
        const struct dgrant *g = disrupt_grant(x->v->d, x->p->steps[i].out[0].node);
        bool first = g != NULL;
        for (uint32_t k = 0; k < i && first; k++) {
            first = disrupt_grant(x->v->d, x->p->steps[k].out[0].node) != g;
        }
        if (first) {
            uint32_t n;
            const char *numbers = action_numbers(x, is_granted, g, &n);
            put_numbers(x, numbers, n,
                        arena_printf(x->a, "need%s no decision: grant %s by %s covers %s",
                                     n == 1 ? "s" : "", g->m.name, g->granted_by,
                                     n == 1 ? "it" : "them"),
                        out);
        }
    }
}

void consolidate_put_consent(const struct consolidate_screen *x, struct buf *out)
{
    static const struct {
        enum reason_code code;
        const char *one, *many;
    } rows[] = {
        {REASON_ApprovalPending, "waits for a person:  kubectl karp approve",
         "wait for a person:  kubectl karp approve"},
        {REASON_Denied, "is carried out by nobody: it was denied",
         "are carried out by nobody: they were denied"},
    };
    put_granted(x, out);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t n;
        const char *numbers = action_numbers(x, is_held_by, &rows[i].code, &n);
        if (n > 0) {
            put_numbers(x, numbers, n, n == 1 ? rows[i].one : rows[i].many, out);
        }
    }
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

static struct cause *causes(const struct consolidate_screen *x, uint32_t *ret_n)
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
static void put_cause(const struct consolidate_screen *x, const struct cause *c, struct buf *out)
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
        consolidate_wrap(x, 8 + CODE_WIDTH,
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

static void put_all_staying(const struct consolidate_screen *x, struct buf *out)
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

void consolidate_put_same(const struct consolidate_screen *x, struct buf *out)
{
    uint32_t shown = x->wide || x->p->n_same < SAME_SHOWN ? x->p->n_same : SAME_SHOWN;
    for (uint32_t i = 0; i < shown; i++) {
        buf_puts(out, i == 0 ? "\nHINT   " : "       ");
        consolidate_wrap(x, CONSOLIDATE_INDENT, disrupt_same(x->v->d, &x->p->same[i]), out);
    }
    if (shown < x->p->n_same) {
        buf_printf(out, "%*sand %u more" GAP "(-o wide lists them)\n", (int)CONSOLIDATE_INDENT, "",
                   x->p->n_same - shown);
    }
}

void consolidate_put_staying(const struct consolidate_screen *x, struct buf *out)
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
