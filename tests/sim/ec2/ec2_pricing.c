/*
 * ec2_pricing.c - Pricing GetProducts: products as JSON texts inside JSON, in the real shape.
 *
 * As in the price list, bare metal is found under its own product family and dedicated tenancy, the
 * rest under shared tenancy.
 */
#include "ec2_priv.h"

#define OFFER_TERM "JRTCKXETXF"
#define RATE "6YS6EN2CT7"

struct product {
    const struct ec2_fact *fact;
    const char *region;
};

static const char *attribute(const struct product *p, const char *name)
{
    bool metal = p->fact->bare_metal;
    const struct {
        const char *name, *value;
    } attrs[] = {
        {"regionCode", p->region},
        {"serviceCode", "AmazonEC2"},
        {"servicecode", "AmazonEC2"},
        {"preInstalledSw", "NA"},
        {"operatingSystem", "Linux"},
        {"capacitystatus", "Used"},
        {"marketoption", "OnDemand"},
        {"tenancy", metal ? "Dedicated" : "Shared"},
        {"productFamily", metal ? "Compute Instance (bare metal)" : "Compute Instance"},
        {"instanceType", p->fact->name},
    };
    for (size_t i = 0; i < ARRAY_LEN(attrs); i++) {
        if (str_eq(attrs[i].name, name)) {
            return attrs[i].value;
        }
    }
    return NULL;
}

static bool filters_ok(struct simec2_call *c)
{
    const json_t *filters = jsonx_arr(c->json, "Filters");
    size_t i;
    json_t *f;
    json_array_foreach ((json_t *)filters, i, f) {
        if (!str_eq(jsonx_str(f, "Type"), "TERM_MATCH") || !jsonx_str(f, "Field") ||
            !jsonx_str(f, "Value")) {
            simec2_fail(c, "InvalidParameterException", "Input Parameters are invalid. Filter %zu",
                        i + 1);
            return false;
        }
    }
    return true;
}

static bool matches(const struct simec2_call *c, const struct product *p)
{
    const json_t *filters = jsonx_arr(c->json, "Filters");
    size_t i;
    json_t *f;
    json_array_foreach ((json_t *)filters, i, f) {
        if (!str_eq(attribute(p, jsonx_str(f, "Field")), jsonx_str(f, "Value"))) {
            return false;
        }
    }
    return true;
}

static json_t *attributes(const struct product *p)
{
    static const char *const shown[] = {"regionCode",      "servicecode",    "preInstalledSw",
                                        "operatingSystem", "capacitystatus", "marketoption",
                                        "tenancy",         "instanceType"};
    json_t *o = json_object();
    for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
        json_object_set_new(o, shown[i], json_string(attribute(p, shown[i])));
    }
    json_object_set_new(o, "vcpu", json_sprintf("%d", p->fact->vcpus));
    return o;
}

/* {SKU.TERM: {…, priceDimensions: {SKU.TERM.RATE: {…}}}} */
static json_t *terms(const struct simec2 *e, const struct product *p, const char *sku)
{
    int64_t price = e->offers[p->fact - ec2_facts].on_demand;
    char dollars[40], since[TIMEFMT_TEXT];
    simec2_dollars(price, 10, dollars);
    timefmt_rfc3339(e->prices_since_ns, since);
    json_t *rate =
        json_pack("{s:s, s:s, s:s, s:{s:s}, s:s+}", "unit", "Hrs", "beginRange", "0", "endRange",
                  "Inf", "pricePerUnit", str_starts(p->region, "cn-") ? "CNY" : "USD", dollars,
                  "rateCode", sku, "." OFFER_TERM "." RATE);
    json_t *rates = json_object(), *offer = json_object();
    AUTO_FREE char *rate_key = xasprintf("%s." OFFER_TERM "." RATE, sku);
    AUTO_FREE char *offer_key = xasprintf("%s." OFFER_TERM, sku);
    json_object_set_new(rates, rate_key, rate);
    json_object_set_new(offer, offer_key,
                        json_pack("{s:o, s:s, s:s, s:s, s:{}}", "priceDimensions", rates, "sku",
                                  sku, "effectiveDate", since, "offerTermCode", OFFER_TERM,
                                  "termAttributes"));
    return json_pack("{s:o}", "OnDemand", offer);
}

/* A JSON string that holds JSON, made once per price. */
static const char *product_text(struct simec2 *e, const struct product *p)
{
    struct simec2_offer *offer = &e->offers[p->fact - ec2_facts];
    char sku[24];
    if (offer->product && offer->product_of == offer->on_demand &&
        offer->product_since_ns == e->prices_since_ns) {
        return offer->product;
    }
    snprintf(sku, sizeof(sku), "SKU%013zu", (size_t)(p->fact - ec2_facts));
    AUTO_JSON json_t *o =
        json_pack("{s:{s:s, s:o, s:s}, s:s, s:o, s:s}", "product", "productFamily",
                  attribute(p, "productFamily"), "attributes", attributes(p), "sku", sku,
                  "serviceCode", "AmazonEC2", "terms", terms(e, p, sku), "version", "20260101");
    AUTO_FREE char *text = jsonx_dump(o);
    AUTO_JSON json_t *quoted = json_string(text);
    free(offer->product);
    offer->product = jsonx_dump(quoted);
    offer->product_of = offer->on_demand;
    offer->product_since_ns = e->prices_since_ns;
    return offer->product;
}

void simec2_get_products(struct simec2_call *c)
{
    struct simec2 *e = c->e;
    struct simec2_page page;
    if (!str_eq(jsonx_str(c->json, "ServiceCode"), "AmazonEC2")) {
        simec2_fail(c, "InvalidParameterException", "ServiceCode must be AmazonEC2");
        return;
    }
    if (!filters_ok(c) || !simec2_page_json(c, 100, 100, &page)) {
        return;
    }
    uint64_t i = page.from, n = 0;
    buf_puts(&c->out, "{\"FormatVersion\":\"aws_v1\",\"PriceList\":[");
    for (; i < ec2_facts_n && n < page.limit; i++) {
        struct product p = {&ec2_facts[i], e->opts.region};
        if (e->offers[i].on_demand > 0 && e->offers[i].wanted && matches(c, &p)) {
            buf_puts(&c->out, n++ > 0 ? "," : "");
            buf_puts(&c->out, product_text(e, &p));
        }
    }
    buf_putc(&c->out, ']');
    if (i < ec2_facts_n) {
        AUTO_JSON json_t *token = json_string(simec2_page_token(c, i));
        AUTO_FREE char *text = jsonx_dump(token);
        buf_puts(&c->out, ",\"NextToken\":");
        buf_puts(&c->out, text);
    }
    buf_putc(&c->out, '}');
}
