/* facts.c - which types EC2 offers in which zones, and what they cost; see cloud_int.h. */
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/str.h"

void facts_init(struct cloud *c)
{
    struct facts *f = &c->facts;
    f->offered = NEW_N(uint64_t, ec2_facts_n);
    f->spot_seen = NEW_N(uint64_t, ec2_facts_n);
    f->on_demand = NEW_N(int64_t, ec2_facts_n);
    f->told = NEW_N(int64_t, ec2_facts_n);
    f->suspect = NEW_N(int64_t, ec2_facts_n);
    for (uint32_t i = 0; i < ec2_facts_n; i++) {
        f->on_demand[i] = ec2_builtin_price(ec2_facts[i].name);
    }
    f->version = 1;
    stock_init(f);
}

void facts_done(struct cloud *c)
{
    struct facts *f = &c->facts;
    for (uint32_t i = 0; i < f->n_zones; i++) {
        free(f->zones[i]);
    }
    free(f->offered);
    free(f->spot_seen);
    free(f->on_demand);
    free(f->told);
    free(f->suspect);
    free(f->spot);
    stock_done(f);
}

bool facts_ready(const struct cloud *c)
{
    const struct facts *f = &c->facts;
    if (!f->offerings_known) {
        return false;
    }
    bool impatient = cloud_mono(c) - f->started_ns >= FACTS_PATIENCE_NS;
    return impatient || (f->spot_tried && f->prices_tried);
}

int facts_zone(const struct facts *f, const char *zone)
{
    for (uint32_t i = 0; i < f->n_zones; i++) {
        if (str_eq(f->zones[i], zone)) {
            return (int)i;
        }
    }
    return -1;
}

/* Prices keep their zone when the list of zones changes. */
static void move_spot(struct facts *f, char **zones, uint32_t n_zones)
{
    int64_t *spot = NEW_N(int64_t, (size_t)ec2_facts_n * n_zones);
    uint64_t *seen = NEW_N(uint64_t, ec2_facts_n);
    for (uint32_t z = 0; z < n_zones; z++) {
        int old = facts_zone(f, zones[z]);
        for (uint32_t t = 0; t < ec2_facts_n; t++) {
            spot[facts_place(t, z)] =
                old < 0 ? PRICE_UNKNOWN : f->spot[facts_place(t, (uint32_t)old)];
            seen[t] |= old < 0 ? 0 : ((f->spot_seen[t] >> old) & 1) << z;
        }
    }
    free(f->spot);
    free(f->spot_seen);
    f->spot = spot;
    f->spot_seen = seen;
}

void facts_set_offered(struct facts *f, char **zones, uint32_t n_zones, uint64_t *offered)
{
    move_spot(f, zones, n_zones);
    for (uint32_t i = 0; i < f->n_zones; i++) {
        free(f->zones[i]);
    }
    for (uint32_t i = 0; i < n_zones; i++) {
        f->zones[i] = zones[i];
    }
    f->n_zones = n_zones;
    free(f->offered);
    f->offered = offered;
    f->offerings_known = true;
    f->version++;
}

/* Until EC2 has told a type's prices, a guess; after that a zone it did not name has none
 * (no price, no offering). */
static int64_t spot_price(const struct facts *f, int type, int zone)
{
    int64_t known = f->spot[facts_place((uint32_t)type, (uint32_t)zone)];
    if (known != PRICE_UNKNOWN || f->spot_seen[type]) {
        return known;
    }
    int64_t on_demand = f->on_demand[type];
    return on_demand == PRICE_UNKNOWN ? PRICE_UNKNOWN : on_demand / 100 * SPOT_GUESS_PERCENT;
}

int64_t facts_price(const struct facts *f, int type, int zone, enum capacity_type ct)
{
    if (type < 0 || zone < 0 || !((f->offered[type] >> zone) & 1)) {
        return PRICE_UNKNOWN;
    }
    if (ct == CT_ON_DEMAND && ec2_facts[type].on_demand) {
        return f->on_demand[type];
    }
    return ct == CT_SPOT && ec2_facts[type].spot ? spot_price(f, type, zone) : PRICE_UNKNOWN;
}

int64_t cloud_price(struct cloud *c, const char *type, const char *zone, enum capacity_type ct)
{
    int fact = type ? ec2_find_fact(type) : -1;
    return facts_price(&c->facts, fact, zone ? facts_zone(&c->facts, zone) : -1, ct);
}
