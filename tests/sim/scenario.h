/*
 * scenario.h - a scenario file, read and checked: what the world is at time 0, what happens when.
 *
 * A file is multi-document YAML: one Scenario (apiVersion karp.dev/v1alpha1), then any number of
 * Kubernetes objects that exist at time 0. Everything is checked here, before anything runs: keys
 * that do not exist, values of the wrong type, times that go back, kinds the world does not serve.
 * Errors are ERR_INVALID and name file, line of the document, and field
 * ("steps[3].scale.replicas").
 *
 * Steps are kept as JSON under their verb; steps.h carries them out, expect.h judges.
 */
#ifndef KARP_SIM_SCENARIO_H
#define KARP_SIM_SCENARIO_H

#include "common/base/err.h"

#include <jansson.h>

#define SCENARIO_FILE_MAX (16u << 20)
#define SCENARIO_STEPS_MAX 10000u
#define SCENARIO_REPLICAS_MAX 4
#define SCENARIO_FLAGS_MAX 64

enum step_verb {
    STEP_APPLY,
    STEP_DELETE,
    STEP_SCALE,
    STEP_PATCH,
    STEP_DECIDE,
    STEP_EC2,
    STEP_SQS,
    STEP_API,
    STEP_AGENT,
    STEP_WORLD,
    STEP_EXPECT,
    STEP_VERBS
};

struct scenario_step {
    int64_t at_ns;
    enum step_verb verb;
    const json_t *arg; /* borrowed from doc */
};

struct scenario {
    char *path;
    json_t *docs; /* owns everything below */
    int line;     /* where the Scenario document begins */
    const char *name;
    int64_t start_wall_ns;
    const char *region;
    json_t *default_spreads; /* of the scheduler, borrowed from docs; NULL: the built-in ones */
    const json_t *ec2;       /* NULL if absent */
    int64_t ready_ns;        /* registered to Ready */
    int replicas;
    int observers; /* further agents, with --mode=observe */
    const char *flags[SCENARIO_FLAGS_MAX + 1];
    struct scenario_step *steps;
    size_t n_steps;
    size_t first_object; /* documents from here on exist at time 0; number 0 is the Scenario */
};

int scenario_read(const char *path, struct scenario *ret, struct err *reterr);
void scenario_done(struct scenario *s); /* also for a zeroed one */

/* Checks that o has no key but those of the NULL-terminated list; where names the place. */
int scenario_keys(const json_t *o, const char *where, const char *const *allowed,
                  struct err *reterr);
/* A duration (with d for days) under key; *ret keeps its value if the key is absent. */
int scenario_duration(const json_t *o, const char *key, const char *where, int64_t *ret,
                      struct err *reterr);

#endif
