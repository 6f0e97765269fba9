/* crd_approval.c - DisruptionRequest and DisruptionGrant, as deploy/crds has them; see schema.h */
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "schema.h"

#include <ctype.h>
#include <string.h>

#define END                                                                                        \
    {                                                                                              \
        .key = NULL                                                                                \
    }
#define NO_MORE                                                                                    \
    {                                                                                              \
        .message = NULL                                                                            \
    }
#define TEXT_UP_TO(name, n)                                                                        \
    {                                                                                              \
        .key = (name), .type = SIM_STRING, .flags = SIM_MAX, .max = (n)                            \
    }
#define TEXT_OF(name, more, lo, n)                                                                 \
    {                                                                                              \
        .key = (name), .type = SIM_STRING, .flags = SIM_MIN | SIM_MAX | (more), .min = (lo),       \
        .max = (n)                                                                                 \
    }
#define TIME(name, more)                                                                           \
    {                                                                                              \
        .key = (name), .type = SIM_STRING, .flags = SIM_TIME | (more)                              \
    }
#define COUNT(name, more, lo)                                                                      \
    {                                                                                              \
        .key = (name), .type = SIM_INTEGER, .flags = SIM_MIN | (more), .min = (lo)                 \
    }
#define LIST(name, more, lo, n, one)                                                               \
    {                                                                                              \
        .key = (name), .type = SIM_ARRAY, .flags = SIM_MIN | SIM_MAX | (more), .min = (lo),        \
        .max = (n), .items = &(one)                                                                \
    }
#define MONEY(name, fn, p)                                                                         \
    {                                                                                              \
        .key = (name), .type = SIM_STRING, .flags = SIM_MAX, .max = 32, .match = (fn),             \
        .pattern = (p)                                                                             \
    }
#define PRICE MONEY("pricePerHour", is_price, "^[0-9]+(\\.[0-9]+)?$")

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

static bool is_price(const char *s)
{
    size_t n = digits(s);
    if (n > 0 && s[n] == '.') {
        size_t more = digits(s + n + 1);
        n = more > 0 ? n + 1 + more : 0;
    }
    return n > 0 && s[n] == '\0';
}

static bool is_difference(const char *s)
{
    return is_price(s + (*s == '-'));
}

static bool is_digest(const char *s)
{
    return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

static const char *const reasons[] = {"Underutilized", "Drifted", "Empty", NULL};
static const struct sim_schema name = TEXT_OF("", 0, 1, 253);
static const struct sim_schema word = TEXT_UP_TO("", 63);

/* ---- DisruptionRequest: the plan --------------------------------------------------------------
 */

static const struct sim_schema candidate_fields[] = {TEXT_OF("nodeClaim", SIM_REQUIRED, 1, 253),
                                                     TEXT_OF("uid", SIM_REQUIRED, 1, 64),
                                                     TEXT_UP_TO("node", 253),
                                                     TEXT_UP_TO("instanceType", 63),
                                                     TEXT_UP_TO("zone", 63),
                                                     TEXT_UP_TO("capacityType", 63),
                                                     PRICE,
                                                     END};
static const struct sim_schema candidate = {
    .key = "", .type = SIM_OBJECT, .props = candidate_fields};

static const struct sim_schema requirement_fields[] = {
    TEXT_OF("key", SIM_REQUIRED, 1, 316), TEXT_OF("operator", SIM_REQUIRED, 0, 16),
    LIST("values", 0, 0, 1000, word), COUNT("minValues", 0, 1), END};
static const struct sim_schema requirement = {
    .key = "", .type = SIM_OBJECT, .props = requirement_fields};

static const struct sim_schema replacement_fields[] = {TEXT_OF("nodePool", SIM_REQUIRED, 1, 253),
                                                       LIST("capacityTypes", 0, 0, 3, word),
                                                       LIST("instanceTypes", 0, 0, 60, word),
                                                       LIST("requirements", 0, 0, 100, requirement),
                                                       PRICE,
                                                       END};
static const struct sim_schema replacement = {
    .key = "", .type = SIM_OBJECT, .props = replacement_fields};

static const struct sim_schema warning = TEXT_UP_TO("", 1024);

static const char *const decisions[] = {"Approved", "Denied", NULL};
static const struct sim_schema spec_fields[] = {
    {.key = "reason", .type = SIM_STRING, .flags = SIM_REQUIRED, .oneof = reasons},
    LIST("nodePools", SIM_REQUIRED, 1, 50, name),
    COUNT("nodesOut", 0, 1),
    COUNT("nodesIn", 0, 0),
    LIST("candidates", SIM_REQUIRED, 1, 200, candidate),
    LIST("replacements", 0, 0, 200, replacement),
    COUNT("podCount", SIM_REQUIRED, 0),
    LIST("warnings", 0, 0, 500, warning),
    MONEY("savingsPerHour", is_difference, "^-?[0-9]+(\\.[0-9]+)?$"),
    {.key = "planDigest",
     .type = SIM_STRING,
     .flags = SIM_REQUIRED | SIM_MAX,
     .max = 64,
     .match = is_digest,
     .pattern = "^[0-9a-f]{64}$"},
    TIME("expiresAt", SIM_REQUIRED),
    TEXT_UP_TO("supersedes", 253),
    {.key = "decision", .type = SIM_STRING, .oneof = decisions},
    TEXT_OF("decidedBy", 0, 1, 256),
    TEXT_UP_TO("onBehalfOf", 256),
    TEXT_UP_TO("note", 1024),
    TIME("notBefore", 0),
    END};

/* ---- DisruptionRequest: the decision ----------------------------------------------------------
 */

static const char *const decision_fields[] = {"decision", "decidedBy", "onBehalfOf", "note",
                                              "notBefore"};

static bool is_of_decision(const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(decision_fields); i++) {
        if (str_eq(key, decision_fields[i])) {
            return true;
        }
    }
    return false;
}

static bool has(const json_t *o, const char *key)
{
    return json_object_get(o, key) != NULL;
}

/* The fields of one of the two halves are alike in both. */
static bool alike(const json_t *a, const json_t *b, bool of_decision)
{
    const char *key;
    json_t *v;
    json_object_foreach ((json_t *)a, key, v) {
        if (is_of_decision(key) == of_decision && !json_equal(v, json_object_get(b, key))) {
            return false;
        }
    }
    return true;
}

static bool same_plan(const json_t *self, const json_t *old)
{
    return alike(self, old, false) && alike(old, self, false);
}

static bool decided_once(const json_t *self, const json_t *old)
{
    return !has(old, "decision") || (alike(self, old, true) && alike(old, self, true));
}

static bool says_who(const json_t *self, const json_t *old UNUSED)
{
    return has(self, "decision") == has(self, "decidedBy");
}

static bool nothing_without(const json_t *self, const json_t *old UNUSED)
{
    return has(self, "decision") ||
           (!has(self, "onBehalfOf") && !has(self, "note") && !has(self, "notBefore"));
}

static const struct sim_rule request_rules[] = {
    {"the plan cannot be changed", same_plan, true},
    {"a decision is made once", decided_once, true},
    {"decidedBy says who decides", says_who, false},
    {"onBehalfOf, note and notBefore belong to a decision", nothing_without, false},
    NO_MORE};

/* ---- DisruptionRequest: status ----------------------------------------------------------------
 */

static const char *const truths[] = {"True", "False", "Unknown", NULL};
static const char *const phases[] = {"Pending", "Approved", "Denied",     "Executing", "Succeeded",
                                     "Failed",  "Expired",  "Superseded", NULL};
static const struct sim_schema condition_fields[] = {
    TEXT_OF("type", SIM_REQUIRED, 0, 316),
    {.key = "status", .type = SIM_STRING, .flags = SIM_REQUIRED, .oneof = truths},
    TEXT_UP_TO("reason", 1024),
    TEXT_UP_TO("message", 32768),
    COUNT("observedGeneration", 0, 0),
    TIME("lastTransitionTime", SIM_REQUIRED),
    END};
static const struct sim_schema condition = {
    .key = "", .type = SIM_OBJECT, .props = condition_fields};
static const struct sim_schema status_fields[] = {
    {.key = "phase", .type = SIM_STRING, .oneof = phases},
    {.key = "observedGeneration", .type = SIM_INTEGER},
    TIME("decidedAt", 0),
    TIME("startedAt", 0),
    TIME("endedAt", 0),
    TEXT_UP_TO("supersededBy", 253),
    TEXT_UP_TO("grant", 253),
    TEXT_UP_TO("approvedBy", 256),
    LIST("conditions", 0, 0, 20, condition),
    END};

const struct sim_schema sim_schema_disruptionrequest[] = {
    {.key = "spec",
     .type = SIM_OBJECT,
     .flags = SIM_REQUIRED,
     .props = spec_fields,
     .rules = request_rules},
    {.key = "status", .type = SIM_OBJECT, .props = status_fields},
    END};

/* ---- DisruptionGrant --------------------------------------------------------------------------
 */

static bool is_pool(const char *s)
{
    size_t n = strlen(s);
    return str_eq(s, "*") || (n > 0 && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-.") == n &&
                              isalnum((unsigned char)s[0]) && isalnum((unsigned char)s[n - 1]));
}

/* Parts of letters, digits, '_', '+' and '-' with a slash between, the first of which begins with a
 * letter. */
static bool is_zone(const char *s)
{
    if (!isalpha((unsigned char)*s)) {
        return false;
    }
    for (const char *p = s; *p; p++) {
        if (!isalnum((unsigned char)*p) && !strchr("_+-/", *p)) {
            return false;
        }
        if (*p == '/' && (p[1] == '/' || p[1] == '\0')) {
            return false;
        }
    }
    return true;
}

static bool together(const json_t *self, const json_t *old UNUSED)
{
    return has(self, "schedule") == has(self, "duration");
}

static bool zone_of_schedule(const json_t *self, const json_t *old UNUSED)
{
    return has(self, "schedule") || !has(self, "timeZone");
}

static bool all_alone(const json_t *self, const json_t *old UNUSED)
{
    size_t i;
    json_t *p;
    const json_t *pools = json_object_get(self, "pools");
    json_array_foreach ((json_t *)pools, i, p) {
        if (str_eq(json_string_value(p), "*")) {
            return json_array_size(pools) == 1;
        }
    }
    return true;
}

static const struct sim_rule grant_rules[] = {
    {"schedule and duration go together", together, false},
    {"timeZone belongs to a schedule", zone_of_schedule, false},
    {"every pool is named by \"*\" alone", all_alone, false},
    NO_MORE};

static const struct sim_schema pool = {.key = "",
                                       .type = SIM_STRING,
                                       .flags = SIM_MAX,
                                       .max = 253,
                                       .match = is_pool,
                                       .pattern = "^(\\*|[a-z0-9]([-a-z0-9.]*[a-z0-9])?)$"};
static const struct sim_schema reason = {.key = "", .type = SIM_STRING, .oneof = reasons};

static const struct sim_schema grant_fields[] = {
    LIST("pools", SIM_REQUIRED | SIM_SET, 1, 100, pool),
    LIST("reasons", SIM_REQUIRED | SIM_SET, 1, 3, reason),
    {.key = "schedule",
     .type = SIM_STRING,
     .flags = SIM_MAX,
     .max = 256,
     .match = sim_match_budget_schedule,
     .pattern = "^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|"
                "((.+)\\s(.+)\\s(.+)\\s(.+)\\s(.+))$"},
    {.key = "duration",
     .type = SIM_STRING,
     .flags = SIM_MAX,
     .max = 32,
     .match = sim_match_budget_duration,
     .pattern = "^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$"},
    {.key = "timeZone",
     .type = SIM_STRING,
     .flags = SIM_MAX,
     .max = 64,
     .match = is_zone,
     .pattern = "^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$"},
    {.key = "maxNodesPerHour",
     .type = SIM_INTEGER,
     .flags = SIM_MIN | SIM_MAX,
     .min = 1,
     .max = 10000},
    TIME("expiresAt", 0),
    TEXT_OF("grantedBy", SIM_REQUIRED, 1, 256),
    TEXT_UP_TO("note", 1024),
    END};

const struct sim_schema sim_schema_disruptiongrant[] = {{.key = "spec",
                                                         .type = SIM_OBJECT,
                                                         .flags = SIM_REQUIRED,
                                                         .props = grant_fields,
                                                         .rules = grant_rules},
                                                        END};
