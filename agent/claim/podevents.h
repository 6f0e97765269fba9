/*
 * podevents.h - status.lastPodEventTime of NodeClaims: when the node's pods last changed, the clock
 * that consolidateAfter runs on.
 *
 * Counted are transitions of pods that are not DaemonSets' or static: bound, terminal, terminating.
 * Where karp.dev/ignore-short-pods on the NodePool (--ignore-short-pods) gives a duration, of a
 * Job's pod only its end counts, after so long at least (ours: a CronJob would keep its node for
 * ever, as it does under Karpenter); a value that cannot be read ignores nothing. Only those that
 * this process saw happen: pods of a first or repeated list are old news (Karpenter restarts every
 * timer when it restarts; ours keep running). A claim is written at most every 10 s; what happens
 * in between is written when they are over, with the time at which it happened.
 */
#ifndef KARP_AGENT_PODEVENTS_H
#define KARP_AGENT_PODEVENTS_H

#include "agent/runtime.h"

#define PODEVENTS_DEDUPE_NS (10 * NS_PER_S)
#define PODEVENTS_NEW_NS (60 * NS_PER_S) /* a pod that appears bound counts if it is younger */

struct podevents;

struct podevents *podevents_new(struct runtime *rt);
void podevents_free(struct podevents *p);
void podevents_start(struct podevents *p);

#endif
