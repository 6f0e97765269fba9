/*
 * provision_report.h - what people see of the provisioner: log lines, Events, gauges.
 *
 * Events: Nominated (Normal, per pod), FailedScheduling (Warning, per pod and 5 minutes, with the
 * reason of every pool, nearest first, as `kubectl karp explain` words it; at most
 * EVENTS_MESSAGE_MAX bytes). Nothing here decides anything.
 */
#ifndef KARP_AGENT_PROVISION_REPORT_H
#define KARP_AGENT_PROVISION_REPORT_H

#include "agent/runtime.h"
#include "common/core/sched/sched.h"
#include "order.h"

#define FAILED_SCHEDULING_NS (5 * NS_PER_MIN)

struct provision_report;

struct provision_report *provision_report_new(struct runtime *rt);
void provision_report_free(struct provision_report *r);

#define PROVISION_REFUSED_MAX 500 /* told per decision; the next one goes on from there */

/* A decision without pods: gauges go to 0. */
void provision_report_nothing(struct provision_report *r);
void provision_report_result(struct provision_report *r, const struct snapshot *snap,
                             const struct sched_result *result, int64_t took_ns);
/* The pod is expected on a node or a claim in flight. */
void provision_report_nominated(struct provision_report *r, const struct pod *p,
                                const struct snapshot_node *n);
void provision_report_ordered(struct provision_report *r, const struct order_pod *p,
                              const char *claim);
void provision_report_created(struct provision_report *r, const struct order *o, const char *claim);

#endif
