/*
 * kubelet.h - all kubelets of the world: nodes register, become Ready, run pods, fall silent.
 *
 * A node's life, driven by the simulated EC2:
 *   sim_node_register  the kubelet comes up: creates its Node (or finds it) with taint
 *                      node.kubernetes.io/not-ready:NoSchedule, Ready=False; Ready after ready_ns.
 *                      A Node that is set back (etcd restore) is Ready again 10 s later; a Pod
 *                      that knows less than was reported of it starts anew.
 *   sim_node_stop      the machine is off (instance shutting down or stopped): no process runs on,
 *                      nothing is reported any more. 40 s later the node lifecycle controller makes
 *                      Ready Unknown (ctl/nodelife.c).
 *   sim_node_gone      the instance exists no more: as stop, and the cloud controller manager may
 *                      delete the Node object.
 *
 * A pod's life: bound -> admission (refused with OutOfcpu, OutOfmemory, OutOfpods, … when it does
 * not fit any more) -> start_ns later Running -> Ready (ready-after) -> run-for ends it.
 * Deleted: preStop hooks (sleep, or exec of "sleep N") and then SIGTERM; the process exits at once,
 * or, with ignore-sigterm, when the grace period is over; then the pod is Succeeded or Failed and
 * deleted with grace 0.
 *
 * Annotations on pods: sim.karp.dev/run-for, sim.karp.dev/ready-after (durations),
 * sim.karp.dev/exit-code (of run-for; other than "0": Failed), sim.karp.dev/ignore-sigterm
 * ("true").
 */
#ifndef KARP_SIM_KUBELET_H
#define KARP_SIM_KUBELET_H

#include "common/base/err.h"

#include <jansson.h>
#include <stdbool.h>

#define SIM_NODES_MAX 20000u
#define SIM_POD_START_NS (1 * NS_PER_S)
#define SIM_NODE_READY_NS (8 * NS_PER_S)

struct sim_world;
struct sim_kubelet;

struct sim_node_spec {
    const char *name;          /* "ip-10-0-0-1" */
    const char *provider_id;   /* "aws:///us-west-2a/i-0123…" */
    const char *instance_type; /* label node.kubernetes.io/instance-type; NULL = none */
    const char *arch;          /* "amd64", "arm64" */
    const char *os;            /* NULL = linux */
    const char *zone, *zone_id, *region;
    const char *internal_ip;     /* NULL = made from the name */
    const char *kubelet_version; /* NULL = v1.34.0 */
    const json_t *labels;        /* more labels, as the kubelet's --node-labels; win */
    const json_t *taints;        /* array, as --register-with-taints */
    const json_t *capacity;      /* {"cpu": "4", "memory": …, "pods": …} */
    const json_t *allocatable;   /* NULL = capacity */
    int64_t ready_ns;            /* registered to Ready; < 0 never */
};

struct sim_kubelet *sim_kubelet_new(struct sim_world *w);
void sim_kubelet_free(struct sim_kubelet *k);

/* Everything in spec is copied. Fails if the name is taken by a kubelet that runs. */
int sim_node_register(struct sim_world *w, const struct sim_node_spec *spec, struct err *reterr);
/* The same with a whole Node as the booting instance would register it (borrowed): metadata, spec
 * with providerID and taints, status with capacity and allocatable. Conditions, the address and the
 * not-ready taint are added where they are missing. */
int sim_node_join(struct sim_world *w, const json_t *node, int64_t ready_ns, struct err *reterr);
/* Unknown ids are ignored: the instance never came up. */
void sim_node_stop(struct sim_world *w, const char *provider_id);
void sim_node_gone(struct sim_world *w, const char *provider_id);

/* For scenarios: the kubelet process stops reporting (pods run on) / comes back. Unknown names
 * are ignored. */
void sim_kubelet_stop(struct sim_kubelet *k, const char *node);
void sim_kubelet_start(struct sim_kubelet *k, const char *node);

/* What the node controllers ask. */
enum sim_node_state {
    SIM_NODE_UNKNOWN, /* no kubelet of ours: a foreign node, left alone */
    SIM_NODE_STARTING,
    SIM_NODE_READY,
    SIM_NODE_SILENT, /* since silent_since_ns */
    SIM_NODE_GONE    /* silent, and the instance exists no more */
};
enum sim_node_state sim_kubelet_state(const struct sim_kubelet *k, const char *node,
                                      int64_t *ret_silent_since_ns);

#endif
