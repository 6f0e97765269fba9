/*
 * attention.h - what somebody should look at, worst matters of each object first.
 *
 * Entries come in a fixed order of topics (cluster, pods, workloads without them, pools, classes,
 * claims, nodes, requests, holds, prices, objects that cannot be read), within a topic by object,
 * then code. Pods that belong to one controller and are refused alike are one entry.
 *
 * Codes beside those of reason.h: NoController, NotInstalled, ClassNotReady, LaunchFailed,
 * NotRegistered, NodeNotReady, PoolGone, SlowDrain, Malformed, Hold, those of held.h, and karp's
 * own conditions by their names; CannotLeave (a pod that a leaving node waits for and that nothing
 * lets go, with the arithmetic and what would help; pods of one owner are one entry), SlowDetach
 * (its volumes stay), SlowOnSpot (a pod on a spot node that two minutes are too short for: what
 * holds it, or its grace).
 */
#ifndef KARP_CMD_ATTENTION_H
#define KARP_CMD_ATTENTION_H

#include "cmd/read/facts.h"
#include "cmd/read/fleet.h"

#define ATTENTION_MAX 10000u
#define ATTENTION_SLOW_DRAIN_NS NS_PER_H
#define ATTENTION_NOT_READY_NS (5 * NS_PER_MIN)
#define ATTENTION_DETACH_NS (5 * NS_PER_MIN)
#define ATTENTION_SPOT_NS (2 * NS_PER_MIN) /* between a spot interruption and its end */
#define ATTENTION_SKEW_NS (30 * NS_PER_S)

struct attention {
    int topic;
    const char *code;
    const char *kind, *name; /* "pod", "shop/api-1"; "cluster", "" */
    const char *message;
    const char *fix; /* a command to type, or NULL */
};

struct attention_list {
    struct attention *v;
    size_t n, cap;
};

struct attention_in {
    const struct world *world;
    const struct decision *decision;
    const struct fleet *fleet;
    const struct facts *facts;
    const struct prices *prices; /* NULL: money is not looked at */
    int64_t registration_timeout_ns;
};

void attention_collect(const struct attention_in *in, struct arena *a, struct attention_list *ret);

#endif
