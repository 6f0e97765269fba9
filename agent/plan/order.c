/* order.c - see order.h. */
#include "order.h"

#include "agent/work/render.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

/* ---- the object --------------------------------------------------------------------------------
 */

static json_t *child(json_t *o, const char *key)
{
    json_t *c = json_object_get(o, key);
    if (!json_is_object(c)) {
        c = json_object();
        json_object_set_new(o, key, c);
    }
    return c;
}

static void add_text(json_t *o, const char *key, const char *value)
{
    if (value) {
        json_object_set_new(o, key, json_string(value));
    }
}

/* Keys whose label is not the scheduler's to choose. */
static bool label_given(const json_t *labels, const struct symtab *t, sym key)
{
    return labels_well_known(key) || labels_restricted(t, key) || key == L_EC2NODECLASS ||
           json_object_get(labels, sym_str(t, key)) != NULL;
}

static void put_labels(const struct runtime *rt, struct arena *a, const struct sched_claim *sc,
                       json_t *meta)
{
    const struct nodepool *np = sc->pool->np;
    json_t *labels = child(meta, "labels");
    for (uint32_t i = 0; i < sc->reqs.n; i++) {
        const struct req *r = &sc->reqs.v[i];
        if (!label_given(labels, rt->syms, r->key)) {
            add_text(labels, sym_str(rt->syms, r->key), sched_label_value(a, rt->syms, r));
        }
    }
    add_text(labels, sym_str(rt->syms, L_NODEPOOL), np->m.name);
    add_text(labels, sym_str(rt->syms, L_EC2NODECLASS), np->class_ref.name);
}

static void put_annotations(const struct sched_claim *sc, json_t *meta)
{
    json_t *ann = child(meta, "annotations");
    add_text(ann, ANN_POOL_HASH, sc->pool->np->hash);
    add_text(ann, ANN_POOL_HASH_VERSION, HASH_VERSION);
    if (sc->pool->cls && sc->pool->cls->hash) {
        add_text(ann, ANN_CLASS_HASH, sc->pool->cls->hash);
        add_text(ann, ANN_CLASS_HASH_VERSION, HASH_VERSION);
    }
    add_text(ann, ANN_MIN_VALUES_RELAXED, sc->min_values_relaxed ? "true" : "false");
    add_text(ann, ANN_LAUNCH_ATTEMPT, "1");
}

static json_t *metadata(const struct runtime *rt, struct arena *a, const struct sched_claim *sc,
                        const json_t *template)
{
    const struct nodepool *np = sc->pool->np;
    json_t *meta = json_object();
    char prefix[256];
    snprintf(prefix, sizeof(prefix), "%.250s-", np->m.name);
    add_text(meta, "generateName", prefix);
    json_t *from = jsonx_obj(template, "metadata.labels");
    json_object_set_new(meta, "labels", from ? json_deep_copy(from) : json_object());
    from = jsonx_obj(template, "metadata.annotations");
    json_object_set_new(meta, "annotations", from ? json_deep_copy(from) : json_object());
    put_labels(rt, a, sc, meta);
    put_annotations(sc, meta);
    json_object_set_new(meta, "finalizers", json_pack("[s]", FINALIZER_TERMINATION));
    json_t *owner = render_owner("karpenter.sh/v1", "NodePool", np->m.name, np->m.uid);
    json_object_set_new(meta, "ownerReferences", json_pack("[o]", owner));
    return meta;
}

static json_t *spec(const struct runtime *rt, const struct sched_claim *sc, const json_t *template)
{
    static const char *const copied[] = {"taints", "startupTaints", "nodeClassRef", "expireAfter",
                                         "terminationGracePeriod"};
    static const sym simulated[] = {L_REGISTERED, L_INITIALIZED, L_HOSTNAME, SYM_NONE};
    json_t *o = json_object(), *from = jsonx_obj(template, "spec");
    for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
        json_t *v = json_object_get(from, copied[i]);
        if (v) {
            json_object_set_new(o, copied[i], json_deep_copy(v));
        }
    }
    json_object_set_new(o, "requirements", render_requirements(rt->syms, &sc->reqs, simulated));
    json_object_set_new(o, "resources",
                        json_pack("{s:o}", "requests", render_resources(rt->syms, &sc->requests)));
    return o;
}

/* ---- the rest ----------------------------------------------------------------------------------
 */

static void put_types(struct order *o, const struct runtime *rt, const struct sched_claim *sc)
{
    size_t n = 0;
    uint32_t shown = 0;
    for (; shown < sc->n_types && shown < ORDER_LOG_NAMES; shown++) {
        const char *name =
            sym_str(rt->syms, catalog_type_name(sc->pool->catalog, sc->types[shown]));
        int w = snprintf(o->types + n, sizeof(o->types) - n, "%s%s", shown ? ", " : "", name);
        n = w > 0 && n + (size_t)w < sizeof(o->types) ? n + (size_t)w : sizeof(o->types) - 1;
    }
    if (sc->n_types > shown) {
        snprintf(o->types + n, sizeof(o->types) - n, " and %u other(s)", sc->n_types - shown);
    }
}

static void put_capacity(struct order *o, const struct sched_claim *sc)
{
    for (uint32_t i = 0; i < sc->n_types; i++) {
        const struct resources *c = catalog_capacity(sc->pool->catalog, sc->types[i]);
        for (int r = 0; r < RES_FIXED; r++) {
            o->capacity.v[r] = c->v[r] > o->capacity.v[r] ? c->v[r] : o->capacity.v[r];
        }
    }
}

uint64_t order_class(const struct pod *p)
{
    return p->cls->key_hash;
}

static void put_pods(struct order *o, const struct sched_claim *sc)
{
    o->pods = NEW_N(struct order_pod, sc->n_pods);
    for (uint32_t i = 0; i < sc->n_pods; i++) {
        const struct pod *p = sc->pods[i];
        o->pods[i] = (struct order_pod){.key = xasprintf("%s/%s", p->m.ns, p->m.name),
                                        .ns = xstrdup(p->m.ns),
                                        .name = xstrdup(p->m.name),
                                        .uid = xstrdup(p->m.uid),
                                        .cls = order_class(p)};
    }
    o->n_pods = sc->n_pods;
}

struct order *order_new(const struct runtime *rt, const struct sched_claim *sc, struct err *reterr)
{
    const struct nodepool *np = sc->pool->np;
    AUTO_JSON json_t *template =
        jsonx_parse(np->spec_template, strlen(np->spec_template), "spec.template", reterr);
    if (!template) {
        err_wrap(reterr, "NodePool %s", np->m.name);
        return NULL;
    }
    struct arena scratch;
    arena_init(&scratch, 0, 1u << 20);
    struct order *o = NEW(struct order);
    o->pool = xstrdup(np->m.name);
    o->min_values_relaxed = sc->min_values_relaxed;
    o->price_pusd_h = sc->price_pusd_h;
    o->body = json_object();
    json_object_set_new(o->body, "apiVersion", json_string("karpenter.sh/v1"));
    json_object_set_new(o->body, "kind", json_string("NodeClaim"));
    json_object_set_new(o->body, "metadata", metadata(rt, &scratch, sc, template));
    json_object_set_new(o->body, "spec", spec(rt, sc, template));
    put_types(o, rt, sc);
    put_capacity(o, sc);
    put_pods(o, sc);
    arena_done(&scratch);
    return o;
}

void order_free(struct order *o)
{
    if (!o) {
        return;
    }
    for (uint32_t i = 0; i < o->n_pods; i++) {
        free(o->pods[i].key);
        free(o->pods[i].ns);
        free(o->pods[i].name);
        free(o->pods[i].uid);
    }
    free(o->pods);
    json_decref(o->body);
    free(o->pool);
    free(o);
}
