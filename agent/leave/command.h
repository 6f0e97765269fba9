/*
 * command.h - nodes leave by our own decision: the one mechanism for it, replacements first.
 *
 *     taint → mark → read → launch → wait → look again → delete
 *
 *   taint   karpenter.sh/disrupted:NoSchedule on each Node, under the version that was decided on
 *   mark    condition DisruptionReason=True on each NodeClaim, with the reason (Empty, Drifted,
 *           Underutilized) and, where there are replacements, "command ID: …" as its message; where
 *           a plan is carried out, its digest stands at the end of it
 *   read    a LIST of the members' pods, answered by quorum, taken after the last taint was in
 *           place: what stands in no cache shows here. A pod that was not planned for, or one that
 *           must not be disrupted, is an objection
 *   launch  the replacements are created (creator.h) with the annotation karp.dev/replaces =
 *           {"command": ID, "of": how many, "claims": […]}. From here on the members' pods are
 *           planned on them (intents.h); before it nobody plans them (command_holds_pods)
 *   wait    until every replacement is Initialized
 *   look    members, pool, pods, Holds, where the pool asks for one the decision (consent.h), and
 * the nodes that pods are to go to (there, not leaving, not cordoned, Ready) before the launch,
 *           while waiting, and right before the first eviction. From the start on those nodes are
 *           nominated, so that nobody else takes them for empty
 *   delete  the NodeClaims; termination.h drains and ends them
 *
 * A command is all or nothing until its first deletion; after that it only goes forward. What a
 * person says still counts then: a Hold, a decision taken back or do-not-disrupt keeps each member
 * whose deletion was not accepted yet. With `independent`, which is for commands without
 * replacements, each member goes or stays by itself.
 *
 * Undo, at every stage before the deletion: an objection, a write that fails (a conflict is the
 * world having moved), a replacement that cannot be created, goes away or comes to nothing
 * (lifecycle.h), COMMAND_WAIT_NS without progress while waiting, a person who marks node or claim
 * do-not-disrupt, or holds it (holds.h), or takes taint or mark off (another controller that was in
 * charge for a while does, too). Taint and mark are then taken off by taint_sweep.h.
 * Replacements that are there already stay: pods may use them, else they are empty nodes. A member
 * that is deleted by somebody else meanwhile (a user, an interruption) is done with; the rest goes
 * on.
 *
 * Recovery: nothing of this is remembered but in the API server. Every COMMAND_SWEEP_NS, and so
 * after a start, members that no command of this process stands behind are looked at: if their mark
 * names a command and as many replacements carry its ID as they should, the command goes on from
 * "wait"; else they are swept. Killed before the last replacement was created it is thus undone,
 * later it is finished. In mode provision none goes on: all are swept.
 *
 * Limits of a pool count what leaves and what replaces it once, the greater of both, while the
 * command lives (commands_overlap): a pool that is full can replace, and nobody else gets the room.
 * When a command is undone its replacements count in full again; one that is then beyond the limits
 * and has not joined yet is deleted.
 *
 * Budgets count a member from its taint on, and before that by commands_has. Whether it may leave
 * at all is decided before (candidate.h); ages count for nothing while the clocks differ.
 *
 * Events: DisruptionLaunching, DisruptionWaitingReadiness on replacements; DisruptionTerminating on
 * Node and NodeClaim. Metrics: voluntary_disruption_decisions_total, _queue_failures_total,
 * nodeclaims_disrupted_total.
 */
#ifndef KARP_AGENT_COMMAND_H
#define KARP_AGENT_COMMAND_H

#include "agent/plan/order.h"
#include "agent/runtime.h"
#include "common/core/sched/sched.h"

#define COMMAND_ID ORDER_COMMAND
#define COMMAND_MEMBERS_MAX 1000
#define COMMAND_REPLACEMENTS_MAX 1000
#define COMMAND_SELECT_MAX 3 /* more members: list all pods once, not one node each */
#define COMMAND_WAIT_NS (10 * NS_PER_MIN)
#define COMMAND_SWEEP_NS (10 * NS_PER_S)
#define COMMAND_LOOK_NS (1 * NS_PER_S)
#define COMMAND_TROUBLE 200
#define ANN_REPLACES "karp.dev/replaces"

struct commands;

enum command_end {
    COMMAND_REMOVED, /* its deletion was accepted */
    COMMAND_LET_GO,
    COMMAND_IN_VAIN, /* let go because a replacement came to nothing or was not ready in time */
    COMMAND_DOUBTFUL /* not removed as far as is known: the answer was lost */
};

/* Once per member, never before command_start has returned. */
typedef void (*command_fn)(void *ctx, const char *node, const char *claim, enum command_end how);

struct command_spec {
    enum disruption_reason reason;
    const char *type; /* label consolidation_type; a literal */
    const char *plan; /* digest of the step that this carries out (core/plan.h), or NULL */
    bool independent;
    const struct snapshot_node *const *out; /* what is needed of them is copied */
    uint32_t n_out;
    struct order **in; /* taken; the array stays the caller's */
    uint32_t n_in;
    const struct sched_placement *moves; /* pods that go to nodes which are there */
    uint32_t n_moves;
    command_fn end; /* may be NULL */
    void *ctx;
};

struct commands *commands_new(struct runtime *rt);
void commands_free(struct commands *c);
void commands_start(struct commands *c);

void command_start(struct commands *c, const struct command_spec *spec);

/* While an end is being told: what was last seen to be wrong with a replacement, or "". */
const char *commands_trouble(const struct commands *c);

/* The claim is a member of a command. */
bool commands_has(const struct commands *c, const char *claim);
/* A command before its launch decides on this node's pods: others leave them out. */
bool command_holds_pods(const struct commands *c, const char *node);
/* A command is between its start and the last answer to its launches: what it takes is not in the
 * store yet, so nobody decides on another one. */
bool commands_opening(const struct commands *c);

/* What stands in for each other in that pool: of every command that launches or awaits replacements
 * the lesser of what leaves and what comes, in sum. capacity tells a claim's, NULL = unknown;
 * coming (may be NULL) is an order that is about to be created. Sums are in a. */
struct command_overlap {
    struct resources capacity;
    int64_t nodes;
};
typedef const struct resources *(*command_capacity_fn)(void *ctx, const char *claim);
struct command_overlap commands_overlap(const struct commands *c, const char *pool,
                                        const struct order *coming, command_capacity_fn capacity,
                                        void *ctx, struct arena *a);

/* Pods are expected on the node: planned for it, or a command for which it came as a replacement
 * has not got all its deletions accepted yet. */
bool command_expected(struct runtime *rt, const struct node *n, const struct nodeclaim *nc);

#define COMMAND_PLAN 64
/* The digest of the plan that the claim's mark names. */
bool command_plan_of(const struct nodeclaim *nc, char dst[COMMAND_PLAN + 1]);
/* The command that the claim's mark names, with replacements; false if it names none. */
bool command_id_of(const struct nodeclaim *nc, char dst[COMMAND_ID + 1]);
/* The claim is a replacement of that command. */
bool command_replaces(const struct nodeclaim *nc, const char *id);

#endif
