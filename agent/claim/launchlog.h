/*
 * launchlog.h - how a pool's last launches went: static stability.
 *
 * A claim counts as a failed launch if it goes without ever having registered, as a good one when
 * it registers. While a pool's last LAUNCHLOG_RING launches all failed, nothing is removed from it
 * voluntarily: what is there is all there will be. A cache: empty after a restart.
 */
#ifndef KARP_AGENT_LAUNCHLOG_H
#define KARP_AGENT_LAUNCHLOG_H

#include "agent/runtime.h"

#define LAUNCHLOG_RING 3

struct launchlog;

struct launchlog *launchlog_new(struct runtime *rt); /* subscribes to claims */
void launchlog_free(struct launchlog *l);
bool launchlog_failing(const struct launchlog *l, const char *pool);
/* The same, but the last failure is no longer ago: whoever launches before he removes may try again
 * after a while, since nothing else may. */
bool launchlog_failing_within(const struct launchlog *l, const char *pool, int64_t ns);

#endif
