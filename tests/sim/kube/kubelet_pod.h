/*
 * kubelet_pod.h - inside kubelet.c: the machines and the pods on them.
 *
 * A pod is level-triggered: pod_step looks at the object and at the time, does everything that is
 * due, and sets the pod's one timer to what is due next. On a machine that is off nothing happens
 * any more; while only the kubelet is silent, processes run on but nothing is written.
 */
#ifndef KARP_SIM_KUBELET_POD_H
#define KARP_SIM_KUBELET_POD_H

#include "common/base/map.h"
#include "podspec.h"
#include "world.h"

struct sim_machine {
    char *name, *provider_id, *ip;
    struct sim_res allocatable, used;
    int64_t ready_ns; /* delay, < 0 never */
    bool ready;
    bool silent;       /* the kubelet reports nothing */
    bool off;          /* nothing runs */
    bool gone;         /* the instance exists no more */
    bool unregistered; /* its Node object has been deleted */
    int64_t silent_since_ns;
    size_t n_pods;
    struct timer timer; /* becomes Ready */
    struct sim_kubelet *k;
};

struct sim_kpod {
    char *uid, *ns, *name;
    json_t *obj;
    struct sim_machine *m;
    struct sim_res req;
    bool admitted, running, ready, over;
    int64_t seen_ns, started_ns, stopping_ns; /* -1 = not yet */
    struct timer timer;
};

struct sim_kubelet {
    struct sim_world *w;
    struct map *by_provider; /* provider id -> sim_machine, owner */
    struct map *by_name;     /* node name -> the latest sim_machine of that name */
    struct map *pods;        /* uid -> sim_kpod, owner */
};

/* A pod object on one of our machines changed (c->after), or is gone. */
void sim_kpod_change(struct sim_kubelet *k, const struct sim_change *c);
/* A volume was attached to the node: pods that wait for it may start. */
void sim_kpod_attached(struct sim_kubelet *k, const char *node);
/* The kubelet reports again: all pods of the machine are looked at. */
void sim_kpod_resume(struct sim_kubelet *k, const struct sim_machine *m);
void sim_kpod_free_all(struct sim_kubelet *k);
/* Frees the machine if nothing needs it any more. */
void sim_machine_release(struct sim_machine *m);

#endif
