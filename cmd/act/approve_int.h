/*
 * approve_int.h - `kubectl karp approve` and `deny`: decisions about DisruptionRequests.
 *
 *   (no ID)            the requests that wait, and those that are under way
 *   ID... --show       one after the other, with what is known against it now
 *   ID..., --all       shows them, asks once, and writes the decision of each
 *   --wait             and then follows each until it is over
 *
 * What no longer holds is refused (request_closed, request_stale): the named ones with exit code 3,
 * while --all passes them over. Before somebody says yes the plan is made anew from the cluster;
 * that it would be another now is told and not refused: a budget of pods may open again, and the
 * agent looks before it acts. decidedBy is whom the server takes the caller for
 * (SelfSubjectReview); where it does not tell, nothing is decided. Approval permits, it never
 * overrides: the agent looks again before it acts.
 */
#ifndef KARP_CMD_APPROVE_INT_H
#define KARP_CMD_APPROVE_INT_H

#include "change.h"
#include "cmd/disrupt/disrupt.h"
#include "cmd/read/requests.h"

#define APPROVE_MAX 1000u

struct approver {
    struct cmd *c;
    bool deny;
    struct session s;
    struct world *w; /* the session's, as is a */
    struct arena *a;
    struct facts facts;
    struct connection n;
    struct disrupt plans[2]; /* what would leave now: without and with drift */
    bool planned[2];
    const char *unplanned; /* why there is no plan; NULL if there is */
    const struct dreq **picked;
    size_t n_picked;
    const char *by;
    int64_t not_before_ns; /* 0 = at once */
};

/* approve_fresh.c. Makes the plans that those picked are compared with. */
void approve_plan(struct approver *x);
/* What the plan of now says of it: "still valid, saves $0.300/h"; *ret_other: another one. */
const char *approve_fresh(struct approver *x, const struct dreq *r, bool *ret_other);
/* approve_screen.c. The table, and what to type next. */
void approve_list(struct approver *x, bool wide, struct buf *out);
void approve_show(struct approver *x, const struct dreq *r, struct buf *out);
/* approve_wait.c. Follows it to its end; -1 unless that is the end that was wished for. */
#define APPROVE_INTERVAL_MS 1000
int approve_wait(struct approver *x, const char *name, int interval_ms, struct err *reterr);

#endif
