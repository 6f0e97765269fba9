/*
 * ec2_market.c - prices, offerings and stock.
 *
 * A type is offered in a zone at a price; where EC2 has no price there is no offering. Stock is
 * endless until an outOfCapacity rule matches.
 */
#include "ec2_priv.h"

static bool type_wanted(const struct simec2 *e, const char *type)
{
    const char *const *globs = e->opts.types;
    for (size_t i = 0; globs && globs[i]; i++) {
        if (str_glob(globs[i], type)) {
            return true;
        }
    }
    return !globs;
}

void simec2_market_init(struct simec2 *e)
{
    e->offers = ARENA_NEW_N(&e->mem, struct simec2_offer, ec2_facts_n);
    int64_t *spot = ARENA_NEW_N(&e->mem, int64_t, (size_t)ec2_facts_n * e->n_zones);
    for (uint32_t i = 0; i < ec2_facts_n; i++) {
        const struct ec2_fact *f = &ec2_facts[i];
        struct simec2_offer *o = &e->offers[i];
        o->wanted = type_wanted(e, f->name);
        o->zones = ec2_builtin_offered(e->opts.region, f->name);
        int64_t price = ec2_builtin_price(f->name);
        o->on_demand = f->on_demand ? price : PRICE_UNKNOWN;
        o->spot = spot + (size_t)i * e->n_zones;
        for (uint32_t z = 0; z < e->n_zones; z++) {
            o->spot[z] = f->spot && price > 0 ? price * 4 / 10 : PRICE_UNKNOWN;
        }
    }
}

int64_t simec2_offer_price(const struct simec2 *e, int fact, uint32_t zone, bool spot)
{
    const struct simec2_offer *o = &e->offers[fact];
    if (!o->wanted || !(o->zones >> zone & 1)) {
        return PRICE_UNKNOWN;
    }
    return spot ? o->spot[zone] : o->on_demand;
}

bool simec2_offered(const struct simec2 *e, int fact, uint32_t zone, bool spot)
{
    return simec2_offer_price(e, fact, zone, spot) > 0;
}

int64_t simec2_price(const struct simec2 *e, const char *type, const char *zone, bool spot)
{
    int fact = ec2_find_fact(type), z = simec2_zone_no(e, zone);
    return fact < 0 || z < 0 ? PRICE_UNKNOWN : simec2_offer_price(e, fact, (uint32_t)z, spot);
}

/* ---- stock ---------------------------------------------------------------------------------- */

static bool matches(const struct simec2 *e, const struct simec2_stockout *s, int fact,
                    uint32_t zone, bool spot)
{
    return simec2_mono(e) < s->until_ns &&
           str_glob(s->capacity_type, spot ? "spot" : "on-demand") &&
           str_glob(s->type, ec2_facts[fact].name) && str_glob(s->zone, e->zones[zone]);
}

bool simec2_in_stock(const struct simec2 *e, int fact, uint32_t zone, bool spot)
{
    for (size_t i = 0; i < e->n_stockouts; i++) {
        if (e->stockouts[i].left <= 0 && matches(e, &e->stockouts[i], fact, zone, spot)) {
            return false;
        }
    }
    return true;
}

bool simec2_can_launch(const struct simec2 *e, const char *type, const char *zone, bool spot)
{
    int fact = ec2_find_fact(type), z = simec2_zone_no(e, zone);
    for (size_t i = 0; i < e->n_rules; i++) {
        if (e->rules[i].until_ns > simec2_mono(e)) {
            return false;
        }
    }
    return fact >= 0 && z >= 0 && simec2_offered(e, fact, (uint32_t)z, spot) &&
           simec2_in_stock(e, fact, (uint32_t)z, spot) && !simec2_over_quota(e, fact, spot);
}

void simec2_stock_take(struct simec2 *e, int fact, uint32_t zone, bool spot)
{
    for (size_t i = 0; i < e->n_stockouts; i++) {
        if (matches(e, &e->stockouts[i], fact, zone, spot)) {
            e->stockouts[i].left--;
        }
    }
}

void simec2_stockout_done(struct simec2_stockout *s)
{
    free(s->capacity_type);
    free(s->type);
    free(s->zone);
}

int64_t simec2_prices_age_ns(const struct simec2 *e)
{
    return e->prices_stepped ? simec2_wall(e) - e->prices_since_ns : NS_NEVER;
}
