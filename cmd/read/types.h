/*
 * types.h - instance types from a file (--catalog), in one of two forms:
 *
 *  - EC2's answer to DescribeInstanceTypes: {"InstanceTypes": [...]} or the bare list. These become
 *    struct ec2_fact, and everything else is computed from them as for the built-in table. Types
 *    without hvm or an architecture that Kubernetes knows are left out.
 *  - Types that are described in full: [{"name", "requirements", "capacity", "allocatable",
 *    "offerings": [{"available", "price", "requirements", "reservationCapacity"}]}]. They bring
 *    their zones and prices.
 *
 * The globs of --types ("m5.*,c5.large") narrow either. Messages name file and type.
 */
#ifndef KARP_CMD_TYPES_H
#define KARP_CMD_TYPES_H

#include "cmd/opts.h"
#include "common/core/ec2/ec2type.h"

#include <jansson.h>

#define TYPES_OFFERINGS_MAX 1000u /* of one type */

struct types {
    struct arena mem;
    const struct ec2_fact *facts; /* the first form, sorted by name; else NULL */
    uint32_t n_facts;
    struct catalog *catalog; /* the second form, with its offerings; else NULL */
    struct offerings *offerings;
};

/* A type's name passes the globs; no globs at all let everything pass. */
bool types_wanted(const struct opt_texts *globs, const char *name);

int types_load(struct symtab *t, const char *path, const struct opt_texts *globs, struct types *ret,
               struct err *reterr);
void types_done(struct types *ty);

/* The reader of whole types. Internal to types_load. */
int types_read_full(struct symtab *t, const json_t *list, const char *path,
                    const struct opt_texts *globs, struct types *ret, struct err *reterr);

#endif
