/* pricing.c - GetProducts (services.h) */
#include "services.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"

static void put_filter(json_t *filters, const char *field, const char *value)
{
    json_t *o = json_object();
    jsonx_set_new(o, "Type", json_string("TERM_MATCH"));
    jsonx_set_new(o, "Field", json_string(field));
    jsonx_set_new(o, "Value", json_string(value));
    json_array_append_new(filters, o);
}

void pricing_encode_get_products(struct buf *b, const struct pricing_query *q)
{
    AUTO_JSON json_t *o = json_object();
    json_t *filters = json_array();
    put_filter(filters, "regionCode", q->region);
    put_filter(filters, "serviceCode", "AmazonEC2");
    put_filter(filters, "preInstalledSw", "NA");
    put_filter(filters, "operatingSystem", "Linux");
    put_filter(filters, "capacitystatus", "Used");
    put_filter(filters, "marketoption", "OnDemand");
    put_filter(filters, "tenancy", q->metal ? "Dedicated" : "Shared");
    put_filter(filters, "productFamily",
               q->metal ? "Compute Instance (bare metal)" : "Compute Instance");
    jsonx_set_new(o, "ServiceCode", json_string("AmazonEC2"));
    jsonx_set_new(o, "Filters", filters);
    jsonx_set_new(o, "MaxResults", json_integer(PRICING_PAGE));
    if (q->next_token) {
        jsonx_set_new(o, "NextToken", json_string(q->next_token));
    }
    char *text = jsonx_dump(o);
    buf_puts(b, text);
    free(text);
}

/* The first hourly price above zero of the product's on-demand terms. */
static bool find_price(const json_t *product, const char *currency, int64_t *ret_pusd_h)
{
    const char *sku, *id;
    json_t *term, *dimension;
    json_object_foreach (jsonx_obj(product, "terms.OnDemand"), sku, term) {
        json_object_foreach (jsonx_obj(term, "priceDimensions"), id, dimension) {
            const char *text = jsonx_str(jsonx_obj(dimension, "pricePerUnit"), currency);
            if (str_eq(jsonx_str_or(dimension, "unit", "Hrs"), "Hrs") &&
                price_parse(text, ret_pusd_h) && *ret_pusd_h > 0) {
                return true;
            }
        }
    }
    return false;
}

static bool report(const char *text, const char *currency, pricing_row_fn row, void *arg)
{
    AUTO_JSON json_t *product = jsonx_parse(text, strlen(text), "price list", NULL);
    const char *type = jsonx_str(product, "product.attributes.instanceType");
    int64_t price;
    if (!type || !*type || !find_price(product, currency, &price)) {
        return false;
    }
    row(arg, type, price);
    return true;
}

int pricing_parse_get_products(struct arena *a, const char *region, const char *body, size_t n,
                               pricing_row_fn row, void *arg, struct pricing_page *ret,
                               struct err *reterr)
{
    AUTO_JSON json_t *o = jsonx_parse(body, n, "GetProducts", reterr);
    if (!o) {
        return -1;
    }
    const json_t *list = jsonx_arr(o, "PriceList");
    if (!list) {
        return err_set(reterr, ERR_INVALID, "GetProducts: the answer has no PriceList");
    }
    const char *currency = str_starts(region, "cn-") ? "CNY" : "USD";
    struct pricing_page page = {0};
    size_t i;
    json_t *item;
    json_array_foreach (list, i, item) {
        const char *text = json_string_value(item);
        if (text && report(text, currency, row, arg)) {
            page.n_rows++;
        } else {
            page.n_skipped++;
        }
    }
    const char *token = jsonx_str(o, "NextToken");
    page.next_token = token && *token ? arena_strdup(a, token) : NULL;
    *ret = page;
    return 0;
}
