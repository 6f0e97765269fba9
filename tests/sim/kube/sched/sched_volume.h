/*
 * sched_volume.h - the plug-ins about volumes: VolumeRestrictions (ReadWriteOncePod),
 * NodeVolumeLimits (CSINode's allocatable count against the volumes of the pods placed on the node
 * and its VolumeAttachments) and VolumeBinding (node affinity of bound volumes; for claims that
 * wait for their first consumer a fitting free volume, or a class that may provision there).
 */
#ifndef KARP_SIM_SCHED_VOLUME_H
#define KARP_SIM_SCHED_VOLUME_H

#include "sched_cache.h"

#define SIM_POD_VOLUMES_MAX 64
#define SIM_VOLUME_REFUSED 320

struct sim_pod_volume {
    json_t *claim;  /* borrowed from the API server, until the next write */
    json_t *volume; /* the PersistentVolume it is bound to; NULL = not bound */
    json_t *class;  /* StorageClass of a claim that is not bound */
};

struct sim_pod_volumes {
    struct sim_pod_volume v[SIM_POD_VOLUMES_MAX];
    size_t n;
    bool once_taken;                  /* a ReadWriteOncePod claim is in use by another pod */
    char refused[SIM_VOLUME_REFUSED]; /* why the pod can go nowhere; "" = it can */
};

void sim_volumes_read(struct sim_cluster *c, const struct sim_sched_pod *p,
                      struct sim_pod_volumes *ret);
/* NULL if the pod may go there, else why not; *ret_final: no other pods' going would help. */
const char *sim_volumes_fit(struct sim_cluster *c, const struct sim_sched_pod *p,
                            const struct sim_pod_volumes *v, const struct sim_sched_node *n,
                            bool *ret_final);
/* Starts binding the claims that wait, for the pod placed on n; true if there were any. */
bool sim_volumes_bind(struct sim_cluster *c, const char *who, const struct sim_sched_pod *p,
                      const struct sim_sched_node *n);
/* How far that is. It fails when a claim is gone or its provisioner gave the node back. */
enum sim_binding { SIM_BINDING_WAITS, SIM_BINDING_DONE, SIM_BINDING_FAILED };
enum sim_binding sim_volumes_binding(struct sim_cluster *c, const struct sim_sched_pod *p);

#endif
