/* launchwrite.c - see launchwrite.h. */
#include "launchwrite.h"

#include "agent/work/cond.h"
#include "agent/work/render.h"
#include "common/base/alloc.h"

const char *const launch_dependents[] = {"Launched", "Registered", "Initialized", NULL};

struct launch_found {
    char *provider_id, *image_id;
    json_t *capacity, *allocatable;
    json_t *labels;
};

static void put(json_t *labels, const struct symtab *t, sym key, const char *value)
{
    json_object_set_new(labels, sym_str(t, key), json_string(value));
}

/* The type's and the claim's single values; those the instance itself tells come over them. */
static void put_single(json_t *labels, const struct symtab *t, const struct reqset *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        sym key = s->v[i].key;
        sym value = req_single(&s->v[i]);
        if (value != SYM_NONE && key != L_HOSTNAME && key != L_REGISTERED && key != L_INITIALIZED) {
            put(labels, t, key, sym_str(t, value));
        }
    }
}

static void put_type(json_t *labels, const struct symtab *t, const struct launch_result *r)
{
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    struct reqset s = catalog_labels(r->catalog, &a, r->type);
    put_single(labels, t, &s);
    arena_done(&a);
}

static json_t *labels_of(const struct runtime *rt, const struct nodeclaim *nc,
                         const struct launch_result *r)
{
    const struct symtab *t = rt->syms;
    const struct instance *i = &r->instance;
    const struct req *tenancy = reqset_get(&nc->reqs, L_TENANCY);
    bool dedicated = tenancy && !req_has(t, tenancy, V_DEFAULT);
    json_t *labels = json_object();
    put_single(labels, t, &nc->reqs);
    if (r->catalog) {
        put_type(labels, t, r);
    }
    put(labels, t, L_TENANCY, dedicated ? "dedicated" : "default");
    put(labels, t, L_CAPACITY_TYPE, sym_str(t, capacity_type_sym(i->ct)));
    put(labels, t, L_INSTANCE_TYPE, i->type);
    put(labels, t, L_REGION, rt->opt->region);
    put(labels, t, L_ZONE, i->zone);
    if (*i->zone_id) {
        put(labels, t, L_ZONE_ID, i->zone_id);
    }
    if (i->reservation_id) {
        put(labels, t, L_RESERVATION_ID, i->reservation_id);
        put(labels, t, L_RESERVATION_TYPE, i->reservation_kind);
        put(labels, t, L_RESERVATION_INTERRUPTIBLE, i->interruptible ? "true" : "false");
    }
    return labels;
}

struct launch_found *launch_found_new(const struct runtime *rt, const struct nodeclaim *nc,
                                      const struct launch_result *r)
{
    struct launch_found *f = NEW(struct launch_found);
    f->provider_id = xasprintf("aws:///%s/%s", r->instance.zone, r->instance.id);
    f->image_id = xstrdup(r->instance.image_id);
    f->capacity = render_resources(rt->syms, &r->capacity);
    f->allocatable = render_resources(rt->syms, &r->allocatable);
    f->labels = labels_of(rt, nc, r);
    return f;
}

void launch_found_free(struct launch_found *f)
{
    if (!f) {
        return;
    }
    free(f->provider_id);
    free(f->image_id);
    json_decref(f->capacity);
    json_decref(f->allocatable);
    json_decref(f->labels);
    free(f);
}

json_t *launch_found_labels(const struct launch_found *f, const struct nodeclaim *nc,
                            const struct symtab *t)
{
    json_t *missing = json_object();
    const char *key;
    json_t *value;
    json_object_foreach (f->labels, key, value) {
        sym s = sym_find(t, key);
        if (s == SYM_NONE || labels_get(&nc->m.labels, s) == SYM_NONE) {
            json_object_set(missing, key, value);
        }
    }
    if (json_object_size(missing) == 0) {
        json_decref(missing);
        return NULL;
    }
    return json_pack("{s:{s:o}}", "metadata", "labels", missing);
}

json_t *launch_found_status(const struct launch_found *f, const struct nodeclaim *nc,
                            int64_t now_ns)
{
    struct cond_edit e;
    char root[COND_ROOT_MESSAGE];
    cond_begin(&e, &nc->conditions, &nc->m, now_ns);
    cond_set(&e, "Launched", STATUS_TRUE, NULL, NULL);
    cond_root(&e, launch_dependents, nc->m.created_ns, root);
    return json_pack("{s:{s:s, s:s, s:O, s:O, s:o}}", "status", "providerID", f->provider_id,
                     "imageID", f->image_id, "capacity", f->capacity, "allocatable", f->allocatable,
                     "conditions", cond_json(&e));
}
