/*
 * status.h - internal to `status`: everything its two renderings show.
 */
#ifndef KARP_CMD_STATUS_H
#define KARP_CMD_STATUS_H

#include "attention.h"
#include "cmd/cmd.h"
#include "cmd/disrupt/disrupt.h"

#define STATUS_POD_LINES 10u /* pods named on the screen */
#define STATUS_STOCK_LINES 5u

struct status_view {
    struct cmd *c;
    struct arena *a;
    const struct world *w;
    const struct decision *d;
    const struct prices *prices; /* for its source also with --no-prices */
    bool money;                  /* false: --no-prices */
    struct facts facts;
    struct fleet fleet;
    struct attention_list attention;
    const struct disrupt *disrupt; /* what could leave; NULL if too much is hidden to tell */
    int64_t kept_by_policy_pusd_h; /* what more could be saved if no policy kept nodes */
};

/* New reference. */
json_t *status_report(const struct status_view *s);
void status_screen(const struct status_view *s, bool wide, struct buf *out);

#endif
