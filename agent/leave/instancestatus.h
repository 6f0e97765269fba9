/*
 * instancestatus.h - machines that EC2 itself calls broken or is going to stop.
 *
 * Every INSTANCESTATUS_PERIOD_NS DescribeInstanceStatus is asked (it needs no queue), as Karpenter:
 *   instance or system check impaired for INSTANCESTATUS_BAD_NS → the claim goes and nothing waits
 *     for its pods: nobody is there who could stop them (counted once until it recovers)
 *   an event is scheduled (reboot, maintenance, retirement, stop) → the claim goes, gracefully
 * Without the permission it is tried again after an hour.
 *
 * Since when a check fails is taken from EC2, and from our own first look where it does not say.
 * Nothing is done because of an age while the clocks differ.
 */
#ifndef KARP_AGENT_INSTANCESTATUS_H
#define KARP_AGENT_INSTANCESTATUS_H

#include "agent/runtime.h"

#define INSTANCESTATUS_PERIOD_NS NS_PER_MIN
#define INSTANCESTATUS_FORBIDDEN_NS NS_PER_H
#define INSTANCESTATUS_BAD_NS (120 * NS_PER_S)

struct instancestatus;

struct instancestatus *instancestatus_new(struct runtime *rt);
void instancestatus_free(struct instancestatus *s);
void instancestatus_start(struct instancestatus *s);

#endif
