/*
 * bench.h - karp-bench: the decision core by itself, timed on inputs from files.
 *
 * An input is measured in a process of its own (bench_apart), so that neither memory nor caches of
 * one reach the next, and one that fails leaves its row empty. The clock starts with decoded
 * objects and runs to the end of the decision; of several runs the median is told. Peak memory is
 * how far the resident size rises during the runs above what decoded input needs.
 *
 * A report is a JSON object (-o json). In the table, upstream's stands beside it: as recorded in
 * the folder of inputs, or from a program that is run on the same input right before (--peer).
 */
#ifndef KARP_BENCH_H
#define KARP_BENCH_H

#include "cmd/read/types.h"
#include "cmd/world.h"
#include "common/core/disrupt/consolidate.h"
#include "common/core/sched/sched.h"

#define BENCH_REPEAT_MAX 1000u
#define BENCH_FILES_MAX 64u
#define BENCH_DATA "tests/bench/data"
#define BENCH_REGION "us-west-2"

/* What there is to be measured, and how. Texts are borrowed from argv or the folder's list. */
struct bench_input {
    const char *name;
    const char *types; /* a file, or "builtin": EC2's catalog and prices in region */
    const char *region;
    const char *pools[BENCH_FILES_MAX], *pods[BENCH_FILES_MAX];
    size_t n_pools, n_pods;
    const char *cluster;      /* consolidate: pools, claims, nodes and pods in one file */
    const char *policy;       /* Respect, Ignore, Reasonable */
    enum placement placement; /* schedule */
    uint32_t repeat;
    const char *plan; /* where the plan of the last run goes, or NULL */
    bool rest;        /* the peer carries commands out until it rests */
};

/* ---- bench_input.c: what is decoded before the clock starts ---------------------------------- */

struct bench_world {
    struct world w;
    struct types types;      /* those of a file */
    struct arena mem;        /* scratch of the built-in catalog */
    struct catalog *catalog; /* of whatever source */
    struct offerings *offerings;
};

/* On failure nothing is left behind. */
int bench_read(const struct bench_input *in, struct bench_world *ret, struct err *reterr);
void bench_world_done(struct bench_world *b);
/* One snapshot of everything there is, as the agent makes it. */
void bench_snapshot(struct arena *a, const struct bench_world *b, struct snapshot *ret);
bool bench_policy(const char *text, enum preference_policy *ret);

/* ---- bench_run.c: processes, clock, memory --------------------------------------------------- */

/* Measures one input; a new report, or NULL. */
typedef json_t *(*bench_fn)(const struct bench_input *in, struct err *reterr);
/* fn in a child process. */
json_t *bench_apart(bench_fn fn, const struct bench_input *in, struct err *reterr);
/* The one JSON object that a program prints. argv ends with NULL. */
json_t *bench_program(const char *const *argv, struct err *reterr);

/* Processor time of the process. */
double bench_cpu_ms(void);

/* One decision on decoded input: all that `decide` does is on the clock. What it returns lies in
 * the arena, is reported of the last run and was the caller's only there; `report` adds to o and
 * may fail (the plan's file). */
struct bench_decision {
    void *(*decide)(struct arena *a, const struct bench_input *in, const struct bench_world *b,
                    struct snapshot *snap);
    int (*report)(struct arena *a, const struct bench_input *in, const struct bench_world *b,
                  const struct snapshot *snap, void *decided, json_t *o, struct err *reterr);
};
/* Reads the input and decides as often as it says: kind, input, pods, nodes, medians of time, peak
 * memory, and what the decision tells of itself. NULL with *reterr set. */
json_t *bench_measure(const struct bench_input *in, const struct bench_decision *d,
                      struct err *reterr);
void bench_put_int(json_t *o, const char *key, int64_t n);
/* Takes the plan. */
int bench_write_plan(const char *path, json_t *plan, struct err *reterr);
json_t *bench_price(int64_t pusd_h); /* a decimal string, as everywhere */

/* ---- bench_bound.c --------------------------------------------------------------------------- */

/*
 * No fleet that carries these pods costs less. The larger of two bounds: the linear programme over
 * cpu, memory, number of pods and number of nodes, with every pool's cheapest offerings and nodes
 * in fractions, and at least as many nodes as the largest set of pods that exclude each other from
 * a host; and whole nodes, as if every pod were as small as the smallest of them in everything
 * (exact where they are alike). 0 = nothing is known. pods may not all be placeable; pass those
 * that are.
 */
int64_t bench_bound(const struct snapshot *s, const struct pod *const *pods, uint32_t n);

/*
 * No plan that saves as much as this one moves fewer pods. The larger of two bounds again: the same
 * programme, where nodes may leave in fractions, a node costs its pods, what leaves has to be worth
 * what comes and the saving, and the room that stays and comes has to hold what moves; and two
 * knapsacks over whole nodes and smallest pods. All rules between pods but those of the largest set
 * that exclude each other, budgets, and blocked nodes are left out, so the bound holds for every
 * input; it is only tight where these matter little.
 */
int64_t bench_least_moves(const struct snapshot *s, const struct consolidate_result *res);

/* ---- commands: 0, 1 failed, 2 wrong usage ---------------------------------------------------- */

int bench_schedule(int argc, char **argv);
int bench_consolidate(int argc, char **argv);
int bench_generate(int argc, char **argv);
int bench_types(int argc, char **argv);

/* ---- bench_args.c: one loop for all commands' options ---------------------------------------- */

enum bench_arg_kind { ARG_TEXT, ARG_COUNT, ARG_FLAG, ARG_FILES };

struct bench_arg {
    const char *name;
    enum bench_arg_kind kind;
    void *to;      /* const char **, int64_t *, bool *, or const char *[BENCH_FILES_MAX] */
    size_t *n;     /* ARG_FILES: how many; all up to the next option */
    int64_t least; /* ARG_COUNT: its bounds */
    int64_t most;
};

/* False, with a message on stderr, for anything unknown or out of bounds. */
bool bench_args(int argc, char **argv, const struct bench_arg *v, size_t n);

/* ---- bench_suite.c: all inputs of a folder, and upstream beside ------------------------------ */

struct bench_column {
    const char *head;
    /* Either printf's format of a number and where it stands in the report ("upstream.claims"), */
    const char *fmt, *path;
    /* or what writes the cell; "" if there is nothing to say. */
    void (*cell)(const json_t *report, char *dst, size_t size);
    bool left;
};

struct bench_suite {
    const char *list;       /* "schedule", "consolidate" in inputs.json */
    const char *folder;     /* of inputs.json and what it names */
    const char *peer;       /* a program, or NULL: what is recorded counts */
    const char *only;       /* a glob over names, or NULL */
    const char *output;     /* "table" or "json" */
    bool record;            /* writes what the peer said into inputs.json */
    struct bench_input how; /* repeat, region, and types where not NULL */
    bench_fn fn;
    const struct bench_column *columns;
    size_t n_columns;
    /* The peer's arguments behind its name, ending with NULL; at most BENCH_PEER_ARGS of them. */
    void (*peer_args)(const struct bench_input *in, const char **argv);
};

#define BENCH_PEER_ARGS 16

/* Options that both commands have, and those in more; defaults. 0, or 2 after a message. */
int bench_options(struct bench_suite *s, int argc, char **argv, const struct bench_arg *more,
                  size_t n_more);
int bench_suite(const struct bench_suite *s);
/* The one input that `how` describes. */
int bench_alone(struct bench_suite *s, const char *name);

/* ---- bench_table.c --------------------------------------------------------------------------- */

/* A table, or JSON: one report as it is, several in a list. 1 if one of them failed. */
int bench_print(const struct bench_suite *s, json_t *reports);
/* A number or the text of one; NAN if there is none. */
double bench_number(const json_t *o, const char *path);
/* v as fmt says, nothing for NAN. */
void bench_put(char *dst, size_t size, const char *fmt, double v);
void bench_cell_name(const json_t *report, char *dst, size_t size);
void bench_cell_faster(const json_t *report, char *dst, size_t size);
void bench_cell_by_cpu(const json_t *report, char *dst, size_t size);
void bench_cell_mib(const json_t *report, char *dst, size_t size);
void bench_cell_their_mib(const json_t *report, char *dst, size_t size);

#endif
