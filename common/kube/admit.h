/*
 * admit.h - what the API server makes of a pod template when a pod is created from it.
 *
 * Real pods come with all of this in their spec. Templates (of DaemonSets, and of workloads whose
 * pods are only imagined) do not, so the same is applied to a copy:
 *  - requests without which no limit stands either are filled from the LimitRanges of the
 *    namespace, by name: defaultRequest, or default, max, min of its Container items, as the API
 *    server fills those in (what a limit means for a request is the decoder's); limits likewise
 *    from default or max;
 *  - a RuntimeClass adds its overhead, node selector and tolerations;
 *  - a PriorityClass, or the default one, gives the priority.
 * Whether a LimitRange would refuse the pod is a question of its own (admission_refuses).
 */
#ifndef KARP_KUBE_ADMIT_H
#define KARP_KUBE_ADMIT_H

#include "client.h"
#include "common/base/buf.h"

struct admission;

#define ADMISSION_MAX 50000u /* objects */

struct admission *admission_new(void);
void admission_free(struct admission *a); /* NULL is fine */

/* A LimitRange, RuntimeClass or PriorityClass; others are ignored. A copy of what is needed of it
 * is kept, in place of the one of that name. */
void admission_put(struct admission *a, enum kube_kind k, const json_t *o);
/* name is "ns/name" where the kind has namespaces. */
void admission_forget(struct admission *a, enum kube_kind k); /* all of them */
void admission_drop(struct admission *a, enum kube_kind k, const char *name);
/* Is there anything that applies to pods of the namespace? */
bool admission_any(const struct admission *a, const char *ns);

/* Fills in the pod spec, in place. What is malformed is left as it is. */
void admission_apply(const struct admission *a, const char *ns, json_t *spec);

/*
 * A LimitRange of the namespace refuses a pod with this spec, which has been filled in: min, max
 * and maxLimitRequestRatio of each container, init containers too, and of the pod (containers and
 * sidecars together, or the dearest init container; overhead does not count). As kube-apiserver, a
 * min needs a request, a max a limit, and a ratio both. Why, of the first LimitRange by name:
 * "limitrange small: cpu limit 4 of container main is over the maximum 2".
 */
bool admission_refuses(const struct admission *a, const char *ns, const json_t *spec,
                       struct buf *why);

#endif
