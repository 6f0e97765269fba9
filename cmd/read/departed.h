/*
 * departed.h - nodes that left: the agent's history (world.history) as commands show it.
 *
 * An entry is read without trust: what is missing is absent, an entry without time or name is none.
 * Entries are the oldest first.
 */
#ifndef KARP_CMD_DEPARTED_H
#define KARP_CMD_DEPARTED_H

#include "cmd/term.h"
#include "cmd/world.h"

#define DEPARTED_MAX 10000u

struct departed {
    const json_t *o;                                               /* the entry */
    const char *node, *claim, *pool, *type, *zone, *capacity_type; /* "" = unknown */
    const char *reason, *actor, *message, *command;
    const json_t *replaced_by; /* array of names, or NULL */
    int64_t time_ns, ordered_ns;
    int64_t price_pusd_h, replacement_pusd_h; /* PRICE_UNKNOWN */
};

struct departed_list {
    const struct departed *v;
    size_t n;
};

/* kind: KIND_NODE, KIND_NODE_CLAIM or KIND_NODE_POOL; name NULL: of all. since_ns: wall. */
struct departed_list departed_read(const struct world *w, struct arena *a, enum kube_kind kind,
                                   const char *name, int64_t since_ns);

/* As entries of a HistoryReport. New reference. */
json_t *departed_json(const struct departed *d);

/* What is known of one, in a few lines. */
void departed_screen(const struct departed *d, const struct term *term, struct arena *a,
                     int64_t now_ns, bool money, struct buf *out);

#endif
