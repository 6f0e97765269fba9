/*
 * consolidate_int.h - internal to the screen of `consolidate`: what its blocks share.
 */
#ifndef KARP_CMD_CONSOLIDATE_INT_H
#define KARP_CMD_CONSOLIDATE_INT_H

#include "consolidate.h"

#define GAP "   "
#define CONSOLIDATE_INDENT 7u /* of text behind a block's title */

struct consolidate_screen {
    const struct consolidate_view *v;
    const struct consolidate_result *p;
    struct arena *a;
    const struct term *term;
    bool wide, estimated;
};

/* Words from column indent on, and the end of the line. */
void consolidate_wrap(const struct consolidate_screen *x, unsigned indent, const char *text,
                      struct buf *out);
void consolidate_put_moves(const struct consolidate_screen *x, struct buf *out);
void consolidate_put_budgets(const struct consolidate_screen *x, struct buf *out);
/* Which actions go by a grant, which wait for a person, and which somebody has refused. */
void consolidate_put_consent(const struct consolidate_screen *x, struct buf *out);
/* Nodes that are not in the plan, by cause. */
void consolidate_put_staying(const struct consolidate_screen *x, struct buf *out);
/* Fewer nodes at the same price. */
void consolidate_put_same(const struct consolidate_screen *x, struct buf *out);

#endif
