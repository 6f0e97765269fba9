/*
 * daemonset.h - what a DaemonSet's next pod will ask for.
 *
 * Admission and webhooks may change a pod after it left the template, so its newest pod knows best,
 * as long as it was made of the template as it is now (Karpenter also believes pods of older
 * ones). Without one the template counts, completed as the API server would (kube/admit.h).
 */
#ifndef KARP_CORE_DAEMONSET_H
#define KARP_CORE_DAEMONSET_H

#include "common/core/snapshot.h"

/* Copies of the input's DaemonSets by namespace and name, with classes that say so. */
const struct daemonset *const *daemonset_live(struct arena *a, const struct snapshot_in *in);

#endif
