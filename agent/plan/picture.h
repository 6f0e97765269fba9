/*
 * picture.h - the cluster as a decision about placing pods sees it.
 *
 * store_snapshot_in, the pools that are open (poolgate.h), and what is planned but not bound
 * (intents.h): pods that are planned, or that a command is about to plan, are left out; the room of
 * planned ones is taken off their targets, and no decision may put beside them what must not be
 * there; what a command replaces and what replaces it count once against limits (command.h).
 * Launches that help nobody are named (ineffective.h). The store is frozen by the caller
 * from before until what the snapshot borrows is done with.
 */
#ifndef KARP_AGENT_PICTURE_H
#define KARP_AGENT_PICTURE_H

#include "agent/runtime.h"
#include "common/core/sched/sched.h"
#include "common/core/snapshot.h"

struct picture_in {
    int64_t launches_left;    /* -1 = any number */
    const char *const *first; /* as of snapshot_in */
    uint32_t n_first;
    const char *only; /* pods of this workload alone are to be placed (picture_next); "" = none;
                       * NULL = all */
    const char *const *leaving; /* what if these claims left: their pods are to be placed, too */
    uint32_t n_leaving;
};

/* A pod of the first workload by name after that one whose pods are to be placed; NULL: there is
 * none. A workload is a controller by its UID, or a pod by its own. Frozen as below. */
const struct pod *picture_next(struct runtime *rt, struct arena *a, const char *after);
const char *picture_workload(const struct pod *p);

/* In parts: what of the agent's state is in it is as of now; its pods are there when snapshot_step
 * has said so. The arena is for the steps alone meanwhile. */
struct snapshot_work *picture_begin(struct runtime *rt, struct arena *a,
                                    const struct picture_in *in, struct snapshot *ret);
void picture_build(struct runtime *rt, struct arena *a, const struct picture_in *in,
                   struct snapshot *ret);
/* How pods are placed: what the flags say. */
void picture_options(struct runtime *rt, struct arena *a, struct sched_options *ret);

#endif
