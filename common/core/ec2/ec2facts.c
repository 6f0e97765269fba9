/* ec2facts.c - looking things up in the generated table, see ec2type.h and ec2table.h */
#include "ec2table.h"

#include "common/base/str.h"

_Static_assert(EC2_TABLE_ZONES_MAX <= 16, "ec2_table_region.offered has 16 bits per type");

static int fact_cmp(const void *key, const void *entry)
{
    const struct ec2_fact *f = entry;
    return str_cmp(key, f->name);
}

int ec2_find_fact(const char *type)
{
    if (!type) {
        return -1;
    }
    const struct ec2_fact *f = bsearch(type, ec2_facts, ec2_facts_n, sizeof(*f), fact_cmp);
    return f ? (int)(f - ec2_facts) : -1;
}

static int price_cmp(const void *key, const void *entry)
{
    const struct ec2_table_price *p = entry;
    return str_cmp(key, p->name);
}

int64_t ec2_builtin_price(const char *type)
{
    int i = ec2_find_fact(type);
    if (i >= 0) {
        return ec2_table_prices[i];
    }
    if (!type) {
        return PRICE_UNKNOWN;
    }
    const struct ec2_table_price *p =
        bsearch(type, ec2_table_other_prices, ec2_table_other_prices_n, sizeof(*p), price_cmp);
    return p ? p->price_pusd_h : PRICE_UNKNOWN;
}

static const struct ec2_table_region *find_region(const char *region)
{
    for (uint32_t i = 0; i < ec2_table_regions_n; i++) {
        if (str_eq(ec2_table_regions[i].name, region)) {
            return &ec2_table_regions[i];
        }
    }
    return NULL;
}

const char *const *ec2_builtin_zones(const char *region)
{
    const struct ec2_table_region *r = find_region(region);
    return r ? r->zones : NULL;
}

uint64_t ec2_builtin_offered(const char *region, const char *type)
{
    const struct ec2_table_region *r = find_region(region);
    int i = ec2_find_fact(type);
    return r && i >= 0 ? r->offered[i] : 0;
}
