/* sched_why.c - see sched_why.h */
#include "sched_why.h"

#include "common/base/alloc.h"
#include "common/base/str.h"

void sim_tally_add(struct sim_tallies *t, const char *reason, size_t count)
{
    size_t i = 0;
    while (i < t->n && !str_eq(t->items[i].reason, reason)) {
        i++;
    }
    if (i == t->n) {
        ARRAY_GROW(t->items, t->n, t->cap);
        t->items[i] = (struct sim_tally){.count = 0};
        str_copy(t->items[i].reason, SIM_WHYNOT_TEXT, reason);
        t->n++;
    }
    t->items[i].count += count;
}

void sim_tally_whynot(void *ctx, const struct sim_whynot *why)
{
    for (size_t r = 0; r < why->n; r++) {
        sim_tally_add(ctx, why->reasons[r], 1);
    }
}

static int tally_cmp(const void *a, const void *b)
{
    return strcmp(((const struct sim_tally *)a)->text, ((const struct sim_tally *)b)->text);
}

void sim_tallies_print(struct sim_tallies *t, size_t nodes, struct buf *b)
{
    for (size_t i = 0; i < t->n; i++) {
        snprintf(t->items[i].text, sizeof(t->items[i].text), "%zu %s", t->items[i].count,
                 t->items[i].reason);
    }
    if (t->n > 0) {
        qsort(t->items, t->n, sizeof(*t->items), tally_cmp);
    }
    buf_printf(b, "0/%zu nodes are available: ", nodes);
    for (size_t i = 0; i < t->n; i++) {
        buf_printf(b, "%s%s", i ? ", " : "", t->items[i].text);
    }
    buf_puts(b, ".");
}
