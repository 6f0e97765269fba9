/*
 * report.h - the pieces that machine reports are made of, spelled the same everywhere: quantities
 * as the API server prints them, names by string, absent where nothing is known.
 */
#ifndef KARP_CMD_REPORT_H
#define KARP_CMD_REPORT_H

#include "cmd/explain/budgetview.h"
#include "common/core/explain.h"
#include "session.h"

#define REPORT_TYPES_MAX 60u /* instance types of a claim that are shown: what would go to EC2 */

void report_put(json_t *o, const char *key, json_t *v); /* steals v */
void report_text(json_t *o, const char *key, const char *s);
void report_int(json_t *o, const char *key, int64_t n);
void report_time(json_t *o, const char *key, int64_t ns);      /* 0: nothing */
void report_money(json_t *o, const char *key, int64_t pusd_h); /* PRICE_UNKNOWN: nothing */

/* "1500m", "20Gi" in dst[QUANTITY_TEXT]; ext: r is RES_FIXED. */
char *report_quantity(enum resource r, int64_t v, char *dst);
/* What is not 0: {"cpu": "1", …}; fixed ones first, then by name. */
json_t *report_resources(const struct symtab *t, const struct resources *r);
/* What a pool limits: {"cpu": "96", "nodes": "4"}; and what counts against it, with cpu, memory and
 * pods in any case. */
json_t *report_limits(const struct symtab *t, const struct nodepool *np);
json_t *report_in_use(const struct symtab *t, const struct snapshot_pool *p);
json_t *report_budgets(const struct budget_row rows[BUDGET_REASONS]);
/* "cpu 30, mem 200Gi" for people, at most cpu, memory and what else is asked for. */
const char *report_resources_line(struct arena *a, const struct symtab *t,
                                  const struct resources *r, bool pods);
/* [{key, operator, values}] by key. source: NULL or what stands beside each. Appends. */
void report_reqs(json_t *list, const struct symtab *t, const struct reqset *set,
                 const char *source);
/* "ns/name" in a. */
const char *report_pod(struct arena *a, const struct pod *p);
/* "ip-10-0-1-5", or "nodeclaim/NAME" while there is no Node. */
const char *report_node(struct arena *a, const struct snapshot_node *n);
/* reason_fmt; for Offering with what is known to be sold out of the nearest type. */
const char *report_reason(struct arena *a, const struct session *s, const struct reason *r);
/* What a group of nodes has against a pod. */
const char *report_nodes_reason(struct arena *a, const struct symtab *t,
                                const struct explain_nodes *n);
json_t *report_existing_nodes(struct arena *a, const struct session *s,
                              const struct explanation *e);

/* The first types, zones and capacity types of a claim, as lists of strings. */
void report_claim_lists(json_t *o, const struct symtab *t, const struct sched_claim *c);
/* Whether the price there is an estimate. */
bool report_estimated(const struct session *s, const struct snapshot_pool *p, uint32_t type,
                      sym zone, enum capacity_type ct);
/* The claim's price, and whether it is an estimate. */
bool report_claim_estimated(const struct session *s, const struct sched_claim *c);

/* {code, object, message} of what a plan should be taken with care for: NoNodeClass,
 * LaunchIneffective, MixedArch, DoNotDisruptUnreadable, Malformed. Appends. */
void report_warnings(json_t *list, struct arena *a, const struct session *s);
void report_warn(json_t *list, const char *code, const char *object, const char *message);
/* NakedPod: so many pods without a controller, the first of them by name. */
void report_naked(json_t *list, struct arena *a, const struct pod *first, uint32_t n);
/* A list of them for people, under a title of its own; nothing if it is empty. Takes the list. */
void report_put_warning_list(struct session *s, json_t *list, struct buf *out);
/* report_warnings likewise. */
void report_put_warnings(struct session *s, struct buf *out);
/* Something was hidden or could not be read. */
bool report_incomplete(const struct session *s);

#endif
