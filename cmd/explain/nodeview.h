/*
 * nodeview.h - one node, or a NodeClaim without one yet, as `explain` tells it: how it came, what
 * is on it, what controllers say, and gate by gate what keeps it or lets it go.
 *
 * Made from a session that has been decided; everything lies in its arena. The verdict is what the
 * plan of `consolidate --dry-run` says of the node: the action that takes it, or the first gate
 * that fails. A node that nobody manages has the verdict NotManaged, Hidden is said where too much
 * may not be seen (disrupt_hidden).
 */
#ifndef KARP_CMD_NODEVIEW_H
#define KARP_CMD_NODEVIEW_H

#include "cmd/disrupt/disrupt.h"
#include "cmd/report.h"
#include "cmd/said.h"

#define NODEVIEW_STEPS 3u

struct nodeview_step {
    const char *step; /* Launched, Registered, Initialized */
    bool done;
    const char *code, *message; /* the condition's own words */
    int64_t since_ns;           /* when it became so, 0 = unknown */
};

/* A pod that is bound to it. */
struct nodeview_pod {
    const struct pod *pod;
    struct reason held; /* REASON_NONE: it may be evicted */
    const char *goes;   /* where the plan takes it, or where it goes with its leaving node; NULL */
};

struct nodeview {
    struct session *s;
    const struct disrupt *d;
    const struct snapshot_node *n;
    int64_t price_pusd_h;
    bool estimated;
    struct nodeview_step steps[NODEVIEW_STEPS];
    const struct nodeview_pod *pods; /* by namespace and name; those that are over are not there */
    uint32_t n_pods;
    uint32_t daemons, statics;           /* of these */
    const struct node_verdict *verdict;  /* NULL: nobody manages it */
    const struct consolidate_step *step; /* the action that takes it, or NULL */
    struct candidate_gate gates[GATE_COUNT];
    const char *code, *message; /* the verdict */
    struct said_list said;
};

/* d: the plan for every reason. */
void nodeview_build(const struct disrupt *d, const struct snapshot_node *n, struct nodeview *ret);

/* The node of that name; or the one of the NodeClaim of that name. NULL if there is none. */
const struct snapshot_node *nodeview_find(const struct session *s, enum kube_kind kind,
                                          const char *name);

/* A NodePool's, or a NodeClaim by itself. */
bool nodeview_managed(const struct nodeview *v);
/* What stands behind a gate: why it fails, or by how much it passes; "" if there is nothing. */
const char *nodeview_gate_text(const struct nodeview *v, enum candidate_gate_id id);

json_t *nodeview_json(const struct nodeview *v);
void nodeview_screen(const struct nodeview *v, bool wide, struct buf *out);

#endif
