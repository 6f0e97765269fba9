/*
 * differential.h - `karp-sim differential`: plans of the decision core for random small clusters,
 * held against kube-scheduler (the simulated one; the real one through --write).
 *
 *   karp-sim differential [--kind odd|usual] [--types few|all] [--pods N] [--placement P]
 *                         [--clusters N] [--seed S] [--list yes] [--write DIR]
 *   karp-sim differential --show SEED [--kind ...] [--types ...] [--pods N] [--placement P]
 *                         [--dir DIR]
 *
 * The first plays clusters S to S+N-1 (200 from 1). Odd clusters (cluster.h) are small, have any
 * combination of rules and few instance types; usual ones have hundreds of pods and the whole
 * catalog. With --write each leaves a file SEED.json for a player on a real control plane: {seed,
 * objects, nodes, planned: {"ns/name": "node"}}; nodes are those that claims become, planned has
 * the node that each planned pod runs on here, "" if it is stranded. The second shows one cluster:
 * its plan, what became of it, and the command that makes kubectl-karp tell the same of
 * DIR/cluster.json (default: here; DIR/settled.json is what the outcome is of).
 *
 * Each plan must be the same whatever slices and order (plan.h), must be one that can be bound as
 * planned, and must refuse no pod that fits somewhere (judge.h).
 *
 * Then it is asked how many pods are stranded (outcome.h), of the plan and of the placement as
 * Karpenter makes it (Baseline): the scheduler first fills the nodes that are there, plans are made
 * for what still waits, and it places the rest by itself as the new nodes come (stage.h). It knows
 * no plan, so pods that could go elsewhere may take the place of one that could not. Room for that
 * costs money, and no plan may be dearer than the baseline. Printed are price, nodes and stranded
 * pods of both plans, and in how many of the stranding clusters no plan of any placement, for no
 * more money and no more nodes than the baseline, strands less. --list names the clusters.
 *
 * Limits are in percent. Those of a kind hold over DIFF_CLUSTERS_MANY of its clusters and more, as
 * of a few one can be all that counts; the others over any DIFF_CLUSTERS_SOME odd ones, or pods.
 *
 * Exit status: 0, 1 if anything of it does not hold, 2 wrong usage.
 */
#ifndef KARP_SIM_DIFFERENTIAL_H
#define KARP_SIM_DIFFERENTIAL_H

#include "outcome.h"

#define DIFF_CLUSTERS_SOME 200
#define DIFF_CLUSTERS_MANY 1000
#define DIFF_CLUSTERS_MANY_USUAL 40
#define DIFF_STRANDED_MAX 5.0 /* of the planned pods, in either order; not where pods are many */
#define DIFF_WORSE_MAX 1.0    /* of the clusters: they strand more pods than with the baseline */

struct diff_limits {
    double stranding;              /* of the clusters, in any order */
    double worse;                  /* as above */
    double stranded[STAGE_ORDERS]; /* of the planned pods */
};
/* Of odd and usual clusters with the number of pods that is the default. */
extern const struct diff_limits diff_limits[2];

int differential_main(int argc, char **argv);

#endif
