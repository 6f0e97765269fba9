/*
 * run.h - one scenario played once: world, cloud and agents joined, steps carried out in virtual
 * time, expectations judged, invariants watched, everything counted.
 *
 * A run is deterministic: file and seed decide every byte of its trace. Order at one instant:
 * events of the world, then turns of agents; a step runs when nothing earlier is left, and an
 * expectation without within is judged once everything due at or before its time is done.
 *
 * Failures are texts: "at 3m0s: count pods …: wanted eq 10, seen 7 (seed 1)".
 */
#ifndef KARP_SIM_RUN_H
#define KARP_SIM_RUN_H

#include "faults.h"
#include "scenario.h"
#include "tests/sim/ec2/ec2.h"
#include "tests/sim/kube/world.h"

#define RUN_FAILURES_MAX 100
#define RUN_VIOLATIONS_MAX 100

struct sim_run;
struct sim_guest;
struct sim_watchdog;

struct run_options {
    uint64_t seed;
    enum faults_level faults;
    int64_t turn_limit_ns; /* 0 = the agents' turns are not measured (invariants.h: Turn) */
    void (*trace)(void *ctx, const char *line); /* NULL = no trace */
    void *trace_ctx;
};

struct run_texts {
    char **v;
    size_t n, cap, max;
};

/* What happened to pods at the agents' hands, for `evictions` and `deletions`. */
struct run_removed {
    json_t *labels;
    bool evicted;
};

struct sim_run {
    const struct scenario *scenario;
    struct run_options opt;
    struct sim_world *world;
    struct simec2 *ec2;
    struct sim_guest *guests[SCENARIO_REPLICAS_MAX];
    int n_guests;
    struct sim_watchdog *watchdog; /* invariants.h */
    struct sim_faults *faults;
    size_t n_done;               /* steps carried out */
    struct expecting *expecting; /* expect.h: open ones */
    size_t n_expecting, cap_expecting;
    struct run_texts failures, violations;
    struct api_trouble *trouble; /* steps.h */
    /* counted as it goes (tally.h) */
    struct run_removed *removed;
    size_t n_removed, cap_removed;
    json_t *removing;  /* labels of the pod whose deletion is being served, or NULL */
    double *pending_s; /* pods: creation to Running */
    size_t n_pending, cap_pending;
    int64_t pods, pods_running;
    uint64_t nodes_launched, nodes_removed, evictions;
    int64_t second;                       /* of virtual time that is being counted */
    uint64_t second_calls, most_a_second; /* what agents ask of the API server, but watches */
    double dollars;
    int64_t cost_since_ns, cost_pusd_h;
    /* borrowed by world and cloud for the run */
    struct clock clock;
    struct simec2_hooks ec2_hooks;
    struct sim_api_hooks api_hooks;
    /* of the present event, when turns are measured */
    bool agent_ran;
    int64_t step_cpu_ns, longest_turn_ns, agents_cpu_ns;
    /* what the last look saw */
    int64_t seen_version, seen_at_ns;
    uint64_t seen_calls;
};

struct sim_run *sim_run_new(const struct scenario *s, const struct run_options *o,
                            struct err *reterr);
/* Plays to the end. -1 and ERR_INVALID if a step turned out to be wrong. */
int sim_run_play(struct sim_run *r, struct err *reterr);
void sim_run_free(struct sim_run *r);

/* Carries out again what the scenario's steps so far did to objects (apply, scale, patch, delete by
 * name), as whoever keeps a cluster's manifests does after a restore. What cannot be done is passed
 * over. */
void sim_run_redo(struct sim_run *r);

bool sim_run_passed(const struct sim_run *r);
/* The object that -o json prints. New reference. */
json_t *sim_run_report(const struct sim_run *r, int64_t wall_ms);

/* Processor time of the present event so far; 0 when turns are not measured. */
int64_t sim_run_spent_ns(const struct sim_run *r);

void run_text_add(struct run_texts *t, const char *fmt, ...) PRINTF(2, 3);

#endif
