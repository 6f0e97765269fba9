/* consolidate_moves.c - which pods a plan moves, as its screen tells. */
#include "consolidate_int.h"

#include "cmd/report.h"
#include "cmd/screen.h"
#include "cmd/table.h"

#define TEXT_MAX_BYTES 8192u
#define SINGLES_SHOWN 5u

static void count_moves(const struct consolidate_screen *x, uint32_t *ret_existing,
                        uint32_t *ret_new)
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

static void name_pod(const struct consolidate_screen *x, struct names *l, const struct pod *p)
{
    if (l->n++ < SINGLES_SHOWN) {
        buf_printf(&l->text, "%s%s", l->n > 1 ? ", " : "", report_pod(x->a, p));
    }
}

static void put_names(const struct consolidate_screen *x, const char *what, struct names *l,
                      struct buf *out)
{
    if (l->n > SINGLES_SHOWN) {
        buf_printf(&l->text, " and %u more", l->n - SINGLES_SHOWN);
    }
    if (l->n > 0) {
        buf_printf(out, "%*s", (int)CONSOLIDATE_INDENT, "");
        consolidate_wrap(x, CONSOLIDATE_INDENT, arena_printf(x->a, "%s: %s", what, l->text.p), out);
    }
}

static void put_interrupted(const struct consolidate_screen *x, struct buf *out)
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
        buf_printf(out, "%*ssoft rules given up: %u\n", (int)CONSOLIDATE_INDENT, "", given_up);
    }
    buf_done(&singles.text);
    buf_done(&naked.text);
}

static void put_move_list(const struct consolidate_screen *x, struct buf *out)
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

void consolidate_put_moves(const struct consolidate_screen *x, struct buf *out)
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
