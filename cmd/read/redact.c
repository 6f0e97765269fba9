/* redact.c - see redact.h. */
#include "redact.h"

#include "cmd/world.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/yamlx.h"
#include "common/core/labels.h"
#include "common/core/resources.h"
#include "common/kube/observation.h"

#define TOKEN_MAX 32u
#define WORD_MAX 64u
#define FACTS_MAX (1u << 20)

struct redact {
    const struct symtab *t;
    struct map *seen;    /* string → itself while scanning, then its token */
    const char **tokens; /* owned */
    size_t n;
    bool applying;
    unsigned depth;
};

struct redact *redact_new(const struct symtab *t)
{
    struct redact *r = NEW(struct redact);
    r->t = t;
    r->seen = map_new(REDACT_STRINGS_MAX);
    return r;
}

void redact_free(struct redact *r)
{
    if (!r) {
        return;
    }
    for (size_t i = 0; i < r->n; i++) {
        free((char *)(uintptr_t)r->tokens[i]);
    }
    free(r->tokens);
    map_free(r->seen);
    free(r);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void assign(struct redact *r)
{
    size_t n = map_count(r->seen), i = 0;
    const char **names = NEW_N(const char *, n + 1);
    for (MAP_EACH(r->seen, e)) {
        names[i++] = map_key(e);
    }
    if (n > 1) {
        qsort(names, n, sizeof(*names), str_qsort_cmp);
    }
    r->tokens = NEW_N(const char *, n + 1);
    for (i = 0; i < n; i++) {
        /* As many digits as all need: texts sort as numbers then. */
        r->tokens[i] = xasprintf("r%07zu", i + 1);
    }
    for (i = 0; i < n; i++) {
        (void)map_put(r->seen, names[i], (void *)(uintptr_t)r->tokens[i], NULL);
    }
    r->n = n;
    free(names);
    r->applying = true;
}

static const char *token(struct redact *r, const char *s)
{
    if (*s == '\0') {
        return s;
    }
    if (!r->applying) {
        (void)map_put(r->seen, s, r, NULL);
        return s;
    }
    const char *ret = map_get(r->seen, s);
    return ret ? ret : "redacted";
}

/* ---- labels ---------------------------------------------------------------------------------- */

static bool public_key(const char *key)
{
    static const char *const domains[] = {"kubernetes.io", "k8s.io",   "karpenter.sh",
                                          "k8s.aws",       "karp.dev", "amazonaws.com"};
    const char *slash = strchr(key, '/');
    size_t n = slash ? (size_t)(slash - key) : 0;
    for (size_t i = 0; slash && i < ARRAY_LEN(domains); i++) {
        size_t d = strlen(domains[i]);
        if (n >= d && strncmp(key + n - d, domains[i], d) == 0 &&
            (n == d || key[n - d - 1] == '.')) {
            return true;
        }
    }
    return false;
}

static const char *label_key(struct redact *r, const char *key)
{
    return public_key(key) ? key : token(r, key);
}

/* The value is a fact of EC2 or Kubernetes, not a name that somebody gave. */
static bool public_value(const struct redact *r, const char *key)
{
    sym k = sym_find(r->t, labels_normalize(key));
    return k != SYM_NONE && labels_well_known(k) && k != L_NODEPOOL && k != L_EC2NODECLASS &&
           k != L_RESERVATION_ID && k != L_PLACEMENT_GROUP_ID;
}

static const char *label_value(struct redact *r, const char *key, const char *value)
{
    int64_t number;
    bool plain = str_parse_i64(value, &number) || str_eq(value, "true") || str_eq(value, "false");
    return plain || (key && public_value(r, key)) ? value : token(r, value);
}

/* "requests.cpu" of a quota: what stands before the name stays. */
static const char *resource_key(struct redact *r, const char *key)
{
    enum resource known;
    static const char *const before[] = {"requests.", "limits."};
    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        if (str_starts(key, before[i])) {
            const char *name = key + strlen(before[i]);
            bool plain = resource_parse(name, &known) || str_eq(name, "storage");
            return plain ? key : token(r, key);
        }
    }
    bool keep = resource_parse(key, &known) || str_eq(key, "nodes") || str_eq(key, "storage") ||
                str_eq(key, "count/pods") || str_starts(key, "hugepages-") ||
                str_starts(key, "attachable-volumes-");
    return keep ? key : token(r, key);
}

/* ---- which texts stay ------------------------------------------------------------------------ */

static bool listed(const char *const *list, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(list[i], key)) {
            return true;
        }
    }
    return false;
}

static bool kept_text(const char *key)
{
    static const char *const keys[] = {"apiVersion",
                                       "kind",
                                       "group",
                                       "operator",
                                       "effect",
                                       "phase",
                                       "status",
                                       "type",
                                       "restartPolicy",
                                       "protocol",
                                       "whenUnsatisfiable",
                                       "nodeAffinityPolicy",
                                       "nodeTaintsPolicy",
                                       "preemptionPolicy",
                                       "zone",
                                       "zoneID",
                                       "creationTimestamp",
                                       "deletionTimestamp",
                                       "lastTransitionTime",
                                       "lastHeartbeatTime",
                                       "startTime",
                                       "renewTime",
                                       "acquireTime",
                                       "lastPodEventTime",
                                       "expireAfter",
                                       "terminationGracePeriod",
                                       "consolidateAfter",
                                       "consolidationPolicy",
                                       "nodes",
                                       "schedule",
                                       "duration",
                                       "amiFamily",
                                       "alias",
                                       "tenancy",
                                       "capacityType",
                                       "reservationType",
                                       "availabilityZone",
                                       "instanceMatchCriteria",
                                       "state",
                                       "instanceType",
                                       "provisioner",
                                       "driver",
                                       "volumeBindingMode",
                                       "volumeMode",
                                       "volumeSize",
                                       "volumeType",
                                       "deviceName",
                                       "decision",
                                       "expiresAt",
                                       "until",
                                       "scope",
                                       "maxUnavailable",
                                       "minAvailable",
                                       "unhealthyPodEvictionPolicy",
                                       "completionMode",
                                       "podManagementPolicy",
                                       "instanceStorePolicy"};
    return listed(keys, ARRAY_LEN(keys), key);
}

static bool mapped_text(const char *key)
{
    static const char *const keys[] = {"name",
                                       "namespace",
                                       "uid",
                                       "nodeName",
                                       "nominatedNodeName",
                                       "claimName",
                                       "volumeName",
                                       "storageClassName",
                                       "volumeHandle",
                                       "priorityClassName",
                                       "runtimeClassName",
                                       "persistentVolumeName",
                                       "role",
                                       "instanceProfile",
                                       "ssmParameter",
                                       "nodeClaim",
                                       "nodePool"};
    return listed(keys, ARRAY_LEN(keys), key);
}

static bool dropped(const char *key)
{
    static const char *const keys[] = {"managedFields", "env",
                                       "envFrom",       "command",
                                       "args",          "image",
                                       "imageID",       "userData",
                                       "images",        "nodeInfo",
                                       "addresses",     "volumeAttributes",
                                       "parameters",    "resourceVersion",
                                       "selfLink",      "generateName",
                                       "message",       "metadataOptions"};
    return listed(keys, ARRAY_LEN(keys), key);
}

static bool is_resources(const char *key)
{
    static const char *const keys[] = {
        "requests",  "limits",  "capacity",       "allocatable", "overhead", "allocatedResources",
        "resources", "default", "defaultRequest", "max",         "min",      "podFixed",
        "hard",      "used"};
    return listed(keys, ARRAY_LEN(keys), key);
}

static bool is_kubelet_amounts(const char *key)
{
    return str_eq(key, "systemReserved") || str_eq(key, "kubeReserved") ||
           str_eq(key, "evictionHard") || str_eq(key, "evictionSoft");
}

static bool is_labels(const char *key)
{
    return str_eq(key, "labels") || str_eq(key, "matchLabels") || str_eq(key, "nodeSelector");
}

/* "CamelCase" */
static bool is_word(const char *s)
{
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
    return n > 0 && n < WORD_MAX && s[n] == '\0';
}

static bool is_host(const char *s)
{
    return str_eq(s, "127.0.0.1") || str_eq(s, "0.0.0.0") || str_eq(s, "::") || str_eq(s, "::1");
}

/* ---- walking --------------------------------------------------------------------------------- */

static json_t *walk(struct redact *r, const char *key, const json_t *v);

static void set(json_t *o, const char *key, json_t *v)
{
    if (v && json_object_set_new(o, key, v) != 0) {
        BUG("a redacted object refuses %s", key);
    }
}

static json_t *labels(struct redact *r, const json_t *v)
{
    json_t *ret = json_object(), *one;
    const char *key;
    json_object_foreach ((json_t *)(uintptr_t)v, key, one) {
        if (json_is_string(one)) {
            set(ret, label_key(r, key), json_string(label_value(r, key, json_string_value(one))));
        }
    }
    return ret;
}

/* What is decided by; values of these name nobody. */
static bool kept_annotation(const char *key)
{
    static const char *const kept[] = {"controller.kubernetes.io/pod-deletion-cost",
                                       "pv.kubernetes.io/bind-completed",
                                       "storageclass.kubernetes.io/is-default-class",
                                       "storageclass.beta.kubernetes.io/is-default-class"};
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        if (str_eq(key, kept[i])) {
            return true;
        }
    }
    return str_starts(key, "karpenter.sh/") || str_starts(key, "karpenter.k8s.aws/") ||
           str_starts(key, "karp.dev/");
}

static json_t *annotations(const json_t *v)
{
    json_t *ret = json_object(), *one;
    const char *key;
    json_object_foreach ((json_t *)(uintptr_t)v, key, one) {
        if (kept_annotation(key)) {
            set(ret, key, json_incref(one));
        }
    }
    return ret;
}

/* Tags of AWS: nobody but their owner defines any, "*" matches all. */
static json_t *tags(struct redact *r, const json_t *v)
{
    json_t *ret = json_object(), *one;
    const char *key;
    json_object_foreach ((json_t *)(uintptr_t)v, key, one) {
        const char *value = json_string_value(one);
        if (value) {
            set(ret, token(r, key), json_string(str_eq(value, "*") ? value : token(r, value)));
        }
    }
    return ret;
}

/* "subnet-0abc" stays one of a subnet. */
static json_t *id(struct redact *r, const char *s)
{
    static const char *const kinds[] = {"subnet-", "ami-", "sg-", "cr-", "i-"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (str_starts(s, kinds[i])) {
            return json_sprintf("%s%s", kinds[i], token(r, s));
        }
    }
    return json_string(token(r, s));
}

/* Amounts by resource; what is no amount is walked as anything else. */
static json_t *resources(struct redact *r, const json_t *v)
{
    json_t *ret = json_object(), *one;
    const char *key;
    json_object_foreach ((json_t *)(uintptr_t)v, key, one) {
        if (json_is_object(one) || json_is_array(one)) {
            set(ret, key, walk(r, key, one));
        } else {
            set(ret, resource_key(r, key), json_incref(one));
        }
    }
    return ret;
}

/* "aws:///eu-west-1a/i-0abc": the place stays. */
static json_t *provider_id(struct redact *r, const char *s)
{
    const char *slash = strrchr(s, '/');
    if (!slash || !slash[1]) {
        return json_string(token(r, s));
    }
    bool aws = str_starts(s, "aws:///");
    return json_sprintf("%.*si-%s", aws ? (int)(slash - s) + 1 : 0, s, token(r, slash + 1));
}

static json_t *text(struct redact *r, const char *key, const char *s)
{
    if (kept_text(key)) {
        return json_string(s);
    }
    if (mapped_text(key)) {
        return json_string(token(r, s));
    }
    if (str_eq(key, "topologyKey") || str_eq(key, "matchLabelKeys")) {
        return json_string(label_key(r, s));
    }
    if (str_eq(key, "namespaces")) {
        return json_string(token(r, s));
    }
    if (str_eq(key, "reason") || str_eq(key, "reasons") || str_eq(key, "accessModes")) {
        return is_word(s) ? json_string(s) : NULL;
    }
    if (str_eq(key, "id")) {
        return id(r, s);
    }
    if (str_eq(key, "owner")) {
        return is_word(s) && (str_eq(s, "self") || str_eq(s, "amazon")) ? json_string(s) : NULL;
    }
    if (str_eq(key, "providerID")) {
        return provider_id(r, s);
    }
    if (str_eq(key, "schedulerName")) {
        return json_string(str_eq(s, "default-scheduler") ? s : token(r, s));
    }
    if (str_eq(key, "holderIdentity")) {
        return json_string(*s == '\0'                     ? ""
                           : str_starts(s, "karp-agent-") ? "karp-agent-redacted"
                                                          : "karpenter-redacted");
    }
    if (str_eq(key, "hostIP")) {
        return is_host(s) ? json_string(s) : NULL;
    }
    return str_eq(key, "finalizers") && str_starts(s, "karpenter.") ? json_string(s) : NULL;
}

static json_t *array(struct redact *r, const char *key, const json_t *v)
{
    json_t *ret = json_array(), *one;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)v, i, one) {
        /* The limits of a LimitRange are a list of rules, not amounts. */
        json_t *item = walk(r, json_is_object(one) && str_eq(key, "limits") ? "" : key, one);
        if (item) {
            (void)json_array_append_new(ret, item);
        }
    }
    return ret;
}

/* Values of a requirement, in the order given. */
static json_t *values(struct redact *r, const char *label, const json_t *v)
{
    json_t *ret = json_array(), *one;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)v, i, one) {
        if (json_is_string(one)) {
            (void)json_array_append_new(ret,
                                        json_string(label_value(r, label, json_string_value(one))));
        }
    }
    return ret;
}

static json_t *object(struct redact *r, const json_t *v)
{
    json_t *ret = json_object(), *one;
    const char *key;
    const char *label = json_string_value(json_object_get(v, "key"));
    json_object_foreach ((json_t *)(uintptr_t)v, key, one) {
        if (label && str_eq(key, "key")) {
            set(ret, key, json_string(label_key(r, label)));
        } else if (label && str_eq(key, "value") && json_is_string(one)) {
            set(ret, key, json_string(label_value(r, label, json_string_value(one))));
        } else if (label && str_eq(key, "values") && json_is_array(one)) {
            set(ret, key, values(r, label, one));
        } else {
            set(ret, key, walk(r, key, one));
        }
    }
    return ret;
}

/* NULL: left out. */
static json_t *walk(struct redact *r, const char *key, const json_t *v)
{
    json_t *ret = NULL;
    if (dropped(key) || r->depth >= REDACT_DEPTH_MAX) {
        return NULL;
    }
    r->depth++;
    if (json_is_object(v)) {
        ret = is_labels(key)               ? labels(r, v)
              : str_eq(key, "annotations") ? annotations(v)
              : str_eq(key, "tags")        ? tags(r, v)
              : is_resources(key)          ? resources(r, v)
              : is_kubelet_amounts(key)    ? json_deep_copy(v)
                                           : object(r, v);
    } else if (json_is_array(v)) {
        ret = array(r, key, v);
    } else if (json_is_string(v)) {
        ret = text(r, key, json_string_value(v));
    } else {
        ret = json_incref((json_t *)(uintptr_t)v);
    }
    r->depth--;
    return ret;
}

/* ---- objects that are ours by name ----------------------------------------------------------- */

/* Numbers by the id of a reservation. */
static json_t *by_id(struct redact *r, const json_t *v)
{
    json_t *ret = json_object(), *one;
    const char *key;
    json_object_foreach ((json_t *)(uintptr_t)v, key, one) {
        AUTO_JSON json_t *own = id(r, key);
        set(ret, json_string_value(own), json_incref(one));
    }
    return ret;
}

/* What can be read of them. */
static json_t *observations(struct redact *r, const json_t *list)
{
    json_t *ret = json_array(), *row;
    struct observation o;
    size_t i;
    json_array_foreach (list, i, row) {
        if (observation_read(row, &o)) {
            o.cls = token(r, o.cls);
            json_array_append_new(ret, observation_json(&o));
        }
    }
    return ret;
}

/* Its keys are labels of nodes. */
static json_t *scheduler_config(struct redact *r, const char *s)
{
    AUTO_JSON json_t *docs = yamlx_parse_all(s, strlen(s), "schedulerConfig", NULL, NULL);
    json_t *doc = json_array_get(docs, 0);
    AUTO_JSON json_t *own = doc ? walk(r, "", doc) : NULL;
    AUTO_FREE char *dump = own ? jsonx_dump(own) : xstrdup("");
    return json_string(dump);
}

/* Claims by name and UID, and a time. */
static json_t *spared(struct redact *r, const json_t *list)
{
    json_t *ret = json_array(), *row;
    size_t i;
    json_array_foreach (list, i, row) {
        json_t *own = json_is_object(row) ? json_copy(row) : NULL;
        const char *name = jsonx_str(row, "nodeClaim"), *uid = jsonx_str(row, "uid");
        if (own && name && uid) {
            set(own, "nodeClaim", json_string(token(r, name)));
            set(own, "uid", json_string(token(r, uid)));
            json_array_append(ret, own);
        }
        json_decref(own);
    }
    return ret;
}

static json_t *names(struct redact *r, const json_t *list)
{
    json_t *ret = json_array(), *one;
    size_t i;
    json_array_foreach (list, i, one) {
        if (json_is_string(one)) {
            json_array_append_new(ret, json_string(token(r, json_string_value(one))));
        }
    }
    return ret;
}

static json_t *facts(struct redact *r, const json_t *o)
{
    static const char *const kept[] = {"schema",    "generation", "version",
                                       "writtenAt", "options",    "unavailableOfferings"};
    const char *text_in = json_string_value(json_object_get(jsonx_obj(o, "data"), "facts.json"));
    json_t *ret = json_object();
    json_t *v =
        text_in ? jsonx_parse(text_in, strnlen(text_in, FACTS_MAX), WORLD_FACTS, NULL) : NULL;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        json_t *one = json_object_get(v, kept[i]);
        if (one) {
            set(ret, kept[i], json_incref(one));
        }
    }
    json_t *options = jsonx_obj(v, "options");
    const char *config = jsonx_str(options, "schedulerConfig");
    if (config) {
        set(ret, "options", json_copy(options));
        set(json_object_get(ret, "options"), "schedulerConfig", scheduler_config(r, config));
    }
    const json_t *seen = jsonx_arr(v, OBSERVATION_KEY);
    if (seen) {
        set(ret, OBSERVATION_KEY, observations(r, seen));
    }
    const json_t *list = jsonx_arr(v, "spared");
    if (list) {
        set(ret, "spared", spared(r, list));
    }
    list = jsonx_arr(v, "launchesFailing");
    if (list) {
        set(ret, "launchesFailing", names(r, list));
    }
    const json_t *left = jsonx_obj(v, "capacityReservations");
    if (left) {
        set(ret, "capacityReservations", by_id(r, left));
    }
    AUTO_FREE char *dump = jsonx_dump(ret);
    json_decref(v);
    json_decref(ret);
    ret = json_pack("{s:s}", "facts.json", dump);
    json_t *prices = json_object_get(jsonx_obj(o, "data"), "prices.json");
    if (prices) {
        set(ret, "prices.json", json_incref(prices)); /* AWS's words */
    }
    return ret;
}

static json_t *whole(struct redact *r, enum kube_kind k, const json_t *o)
{
    json_t *ret = object(r, o);
    bool ours = k == KIND_LEASE || k == KIND_CONFIG_MAP;
    if (ours) {
        /* Looked for by name, and they say nothing else. */
        json_t *meta = json_object_get(ret, "metadata");
        set(meta, "name", json_incref(jsonx_at(o, "metadata.name")));
        json_t *ns = jsonx_at(o, "metadata.namespace");
        set(meta, "namespace", ns ? json_incref(ns) : NULL);
    }
    if (k == KIND_CONFIG_MAP) {
        set(ret, "data", facts(r, o));
    }
    json_t *selector = k == KIND_SERVICE ? jsonx_obj(o, "spec.selector") : NULL;
    if (selector) {
        /* Labels themselves, where other kinds have a LabelSelector. */
        set(json_object_get(ret, "spec"), "selector", labels(r, selector));
    }
    return ret;
}

void redact_scan(struct redact *r, enum kube_kind k, const json_t *o)
{
    json_decref(whole(r, k, o));
}

json_t *redact_apply(struct redact *r, enum kube_kind k, const json_t *o)
{
    if (!r->applying) {
        assign(r);
    }
    return whole(r, k, o);
}
