/*
 * world.h - one simulated cluster: virtual time, API server, scheduler, kubelets, controllers.
 *
 * A world owns everything in it. The parts know each other through it and nothing else: no globals,
 * several worlds may live in one process. It has a single thread, and nothing in it ever waits:
 * whoever holds the world moves time (vclock_step, vclock_run_to).
 *
 * The simulated EC2 (ec2/ec2.h) hangs itself beside: it uses the clock's port and timers, its hooks
 * `boot` and `down` lead to sim_node_join and sim_node_stop (kubelet.h), and the cloud controller
 * manager asks `cloud` whether the instance of a silent node still exists. An agent is a guest: it
 * gets sim_api_port(w->api, "karp-agent-…"), the EC2's aws_port, vclock_port and an entropy, and is
 * hung into the clock as a driver.
 *
 * The record: sim_note() adds a line to the timeline that people read; sim_trace() a line to the
 * trace (only kept when tracing). Both hold virtual time only.
 */
#ifndef KARP_SIM_WORLD_H
#define KARP_SIM_WORLD_H

#include "api.h"
#include "kubelet.h"
#include "sched.h"
#include "vclock.h"
#include "workloads.h"

#define SIM_TIMELINE_MAX 20000u

struct sim_note {
    int64_t at_ns;
    char *what;
};

/* What the cloud controller manager knows of the cloud. */
struct sim_cloud {
    bool (*exists)(void *ctx, const char *provider_id); /* NULL: until sim_node_gone */
    void *ctx;
};

struct sim_world {
    struct vclock clock;
    struct sim_api *api;
    struct sim_sched *sched;
    struct sim_kubelet *kubelet;
    struct sim_workloads *workloads;
    struct sim_cloud cloud; /* set by whoever joins world and EC2 */
    struct sim_note *notes;
    size_t n_notes, cap_notes;
    /* Gets every trace line without newline, "12.345s what"; NULL = no trace. */
    void (*trace)(void *ctx, const char *line);
    void *trace_ctx;
};

struct sim_world_options {
    int64_t start_wall_ns;
    uint64_t seed;
};

/* A cluster with no node: namespaces, StorageClass gp3, the system PriorityClasses. */
struct sim_world *sim_world_new(const struct sim_world_options *o);
void sim_world_free(struct sim_world *w);

void sim_note(struct sim_world *w, const char *fmt, ...) PRINTF(2, 3);
void sim_trace(struct sim_world *w, const char *fmt, ...) PRINTF(2, 3);

#endif
