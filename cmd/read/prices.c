/* prices.c - see prices.h. */
#include "prices.h"

#include "cmd/status/money.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "input.h"

enum source { SOURCE_BUILTIN, SOURCE_FILE, SOURCE_PUBLISHED, SOURCE_CATALOG };

struct prices {
    struct arena mem;
    const struct symtab *syms;
    const struct types *types;
    enum source source;
    const char *region, *file;
    int64_t as_of_ns;
    bool has_spot;
    struct map *on_demand, *spot; /* "type", "type zone" → int64_t * in mem */
    struct map *offered;          /* "type zone"; NULL: not said */
    const char **zones;
    size_t n_zones, cap_zones;
};

/* ---- reading the file ------------------------------------------------------------------------ */

static int put_price(struct prices *p, struct map *m, const char *key, const json_t *v,
                     struct err *reterr)
{
    int64_t *slot = ARENA_NEW(&p->mem, int64_t);
    bool full = false;
    if (!money_read(v, slot)) {
        return err_set(reterr, ERR_INVALID, "%s: the price is not an amount of dollars", key);
    }
    (void)map_put(m, key, slot, &full);
    return full ? err_set(reterr, ERR_LIMIT, "more than %u prices", PRICES_MAX) : 0;
}

static int read_on_demand(struct prices *p, const json_t *root, struct err *reterr)
{
    const char *type;
    json_t *v;
    const json_t *o = json_object_get(root, "onDemand");
    if (o && !json_is_object(o)) {
        return err_set(reterr, ERR_INVALID, "onDemand: not an object");
    }
    json_object_foreach ((json_t *)(uintptr_t)o, type, v) {
        if (put_price(p, p->on_demand, type, v, reterr) != 0) {
            return err_wrap(reterr, "onDemand");
        }
    }
    return 0;
}

static void add_zone(struct prices *p, const char *zone)
{
    for (size_t i = 0; i < p->n_zones; i++) {
        if (str_eq(p->zones[i], zone)) {
            return;
        }
    }
    ARENA_GROW(&p->mem, p->zones, p->n_zones, p->cap_zones);
    p->zones[p->n_zones++] = arena_strdup(&p->mem, zone);
}

static int read_spot_type(struct prices *p, const char *type, const json_t *zones,
                          struct err *reterr)
{
    const char *zone;
    json_t *v;
    if (!json_is_object(zones)) {
        return err_set(reterr, ERR_INVALID, "spot: %s: not an object of zones", type);
    }
    json_object_foreach ((json_t *)(uintptr_t)zones, zone, v) {
        const char *key = arena_printf(&p->mem, "%s %s", type, zone);
        if (put_price(p, p->spot, key, v, reterr) != 0) {
            return err_wrap(reterr, "spot");
        }
        add_zone(p, zone);
        if (p->n_zones > CATALOG_MAX_ZONES) {
            return err_set(reterr, ERR_LIMIT, "spot: more than %d zones", CATALOG_MAX_ZONES);
        }
    }
    return 0;
}

static int read_spot(struct prices *p, const json_t *root, struct err *reterr)
{
    const char *type;
    json_t *v;
    const json_t *o = json_object_get(root, "spot");
    if (!o || json_is_null(o)) {
        return 0;
    }
    if (!json_is_object(o)) {
        return err_set(reterr, ERR_INVALID, "spot: not an object");
    }
    p->has_spot = true;
    json_object_foreach ((json_t *)(uintptr_t)o, type, v) {
        if (read_spot_type(p, type, v, reterr) != 0) {
            return -1;
        }
    }
    return 0;
}

static int read_zones_of(struct prices *p, const char *type, const json_t *zones,
                         struct err *reterr)
{
    size_t i;
    json_t *zone;
    bool full = false;
    json_array_foreach (zones, i, zone) {
        if (json_is_string(zone)) {
            const char *name = json_string_value(zone);
            (void)map_put(p->offered, arena_printf(&p->mem, "%s %s", type, name), p, &full);
            add_zone(p, name);
        }
    }
    return full || p->n_zones > CATALOG_MAX_ZONES
               ? err_set(reterr, ERR_LIMIT, "zones: more than can be read")
               : 0;
}

static int read_zones(struct prices *p, const json_t *root, struct err *reterr)
{
    const char *type;
    json_t *v;
    const json_t *o = jsonx_obj(root, "zones");
    if (!o) {
        return 0;
    }
    p->offered = map_new(PRICES_MAX);
    json_object_foreach ((json_t *)(uintptr_t)o, type, v) {
        if (read_zones_of(p, type, v, reterr) != 0) {
            return -1;
        }
    }
    return 0;
}

static int read_root(struct prices *p, const json_t *root, struct err *reterr)
{
    const char *as_of = jsonx_str(root, "asOf");
    if (!json_is_object(root) ||
        (!json_object_get(root, "onDemand") && !json_object_get(root, "spot"))) {
        return err_set(reterr, ERR_INVALID, "no price list: neither onDemand nor spot is there");
    }
    if (json_object_get(root, "asOf") && (!as_of || !timefmt_parse_rfc3339(as_of, &p->as_of_ns))) {
        return err_set(reterr, ERR_INVALID, "asOf: not an RFC 3339 time");
    }
    if (json_object_get(root, "region") && !jsonx_str(root, "region")) {
        return err_set(reterr, ERR_INVALID, "region: not a string");
    }
    p->region = arena_strdup(&p->mem, jsonx_str(root, "region"));
    if (read_on_demand(p, root, reterr) || read_spot(p, root, reterr) ||
        read_zones(p, root, reterr)) {
        return -1;
    }
    if (p->n_zones > 1) {
        qsort(p->zones, p->n_zones, sizeof(*p->zones), str_qsort_cmp);
    }
    return 0;
}

static void begin_maps(struct prices *p, enum source source)
{
    p->source = source;
    p->on_demand = map_new(PRICES_MAX);
    p->spot = map_new(PRICES_MAX);
    p->as_of_ns = 0;
    p->has_spot = false;
}

static int read_file(struct prices *p, const char *path, struct err *reterr)
{
    AUTO_JSON json_t *root = input_json(path, reterr);
    if (!root) {
        return -1;
    }
    begin_maps(p, SOURCE_FILE);
    p->file = arena_strdup(&p->mem, path);
    return read_root(p, root, reterr) ? err_wrap(reterr, "%s", path) : 0;
}

/* ---- region ---------------------------------------------------------------------------------- */

static int choose_region(struct prices *p, const struct prices_in *in, struct err *reterr)
{
    if (in->region && *in->region) {
        p->region = arena_strdup(&p->mem, in->region);
        return 0;
    }
    if (in->n_node_regions > 1) {
        return err_set(reterr, ERR_INVALID, "nodes are in %s and in %s: say which with --region",
                       in->node_regions[0], in->node_regions[1]);
    }
    const char *of_nodes = in->n_node_regions ? in->node_regions[0] : NULL;
    if (p->region && of_nodes && !str_eq(p->region, of_nodes)) {
        return err_set(reterr, ERR_INVALID,
                       "the prices are of %s, the nodes are in %s: say which with --region",
                       p->region, of_nodes);
    }
    if (!p->region) {
        p->region = arena_strdup(&p->mem, of_nodes ? of_nodes : PRICES_REGION_DEFAULT);
    }
    return 0;
}

/* Of this region, as far as that is known. */
static bool is_here(const struct prices_in *in)
{
    const char *region = jsonx_str(in->published, "region");
    const char *here = in->region && *in->region ? in->region
                       : in->n_node_regions == 1 ? in->node_regions[0]
                                                 : NULL;
    return region && (!here || str_eq(region, here));
}

static int read_published(struct prices *p, const struct prices_in *in, struct err *reterr)
{
    begin_maps(p, SOURCE_PUBLISHED);
    if (read_root(p, in->published, reterr) != 0) {
        return err_wrap(reterr, "what karp-agent has published");
    }
    p->as_of_ns = in->published_ns;
    return 0;
}

static int read_source(struct prices *p, const struct prices_in *in, struct err *reterr)
{
    if (in->types && in->types->catalog) {
        p->source = SOURCE_CATALOG;
        p->has_spot = true;
    } else {
        p->as_of_ns = ec2_prices_as_of_ns;
    }
    if (in->file) {
        p->as_of_ns = 0;
        p->has_spot = false;
        return read_file(p, in->file, reterr);
    }
    bool published = in->published && is_here(in) && p->source != SOURCE_CATALOG;
    return published ? read_published(p, in, reterr) : 0;
}

struct prices *prices_new(const struct prices_in *in, struct err *reterr)
{
    struct prices *p = NEW(struct prices);
    arena_init(&p->mem, 0, SIZE_MAX);
    p->syms = in->syms;
    p->types = in->types;
    if (read_source(p, in, reterr) != 0 || choose_region(p, in, reterr) != 0) {
        prices_free(p);
        return NULL;
    }
    return p;
}

void prices_free(struct prices *p)
{
    if (!p) {
        return;
    }
    map_free(p->on_demand);
    map_free(p->spot);
    map_free(p->offered);
    arena_done(&p->mem);
    free(p);
}

const char *prices_region(const struct prices *p)
{
    return p->region;
}

/* ---- looking up ------------------------------------------------------------------------------ */

static int64_t from_catalog(const struct prices *p, const char *type, const char *zone,
                            enum capacity_type ct)
{
    const struct catalog *c = p->types->catalog;
    int t = catalog_find_type(c, sym_find(p->syms, type));
    int z = catalog_find_zone(c, sym_find(p->syms, zone));
    return t < 0 || z < 0 ? PRICE_UNKNOWN
                          : offerings_price(p->types->offerings, (uint32_t)t, (uint32_t)z, ct);
}

static int64_t from_map(const struct map *m, const char *key)
{
    const int64_t *v = map_get(m, key);
    return v ? *v : PRICE_UNKNOWN;
}

static bool from_maps(const struct prices *p)
{
    return p->source == SOURCE_FILE || p->source == SOURCE_PUBLISHED;
}

static int64_t on_demand(const struct prices *p, const char *type, bool *ret_estimated)
{
    if (from_maps(p)) {
        return from_map(p->on_demand, type);
    }
    int64_t v = ec2_builtin_price(type);
    if (v != PRICE_UNKNOWN && ret_estimated && !str_eq(p->region, PRICES_REGION_DEFAULT)) {
        *ret_estimated = true;
    }
    return v;
}

static int64_t spot(const struct prices *p, const char *type, const char *zone, bool *ret_estimated)
{
    if (p->has_spot) {
        char key[512];
        (void)snprintf(key, sizeof(key), "%s %s", type, zone);
        return from_map(p->spot, key);
    }
    int64_t v = on_demand(p, type, ret_estimated);
    if (v != PRICE_UNKNOWN && ret_estimated) {
        *ret_estimated = true;
    }
    return v == PRICE_UNKNOWN ? v : v / 5 * 2 + v % 5 * 2 / 5;
}

int64_t prices_of(const struct prices *p, const char *type, const char *zone, enum capacity_type ct,
                  bool *ret_estimated)
{
    if (!type || !*type || ct == CT_COUNT) {
        return PRICE_UNKNOWN;
    }
    if (ct == CT_RESERVED) {
        return 0;
    }
    if (p->source == SOURCE_CATALOG) {
        return zone ? from_catalog(p, type, zone, ct) : PRICE_UNKNOWN;
    }
    return ct == CT_SPOT ? spot(p, type, zone ? zone : "", ret_estimated)
                         : on_demand(p, type, ret_estimated);
}

int64_t prices_on_demand_as_of(const struct prices *p)
{
    return p->as_of_ns;
}

int64_t prices_spot_as_of(const struct prices *p)
{
    return p->has_spot ? p->as_of_ns : 0;
}

bool prices_stale(const struct prices *p, int64_t now_ns)
{
    return prices_made_ns(p) != 0 && now_ns - p->as_of_ns > PRICES_STALE_NS;
}

int64_t prices_made_ns(const struct prices *p)
{
    return from_maps(p) ? p->as_of_ns : 0;
}

const char *const *prices_zones(const struct prices *p, size_t *ret_n)
{
    *ret_n = p->n_zones;
    return p->zones;
}

bool prices_offered(const struct prices *p, const char *type, const char *zone, bool *ret_known)
{
    char key[512];
    (void)snprintf(key, sizeof(key), "%s %s", type, zone);
    *ret_known = p->offered != NULL;
    return p->offered && map_has(p->offered, key);
}

void prices_source(const struct prices *p, struct buf *out)
{
    char day[TIMEFMT_TEXT] = "";
    if (p->as_of_ns != 0) {
        (void)timefmt_rfc3339(p->as_of_ns, day);
        day[10] = '\0';
    }
    if (p->source == SOURCE_CATALOG) {
        buf_puts(out, "those of the catalog file");
        return;
    }
    if (p->source == SOURCE_FILE) {
        buf_printf(out, "%s%s%s", p->file, *day ? " of " : "", day);
    } else if (p->source == SOURCE_PUBLISHED) {
        buf_printf(out, "those that karp-agent has published%s%s", *day ? ", of " : "", day);
    } else {
        bool own = str_eq(p->region, PRICES_REGION_DEFAULT);
        buf_printf(out, "AWS list %s %s", day, own ? "(on-demand)" : "of us-east-1");
    }
    if (!p->has_spot) {
        buf_puts(out, ", spot ~40% of it");
    }
}
