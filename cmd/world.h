/*
 * world.h - the objects that a command looks at, decoded, wherever they came from.
 *
 * Objects are added one by one as JSON (nothing of it is kept); one of the same kind and name
 * replaces the earlier one. world_finish sorts: pods by namespace and name, everything else by
 * name. Kinds that no decision needs are ignored. What cannot be decoded is set aside with its
 * message.
 *
 * Beside the model's kinds it keeps what little commands want of others: Leases named
 * karpenter-leader-election, the agent's facts, history and what it observed (ConfigMaps
 * karp-offerings, karp-history, karp-observed), DisruptionRequests, DisruptionGrants and Holds,
 * Events about pods, nodes, NodeClaims and NodePools, and which image the controllers run.
 *
 * With `keep` every object of a known kind is kept there as it came (objects.h), so that a command
 * can change objects and have the world made anew from them.
 */
#ifndef KARP_CMD_WORLD_H
#define KARP_CMD_WORLD_H

#include "common/kube/client.h"
#include "common/kube/decode.h"

#define WORLD_LEASE "karpenter-leader-election"
#define WORLD_FACTS "karp-offerings"
#define WORLD_HISTORY "karp-history"
#define WORLD_OBSERVED "karp-observed"
#define WORLD_MALFORMED_MAX 1000u
#define WORLD_NOTES_MAX 64u

struct map;
struct objects;

struct world_list {
    void **v;
    size_t n, cap;
};

struct world_lease {
    const char *ns, *holder; /* holder "" = given back */
    int64_t renew_ns, duration_ns;
};

/* What a controller says about an object. */
struct world_event {
    enum kube_kind about; /* pod, node, NodeClaim or NodePool */
    const char *ns, *name;
    const char *reason, *message, *source;
    int64_t time_ns; /* when it was said last, 0 = unknown */
};

/* A controller's pod: which version it is. */
struct world_controller {
    const char *pod, *version; /* version "" if its image has no tag */
};

struct world_malformed {
    const char *kind, *name, *message; /* "pod", "shop/api-1" */
};

struct world {
    struct arena mem;
    struct symtab *syms;
    struct decoder *decoder;
    struct objects *keep;    /* borrowed, may be NULL */
    struct objects *wanting; /* workloads that want more pods than there are, and quotas: held.h */
    struct map *index;       /* "kind/ns/name" → 1 + place in its list */
    struct world_list lists[KIND_COUNT];
    struct world_malformed *malformed;
    size_t n_malformed, cap_malformed;
    struct world_controller *controllers;
    size_t n_controllers, cap_controllers;
    size_t n_objects;         /* of kinds that are known */
    int64_t latest_ns;        /* the latest time stamp met: the world is not older */
    json_t *facts;            /* facts.json of the agent, or NULL */
    json_t *prices;           /* prices.json of the agent, or NULL */
    json_t *history;          /* history.json of the agent, or NULL */
    json_t *observed;         /* observed.json of an observing agent, or NULL */
    const char *agent_ns;     /* where these ConfigMaps are looked for */
    const char *event_fields; /* which Events are asked for, a field selector; NULL = all of pods */

    /* filled by whoever gathers */
    bool live;
    const char *name;                   /* the cluster's, or the file's */
    const char *ns;                     /* the connection's namespace, NULL = none is known */
    const char *version;                /* gitVersion of the API server, NULL = unknown */
    int64_t now_ns;                     /* wall clock, or --at */
    int64_t lease_now_ns;               /* what Leases are compared with */
    int64_t skew_ns;                    /* server's clock minus ours; 0 offline */
    const char *notes[WORLD_NOTES_MAX]; /* what could not be read: the answer may be incomplete */
    size_t n_notes;
    bool hidden[KIND_COUNT]; /* not allowed to list */
    bool absent[KIND_COUNT]; /* the server does not know the kind */
};

void world_init(struct world *w, const char *agent_ns);
void world_done(struct world *w);

/* An object, or a List of them. kind and api_version stand in for what the object does not say, as
 * items of a list; NULL = nothing. Returns how many objects of known kinds there were. */
size_t world_add(struct world *w, const json_t *o, const char *kind, const char *api_version);
/* Forgets all objects of the kind: a list starts over. */
void world_forget(struct world *w, enum kube_kind k);
void world_finish(struct world *w);
/* Forgets everything and adds what `keep` holds; then finish. What was gathered beside objects
 * stays. */
void world_reload(struct world *w);
void world_note(struct world *w, const char *fmt, ...) PRINTF(2, 3);

static inline size_t world_n(const struct world *w, enum kube_kind k)
{
    return w->lists[k].n;
}

static inline const void *world_at(const struct world *w, enum kube_kind k, size_t i)
{
    return w->lists[k].v[i];
}

#endif
