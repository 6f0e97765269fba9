/* types_full.c - see types.h; types that are described in full. */
#include "types.h"

#include "cmd/status/money.h"
#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/core/labels.h"

struct offer {
    const char *zone;
    enum capacity_type ct;
    int64_t price_pusd_h;
    bool available;
    struct reservation in; /* of reserved ones with an id; type and zone are still missing */
};

struct full_type {
    struct offer *offers;
    uint32_t n_offers;
};

struct reader {
    struct arena *a;
    struct symtab *t;
    struct catalog_type *types;
    struct full_type *full;
    uint32_t n;
    sym zones[CATALOG_MAX_ZONES];
    uint32_t n_zones;
    struct err *err;
};

/* ---- requirements and resources -------------------------------------------------------------- */

static int sym_id_cmp(const void *x, const void *y)
{
    sym a = *(const sym *)x, b = *(const sym *)y;
    return a < b ? -1 : a > b;
}

/* Sorts and drops what is there twice; returns how many are left. */
static uint32_t unique(sym *v, uint32_t n)
{
    uint32_t kept = n > 0;
    if (n > 1) {
        qsort(v, n, sizeof(*v), sym_id_cmp);
    }
    for (uint32_t i = 1; i < n; i++) {
        if (v[i] != v[kept - 1]) {
            v[kept++] = v[i];
        }
    }
    return kept;
}

/* A label's values; none for DoesNotExist. Other operators leave the label undefined. */
static bool read_label(struct reader *r, const json_t *o, struct req *ret)
{
    const char *op = jsonx_str_or(o, "operator", "In"), *key = jsonx_str(o, "key");
    const json_t *values = jsonx_arr(o, "values");
    bool none = str_eq(op, "DoesNotExist");
    if (!key || (!none && !str_eq(op, "In"))) {
        return false;
    }
    sym *v = ARENA_NEW_N(r->a, sym, json_array_size(values));
    uint32_t n = 0;
    size_t i;
    json_t *one;
    json_array_foreach ((json_t *)(uintptr_t)values, i, one) {
        if (json_is_string(one) && !none) {
            v[n++] = sym_intern(r->t, json_string_value(one));
        }
    }
    *ret = (struct req){.key = sym_intern(r->t, key), .n = unique(v, n), .values = v};
    return true;
}

static void read_labels(struct reader *r, const json_t *list, struct catalog_type *ret)
{
    struct req *v = ARENA_NEW_N(r->a, struct req, json_array_size(list));
    uint32_t n = 0;
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)(uintptr_t)list, i, o) {
        n += read_label(r, o, &v[n]);
    }
    ret->labels = v;
    ret->n_labels = n;
}

static int ext_cmp(const void *x, const void *y)
{
    return sym_id_cmp(&((const struct res_ext *)x)->name, &((const struct res_ext *)y)->name);
}

static int read_amount(const char *name, const json_t *v, int64_t *ret, struct err *reterr)
{
    char digits[32];
    const char *s = json_string_value(v);
    if (json_is_integer(v)) {
        (void)snprintf(digits, sizeof(digits), "%lld", (long long)json_integer_value(v));
        s = digits;
    }
    bool ok = s && (str_eq(name, "cpu") ? quantity_parse_milli(s, ret) : quantity_parse(s, ret));
    if (!ok || *ret < 0) {
        return err_set(reterr, ERR_INVALID, "%s: \"%s\" is not a quantity", name, s ? s : "");
    }
    return 0;
}

static int read_resources(struct reader *r, const json_t *o, const char *key, struct resources *ret)
{
    const json_t *map = jsonx_obj(o, key);
    size_t max = json_object_size(map);
    struct res_ext *ext = ARENA_NEW_N(r->a, struct res_ext, max);
    const char *name;
    json_t *v;
    if (!map || max > RES_EXT_MAX + RES_FIXED) {
        return err_set(r->err, ERR_INVALID, "%s: missing, or too many resources", key);
    }
    memset(ret, 0, sizeof(*ret));
    json_object_foreach ((json_t *)(uintptr_t)map, name, v) {
        enum resource fixed;
        int64_t amount;
        if (read_amount(name, v, &amount, r->err) != 0) {
            return err_wrap(r->err, "%s", key);
        }
        if (resource_parse(name, &fixed)) {
            ret->v[fixed] = amount;
        } else {
            ext[ret->n_ext++] = (struct res_ext){sym_intern(r->t, name), amount};
        }
    }
    if (ret->n_ext > 1) {
        qsort(ext, ret->n_ext, sizeof(*ext), ext_cmp);
    }
    ret->ext = ext;
    return 0;
}

/* ---- offerings ------------------------------------------------------------------------------- */

static int add_zone(struct reader *r, const char *zone)
{
    sym s = sym_intern(r->t, zone);
    for (uint32_t i = 0; i < r->n_zones; i++) {
        if (r->zones[i] == s) {
            return 0;
        }
    }
    if (r->n_zones >= CATALOG_MAX_ZONES) {
        return err_set(r->err, ERR_LIMIT, "more than %d zones", CATALOG_MAX_ZONES);
    }
    r->zones[r->n_zones++] = s;
    return 0;
}

static int read_offer(struct reader *r, const json_t *o, struct offer *ret)
{
    size_t i;
    json_t *q;
    *ret = (struct offer){.ct = CT_COUNT, .available = jsonx_bool(o, "available", true)};
    json_array_foreach (jsonx_arr(o, "requirements"), i, q) {
        const char *key = jsonx_str_or(q, "key", "");
        const char *value = json_string_value(json_array_get(jsonx_arr(q, "values"), 0));
        if (value && str_eq(key, sym_str(r->t, L_ZONE))) {
            ret->zone = arena_strdup(r->a, value);
        } else if (value && str_eq(key, sym_str(r->t, L_CAPACITY_TYPE))) {
            ret->ct = capacity_type_of(sym_intern(r->t, value));
        } else if (value && str_eq(key, sym_str(r->t, L_RESERVATION_ID))) {
            ret->in.id = sym_intern(r->t, value);
        } else if (value && str_eq(key, sym_str(r->t, L_RESERVATION_TYPE))) {
            ret->in.kind = sym_intern(r->t, value);
        } else if (value && str_eq(key, sym_str(r->t, L_RESERVATION_INTERRUPTIBLE))) {
            ret->in.interruptible = str_eq(value, "true");
        }
    }
    if (!ret->zone || ret->ct == CT_COUNT) {
        return err_set(r->err, ERR_INVALID, "zone or capacity type is missing");
    }
    if (!money_read(json_object_get(o, "price"), &ret->price_pusd_h)) {
        return err_set(r->err, ERR_INVALID, "price: not an amount of dollars");
    }
    int64_t units = jsonx_int(o, "reservationCapacity", 0);
    ret->in.count = !ret->available || units < 0 ? 0
                    : units > INT32_MAX          ? INT32_MAX
                                                 : (uint32_t)units;
    return add_zone(r, ret->zone);
}

static int read_offers(struct reader *r, const json_t *list, struct full_type *ret)
{
    size_t n = json_array_size(list);
    if (n > TYPES_OFFERINGS_MAX) {
        return err_set(r->err, ERR_LIMIT, "more than %u offerings", TYPES_OFFERINGS_MAX);
    }
    ret->offers = ARENA_NEW_N(r->a, struct offer, n);
    for (size_t i = 0; i < n; i++) {
        if (read_offer(r, json_array_get(list, i), &ret->offers[i]) != 0) {
            return err_wrap(r->err, "offerings[%zu]", i);
        }
    }
    ret->n_offers = (uint32_t)n;
    return 0;
}

/* ---- types ----------------------------------------------------------------------------------- */

static int read_type(struct reader *r, const json_t *o, const char *name)
{
    struct catalog_type *ct = &r->types[r->n];
    ct->name = sym_intern(r->t, name);
    read_labels(r, jsonx_arr(o, "requirements"), ct);
    if (read_resources(r, o, "capacity", &ct->capacity) != 0 ||
        read_offers(r, jsonx_arr(o, "offerings"), &r->full[r->n]) != 0) {
        return -1;
    }
    if (!jsonx_obj(o, "allocatable")) {
        ct->allocatable = ct->capacity;
    } else if (read_resources(r, o, "allocatable", &ct->allocatable) != 0) {
        return -1;
    }
    r->n++;
    return 0;
}

/* Strings are at hand only through the table, so a plain insertion sort: zones are few. */
static void sort_zones(struct reader *r)
{
    for (uint32_t i = 1; i < r->n_zones; i++) {
        sym z = r->zones[i];
        uint32_t k = i;
        for (; k > 0 && sym_cmp(r->t, r->zones[k - 1], z) > 0; k--) {
            r->zones[k] = r->zones[k - 1];
        }
        r->zones[k] = z;
    }
}

static int zone_at(const struct reader *r, const char *zone)
{
    for (uint32_t i = 0; i < r->n_zones; i++) {
        if (str_eq(sym_str(r->t, r->zones[i]), zone)) {
            return (int)i;
        }
    }
    return -1;
}

static bool fill_reservation(struct types *ret, const struct offer *f, uint32_t type, uint32_t zone)
{
    struct reservation one = f->in;
    one.type = type;
    one.zone = zone;
    one.price_pusd_h = f->price_pusd_h;
    return offerings_add_reservation(ret->offerings, &one);
}

static int fill_offerings(const struct reader *r, struct types *ret)
{
    ret->offerings = offerings_new(ret->catalog);
    for (uint32_t i = 0; i < r->n; i++) {
        int type = catalog_find_type(ret->catalog, r->types[i].name);
        for (uint32_t k = 0; type >= 0 && k < r->full[i].n_offers; k++) {
            const struct offer *f = &r->full[i].offers[k];
            uint32_t zone = (uint32_t)zone_at(r, f->zone);
            if (f->ct == CT_RESERVED && f->in.id != SYM_NONE) {
                if (!fill_reservation(ret, f, (uint32_t)type, zone)) {
                    return err_set(r->err, ERR_LIMIT, "more than %d capacity reservations",
                                   OFFERINGS_MAX_RESERVATIONS);
                }
                continue;
            }
            offerings_set_price(ret->offerings, (uint32_t)type, zone, f->ct, f->price_pusd_h);
            offerings_set_available(ret->offerings, (uint32_t)type, zone, f->ct, f->available);
        }
    }
    return 0;
}

int types_read_full(struct symtab *t, const json_t *list, const char *path,
                    const struct opt_texts *globs, struct types *ret, struct err *reterr)
{
    size_t max = json_array_size(list);
    struct reader r = {.a = &ret->mem, .t = t, .err = reterr};
    r.types = ARENA_NEW_N(r.a, struct catalog_type, max);
    r.full = ARENA_NEW_N(r.a, struct full_type, max);
    for (size_t i = 0; i < max; i++) {
        const json_t *o = json_array_get(list, i);
        const char *name = jsonx_str(o, "name");
        if (!name || !*name) {
            return err_set(reterr, ERR_INVALID, "%s: type %zu: name: missing", path, i + 1);
        }
        if (types_wanted(globs, name) && read_type(&r, o, name) != 0) {
            return err_wrap(reterr, "%s: %s", path, name);
        }
    }
    if (r.n == 0 || r.n_zones == 0) {
        return err_set(reterr, ERR_INVALID, "%s: no instance type with an offering is left", path);
    }
    sort_zones(&r);
    struct catalog_zones zones = {r.zones, ARENA_NEW_N(r.a, sym, r.n_zones), r.n_zones};
    ret->catalog = catalog_new(t, r.types, r.n, &zones, reterr);
    if (!ret->catalog) {
        return err_wrap(reterr, "%s", path);
    }
    return fill_offerings(&r, ret) == 0 ? 0 : err_wrap(reterr, "%s", path);
}
