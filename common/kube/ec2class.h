/*
 * ec2class.h - what of an EC2NodeClass enters the numbers of its instance types: family, kubelet
 * reservations, eviction thresholds, the volume behind ephemeral storage, and the extra resources
 * of annotation karp.dev/capacity.
 *
 * Values that cannot be read count as absent: the EC2NodeClass controller says so in a condition
 * (ValidationSucceeded), and pools of such a class get no new nodes.
 */
#ifndef KARP_KUBE_EC2CLASS_H
#define KARP_KUBE_EC2CLASS_H

#include "common/core/ec2/ec2type.h"

#include <jansson.h>

#define ANN_CAPACITY "karp.dev/capacity"

/* spec.amiFamily, else that of an alias, else FAMILY_CUSTOM. */
enum ami_family ec2class_family(const json_t *spec);

/* Starts from ec2_class_default; options of the agent (memory overhead, reserved ENIs) are for the
 * caller to set. spec may be NULL. The extra resources lie in a, their names in t. */
void ec2class_read(struct symtab *t, struct arena *a, const json_t *spec,
                   const char *capacity_annotation, struct ec2_class *ret);

#endif
