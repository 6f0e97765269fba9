/*
 * consolidator.h - the core's plan is carried out: underutilized and drifted nodes (consolidate.h).
 *
 *     flip or period → plan → steps that may start → 15 s of quiet → plan again → command.h
 *
 * The plan is the one that `kubectl karp consolidate --dry-run` prints: the same core, options and
 * facts, with Empty, Underutilized and Drifted. Empty steps are emptiness.h's unless they wait for
 * a decision, as are nodes whose last pods are on their way out, and a node whose replacement was
 * asked for is replacer.h's; all others are carried out here.
 *
 *  - Decided on are the steps that nothing holds (budgets, Holds, approval), none of whose nodes is
 *    left in peace (spared.h), pools by turns, as many as the brakes let launch.
 *  - After CONSOLIDATOR_QUIET_NS the plan is made again from what is known then. A step goes on if
 *    it is found again: the same nodes, replacements no dearer, at least 80% of the saving, no
 *    single replica more that is moved. Where the plan has become another, or a step before it
 * stays (each assumes those before it), the nodes that were decided on are looked at once more by
 *    themselves, so that change elsewhere does not keep them.
 *    Validated once more, by a list of the pods, it is in the command.
 *  - What is left then, or was let go by its command, is left in peace.
 *
 * A decision is made in slices of CONSOLIDATOR_SLICE_NS and gives way to pods that wait, at most
 * CONSOLIDATOR_YIELDS_MAX times in a row; it takes at most a fifth of the time. Nothing is decided
 * while another decision is open, a command is being opened, the store or the cloud is not ready,
 * writing is not allowed, EC2 is failing or the clocks differ. A pool keeps its nodes whose last
 * launches failed (launchlog.h), whose nodes do not register or help nobody.
 *
 * Where a pool asks for a decision about the reason (core/consent/approval.h) the quiet time leads
 * to a DisruptionRequest instead of a command, and an Event DisruptionBlocked on Node and NodeClaim
 * says so. What was approved goes the same way again, from the request instead of from a plan;
 * between being found again and being begun the request is marked as begun, and the plan made once
 * more (consent.h).
 *
 * Mode provision removes nothing; mode observe logs what it would do, each step once, and
 * tells observer.h; what it counted as gone is leaving in the next plan.
 */
#ifndef KARP_AGENT_CONSOLIDATOR_H
#define KARP_AGENT_CONSOLIDATOR_H

#include "agent/runtime.h"

#define CONSOLIDATOR_QUIET_NS (15 * NS_PER_S)
#define CONSOLIDATOR_SOON_NS (500 * NS_PER_MS) /* after something flipped */
#define CONSOLIDATOR_PERIOD_NS (10 * NS_PER_S)
#define CONSOLIDATOR_IDLE_NS (60 * NS_PER_S) /* where nothing flipped */
#define CONSOLIDATOR_ARENA_MAX ((size_t)1 << 30)
#define CONSOLIDATOR_SLICE_NS (15 * NS_PER_MS)
#define CONSOLIDATOR_SLICE_UNITS 1000
#define CONSOLIDATOR_YIELDS_MAX 3
#define CONSOLIDATOR_STEPS_MAX 500u /* at once */
#define CONSOLIDATOR_SAID_MAX 10000

struct consolidator;

struct consolidator *consolidator_new(struct runtime *rt);
void consolidator_free(struct consolidator *c);
void consolidator_start(struct consolidator *c);

#endif
