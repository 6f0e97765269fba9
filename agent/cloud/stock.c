/*
 * stock.c - what EC2 said it does not have, remembered for a while.
 *
 * Three minutes as Karpenter; ours: an offering that is sold out again soon after it came back is
 * left alone twice as long, up to half an hour.
 *
 * A used up vCPU quota is no stock-out of one type: as large ones and larger of all families that
 * share the quota are left alone, for three minutes each time. It is not published: whoever comes
 * next finds out with one call.
 */
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/str.h"

#define STOCK_KEY_MAX 256

static const char *ct_name(enum capacity_type ct)
{
    return ct == CT_SPOT ? "spot" : ct == CT_ON_DEMAND ? "on-demand" : "reserved";
}

void stock_init(struct facts *f)
{
    f->stock = map_new(STOCKOUTS_MAX);
    f->full_subnets = map_new(STOCKOUTS_MAX);
    f->next_expiry_ns = NS_NEVER;
}

static void stock_free(struct stock *s)
{
    if (s) {
        free(s->type);
        free(s->zone);
        free(s->code);
        free(s);
    }
}

void stock_done(struct facts *f)
{
    for (MAP_EACH(f->stock, e)) {
        stock_free(map_value(e));
    }
    for (MAP_EACH(f->full_subnets, e)) {
        stock_free(map_value(e));
    }
    map_free(f->stock);
    map_free(f->full_subnets);
}

/* ---- quotas ------------------------------------------------------------------------------------
 */

bool stock_is_quota(const char *code)
{
    return str_eq(code, "VcpuLimitExceeded") || str_eq(code, "MaxSpotInstanceCountExceeded");
}

/* EC2's service quotas by what stands before the generation in a type's name. */
static const char *quota_group(const char *type)
{
    static const struct {
        const char *family, *group;
    } rows[] = {{"a", "standard"},  {"c", "standard"},  {"d", "standard"},  {"h", "standard"},
                {"i", "standard"},  {"im", "standard"}, {"is", "standard"}, {"m", "standard"},
                {"r", "standard"},  {"t", "standard"},  {"z", "standard"},  {"g", "g and vt"},
                {"gr", "g and vt"}, {"vt", "g and vt"}, {"p", "p"},         {"f", "f"},
                {"x", "x"},         {"inf", "inf"},     {"trn", "trn"},     {"dl", "dl"},
                {"hpc", "hpc"}};
    size_t n = strcspn(type, "0123456789-.");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strlen(rows[i].family) == n && strncmp(rows[i].family, type, n) == 0) {
            return rows[i].group;
        }
    }
    return "others";
}

bool stock_quota_covers(const struct stock *s, const struct ec2_fact *f)
{
    return f->vcpus >= s->quota_vcpus && str_eq(quota_group(f->name), s->quota_group);
}

bool stock_holds(const struct cloud *c, const struct stock *s)
{
    return s->until_ns > cloud_mono(c);
}

static void forget_old(const struct cloud *c, struct map *m)
{
    int64_t now_ns = cloud_mono(c);
    for (MAP_EACH(m, e)) {
        struct stock *s = map_value(e);
        if (s->until_ns + STOCKOUT_MEMORY_NS <= now_ns) {
            map_del(m, map_key(e));
            stock_free(s);
        }
    }
}

static struct stock *find_or_add(struct cloud *c, struct map *m, const char *key)
{
    struct stock *s = map_get(m, key);
    if (s && s->until_ns + STOCKOUT_MEMORY_NS > cloud_mono(c)) {
        return s;
    }
    if (map_count(m) >= STOCKOUTS_MAX) {
        forget_old(c, m);
    }
    struct stock *now = NEW(struct stock);
    bool full = false;
    stock_free(map_put(m, key, now, &full));
    if (full) {
        free(now);
        return NULL;
    }
    return now;
}

static void hold(struct cloud *c, struct stock *s, int64_t ttl_ns)
{
    s->until_ns = cloud_mono(c) + ttl_ns;
    s->until_wall_ns = cloud_wall(c) + ttl_ns;
    if (s->until_ns < c->facts.next_expiry_ns) {
        c->facts.next_expiry_ns = s->until_ns;
    }
    c->facts.version++;
}

/* Extends what still holds; what had ended comes back with twice the time. */
static void extend(struct cloud *c, struct stock *s)
{
    int64_t now_ns = cloud_mono(c), ttl_ns = STOCKOUT_NS;
    if (s->until_ns <= now_ns) {
        s->times++;
    }
    for (unsigned i = 1; i < s->times && ttl_ns < STOCKOUT_MAX_NS; i++) {
        ttl_ns *= 2;
    }
    hold(c, s, ttl_ns < STOCKOUT_MAX_NS ? ttl_ns : STOCKOUT_MAX_NS);
}

/* NULL if there are too many. */
static struct stock *stock_entry(struct cloud *c, enum capacity_type ct, const char *type,
                                 const char *zone, const char *code)
{
    char key[STOCK_KEY_MAX];
    snprintf(key, sizeof(key), "%s:%s:%s", ct_name(ct), type, zone);
    struct stock *s = find_or_add(c, c->facts.stock, key);
    if (!s) {
        return NULL;
    }
    if (!s->type) {
        s->ct = ct;
        s->type = xstrdup(type);
        s->zone = xstrdup(zone);
    }
    if (!str_eq(s->code, code)) {
        free(s->code);
        s->code = xstrdup(code ? code : "");
    }
    return s;
}

void stock_mark(struct cloud *c, enum capacity_type ct, const char *type, const char *zone,
                const char *code)
{
    struct stock *s = stock_entry(c, ct, type, zone, code);
    if (s) {
        extend(c, s);
    }
}

void cloud_stockout_mark(struct cloud *c, enum capacity_type ct, const char *type, const char *zone,
                         const char *code)
{
    stock_mark(c, ct, type, zone, code);
}

void cloud_stockout_restore(struct cloud *c, const struct stockout *o)
{
    int64_t left_ns = o->until_ns - cloud_wall(c);
    if (left_ns <= 0) {
        return;
    }
    left_ns = left_ns < STOCKOUT_MAX_NS ? left_ns : STOCKOUT_MAX_NS;
    struct stock *s = stock_entry(c, o->ct, o->type, o->zone, o->code);
    if (s && !stock_holds(c, s)) {
        s->times = 1;
        hold(c, s, left_ns);
    }
}

void stock_mark_quota(struct cloud *c, enum capacity_type ct, const struct ec2_fact *f,
                      const char *code)
{
    char type[64];
    const char *group = quota_group(f->name);
    snprintf(type, sizeof(type), "quota %s", group);
    struct stock *s = stock_entry(c, ct, type, "*", code);
    if (!s) {
        return;
    }
    if (!stock_holds(c, s) || f->vcpus < s->quota_vcpus) {
        s->quota_vcpus = f->vcpus;
    }
    s->quota_group = group;
    hold(c, s, STOCKOUT_NS);
}

void stock_mark_subnet(struct cloud *c, const char *subnet_id)
{
    struct stock *s = find_or_add(c, c->facts.full_subnets, subnet_id);
    if (s) {
        extend(c, s);
    }
}

bool stock_subnet_full(const struct cloud *c, const char *subnet_id)
{
    const struct stock *s = map_get(c->facts.full_subnets, subnet_id);
    return s && stock_holds(c, s);
}

void stock_expire(struct cloud *c)
{
    struct facts *f = &c->facts;
    int64_t now_ns = cloud_mono(c);
    if (now_ns < f->next_expiry_ns) {
        return;
    }
    f->version++;
    f->next_expiry_ns = NS_NEVER;
    struct map *maps[] = {f->stock, f->full_subnets};
    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        forget_old(c, maps[i]);
        for (MAP_EACH(maps[i], e)) {
            const struct stock *s = map_value(e);
            if (s->until_ns > now_ns && s->until_ns < f->next_expiry_ns) {
                f->next_expiry_ns = s->until_ns;
            }
        }
    }
}

static int stockout_cmp(const void *a, const void *b)
{
    const struct stockout *x = a, *y = b;
    int r = (int)x->ct - (int)y->ct;
    r = r ? r : str_cmp(x->type, y->type);
    return r ? r : str_cmp(x->zone, y->zone);
}

uint32_t cloud_stockouts(struct cloud *c, struct arena *a, const struct stockout **ret)
{
    struct stockout *v = ARENA_NEW_N(a, struct stockout, map_count(c->facts.stock));
    uint32_t n = 0;
    for (MAP_EACH(c->facts.stock, e)) {
        const struct stock *s = map_value(e);
        if (stock_holds(c, s) && !s->quota_group) {
            v[n++] = (struct stockout){.ct = s->ct,
                                       .type = arena_strdup(a, s->type),
                                       .zone = arena_strdup(a, s->zone),
                                       .code = arena_strdup(a, s->code),
                                       .until_ns = s->until_wall_ns};
        }
    }
    if (n > 0) {
        qsort(v, n, sizeof(*v), stockout_cmp);
    }
    *ret = v;
    return n;
}
