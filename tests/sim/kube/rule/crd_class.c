/* crd_class.c - EC2NodeClass, as deploy/crds has it; see schema.h */
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

static bool has(const json_t *o, const char *key)
{
    return json_object_get(o, key) != NULL;
}

/* Of the fields named, how many the object has; names end with NULL. */
static size_t has_of(const json_t *o, const char *const *names)
{
    size_t n = 0;
    for (; *names; names++) {
        n += has(o, *names);
    }
    return n;
}

/* ---- selector terms ---------------------------------------------------------------------------
 */

/* Every term has at least one of the fields. */
static bool each_has(const json_t *terms, const char *const *names)
{
    size_t i;
    json_t *t;
    json_array_foreach ((json_t *)terms, i, t) {
        if (has_of(t, names) == 0) {
            return false;
        }
    }
    return true;
}

/* No term has the field together with one of the others. */
static bool excludes(const json_t *terms, const char *field, const char *const *others)
{
    size_t i;
    json_t *t;
    json_array_foreach ((json_t *)terms, i, t) {
        if (has(t, field) && has_of(t, others) > 0) {
            return false;
        }
    }
    return true;
}

#define RULE(name, ...)                                                                            \
    static bool name(const json_t *self, const json_t *old UNUSED)                                 \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

RULE(subnet_has, each_has(self, NAMES("tags", "id")))
RULE(subnet_id, excludes(self, "id", NAMES("tags")))
RULE(group_has, each_has(self, NAMES("tags", "id", "name")))
RULE(group_id, excludes(self, "id", NAMES("tags", "name")))
RULE(group_name, excludes(self, "name", NAMES("tags", "id")))
RULE(reservation_has, each_has(self, NAMES("tags", "id", "instanceMatchCriteria")))
RULE(reservation_id, excludes(self, "id", NAMES("tags", "ownerID", "instanceMatchCriteria")))
RULE(ami_has, each_has(self, NAMES("tags", "id", "name", "alias", "ssmParameter")))
RULE(ami_id, excludes(self, "id", NAMES("alias", "tags", "name", "owner")))
RULE(ami_alias, excludes(self, "alias", NAMES("id", "tags", "name", "owner")))

static const json_t *alias_term(const json_t *terms)
{
    size_t i;
    json_t *t;
    json_array_foreach ((json_t *)terms, i, t) {
        if (has(t, "alias")) {
            return t;
        }
    }
    return NULL;
}

RULE(alias_alone, !alias_term(self) || json_array_size(self) == 1)

static const struct sim_rule subnet_rules[] = {{"each term needs tags or id", subnet_has, false},
                                               {"id excludes tags", subnet_id, false},
                                               NO_MORE};
static const struct sim_rule group_rules[] = {
    {"each term needs tags, id or name", group_has, false},
    {"id excludes all others", group_id, false},
    {"name excludes all others", group_name, false},
    NO_MORE};
static const struct sim_rule reservation_rules[] = {
    {"each term needs tags, id or instanceMatchCriteria", reservation_has, false},
    {"id excludes all others", reservation_id, false},
    NO_MORE};
static const struct sim_rule ami_rules[] = {
    {"each term needs tags, id, name, alias or ssmParameter", ami_has, false},
    {"id excludes alias, tags, name and owner", ami_id, false},
    {"alias excludes id, tags, name and owner", ami_alias, false},
    {"an alias must be the only term", alias_alone, false},
    NO_MORE};

static bool tags_are_full(const json_t *self, const json_t *old UNUSED)
{
    const char *key;
    json_t *v;
    json_object_foreach ((json_t *)self, key, v) {
        if (key[0] == '\0' || json_string_length(v) == 0) {
            return false;
        }
    }
    return true;
}

static const struct sim_rule tag_rules[] = {
    {"tags have neither empty keys nor empty values", tags_are_full, false}, NO_MORE};
static const struct sim_schema text = {.key = "", .type = SIM_STRING};

#define TAGS                                                                                       \
    {                                                                                              \
        .key = "tags", .type = SIM_OBJECT, .flags = SIM_MAX, .max = 20, .items = &text,            \
        .rules = tag_rules                                                                         \
    }
#define TEXT(name)                                                                                 \
    {                                                                                              \
        .key = (name), .type = SIM_STRING                                                          \
    }
#define TEXT_MATCH(name, fn, p)                                                                    \
    {                                                                                              \
        .key = (name), .type = SIM_STRING, .match = (fn), .pattern = (p)                           \
    }
#define TEXT_OF(name, list)                                                                        \
    {                                                                                              \
        .key = (name), .type = SIM_STRING, .oneof = (list)                                         \
    }
#define NUMBER(name, lo, hi)                                                                       \
    {                                                                                              \
        .key = (name), .type = SIM_INTEGER, .flags = SIM_MIN | SIM_MAX, .min = (lo), .max = (hi)   \
    }
#define NUMBER_FROM(name, lo)                                                                      \
    {                                                                                              \
        .key = (name), .type = SIM_INTEGER, .flags = SIM_MIN, .min = (lo)                          \
    }
#define FLAG(name)                                                                                 \
    {                                                                                              \
        .key = (name), .type = SIM_BOOLEAN                                                         \
    }
#define TERMS(name, more, lo, one, rules_)                                                         \
    {                                                                                              \
        .key = (name), .type = SIM_ARRAY, .flags = SIM_MIN | SIM_MAX | (more), .min = (lo),        \
        .max = 30, .items = &(one), .rules = (rules_)                                              \
    }

static const struct sim_schema subnet_fields[] = {
    TAGS, TEXT_MATCH("id", sim_match_subnet, "subnet-[0-9a-z]+"), END};
static const struct sim_schema subnet = {.key = "", .type = SIM_OBJECT, .props = subnet_fields};

static const struct sim_schema group_fields[] = {
    TAGS, TEXT_MATCH("id", sim_match_group, "sg-[0-9a-z]+"), TEXT("name"), END};
static const struct sim_schema group = {.key = "", .type = SIM_OBJECT, .props = group_fields};

static const char *const criteria[] = {"open", "targeted", NULL};
static const struct sim_schema reservation_fields[] = {
    TAGS, TEXT_MATCH("id", sim_match_reservation, "^cr-[0-9a-z]+$"),
    TEXT_MATCH("ownerID", sim_match_account, "^[0-9]{12}$"),
    TEXT_OF("instanceMatchCriteria", criteria), END};
static const struct sim_schema reservation = {
    .key = "", .type = SIM_OBJECT, .props = reservation_fields};

/* ---- images -----------------------------------------------------------------------------------
 */

static const char *const alias_families[] = {"al2",         "al2023",      "bottlerocket",
                                             "windows2019", "windows2022", "windows2025"};

/* What stands before the '@'; how long. */
static size_t family_len(const char *alias)
{
    return strcspn(alias, "@");
}

static bool alias_shape(const json_t *self, const json_t *old UNUSED)
{
    const char *s = json_string_value(self);
    size_t n = family_len(s);
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)s[i])) {
            return false;
        }
    }
    return n > 0 && s[n] == '@' && s[n + 1] != '\0';
}

static int alias_family(const char *s)
{
    size_t n = family_len(s);
    for (size_t i = 0; i < ARRAY_LEN(alias_families); i++) {
        if (strlen(alias_families[i]) == n && strncmp(s, alias_families[i], n) == 0) {
            return (int)i;
        }
    }
    return -1;
}

RULE(alias_known, alias_family(json_string_value(self)) >= 0)

static bool windows_latest(const json_t *self, const json_t *old UNUSED)
{
    const char *s = json_string_value(self);
    size_t n = family_len(s);
    return alias_family(s) < 3 || (s[n] == '@' && str_eq(s + n + 1, "latest"));
}

static const struct sim_rule alias_rules[] = {
    {"an alias is family@version", alias_shape, false},
    {"the family of an alias is al2, al2023, bottlerocket, windows2019, windows2022 or windows2025",
     alias_known, false},
    {"Windows images have no version but latest", windows_latest, false},
    NO_MORE};

static const struct sim_schema ami_fields[] = {
    TAGS,
    TEXT_MATCH("id", sim_match_ami, "ami-[0-9a-z]+"),
    TEXT("name"),
    TEXT("owner"),
    TEXT("ssmParameter"),
    {.key = "alias", .type = SIM_STRING, .flags = SIM_MAX, .max = 30, .rules = alias_rules},
    END};
static const struct sim_schema ami = {.key = "", .type = SIM_OBJECT, .props = ami_fields};

static const char *const families[] = {"AL2",         "AL2023",      "Bottlerocket", "Custom",
                                       "Windows2019", "Windows2022", "Windows2025",  NULL};

/* ---- disks and network ------------------------------------------------------------------------
 */

RULE(disk_has_source, has(self, "snapshotID") || has(self, "volumeSize"))
RULE(rate_needs_snapshot,
     !has(self, "volumeInitializationRate") || jsonx_str_or(self, "snapshotID", "")[0] != '\0')

static const struct sim_rule disk_rules[] = {
    {"snapshotID or volumeSize must be set", disk_has_source, false},
    {"volumeInitializationRate needs a snapshotID", rate_needs_snapshot, false},
    NO_MORE};
static const char *const volume_types[] = {"standard", "io1", "io2", "gp2",
                                           "sc1",      "st1", "gp3", NULL};
static const struct sim_schema disk_fields[] = {
    FLAG("deleteOnTermination"),
    FLAG("encrypted"),
    {.key = "iops", .type = SIM_INTEGER},
    TEXT("kmsKeyID"),
    TEXT("snapshotID"),
    {.key = "throughput", .type = SIM_INTEGER},
    NUMBER("volumeInitializationRate", 100, 300),
    TEXT_MATCH("volumeSize", sim_match_volume_size,
               "^((?:[1-9][0-9]{0,3}|[1-4][0-9]{4}|[5][0-8][0-9]{3}|59000)Gi|(?:[1-9][0-9]{0,3}|[1-"
               "5][0-9]{4}|[6][0-3][0-9]{3}|64000)G|([1-9]|[1-5][0-7]|58)Ti|([1-9]|[1-5][0-9]|6[0-"
               "3]|64)T)$"),
    TEXT_OF("volumeType", volume_types),
    END};
static const struct sim_schema mapping_fields[] = {
    TEXT("deviceName"),
    FLAG("rootVolume"),
    {.key = "ebs", .type = SIM_OBJECT, .props = disk_fields, .rules = disk_rules},
    END};
static const struct sim_schema mapping = {.key = "", .type = SIM_OBJECT, .props = mapping_fields};

static bool one_root(const json_t *self, const json_t *old UNUSED)
{
    size_t i, n = 0;
    json_t *m;
    json_array_foreach ((json_t *)self, i, m) {
        n += jsonx_bool(m, "rootVolume", false);
    }
    return n <= 1;
}

static const struct sim_rule mapping_rules[] = {{"at most one root volume", one_root, false},
                                                NO_MORE};

/* How many interfaces of the list are like x in card and device, or in card with type efa-only. */
static size_t like(const json_t *list, const json_t *x, bool efa)
{
    size_t i, n = 0;
    json_t *y;
    json_array_foreach ((json_t *)list, i, y) {
        bool card = json_equal(json_object_get(x, "networkCardIndex"),
                               json_object_get(y, "networkCardIndex"));
        bool device =
            json_equal(json_object_get(x, "deviceIndex"), json_object_get(y, "deviceIndex"));
        n += card && (efa ? str_eq(jsonx_str(y, "interfaceType"), "efa-only") : device);
    }
    return n;
}

static bool first_interface(const json_t *self, const json_t *old UNUSED)
{
    size_t i;
    json_t *x;
    json_array_foreach ((json_t *)self, i, x) {
        if (jsonx_int(x, "networkCardIndex", -1) == 0 && jsonx_int(x, "deviceIndex", -1) == 0 &&
            str_eq(jsonx_str(x, "interfaceType"), "interface")) {
            return true;
        }
    }
    return json_array_size(self) == 0;
}

static bool pairs_are_unique(const json_t *self, const json_t *old UNUSED)
{
    size_t i;
    json_t *x;
    json_array_foreach ((json_t *)self, i, x) {
        if (like(self, x, false) != 1) {
            return false;
        }
    }
    return true;
}

static bool one_efa(const json_t *self, const json_t *old UNUSED)
{
    size_t i;
    json_t *x;
    json_array_foreach ((json_t *)self, i, x) {
        if (str_eq(jsonx_str(x, "interfaceType"), "efa-only") && like(self, x, true) != 1) {
            return false;
        }
    }
    return true;
}

static const struct sim_rule interface_rules[] = {
    {"card 0, device 0 must be there as an interface", first_interface, false},
    {"card and device pairs are unique", pairs_are_unique, false},
    {"at most one efa-only interface on a card", one_efa, false},
    NO_MORE};
static const char *const interface_types[] = {"interface", "efa-only", NULL};
static const struct sim_schema interface_fields[] = {
    {.key = "networkCardIndex", .type = SIM_INTEGER, .flags = SIM_REQUIRED | SIM_MIN, .min = 0},
    {.key = "deviceIndex", .type = SIM_INTEGER, .flags = SIM_REQUIRED | SIM_MIN, .min = 0},
    {.key = "interfaceType", .type = SIM_STRING, .flags = SIM_REQUIRED, .oneof = interface_types},
    END};
static const struct sim_schema interface = {
    .key = "", .type = SIM_OBJECT, .props = interface_fields};

RULE(name_or_id, has(self, "name") != has(self, "id"))
static const struct sim_rule placement_rules[] = {{"exactly one of name and id", name_or_id, false},
                                                  NO_MORE};
static const struct sim_schema placement_fields[] = {
    {.key = "name", .type = SIM_STRING, .flags = SIM_MIN, .min = 1},
    TEXT_MATCH("id", sim_match_placement, "^pg-[0-9a-z]+$"),
    END};

RULE(some_timeout,
     has_of(self, NAMES("tcpEstablishedTimeout", "udpStreamTimeout", "udpTimeout")) > 0)
static const struct sim_rule tracking_rules[] = {
    {"at least one time-out must be set", some_timeout, false}, NO_MORE};
static const struct sim_schema tracking_fields[] = {NUMBER("tcpEstablishedTimeout", 60, 432000),
                                                    NUMBER("udpStreamTimeout", 60, 180),
                                                    NUMBER("udpTimeout", 30, 60), END};

static const char *const on_off[] = {"enabled", "disabled", NULL};
static const char *const token_modes[] = {"required", "optional", NULL};
static const struct sim_schema metadata_fields[] = {
    {.key = "httpEndpoint", .type = SIM_STRING, .fallback = "'enabled'", .oneof = on_off},
    {.key = "httpProtocolIPv6", .type = SIM_STRING, .fallback = "'disabled'", .oneof = on_off},
    {.key = "httpPutResponseHopLimit",
     .type = SIM_INTEGER,
     .flags = SIM_MIN | SIM_MAX,
     .min = 1,
     .max = 64,
     .fallback = "1"},
    {.key = "httpTokens", .type = SIM_STRING, .fallback = "'required'", .oneof = token_modes},
    END};
static const struct sim_schema cpu_fields[] = {TEXT_OF("nestedVirtualization", on_off), END};

/* ---- the whole --------------------------------------------------------------------------------
 */

static bool all_keys(const json_t *map, bool (*holds)(const char *))
{
    const char *key;
    json_t *v;
    json_object_foreach ((json_t *)map, key, v) {
        if (!holds(key)) {
            return false;
        }
    }
    return true;
}

static bool key_full(const char *k)
{
    return k[0] != '\0';
}

static bool key_not_eks(const char *k)
{
    return !str_eq(k, "eks:eks-cluster-name");
}

static bool key_not_cluster(const char *k)
{
    return !str_starts(k, "kubernetes.io/cluster");
}

static bool key_not_ours(const char *k)
{
    return !str_eq(k, "karpenter.sh/nodepool") && !str_eq(k, "karpenter.sh/nodeclaim") &&
           !str_eq(k, "karpenter.k8s.aws/ec2nodeclass");
}

RULE(tags_full, all_keys(self, key_full))
RULE(tags_not_eks, all_keys(self, key_not_eks))
RULE(tags_not_cluster, all_keys(self, key_not_cluster))
RULE(tags_not_ours, all_keys(self, key_not_ours))

static const struct sim_rule own_tag_rules[] = {
    {"tags have no empty keys", tags_full, false},
    {"eks:eks-cluster-name is set by the controller", tags_not_eks, false},
    {"kubernetes.io/cluster tags are set by the controller", tags_not_cluster, false},
    {"karpenter.sh/nodepool, karpenter.sh/nodeclaim and karpenter.k8s.aws/ec2nodeclass are set by "
     "the controller",
     tags_not_ours, false},
    NO_MORE};

static const char *alias_of(const json_t *spec)
{
    return jsonx_str(alias_term(json_object_get(spec, "amiSelectorTerms")), "alias");
}

static bool family_is_alias(const json_t *self, const json_t *old UNUSED)
{
    const char *family = jsonx_str(self, "amiFamily"), *alias = alias_of(self);
    return !family || str_eq(family, "Custom") || !alias ||
           (strlen(family) == family_len(alias) && strncasecmp(family, alias, strlen(family)) == 0);
}

RULE(role_or_profile, has(self, "role") != has(self, "instanceProfile"))
RULE(family_or_alias,
     has(self, "amiFamily") || alias_term(json_object_get(self, "amiSelectorTerms")) != NULL)

static const struct sim_rule class_rules[] = {
    {"exactly one of role and instanceProfile", role_or_profile, false},
    {"without an alias amiFamily is required", family_or_alias, false},
    {"with an alias amiFamily is that family or Custom", family_is_alias, false},
    NO_MORE};
static const char *const policies[] = {"RAID0", NULL};

static const struct sim_schema class_fields[] = {
    TERMS("subnetSelectorTerms", SIM_REQUIRED, 1, subnet, subnet_rules),
    TERMS("securityGroupSelectorTerms", SIM_REQUIRED, 1, group, group_rules),
    TERMS("capacityReservationSelectorTerms", 0, 0, reservation, reservation_rules),
    {.key = "placementGroupSelector",
     .type = SIM_OBJECT,
     .props = placement_fields,
     .rules = placement_rules},
    FLAG("associatePublicIPAddress"),
    NUMBER_FROM("ipPrefixCount", 0),
    TERMS("amiSelectorTerms", SIM_REQUIRED, 1, ami, ami_rules),
    TEXT_OF("amiFamily", families),
    TEXT("userData"),
    {.key = "role", .type = SIM_STRING, .flags = SIM_MIN, .min = 1},
    {.key = "instanceProfile", .type = SIM_STRING, .flags = SIM_MIN, .min = 1},
    {.key = "tags", .type = SIM_OBJECT, .items = &text, .rules = own_tag_rules},
    {.key = "kubelet", .type = SIM_OBJECT, .flags = SIM_OPEN},
    {.key = "blockDeviceMappings",
     .type = SIM_ARRAY,
     .flags = SIM_MAX,
     .max = 50,
     .items = &mapping,
     .rules = mapping_rules},
    TEXT_OF("instanceStorePolicy", policies),
    {.key = "networkInterfaces",
     .type = SIM_ARRAY,
     .flags = SIM_MAX,
     .max = 150,
     .items = &interface,
     .rules = interface_rules},
    FLAG("detailedMonitoring"),
    {.key = "metadataOptions",
     .type = SIM_OBJECT,
     .fallback = "{'httpEndpoint':'enabled','httpProtocolIPv6':'disabled',"
                 "'httpPutResponseHopLimit':1,'httpTokens':'required'}",
     .props = metadata_fields},
    {.key = "connectionTracking",
     .type = SIM_OBJECT,
     .props = tracking_fields,
     .rules = tracking_rules},
    TEXT("context"),
    {.key = "cpuOptions", .type = SIM_OBJECT, .props = cpu_fields},
    END};

/* ---- status -----------------------------------------------------------------------------------
 */

#define NEEDED(name)                                                                               \
    {                                                                                              \
        .key = (name), .type = SIM_STRING, .flags = SIM_REQUIRED                                   \
    }

static const char *const truths[] = {"True", "False", "Unknown", NULL};
static const struct sim_schema condition_fields[] = {
    {.key = "type", .type = SIM_STRING, .flags = SIM_REQUIRED | SIM_MAX, .max = 316},
    {.key = "status", .type = SIM_STRING, .flags = SIM_REQUIRED, .oneof = truths},
    {.key = "reason",
     .type = SIM_STRING,
     .flags = SIM_REQUIRED | SIM_MIN | SIM_MAX,
     .min = 1,
     .max = 1024},
    {.key = "message", .type = SIM_STRING, .flags = SIM_REQUIRED | SIM_MAX, .max = 32768},
    {.key = "lastTransitionTime", .type = SIM_STRING, .flags = SIM_REQUIRED | SIM_TIME},
    NUMBER_FROM("observedGeneration", 0),
    END};
static const struct sim_schema condition = {
    .key = "", .type = SIM_OBJECT, .props = condition_fields};

static const struct sim_schema found_subnet_fields[] = {NEEDED("id"), NEEDED("zone"),
                                                        TEXT("zoneID"), END};
static const struct sim_schema found_subnet = {
    .key = "", .type = SIM_OBJECT, .props = found_subnet_fields};
static const struct sim_schema found_group_fields[] = {NEEDED("id"), TEXT("name"), END};
static const struct sim_schema found_group = {
    .key = "", .type = SIM_OBJECT, .props = found_group_fields};

static const struct sim_schema image_requirement_fields[] = {
    NEEDED("key"), NEEDED("operator"), {.key = "values", .type = SIM_ARRAY, .items = &text}, END};
static const struct sim_schema image_requirement = {
    .key = "", .type = SIM_OBJECT, .props = image_requirement_fields};
static const struct sim_schema found_image_fields[] = {
    NEEDED("id"),
    TEXT("name"),
    FLAG("deprecated"),
    {.key = "requirements", .type = SIM_ARRAY, .flags = SIM_REQUIRED, .items = &image_requirement},
    END};
static const struct sim_schema found_image = {
    .key = "", .type = SIM_OBJECT, .props = found_image_fields};

static const char *const reservation_types[] = {"default", "capacity-block", NULL};
static const char *const reservation_states[] = {"active", "expiring", NULL};
static const struct sim_schema found_reservation_fields[] = {
    NEEDED("availabilityZone"),
    {.key = "endTime", .type = SIM_STRING, .flags = SIM_TIME},
    NEEDED("id"),
    {.key = "instanceMatchCriteria", .type = SIM_STRING, .flags = SIM_REQUIRED, .oneof = criteria},
    NEEDED("instanceType"),
    NEEDED("ownerID"),
    {.key = "reservationType",
     .type = SIM_STRING,
     .fallback = "'default'",
     .oneof = reservation_types},
    FLAG("interruptible"),
    {.key = "state", .type = SIM_STRING, .fallback = "'active'", .oneof = reservation_states},
    END};
static const struct sim_schema found_reservation = {
    .key = "", .type = SIM_OBJECT, .props = found_reservation_fields};

static const struct sim_schema status_fields[] = {
    {.key = "subnets", .type = SIM_ARRAY, .items = &found_subnet},
    {.key = "securityGroups", .type = SIM_ARRAY, .items = &found_group},
    {.key = "amis", .type = SIM_ARRAY, .items = &found_image},
    {.key = "capacityReservations", .type = SIM_ARRAY, .items = &found_reservation},
    TEXT("instanceProfile"),
    {.key = "conditions", .type = SIM_ARRAY, .items = &condition},
    END};

const struct sim_schema sim_schema_ec2nodeclass[] = {
    {.key = "spec",
     .type = SIM_OBJECT,
     .flags = SIM_REQUIRED,
     .props = class_fields,
     .rules = class_rules},
    {.key = "status", .type = SIM_OBJECT, .props = status_fields},
    END};
