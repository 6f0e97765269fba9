/*
 * invariants.h - what must never be, looked at after every event.
 *
 * At every write of an agent:
 * - NotEmpty: it deletes a claim as empty while a pod runs on its node that is neither a
 *   DaemonSet's nor static nor on its way out
 * - Replacement: it deletes a claim whose mark names a command, and not all replacements of that
 *   command are initialized
 * - Dearer: it deletes a claim as underutilized, and what came for the command costs more than all
 *   that leaves by it (at prices that have stood for DISRUPTLOOK_PRICES_NS)
 * - Approval: it deletes a claim for a reason for which its pool asks for a decision, without one
 *   (a restore a moment ago may have taken it back: then nobody is blamed)
 * - DoNotDisrupt: it deletes a claim by its own decision although the Node, the claim or a pod says
 *   do-not-disrupt; or it evicts such a pod from a node that leaves by its own decision (but for
 *   drift under a terminationGracePeriod)
 * - Budget: it deletes a claim by its own decision and more of the pool's claims are on their way
 *   out by such decisions than the pool's budgets allow (those without schedule)
 * - Pdb: it evicts a pod in settled weather although, by a count over pods, a PodDisruptionBudget
 *   had none to spare and its node's time is not up
 * - Hold: in settled weather it deletes a claim by its own decision, forceful expiry and repair
 *   too, or creates one, although a Hold stops that and has done so for HELD_GRACE_NS (held.h)
 * - Limit: it creates or fills a claim, and the pool's claims exceed the pool's limits, what is
 *   being replaced and its replacement counted once
 *
 * - History: it removes the finalizer of a claim that had an instance, and karp-history has more
 *   than one entry about it; or in settled weather none, nor has it one at the end
 *
 * - Observes: an agent in mode observe asks for any other write than one of its ConfigMaps, of the
 *   API server or of AWS
 *
 * At any time:
 * - TwoInstances: two living instances carry the UID of one claim
 * - Foreign: an instance with another cluster's UID goes down
 * - Orphan: an instance of this cluster lives without a claim and without a Ready Node for
 *   INVARIANT_ORPHAN_NS, and no agent says GarbageCollectionHalted
 * - Taint: a Node has had karpenter.sh/disrupted for INVARIANT_TAINT_NS while its claim is not
 *   being deleted and no replacement of its command is there
 * - Notice: an agent received the interruption warning of a claim's instance, and for
 *   INVARIANT_NOTICE_NS the claim or its Node is not being deleted, or the Node not tainted: the
 *   drain has not begun
 * - Starved: a pod has waited for INVARIANT_STARVED_NS, a new node would plainly take it
 *   (starved.h) all the while, no Hold stops launches, no agent says that something needs
 *   attention and no pool that its launches do not register
 * - Growth: an agent has more than INVARIANT_OPEN_MAX requests and watches open, or the account
 *   more than INVARIANT_TEMPLATES_MAX launch templates
 * - Rate: in some second agents asked more of the API server than --kube-client-burst and one
 * second of --kube-client-qps (but for INVARIANT_LEASE_CALLS, which go past that)
 * - Turn: a turn of an agent, or what it does on hearing one answer, takes more processor time than
 *   run_options.turn_limit_ns; only where that is set, since no two machines are alike
 *
 * At the end of a run that has been calm for INVARIANT_SETTLED_NS:
 * - View: the leading agent does not know an object of the kinds it watches (but what has changed
 *   within the last INVARIANT_AGES_NS), or not in its present version, or knows one that is gone;
 *   under faults only its count of nodes is held against the cluster's
 *
 * What depends on time counts only calm time: while a storm lasts (faults.h) or no agent is up,
 * nobody can clean up. A voluntary decision shows in the claim's condition DisruptionReason, which
 * an agent writes before it deletes; reasons that name an interruption are none. A violation is
 * noted once per object and kind.
 *
 * Looking is cheap: writes are judged as they happen, instances only when their number or the
 * claims changed, and what can only grow old every INVARIANT_AGES_NS.
 */
#ifndef KARP_SIM_INVARIANTS_H
#define KARP_SIM_INVARIANTS_H

#include "common/base/clock.h"

#define INVARIANT_ORPHAN_NS (INT64_C(5) * 60 * NS_PER_S)
#define INVARIANT_TAINT_NS (INT64_C(10) * 60 * NS_PER_S)
#define INVARIANT_STARVED_NS (INT64_C(20) * 60 * NS_PER_S)
#define INVARIANT_STARVED_EVERY_NS (INT64_C(30) * NS_PER_S)
#define INVARIANT_STARVED_PODS 20 /* the first so many that wait are looked at */
#define INVARIANT_NOTICE_NS (INT64_C(10) * NS_PER_S)
#define INVARIANT_SETTLED_NS (INT64_C(3) * 60 * NS_PER_S)
#define INVARIANT_AGES_NS (INT64_C(5) * NS_PER_S)
#define INVARIANT_OPEN_MAX 2000
#define INVARIANT_TEMPLATES_MAX 500
#define INVARIANT_LEASE_CALLS 20

struct sim_call;
struct sim_guest;
struct sim_run;
struct sim_watchdog;

struct sim_watchdog *watchdog_new(struct sim_run *r);
void watchdog_free(struct sim_watchdog *w);
void watchdog_look(struct sim_watchdog *w);
/* A write was served, or a call of an agent to AWS is about to be answered. */
void watchdog_write(struct sim_watchdog *w, const struct sim_call *c);
void watchdog_aws(struct sim_watchdog *w, const struct sim_guest *g, const char *action);
/* An agent's turn, or its hearing of one answer or event, took so much processor time. */
void watchdog_turn(struct sim_watchdog *w, int64_t spent_ns);
/* The run is over. */
void watchdog_end(struct sim_watchdog *w);

#endif
