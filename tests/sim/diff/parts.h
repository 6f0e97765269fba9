/*
 * parts.h - what random clusters are made of: chance, label keys and values, pieces of objects.
 * Internal to the generator (cluster.c, app.c). Every function returns a new reference, and takes
 * over the references that it is given.
 */
#ifndef KARP_SIM_DIFF_PARTS_H
#define KARP_SIM_DIFF_PARTS_H

#include "common/base/entropy.h"

#include <jansson.h>
#include <stdbool.h>

#define ZONE "topology.kubernetes.io/zone"
#define HOST "kubernetes.io/hostname"
#define CAPACITY "karpenter.sh/capacity-type"
#define ARCH "kubernetes.io/arch"
#define TYPE "node.kubernetes.io/instance-type"
#define CPU "karpenter.k8s.aws/instance-cpu"
#define CATEGORY "karpenter.k8s.aws/instance-category"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

struct parts_type {
    const char *name, *arch, *category;
    int cpu, mem_gib, gpus;
};
static const struct parts_type parts_types[] = {
    {"m5.large", "amd64", "m", 2, 8, 0},  {"m5.xlarge", "amd64", "m", 4, 16, 0},
    {"c5.large", "amd64", "c", 2, 4, 0},  {"c5.2xlarge", "amd64", "c", 8, 16, 0},
    {"r5.large", "amd64", "r", 2, 16, 0}, {"t3.medium", "amd64", "t", 2, 4, 0},
    {"m6g.large", "arm64", "m", 2, 8, 0}, {"c6g.xlarge", "arm64", "c", 4, 8, 0},
    {"m5d.large", "amd64", "m", 2, 8, 0}, {"g4dn.xlarge", "amd64", "g", 4, 16, 1},
};
static const char *const parts_zones[] = {"us-west-2a", "us-west-2b", "us-west-2c"};
static const char *const parts_zone_ids[] = {"usw2-az1", "usw2-az2", "usw2-az3"};
static const char *const parts_capacity_types[] = {"spot", "on-demand"};
static const char *const parts_arches[] = {"amd64", "arm64"};
static const char *const parts_teams[] = {"red", "blue"};
static const char *const parts_app_names[] = {"a", "b", "c", "d"};

/* ---- chance: at most one call per expression, so that their order is fixed ------------------- */

unsigned parts_below(struct entropy *dice, unsigned n);
bool parts_maybe(struct entropy *dice, unsigned percent);
/* Some of the texts, at least one. */
json_t *parts_some(struct entropy *dice, const char *const *v, unsigned n, unsigned percent);
/* The names of two to four instance types. */
json_t *parts_type_names(struct entropy *dice);
#define PICK(dice, list) ((list)[parts_below((dice), ARRAY_LEN(list))])
#define SOME(dice, list, percent) parts_some((dice), (list), ARRAY_LEN(list), (percent))

/* ---- pieces ---------------------------------------------------------------------------------- */

void parts_put(json_t *o, const char *key, json_t *value);
json_t *parts_texts(const char *a, const char *b); /* b may be NULL */
/* {key, operator, values}; values may be NULL. */
json_t *parts_expr(const char *key, const char *op, json_t *values);
json_t *parts_amounts(int cpu_milli, int mem_mib, int pods); /* pods 0: not said */
json_t *parts_container(int cpu_milli, int mem_mib);

#endif
