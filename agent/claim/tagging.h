/*
 * tagging.h - instances get their names: tags Name, karpenter.sh/nodeclaim and
 * eks:eks-cluster-name once the Node is known, each only if it is not there: a Name of the user's
 * stays (as Karpenter's tagging). A claim whose instance has them carries the annotation
 * karpenter.k8s.aws/tagged="true".
 */
#ifndef KARP_AGENT_TAGGING_H
#define KARP_AGENT_TAGGING_H

#include "agent/runtime.h"

#define ANN_TAGGED "karpenter.k8s.aws/tagged"

struct tagging;

struct tagging *tagging_new(struct runtime *rt);
void tagging_free(struct tagging *t);
void tagging_start(struct tagging *t);

#endif
