#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "decode_priv.h"

#include <math.h>

/* ---- resources ------------------------------------------------------------------------------- */

int decode_quantity(const char *resource, const json_t *v, int64_t *ret, struct err *reterr)
{
    char number[40];
    const char *s = json_string_value(v);
    if (json_is_integer(v)) {
        (void)snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(v));
        s = number;
    } else if (json_is_real(v) && isfinite(json_real_value(v))) {
        (void)snprintf(number, sizeof(number), "%.15g", json_real_value(v));
        s = number;
    }
    bool ok =
        s && (str_eq(resource, "cpu") ? quantity_parse_milli(s, ret) : quantity_parse(s, ret));
    if (!ok) {
        return err_set(reterr, ERR_INVALID, "%s: \"%s\" is not a quantity", resource, s ? s : "");
    }
    if (*ret < 0) {
        return err_set(reterr, ERR_INVALID, "%s: \"%s\" is negative", resource, s);
    }
    return 0;
}

int64_t *res_build_slot(struct decoder *d, struct res_build *b, const char *name,
                        struct err *reterr)
{
    enum resource fixed;
    if (resource_parse(name, &fixed)) {
        return &b->r.v[fixed];
    }
    sym s = sym_intern(d->t, name);
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->ext[i].name == s) {
            return &b->ext[i].amount;
        }
    }
    if (b->n >= RES_EXT_MAX) {
        err_set(reterr, ERR_LIMIT, "%s: more than %u kinds of extended resources", name,
                RES_EXT_MAX);
        return NULL;
    }
    b->ext[b->n] = (struct res_ext){s, 0};
    return &b->ext[b->n++].amount;
}

static int ext_cmp(const void *x, const void *y)
{
    const struct res_ext *a = x, *b = y;
    return a->name < b->name ? -1 : a->name > b->name;
}

struct resources res_build_done(struct arena *a, struct res_build *b)
{
    qsort(b->ext, b->n, sizeof(b->ext[0]), ext_cmp);
    b->r.ext = arena_memdup(a, b->ext, b->n * sizeof(b->ext[0]));
    b->r.n_ext = b->n;
    return b->r;
}

int decode_resources(struct decoder *d, struct arena *a, const json_t *o, const char *key,
                     struct resources *ret, struct err *reterr)
{
    const json_t *obj;
    struct res_build b = {.n = 0};
    memset(ret, 0, sizeof(*ret));
    if (decode_obj(o, key, &obj, reterr)) {
        return -1;
    }
    const char *name;
    json_t *v;
    json_object_foreach ((json_t *)(uintptr_t)obj, name, v) {
        int64_t *slot = res_build_slot(d, &b, name, reterr);
        if (!slot || decode_quantity(name, v, slot, reterr)) {
            return decode_in(reterr, "%s.", key);
        }
    }
    *ret = res_build_done(a, &b);
    return 0;
}

/* ---- taints and tolerations ------------------------------------------------------------------ */

static int decode_taint(struct decoder *d, const json_t *o, struct taint *ret, struct err *reterr)
{
    const char *key = jsonx_str_or(o, "key", "");
    const char *effect = jsonx_str_or(o, "effect", "");
    if (!*key) {
        return err_set(reterr, ERR_INVALID, "key: missing");
    }
    if (!*effect || !taint_effect_parse(effect, &ret->effect)) {
        return err_set(reterr, ERR_INVALID,
                       "effect: \"%s\" is not NoSchedule, PreferNoSchedule or NoExecute", effect);
    }
    ret->key = sym_intern(d->t, key);
    ret->value = sym_intern(d->t, jsonx_str_or(o, "value", ""));
    return 0;
}

int decode_taints(struct decoder *d, struct arena *a, const json_t *o, const char *key,
                  struct taints *ret, struct err *reterr)
{
    const json_t *list;
    *ret = (struct taints){NULL, 0};
    if (decode_arr(o, key, &list, reterr)) {
        return -1;
    }
    struct taint *v = ARENA_NEW_N(a, struct taint, json_array_size(list));
    size_t i;
    json_t *t;
    json_array_foreach (list, i, t) {
        if (decode_taint(d, t, &v[i], reterr)) {
            return decode_in(reterr, "%s[%zu].", key, i);
        }
    }
    *ret = (struct taints){v, (uint32_t)json_array_size(list)};
    return 0;
}

/* False for one that tolerates nothing we know of: leaving it out is the safe side. */
static bool decode_toleration(struct decoder *d, const json_t *o, struct toleration *ret)
{
    const char *key = jsonx_str_or(o, "key", "");
    const char *op = jsonx_str_or(o, "operator", "");
    const char *effect = jsonx_str_or(o, "effect", "");
    ret->exists = str_eq(op, "Exists");
    if (!ret->exists && *op && !str_eq(op, "Equal")) {
        return false;
    }
    if (!*key && !ret->exists) {
        return false;
    }
    ret->effect = EFFECT_ANY;
    if (*effect && !taint_effect_parse(effect, &ret->effect)) {
        return false;
    }
    ret->key = *key ? sym_intern(d->t, key) : SYM_NONE;
    ret->value = ret->exists ? SYM_NONE : sym_intern(d->t, jsonx_str_or(o, "value", ""));
    ret->seconds = jsonx_int(o, "tolerationSeconds", -1);
    return true;
}

void decode_tolerations(struct decoder *d, struct arena *a, const json_t *spec,
                        struct tolerations *ret)
{
    const json_t *list = json_object_get(spec, "tolerations");
    size_t n = json_array_size(list);
    n = n < DECODE_LIST_MAX ? n : DECODE_LIST_MAX;
    struct toleration *v = ARENA_NEW_N(a, struct toleration, n);
    uint32_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        kept += decode_toleration(d, json_array_get(list, i), &v[kept]) ? 1 : 0;
    }
    *ret = (struct tolerations){v, kept};
}

/* ---- requirements ---------------------------------------------------------------------------- */

static int requirement_values(struct decoder *d, const json_t *list, sym *syms, struct err *reterr)
{
    size_t i;
    json_t *v;
    json_array_foreach (list, i, v) {
        if (!json_is_string(v)) {
            return err_set(reterr, ERR_INVALID, "values[%zu]: not a string", i);
        }
        syms[i] = sym_intern(d->t, json_string_value(v));
    }
    return 0;
}

static int requirement_min_values(const json_t *o, uint16_t *ret, struct err *reterr)
{
    const json_t *v = json_object_get(o, "minValues");
    *ret = 0;
    if (!v || json_is_null(v)) {
        return 0;
    }
    if (!json_is_integer(v) || json_integer_value(v) < 1 || json_integer_value(v) > 50) {
        return err_set(reterr, ERR_INVALID, "minValues: not an integer from 1 to 50");
    }
    *ret = (uint16_t)json_integer_value(v);
    return 0;
}

int decode_requirement(struct decoder *d, struct arena *a, const json_t *o, struct req *ret,
                       struct err *reterr)
{
    const char *key = jsonx_str_or(o, "key", "");
    const char *op_name = jsonx_str_or(o, "operator", "");
    enum req_op op;
    const json_t *list;
    uint16_t min_values;
    if (!*key) {
        return err_set(reterr, ERR_INVALID, "key: missing");
    }
    if (!req_op_parse(op_name, &op)) {
        return err_set(reterr, ERR_INVALID, "operator: \"%s\" is unknown", op_name);
    }
    if (decode_arr(o, "values", &list, reterr) || requirement_min_values(o, &min_values, reterr)) {
        return -1;
    }
    size_t n = json_array_size(list);
    AUTO_FREE sym *syms = NEW_N(sym, n + 1);
    if (requirement_values(d, list, syms, reterr)) {
        return -1;
    }
    sym s = sym_intern(d->t, labels_normalize(key));
    if (req_make(a, d->t, s, op, syms, (uint32_t)n, min_values, ret, reterr)) {
        return decode_in(reterr, "%s: ", key);
    }
    return 0;
}

int decode_requirements(struct decoder *d, struct arena *a, const json_t *o, const char *key,
                        struct reqset *ret, struct err *reterr)
{
    const json_t *list;
    *ret = (struct reqset){NULL, 0};
    if (decode_arr(o, key, &list, reterr)) {
        return -1;
    }
    if (json_array_size(list) > DECODE_REQS_MAX) {
        return err_set(reterr, ERR_LIMIT, "%s: more than %u", key, DECODE_REQS_MAX);
    }
    size_t i;
    json_t *v;
    json_array_foreach (list, i, v) {
        struct req r;
        if (decode_requirement(d, a, v, &r, reterr)) {
            return decode_in(reterr, "%s[%zu].", key, i);
        }
        *ret = reqset_add(a, d->t, ret, &r);
    }
    return 0;
}

int decode_class_ref_of(struct arena *a, const json_t *o, struct class_ref *ret, struct err *reterr)
{
    const json_t *ref = json_object_get(o, "nodeClassRef");
    *ret = (struct class_ref){decode_str(a, ref, "group"), decode_str(a, ref, "kind"),
                              decode_str(a, ref, "name")};
    const char *missing = !*ret->group  ? "group"
                          : !*ret->kind ? "kind"
                          : !*ret->name ? "name"
                                        : NULL;
    if (missing) {
        return err_set(reterr, ERR_INVALID, "nodeClassRef.%s: missing", missing);
    }
    return 0;
}
