/*
 * catalog.h - instance types as columns: the question "which types can still carry this" is a few
 * ANDs over bitsets.
 *
 * A catalog is what one node class offers in one region: types with their labels, capacity and
 * allocatable. It is immutable; the agent builds a new one when the class changes. Types are sorted
 * by name, so a type's number orders as its name does. A label of a type may have several values,
 * or none: then the type says that it does not have the label (DoesNotExist), which is more than
 * not defining it.
 *
 * What changes by the minute stands apart in `struct offerings`: price and availability per
 * (type, zone, capacity type). Offerings are immutable too: a change makes a new generation, so a
 * decision that has begun keeps seeing one state.
 *
 * A bitset over types has `words` 64-bit words; bits past n_types are 0.
 */
#ifndef KARP_CORE_CATALOG_H
#define KARP_CORE_CATALOG_H

#include "common/core/model.h"

#define CATALOG_MAX_TYPES 4096
#define CATALOG_MAX_ZONES 64
#define CATALOG_WORDS_MAX (CATALOG_MAX_TYPES / 64)

enum capacity_type { CT_RESERVED, CT_SPOT, CT_ON_DEMAND, CT_COUNT };

#define PRICE_UNKNOWN INT64_C(-1)
#define PUSD_PER_USD INT64_C(1000000000000)

struct catalog;

/* ---- building: add types, then finish -------------------------------------------------------- */

struct catalog_type {
    sym name;
    const struct req *labels; /* each a concrete set, one per key */
    uint32_t n_labels;
    struct resources capacity, allocatable;
};

/* The zones offerings can lie in, in string order. zone_ids may be SYM_NONE. */
struct catalog_zones {
    const sym *zones;
    const sym *zone_ids;
    uint32_t n;
};

/*
 * Copies everything into an object with an arena of its own (catalog_free drops it). Labels of
 * offerings (zone, zone id, capacity type) are left out, L_INSTANCE_TYPE is added where it is
 * missing. ERR_LIMIT above CATALOG_MAX_TYPES or _ZONES, ERR_INVALID for two types of one name, two
 * labels of one key, a label that is a complement, zones out of order.
 */
struct catalog *catalog_new(const struct symtab *t, const struct catalog_type *types, uint32_t n,
                            const struct catalog_zones *zones, struct err *reterr);
void catalog_free(struct catalog *c);

/* ---- reading -----------------------------------------------------------------------------------
 */

uint32_t catalog_n_types(const struct catalog *c);
uint32_t catalog_words(const struct catalog *c);
uint32_t catalog_n_zones(const struct catalog *c);
sym catalog_zone(const struct catalog *c, uint32_t zone);
sym catalog_zone_id(const struct catalog *c, uint32_t zone);
int catalog_find_zone(const struct catalog *c, sym zone); /* -1 */
sym catalog_type_name(const struct catalog *c, uint32_t type);
int catalog_find_type(const struct catalog *c, sym name); /* -1 */
const struct resources *catalog_capacity(const struct catalog *c, uint32_t type);
/* Bits over types: metal or with accelerators, not launched where something plain will do. */
const uint64_t *catalog_exotic(const struct catalog *c);
const struct resources *catalog_allocatable(const struct catalog *c, uint32_t type);
/* A label of one type, a concrete set (zone and capacity type are not among them); NULL: it does
 * not define the key. Valid for the catalog's life. */
const struct req *catalog_label(const struct catalog *c, uint32_t type, sym key);
/* All of them. The set is a's, the values the catalog's. */
struct reqset catalog_labels(const struct catalog *c, struct arena *a, uint32_t type);
/* True if any type defines the key (or it is zone, zone id, region or capacity type). */
bool catalog_knows_key(const struct catalog *c, sym key);

/* bits &= types that r allows. A type that does not define the key is kept, as Karpenter's
 * Intersects does, unless `strict`; NotIn and DoesNotExist keep it always. Offering keys (zone,
 * zone id, capacity type) are ignored. */
void catalog_narrow(const struct catalog *c, const struct symtab *t, const struct req *r,
                    bool strict, uint64_t *bits);
/* bits &= types with allocatable ≥ need in every resource (binary search and an AND each). */
void catalog_narrow_fit(const struct catalog *c, const struct resources *need, uint64_t *bits);
/* bits &= types whose capacity stays within the limits (-1 = unlimited, as is an extended resource
 * that is not listed). What is left of a limit that is exceeded already must be given as 0. */
void catalog_narrow_limit(const struct catalog *c, const struct resources *limits, uint64_t *bits);

/* Per fixed resource that is limited (not -1) the largest and the smallest capacity among the types
 * (of none: 0 and the largest there is); what is negative counts as 0, as what is not limited. */
void catalog_most(const struct catalog *c, const uint64_t *bits, const int64_t *limits,
                  int64_t *ret);
void catalog_least(const struct catalog *c, const uint64_t *bits, const int64_t *limits,
                   int64_t *ret);

void catalog_all(const struct catalog *c, uint64_t *bits);
uint32_t bits_count(const uint64_t *bits, uint32_t words);
/* The lowest set bit ≥ from, or -1. */
int bits_next(const uint64_t *bits, uint32_t words, uint32_t from);
static inline bool bits_test(const uint64_t *bits, uint32_t i)
{
    return (bits[i / 64] >> (i % 64)) & 1;
}
static inline void bits_set(uint64_t *bits, uint32_t i)
{
    bits[i / 64] |= UINT64_C(1) << (i % 64);
}
static inline void bits_clear(uint64_t *bits, uint32_t i)
{
    bits[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

/* ---- offerings ---------------------------------------------------------------------------------
 */

struct offerings;

/* An object with its own arena, of this catalog's shape but not bound to its life, with every price
 * PRICE_UNKNOWN and nothing offered. Places out of range are a BUG. Mutable until it is first shown
 * to a decision; copy it to change it afterwards. */
struct offerings *offerings_new(const struct catalog *c);
struct offerings *offerings_copy(const struct offerings *o);
void offerings_free(struct offerings *o);
uint64_t offerings_generation(const struct offerings *o);
void offerings_set_generation(struct offerings *o, uint64_t generation);

/* The offering exists in this zone (stock or not) at this price; PRICE_UNKNOWN = not to be had. */
void offerings_set_price(struct offerings *o, uint32_t type, uint32_t zone, enum capacity_type ct,
                         int64_t price_pusd_h);
/* Sold out (or back again). */
void offerings_set_available(struct offerings *o, uint32_t type, uint32_t zone,
                             enum capacity_type ct, bool available);
/* No image of the node class runs on the type: why it is not offered anywhere. */
void offerings_set_no_image(struct offerings *o, uint32_t type);
bool offerings_no_image(const struct offerings *o, uint32_t type);
int64_t offerings_price(const struct offerings *o, uint32_t type, uint32_t zone,
                        enum capacity_type ct);
/* Priced and not sold out. */
bool offerings_available(const struct offerings *o, uint32_t type, uint32_t zone,
                         enum capacity_type ct);

/* A capacity reservation: so many instances of the type can be had in the zone, as capacity type
 * reserved. */
struct reservation {
    sym id, kind; /* kind: "default" or "capacity-block", SYM_NONE = not known */
    bool interruptible;
    uint32_t type, zone, count;
    int64_t price_pusd_h;
};

#define OFFERINGS_MAX_RESERVATIONS 1000

/* Adds one, and offers reserved capacity there while any has a count. Without reservations a price
 * of reserved capacity stands for any number of instances. False above the maximum. */
bool offerings_add_reservation(struct offerings *o, const struct reservation *r);
const struct reservation *offerings_reservations(const struct offerings *o, uint32_t *ret_n);

/* Which zones and capacity types a requirement set leaves, as bit masks. Zone and zone id both
 * count; a zone id requirement on zones without id leaves none. */
struct offer_mask {
    uint64_t zones;
    unsigned cts; /* bit per enum capacity_type */
};
struct offer_mask offerings_mask(const struct catalog *c, const struct symtab *t,
                                 const struct reqset *reqs);
/* bits &= types with an available offering inside the mask. */
void offerings_narrow(const struct offerings *o, struct offer_mask m, uint64_t *bits);
/* Some of the types have one. */
bool offerings_any(const struct offerings *o, struct offer_mask m, const uint64_t *bits);
/* Cheapest available offering of the type inside the mask; PRICE_UNKNOWN if none. The place goes to
 * *ret_zone and *ret_ct (may be NULL); ties: lower capacity type number, then zone. */
int64_t offerings_cheapest(const struct offerings *o, uint32_t type, struct offer_mask m,
                           uint32_t *ret_zone, enum capacity_type *ret_ct);
/* Types of bits by cheapest offering inside the mask, then name; writes at most max numbers and
 * returns how many. Types without one come last and are written only with `with_unpriced`. */
uint32_t offerings_rank(const struct offerings *o, const uint64_t *bits, struct offer_mask m,
                        bool with_unpriced, uint32_t *out, uint32_t max);

enum capacity_type capacity_type_of(sym value); /* CT_COUNT if it is none */
sym capacity_type_sym(enum capacity_type ct);

#endif
