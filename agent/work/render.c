/* render.c - see render.h. */
#include "render.h"

#include "common/base/alloc.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

static const char *amount(enum resource r, int64_t v, char *dst)
{
    if (r == RES_CPU) {
        return quantity_fmt_milli(v, dst);
    }
    if (r == RES_MEMORY || r == RES_EPHEMERAL_STORAGE) {
        return quantity_fmt_bytes(v, dst);
    }
    return quantity_fmt_count(v, dst);
}

json_t *render_resources(const struct symtab *t, const struct resources *r)
{
    json_t *o = json_object();
    char text[QUANTITY_TEXT];
    for (int i = 0; i < RES_FIXED; i++) {
        if (r->v[i] != 0) {
            const char *s = amount((enum resource)i, r->v[i], text);
            json_object_set_new(o, resource_name((enum resource)i), json_string(s));
        }
    }
    for (uint32_t i = 0; i < r->n_ext; i++) {
        if (r->ext[i].amount != 0) {
            const char *s = quantity_fmt_count(r->ext[i].amount, text);
            json_object_set_new(o, sym_str(t, r->ext[i].name), json_string(s));
        }
    }
    return o;
}

json_t *render_taint(const struct symtab *t, const struct taint *taint)
{
    json_t *o = json_object();
    json_object_set_new(o, "key", json_string(sym_str(t, taint->key)));
    const char *value = sym_str(t, taint->value);
    if (*value) {
        json_object_set_new(o, "value", json_string(value));
    }
    json_object_set_new(o, "effect", json_string(taint_effect_name(taint->effect)));
    return o;
}

/* ---- requirements ------------------------------------------------------------------------------
 */

static json_t *values_of(const struct symtab *t, const struct req *r)
{
    const char **v = NEW_N(const char *, r->n);
    for (uint32_t i = 0; i < r->n; i++) {
        v[i] = sym_str(t, r->values[i]);
    }
    qsort(v, r->n, sizeof(*v), str_qsort_cmp);
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->n; i++) {
        json_array_append_new(list, json_string(v[i]));
    }
    free(v);
    return list;
}

static json_t *entry(const char *key, const char *op, json_t *values)
{
    json_t *o = json_object();
    json_object_set_new(o, "key", json_string(key));
    json_object_set_new(o, "operator", json_string(op));
    if (values) {
        json_object_set_new(o, "values", values);
    }
    return o;
}

static void bound(json_t *list, const char *key, const char *op, int64_t v)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)v);
    json_array_append_new(list, entry(key, op, json_pack("[s]", text)));
}

static void requirement(json_t *list, const struct symtab *t, const struct req *r)
{
    const char *key = sym_str(t, r->key);
    enum req_op op = req_op(r);
    bool bounds = r->has_gte || r->has_lte;
    if (op != REQ_EXISTS || !bounds || r->min_values) {
        bool has_values = op == REQ_IN || op == REQ_NOT_IN;
        json_t *o = entry(key, req_op_name(op), has_values ? values_of(t, r) : NULL);
        if (r->min_values) {
            json_object_set_new(o, "minValues", json_integer(r->min_values));
        }
        json_array_append_new(list, o);
    }
    if (r->has_gte) {
        bound(list, key, "Gte", r->gte);
    }
    if (r->has_lte) {
        bound(list, key, "Lte", r->lte);
    }
}

/* A requirement with its key's text, for sorting. */
struct named_req {
    const char *key;
    const struct req *r;
};

static int cmp_named(const void *a, const void *b)
{
    return str_cmp(((const struct named_req *)a)->key, ((const struct named_req *)b)->key);
}

static bool listed(const sym *list, sym key)
{
    for (; list && *list != SYM_NONE; list++) {
        if (*list == key) {
            return true;
        }
    }
    return false;
}

json_t *render_requirements(const struct symtab *t, const struct reqset *s, const sym *skip)
{
    struct named_req *v = NEW_N(struct named_req, s->n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (!listed(skip, s->v[i].key)) {
            v[n++] = (struct named_req){sym_str(t, s->v[i].key), &s->v[i]};
        }
    }
    qsort(v, n, sizeof(*v), cmp_named);
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++) {
        requirement(list, t, v[i].r);
    }
    free(v);
    return list;
}

/* ---- metadata ----------------------------------------------------------------------------------
 */

json_t *render_owner(const char *api_version, const char *kind, const char *name, const char *uid)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:b}", "apiVersion", api_version, "kind", kind, "name",
                     name, "uid", uid ? uid : "", "blockOwnerDeletion", 1);
}

json_t *render_finalizers(const struct meta *m, const char *add, const char *remove)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < m->n_finalizers; i++) {
        if (!str_eq(m->finalizers[i], add) && !str_eq(m->finalizers[i], remove)) {
            json_array_append_new(list, json_string(m->finalizers[i]));
        }
    }
    if (add) {
        json_array_append_new(list, json_string(add));
    }
    return list;
}

json_t *render_owners(const struct meta *m)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < m->n_owners; i++) {
        const struct owner_ref *o = &m->owners[i];
        json_t *ref = json_pack("{s:s, s:s, s:s, s:s}", "apiVersion", o->api_version, "kind",
                                o->kind, "name", o->name, "uid", o->uid);
        if (ref && o->controller) {
            json_object_set_new(ref, "controller", json_true());
        }
        if (ref) {
            json_array_append_new(list, ref);
        }
    }
    return list;
}

json_t *render_time(int64_t wall_ns)
{
    char text[TIMEFMT_TEXT];
    return json_string(timefmt_rfc3339(wall_ns, text));
}
