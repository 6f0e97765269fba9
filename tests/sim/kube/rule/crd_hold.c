/* crd_hold.c - Hold, as deploy/crds has it; see schema.h */
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "schema.h"

static bool is_cluster(const json_t *self)
{
    return str_eq(jsonx_str(self, "kind"), "Cluster");
}

static bool cluster_without_name(const json_t *self, const json_t *old UNUSED)
{
    return !is_cluster(self) || !json_object_get(self, "name");
}

static bool others_with_name(const json_t *self, const json_t *old UNUSED)
{
    return is_cluster(self) || json_object_get(self, "name");
}

static const struct sim_rule target_rules[] = {
    {"the cluster has no name", cluster_without_name, false},
    {"name says which one is held", others_with_name, false},
    {.message = NULL}};

static const char *const kinds[] = {"Cluster", "NodePool", "Node", "NodeClaim", NULL};
static const char *const scopes[] = {"Disruption", "All", NULL};

static const struct sim_schema target_fields[] = {
    {.key = "kind", .type = SIM_STRING, .flags = SIM_REQUIRED, .oneof = kinds},
    {.key = "name", .type = SIM_STRING, .flags = SIM_MIN | SIM_MAX, .min = 1, .max = 253},
    {.key = NULL}};
static const struct sim_schema spec_fields[] = {
    {.key = "target",
     .type = SIM_OBJECT,
     .flags = SIM_REQUIRED,
     .props = target_fields,
     .rules = target_rules},
    {.key = "scope", .type = SIM_STRING, .oneof = scopes, .fallback = "'Disruption'"},
    {.key = "until", .type = SIM_STRING, .flags = SIM_TIME},
    {.key = "reason", .type = SIM_STRING, .flags = SIM_MAX, .max = 1024},
    {.key = "by", .type = SIM_STRING, .flags = SIM_MAX, .max = 256},
    {.key = NULL}};

const struct sim_schema sim_schema_hold[] = {
    {.key = "spec", .type = SIM_OBJECT, .flags = SIM_REQUIRED, .props = spec_fields},
    {.key = NULL}};
