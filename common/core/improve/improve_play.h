/*
 * improve_play.h - the replay of improve_safe.c: what it is played with; only improve_*.c.
 *
 *   improve_turn.c  who comes when
 *   improve_like.c  kinds that all places take alike but for their size
 *   improve_safe.c  where to, and what grows
 */
#ifndef KARP_CORE_IMPROVE_PLAY_H
#define KARP_CORE_IMPROVE_PLAY_H

#include "common/base/keysort.h"
#include "improve_int.h"

/* Pods come to places: bins first, then the fixed ones. */
struct arrival {
    uint32_t pod, kind, place, bay, troop;
    bool next; /* comes after the one before; else nobody knows which comes first */
};

/* A place that stays as it is: a node or a claim. */
struct fixed {
    const struct sched_node *node;
    const struct sched_open *c;
    int64_t room[RES_FIXED];
    uint32_t *counts; /* per rule about hosts, before the first pod comes; NULL: none */
};

/* No more than so many pods of a rule about hosts may be there. */
struct host_limit {
    uint32_t group;
    int64_t n;
};

/* What a kind asks of hosts, and which of their counts it adds to. */
struct host_rules {
    struct host_limit *limits;
    uint32_t *counted;
    uint32_t n_limits, n_counted;
    bool at_home; /* goes where it was planned */
};

/* First nodes grow. Where some could not, the plan is held against the claims as they were: all
 * rounds again with either, and nothing grows. */
enum play { PLAY_GROW, PLAY_PLAN, PLAY_BASELINE };

struct improve_safe {
    struct arrival *turns; /* per pod of the snapshot; not `next`: it has no place */
    uint32_t keyed;        /* of them so many were looked at */
    struct keysort order;
    struct arrival *pods; /* in order */
    uint32_t n_pods;
    struct host_rules *rules; /* per kind */
    uint32_t *like;           /* per kind: the first that places take or refuse as they do it */
    struct fixed *fixed;
    uint32_t n_fixed, n_places;
    const int64_t **room; /* per place */
    int64_t *left;        /* room per place and dimension */
    uint32_t *bay;        /* per place; IMPROVE_NONE: fixed */
    uint32_t **counts;    /* per place and rule about hosts; NULL: no pod yet that any concerns */
    int64_t (*scale)[2];  /* per place: of cpu and memory */
    struct improve_sieve sieve;
    uint32_t start;            /* the place where the next look begins */
    uint32_t *waiting;         /* pods, by number */
    uint32_t n_waiting, still; /* of those of this wave so many go on waiting */
    uint32_t wave, n_waves;
    uint8_t *accepts;       /* kind × bay: 0 not known, 1 no, 2 yes */
    uint8_t *fixed_accepts; /* kind × fixed place, likewise */
    uint32_t at, round, rounds, quiet;
    uint32_t sample, enough; /* places that are compared for a pod, and in this round */
    uint32_t stage;
    bool grown;
    enum play play;
    uint32_t lost, lost_plan; /* pods without a node, in all rounds of a play */
    bool capped;              /* a node did not grow, as that would have cost more than is saved */
    bool failed;
    int64_t total_pusd_h; /* of the bins */
    int cpu, memory;      /* dimensions, -1: nobody asks */
};

/* ---- improve_turn.c -------------------------------------------------------------------------- */

/* All pods that the pass has placed, and the places. */
void improve_turn_begin(struct improve *m, struct improve_safe *r);
/* Looks at their ages and puts them in order, a part at a time; true at the end. */
bool improve_turn_sort(struct improve *m, struct improve_safe *r);
/* The order of this round. */
void improve_turn_round(struct improve *m, struct improve_safe *r);
uint32_t improve_chance(const struct improve_safe *r, uint32_t x);

/* ---- improve_like.c -------------------------------------------------------------------------- */

/* Once the rules are known: kinds that differ in nothing that a place looks at but their size. */
void improve_like_find(struct improve *m, struct improve_safe *r);

#endif
