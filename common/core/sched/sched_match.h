/*
 * sched_match.h - which groups select a pod; internal to sched_topo.c and sched_match.c.
 *
 * A group whose selector asks for one of some values of a label is looked up by these, so that a
 * pod is held against those groups alone that ask for what it has, and against the few others.
 */
#ifndef KARP_CORE_SCHED_MATCH_H
#define KARP_CORE_SCHED_MATCH_H

#include "sched_int.h"
#include "sched_text.h"

struct groups {
    struct topo_group **v;
    uint32_t n, cap;
};

struct topo_table {
    struct text_table texts;
    const char **keys; /* label keys that selectors ask for, sorted once all are known */
    uint32_t n_keys, cap_keys;
    struct groups others; /* that ask for no value */
};

/* The group is new. */
void match_group(struct sched *s, struct topo_group *g);
/* Groups whose selector the pod matches, in the order in which they were made; not those of an
 * owner. Once all groups are known. Equal lists are one. */
const struct groups *match_pod(struct sched *s, const struct pod *p);
bool match_in_list(struct topo_group *const *v, uint32_t n, const struct topo_group *g);

#endif
