/*
 * disrupt.h - what should leave the cluster: the core's plan (consolidate.h) over a session.
 *
 * Beside objects the plan takes what only this side knows:
 *  - Holds, on the cluster, a NodePool, a NodeClaim or a Node, that have not run out;
 *  - DisruptionRequests: one without a decision, or none where approval is asked for
 *    (karp.dev/disruption-approval, --approval; Empty waits only where it is named) and no
 *    DisruptionGrant that is open names pool and reasons, is ApprovalPending; a denied one is
 *    Denied. Where Karpenter is in charge nothing of it counts, nor do Holds;
 *  - trouble that the agent has published or set as a condition: LaunchIneffective and
 *    RegistrationFailing (LaunchesFailing), ChurnGuard, DriftSuspect and DriftHalted
 *    (DriftSuspect), PriceSuspect, ClockSkew;
 *  - how old prices are.
 * Where Karpenter is in charge drift is what its conditions say; hashes are not compared.
 * PodDisruptionBudgets that may not be read hold every pod. Where nodes, pods, NodeClaims or
 * NodePools are hidden nothing can be told: the plan is about no node then.
 */
#ifndef KARP_CMD_DISRUPT_H
#define KARP_CMD_DISRUPT_H

#include "cmd/read/facts.h"
#include "cmd/session.h"
#include "common/core/consent/dgrant.h"
#include "common/core/disrupt/consolidate.h"

#define DISRUPT_ALL (DISRUPT_EMPTY | DISRUPT_UNDERUTILIZED | DISRUPT_DRIFTED)

/* To be gathered beside session_kinds. */
extern const uint64_t disrupt_kinds;

struct disrupt {
    struct session *s;
    struct consolidate *pass; /* over */
    const struct consolidate_result *plan;
    struct facts facts;
    unsigned approval;        /* bits of reasons that ask for it where the pool does not say */
    struct selector selector; /* -l */
};

/* s has been decided. --nodepool, -l, --max-actions and --ignore-budgets count where the command
 * has them. Everything lies in the session's arena; ret must stay where it is. */
int disrupt_plan(struct session *s, unsigned reasons, struct disrupt *ret, struct err *reterr);

/* The same as though no pool kept its nodes by its policy or by consolidateAfter Never. */
int disrupt_plan_any_policy(struct session *s, unsigned reasons, struct disrupt *ret,
                            struct err *reterr);

/* Why nothing can be told, "not allowed to list pods"; NULL if it can. In a. */
const char *disrupt_hidden(const struct world *w, struct arena *a);

/* What the plan says of a node; NULL if it is not told about. */
const struct node_verdict *disrupt_verdict(const struct disrupt *d, const struct snapshot_node *n);
/* The step that takes it, or NULL. */
const struct consolidate_step *disrupt_step_of(const struct disrupt *d,
                                               const struct snapshot_node *n);
/* The grant that stands for a decision about the node, which is asked for; or NULL. */
const struct dgrant *disrupt_grant(const struct disrupt *d, const struct snapshot_node *n);
/* What the steps save that something holds, by what holds them first. */
enum disrupt_holder { HOLDER_BUDGET, HOLDER_HOLD, HOLDER_DECISION, HOLDERS };
struct disrupt_held {
    int64_t all_pusd_h, by_pusd_h[HOLDERS];
};
struct disrupt_held disrupt_held_back(const struct disrupt *d);
/* A pool has such a policy. */
bool disrupt_kept_by_policy(const struct session *s);

/* Whether the price is an estimate. */
bool disrupt_out_estimated(const struct disrupt *d, const struct step_out *o);
bool disrupt_in_estimated(const struct disrupt *d, const struct step_in *i);
bool disrupt_step_estimated(const struct disrupt *d, const struct consolidate_step *step);

/* ---- machine output (disrupt_json.c) --------------------------------------------------------- */

/* {short, pod, until, …}: what a reason is about. */
json_t *disrupt_operands(const struct disrupt *d, const struct reason *r);
/* One action of a ConsolidationPlan. */
json_t *disrupt_action_json(const struct disrupt *d, const struct consolidate_step *step);
/* {code, object, message} of a step: NakedPod. Appends. */
void disrupt_warnings(const struct disrupt *d, const struct consolidate_step *step, json_t *list);
/* {pod, rule} of a step. Appends. */
void disrupt_preferences(const struct disrupt *d, const struct consolidate_step *step,
                         json_t *list);

/* ---- for people (disrupt_text.c) ------------------------------------------------------------- */

/* The reason in words, with names. */
const char *disrupt_reason(const struct disrupt *d, const struct reason *r);
/* "1 x m6i.xlarge spot" */
const char *disrupt_in_text(const struct disrupt *d, const struct step_in *in);
/* "(or 21 other types)", NULL if there is no other. */
const char *disrupt_in_others(const struct disrupt *d, const struct step_in *in);
/* "m6i.xlarge od" */
const char *disrupt_type_text(const struct disrupt *d, const struct snapshot_node *n);
/* "n1, n2 and 3 more fit on 1 x c6a.4xlarge at the same price: one DaemonSet set fewer" */
const char *disrupt_same(const struct disrupt *d, const struct same_price *same);
/* Where a pod goes: a node's name or "new-0". */
const char *disrupt_to(const struct disrupt *d, const struct step_move *m);

#endif
