/*
 * observation.h - what nodes of a type really reported, as it stands in facts.json (ConfigMap
 * karp-offerings, key observedCapacities): written by the agent, read by it after a start and by
 * the plugin, so that both plan with the same numbers.
 *
 *     {nodeClass, nodeClassHash, instanceType, capacity: {cpu: "2000m", memory: "8000000000", …},
 *      allocatable: {…}, promised: {…}}
 *
 * Good for nodes of that class as long as its hash is that one: other user data, other numbers.
 */
#ifndef KARP_KUBE_OBSERVATION_H
#define KARP_KUBE_OBSERVATION_H

#include "common/core/ec2/ec2type.h"

#include <jansson.h>

#define OBSERVATION_KEY "observedCapacities"
#define OBSERVATION_MAX 1000 /* rows */

struct observation {
    const char *cls, *hash, *type;
    struct ec2_observed seen;
    bool mismatch; /* a node had less than its claim was told, or another number of pods */
    int64_t promised[RES_PODS + 1]; /* allocatable that the claim was told; where mismatch */
};

json_t *observation_json(const struct observation *o); /* a new reference */
/* False if it is none. Texts are the JSON's. */
bool observation_read(const json_t *row, struct observation *ret);

#endif
