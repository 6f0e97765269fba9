/*
 * taint_sweep.h - karpenter.sh/disrupted without a command behind it is taken off again, with the
 * claim's condition DisruptionReason: what a crash or an abandoned command left. Nodes and claims
 * that are being deleted keep theirs.
 */
#ifndef KARP_AGENT_TAINT_SWEEP_H
#define KARP_AGENT_TAINT_SWEEP_H

#include "agent/runtime.h"

struct taint_sweep;

/* in_command: the claim is being disrupted by somebody alive in this process. */
struct taint_sweep *taint_sweep_new(struct runtime *rt,
                                    bool (*in_command)(void *ctx, const char *claim), void *ctx);
void taint_sweep_free(struct taint_sweep *s);
/* This node, now. */
void taint_sweep_node(struct taint_sweep *s, const char *node);
/* Every node. */
void taint_sweep_all(struct taint_sweep *s);

#endif
