/*
 * differential.h - `karp-sim differential`: plans of the decision core for random small clusters,
 * held against kube-scheduler (the simulated one; the real one through --write).
 *
 *   karp-sim differential [--clusters N] [--seed S]   clusters S … S+N-1 (default 200 from 1)
 *   karp-sim differential --show SEED [--dir DIR]     one cluster: its plan, what became of it, and
 *                                                     its objects in DIR (.) for kubectl-karp
 *   karp-sim differential --write DIR ...             a file SEED.json per cluster, for a player on
 * a real control plane: {seed, objects, nodes, planned: ["ns/name"]}; nodes are those that the plan
 * would launch
 *
 * Each plan must be the same whatever slices and order (plan.h), must be one that can be bound as
 * planned, and must refuse no pod that fits somewhere (judge.h). Then the scheduler places the pods
 * by itself, in the order in which they came: the share of planned pods that run is printed, and
 * must not be below DIFF_SHARE_MIN. A pod is stranded where pods that could go to either took its
 * place on the one node that it fits.
 *
 * Exit status: 0, 1 if anything of it does not hold, 2 wrong usage.
 */
#ifndef KARP_SIM_DIFFERENTIAL_H
#define KARP_SIM_DIFFERENTIAL_H

#define DIFF_SHARE_MIN 0.95 /* of planned pods, over at least DIFF_SHARE_PODS of them */
#define DIFF_SHARE_PODS 200

int differential_main(int argc, char **argv);

#endif
