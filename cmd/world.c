/* world.c - see world.h. */
#include "world.h"

#include "cmd/read/held.h"
#include "cmd/read/objects.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/consent/dgrant.h"
#include "common/core/consent/dreq.h"
#include "common/core/labels.h"

#include <stdarg.h>

#define OBJECTS_MAX 5000000u
#define PUBLISHED_MAX (1u << 20)
#define LEASE_DURATION_DEFAULT_S 15

void world_init(struct world *w, const char *agent_ns)
{
    memset(w, 0, sizeof(*w));
    arena_init(&w->mem, 0, SIZE_MAX);
    w->syms = labels_symtab_new();
    w->decoder = decoder_new(w->syms);
    w->index = map_new(OBJECTS_MAX);
    w->wanting = objects_new();
    w->agent_ns = agent_ns;
}

/* ---- freeing --------------------------------------------------------------------------------- */

static void object_free(struct world *w, enum kube_kind k, void *o)
{
    switch (k) {
    case KIND_POD:
        decode_pod_free(w->decoder, o);
        return;
    case KIND_NODE:
        decode_node_free(o);
        return;
    case KIND_DAEMON_SET:
        decode_daemonset_free(w->decoder, o);
        return;
    case KIND_NODE_POOL:
        decode_nodepool_free(o);
        return;
    case KIND_NODE_CLAIM:
        decode_nodeclaim_free(o);
        return;
    case KIND_EC2_NODE_CLASS:
        decode_nodeclass_free(o);
        return;
    case KIND_NAMESPACE:
        decode_namespace_free(o);
        return;
    case KIND_SERVICE:
        decode_service_free(o);
        return;
    case KIND_PERSISTENT_VOLUME_CLAIM:
        decode_pvc_free(o);
        return;
    case KIND_PERSISTENT_VOLUME:
        decode_pv_free(o);
        return;
    case KIND_STORAGE_CLASS:
        decode_storage_class_free(o);
        return;
    case KIND_CSI_NODE:
        decode_csi_node_free(o);
        return;
    case KIND_POD_DISRUPTION_BUDGET:
        decode_pdb_free(o);
        return;
    case KIND_HOLD:
        decode_hold_free(o);
        return;
    case KIND_DISRUPTION_REQUEST:
        decode_dreq_free(o);
        return;
    case KIND_DISRUPTION_GRANT:
        decode_dgrant_free(o);
        return;
    default: /* in the arena */
        return;
    }
}

void world_done(struct world *w)
{
    for (int k = 0; k < KIND_COUNT; k++) {
        for (size_t i = 0; i < w->lists[k].n; i++) {
            object_free(w, (enum kube_kind)k, w->lists[k].v[i]);
        }
        free(w->lists[k].v);
    }
    objects_free(w->wanting);
    json_decref(w->facts);
    json_decref(w->prices);
    json_decref(w->history);
    json_decref(w->observed);
    map_free(w->index);
    decoder_free(w->decoder);
    symtab_free(w->syms);
    arena_done(&w->mem);
}

void world_forget(struct world *w, enum kube_kind k)
{
    if (k == KIND_LIMIT_RANGE || k == KIND_RUNTIME_CLASS) {
        admission_forget(decoder_admission(w->decoder), k);
    }
    AUTO_FREE char *prefix = xasprintf("%s/", kube_kind(k)->kind);
    for (MAP_EACH(w->index, e)) {
        if (str_starts(map_key(e), prefix)) {
            (void)map_del(w->index, map_key(e));
        }
    }
    for (size_t i = 0; i < w->lists[k].n; i++) {
        object_free(w, k, w->lists[k].v[i]);
    }
    w->n_objects -= w->lists[k].n;
    w->lists[k].n = 0;
    objects_forget(w->wanting, k);
    if (w->keep) {
        objects_forget(w->keep, k);
    }
}

/* ---- what is kept of the other kinds --------------------------------------------------------- */

static const char *text(struct world *w, const json_t *o, const char *path)
{
    return arena_strdup(&w->mem, jsonx_str_or(o, path, ""));
}

static int64_t time_at(const json_t *o, const char *path)
{
    const char *s = jsonx_str(o, path);
    int64_t ns;
    return s && timefmt_parse_rfc3339(s, &ns) ? ns : 0;
}

static struct world_lease *read_lease(struct world *w, const json_t *o)
{
    struct world_lease *l = ARENA_NEW(&w->mem, struct world_lease);
    l->ns = text(w, o, "metadata.namespace");
    l->holder = text(w, o, "spec.holderIdentity");
    l->renew_ns = time_at(o, "spec.renewTime");
    int64_t seconds = jsonx_int(o, "spec.leaseDurationSeconds", LEASE_DURATION_DEFAULT_S);
    l->duration_ns =
        (seconds > 0 && seconds < 86400 ? seconds : LEASE_DURATION_DEFAULT_S) * NS_PER_S;
    return l;
}

/* NULL if nobody asks about such objects. */
static struct world_event *read_event(struct world *w, const json_t *o)
{
    static const char *const times[] = {"series.lastObservedTime", "lastTimestamp", "eventTime",
                                        "firstTimestamp", "metadata.creationTimestamp"};
    enum kube_kind about;
    if (!kube_kind_find(jsonx_str_or(o, "involvedObject.kind", ""), NULL, &about) ||
        (about != KIND_POD && about != KIND_NODE && about != KIND_NODE_CLAIM &&
         about != KIND_NODE_POOL)) {
        return NULL;
    }
    struct world_event *e = ARENA_NEW(&w->mem, struct world_event);
    e->about = about;
    e->ns = text(w, o, "involvedObject.namespace");
    e->name = text(w, o, "involvedObject.name");
    e->reason = text(w, o, "reason");
    e->message = text(w, o, "message");
    e->source = text(w, o, "source.component");
    e->source = *e->source ? e->source : text(w, o, "reportingComponent");
    for (size_t i = 0; i < ARRAY_LEN(times) && e->time_ns == 0; i++) {
        e->time_ns = time_at(o, times[i]);
    }
    return e;
}

/* One of the agent's ConfigMaps: JSON under one key. */
static void read_published(struct world *w, const json_t *o, const char *name, const char *key,
                           const char *what, json_t **dst)
{
    const char *said = json_string_value(json_object_get(jsonx_obj(o, "data"), key));
    struct err err = ERR_INIT;
    if (!str_eq(jsonx_str(o, "metadata.name"), name) ||
        !str_eq(jsonx_str(o, "metadata.namespace"), w->agent_ns) || !said) {
        return;
    }
    json_t *v = jsonx_parse(said, strnlen(said, PUBLISHED_MAX), name, &err);
    if (!json_is_object(v)) {
        world_note(w, "the agent's %s cannot be read: %s", what,
                   err.kind ? err.msg : "it is no object");
        json_decref(v);
        return;
    }
    json_decref(*dst);
    *dst = v;
}

/* "repo/name:1.2.3@sha256:…" gives "1.2.3"; "" if there is no tag. */
static const char *image_tag(struct arena *a, const char *image)
{
    size_t n = strcspn(image, "@");
    const char *slash = memrchr(image, '/', n);
    const char *base = slash ? slash + 1 : image;
    const char *colon = memchr(base, ':', n - (size_t)(base - image));
    return colon ? arena_strndup(a, colon + 1, n - (size_t)(colon + 1 - image)) : "";
}

static void read_controller(struct world *w, const json_t *o)
{
    const char *app = json_string_value(
        json_object_get(jsonx_obj(o, "metadata.labels"), "app.kubernetes.io/name"));
    const json_t *first = json_array_get(jsonx_arr(o, "spec.containers"), 0);
    if (!str_eq(app, "karp-agent") && !str_eq(app, "karpenter")) {
        return;
    }
    ARENA_GROW(&w->mem, w->controllers, w->n_controllers, w->cap_controllers);
    w->controllers[w->n_controllers++] = (struct world_controller){
        text(w, o, "metadata.name"), image_tag(&w->mem, jsonx_str_or(first, "image", ""))};
}

/* ---- adding ---------------------------------------------------------------------------------- */

static void see(struct world *w, int64_t ns)
{
    w->latest_ns = ns > w->latest_ns ? ns : w->latest_ns;
}

/* How late it was when the object was read, at least. */
static void see_times(struct world *w, const json_t *o)
{
    size_t i;
    json_t *c;
    see(w, time_at(o, "metadata.creationTimestamp"));
    see(w, time_at(o, "spec.renewTime"));
    json_array_foreach (jsonx_arr(o, "status.conditions"), i, c) {
        see(w, time_at(c, "lastTransitionTime"));
        see(w, time_at(c, "lastHeartbeatTime"));
    }
}

static bool has_condition(const json_t *o, const char *type)
{
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_arr(o, "status.conditions"), i, c) {
        if (str_eq(jsonx_str(c, "type"), type)) {
            return true;
        }
    }
    return false;
}

/* A pod that kube-scheduler has not looked at counts as unschedulable. */
static struct pod *read_pod(struct world *w, const json_t *o, struct err *err)
{
    struct pod *p = decode_pod(w->decoder, o, err);
    if (p && !has_condition(o, "PodScheduled")) {
        p->unschedulable = true;
    }
    if (p) {
        read_controller(w, o);
    }
    return p;
}

/* NULL with err if it is broken, without if it is not wanted. */
static void *decode_object(struct world *w, enum kube_kind k, const json_t *o, struct err *err)
{
    switch (k) {
    case KIND_POD:
        return read_pod(w, o, err);
    case KIND_NODE:
        return decode_node(w->decoder, o, err);
    case KIND_DAEMON_SET:
        return decode_daemonset(w->decoder, o, err);
    case KIND_NODE_POOL:
        return decode_nodepool(w->decoder, o, err);
    case KIND_NODE_CLAIM:
        return decode_nodeclaim(w->decoder, o, err);
    case KIND_EC2_NODE_CLASS:
        return decode_nodeclass(w->decoder, o, err);
    case KIND_NAMESPACE:
        return decode_namespace(w->decoder, o, err);
    case KIND_SERVICE:
        return decode_service(w->decoder, o, err);
    case KIND_PERSISTENT_VOLUME_CLAIM:
        return decode_pvc(w->decoder, o, err);
    case KIND_PERSISTENT_VOLUME:
        return decode_pv(w->decoder, o, err);
    case KIND_STORAGE_CLASS:
        return decode_storage_class(w->decoder, o, err);
    case KIND_CSI_NODE:
        return decode_csi_node(w->decoder, o, err);
    case KIND_LIMIT_RANGE:
    case KIND_RUNTIME_CLASS:
        admission_put(decoder_admission(w->decoder), k, o);
        return NULL;
    case KIND_POD_DISRUPTION_BUDGET:
        return decode_pdb(w->decoder, o, err);
    case KIND_LEASE:
        return str_eq(jsonx_str(o, "metadata.name"), WORLD_LEASE) ? read_lease(w, o) : NULL;
    case KIND_DISRUPTION_REQUEST:
        return decode_dreq(w->decoder, o, err);
    case KIND_DISRUPTION_GRANT:
        return decode_dgrant(w->decoder, o, err);
    case KIND_HOLD:
        return decode_hold(w->decoder, o, err);
    case KIND_EVENT:
        return read_event(w, o);
    case KIND_CONFIG_MAP:
        read_published(w, o, WORLD_FACTS, "facts.json", "facts", &w->facts);
        read_published(w, o, WORLD_FACTS, "prices.json", "prices", &w->prices);
        read_published(w, o, WORLD_HISTORY, "history.json", "history", &w->history);
        read_published(w, o, WORLD_OBSERVED, "observed.json", "record", &w->observed);
        return NULL;
    default:
        return NULL;
    }
}

/* "EC2NodeClass" is "ec2nodeclass". */
static const char *lower(struct arena *a, const char *s)
{
    char *copy = arena_strdup(a, s);
    for (char *c = copy; *c; c++) {
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    }
    return copy;
}

static void set_aside(struct world *w, const char *kind, const char *name, const struct err *err)
{
    if (w->n_malformed >= WORLD_MALFORMED_MAX) {
        return;
    }
    ARENA_GROW(&w->mem, w->malformed, w->n_malformed, w->cap_malformed);
    w->malformed[w->n_malformed++] =
        (struct world_malformed){lower(&w->mem, kind), name, arena_strdup(&w->mem, err->msg)};
}

static void put(struct world *w, enum kube_kind k, const char *key, void *o)
{
    struct world_list *l = &w->lists[k];
    size_t at = (size_t)(uintptr_t)map_get(w->index, key);
    if (at > 0) {
        object_free(w, k, l->v[at - 1]);
        l->v[at - 1] = o;
        return;
    }
    bool full = false;
    (void)map_put(w->index, key, (void *)(uintptr_t)(l->n + 1), &full);
    if (full) {
        object_free(w, k, o);
        return;
    }
    ARRAY_GROW(l->v, l->n, l->cap);
    l->v[l->n++] = o;
}

static void add_object(struct world *w, enum kube_kind k, const json_t *o)
{
    struct err err = ERR_INIT;
    const char *name = jsonx_str_or(o, "metadata.name", "");
    const char *ns = jsonx_str_or(o, "metadata.namespace", "");
    const char *kind = kube_kind(k)->kind;
    AUTO_FREE char *key = xasprintf("%s/%s/%s", kind, ns, name);
    if (w->keep) {
        objects_put(w->keep, k, o);
    }
    if (held_looked_at(k, o)) {
        objects_put(w->wanting, k, o);
    } else {
        objects_del(w->wanting, k, ns, name);
    }
    void *decoded = decode_object(w, k, o, &err);
    w->n_objects++;
    see_times(w, o);
    if (decoded) {
        put(w, k, key, decoded);
    } else if (err.kind != ERR_NONE) {
        set_aside(w, kind, arena_printf(&w->mem, "%s%s%s", ns, *ns ? "/" : "", name), &err);
    }
}

static size_t add_list(struct world *w, const json_t *items, const char *kind,
                       const char *api_version)
{
    size_t n = 0, i;
    json_t *o;
    char item[128] = "";
    size_t len = strlen(kind);
    if (len > 4 && len - 4 < sizeof(item)) { /* "PodList" */
        memcpy(item, kind, len - 4);
    }
    json_array_foreach ((json_t *)(uintptr_t)items, i, o) {
        n += world_add(w, o, *item ? item : NULL, *item ? api_version : NULL);
    }
    return n;
}

size_t world_add(struct world *w, const json_t *o, const char *kind, const char *api_version)
{
    const char *own = jsonx_str(o, "kind");
    enum kube_kind k;
    kind = own ? own : kind;
    api_version = own ? jsonx_str(o, "apiVersion") : api_version;
    if (!json_is_object(o) || !kind) {
        return 0;
    }
    const json_t *items = jsonx_arr(o, "items");
    if (items && str_ends(kind, "List")) {
        return add_list(w, items, kind, api_version);
    }
    if (!kube_kind_find(kind, api_version, &k)) {
        return 0;
    }
    add_object(w, k, o);
    return 1;
}

void world_note(struct world *w, const char *fmt, ...)
{
    char note[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(note, sizeof(note), fmt, ap);
    va_end(ap);
    if (w->n_notes < WORLD_NOTES_MAX) {
        w->notes[w->n_notes++] = arena_strdup(&w->mem, note);
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

static int meta_cmp(const struct meta *a, const struct meta *b)
{
    int c = str_cmp(a->ns, b->ns);
    return c ? c : str_cmp(a->name, b->name);
}

#define BY_META(fn, type)                                                                          \
    static int fn(const void *x, const void *y)                                                    \
    {                                                                                              \
        return meta_cmp(&(*(const type *const *)x)->m, &(*(const type *const *)y)->m);             \
    }
BY_META(pod_cmp, struct pod)
BY_META(node_cmp, struct node)
BY_META(daemonset_cmp, struct daemonset)
BY_META(pool_cmp, struct nodepool)
BY_META(hold_cmp, struct hold)
BY_META(request_cmp, struct dreq)
BY_META(grant_cmp, struct dgrant)
BY_META(claim_cmp, struct nodeclaim)
BY_META(class_cmp, struct nodeclass)

static int lease_cmp(const void *x, const void *y)
{
    const struct world_lease *a = *(const struct world_lease *const *)x;
    const struct world_lease *b = *(const struct world_lease *const *)y;
    return str_cmp(a->ns, b->ns);
}

static int event_cmp(const void *x, const void *y)
{
    const struct world_event *a = *(const struct world_event *const *)x;
    const struct world_event *b = *(const struct world_event *const *)y;
    int c = a->about != b->about ? (a->about < b->about ? -1 : 1) : str_cmp(a->ns, b->ns);
    c = c ? c : str_cmp(a->name, b->name);
    if (c == 0 && a->time_ns != b->time_ns) {
        return a->time_ns > b->time_ns ? -1 : 1; /* the latest first */
    }
    c = c ? c : str_cmp(a->source, b->source);
    c = c ? c : str_cmp(a->reason, b->reason);
    return c ? c : str_cmp(a->message, b->message);
}

static int malformed_cmp(const void *x, const void *y)
{
    const struct world_malformed *a = x, *b = y;
    int c = str_cmp(a->kind, b->kind);
    c = c ? c : str_cmp(a->name, b->name);
    return c ? c : str_cmp(a->message, b->message);
}

/* Templates are completed with objects that may have come after them. */
static void readmit(struct world *w)
{
    struct world_list *l = &w->lists[KIND_DAEMON_SET];
    for (size_t i = 0; i < l->n; i++) {
        const struct daemonset *ds = l->v[i];
        bool any = admission_any(decoder_admission(w->decoder), ds->m.ns);
        struct daemonset *now = any ? decode_daemonset_again(w->decoder, ds) : NULL;
        if (now) {
            object_free(w, KIND_DAEMON_SET, l->v[i]);
            l->v[i] = now;
        }
    }
}

void world_finish(struct world *w)
{
    readmit(w);
    static int (*const orders[KIND_COUNT])(const void *, const void *) = {
        [KIND_POD] = pod_cmp,
        [KIND_NODE] = node_cmp,
        [KIND_LEASE] = lease_cmp,
        [KIND_EVENT] = event_cmp,
        [KIND_DAEMON_SET] = daemonset_cmp,
        [KIND_NODE_POOL] = pool_cmp,
        [KIND_NODE_CLAIM] = claim_cmp,
        [KIND_HOLD] = hold_cmp,
        [KIND_EC2_NODE_CLASS] = class_cmp,
        [KIND_DISRUPTION_REQUEST] = request_cmp,
        [KIND_DISRUPTION_GRANT] = grant_cmp,
    };
    for (int k = 0; k < KIND_COUNT; k++) {
        struct world_list *l = &w->lists[k];
        if (orders[k] && l->n > 1) {
            qsort(l->v, l->n, sizeof(*l->v), orders[k]);
        }
    }
    if (w->n_notes > 1) {
        qsort(w->notes, w->n_notes, sizeof(*w->notes), str_qsort_cmp);
    }
    if (w->n_malformed > 1) {
        qsort(w->malformed, w->n_malformed, sizeof(*w->malformed), malformed_cmp);
    }
}

void world_reload(struct world *w)
{
    struct objects *keep = w->keep;
    w->keep = NULL;
    for (int k = 0; k < KIND_COUNT; k++) {
        world_forget(w, (enum kube_kind)k);
    }
    w->n_malformed = w->n_controllers = w->n_objects = 0;
    for (size_t i = 0; i < objects_n(keep); i++) {
        (void)world_add(w, objects_at(keep, i)->o, NULL, NULL);
    }
    w->keep = keep;
    world_finish(w);
}
