/*
 * ec2table.h - the shape of the generated table (data/catalog_gen.c), for ec2facts.c only.
 *
 * Arrays by type run parallel to ec2_facts. Prices of types that ec2_facts lacks (retired ones that
 * may still run somewhere) stand apart. All lists are sorted by name.
 */
#ifndef KARP_CORE_EC2TABLE_H
#define KARP_CORE_EC2TABLE_H

#include "ec2type.h"

#define EC2_TABLE_ZONES_MAX 16

struct ec2_table_region {
    const char *name;
    const char *const *zones; /* string order, NULL-terminated, at most EC2_TABLE_ZONES_MAX */
    const uint16_t *offered;  /* by type: a bit per zone */
};

struct ec2_table_price {
    const char *name;
    int64_t price_pusd_h;
};

extern const struct ec2_table_region ec2_table_regions[];
extern const uint32_t ec2_table_regions_n;
extern const int64_t ec2_table_prices[]; /* by type; PRICE_UNKNOWN */
extern const struct ec2_table_price ec2_table_other_prices[];
extern const uint32_t ec2_table_other_prices_n;

#endif
