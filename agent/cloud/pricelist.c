/* pricelist.c - what EC2 offers and what it costs, as a price file of the plugin; see cloud.h. */
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/price.h"

/* Names of types are ours; the region is a flag's, zones are EC2's. */
static void put_name(struct buf *out, const char *name)
{
    AUTO_JSON json_t *o = json_string(name);
    AUTO_FREE char *text = o ? json_dumps(o, JSON_ENCODE_ANY) : NULL;
    buf_puts(out, text ? text : "\"\"");
}

static bool offered(const struct facts *f, uint32_t type, uint32_t zone)
{
    return (f->offered[type] >> zone) & 1;
}

static int64_t price_at(const struct facts *f, uint32_t type, uint32_t zone, enum capacity_type ct)
{
    return facts_price(f, (int)type, (int)zone, ct);
}

/* The price in the first zone that has the type, which is that of all. */
static int64_t on_demand(const struct facts *f, uint32_t type)
{
    for (uint32_t z = 0; z < f->n_zones; z++) {
        if (offered(f, type, z)) {
            return price_at(f, type, z, CT_ON_DEMAND);
        }
    }
    return PRICE_UNKNOWN;
}

static void put_on_demand(const struct facts *f, struct buf *out)
{
    char text[PRICE_TEXT];
    const char *comma = "";
    buf_puts(out, "\"onDemand\":{");
    for (uint32_t t = 0; t < ec2_facts_n; t++) {
        int64_t price = on_demand(f, t);
        if (price != PRICE_UNKNOWN) {
            buf_printf(out, "%s\"%s\":\"%s\"", comma, ec2_facts[t].name, price_text(price, text));
            comma = ",";
        }
    }
    buf_putc(out, '}');
}

/* Returns whether there is one at all. */
static bool put_spot_type(const struct facts *f, uint32_t t, const char *before, struct buf *out)
{
    char text[PRICE_TEXT];
    bool any = false;
    for (uint32_t z = 0; z < f->n_zones; z++) {
        int64_t price = price_at(f, t, z, CT_SPOT);
        if (price == PRICE_UNKNOWN) {
            continue;
        }
        if (!any) {
            buf_printf(out, "%s\"%s\":{", before, ec2_facts[t].name);
        }
        buf_puts(out, any ? "," : "");
        put_name(out, f->zones[z]);
        buf_printf(out, ":\"%s\"", price_text(price, text));
        any = true;
    }
    if (any) {
        buf_putc(out, '}');
    }
    return any;
}

static bool spot_known(const struct facts *f)
{
    for (uint32_t t = 0; t < ec2_facts_n; t++) {
        if (f->spot_seen[t]) {
            return true;
        }
    }
    return false;
}

static void put_spot(const struct facts *f, struct buf *out)
{
    const char *comma = "";
    if (!spot_known(f)) {
        return; /* all guesses: the plugin makes the same */
    }
    buf_puts(out, ",\"spot\":{");
    for (uint32_t t = 0; t < ec2_facts_n; t++) {
        if (put_spot_type(f, t, comma, out)) {
            comma = ",";
        }
    }
    buf_putc(out, '}');
}

static void put_zones(const struct facts *f, struct buf *out)
{
    const char *comma = "";
    buf_puts(out, ",\"zones\":{");
    for (uint32_t t = 0; t < ec2_facts_n; t++) {
        if (f->offered[t] == 0) {
            continue;
        }
        const char *next = "";
        buf_printf(out, "%s\"%s\":[", comma, ec2_facts[t].name);
        for (uint32_t z = 0; z < f->n_zones; z++) {
            if (offered(f, t, z)) {
                buf_puts(out, next);
                put_name(out, f->zones[z]);
                next = ",";
            }
        }
        buf_putc(out, ']');
        comma = ",";
    }
    buf_putc(out, '}');
}

uint64_t cloud_prices_version(const struct cloud *c)
{
    return c->facts.version;
}

bool cloud_prices(const struct cloud *c, struct buf *out)
{
    buf_puts(out, "{\"region\":");
    put_name(out, c->rt->opt->region);
    buf_putc(out, ',');
    put_on_demand(&c->facts, out);
    put_spot(&c->facts, out);
    put_zones(&c->facts, out);
    buf_putc(out, '}');
    return !out->over;
}
