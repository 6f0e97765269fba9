#include "decode.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/labels.h"
#include "decode_priv.h"

#include <stdarg.h>

struct decoder *decoder_new(struct symtab *symtab)
{
    struct decoder *d = NEW(struct decoder);
    d->t = symtab;
    d->classes = map_new(DECODE_CLASSES_MAX);
    d->admission = admission_new();
    arena_init(&d->mem, 0, SIZE_MAX);
    return d;
}

void decoder_free(struct decoder *d)
{
    if (!d) {
        return;
    }
    map_free(d->classes);
    admission_free(d->admission);
    arena_done(&d->mem);
    free(d);
}

struct symtab *decoder_symtab(const struct decoder *d)
{
    return d->t;
}

struct admission *decoder_admission(struct decoder *d)
{
    return d->admission;
}

size_t decoder_class_count(const struct decoder *d)
{
    return map_count(d->classes);
}

/* ---- messages -------------------------------------------------------------------------------- */

int decode_in(struct err *e, const char *fmt, ...)
{
    if (!e) {
        return -1;
    }
    char head[256], all[sizeof(head) + sizeof(e->msg)];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(head, sizeof(head), fmt, ap);
    va_end(ap);
    (void)snprintf(all, sizeof(all), "%s%s", head, e->msg);
    str_copy(e->msg, sizeof(e->msg), all);
    return -1;
}

void decode_note(struct arena *a, const char **problem, const char *prefix, int rc, struct err *e)
{
    if (rc && !*problem) {
        decode_in(e, "%s", prefix);
        *problem = arena_strdup(a, e->msg);
    }
}

int decode_check_size(const struct arena *a, struct err *reterr)
{
    if (arena_over(a)) {
        return err_set(reterr, ERR_LIMIT, "the object is larger than %u bytes", DECODE_OBJECT_MAX);
    }
    return 0;
}

/* ---- scalars --------------------------------------------------------------------------------- */

const char *decode_str(struct arena *a, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_string(v) && json_string_length(v) ? arena_strdup(a, json_string_value(v)) : "";
}

int decode_obj(const json_t *o, const char *key, const json_t **ret, struct err *reterr)
{
    const json_t *v = json_object_get(o, key);
    *ret = NULL;
    if (!v || json_is_null(v)) {
        return 0;
    }
    if (!json_is_object(v)) {
        return err_set(reterr, ERR_INVALID, "%s: not an object", key);
    }
    *ret = v;
    return 0;
}

int decode_arr(const json_t *o, const char *key, const json_t **ret, struct err *reterr)
{
    const json_t *v = json_object_get(o, key);
    *ret = NULL;
    if (!v || json_is_null(v)) {
        return 0;
    }
    if (!json_is_array(v)) {
        return err_set(reterr, ERR_INVALID, "%s: not a list", key);
    }
    if (json_array_size(v) > DECODE_LIST_MAX) {
        return err_set(reterr, ERR_LIMIT, "%s: more than %u elements", key, DECODE_LIST_MAX);
    }
    *ret = v;
    return 0;
}

int64_t decode_time(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    int64_t ns;
    return s && timefmt_parse_rfc3339(s, &ns) ? ns : 0;
}

int decode_duration(const json_t *o, const char *key, bool never, int64_t d, int64_t *ret,
                    struct err *reterr)
{
    const json_t *v = json_object_get(o, key);
    const char *s = json_string_value(v);
    *ret = d;
    if (!v || json_is_null(v)) {
        return 0;
    }
    if (never && str_eq(s, "Never")) {
        *ret = DURATION_NEVER;
        return 0;
    }
    if (!s || !timefmt_parse_duration(s, ret) || *ret < 0) {
        *ret = d;
        return err_set(reterr, ERR_INVALID, "%s: \"%s\" is not a duration%s", key, s ? s : "",
                       never ? " or Never" : "");
    }
    return 0;
}

/* ---- maps of strings ------------------------------------------------------------------------- */

static int kv_cmp(const void *x, const void *y)
{
    return strcmp(((const struct kv *)x)->key, ((const struct kv *)y)->key);
}

/* An object of texts by name, of which there is a limit. */
static int decode_map(const json_t *o, const char *key, const json_t **ret, struct err *reterr)
{
    if (decode_obj(o, key, ret, reterr)) {
        return -1;
    }
    if (json_object_size(*ret) > DECODE_LIST_MAX) {
        return err_set(reterr, ERR_LIMIT, "%s: more than %u entries", key, DECODE_LIST_MAX);
    }
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)*ret, name, value) {
        if (!json_is_string(value)) {
            return err_set(reterr, ERR_INVALID, "%s.%s: not a string", key, name);
        }
    }
    return 0;
}

int decode_kvs(struct arena *a, const json_t *o, const char *key, bool (*keep)(const char *name),
               struct kvs *ret, struct err *reterr)
{
    const json_t *obj;
    *ret = (struct kvs){NULL, 0};
    if (decode_map(o, key, &obj, reterr)) {
        return -1;
    }
    size_t n = json_object_size(obj);
    if (n == 0) {
        return 0;
    }
    struct kv *v = ARENA_NEW_N(a, struct kv, n);
    const char *name;
    json_t *value;
    n = 0;
    json_object_foreach ((json_t *)(uintptr_t)obj, name, value) {
        if (!keep || keep(name)) {
            v[n++] = (struct kv){arena_strdup(a, name), arena_strdup(a, json_string_value(value))};
        }
    }
    qsort(v, n, sizeof(*v), kv_cmp);
    *ret = (struct kvs){v, (uint32_t)n};
    return 0;
}

struct raw_label {
    sym key, value;
    bool alias; /* came under an old name */
};

static int raw_label_cmp(const void *x, const void *y)
{
    const struct raw_label *a = x, *b = y;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return (int)a->alias - (int)b->alias;
}

int decode_labels(struct decoder *d, struct arena *a, const json_t *o, const char *key,
                  struct labels *ret, struct err *reterr)
{
    const json_t *obj;
    *ret = (struct labels){NULL, 0};
    if (decode_map(o, key, &obj, reterr)) {
        return -1;
    }
    size_t n = json_object_size(obj);
    if (n == 0) {
        return 0;
    }
    AUTO_FREE struct raw_label *raw = NEW_N(struct raw_label, n);
    const char *name;
    json_t *value;
    size_t i = 0;
    json_object_foreach ((json_t *)(uintptr_t)obj, name, value) {
        const char *today = labels_normalize(name);
        raw[i++] =
            (struct raw_label){sym_intern(d->t, today), sym_intern(d->t, json_string_value(value)),
                               !str_eq(today, name)};
    }
    qsort(raw, n, sizeof(*raw), raw_label_cmp);
    struct label *v = ARENA_NEW_N(a, struct label, n);
    uint32_t kept = 0;
    for (i = 0; i < n; i++) {
        if (kept == 0 || v[kept - 1].key != raw[i].key) {
            v[kept++] = (struct label){raw[i].key, raw[i].value};
        }
    }
    *ret = (struct labels){v, kept};
    return 0;
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* Large, and nobody decides by it. */
static bool keep_annotation(const char *name)
{
    return !str_eq(name, "kubectl.kubernetes.io/last-applied-configuration");
}

static bool keep_pod_annotation(const char *name)
{
    return str_starts(name, "karpenter.sh/") || str_starts(name, "karp.dev/") ||
           str_starts(name, "controller.kubernetes.io/");
}

static int meta_finalizers(struct arena *a, const json_t *m, struct meta *ret, struct err *reterr)
{
    const json_t *list;
    if (decode_arr(m, "finalizers", &list, reterr)) {
        return -1;
    }
    const char **v = ARENA_NEW_N(a, const char *, json_array_size(list));
    size_t i;
    json_t *s;
    json_array_foreach (list, i, s) {
        if (json_is_string(s)) {
            v[ret->n_finalizers++] = arena_strdup(a, json_string_value(s));
        }
    }
    ret->finalizers = v;
    return 0;
}

static int meta_owners(struct arena *a, const json_t *m, struct meta *ret, struct err *reterr)
{
    const json_t *list;
    if (decode_arr(m, "ownerReferences", &list, reterr)) {
        return -1;
    }
    struct owner_ref *v = ARENA_NEW_N(a, struct owner_ref, json_array_size(list));
    size_t i;
    json_t *o;
    json_array_foreach (list, i, o) {
        v[i] = (struct owner_ref){
            .api_version = decode_str(a, o, "apiVersion"),
            .kind = decode_str(a, o, "kind"),
            .name = decode_str(a, o, "name"),
            .uid = decode_str(a, o, "uid"),
            .controller = json_is_true(json_object_get(o, "controller")),
        };
    }
    ret->owners = v;
    ret->n_owners = (uint32_t)json_array_size(list);
    return 0;
}

int decode_meta(struct decoder *d, struct arena *a, const json_t *o, unsigned flags,
                struct meta *ret, struct err *reterr)
{
    const json_t *m = json_object_get(o, "metadata");
    ret->name = decode_str(a, m, "name");
    if (!*ret->name) {
        return err_set(reterr, ERR_INVALID, "metadata.name: missing");
    }
    ret->ns = decode_str(a, m, "namespace");
    ret->uid = decode_str(a, m, "uid");
    ret->resource_version = decode_str(a, m, "resourceVersion");
    ret->generation = jsonx_int(m, "generation", 0);
    ret->created_ns = decode_time(m, "creationTimestamp");
    ret->deleted_ns = decode_time(m, "deletionTimestamp");
    bool (*keep)(const char *) =
        flags & META_POD_ANNOTATIONS ? keep_pod_annotation : keep_annotation;
    if (((flags & META_LABELS) && decode_labels(d, a, m, "labels", &ret->labels, reterr)) ||
        decode_kvs(a, m, "annotations", keep, &ret->annotations, reterr) ||
        meta_finalizers(a, m, ret, reterr) || meta_owners(a, m, ret, reterr)) {
        return decode_in(reterr, "metadata.");
    }
    return 0;
}

/* ---- conditions ------------------------------------------------------------------------------ */

static enum status status_parse(const char *s)
{
    if (str_eq(s, "True")) {
        return STATUS_TRUE;
    }
    return str_eq(s, "False") ? STATUS_FALSE : STATUS_UNKNOWN;
}

/* A text that every claim has is not copied for each: that is memory, and look-ups by type find it
 * in one place. */
static const char *condition_text(struct arena *a, const json_t *o, const char *key)
{
    static const char *const known[] = {"Launched",
                                        "Registered",
                                        "Initialized",
                                        "Consolidatable",
                                        "Drifted",
                                        "InstanceTerminating",
                                        "DisruptionReason",
                                        "ConsistentStateFound",
                                        "Drained",
                                        "VolumesDetached",
                                        "Ready",
                                        "NodeClassReady",
                                        "Unconsolidatable"};
    const char *text = jsonx_str_or(o, key, "");
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_eq(text, known[i])) {
            return known[i];
        }
    }
    return *text ? arena_strdup(a, text) : "";
}

void decode_conditions(struct arena *a, const json_t *status, struct conditions *ret)
{
    const json_t *list = json_object_get(status, "conditions");
    size_t n = json_array_size(list);
    n = n < DECODE_LIST_MAX ? n : DECODE_LIST_MAX;
    struct condition *v = ARENA_NEW_N(a, struct condition, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *o = json_array_get(list, i);
        const char *message = jsonx_str_or(o, "message", "");
        v[i] = (struct condition){
            .type = condition_text(a, o, "type"),
            .reason = condition_text(a, o, "reason"),
            .message = arena_strndup(a, message, str_cut(message, DECODE_CONDITION_TEXT)),
            .status = status_parse(jsonx_str(o, "status")),
            .transition_ns = decode_time(o, "lastTransitionTime"),
            .observed_generation = jsonx_int(o, "observedGeneration", 0),
        };
    }
    *ret = (struct conditions){v, (uint32_t)n};
}
