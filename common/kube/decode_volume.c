/* Volumes, what they are made of and where they can be; namespaces and Services. */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "decode_priv.h"

#define SMALL_CHUNK 512u
#define EBS_DRIVER "ebs.csi.aws.com"

/* An object of T with its arena, read by fn or freed again. */
#define DECODE_OBJECT(T, fn, free_fn)                                                              \
    struct T *v = NEW(struct T);                                                                   \
    arena_init(&v->mem, SMALL_CHUNK, DECODE_OBJECT_MAX);                                           \
    if (fn(d, v, o, reterr) || decode_check_size(&v->mem, reterr)) {                               \
        free_fn(v);                                                                                \
        return NULL;                                                                               \
    }                                                                                              \
    return v

#define FREE_OBJECT(v)                                                                             \
    if (v) {                                                                                       \
        arena_done(&(v)->mem);                                                                     \
        free(v);                                                                                   \
    }

/* ---- of pods --------------------------------------------------------------------------------- */

void decode_pod_volumes(struct pod *p, const json_t *spec)
{
    const json_t *list = json_object_get(spec, "volumes");
    struct pod_volume *v = NULL;
    uint32_t cap = 0;
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        const char *claim = jsonx_str(o, "persistentVolumeClaim.claimName");
        bool ephemeral = json_is_object(json_object_get(o, "ephemeral"));
        if (p->n_volumes >= DECODE_LIST_MAX || (!claim && !ephemeral)) {
            continue;
        }
        ARENA_GROW(&p->mem, v, p->n_volumes, cap);
        v[p->n_volumes++] = (struct pod_volume){
            claim ? arena_strdup(&p->mem, claim)
                  : arena_printf(&p->mem, "%s-%s", p->m.name, jsonx_str_or(o, "name", "")),
            !claim,
        };
    }
    p->volumes = v;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static int read_pvc(struct decoder *d, struct pvc *v, const json_t *o, struct err *reterr)
{
    const json_t *spec = json_object_get(o, "spec");
    const char *phase = jsonx_str_or(o, "status.phase", "");
    const json_t *annotations = jsonx_obj(o, "metadata.annotations");
    if (decode_meta(d, &v->mem, o, META_POD_ANNOTATIONS, &v->m, reterr)) {
        return -1;
    }
    v->volume_name = decode_str(&v->mem, spec, "volumeName");
    v->storage_class = json_is_string(json_object_get(spec, "storageClassName"))
                           ? decode_str(&v->mem, spec, "storageClassName")
                           : NULL;
    v->phase = str_eq(phase, "Bound") ? PVC_BOUND : str_eq(phase, "Lost") ? PVC_LOST : PVC_PENDING;
    v->bind_completed = json_object_get(annotations, "pv.kubernetes.io/bind-completed") != NULL;
    return 0;
}

struct pvc *decode_pvc(struct decoder *d, const json_t *o, struct err *reterr)
{
    DECODE_OBJECT(pvc, read_pvc, decode_pvc_free);
}

void decode_pvc_free(struct pvc *v)
{
    FREE_OBJECT(v)
}

/* ---- volumes --------------------------------------------------------------------------------- */

static int read_terms(struct decoder *d, struct arena *a, const json_t *list,
                      const struct affinity_term **ret, uint32_t *ret_n, struct err *reterr)
{
    size_t n = json_array_size(list);
    if (n > DECODE_TERMS_MAX) {
        return err_set(reterr, ERR_LIMIT, "more than %u terms", DECODE_TERMS_MAX);
    }
    struct affinity_term *v = ARENA_NEW_N(a, struct affinity_term, n);
    for (size_t i = 0; i < n; i++) {
        v[i] = decode_term(d, a, json_array_get(list, i), 0);
    }
    *ret = v;
    *ret_n = (uint32_t)n;
    return 0;
}

static const char *successor(const char *driver)
{
    return str_eq(driver, "kubernetes.io/aws-ebs") ? EBS_DRIVER : driver;
}

static int read_pv(struct decoder *d, struct pv *v, const json_t *o, struct err *reterr)
{
    const json_t *spec = json_object_get(o, "spec");
    const char *in_tree = jsonx_str(o, "spec.awsElasticBlockStore.volumeID");
    if (decode_meta(d, &v->mem, o, META_POD_ANNOTATIONS, &v->m, reterr)) {
        return -1;
    }
    v->driver =
        arena_strdup(&v->mem, in_tree ? EBS_DRIVER : jsonx_str_or(o, "spec.csi.driver", ""));
    v->handle =
        arena_strdup(&v->mem, in_tree ? in_tree : jsonx_str_or(o, "spec.csi.volumeHandle", ""));
    v->local = json_is_object(json_object_get(spec, "local")) ||
               json_is_object(json_object_get(spec, "hostPath"));
    if (read_terms(d, &v->mem, jsonx_arr(o, "spec.nodeAffinity.required.nodeSelectorTerms"),
                   &v->terms, &v->n_terms, reterr)) {
        return decode_in(reterr, "spec.nodeAffinity.required.nodeSelectorTerms: ");
    }
    return 0;
}

struct pv *decode_pv(struct decoder *d, const json_t *o, struct err *reterr)
{
    DECODE_OBJECT(pv, read_pv, decode_pv_free);
}

void decode_pv_free(struct pv *v)
{
    FREE_OBJECT(v)
}

/* ---- storage classes ------------------------------------------------------------------------- */

/* {matchLabelExpressions: [{key, values}]}, as a term of node affinity. */
static json_t *topology_term(const json_t *o)
{
    json_t *list = json_array();
    size_t i;
    json_t *e;
    json_array_foreach (json_object_get(o, "matchLabelExpressions"), i, e) {
        json_t *copy = json_is_object(e) ? json_copy(e) : json_object();
        json_object_set_new(copy, "operator", json_string("In"));
        json_array_append_new(list, copy);
    }
    json_t *ret = json_object();
    json_object_set_new(ret, "matchExpressions", list);
    return ret;
}

static int read_allowed(struct decoder *d, struct storage_class *v, const json_t *o,
                        struct err *reterr)
{
    AUTO_JSON json_t *terms = json_array();
    size_t i;
    json_t *t;
    json_array_foreach (json_object_get(o, "allowedTopologies"), i, t) {
        json_array_append_new(terms, topology_term(t));
    }
    if (read_terms(d, &v->mem, terms, &v->allowed, &v->n_allowed, reterr)) {
        return decode_in(reterr, "allowedTopologies: ");
    }
    return 0;
}

static int read_storage_class(struct decoder *d, struct storage_class *v, const json_t *o,
                              struct err *reterr)
{
    if (decode_meta(d, &v->mem, o, 0, &v->m, reterr)) {
        return -1;
    }
    v->provisioner = arena_strdup(&v->mem, successor(jsonx_str_or(o, "provisioner", "")));
    v->wait_for_first = str_eq(jsonx_str(o, "volumeBindingMode"), "WaitForFirstConsumer");
    v->is_default =
        str_eq(kvs_get(&v->m.annotations, "storageclass.kubernetes.io/is-default-class"), "true") ||
        str_eq(kvs_get(&v->m.annotations, "storageclass.beta.kubernetes.io/is-default-class"),
               "true");
    return read_allowed(d, v, o, reterr);
}

struct storage_class *decode_storage_class(struct decoder *d, const json_t *o, struct err *reterr)
{
    DECODE_OBJECT(storage_class, read_storage_class, decode_storage_class_free);
}

void decode_storage_class_free(struct storage_class *v)
{
    FREE_OBJECT(v)
}

/* ---- CSINodes -------------------------------------------------------------------------------- */

static int read_csi_node(struct decoder *d, struct csi_node *v, const json_t *o, struct err *reterr)
{
    const json_t *list;
    if (decode_meta(d, &v->mem, o, META_POD_ANNOTATIONS, &v->m, reterr) ||
        decode_arr(json_object_get(o, "spec"), "drivers", &list, reterr)) {
        return -1;
    }
    struct csi_limit *l = ARENA_NEW_N(&v->mem, struct csi_limit, json_array_size(list));
    size_t i;
    json_t *e;
    json_array_foreach ((json_t *)(uintptr_t)list, i, e) {
        int64_t count = jsonx_int(e, "allocatable.count", -1);
        l[i] = (struct csi_limit){decode_str(&v->mem, e, "name"), count < -1 ? -1
                                                                  : count > INT32_MAX
                                                                      ? INT32_MAX
                                                                      : (int32_t)count};
    }
    v->drivers = l;
    v->n_drivers = (uint32_t)json_array_size(list);
    return 0;
}

struct csi_node *decode_csi_node(struct decoder *d, const json_t *o, struct err *reterr)
{
    DECODE_OBJECT(csi_node, read_csi_node, decode_csi_node_free);
}

void decode_csi_node_free(struct csi_node *v)
{
    FREE_OBJECT(v)
}

/* ---- namespaces ------------------------------------------------------------------------------ */

static int read_namespace(struct decoder *d, struct namespace *v, const json_t *o,
                          struct err *reterr)
{
    if (decode_meta(d, &v->mem, o, META_POD_ANNOTATIONS, &v->m, reterr)) {
        return -1;
    }
    if (decode_kvs(&v->mem, json_object_get(o, "metadata"), "labels", NULL, &v->labels, reterr)) {
        return decode_in(reterr, "metadata.");
    }
    return 0;
}

struct namespace *decode_namespace(struct decoder *d, const json_t *o, struct err *reterr)
{
    DECODE_OBJECT(namespace, read_namespace, decode_namespace_free);
}

void decode_namespace_free(struct namespace *v)
{
    FREE_OBJECT(v)
}

/* ---- services -------------------------------------------------------------------------------- */

static int read_service(struct decoder *d, struct service *v, const json_t *o, struct err *reterr)
{
    if (decode_meta(d, &v->mem, o, META_POD_ANNOTATIONS, &v->m, reterr)) {
        return -1;
    }
    json_t *labels = jsonx_obj(o, "spec.selector");
    AUTO_JSON json_t *selector = labels ? json_pack("{s:O}", "matchLabels", labels) : NULL;
    v->sel = decode_selector(&v->mem, selector);
    return 0;
}

struct service *decode_service(struct decoder *d, const json_t *o, struct err *reterr)
{
    DECODE_OBJECT(service, read_service, decode_service_free);
}

void decode_service_free(struct service *v)
{
    FREE_OBJECT(v)
}
