/*
 * volume.h - what a pod's volumes ask of its node.
 *
 * Each PersistentVolumeClaim says where it can be: a bound one through the node affinity of its
 * volume (terms are alternatives), one that waits for its first consumer through the
 * allowedTopologies of its class. A pod needs all of its volumes, so the alternatives of several
 * are combined, and those that contradict each other are left out. As Karpenter: host names in
 * terms of local and hostPath volumes are dropped.
 *
 * A claim that cannot come to anything (missing, being deleted, lost, not bound by an Immediate
 * class, a volume that is gone, …) makes the pod unplaceable for a reason of its own.
 *
 * Attachable volumes count against the limit of their CSI driver per node; a claim that several
 * pods share counts once per node.
 */
#ifndef KARP_CORE_VOLUME_H
#define KARP_CORE_VOLUME_H

#include "snapshot.h"

/* Combined alternatives of one pod beyond which the later ones are not looked at. */
#define VOLUME_MAX_ALTERNATIVES 64

struct volume_use {
    const char *driver; /* CSI driver, never "" */
    const char *id;     /* the same for all pods that share it */
    const char *claim;  /* "ns/claim" */
};

struct volume_need {
    enum reason_code problem; /* REASON_NONE, Volume or VolumeZone */
    const char *text;
    const struct reqset *alternatives; /* at least one if there is no problem */
    uint32_t n_alternatives;
    const struct volume_use *uses; /* one per claim of an attachable volume */
    uint32_t n_uses;
};

void volume_need(struct arena *a, const struct snapshot *s, const struct pod *p,
                 struct volume_need *ret);

#endif
