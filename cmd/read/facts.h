/*
 * facts.h - who is in charge, and what the agent has published about itself.
 *
 * In charge is whoever holds a fresh Lease named karpenter-leader-election in any namespace: karp
 * if the holder begins with "karp-agent-", else upstream Karpenter, which wins where both do (the
 * agent stands by then). Of several of a kind the one renewed last counts.
 *
 * Of facts.json in ConfigMap karp-offerings these keys are read, each optional:
 *   version, writtenAt (RFC 3339), options.mode,
 *   attention: [{code, object, message}],
 *   unavailableOfferings: [{capacityType, instanceType, zone, until, code}],
 *   capacityReservations: {ID: instances that are left},
 *   spared: [{nodeClaim, uid, until, reasons}]: claims that are left in peace, because what was
 *       begun with them came to nothing,
 *   launchesFailing: [NodePool]: pools that keep their nodes, because their last launches failed,
 *   observedCapacities: see kube/observation.h
 */
#ifndef KARP_CMD_FACTS_H
#define KARP_CMD_FACTS_H

#include "cmd/world.h"
#include "common/kube/observation.h"

#define FACTS_LIST_MAX 10000u

enum charge { CHARGE_UNKNOWN, CHARGE_NONE, CHARGE_KARP, CHARGE_KARPENTER };

struct facts_stockout {
    const char *capacity_type, *type, *zone, *code;
    int64_t until_ns;
};

struct facts_attention {
    const char *code, *object, *message;
};

struct facts_spared {
    const char *claim, *uid;
    unsigned reasons; /* bits of disruption_reason */
    int64_t until_ns;
};

/* Texts are NULL where nothing is known. */
struct facts {
    enum charge charge;
    const char *leader, *version, *mode;
    int64_t synced_ns;                      /* 0 = unknown */
    const struct facts_stockout *stockouts; /* still in force; by type, zone, capacity type */
    size_t n_stockouts;
    const struct facts_attention *attention; /* as published */
    size_t n_attention;
    const struct observation *observations;
    size_t n_observations;
    const struct facts_spared *spared; /* still in force */
    size_t n_spared;
    const char *const *failing; /* pools whose launches fail */
    size_t n_failing;
};

/* When the agent wrote it; 0 = unknown. */
int64_t facts_written_ns(const struct world *w);
/* Instances left in a capacity reservation; UINT32_MAX where nobody has told. */
uint32_t facts_reservation_left(const struct world *w, const char *id);
/* Until when the claim is left in peace for that reason; 0 = it is not. */
int64_t facts_spared_until(const struct facts *f, const struct nodeclaim *nc,
                           enum disruption_reason reason);
/* The agent sees the pool's launches fail. */
bool facts_launches_fail(const struct facts *f, const char *pool);
/* What the agent saw of nodes of that class and type; false: nothing, or not with this spec. */
bool facts_observed(const struct facts *f, const struct nodeclass *cls, const char *type,
                    struct ec2_observed *ret);
/* Borrows from the world and a. */
void facts_read(const struct world *w, struct arena *a, struct facts *ret);
const char *charge_name(enum charge c); /* "karp", "karpenter", "none", NULL */

#endif
