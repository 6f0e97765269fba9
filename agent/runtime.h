/*
 * runtime.h - what every controller gets: the agent's shared services, wired once by agent.c.
 *
 * Controllers keep pointers to nothing else. Order of birth is the order below, order of death the
 * reverse. rt->kube and rt->aws are the fenced ports (gate.h): a controller cannot write when it
 * must not, and need not ask. rt->timers is the agent's own heap; every timer in it dies with it.
 */
#ifndef KARP_AGENT_RUNTIME_H
#define KARP_AGENT_RUNTIME_H

#include "agent.h"
#include "common/base/timer.h"
#include "common/core/labels.h"
#include "common/kube/client.h"

struct aws_client;
struct cloud;
struct commands;
struct consent;
struct creator;
struct decoder;
struct churnguard;
struct driftguard;
struct events;
struct gate;
struct gc;
struct history;
struct ineffective;
struct intents;
struct launchlog;
struct observed;
struct launcher;
struct observer;
struct marker;
struct metrics;
struct reghealth;
struct spared;
struct store;
struct throttle;
struct walltime;

struct runtime {
    const struct agent_options *opt;
    const struct clock *clock; /* walltime.h's */
    struct walltime *walltime;
    struct entropy *entropy;
    const struct log *log;
    struct timers timers;
    struct symtab *syms;
    struct decoder *decoder;
    struct metrics *metrics;
    struct gate *gate;
    struct throttle *throttle;
    struct kube_port kube;     /* at most so many a second, and fenced */
    struct kube_client client; /* above rt->kube, field manager karp-agent */
    struct aws_port aws;       /* fenced */
    struct aws_client *awsc;   /* retries above rt->aws */
    struct marker *marker;     /* NULL: nothing outlives the process */
    struct store *store;
    struct intents *intents;         /* which pods are planned where */
    struct ineffective *ineffective; /* launches that help nobody */
    struct observed *observed;       /* what nodes have that were not as computed */
    struct churnguard *churnguard;   /* pods that are moved to and fro */
    struct driftguard *driftguard;   /* drift that waits */
    struct reghealth *reghealth;     /* do a pool's nodes join? */
    struct spared *spared;           /* what was begun with them came to nothing */
    struct launchlog *launches;      /* do a pool's launches fail? */
    struct events *events;
    struct cloud *cloud;
    struct launcher *launcher; /* for launcher_settled */
    struct gc *gc;             /* for gc_halted */
    struct creator *creator;   /* creates every NodeClaim */
    struct commands *commands; /* removes nodes by our own decision */
    struct consent *consent;   /* disruptions that wait for a person */
    struct history *history;   /* why nodes left */
    struct observer *observer; /* mode observe: what would have been done; else NULL */
    char identity[128];        /* karp-agent-<pod>-<rand> */
    const char *cluster_uid;   /* UID of namespace kube-system, NULL until known */
    bool ended;
    struct err ended_why;
};

/* This machine's clock is off by more than RUNTIME_SKEW_NS, by the API server's or EC2's: nothing
 * is done because of an age. */
#define RUNTIME_SKEW_NS (30 * NS_PER_S)
bool runtime_clock_skewed(struct runtime *rt);

/* The agent cannot go on: sets ended, logs once. */
void runtime_end(struct runtime *rt, const struct err *why);

#endif
