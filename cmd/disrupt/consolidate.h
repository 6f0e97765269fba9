/*
 * consolidate.h - internal to `consolidate`: what its two renderings show.
 */
#ifndef KARP_CMD_CONSOLIDATE_H
#define KARP_CMD_CONSOLIDATE_H

#include "disrupt.h"

struct consolidate_view {
    struct session *s;
    const struct disrupt *d;
    bool with_drift; /* drifted nodes were asked for */
};

/* ConsolidationPlan. New reference. */
json_t *consolidate_report(const struct consolidate_view *v);
void consolidate_screen(const struct consolidate_view *v, bool wide, struct buf *out);

#endif
