/*
 * compare.h - `karp-sim compare FILE`: what a real cluster did, held against what the simulated one
 * would have done. The file has one JSON object per line, as tests/e2e/conformance/clusters.py
 * records them:
 *
 *   {what: "place", name, nodes, pods, services, classes, budgets, pod, chosen, message}
 *     chosen: the node that kube-scheduler took, "" = none with message. It must be one of those
 *     that share the best score here, or the messages must be the same.
 *     With nominated and victims instead of chosen and message: the node that kube-scheduler made
 *     room on, and the pods that had to go. It must be one of those that are equally good here.
 *   {what: "rank", name, now, owned, pods, gone}
 *     owned: the ReplicaSet is a Deployment's.
 *     gone: names of the pods that the ReplicaSet controller gave up. None of those it kept may
 *     have to go before one of them. Creation times are not looked at: they are all of one second.
 *
 * Prints a line per difference and "N placements, N of them by preemption, N rankings, N differ".
 * Exit status 1 if any differs, 2 if the file cannot be read.
 */
#ifndef KARP_SIM_COMPARE_H
#define KARP_SIM_COMPARE_H

int compare_main(const char *file);

#endif
