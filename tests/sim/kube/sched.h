/*
 * sched.h - kube-scheduler: one pod after the other onto the best node that passes all filters.
 *
 * Queue: pods without a node, for "default-scheduler", without gates, not terminating; priority
 * first, then the order they were queued. A pod that fits nowhere gets PodScheduled=False with
 * reason Unschedulable and the message kube-scheduler writes; it is tried again when something
 * changed that could help, not before its back-off (1 s doubling to 10 s) is over.
 *
 * Filters and scores are rows of a table of plug-ins (sched/sched_fit.c): each has a filter that
 * says why not, and a score 0..100 with the weight of the default profile. Ties go to chance, from
 * a stream of the scheduler's own.
 *
 * A pod that fits nowhere may take the place of pods of lower priority (sched/sched_preempt.h): the
 * victims are deleted, the pod is nominated for their node and tried there first; others of lower
 * priority count it as placed there. A pod with claims is bound once all its volumes are, at the
 * latest SIM_SCHED_BIND_NS after its node was chosen, else it starts anew.
 *
 * Of more than 100 nodes it looks at a part (sched/sched_order.h).
 *
 * The scheduler keeps its own account of what every node has given away and assumes its bindings
 * at once, as the real one's cache does.
 */
#ifndef KARP_SIM_SCHED_H
#define KARP_SIM_SCHED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define SIM_SCHED_CYCLE_NS (1 * NS_PER_MS) /* one pod */
#define SIM_SCHED_BACKOFF_MIN_NS (1 * NS_PER_S)
#define SIM_SCHED_BACKOFF_MAX_NS (10 * NS_PER_S)
#define SIM_SCHED_BIND_NS (10 * NS_PER_MIN) /* how long volumes may take */

struct sim_world;
struct sim_sched;

struct sim_sched *sim_sched_new(struct sim_world *w);
void sim_sched_free(struct sim_sched *s);
/* Spread constraints of pods that declare none, in place of the built-in ones. Kept. */
void sim_sched_default_spreads(struct sim_sched *s, json_t *list);
/* Stopped, it takes up nothing; started again, it goes on with what is pending. */
void sim_sched_stop(struct sim_sched *s);
void sim_sched_start(struct sim_sched *s);
bool sim_sched_stopped(const struct sim_sched *s);
/* Pods that wait for a node. */
uint64_t sim_sched_pending(const struct sim_sched *s);

/* For comparisons: the nodes that share the best score for a pod that waits, as an array of names
 * in no order (chance would take one of them). If it fits nowhere the array is empty: where it
 * would make room for itself *ret_room is an array of {node, victims}, equally good ones in no
 * order, else the message is in *ret_why (heap). Nothing is placed, nobody has to go. NULL if no
 * such pod waits. New references. */
json_t *sim_sched_would(struct sim_sched *s, const char *ns, const char *pod, json_t **ret_room,
                        char **ret_why);

#endif
