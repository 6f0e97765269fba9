/*
 * simulate.h - internal to `simulate`: what its two renderings show.
 */
#ifndef KARP_CMD_SIMULATE_H
#define KARP_CMD_SIMULATE_H

#include "plan.h"

struct simulate_view {
    struct session *s;
    struct plan plan;
    const char *without_sets; /* NULL, or what there would be without --set */
};

/* New reference. */
json_t *simulate_report(const struct simulate_view *v);
void simulate_screen(const struct simulate_view *v, bool wide, struct buf *out);

#endif
