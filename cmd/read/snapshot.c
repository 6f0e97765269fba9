/*
 * snapshot.c - `kubectl karp snapshot`: what the reading commands need, as one List.
 *
 * Left out in any case, since no decision needs it and secrets hide there: environment, commands
 * and everything else of containers but names, images, resources and ports; volumes other than
 * claims; user data; parameters of storage; what managedFields and last-applied repeat. Secrets are
 * never read. With --redact see redact.h.
 */
#include "cmd/opts_table.h"
#include "cmd/out.h"
#include "cmd/session.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "redact.h"

static const uint64_t snapshot_kinds =
    GATHER(KIND_NAMESPACE) | GATHER(KIND_SERVICE) | GATHER(KIND_EVENT) |
    GATHER(KIND_PERSISTENT_VOLUME) | GATHER(KIND_PERSISTENT_VOLUME_CLAIM) |
    GATHER(KIND_STORAGE_CLASS) | GATHER(KIND_CSI_NODE) | GATHER(KIND_DEPLOYMENT) |
    GATHER(KIND_REPLICA_SET) | GATHER(KIND_STATEFUL_SET) | GATHER(KIND_LIMIT_RANGE) |
    GATHER(KIND_RUNTIME_CLASS) | GATHER(KIND_PRIORITY_CLASS) | GATHER(KIND_RESOURCE_QUOTA) |
    GATHER(KIND_JOB) | GATHER(KIND_POD_DISRUPTION_BUDGET) | GATHER(KIND_DISRUPTION_REQUEST) |
    GATHER(KIND_DISRUPTION_GRANT) | GATHER(KIND_HOLD) | GATHER_HISTORY | GATHER_OBSERVED;

/* ---- what stays ------------------------------------------------------------------------------ */

static void keep_only(json_t *o, const char *const *keys, size_t n)
{
    void *tmp;
    const char *key;
    json_t *v;
    json_object_foreach_safe(o, tmp, key, v)
    {
        bool keep = false;
        for (size_t i = 0; i < n; i++) {
            keep = keep || str_eq(keys[i], key);
        }
        if (!keep) {
            (void)json_object_del(o, key);
        }
    }
}

static void strip_list(json_t *list, const char *const *keys, size_t n)
{
    size_t i;
    json_t *v;
    json_array_foreach (list, i, v) {
        keep_only(v, keys, n);
    }
}

static bool is_claim(const json_t *volume)
{
    return json_object_get(volume, "persistentVolumeClaim") || json_object_get(volume, "ephemeral");
}

static void strip_volumes(json_t *spec)
{
    json_t *list = jsonx_arr(spec, "volumes");
    for (size_t i = json_array_size(list); i > 0; i--) {
        if (!is_claim(json_array_get(list, i - 1))) {
            (void)json_array_remove(list, i - 1);
        }
    }
}

static void strip_pod_spec(json_t *spec)
{
    static const char *const container[] = {"name", "image", "resources", "ports", "restartPolicy"};
    static const char *const lists[] = {"containers", "initContainers", "ephemeralContainers"};
    static const char *const gone[] = {"imagePullSecrets", "serviceAccount", "serviceAccountName",
                                       "securityContext",  "hostAliases",    "dnsConfig"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        strip_list(jsonx_arr(spec, lists[i]), container, ARRAY_LEN(container));
    }
    for (size_t i = 0; spec && i < ARRAY_LEN(gone); i++) {
        (void)json_object_del(spec, gone[i]);
    }
    strip_volumes(spec);
}

static void strip_pod_status(json_t *status)
{
    static const char *const kept[] = {"name", "resources", "allocatedResources"};
    strip_list(jsonx_arr(status, "containerStatuses"), kept, ARRAY_LEN(kept));
    strip_list(jsonx_arr(status, "initContainerStatuses"), kept, ARRAY_LEN(kept));
}

static void del(json_t *o, const char *path, const char *key)
{
    json_t *at = jsonx_obj(o, path);
    if (at) {
        (void)json_object_del(at, key);
    }
}

static void strip_meta(json_t *o)
{
    static const char *const places[] = {"metadata.annotations",
                                         "spec.template.metadata.annotations"};
    del(o, "metadata", "managedFields");
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        del(o, places[i], "kubectl.kubernetes.io/last-applied-configuration");
    }
}

static void strip(enum kube_kind k, json_t *o)
{
    static const char *const published[] = {"facts.json", "prices.json", "history.json",
                                            "observed.json"};
    static const char *const csi[] = {"driver", "volumeHandle"};
    static const char *const service[] = {"selector"};
    strip_meta(o);
    switch (k) {
    case KIND_POD:
        strip_pod_spec(jsonx_obj(o, "spec"));
        strip_pod_status(jsonx_obj(o, "status"));
        del(o, "status", "message");
        break;
    case KIND_DAEMON_SET:
    case KIND_DEPLOYMENT:
    case KIND_REPLICA_SET:
    case KIND_STATEFUL_SET:
    case KIND_JOB:
        strip_pod_spec(jsonx_obj(o, "spec.template.spec"));
        break;
    case KIND_NODE:
        del(o, "status", "images");
        break;
    case KIND_EC2_NODE_CLASS:
        del(o, "spec", "userData");
        break;
    case KIND_CONFIG_MAP:
        (void)json_object_del(o, "binaryData");
        keep_only(jsonx_obj(o, "data"), published, ARRAY_LEN(published));
        break;
    case KIND_SERVICE:
        keep_only(jsonx_obj(o, "spec"), service, ARRAY_LEN(service));
        (void)json_object_del(o, "status");
        break;
    case KIND_PERSISTENT_VOLUME:
        keep_only(jsonx_obj(o, "spec.csi"), csi, ARRAY_LEN(csi));
        break;
    case KIND_STORAGE_CLASS:
        (void)json_object_del(o, "parameters");
        break;
    default:
        break;
    }
}

/* Objects of these kinds are wanted by name. */
static bool wanted(const struct object *o)
{
    return (o->kind != KIND_CONFIG_MAP || str_eq(o->name, WORLD_FACTS) ||
            str_eq(o->name, WORLD_HISTORY) || str_eq(o->name, WORLD_OBSERVED)) &&
           (o->kind != KIND_LEASE || str_eq(o->name, WORLD_LEASE));
}

/* ---- the list -------------------------------------------------------------------------------- */

static json_t *stripped(const struct objects *objs)
{
    json_t *items = json_array();
    for (size_t i = 0; i < objects_n(objs); i++) {
        const struct object *o = objects_at(objs, i);
        if (wanted(o)) {
            json_t *copy = json_deep_copy(o->o);
            strip(o->kind, copy);
            (void)json_array_append_new(items, copy);
        }
    }
    return items;
}

static bool kind_of(const json_t *o, enum kube_kind *ret)
{
    return kube_kind_find(jsonx_str_or(o, "kind", ""), jsonx_str(o, "apiVersion"), ret);
}

/* What controllers say is all names: Events and what the agent wrote down are left out. */
static json_t *redacted(const struct symtab *t, const json_t *items)
{
    struct redact *r = redact_new(t);
    json_t *ret = json_array(), *o;
    enum kube_kind k;
    size_t i;
    for (int pass = 0; pass < 2; pass++) {
        json_array_foreach ((json_t *)(uintptr_t)items, i, o) {
            if (!kind_of(o, &k) || k == KIND_EVENT ||
                str_eq(jsonx_str(o, "metadata.name"), WORLD_HISTORY) ||
                str_eq(jsonx_str(o, "metadata.name"), WORLD_OBSERVED)) {
                continue;
            }
            if (pass == 0) {
                redact_scan(r, k, o);
            } else {
                (void)json_array_append_new(ret, redact_apply(r, k, o));
            }
        }
    }
    redact_free(r);
    return ret;
}

static int write_list(struct session *s, const struct out_spec *spec, struct err *reterr)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUT_MAX);
    json_t *items = stripped(s->keep);
    if (s->c->o->redact) {
        json_t *plain = items;
        items = redacted(s->w.syms, plain);
        json_decref(plain);
    }
    json_t *list = json_pack("{s:s, s:s, s:o}", "apiVersion", "v1", "kind", "List", "items", items);
    int rc = out_report(spec, list, &out, reterr);
    json_decref(list);
    return rc ? -1 : out_flush(s->c->out, &out, reterr);
}

static int snapshot(struct session *s, const struct out_spec *spec, struct err *reterr)
{
    s->w.event_fields = "involvedObject.kind=Pod,reason=FailedScheduling";
    if (session_gather(s, session_kinds | snapshot_kinds, reterr) != 0) {
        return -1;
    }
    objects_sort(s->keep);
    return write_list(s, spec, reterr);
}

static int run(struct cmd *c, struct err *reterr)
{
    struct out_spec spec;
    struct session s;
    if (c->o->words.n > 0) {
        return err_set(reterr, ERR_INVALID, "snapshot takes no arguments, \"%s\" is one",
                       c->o->words.v[0]);
    }
    if (out_parse(c->o->output, OUT_JSON | OUT_YAML, &spec, reterr) != 0) {
        return -1;
    }
    spec.format = spec.format == OUT_TABLE ? OUT_YAML : spec.format;
    session_init(&s, c, true);
    int rc = snapshot(&s, &spec, reterr);
    session_done(&s);
    return rc;
}

static const struct opt_group *const groups[] = {&opts_snapshot,   &opts_output,  &opts_input,
                                                 &opts_connection, &opts_general, NULL};

const struct cmd_info cmd_snapshot_info = {
    "snapshot",
    "Saves what the reading commands need, for looking at it elsewhere",
    "[--redact] [flags] > FILE",
    "Prints the objects that the reading commands look at as one List, to be read again\n"
    "with --snapshot. Secrets are never read; environments, commands, user data and the like are\n"
    "left out. With --redact names, labels and annotations are replaced as well, equal ones by\n"
    "equal ones, and everything goes that no decision needs; decisions over the result are the\n"
    "same. Nothing is written to the cluster.\n"
    "\n"
    "Examples:\n"
    "  kubectl karp snapshot > cluster.yaml\n"
    "  kubectl karp snapshot --redact -o json | gzip > cluster.json.gz\n"
    "  kubectl karp simulate --snapshot cluster.yaml --scale shop/api=60\n",
    run,
    groups};
