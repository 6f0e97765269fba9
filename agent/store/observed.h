/*
 * observed.h - what nodes of a type really have, where it is not what was computed of it.
 *
 * When a claim is initialized its Node is held against what the claim was told at its launch. What
 * differs is remembered per class, its hash and instance type, the least of each resource, and
 * planned with from then on (core/ec2/ec2type.h): as Karpenter does with memory, and ours: also
 * with cpu, pods and storage, whatever the image, and after a restart, for which publish.h keeps
 * the rows. A row ends with its class, or with the class's hash: other user data, other numbers.
 *
 * Less than was told (by more than a hundredth), or another number of pods, is something that
 * somebody should look at: the condition CapacityMismatch of the class's NodePools, True as long as
 * the row stands, names type and resource. Nodes that are there are always planned with as they
 * are.
 */
#ifndef KARP_AGENT_OBSERVED_H
#define KARP_AGENT_OBSERVED_H

#include "agent/runtime.h"
#include "agent/work/cond.h"
#include "common/kube/observation.h"

struct observed;

struct observed *observed_new(struct runtime *rt); /* subscribes to claims and classes */
void observed_free(struct observed *o);

/* What is known of the type for nodes of this class; nothing where o is NULL. */
bool observed_of(const struct observed *o, const struct nodeclass *cls, const char *type,
                 struct ec2_observed *ret);
/* Changes with what is known for the class; 0 = nothing is (o may be NULL). */
uint64_t observed_version(const struct observed *o, const struct nodeclass *cls);

/* All rows, by class and type. */
json_t *observed_json(const struct observed *o);
/* Rows that a process before us had published. What was seen since then counts too. */
void observed_restore(struct observed *o, const json_t *rows);

/* Puts the condition; the text is good until the next call. */
void observed_conditions(struct observed *o, const struct nodepool *np, struct cond_edit *e);
/* Told of a class for which what is known has changed. One listener. */
void observed_listen(struct observed *o, void (*fn)(void *ctx, const char *cls), void *ctx);

#endif
