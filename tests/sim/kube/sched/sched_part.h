/*
 * sched_part.h - inside the scheduler: its state, shared by the queue and cycle (sched.c) and by
 * what follows the changes of the world (sched_news.c).
 */
#ifndef KARP_SIM_SCHED_PART_H
#define KARP_SIM_SCHED_PART_H

#include "sched_cache.h"
#include "sched_order.h"

/* A class that fits nowhere until something changes: epoch tells since when. */
struct sim_refusal {
    uint64_t epoch;
    char *message;
};

struct sim_sched {
    struct sim_world *w;
    uint64_t chance_state;
    struct entropy chance;
    struct sim_cluster cluster;
    struct sim_node_order order; /* of the nodes a cycle looks at */
    struct sim_sched_pod **active;
    size_t n_active, cap_active;
    /* Those that did not fit: nothing has happened since, or something has and they are queued once
     * their back-off is over. */
    struct sim_sched_pod **asleep;
    size_t n_asleep, cap_asleep;
    struct timers backoffs;
    struct map *refusals; /* class hash in hex -> refusal */
    uint64_t epoch;       /* moves when something happened that could make a pod fit */
    uint64_t seq;
    const struct sim_sched_pod *current; /* its cycle is under way: not to be queued */
    size_t n_binding;                    /* pods whose volumes are being bound */
    bool stopped;
    struct timer cycle, wake, bind;
};

void sim_sched_enqueue(struct sim_sched *s, struct sim_sched_pod *p);
void sim_sched_dequeue(struct sim_sched *s, struct sim_sched_pod *p);
/* Something happened that could help those that wait. */
void sim_sched_epoch_moved(struct sim_sched *s);
/* Pods whose volumes are being bound are looked at. */
void sim_sched_kick_bind(struct sim_sched *s);
/* The subscription to the API server; ctx is the scheduler. */
void sim_sched_on_change(void *ctx, const struct sim_change *c);

#endif
