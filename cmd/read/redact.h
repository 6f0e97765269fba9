/*
 * redact.h - objects without what they say about their owner.
 *
 * Everything that is not on a list of harmless fields goes: texts by default, numbers and booleans
 * stay. Names, namespaces, UIDs, keys and values of labels, taints and requirements, and names of
 * extended resources are replaced, equal ones by equal ones wherever they stand; labels that
 * Kubernetes, Karpenter and AWS define keep their keys, and their values where these are nothing
 * but facts of EC2 (type, zone, architecture). Whole numbers, "true", "false" and "" stay as
 * values. Replacements sort as the originals do, so a decision over redacted objects is the same
 * decision.
 *
 * Two passes: redact_scan over all objects, then redact_apply. Replacements depend on nothing but
 * the set of strings met; nothing of the originals can be computed from them.
 */
#ifndef KARP_CMD_REDACT_H
#define KARP_CMD_REDACT_H

#include "common/base/sym.h"
#include "common/kube/client.h"

#define REDACT_STRINGS_MAX 5000000u
#define REDACT_DEPTH_MAX 64u

struct redact;

struct redact *redact_new(const struct symtab *t);
void redact_free(struct redact *r); /* NULL is fine */
void redact_scan(struct redact *r, enum kube_kind k, const json_t *o);
/* New reference. Only strings that were scanned may come. */
json_t *redact_apply(struct redact *r, enum kube_kind k, const json_t *o);

#endif
