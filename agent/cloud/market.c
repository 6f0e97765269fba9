/*
 * market.c - what a class can launch: its catalog, and the offerings of now.
 *
 * A catalog is built from the numbers of the spec, what nodes were seen to have (observed.h), the
 * zones of the resolved subnets and the images; two classes with the same share one. Offerings are
 * made anew when a price or a stock-out changes; what a decision may still be looking at waits in a
 * limbo for the store's thaw.
 */
#include "agent/store/observed.h"
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#define KEY_MAX (1u << 20)
#define SCRATCH_MAX (64u << 20)
#define RESERVED_PART 10000000 /* of the on-demand price */

/* ---- life --------------------------------------------------------------------------------------
 */

void market_init(struct cloud *c)
{
    c->generation = 0;
}

static void market_free(struct market *m)
{
    if (!m) {
        return;
    }
    catalog_free(m->catalog);
    offerings_free(m->offerings);
    arena_done(&m->mem);
    free(m->key);
    free(m);
}

static void thaw(struct cloud *c)
{
    if (store_frozen(c->rt->store)) {
        return;
    }
    for (size_t i = 0; i < c->n_limbo; i++) {
        market_free(c->limbo[i].market);
        offerings_free(c->limbo[i].offerings);
    }
    c->n_limbo = 0;
}

static void retire(struct cloud *c, struct market *m, struct offerings *o)
{
    ARRAY_GROW(c->limbo, c->n_limbo, c->cap_limbo);
    c->limbo[c->n_limbo++] = (struct market_limbo){m, o};
    thaw(c);
}

struct market *market_ref(struct market *m)
{
    m->refs++;
    return m;
}

void market_unref(struct cloud *c, struct market *m)
{
    if (--m->refs > 0) {
        return;
    }
    for (size_t i = 0; i < c->n_markets; i++) {
        if (c->markets[i] == m) {
            c->markets[i] = c->markets[--c->n_markets];
            break;
        }
    }
    retire(c, m, NULL);
}

void market_done(struct cloud *c)
{
    for (size_t i = 0; i < c->n_limbo; i++) {
        market_free(c->limbo[i].market);
        offerings_free(c->limbo[i].offerings);
    }
    for (size_t i = 0; i < c->n_markets; i++) {
        market_free(c->markets[i]);
    }
    free(c->limbo);
    free(c->markets);
}

/* ---- the key -----------------------------------------------------------------------------------
 */

static void put_i64(struct buf *b, int64_t n)
{
    char text[STR_I64_TEXT];
    buf_puts(b, str_from_i64(n, text));
    buf_putc(b, ' ');
}

static void put_ec2_class(struct buf *b, const struct symtab *t, const struct ec2_class *ec)
{
    const int64_t numbers[] = {ec->family,
                               ec->vm_overhead_permyriad,
                               ec->reserved_enis,
                               ec->max_pods,
                               ec->pods_per_core,
                               ec->root_volume_bytes,
                               ec->instance_store_raid0,
                               ec->kube_cpu_milli,
                               ec->kube_mem_bytes,
                               ec->kube_ephemeral_bytes,
                               ec->system_cpu_milli,
                               ec->system_mem_bytes,
                               ec->system_ephemeral_bytes,
                               ec->evict_mem_bytes,
                               ec->evict_storage_bytes,
                               ec->evict_mem_permyriad,
                               ec->evict_storage_permyriad};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        put_i64(b, numbers[i]);
    }
    for (int r = 0; r < RES_FIXED; r++) {
        put_i64(b, ec->extra.v[r]);
    }
    for (uint32_t i = 0; i < ec->extra.n_ext; i++) {
        buf_printf(b, "%s=%lld ", sym_str(t, ec->extra.ext[i].name),
                   (long long)ec->extra.ext[i].amount);
    }
}

static void put_reservation(struct buf *b, const struct class_reservation *r)
{
    buf_printf(b, "%s/%u/%u/%u/%d%d ", r->id, (unsigned)r->type, (unsigned)r->zone,
               (unsigned)r->kind, r->interruptible, r->expiring);
}

static void put_status(struct buf *b, const struct symtab *t, const struct nodeclass *cls)
{
    for (uint32_t i = 0; i < cls->n_subnets; i++) {
        const struct class_subnet *s = &cls->subnets[i];
        buf_printf(b, "%s/%s/%s ", s->id, sym_str(t, s->zone), sym_str(t, s->zone_id));
    }
    for (uint32_t i = 0; i < cls->n_amis; i++) {
        buf_printf(b, "%s{", cls->amis[i].id);
        for (uint32_t k = 0; k < cls->amis[i].reqs.n; k++) {
            req_fmt(t, &cls->amis[i].reqs.v[k], 0, b);
            buf_putc(b, ';');
        }
        buf_puts(b, "} ");
    }
    for (uint32_t i = 0; i < cls->n_reservations; i++) {
        put_reservation(b, &cls->reservations[i]);
    }
}

/* ---- the catalog -------------------------------------------------------------------------------
 */

struct zone_row {
    const char *name;
    sym zone, zone_id;
};

static int zone_cmp(const void *a, const void *b)
{
    return str_cmp(((const struct zone_row *)a)->name, ((const struct zone_row *)b)->name);
}

/* Each zone once, in string order. */
static void class_zones(struct arena *a, const struct symtab *t, const struct nodeclass *cls,
                        struct catalog_zones *ret)
{
    struct zone_row *rows = ARENA_NEW_N(a, struct zone_row, cls->n_subnets);
    for (uint32_t i = 0; i < cls->n_subnets; i++) {
        const struct class_subnet *s = &cls->subnets[i];
        rows[i] = (struct zone_row){sym_str(t, s->zone), s->zone, s->zone_id};
    }
    if (cls->n_subnets > 0) {
        qsort(rows, cls->n_subnets, sizeof(*rows), zone_cmp);
    }
    sym *zones = ARENA_NEW_N(a, sym, cls->n_subnets);
    sym *ids = ARENA_NEW_N(a, sym, cls->n_subnets);
    *ret = (struct catalog_zones){.zones = zones, .zone_ids = ids};
    for (uint32_t i = 0; i < cls->n_subnets; i++) {
        if (*rows[i].name && (ret->n == 0 || zones[ret->n - 1] != rows[i].zone)) {
            zones[ret->n] = rows[i].zone;
            ids[ret->n++] = rows[i].zone_id;
        }
    }
}

/* The place of the first image of the list, newest first, that the type can run; -1. */
static int image_of(const struct market *m, struct arena *scratch, const struct symtab *t,
                    const struct nodeclass *cls, uint32_t type)
{
    struct arena_mark mark = arena_mark(scratch);
    struct reqset labels = catalog_labels(m->catalog, scratch, type);
    int found = -1;
    for (uint32_t i = 0; i < cls->n_amis && found < 0; i++) {
        if (reqset_compatible(t, &labels, &cls->amis[i].reqs, false, NULL, NULL)) {
            found = (int)i;
        }
    }
    arena_rewind(scratch, mark);
    return found;
}

static void put_types(struct market *m, struct arena *scratch, const struct symtab *t,
                      const struct nodeclass *cls, const json_t *spec)
{
    uint32_t n = catalog_n_types(m->catalog);
    const char **ids = ARENA_NEW_N(scratch, const char *, cls->n_amis);
    int *facts = ARENA_NEW_N(&m->mem, int, n);
    const char **images = ARENA_NEW_N(&m->mem, const char *, n);
    bool *fits = ARENA_NEW_N(&m->mem, bool, n);
    for (uint32_t i = 0; i < n; i++) {
        facts[i] = ec2_find_fact(sym_str(t, catalog_type_name(m->catalog, i)));
        fits[i] = spec_type_fits(spec, &m->ec, &ec2_facts[facts[i]]);
        int image = fits[i] ? image_of(m, scratch, t, cls, i) : -1;
        if (image >= 0 && !ids[image]) {
            ids[image] = arena_strdup(&m->mem, cls->amis[image].id);
        }
        images[i] = image >= 0 ? ids[image] : NULL;
    }
    m->fits = fits;
    m->facts = facts;
    m->images = images;
}

static void put_subnets(struct market *m, const struct nodeclass *cls)
{
    struct market_subnet *v = ARENA_NEW_N(&m->mem, struct market_subnet, cls->n_subnets);
    for (uint32_t i = 0; i < cls->n_subnets; i++) {
        v[i].id = arena_strdup(&m->mem, cls->subnets[i].id);
        v[i].zone = catalog_find_zone(m->catalog, cls->subnets[i].zone);
    }
    m->subnets = v;
    m->n_subnets = cls->n_subnets;
}

/* Those of types and zones that the class can use at all. */
static void put_reservations(struct market *m, const struct cloud *c, const struct nodeclass *cls,
                             const json_t *spec)
{
    struct market_reservation *v =
        ARENA_NEW_N(&m->mem, struct market_reservation, cls->n_reservations);
    uint32_t n = reserve_selected(c, spec) ? cls->n_reservations : 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct class_reservation *r = &cls->reservations[i];
        int type = catalog_find_type(m->catalog, r->type);
        int zone = catalog_find_zone(m->catalog, r->zone);
        if (type >= 0 && zone >= 0 && m->images[type]) {
            v[m->n_reservations++] = (struct market_reservation){arena_strdup(&m->mem, r->id),
                                                                 {.id = r->id_sym,
                                                                  .kind = r->kind,
                                                                  .interruptible = r->interruptible,
                                                                  .type = (uint32_t)type,
                                                                  .zone = (uint32_t)zone},
                                                                 r->expiring};
        }
    }
    m->reservations = v;
}

struct of_class {
    const struct cloud *c;
    const struct nodeclass *cls;
};

static bool observed(void *ctx, const char *type, struct ec2_observed *ret)
{
    const struct of_class *k = ctx;
    return observed_of(k->c->rt->observed, k->cls, type, ret);
}

static struct market *market_new(struct cloud *c, const struct nodeclass *cls, const json_t *spec,
                                 struct err *reterr)
{
    struct symtab *t = c->rt->syms;
    struct arena scratch;
    struct market *m = NEW(struct market);
    arena_init(&m->mem, 0, SCRATCH_MAX);
    arena_init(&scratch, 0, SCRATCH_MAX);
    spec_ec2_class(c->rt, &m->mem, cls, spec, &m->ec);
    struct of_class of_class = {c, cls};
    struct ec2_catalog_in in = {.syms = t,
                                .region = c->rt->opt->region,
                                .cls = &m->ec,
                                .observed = observed,
                                .ctx = &of_class};
    class_zones(&scratch, t, cls, &in.zones);
    m->catalog = ec2_catalog(&scratch, &in, reterr);
    if (!m->catalog) {
        arena_done(&scratch);
        market_free(m);
        return NULL;
    }
    put_types(m, &scratch, t, cls, spec);
    arena_done(&scratch);
    put_subnets(m, cls);
    put_reservations(m, c, cls, spec);
    return m;
}

/* ---- offerings ---------------------------------------------------------------------------------
 */

static bool zone_full(const struct cloud *c, const struct market *m, uint32_t zone)
{
    for (uint32_t i = 0; i < m->n_subnets; i++) {
        if (m->subnets[i].zone == (int)zone && !stock_subnet_full(c, m->subnets[i].id)) {
            return false;
        }
    }
    return true;
}

static void put_prices(const struct cloud *c, const struct market *m, struct offerings *o)
{
    static const enum capacity_type cts[] = {CT_SPOT, CT_ON_DEMAND};
    for (uint32_t z = 0; z < catalog_n_zones(m->catalog); z++) {
        const char *name = sym_str(c->rt->syms, catalog_zone(m->catalog, z));
        int zone = facts_zone(&c->facts, name);
        bool full = zone_full(c, m, z);
        for (uint32_t t = 0; t < catalog_n_types(m->catalog); t++) {
            for (size_t k = 0; m->images[t] && k < ARRAY_LEN(cts); k++) {
                int64_t price = facts_price(&c->facts, m->facts[t], zone, cts[k]);
                offerings_set_price(o, t, z, cts[k], price);
                if (price != PRICE_UNKNOWN && full) {
                    offerings_set_available(o, t, z, cts[k], false);
                }
            }
        }
    }
}

/* As Karpenter a ten-millionth of the on-demand price: it is paid for anyway. */
static struct reservation reserved_now(const struct cloud *c, const struct market *m,
                                       const struct market_reservation *v)
{
    struct reservation r = v->r;
    int zone = facts_zone(&c->facts, sym_str(c->rt->syms, catalog_zone(m->catalog, r.zone)));
    int64_t price = facts_price(&c->facts, m->facts[r.type], zone, CT_ON_DEMAND);
    int64_t left = v->expiring || zone_full(c, m, r.zone) ? 0 : reserve_left(c, v->id);
    r.price_pusd_h = price == PRICE_UNKNOWN ? 0 : price / RESERVED_PART;
    r.count = left > UINT32_MAX ? UINT32_MAX : (uint32_t)left;
    return r;
}

static void put_reserved(const struct cloud *c, const struct market *m, struct offerings *o)
{
    for (uint32_t i = 0; i < m->n_reservations; i++) {
        struct reservation r = reserved_now(c, m, &m->reservations[i]);
        (void)offerings_add_reservation(o, &r);
    }
    /* What runs where nothing is left has a price all the same. */
    for (uint32_t i = 0; i < m->n_reservations; i++) {
        const struct reservation r = reserved_now(c, m, &m->reservations[i]);
        if (offerings_price(o, r.type, r.zone, CT_RESERVED) == PRICE_UNKNOWN) {
            offerings_set_price(o, r.type, r.zone, CT_RESERVED, r.price_pusd_h);
            offerings_set_available(o, r.type, r.zone, CT_RESERVED, false);
        }
    }
}

static void sell_out(const struct market *m, struct offerings *o, const struct stock *s,
                     uint32_t type, int zone)
{
    for (uint32_t z = 0; z < catalog_n_zones(m->catalog); z++) {
        if ((zone < 0 || (uint32_t)zone == z) &&
            offerings_price(o, type, z, s->ct) != PRICE_UNKNOWN) {
            offerings_set_available(o, type, z, s->ct, false);
        }
    }
}

/* What the class's other fields allow, but no image of it runs on. */
static void put_no_image(const struct market *m, struct offerings *o)
{
    for (uint32_t t = 0; t < catalog_n_types(m->catalog); t++) {
        if (m->fits[t] && !m->images[t]) {
            offerings_set_no_image(o, t);
        }
    }
}

static void put_stock(const struct cloud *c, const struct market *m, struct offerings *o)
{
    for (MAP_EACH(c->facts.stock, e)) {
        const struct stock *s = map_value(e);
        if (!stock_holds(c, s)) {
            continue;
        }
        if (s->quota_group || str_eq(s->type, "*")) {
            for (uint32_t t = 0; t < catalog_n_types(m->catalog); t++) {
                if (!s->quota_group || stock_quota_covers(s, &ec2_facts[m->facts[t]])) {
                    sell_out(m, o, s, t, -1);
                }
            }
            continue;
        }
        int type = catalog_find_type(m->catalog, sym_find(c->rt->syms, s->type));
        int zone = catalog_find_zone(m->catalog, sym_find(c->rt->syms, s->zone));
        if (type >= 0 && zone >= 0) {
            sell_out(m, o, s, (uint32_t)type, zone);
        }
    }
}

static void bring_up_to_date(struct cloud *c, struct market *m)
{
    if (m->offerings && m->facts_version == c->facts.version) {
        return;
    }
    struct offerings *o = offerings_new(m->catalog), *before = m->offerings;
    put_no_image(m, o);
    put_prices(c, m, o);
    put_reserved(c, m, o);
    put_stock(c, m, o);
    offerings_set_generation(o, ++c->generation);
    m->offerings = o;
    m->facts_version = c->facts.version;
    if (before) {
        retire(c, NULL, before);
    }
}

/* ---- by class ----------------------------------------------------------------------------------
 */

static char *key_of(struct cloud *c, const struct nodeclass *cls, const json_t *spec)
{
    struct arena a;
    struct ec2_class ec;
    struct buf b;
    arena_init(&a, 0, 1u << 20);
    buf_init(&b, KEY_MAX);
    spec_ec2_class(c->rt, &a, cls, spec, &ec);
    put_ec2_class(&b, c->rt->syms, &ec);
    put_i64(&b, jsonx_obj(spec, "connectionTracking") != NULL);
    put_i64(&b, reserve_selected(c, spec));
    put_status(&b, c->rt->syms, cls);
    uint64_t seen = observed_version(c->rt->observed, cls);
    if (seen) {
        buf_printf(&b, "seen %s %llu", cls->m.name, (unsigned long long)seen);
    }
    arena_done(&a);
    char *key = buf_take(&b);
    buf_done(&b);
    return key;
}

static struct market *find(const struct cloud *c, const char *key)
{
    for (size_t i = 0; i < c->n_markets; i++) {
        if (str_eq(c->markets[i]->key, key)) {
            return c->markets[i];
        }
    }
    return NULL;
}

struct market *market_of(struct cloud *c, const struct nodeclass *cls, struct err *reterr)
{
    struct class_entry *e = class_entry(c, cls->m.name);
    thaw(c);
    stock_expire(c);
    if (!e || !e->spec || e->generation != cls->m.generation) {
        err_set(reterr, ERR_UNAVAILABLE, "EC2NodeClass %s is being looked at", cls->m.name);
        return NULL;
    }
    /* Else their instances would be bought once more. */
    if (reserve_selected(c, e->spec) && !e->res.have[PART_RESERVATIONS] &&
        e->res.err[PART_RESERVATIONS].kind == ERR_NONE) {
        err_set(reterr, ERR_UNAVAILABLE,
                "capacity reservations of EC2NodeClass %s are being looked at", cls->m.name);
        return NULL;
    }
    char *key = key_of(c, cls, e->spec);
    if (!e->market || !str_eq(e->market->key, key)) {
        struct market *m = find(c, key);
        m = m ? market_ref(m) : market_new(c, cls, e->spec, reterr);
        if (!m) {
            free(key);
            return NULL;
        }
        if (m->refs == 0) {
            m->refs = 1;
            m->key = key;
            key = NULL;
            ARRAY_GROW(c->markets, c->n_markets, c->cap_markets);
            c->markets[c->n_markets++] = m;
        }
        if (e->market) {
            market_unref(c, e->market);
        }
        e->market = m;
    }
    free(key);
    bring_up_to_date(c, e->market);
    return e->market;
}

/* ---- pools -------------------------------------------------------------------------------------
 */

static void close_pool(struct snapshot_pool_in *p, enum reason_code code, const char *text)
{
    p->closed = code;
    p->closed_text = text;
}

static void fill_pool(struct cloud *c, struct arena *a, const struct nodepool *np,
                      struct snapshot_pool_in *p)
{
    const char *why;
    bool unknown;
    struct err err = ERR_INIT;
    const struct nodeclass *cls = store_class(c->rt->store, np->class_ref.name);
    *p = (struct snapshot_pool_in){.pool = np, .cls = cls, .max_new_nodes = -1};
    struct market *m = cls ? market_of(c, cls, &err) : NULL;
    if (m) {
        p->catalog = m->catalog;
        p->offerings = m->offerings;
    }
    if (!cls) {
        close_pool(p, REASON_PoolNotReady,
                   arena_printf(a, "EC2NodeClass %s not found", np->class_ref.name));
    } else if (cls->m.deleted_ns) {
        close_pool(p, REASON_PoolNotReady,
                   arena_printf(a, "EC2NodeClass %s is being deleted", cls->m.name));
    } else if (np->unknown_field || cls->unknown_field) {
        const char *field = np->unknown_field ? np->unknown_field : cls->unknown_field;
        close_pool(p, REASON_UnknownFields, arena_strdup(a, field));
    } else if (!class_usable(cls, &why, &unknown)) {
        close_pool(p, REASON_PoolNotReady, arena_strdup(a, why));
    } else if (!m) {
        close_pool(p, REASON_PoolNotReady, arena_strdup(a, err.msg));
    } else if (!cloud_ready(c)) {
        close_pool(p, REASON_CloudError, "EC2's facts are not there yet");
    }
}

void cloud_pools(struct cloud *c, struct arena *a, struct snapshot_in *ret)
{
    const struct map *pools = store_all(c->rt->store, STORE_POOL);
    struct snapshot_pool_in *v = ARENA_NEW_N(a, struct snapshot_pool_in, map_count(pools));
    uint32_t n = 0;
    for (MAP_EACH(pools, e)) {
        const struct nodepool *np = map_value(e);
        if (store_ours(&np->class_ref) && !np->is_static) {
            fill_pool(c, a, np, &v[n++]);
        }
    }
    ret->pools = v;
    ret->n_pools = n;
}
