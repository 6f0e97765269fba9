/*
 * prices.h - what a node costs, and where that is known from.
 *
 * One of four sources, never mixed:
 *  - the price file (--prices), which replaces everything else: what it does not name has no price;
 *  - the offerings of a catalog file that brings them (types.h);
 *  - what the agent has published (ConfigMap karp-offerings, prices.json): what it decides with, as
 *    old as its last word; left aside where it is of another region;
 *  - the built-in on-demand list of us-east-1, which other regions borrow as an estimate.
 * Without spot prices in the file (or the built-in list) spot is 40% of on-demand, an estimate.
 * Reserved capacity is paid for already and costs 0 here.
 *
 * The region is --region, else the file's, else that of the nodes' labels, else us-east-1; two that
 * differ are an error unless --region is given.
 *
 * Files: {"region", "asOf" (RFC 3339), "onDemand": {TYPE: PRICE}, "spot": {TYPE: {ZONE: PRICE}},
 * "zones": {TYPE: [ZONE]}}, all optional but onDemand or spot; zones says where types are offered,
 * instead of the built-in table; prices are numbers or decimal strings in $/h. Other keys are
 * ignored.
 */
#ifndef KARP_CMD_PRICES_H
#define KARP_CMD_PRICES_H

#include "types.h"

#include <stdbool.h>

#define PRICES_STALE_NS (INT64_C(7) * 24 * 3600 * 1000000000)
#define PRICES_MAX 2000000u /* prices of one file */
#define PRICES_REGION_DEFAULT "us-east-1"

struct prices_in {
    const struct symtab *syms;
    const char *file;                /* --prices or NULL */
    const char *region;              /* --region or NULL */
    const char *const *node_regions; /* those that nodes name, in string order */
    size_t n_node_regions;
    const struct types *types; /* --catalog or NULL; borrowed */
    const json_t *published;   /* the agent's, or NULL */
    int64_t published_ns;      /* when; 0 = unknown */
};

struct prices;

struct prices *prices_new(const struct prices_in *in, struct err *reterr);
void prices_free(struct prices *p);

const char *prices_region(const struct prices *p);
/* PRICE_UNKNOWN if there is none. *ret_estimated (may be NULL) is set to true for an estimate and
 * left alone otherwise. */
int64_t prices_of(const struct prices *p, const char *type, const char *zone, enum capacity_type ct,
                  bool *ret_estimated);
/* Wall clock, 0 = unknown. spot: 0 also where spot is estimated. */
int64_t prices_on_demand_as_of(const struct prices *p);
int64_t prices_spot_as_of(const struct prices *p);
/* Over PRICES_STALE_NS old; the built-in list and files without asOf never are. */
bool prices_stale(const struct prices *p, int64_t now_ns);
/* When the prices of a file were made, 0 where they never get old. */
int64_t prices_made_ns(const struct prices *p);
/* Zones that the price file names, in string order. */
const char *const *prices_zones(const struct prices *p, size_t *ret_n);
/* Is the type offered in that zone? *ret_known false: the prices do not say. */
bool prices_offered(const struct prices *p, const char *type, const char *zone, bool *ret_known);
/* One line for people: "AWS list 2026-07-20 (on-demand), spot ~40% of it". */
void prices_source(const struct prices *p, struct buf *out);

#endif
