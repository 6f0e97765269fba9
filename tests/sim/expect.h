/*
 * expect.h - expectations: one thing, one comparison, and when it must hold.
 *
 *   neither within nor for   judged once, when everything due at `at` is done
 *   within: D                must have been true once by at + D
 *   for: D                   must be true from at until at + D
 *   both                     becomes true within, then stays true for
 *
 * Open expectations are looked at after every event that can have changed what they see.
 */
#ifndef KARP_SIM_EXPECT_H
#define KARP_SIM_EXPECT_H

#include "common/base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct sim_run;

struct expecting {
    const json_t *what;               /* borrowed from the scenario */
    int64_t at_ns, within_ns, for_ns; /* -1 = not given */
    int64_t since_ns;                 /* true since; -1 = not yet */
    bool closed;
};

/* Shape and fields; ERR_INVALID names the place. */
int expect_check(const json_t *what, const char *where, struct err *reterr);
/* Takes up one expectation whose time has come. */
void expect_open(struct sim_run *r, const json_t *what);
/* Looks at all open ones; those that are decided are closed, failures noted. */
void expect_look(struct sim_run *r);
/* The next instant at which an open one must be looked at, NS_NEVER if none. */
int64_t expect_deadline_ns(const struct sim_run *r);

#endif
