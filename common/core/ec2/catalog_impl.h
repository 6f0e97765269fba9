/*
 * catalog_impl.h - the inside of struct catalog, for catalog.c and catalog_build.c only.
 *
 * A column holds one label key: its values sorted by symbol id, each with the types that have it,
 * as a bitset or, where that is shorter, as a list of type numbers; and what each type says of the
 * key, as a number of the few different answers: thousands of types with tens of labels would take
 * megabytes. A stair holds one resource: its
 * distinct positive amounts in ascending order, each with the bitset of types that have at least
 * that much.
 */
#ifndef KARP_CORE_CATALOG_IMPL_H
#define KARP_CORE_CATALOG_IMPL_H

#include "catalog.h"
#include "common/core/labels.h"

struct catalog_value {
    sym value;
    bool is_number;
    int64_t number;
    const uint64_t *bits; /* NULL: see list */
    const uint16_t *list; /* ascending */
    uint32_t n_list;
};

#define CATALOG_NO_LABEL UINT16_MAX

struct catalog_column {
    sym key;
    bool single; /* no type has two values */
    uint32_t n;
    const struct catalog_value *values;
    const uint64_t *defined;
    const uint64_t *empty; /* defined with no value: DoesNotExist */
    const struct req *labels;
    const uint16_t *label_of; /* by type: its place in labels, or CATALOG_NO_LABEL */
};

struct catalog_stair {
    sym ext; /* SYM_NONE for fixed resources */
    uint32_t n;
    const int64_t *levels;
    const uint64_t *bits; /* words per level */
};

/* Amounts of one kind, capacity or allocatable. */
struct catalog_stairs {
    struct catalog_stair fixed[RES_FIXED];
    const struct catalog_stair *ext; /* sorted by ext */
    uint32_t n_ext;
};

struct catalog_name {
    sym name;
    uint32_t type;
};

struct catalog {
    struct arena mem;
    uint32_t n_types, words;
    uint32_t n_zones;
    const sym *zones, *zone_ids;
    const sym *names;                   /* by type */
    const struct catalog_name *by_name; /* sorted by symbol id */
    const struct resources *capacity, *allocatable;
    const struct catalog_column *columns; /* sorted by key */
    uint32_t n_columns;
    const struct catalog_column *known[LABELS_END]; /* columns of the fixed symbols */
    struct catalog_stairs capacity_stairs, allocatable_stairs;
    const uint64_t *usable; /* no allocatable amount is negative */
    const uint64_t *exotic;
};

#endif
