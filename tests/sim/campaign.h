/*
 * campaign.h - many seeds on all cores.
 *
 * Worker processes take job after job (a job is one seed of one file); a worker that dies of its
 * job, or hangs in it longer than CAMPAIGN_HANG_S, costs that job alone: it counts as failed and
 * another worker goes on. Failing jobs are printed as they come, with the command that plays them
 * again; at the end what it took, and last "N passed, N failed".
 */
#ifndef KARP_SIM_CAMPAIGN_H
#define KARP_SIM_CAMPAIGN_H

#include "scenario.h"

#include <stdbool.h>

#define CAMPAIGN_HANG_S 300
#define CAMPAIGN_WORKERS_MAX 256
#define CAMPAIGN_TEXT 512

struct campaign_result {
    bool passed;
    double virtual_s;
    char why[CAMPAIGN_TEXT]; /* of a failure, one line */
};

struct campaign {
    const struct scenario *files;
    int n_files;
    int64_t first_seed, last_seed;
    int workers;
    const char *replay_flags; /* " --faults harsh" */
    /* Plays one job; 2 = the file is wrong (told on stderr): the campaign ends. */
    int (*play)(void *ctx, const struct scenario *s, int64_t seed, struct campaign_result *ret);
    void *ctx;
};

/* Exit status: 0, 1 if a job failed, 2 if a file was wrong. */
int campaign_run(const struct campaign *c);

#endif
