/*
 * differential.h - `karp-sim differential`: plans of the decision core for random small clusters,
 * held against kube-scheduler (the simulated one; the real one through --write).
 *
 *   karp-sim differential [--clusters N] [--seed S] [--pods N] [--placement P] [--write DIR]
 *   karp-sim differential --show SEED [--pods N] [--placement P] [--dir DIR]
 *
 * The first plays clusters S to S+N-1 (200 from 1). With --write each leaves a file SEED.json for a
 * player on a real control plane: {seed, objects, nodes, planned: {"ns/name": "node"}}; nodes are
 * those that claims become, planned has the node that each planned pod runs on here, "" if it is
 * stranded. The second shows one cluster: its plan, what became of it, and the command that makes
 * kubectl-karp tell the same of DIR/cluster.json (default: here).
 *
 * Each plan must be the same whatever slices and order (plan.h), must be one that can be bound as
 * planned, and must refuse no pod that fits somewhere (judge.h). Then the scheduler places the pods
 * by itself, in the order in which they came: the share of planned pods that run is printed, and
 * must not be below DIFF_SHARE_MIN. A pod is stranded where pods that could go elsewhere took its
 * place on the one node that it fits. That can happen to the placement as Karpenter makes it, too,
 * which is played beside (Baseline): the cheaper plan may strand more pods than that in no more
 * than DIFF_WORSE_MAX of the clusters.
 *
 * Exit status: 0, 1 if anything of it does not hold, 2 wrong usage.
 */
#ifndef KARP_SIM_DIFFERENTIAL_H
#define KARP_SIM_DIFFERENTIAL_H

#define DIFF_SHARE_MIN 0.95 /* of planned pods, over at least DIFF_SHARE_PODS of them */
#define DIFF_SHARE_PODS 200
#define DIFF_WORSE_MAX 0.01 /* of clusters, over at least DIFF_WORSE_CLUSTERS of them */
#define DIFF_WORSE_CLUSTERS 200

int differential_main(int argc, char **argv);

#endif
