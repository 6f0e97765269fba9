/*
 * Pod classes: what pods ask for, shared by all that ask for the same. The canonical text lists
 * every field in a fixed order, names by string, each string with its length before it, so that two
 * texts are equal exactly if the classes are.
 */
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "decode_priv.h"

#define CLASS_CHUNK 512u

/* ---- reading --------------------------------------------------------------------------------- */

static int read_selector(struct decoder *d, struct pod_class *c, const json_t *spec,
                         struct err *reterr)
{
    const json_t *obj;
    if (decode_obj(spec, "nodeSelector", &obj, reterr)) {
        return -1;
    }
    if (json_object_size(obj) > DECODE_REQS_MAX) {
        return err_set(reterr, ERR_LIMIT, "nodeSelector: more than %u labels", DECODE_REQS_MAX);
    }
    const char *name;
    json_t *v;
    json_object_foreach ((json_t *)(uintptr_t)obj, name, v) {
        if (!json_is_string(v)) {
            return err_set(reterr, ERR_INVALID, "nodeSelector.%s: not a string", name);
        }
        sym key = sym_intern(d->t, labels_normalize(name));
        sym value = sym_intern(d->t, json_string_value(v));
        struct req r;
        if (req_make(&c->mem, d->t, key, REQ_IN, &value, 1, 0, &r, reterr)) {
            return decode_in(reterr, "nodeSelector.%s: ", name);
        }
        c->selector = reqset_add(&c->mem, d->t, &c->selector, &r);
    }
    return 0;
}

/* A term we cannot read, or one that is empty and so matches nothing, is marked, not dropped: the
 * pod asked for something. */
struct affinity_term decode_term(struct decoder *d, struct arena *a, const json_t *term,
                                 int32_t weight)
{
    struct affinity_term t = {.weight = weight};
    const json_t *list = json_object_get(term, "matchExpressions");
    size_t n = json_array_size(list);
    t.invalid =
        n == 0 || n > DECODE_REQS_MAX || json_array_size(json_object_get(term, "matchFields")) > 0;
    for (size_t i = 0; i < n && !t.invalid; i++) {
        struct req r;
        struct err err = ERR_INIT;
        t.invalid = decode_requirement(d, a, json_array_get(list, i), &r, &err) != 0;
        if (t.invalid) {
            t.why = arena_strdup(a, err.msg);
        } else {
            t.reqs = reqset_add(a, d->t, &t.reqs, &r);
        }
    }
    return t;
}

static int read_required(struct decoder *d, struct pod_class *c, const json_t *affinity,
                         struct err *reterr)
{
    const json_t *list;
    const json_t *required =
        json_object_get(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
    if (decode_arr(required, "nodeSelectorTerms", &list, reterr)) {
        return -1;
    }
    /* Of too many alternatives the first ones are enough: that only narrows. */
    size_t n = json_array_size(list);
    n = n < DECODE_TERMS_MAX ? n : DECODE_TERMS_MAX;
    struct affinity_term *v = ARENA_NEW_N(&c->mem, struct affinity_term, n);
    for (size_t i = 0; i < n; i++) {
        v[i] = decode_term(d, &c->mem, json_array_get(list, i), 0);
    }
    c->required = v;
    c->n_required = (uint32_t)n;
    return 0;
}

/* Heaviest first; of the same weight in the order they were given. */
static void insert_by_weight(struct affinity_term *v, uint32_t n, struct affinity_term t)
{
    uint32_t i = n;
    while (i > 0 && v[i - 1].weight < t.weight) {
        v[i] = v[i - 1];
        i--;
    }
    v[i] = t;
}

static int read_preferred(struct decoder *d, struct pod_class *c, const json_t *affinity,
                          struct err *reterr)
{
    const json_t *list;
    if (decode_arr(affinity, "preferredDuringSchedulingIgnoredDuringExecution", &list, reterr)) {
        return -1;
    }
    struct affinity_term *v = ARENA_NEW_N(&c->mem, struct affinity_term, json_array_size(list));
    size_t i;
    json_t *o;
    json_array_foreach (list, i, o) {
        int64_t weight = jsonx_int(o, "weight", 0);
        if (weight < 1 || weight > 100) {
            continue; /* counts for nothing */
        }
        struct affinity_term t =
            decode_term(d, &c->mem, json_object_get(o, "preference"), (int32_t)weight);
        if (!t.invalid && c->n_preferred < DECODE_TERMS_MAX) {
            insert_by_weight(v, c->n_preferred++, t);
        }
    }
    c->preferred = v;
    return 0;
}

static int host_port_cmp(const void *x, const void *y)
{
    const struct host_port *a = x, *b = y;
    if (a->port != b->port) {
        return a->port < b->port ? -1 : 1;
    }
    if (a->protocol != b->protocol) {
        return a->protocol < b->protocol ? -1 : 1;
    }
    return strcmp(a->ip, b->ip);
}

static uint8_t protocol_of(const char *s)
{
    return str_eq(s, "UDP") ? 1 : str_eq(s, "SCTP") ? 2 : 0;
}

static void read_ports(struct pod_class *c, const json_t *container, struct host_port **v,
                       uint32_t *cap)
{
    size_t i;
    json_t *p;
    json_array_foreach (json_object_get(container, "ports"), i, p) {
        int64_t port = jsonx_int(p, "hostPort", 0);
        if (port < 1 || port > 65535 || c->n_host_ports >= DECODE_LIST_MAX) {
            continue;
        }
        ARENA_GROW(&c->mem, *v, c->n_host_ports, *cap);
        const char *ip = jsonx_str_or(p, "hostIP", "");
        bool any = str_eq(ip, "0.0.0.0") || str_eq(ip, "::");
        (*v)[c->n_host_ports++] = (struct host_port){
            .port = (uint16_t)port,
            .protocol = protocol_of(jsonx_str(p, "protocol")),
            .ip = any || !*ip ? "" : arena_strdup(&c->mem, ip),
        };
    }
}

/* Of containers and of sidecars, which hold their ports as long. */
static void read_host_ports(struct pod_class *c, const json_t *spec)
{
    struct host_port *v = NULL;
    uint32_t cap = 0;
    size_t i;
    json_t *o;
    json_array_foreach (json_object_get(spec, "containers"), i, o) {
        read_ports(c, o, &v, &cap);
    }
    json_array_foreach (json_object_get(spec, "initContainers"), i, o) {
        if (str_eq(jsonx_str(o, "restartPolicy"), "Always")) {
            read_ports(c, o, &v, &cap);
        }
    }
    if (v) {
        qsort(v, c->n_host_ports, sizeof(*v), host_port_cmp);
    }
    c->host_ports = v;
}

static unsigned hard_of(const json_t *spec)
{
    unsigned hard =
        json_array_size(json_object_get(spec, "resourceClaims")) ? HARD_RESOURCE_CLAIM : 0;
    size_t i;
    json_t *v;
    json_array_foreach (json_object_get(spec, "volumes"), i, v) {
        if (json_is_object(json_object_get(v, "persistentVolumeClaim")) ||
            json_is_object(json_object_get(v, "ephemeral"))) {
            hard |= HARD_VOLUME;
        }
    }
    return hard;
}

/* Every way to place it keeps it off karp's nodes, as Karpenter's own pods are. */
static bool not_by_us(const struct pod_class *c)
{
    bool found = false;
    for (uint32_t i = 0; i < c->n_required; i++) {
        if (c->required[i].invalid) {
            continue;
        }
        const struct req *r = reqset_get(&c->required[i].reqs, L_NODEPOOL);
        if (!r || req_op(r) != REQ_DOES_NOT_EXIST) {
            return false;
        }
        found = true;
    }
    return found;
}

static int read_class(struct decoder *d, struct pod_class *c, const json_t *pod,
                      bool template_limits, struct err *reterr)
{
    const json_t *spec, *affinity, *node_affinity;
    if (decode_obj(pod, "spec", &spec, reterr)) {
        return -1;
    }
    if (decode_obj(spec, "affinity", &affinity, reterr) ||
        decode_obj(affinity, "nodeAffinity", &node_affinity, reterr) ||
        read_selector(d, c, spec, reterr) || read_required(d, c, node_affinity, reterr) ||
        read_preferred(d, c, node_affinity, reterr)) {
        return decode_in(reterr, "spec.");
    }
    decode_tolerations(d, &c->mem, spec, &c->tolerations);
    if (decode_pod_requests(d, &c->mem, pod, template_limits, &c->requests, reterr)) {
        return -1;
    }
    read_host_ports(c, spec);
    if (decode_topology(d, &c->mem, c, spec, reterr)) {
        return decode_in(reterr, "spec.");
    }
    c->priority = (int32_t)jsonx_int(spec, "priority", 0);
    c->hard = hard_of(spec);
    c->not_by_us = not_by_us(c);
    return decode_check_size(&c->mem, reterr);
}

/* ---- canonical text -------------------------------------------------------------------------- */

static void put_values(struct buf *b, const struct symtab *t, const struct req *r)
{
    AUTO_FREE const char **names = NEW_N(const char *, (size_t)r->n + 1);
    for (uint32_t i = 0; i < r->n; i++) {
        names[i] = sym_str(t, r->values[i]);
    }
    qsort(names, r->n, sizeof(*names), str_qsort_cmp);
    for (uint32_t i = 0; i < r->n; i++) {
        decode_put_str(b, names[i]);
    }
}

struct named_req {
    const char *name;
    const struct req *r;
};

static int named_req_cmp(const void *x, const void *y)
{
    return strcmp(((const struct named_req *)x)->name, ((const struct named_req *)y)->name);
}

static void put_reqs(struct buf *b, const struct symtab *t, const struct reqset *s)
{
    AUTO_FREE struct named_req *v = NEW_N(struct named_req, (size_t)s->n + 1);
    for (uint32_t i = 0; i < s->n; i++) {
        v[i] = (struct named_req){sym_str(t, s->v[i].key), &s->v[i]};
    }
    qsort(v, s->n, sizeof(*v), named_req_cmp);
    for (uint32_t i = 0; i < s->n; i++) {
        const struct req *r = v[i].r;
        decode_put_str(b, v[i].name);
        buf_puts(b, r->complement ? "!" : "=");
        buf_puts(b, r->present ? "+" : "");
        if (r->has_gte) {
            buf_printf(b, ">%lld", (long long)r->gte);
        }
        if (r->has_lte) {
            buf_printf(b, "<%lld", (long long)r->lte);
        }
        buf_putc(b, '{');
        put_values(b, t, r);
        buf_putc(b, '}');
    }
}

static void put_terms(struct buf *b, const struct symtab *t, const struct affinity_term *v,
                      uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(b, "(%d%s", (int)v[i].weight, v[i].invalid ? "?" : "");
        put_reqs(b, t, &v[i].reqs);
        if (v[i].why) {
            decode_put_str(b, v[i].why); /* pods are told what is wrong with their own term */
        }
        buf_putc(b, ')');
    }
}

/* The order of tolerations means nothing: sorted as texts. */
static void put_tolerations(struct buf *b, const struct symtab *t, const struct tolerations *l)
{
    AUTO_FREE char **texts = NEW_N(char *, (size_t)l->n + 1);
    for (uint32_t i = 0; i < l->n; i++) {
        const struct toleration *o = &l->v[i];
        texts[i] = xasprintf("(%d%d/%lld/%zu:%s%zu:%s)", o->exists ? 1 : 0, (int)o->effect,
                             (long long)o->seconds, strlen(sym_str(t, o->key)), sym_str(t, o->key),
                             strlen(sym_str(t, o->value)), sym_str(t, o->value));
    }
    qsort(texts, l->n, sizeof(*texts), str_qsort_cmp);
    for (uint32_t i = 0; i < l->n; i++) {
        buf_puts(b, texts[i]);
        free(texts[i]);
    }
}

struct named_amount {
    const char *name;
    int64_t amount;
};

static int named_amount_cmp(const void *x, const void *y)
{
    return strcmp(((const struct named_amount *)x)->name, ((const struct named_amount *)y)->name);
}

static void put_resources(struct buf *b, const struct symtab *t, const struct resources *r)
{
    for (int i = 0; i < RES_FIXED; i++) {
        if (r->v[i]) {
            buf_printf(b, "%s=%lld,", resource_name((enum resource)i), (long long)r->v[i]);
        }
    }
    struct named_amount v[RES_EXT_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_ext && n < RES_EXT_MAX; i++) {
        if (r->ext[i].amount) {
            v[n++] = (struct named_amount){sym_str(t, r->ext[i].name), r->ext[i].amount};
        }
    }
    qsort(v, n, sizeof(v[0]), named_amount_cmp);
    for (uint32_t i = 0; i < n; i++) {
        decode_put_str(b, v[i].name);
        buf_printf(b, "=%lld,", (long long)v[i].amount);
    }
}

static int write_key(const struct decoder *d, struct pod_class *c, struct err *reterr)
{
    AUTO_BUF struct buf b;
    buf_init(&b, DECODE_OBJECT_MAX);
    buf_puts(&b, "requests ");
    put_resources(&b, d->t, &c->requests);
    buf_printf(&b, " priority %d hard %u selector ", (int)c->priority, c->hard);
    put_reqs(&b, d->t, &c->selector);
    buf_puts(&b, " required ");
    put_terms(&b, d->t, c->required, c->n_required);
    buf_puts(&b, " preferred ");
    put_terms(&b, d->t, c->preferred, c->n_preferred);
    buf_puts(&b, " tolerations ");
    put_tolerations(&b, d->t, &c->tolerations);
    buf_puts(&b, " ports ");
    for (uint32_t i = 0; i < c->n_host_ports; i++) {
        const struct host_port *p = &c->host_ports[i];
        buf_printf(&b, "(%u/%u/%s)", p->port, p->protocol, p->ip);
    }
    decode_topology_key(&b, d->t, c);
    if (b.over) {
        return err_set(reterr, ERR_LIMIT, "spec: larger than %u bytes", DECODE_OBJECT_MAX);
    }
    c->key = arena_strndup(&c->mem, b.p, b.n);
    c->key_hash = hash_fnv1a(b.p, b.n);
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void class_free(struct pod_class *c)
{
    arena_done(&c->mem);
    free(c);
}

struct pod_class *decode_class(struct decoder *d, const json_t *pod, bool template_limits,
                               struct err *reterr)
{
    struct pod_class *c = NEW(struct pod_class);
    arena_init(&c->mem, CLASS_CHUNK, DECODE_OBJECT_MAX);
    if (read_class(d, c, pod, template_limits, reterr) || write_key(d, c, reterr)) {
        class_free(c);
        return NULL;
    }
    struct pod_class *known = map_get(d->classes, c->key);
    if (known) {
        class_free(c);
        known->refs++;
        return known;
    }
    c->refs = 1;
    c->serial = ++d->serial;
    /* Full: the class is not shared, which costs memory, not correctness. */
    map_put(d->classes, c->key, c, NULL);
    return c;
}

void decode_class_unref(struct decoder *d, struct pod_class *c)
{
    if (!c || --c->refs > 0) {
        return;
    }
    if (map_get(d->classes, c->key) == c) {
        map_del(d->classes, c->key);
    }
    class_free(c);
}
