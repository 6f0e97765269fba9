/*
 * gen.h - what both kinds of random clusters are made with. Internal to the generator (cluster.c,
 * usual.c).
 */
#ifndef KARP_SIM_DIFF_GEN_H
#define KARP_SIM_DIFF_GEN_H

#include "app.h"

#define POOLS_MAX 3
#define NODES_MAX 5

struct room {
    char name[32];
    int cpu_milli, mem_mib, gpus, pods;
    bool ports;
};

struct gen {
    uint64_t state;
    struct entropy chance;
    json_t *objects;
    int64_t now_ns;
    json_t *pools[POOLS_MAX];
    unsigned n_pools, n_daemons, n_apps, n_nodes, n_pods, n_claims;
    struct app apps[APPS_MAX];
    struct room rooms[NODES_MAX];
    int volumes_max;  /* that a CSINode offers; 0 = there are none */
    bool daemons_run; /* their pods are there already */
};

/* Adds the object, a second younger than the one before it; pods come several in one second, which
 * is as exactly as Kubernetes tells time. Borrowed. */
json_t *gen_add(struct gen *g, const char *api_version, const char *kind, const char *ns,
                const char *name, json_t *object);
json_t *gen_taint(const char *effect);
void gen_node_class(struct gen *g, const char *name, int max_pods); /* 0: as many as fit */
void gen_node(struct gen *g);
void gen_daemon(struct gen *g);
void gen_bound_pod(struct gen *g);
void gen_waiting_pod(struct gen *g, const struct app *a);

/* Capacity, workloads and up to so many pods of a cluster as users have it. */
void gen_usual(struct gen *g, uint32_t pods);

#endif
