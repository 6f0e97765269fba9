/*
 * bench_generate.h - the parts of karp-bench generate.
 *
 * Pods come in workloads, as ReplicaSets make them: alike, with one label of their own, and with
 * rules that are about themselves. Sizes are those that people write. Everything follows from the
 * seed; the built-in generator stands in for chance, so the same files come out everywhere.
 */
#ifndef KARP_BENCH_GENERATE_H
#define KARP_BENCH_GENERATE_H

#include "bench.h"

#include "common/base/entropy.h"

#define GENERATE_PODS_MAX 1000000
#define GENERATE_NODES_MAX 100000
#define GENERATE_POOLS_MAX 100
#define GENERATE_TIME "2026-01-01T00:00:00Z" /* of whatever carries a time */
/* What both peer and karp-bench take for a class that says nothing. */
#define GENERATE_CLASS                                                                             \
    "{\"group\":\"karpenter.test.sh\",\"kind\":\"TestNodeClass\",\"name\":\"default\"}"

enum generate_rule {
    RULE_NONE,
    RULE_SPREAD_ZONE,
    RULE_SPREAD_HOST,
    RULE_AFFINITY_ZONE,
    RULE_ANTI_HOST,
    RULE_PREFERENCE
};

struct generate {
    struct entropy chance;
    uint64_t state; /* of chance */
    int64_t pods, nodes, pools, seed;
    const char *shape, *out;
    struct buf text; /* the object at hand */
    void *file;      /* gzFile */
    bool failed;     /* a write did */
    bool first;      /* nothing in the list at hand yet */
};

/* ---- the file at hand ------------------------------------------------------------------------ */

int generate_open(struct generate *g, const char *name, struct err *reterr);
int generate_close(struct generate *g, const char *name, struct err *reterr);
void generate_text(struct generate *g, const char *text);
/* Begins the next member of a list; generate_flush writes what stands in g->text since. */
void generate_next(struct generate *g);
void generate_flush(struct generate *g);

/* ---- pods ------------------------------------------------------------------------------------ */

struct generate_pod {
    int64_t number, workload;
    int64_t cpu_milli, mem_mib;
    enum generate_rule rule;
    int64_t team;     /* whose pool it asks for, -1 = any */
    const char *node; /* bound to it, NULL = pending */
};

int64_t generate_cpu(struct generate *g);
int64_t generate_mem(struct generate *g);
void generate_pod_json(struct generate *g, const struct generate_pod *p);
/* Conditions that are all True. */
void generate_conditions(struct buf *b, const char *const *types, size_t n);
/* Everything of a pool; `changing`: its nodes may be consolidated. */
void generate_pool_json(struct generate *g, int64_t i, bool changing);
bool generate_is_rule(const char *shape);
bool generate_is_cluster(const char *shape);
int generate_pods(struct generate *g, struct err *reterr);
int generate_pools(struct generate *g, struct err *reterr);
/* Nodes of the catalog's types with pods on them; b has no objects. */
int generate_cluster(struct generate *g, struct bench_world *b, struct err *reterr);

#endif
