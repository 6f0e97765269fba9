/*
 * attention_int.h - internal to attention*.c: the collector.
 */
#ifndef KARP_CMD_ATTENTION_INT_H
#define KARP_CMD_ATTENTION_INT_H

#include "attention.h"
#include "holds.h"

enum attention_topic {
    TOPIC_CLUSTER,
    TOPIC_POD,
    TOPIC_WORKLOAD,
    TOPIC_POOL,
    TOPIC_CLASS,
    TOPIC_CLAIM,
    TOPIC_NODE,
    TOPIC_REQUEST,
    TOPIC_HOLD,
    TOPIC_PRICE,
    TOPIC_OBJECT,
};

struct attention_ctx {
    const struct attention_in *in;
    struct arena *a;
    struct attention_list *out;
};

/* All texts are borrowed. */
void attention_add(struct attention_ctx *x, enum attention_topic topic, const char *code,
                   const char *kind, const char *name, const char *message, const char *fix);

void attention_pods(struct attention_ctx *x);    /* attention_pods.c */
void attention_pools(struct attention_ctx *x);   /* attention_objects.c: pools and classes */
void attention_claims(struct attention_ctx *x);  /* and nodes */
void attention_leaving(struct attention_ctx *x); /* attention_leaving.c */

#endif
