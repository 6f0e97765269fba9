/*
 * storepaths.h - how requests of the store's lists and watches begin, by kind
 * (agent/store/store.h).
 */
#ifndef KARP_TESTS_STOREPATHS_H
#define KARP_TESTS_STOREPATHS_H

#include "agent/store/store.h"

static const char *const store_paths[STORE_KINDS] = {
    "/api/v1/pods?",
    "/api/v1/nodes?",
    "/apis/karpenter.sh/v1/nodeclaims?",
    "/apis/karpenter.sh/v1/nodepools?",
    "/apis/karpenter.k8s.aws/v1/ec2nodeclasses?",
    "/apis/apps/v1/daemonsets?",
    "/api/v1/namespaces?",
    "/api/v1/persistentvolumeclaims?",
    "/api/v1/persistentvolumes?",
    "/apis/storage.k8s.io/v1/storageclasses?",
    "/apis/storage.k8s.io/v1/csinodes?",
    "/api/v1/limitranges?",
    "/apis/node.k8s.io/v1/runtimeclasses?",
    "/api/v1/services?",
    "/apis/karp.dev/v1alpha1/holds?",
    "/apis/karp.dev/v1alpha1/disruptionrequests?",
    "/apis/karp.dev/v1alpha1/disruptiongrants?",
    "/apis/policy/v1/poddisruptionbudgets?",
};

#endif
