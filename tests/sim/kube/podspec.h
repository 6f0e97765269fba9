/*
 * podspec.h - reading pods and nodes: requests, taints, node affinity, conditions. What the
 * scheduler, the kubelets and the DaemonSet controller agree on; written apart from the agent's
 * core on purpose, so that the two can disagree.
 */
#ifndef KARP_SIM_PODSPEC_H
#define KARP_SIM_PODSPEC_H

#include "common/base/err.h"

#include <jansson.h>
#include <stdbool.h>

#define SIM_RES_EXTRA_MAX 8
#define SIM_RES_NAME 64

/* Amounts: cpu in thousandths, others whole. A plain value that owns nothing. Extended resources
 * beyond SIM_RES_EXTRA_MAX, or with names that do not fit, are left out. */
struct sim_res {
    int64_t cpu_milli, mem_bytes, disk_bytes, pods;
    struct {
        char name[SIM_RES_NAME];
        int64_t amount;
    } extra[SIM_RES_EXTRA_MAX];
    size_t n_extra;
};

/* A resource list; what cannot be read counts as 0. */
void sim_res_read(const json_t *list, struct sim_res *ret);
/* The pod's effective requests as kube-scheduler counts them: the larger of sum of containers (with
 * restartable init containers) and each init container with what runs beside it; plus overhead;
 * pods = 1. */
void sim_res_pod(const json_t *pod_spec, struct sim_res *ret);
/* How the scheduler scores: containers without a request count as 100m and 200Mi. */
void sim_res_pod_nonzero(const json_t *pod_spec, int64_t *ret_cpu_milli, int64_t *ret_mem_bytes);
/* a += sign * b. */
void sim_res_add(struct sim_res *a, const struct sim_res *b, int sign);
int64_t sim_res_extra(const struct sim_res *r, const char *name); /* 0 if absent */
/* NULL if want fits into allocatable - used, else the name of the first resource that does not,
 * in the order cpu, memory, ephemeral-storage, pods, extras; borrowed from want or static. With
 * ret_all (of SIM_RES_EXTRA_MAX + 4) all of them are told, and how many. */
const char *sim_res_lacks(const struct sim_res *allocatable, const struct sim_res *used,
                          const struct sim_res *want, const char **ret_all, size_t *ret_n);

bool sim_tolerates(const json_t *tolerations, const json_t *taint);
/* The first taint with one of the two effects (b may be NULL) that is not tolerated; NULL if there
 * is none. ret_n (may be NULL) gets how many there are. */
const json_t *sim_untolerated(const json_t *tolerations, const json_t *taints, const char *a,
                              const char *b, size_t *ret_n);
/* nodeSelector and required node affinity. */
bool sim_node_selected(const json_t *pod_spec, const json_t *node);

/* status.conditions[type=…], NULL if absent; its status, "" if absent. */
const json_t *sim_cond(const json_t *obj, const char *type);
const char *sim_cond_status(const json_t *obj, const char *type);
/* obj's conditions with this one set (reason and message may be NULL); lastTransitionTime moves
 * only with the status. New reference. */
json_t *sim_cond_set(const json_t *conditions, const char *type, const char *status,
                     const char *reason, const char *message, int64_t now_wall_ns);

/* json_equal, but two absent values are equal as well. */
bool sim_json_same(const json_t *a, const json_t *b);

bool sim_pod_over(const json_t *pod); /* Succeeded or Failed */
bool sim_pod_terminating(const json_t *pod);
const char *sim_pod_node(const json_t *pod); /* "" if none */
/* The owner reference with controller=true; NULL if none. */
const json_t *sim_controller(const json_t *obj);

#endif
