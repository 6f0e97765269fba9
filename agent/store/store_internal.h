/*
 * store_internal.h - what store.c and store_index.c share; nobody else includes it.
 *
 * store.c takes objects in (reflectors, own writes) and gives them out; store_index.c keeps what is
 * derived from them. Every change goes through one place: index first, then subscribers.
 */
#ifndef KARP_AGENT_STORE_INTERNAL_H
#define KARP_AGENT_STORE_INTERNAL_H

#include "agent/runtime.h"
#include "common/base/arena.h"
#include "common/kube/watch.h"
#include "store.h"

#define STORE_MAX_SUBSCRIBERS 32
#define STORE_USAGE_BYTES (4u << 20)       /* soft cap of one node's usage */
#define STORE_USAGE_AGE_NS (10 * NS_PER_S) /* do-not-disrupt by duration ends by itself */

struct subscriber {
    store_change_fn fn;
    void *arg;
};

/* One kind: its reflector and its objects. */
struct kind_store {
    struct store *s;
    enum store_kind kind;
    struct watch *watch;
    struct map *objects;
    struct map *listed; /* names seen by the list that is under way, else NULL */
    struct map *own;    /* written by us, not yet confirmed by the watch; &doubt: nor by a list */
    struct map *gone; /* → version in which our own write ended it; until the watch says so too */
    int64_t seen_rv;  /* greatest version that the reflector showed since its last list began */
    int64_t started_ns;
    uint64_t skipped;
    bool full;         /* there are more than are known */
    uint32_t left_out; /* of them, by the list that is under way */
    struct timer doubt;
    bool relist; /* a list was older than a write of ours: if the watch does not tell, ask anew; or
                  * there is room again for what was left out */
    struct subscriber subs[STORE_MAX_SUBSCRIBERS];
    size_t n_subs;
};

/* Usage of a node, replaced while frozen and recomputed in place otherwise. */
struct usage_box {
    struct arena mem;
    struct node_usage usage;
    int64_t computed_ns;
    bool dirty;
};

struct node_pods {
    struct map *pods;
    struct usage_box *box;
};

/* Objects under one key that need not be unique. */
struct bucket {
    const void **v;
    uint32_t n, cap;
};

struct limbo {
    enum store_kind kind; /* STORE_KINDS: a usage_box */
    void *object;
};

struct store {
    struct runtime *rt;
    struct watch_env env;
    struct kind_store kinds[STORE_KINDS];
    struct map *pods_by_node, *provisionable;
    size_t n_bound;                                           /* pods in pods_by_node */
    struct map *claims_by_pid, *claims_by_uid, *nodes_by_pid; /* of buckets */
    struct map *pdbs_by_ns;                                   /* likewise */
    struct map *nominations;
    unsigned frozen;
    struct limbo *limbo;
    size_t n_limbo, cap_limbo;
};

/* Brings the indexes from before to now; either may be NULL. */
void store_index(struct store *s, enum store_kind kind, const char *key, const void *before,
                 const void *now);
void store_index_init(struct store *s);
void store_index_done(struct store *s);
/* No eviction of the pod is ever granted: its budgets, not their present state, refuse it. */
bool store_held_for_ever(const struct store *s, const struct pod *p);
/* Frees the object now, or at the thaw. */
void store_retire(struct store *s, enum store_kind kind, void *object);
void store_usage_free(struct usage_box *box);

#endif
