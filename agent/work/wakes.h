/*
 * wakes.h - who is to look again when something shared is done: (queue, key) pairs, each once.
 */
#ifndef KARP_AGENT_WAKES_H
#define KARP_AGENT_WAKES_H

#include "queue.h"

#define WAKES_MAX 100000

struct wakes {
    struct wake *v;
    size_t n, cap;
};

/* Asking twice counts once. Beyond WAKES_MAX nobody is added: their own period wakes them. */
void wakes_add(struct wakes *w, struct queue *q, const char *key);
/* Adds all keys to their queues and forgets them. */
void wakes_run(struct wakes *w);
void wakes_done(struct wakes *w);

#endif
