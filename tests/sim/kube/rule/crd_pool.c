/* crd_pool.c - NodePool and NodeClaim, as deploy/crds has them; see schema.h */
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "schema.h"

#include <string.h>

#define END                                                                                        \
    {                                                                                              \
        .key = NULL                                                                                \
    }
#define NO_MORE                                                                                    \
    {                                                                                              \
        .message = NULL                                                                            \
    }

/* ---- keys of labels and requirements ----------------------------------------------------------
 */

/* The key's domain ends with it. */
static bool in_domain(const char *key, const char *domain)
{
    const char *slash = strchr(key, '/');
    size_t n = strlen(domain), len = slash ? (size_t)(slash - key) : 0;
    return slash && len >= n && strncmp(key + len - n, domain, n) == 0;
}

static bool aws_label(const char *key)
{
    static const char *const known[] = {"capacity-reservation-id",
                                        "capacity-reservation-type",
                                        "capacity-reservation-interruptible",
                                        "ec2nodeclass",
                                        "nitro-sandbox",
                                        "placement-group-id",
                                        "placement-group-partition",
                                        "instance-accelerator-count",
                                        "instance-accelerator-manufacturer",
                                        "instance-accelerator-name",
                                        "instance-capability-flex",
                                        "instance-category",
                                        "instance-cpu",
                                        "instance-cpu-manufacturer",
                                        "instance-cpu-sustained-clock-speed-mhz",
                                        "instance-ebs-bandwidth",
                                        "instance-encryption-in-transit-supported",
                                        "instance-family",
                                        "instance-generation",
                                        "instance-gpu-count",
                                        "instance-gpu-manufacturer",
                                        "instance-gpu-memory",
                                        "instance-gpu-name",
                                        "instance-hypervisor",
                                        "instance-local-nvme",
                                        "instance-memory",
                                        "instance-network-bandwidth",
                                        "instance-size",
                                        "instance-tenancy"};
    static const char prefix[] = "karpenter.k8s.aws/";
    if (!in_domain(key, "karpenter.k8s.aws")) {
        return true;
    }
    for (size_t i = 0; str_starts(key, prefix) && i < ARRAY_LEN(known); i++) {
        if (str_eq(key + strlen(prefix), known[i])) {
            return true;
        }
    }
    return false;
}

static bool own_label(const char *key)
{
    return str_eq(key, "karpenter.sh/capacity-type") || !in_domain(key, "karpenter.sh");
}

static bool own_label_or_pool(const char *key)
{
    return own_label(key) || str_eq(key, "karpenter.sh/nodepool");
}

static bool not_pool(const char *key)
{
    return !str_eq(key, "karpenter.sh/nodepool");
}

static bool not_hostname(const char *key)
{
    return !str_eq(key, "kubernetes.io/hostname");
}

/* The same rule for a text and for all keys of a map. */
#define KEY_RULE(name)                                                                             \
    static bool key_##name(const json_t *self, const json_t *old UNUSED)                           \
    {                                                                                              \
        return name(json_string_value(self));                                                      \
    }                                                                                              \
    static bool keys_##name(const json_t *self, const json_t *old UNUSED)                          \
    {                                                                                              \
        const char *key;                                                                           \
        json_t *value;                                                                             \
        json_object_foreach ((json_t *)self, key, value) {                                         \
            if (!name(key)) {                                                                      \
                return false;                                                                      \
            }                                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }

KEY_RULE(own_label)
KEY_RULE(not_pool)
KEY_RULE(not_hostname)
KEY_RULE(aws_label)

static bool key_own_label_or_pool(const json_t *self, const json_t *old UNUSED)
{
    return own_label_or_pool(json_string_value(self));
}

#define SAY_OWN "the domain karpenter.sh is restricted"
#define SAY_POOL "karpenter.sh/nodepool is set by the controller"
#define SAY_HOST "kubernetes.io/hostname is restricted"
#define SAY_AWS "the domain karpenter.k8s.aws is restricted to its well-known labels"

static const struct sim_rule label_rules[] = {{SAY_OWN, keys_own_label, false},
                                              {SAY_POOL, keys_not_pool, false},
                                              {SAY_HOST, keys_not_hostname, false},
                                              {SAY_AWS, keys_aws_label, false},
                                              NO_MORE};
static const struct sim_rule pool_key_rules[] = {{SAY_OWN, key_own_label, false},
                                                 {SAY_POOL, key_not_pool, false},
                                                 {SAY_HOST, key_not_hostname, false},
                                                 {SAY_AWS, key_aws_label, false},
                                                 NO_MORE};
static const struct sim_rule claim_key_rules[] = {{SAY_OWN, key_own_label_or_pool, false},
                                                  {SAY_HOST, key_not_hostname, false},
                                                  {SAY_AWS, key_aws_label, false},
                                                  NO_MORE};

/* ---- requirements -----------------------------------------------------------------------------
 */

static bool each(const json_t *list, bool (*holds)(const json_t *))
{
    size_t i;
    json_t *one;
    json_array_foreach ((json_t *)list, i, one) {
        if (!holds(one)) {
            return false;
        }
    }
    return true;
}

static bool in_has_values(const json_t *r)
{
    return !str_eq(jsonx_str(r, "operator"), "In") ||
           json_array_size(json_object_get(r, "values")) > 0;
}

static bool compares_integer(const json_t *r)
{
    const char *op = jsonx_str_or(r, "operator", "");
    const json_t *values = json_object_get(r, "values");
    const char *v = json_string_value(json_array_get(values, 0));
    bool compares = op[0] == 'G' || op[0] == 'L';
    return !compares ||
           (json_array_size(values) == 1 && v && v[0] && v[strspn(v, "0123456789")] == '\0');
}

static bool enough_values(const json_t *r)
{
    const json_t *min = json_object_get(r, "minValues");
    return !min || !str_eq(jsonx_str(r, "operator"), "In") ||
           (json_int_t)json_array_size(json_object_get(r, "values")) >= json_integer_value(min);
}

static bool all_in_have_values(const json_t *self, const json_t *old UNUSED)
{
    return each(self, in_has_values);
}

static bool all_compare_integers(const json_t *self, const json_t *old UNUSED)
{
    return each(self, compares_integer);
}

static bool all_have_enough(const json_t *self, const json_t *old UNUSED)
{
    return each(self, enough_values);
}

static const struct sim_rule requirement_rules[] = {
    {"operator In needs at least one value", all_in_have_values, false},
    {"operators Gt, Lt, Gte and Lte need exactly one integer of at least 0", all_compare_integers,
     false},
    {"with operator In there must be at least minValues values", all_have_enough, false},
    NO_MORE};

static const char *const operators[] = {"In",  "NotIn", "Exists", "DoesNotExist", "Gt", "Lt",
                                        "Gte", "Lte",   NULL};

static const struct sim_schema value = {.key = "",
                                        .type = SIM_STRING,
                                        .flags = SIM_MAX,
                                        .max = 63,
                                        .match = sim_match_label_value,
                                        .pattern = SIM_P_VALUE};

#define REQUIREMENT_FIELDS(rules_)                                                                 \
    {.key = "key",                                                                                 \
     .type = SIM_STRING,                                                                           \
     .flags = SIM_REQUIRED | SIM_MAX,                                                              \
     .max = 316,                                                                                   \
     .match = sim_match_label_key,                                                                 \
     .pattern = SIM_P_KEY,                                                                         \
     .rules = (rules_)},                                                                           \
        {.key = "operator", .type = SIM_STRING, .flags = SIM_REQUIRED, .oneof = operators},        \
        {.key = "values", .type = SIM_ARRAY, .items = &value},                                     \
    {                                                                                              \
        .key = "minValues", .type = SIM_INTEGER, .flags = SIM_MIN | SIM_MAX, .min = 1, .max = 50   \
    }

static const struct sim_schema pool_requirement_fields[] = {REQUIREMENT_FIELDS(pool_key_rules),
                                                            END};
static const struct sim_schema claim_requirement_fields[] = {REQUIREMENT_FIELDS(claim_key_rules),
                                                             END};
static const struct sim_schema pool_requirement = {
    .key = "", .type = SIM_OBJECT, .props = pool_requirement_fields};
static const struct sim_schema claim_requirement = {
    .key = "", .type = SIM_OBJECT, .props = claim_requirement_fields};

#define REQUIREMENTS(one)                                                                          \
    {                                                                                              \
        .key = "requirements", .type = SIM_ARRAY, .flags = SIM_REQUIRED | SIM_MAX, .max = 100,     \
        .items = &(one), .rules = requirement_rules                                                \
    }

/* ---- parts of both ----------------------------------------------------------------------------
 */

static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};

static const struct sim_schema taint_fields[] = {
    {.key = "key",
     .type = SIM_STRING,
     .flags = SIM_REQUIRED | SIM_MIN,
     .min = 1,
     .match = sim_match_label_key,
     .pattern = SIM_P_KEY},
    {.key = "value", .type = SIM_STRING, .match = sim_match_label_key, .pattern = SIM_P_KEY},
    {.key = "effect", .type = SIM_STRING, .flags = SIM_REQUIRED, .oneof = effects},
    {.key = "timeAdded", .type = SIM_STRING, .flags = SIM_TIME},
    END};
static const struct sim_schema taint = {.key = "", .type = SIM_OBJECT, .props = taint_fields};

static bool not_empty(const json_t *self, const json_t *old UNUSED)
{
    return json_string_length(self) > 0;
}

static const struct sim_rule group_rules[] = {{"group may not be empty", not_empty, false},
                                              NO_MORE};
static const struct sim_rule kind_rules[] = {{"kind may not be empty", not_empty, false}, NO_MORE};
static const struct sim_rule name_rules[] = {{"name may not be empty", not_empty, false}, NO_MORE};

static const struct sim_schema class_ref_fields[] = {
    {.key = "group",
     .type = SIM_STRING,
     .flags = SIM_REQUIRED,
     .match = sim_match_no_slash,
     .pattern = "^[^/]*$",
     .rules = group_rules},
    {.key = "kind", .type = SIM_STRING, .flags = SIM_REQUIRED, .rules = kind_rules},
    {.key = "name", .type = SIM_STRING, .flags = SIM_REQUIRED, .rules = name_rules},
    END};

static bool same_group(const json_t *self, const json_t *old)
{
    return json_equal(json_object_get(self, "group"), json_object_get(old, "group"));
}

static bool same_kind(const json_t *self, const json_t *old)
{
    return json_equal(json_object_get(self, "kind"), json_object_get(old, "kind"));
}

static const struct sim_rule class_ref_rules[] = {
    {"group is immutable", same_group, true}, {"kind is immutable", same_kind, true}, NO_MORE};

#define LIFE                                                                                       \
    {.key = "taints", .type = SIM_ARRAY, .items = &taint},                                         \
        {.key = "startupTaints", .type = SIM_ARRAY, .items = &taint},                              \
        {.key = "expireAfter",                                                                     \
         .type = SIM_STRING,                                                                       \
         .fallback = "'720h'",                                                                     \
         .match = sim_match_duration_or_never,                                                     \
         .pattern = SIM_P_DURATION_OR_NEVER},                                                      \
    {                                                                                              \
        .key = "terminationGracePeriod", .type = SIM_STRING, .match = sim_match_duration,          \
        .pattern = SIM_P_DURATION                                                                  \
    }

static const struct sim_schema amount = {
    .key = "", .type = SIM_AMOUNT, .match = sim_match_quantity, .pattern = SIM_P_QUANTITY};

/* ---- conditions -------------------------------------------------------------------------------
 */

static const char *const truths[] = {"True", "False", "Unknown", NULL};

#define CONDITION_FIELDS(reason_min, more)                                                         \
    {.key = "type", .type = SIM_STRING, .flags = SIM_REQUIRED | SIM_MAX, .max = 316},              \
        {.key = "status", .type = SIM_STRING, .flags = SIM_REQUIRED, .oneof = truths},             \
        {.key = "reason",                                                                          \
         .type = SIM_STRING,                                                                       \
         .flags = SIM_MIN | SIM_MAX | (more),                                                      \
         .min = (reason_min),                                                                      \
         .max = 1024},                                                                             \
        {.key = "message", .type = SIM_STRING, .flags = SIM_MAX | (more), .max = 32768},           \
        {.key = "lastTransitionTime", .type = SIM_STRING, .flags = SIM_REQUIRED | SIM_TIME},       \
    {                                                                                              \
        .key = "observedGeneration", .type = SIM_INTEGER, .flags = SIM_MIN, .min = 0               \
    }

static const struct sim_schema condition_fields[] = {CONDITION_FIELDS(1, SIM_REQUIRED), END};
static const struct sim_schema claim_condition_fields[] = {CONDITION_FIELDS(0, 0), END};
static const struct sim_schema condition = {
    .key = "", .type = SIM_OBJECT, .props = condition_fields};
static const struct sim_schema claim_condition = {
    .key = "", .type = SIM_OBJECT, .props = claim_condition_fields};

/* ---- NodePool: disruption ---------------------------------------------------------------------
 */

static bool schedule_with_duration(const json_t *b)
{
    return !json_object_get(b, "schedule") == !json_object_get(b, "duration");
}

static bool all_schedules_have_durations(const json_t *self, const json_t *old UNUSED)
{
    return each(self, schedule_with_duration);
}

static const struct sim_rule budget_rules[] = {
    {"schedule and duration go together", all_schedules_have_durations, false}, NO_MORE};
static const char *const reasons[] = {"Underutilized", "Empty", "Drifted", NULL};
static const char *const policies[] = {"WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced", NULL};
static const struct sim_schema reason = {.key = "", .type = SIM_STRING, .oneof = reasons};

static const struct sim_schema budget_fields[] = {
    {.key = "nodes",
     .type = SIM_STRING,
     .flags = SIM_REQUIRED,
     .fallback = "'10%'",
     .match = sim_match_budget_nodes,
     .pattern = "^((100|[0-9]{1,2})%|[0-9]+)$"},
    {.key = "reasons", .type = SIM_ARRAY, .flags = SIM_SET | SIM_MAX, .max = 50, .items = &reason},
    {.key = "schedule",
     .type = SIM_STRING,
     .match = sim_match_budget_schedule,
     .pattern = "^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\\s(.+)\\s(.+)\\s("
                ".+)\\s(.+))$"},
    {.key = "duration",
     .type = SIM_STRING,
     .match = sim_match_budget_duration,
     .pattern = "^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$"},
    END};
static const struct sim_schema budget = {.key = "", .type = SIM_OBJECT, .props = budget_fields};

static const struct sim_schema disruption_fields[] = {{.key = "consolidateAfter",
                                                       .type = SIM_STRING,
                                                       .fallback = "'0s'",
                                                       .match = sim_match_duration_or_never,
                                                       .pattern = SIM_P_DURATION_OR_NEVER},
                                                      {.key = "consolidationPolicy",
                                                       .type = SIM_STRING,
                                                       .fallback = "'WhenEmptyOrUnderutilized'",
                                                       .oneof = policies},
                                                      {.key = "budgets",
                                                       .type = SIM_ARRAY,
                                                       .flags = SIM_MAX,
                                                       .max = 50,
                                                       .fallback = "[{'nodes':'10%'}]",
                                                       .items = &budget,
                                                       .rules = budget_rules},
                                                      END};

/* ---- NodePool: the template and the rest ------------------------------------------------------
 */

static const struct sim_schema any_text = {.key = "", .type = SIM_STRING};

static const struct sim_schema template_meta_fields[] = {
    {.key = "labels",
     .type = SIM_OBJECT,
     .flags = SIM_MAX,
     .max = 100,
     .items = &value,
     .rules = label_rules},
    {.key = "annotations", .type = SIM_OBJECT, .items = &any_text},
    END};
static const struct sim_schema template_spec_fields[] = {REQUIREMENTS(pool_requirement),
                                                         {.key = "nodeClassRef",
                                                          .type = SIM_OBJECT,
                                                          .flags = SIM_REQUIRED,
                                                          .props = class_ref_fields,
                                                          .rules = class_ref_rules},
                                                         LIFE,
                                                         END};
static const struct sim_schema template_fields[] = {
    {.key = "metadata", .type = SIM_OBJECT, .props = template_meta_fields},
    {.key = "spec", .type = SIM_OBJECT, .flags = SIM_REQUIRED, .props = template_spec_fields},
    END};

static bool limits_nodes_only(const json_t *self, const json_t *old UNUSED)
{
    const char *key;
    json_t *v;
    json_object_foreach (json_object_get(self, "limits"), key, v) {
        if (json_object_get(self, "replicas") && !str_eq(key, "nodes")) {
            return false;
        }
    }
    return true;
}

static bool no_weight(const json_t *self, const json_t *old UNUSED)
{
    return !json_object_get(self, "replicas") || !json_object_get(self, "weight");
}

static bool stays_as_it_is(const json_t *self, const json_t *old)
{
    return !json_object_get(self, "replicas") == !json_object_get(old, "replicas");
}

static const struct sim_rule pool_rules[] = {
    {"a static pool (replicas) may limit nodes only", limits_nodes_only, false},
    {"a static pool (replicas) has no weight", no_weight, false},
    {"a pool stays static or dynamic", stays_as_it_is, true},
    NO_MORE};

static const struct sim_schema pool_fields[] = {
    {.key = "template", .type = SIM_OBJECT, .flags = SIM_REQUIRED, .props = template_fields},
    {.key = "disruption",
     .type = SIM_OBJECT,
     .fallback = "{'consolidateAfter':'0s'}",
     .props = disruption_fields},
    {.key = "limits", .type = SIM_OBJECT, .items = &amount},
    {.key = "weight", .type = SIM_INTEGER, .flags = SIM_MIN | SIM_MAX, .min = 1, .max = 100},
    {.key = "replicas", .type = SIM_INTEGER, .flags = SIM_MIN, .min = 0},
    END};
static const struct sim_schema pool_status_fields[] = {
    {.key = "resources", .type = SIM_OBJECT, .items = &amount},
    {.key = "nodes", .type = SIM_INTEGER, .fallback = "0"},
    {.key = "nodeClassObservedGeneration", .type = SIM_INTEGER},
    {.key = "conditions", .type = SIM_ARRAY, .items = &condition},
    END};

const struct sim_schema sim_schema_nodepool[] = {
    {.key = "spec",
     .type = SIM_OBJECT,
     .flags = SIM_REQUIRED,
     .props = pool_fields,
     .rules = pool_rules},
    {.key = "status", .type = SIM_OBJECT, .props = pool_status_fields},
    END};

/* ---- NodeClaim --------------------------------------------------------------------------------
 */

static bool is_the_same(const json_t *self, const json_t *old)
{
    return json_equal(self, old);
}

static const struct sim_rule claim_rules[] = {{"spec is immutable", is_the_same, true}, NO_MORE};

static const struct sim_schema resources_fields[] = {
    {.key = "requests", .type = SIM_OBJECT, .items = &amount}, END};
static const struct sim_schema claim_fields[] = {
    REQUIREMENTS(claim_requirement),
    {.key = "resources", .type = SIM_OBJECT, .props = resources_fields},
    {.key = "nodeClassRef", .type = SIM_OBJECT, .flags = SIM_REQUIRED, .props = class_ref_fields},
    LIFE,
    END};
static const struct sim_schema claim_status_fields[] = {
    {.key = "nodeName", .type = SIM_STRING},
    {.key = "providerID", .type = SIM_STRING},
    {.key = "imageID", .type = SIM_STRING},
    {.key = "capacity", .type = SIM_OBJECT, .items = &amount},
    {.key = "allocatable", .type = SIM_OBJECT, .items = &amount},
    {.key = "lastPodEventTime", .type = SIM_STRING, .flags = SIM_TIME},
    {.key = "conditions", .type = SIM_ARRAY, .items = &claim_condition},
    END};

const struct sim_schema sim_schema_nodeclaim[] = {
    {.key = "spec",
     .type = SIM_OBJECT,
     .flags = SIM_REQUIRED,
     .props = claim_fields,
     .rules = claim_rules},
    {.key = "status", .type = SIM_OBJECT, .props = claim_status_fields},
    END};
