/*
 * app.h - one random workload: what its pods ask for, of nodes and of each other. Internal to the
 * generator.
 */
#ifndef KARP_SIM_DIFF_APP_H
#define KARP_SIM_DIFF_APP_H

#include "parts.h"

#define APP_LABEL "app"
#define APPS_MAX 12

struct app {
    json_t *spec, *labels;
    const char *ns;
    /* what enters the room of nodes */
    int cpu_milli, mem_mib, gpus;
    bool ports, volumes;
};

/* The number chooses its name. */
void app_make(struct entropy *dice, unsigned number, struct app *ret);
/* One as users have them. */
void app_make_usual(struct entropy *dice, unsigned number, struct app *ret);
void app_done(struct app *a);

#endif
