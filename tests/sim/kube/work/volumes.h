/*
 * volumes.h - what stands behind a pod's claims: the PersistentVolume controller, the provisioner
 * and attacher of the EBS CSI driver, the attach/detach controller.
 *
 * Claims (claims.c). A claim of a class with WaitForFirstConsumer waits until kube-scheduler has
 * chosen a node (annotation SIM_SELECTED_NODE); the provisioner makes a volume in that node's zone
 * SIM_PROVISION_NS later; if the node is gone by then it takes the annotation back. Free volumes
 * that suit are bound instead. A claim in use by a pod is kept by the finalizer
 * kubernetes.io/pvc-protection; a volume with reclaim policy Delete goes with its claim, once it is
 * attached nowhere. Ephemeral volumes get claims owned by their pods.
 *
 * Attachments (attach.c). A pod that is bound to a node and not over wants its volumes attached
 * there: a VolumeAttachment is made, and is attached SIM_ATTACH_NS later. When no pod of the node
 * wants a volume any more and the kubelet could unmount it, the VolumeAttachment is deleted and is
 * gone SIM_DETACH_NS later; a kubelet that is silent or gone cannot unmount, then it takes
 * SIM_FORCE_DETACH_NS. A volume that only one node may have waits for the other one's end.
 * Every node whose kubelet is ours gets a CSINode, SIM_CSI_DRIVER_NS after it is Ready first.
 */
#ifndef KARP_SIM_VOLUMES_H
#define KARP_SIM_VOLUMES_H

#include "tests/sim/kube/world.h"

#define SIM_SELECTED_NODE "volume.kubernetes.io/selected-node"
#define SIM_EBS_DRIVER "ebs.csi.aws.com"
#define SIM_PROVISION_NS (2 * NS_PER_S)
#define SIM_RECLAIM_NS (1 * NS_PER_S)
#define SIM_ATTACH_NS (2 * NS_PER_S)
#define SIM_DETACH_NS (3 * NS_PER_S)
#define SIM_FORCE_DETACH_NS (6 * NS_PER_MIN)
#define SIM_CSI_DRIVER_NS (3 * NS_PER_S)
/* What a CSINode offers; the node annotation sim.karp.dev/volumes says otherwise. */
#define SIM_CSI_VOLUMES 26

struct sim_claims;
struct sim_attach;

struct sim_claims *sim_claims_new(struct sim_world *w);
void sim_claims_free(struct sim_claims *v);
void sim_claims_change(struct sim_claims *v, const struct sim_change *c);
void sim_claims_run(struct sim_claims *v, bool on);

struct sim_attach *sim_attach_new(struct sim_world *w);
void sim_attach_free(struct sim_attach *a);
void sim_attach_change(struct sim_attach *a, const struct sim_change *c);
void sim_attach_run(struct sim_attach *a, bool on);
/* Volumes attached to the node are not detached any more (or are again). */
void sim_attach_hold(struct sim_attach *a, const char *node, bool hold);

/* Whether a free volume suits a claim: class, size, modes, selector, and promised to nobody else.
 */
bool sim_volume_suits(const json_t *volume, const json_t *claim);
/* What a volume's spec.claimRef says of its claim. New reference. */
json_t *sim_claim_ref(const json_t *claim);
/* Whether all volumes of a pod that is bound are attached to its node; true if it has no claims. */
bool sim_volumes_attached(const struct sim_api *a, const json_t *pod);

#endif
