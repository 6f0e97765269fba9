/*
 * nodeview.h - one node, or a NodeClaim without one yet, as `explain` tells it: how it came, what
 * is on it, what controllers say, and gate by gate what keeps it or lets it go.
 *
 * Made from a session that has been decided; everything lies in its arena. The verdict is what the
 * plan of `consolidate --dry-run` says of the node: the action that takes it, or the first gate
 * that fails. A node that nobody manages has the verdict NotManaged.
 */
#ifndef KARP_CMD_NODEVIEW_H
#define KARP_CMD_NODEVIEW_H

#include "report.h"
#include "said.h"

#define NODEVIEW_STEPS 3u

struct nodeview_step {
    const char *step; /* Launched, Registered, Initialized */
    bool done;
    const char *code, *message; /* the condition's own words */
    int64_t since_ns;           /* when it became so, 0 = unknown */
};

struct nodeview {
    struct session *s;
    const struct snapshot_node *n;
    int64_t price_pusd_h;
    bool estimated;
    struct nodeview_step steps[NODEVIEW_STEPS];
    const struct pod **pods; /* bound to it and not over; by namespace and name */
    uint32_t n_pods, cap_pods;
    uint32_t daemons, statics; /* of these */
    struct said_list said;
};

void nodeview_build(struct session *s, const struct snapshot_node *n, struct nodeview *ret);

/* The node of that name; or the one of the NodeClaim of that name. NULL if there is none. */
const struct snapshot_node *nodeview_find(const struct session *s, enum kube_kind kind,
                                          const char *name);

json_t *nodeview_json(const struct nodeview *v);
void nodeview_screen(const struct nodeview *v, bool wide, struct buf *out);

#endif
