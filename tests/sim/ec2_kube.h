/*
 * ec2_kube.h - boots the simulated EC2's instances into a real API server.
 *
 * KWOK plays the kubelets of Nodes annotated kwok.x-k8s.io/node=fake. Here is what the machine does
 * itself: when it has come up it creates its Node (retried every second, as kubelet does); when it
 * goes down the annotation goes, Ready becomes Unknown and the unreachable taints come, as the node
 * lifecycle controller would do it 40 s later. Neither Node nor pods are ever deleted.
 *
 * KWOK with node leases takes over only Nodes that have the annotation when they are created, and
 * makes them Ready within milliseconds. So the time from registered to Ready passes before the Node
 * is created: both are ready_ns after the boot, and nobody sees the Node NotReady.
 *
 * Needs create, get and patch on nodes and patch on nodes/status. Works over any kube_port; port,
 * clock and timers are borrowed. A node that is deleted meanwhile (404) is let go.
 */
#ifndef KARP_TESTS_SIM_EC2_KUBE_H
#define KARP_TESTS_SIM_EC2_KUBE_H

#include "common/kube/port.h"
#include "tests/sim/ec2/ec2.h"

#define EC2_KUBE_ANNOTATION "kwok.x-k8s.io/node"
#define EC2_KUBE_NODES_MAX 20000u

struct ec2_kube;

struct ec2_kube_opts {
    int64_t ready_ns; /* booted to registered and Ready */
    /* One line for people. NULL = silent. */
    void (*note)(void *ctx, const char *text);
    void *ctx;
};

struct ec2_kube *ec2_kube_new(const struct kube_port *port, const struct clock *clock,
                              struct timers *timers, const struct ec2_kube_opts *opts);
/* Cancels what is open. NULL is fine. */
void ec2_kube_free(struct ec2_kube *k);

/* The cloud's hooks of the same names. */
void ec2_kube_boot(struct ec2_kube *k, const struct simec2_boot *b);
void ec2_kube_down(struct ec2_kube *k, const struct simec2_instance *inst);

/* Nodes that still have something to do. */
size_t ec2_kube_busy(const struct ec2_kube *k);

#endif
