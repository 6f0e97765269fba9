/*
 * launchlog.h - how a pool's last launches went: static stability.
 *
 * A claim counts as a failed launch if it goes without ever having registered, as a good one when
 * it registers. While a pool's last LAUNCHLOG_RING launches all failed, nothing is removed from it
 * voluntarily: what is there is all there will be. That is over LAUNCHLOG_MEMORY_NS after the
 * newest of them: pods that still need a node would have had another launch fail since, and where
 * nobody needs one, none would ever succeed either, and empty nodes would stay for good. A cache:
 * empty after a restart.
 */
#ifndef KARP_AGENT_LAUNCHLOG_H
#define KARP_AGENT_LAUNCHLOG_H

#include "agent/runtime.h"

#define LAUNCHLOG_RING 3
#define LAUNCHLOG_MEMORY_NS (20 * NS_PER_MIN) /* longer than a registration takes to time out */

struct launchlog;

struct launchlog *launchlog_new(struct runtime *rt); /* subscribes to claims */
void launchlog_free(struct launchlog *l);
bool launchlog_failing(const struct launchlog *l, const char *pool);

#endif
