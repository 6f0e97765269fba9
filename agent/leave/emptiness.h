/*
 * emptiness.h - empty nodes go (what is empty: core/disrupt/candidate.h).
 *
 *     something flips → decide → 15 s of quiet → decide again → command.h
 *
 * A decision is made soon after pods, nodes, claims or pools changed, and every 10 s. A node that
 * is decided on waits EMPTINESS_QUIET_NS; then it must still be a candidate within the budget, from
 * a new snapshot. One that was tainted and then let go is left in peace for SPARED_NS (spared.h):
 * what the last look found and the store does not show (a watch that is behind, a pod that cannot
 * be read) would else have it tainted again and again. Nothing is decided while another decision is
 * open, the store or the cloud is not ready, writing is not allowed, EC2 is failing or the clocks
 * differ; a pool whose last launches failed keeps its nodes (launchlog.h).
 *
 * Where a pool asks for a decision about empty nodes (core/consent/approval.h) they stay, and an
 * Event says so; with a decision they are consolidator.h's.
 *
 * Mode provision removes nothing by its own decision; mode observe logs what it would remove
 * and tells observer.h.
 */
#ifndef KARP_AGENT_EMPTINESS_H
#define KARP_AGENT_EMPTINESS_H

#include "agent/runtime.h"

#define EMPTINESS_QUIET_NS (15 * NS_PER_S)
#define EMPTINESS_SOON_NS (200 * NS_PER_MS) /* after something flipped */
#define EMPTINESS_PERIOD_NS (10 * NS_PER_S)
#define EMPTINESS_ARENA_MAX ((size_t)256 << 20)
#define EMPTINESS_SAID_MAX 10000

struct emptiness;

struct emptiness *emptiness_new(struct runtime *rt);
void emptiness_free(struct emptiness *e);
void emptiness_start(struct emptiness *e);

#endif
