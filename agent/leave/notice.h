/*
 * notice.h - what a message of the interruption queue says: EventBridge's JSON, read without trust.
 *
 * Pure: text in, struct out. The queue belongs to the account: everybody's instances are in it, and
 * anybody who may send to it may send anything. So reading never fails in a way that matters: a
 * message is a notice about instances, or it is none (another source, another type, a state that
 * ends nothing), or it cannot be read. Which instances are ours is not asked here.
 *
 * Kinds are told by (version "0", source, detail-type), as Karpenter; states in any case.
 */
#ifndef KARP_AGENT_NOTICE_H
#define KARP_AGENT_NOTICE_H

#include "common/base/arena.h"
#include "common/base/err.h"

#define NOTICE_INSTANCES_MAX 1000 /* of one message; an AWS Health event names at most 100 */

enum notice_kind {
    NOTICE_NONE,
    NOTICE_SPOT,        /* taken back in two minutes */
    NOTICE_REBALANCE,   /* may soon be */
    NOTICE_SCHEDULED,   /* AWS Health: maintenance, retirement */
    NOTICE_STOPPED,     /* stopping or stopped */
    NOTICE_TERMINATED,  /* shutting-down or terminated */
    NOTICE_RESERVATION, /* its interruptible capacity reservation takes it back */
    /* These come from DescribeInstanceStatus, not from the queue. */
    NOTICE_INSTANCE_STATUS,
    NOTICE_SYSTEM_STATUS,
    NOTICE_EVENT_STATUS,
    NOTICE_KINDS
};

struct notice {
    enum notice_kind kind;
    int64_t time_ns; /* wall; 0 = not told */
    const char *const *instances;
    size_t n_instances; /* 0 with NOTICE_NONE */
};

/* Strings live in the arena. -1: it cannot be read, *reterr says why. */
int notice_parse(struct arena *a, const char *body, size_t n, struct notice *ret,
                 struct err *reterr);

/* How a kind is called. */
struct notice_names {
    const char *metric;  /* label message_type, and reason of nodeclaims_disrupted_total */
    const char *event;   /* reason of the Event, Karpenter's */
    const char *mark;    /* reason of the claim's condition DisruptionReason */
    const char *message; /* of the Event */
    bool warning;        /* type of the Event */
    bool ends_soon;      /* the machine is gone within minutes, whatever its pods do */
};
const struct notice_names *notice_names(enum notice_kind kind);
/* A claim marked with this reason loses its machine within minutes. */
bool notice_mark_ends_soon(const char *mark);

#endif
