/*
 * publish.h - what the agent knows and the API server does not: ConfigMap karp-offerings.
 *
 * facts.json holds {schema, generation, version, writtenAt, options, catalogHash, attention,
 * unavailableOfferings, capacityReservations (by id how many instances are left),
 * observedCapacities (kube/observation.h), spared (leave/spared.h), launchesFailing (NodePools that
 * keep their nodes, claim/launchlog.h)}, at most PUBLISH_MAX bytes (stock-outs beyond that are left
 * out and counted in `omitted`). It lies in the agent's own namespace, is rewritten soon after its
 * content changed, and once a minute otherwise. `generation` counts changes of the content, not
 * writes; it goes on where the object stood, and what a process before us knew of stock-outs and
 * capacities goes on to hold: before its first write a process reads the object.
 *
 * prices.json beside it is what EC2 offers and what that costs (cloud.h, cloud_prices), so that the
 * plugin compares with the prices that the agent does; its hash stands in facts.json (pricesHash).
 * It is sent only when it changed; more than PUBLISH_PRICES_MAX bytes are not published.
 *
 * Written by whoever may act, and by an observing agent too (which else writes observe/observer.h's
 * record only); never while standing by. A failure is logged once until it heals: nothing waits for
 * this object.
 */
#ifndef KARP_AGENT_PUBLISH_H
#define KARP_AGENT_PUBLISH_H

#include "runtime.h"

#define PUBLISH_CONFIG_MAP "karp-offerings"
#define PUBLISH_MAX (900u << 10)
#define PUBLISH_LOOK_NS (2 * NS_PER_S)
#define PUBLISH_PERIOD_NS NS_PER_MIN
#define PUBLISH_STOCKOUTS_MAX 4000u
#define PUBLISH_PRICES_MAX (400u << 10)

struct publish;

struct publish *publish_new(struct runtime *rt);
void publish_free(struct publish *p);
void publish_start(struct publish *p);

#endif
