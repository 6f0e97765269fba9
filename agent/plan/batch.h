/*
 * batch.h - wait a little for more of the same before deciding.
 *
 * The first trigger opens a window; every element that is new to it restarts the idle time; it
 * closes when nothing new came for idle_ns or when it has been open for max_ns. Ours: it also
 * closes once BATCH_ENOUGH elements are in it. So many fill nodes by themselves, waiting for more
 * would not make them cheaper, and the first of them run while the last are still being made.
 */
#ifndef KARP_AGENT_BATCH_H
#define KARP_AGENT_BATCH_H

#include "agent/runtime.h"

#define BATCH_MAX 500000
#define BATCH_ENOUGH 250

struct batch;

struct batch *batch_new(struct runtime *rt, int64_t idle_ns, int64_t max_ns,
                        void (*closed)(void *ctx), void *ctx);
void batch_free(struct batch *b);
void batch_trigger(struct batch *b, const char *uid);

#endif
