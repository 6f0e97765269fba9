/*
 * said.h - what controllers say about an object: Events of karp and Karpenter, conditions. It
 * stands apart from what karp computes, since they may have seen another moment.
 */
#ifndef KARP_CMD_SAID_H
#define KARP_CMD_SAID_H

#include "session.h"

#define SAID_MAX 5u

struct said {
    const char *source, *reason, *message;
    int64_t time_ns; /* 0 = unknown */
};

struct said_list {
    struct said v[SAID_MAX]; /* as added */
    size_t n;
};

/* What is there already, and what comes after SAID_MAX, is left out. */
void said_add(struct said_list *l, const char *source, const char *reason, const char *message,
              int64_t time_ns);
/* The Events about one object, the latest first; ns is "" for cluster-scoped kinds. */
void said_events(struct said_list *l, const struct world *w, enum kube_kind about, const char *ns,
                 const char *name);

/* [{source, reason, time, message}] */
json_t *said_json(const struct said_list *l);
/* A block of its own; nothing if nobody said anything. */
void said_screen(struct session *s, const struct said_list *l, struct buf *out);

#endif
