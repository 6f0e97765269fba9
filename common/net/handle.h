/*
 * handle.h - numbers for things that are open: found in one step, never mistaken for a later one.
 *
 * A handle is a place in a table and the generation of that place; it is never 0 and is not given
 * again before 2^32 others have had its place. The things are borrowed.
 */
#ifndef KARP_NET_HANDLE_H
#define KARP_NET_HANDLE_H

#include "common/base/compat.h"

struct handle_slot {
    void *thing; /* NULL = free */
    uint32_t generation;
    uint32_t next_free;
};

struct handles {
    struct handle_slot *slots; /* place 0 is never used */
    uint32_t n_slots, cap_slots;
    uint32_t free_slot; /* 0 = none */
    size_t n;           /* open ones */
};

void handles_init(struct handles *h);
void handles_done(struct handles *h);
uint64_t handles_take(struct handles *h, void *thing);
void *handles_find(const struct handles *h, uint64_t handle); /* NULL if closed or unknown */
void handles_give(struct handles *h, uint64_t handle);        /* closes; must be open */
/* Any open one, or NULL: for closing all of them. *from starts at 0. */
void *handles_next(const struct handles *h, uint32_t *from);

#endif
