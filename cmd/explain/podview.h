/*
 * podview.h - one pod as `explain` tells it: what the core computes, what controllers say, what
 * could be changed. Made from a session that has been decided; in its arena.
 *
 * The verdict is one code: that of the refusal (pod level, or the nearest pool's), FitsExisting,
 * WaitingForNode (its place is on a node that is not initialized yet) or Schedulable (a node would
 * be launched). A pod that is bound has FitsExisting, or what becomes of it if its node is leaving.
 * NotUnschedulable is a pod that kube-scheduler still has in hand, Undecided one that the decision
 * did not come to.
 */
#ifndef KARP_CMD_PODVIEW_H
#define KARP_CMD_PODVIEW_H

#include "cmd/report.h"

#define PODVIEW_EVENTS_MAX 5u
#define PODVIEW_ADVICE_MAX 8u

struct podview_said {
    const char *source, *reason, *message;
    int64_t time_ns;
};

struct podview {
    struct session *s;
    const struct pod *pod;
    const char *code, *message;       /* the verdict */
    bool bound, over;                 /* on a node; terminal */
    bool homeless;                    /* no place anywhere */
    const struct explanation *e;      /* how far it got; of a bound one, how far it would get now */
    const struct sched_claim *claim;  /* where a node would be launched for it */
    const struct snapshot_node *node; /* where it is, or would go */
    const struct snapshot_node *leaving;          /* where it is, if that node is leaving */
    struct podview_said said[PODVIEW_EVENTS_MAX]; /* latest first */
    size_t n_said;
    const char *advice[PODVIEW_ADVICE_MAX];
    size_t n_advice;
};

void podview_build(struct session *s, const struct pod *pod, struct podview *ret);
void podview_advise(struct podview *v); /* podview_advice.c */

/* "CronJob/report", "Deployment/api" as far as the pod itself tells; "" if nobody controls it. */
const char *podview_owner(struct arena *a, const struct pod *p);
/* Since when it waits or runs; 0 = unknown. */
int64_t podview_since(const struct pod *p);

/* report_warnings, and NakedPod if some of these have no controller. Appends. */
void podview_warnings(json_t *list, struct session *s, struct podview *const *v, size_t n);

/* Labels that its node must have, and who says so: the selector, required terms (ORed if there are
 * several), each volume (likewise). podview_why.c */
struct podview_ask {
    const struct reqset *set;
    const char *source;
};
const struct podview_ask *podview_asks(const struct podview *v, size_t *ret_n);
/* What the pool has against it, or does for it. */
const char *podview_pool_text(const struct podview *v, const struct explain_pool *p);
/* Lines of a node's part of the screen: the pod's rules about other pods; what other nodes say. */
void podview_put_asked(const struct podview *v, struct buf *out);
void podview_put_others(const struct podview *v, const struct snapshot_node *own, struct buf *out);

json_t *podview_json(const struct podview *v);
void podview_screen(const struct podview *v, struct buf *out);

/* Pods of one cause: code, pool and what is said of it. In the order of the reason codes. */
struct podgroup {
    const char *code, *pool, *message; /* pool "" if none is concerned */
    bool homeless;
    const struct podview **v; /* as given */
    size_t n, cap;
};
const struct podgroup *podgroups(struct session *s, struct podview *const *v, size_t n,
                                 size_t *ret_n);

/* Several pods: PodExplanationList, and the screen grouped by cause; behind them the workloads
 * whose pods cannot be made. */
json_t *podlist_held(struct session *s); /* [{object, pods, code, message}] */
json_t *podlist_json(struct session *s, struct podview *const *v, size_t n);
void podlist_screen(struct session *s, struct podview *const *v, size_t n, struct buf *out);

#endif
