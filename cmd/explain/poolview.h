/*
 * poolview.h - one NodePool as `explain` tells it: whether it can launch and how many instance
 * types are left after each of its rules, what its limits leave, how many nodes may go, and which
 * launches are under way or fail.
 *
 * The verdict is Schedulable, or what stands against any new node: the pool's own state (as for
 * pods), a step that leaves no type, a limit without room.
 */
#ifndef KARP_CMD_POOLVIEW_H
#define KARP_CMD_POOLVIEW_H

#include "budgetview.h"
#include "cmd/read/facts.h"
#include "cmd/read/fleet.h"
#include "cmd/report.h"
#include "cmd/said.h"

struct poolview_step {
    enum reason_code code; /* REASON_NONE: all types */
    const char *key;       /* Requirement: the label, else NULL */
    uint32_t left;
};

/* A claim that has no initialized node. */
struct poolview_launch {
    const struct nodeclaim *nc;
    const char *step; /* which it waits for: Launched, Registered, Initialized */
    const char *code, *message;
    bool failing; /* the condition is False, for more than not having come to it */
};

struct poolview {
    struct session *s;
    const struct snapshot_pool *p;
    struct fleet_count n;
    const char *code, *message; /* the verdict */
    bool open;
    const struct poolview_step *steps;
    uint32_t n_steps;
    const uint64_t *by_labels; /* bits of types that the requirements leave; NULL: no catalog */
    struct budget_row budgets[BUDGET_REASONS];
    const struct poolview_launch *launches; /* by name */
    uint32_t n_launches;
    struct said_list said;
};

/* s has been decided; fleet is counted from it. */
void poolview_build(struct session *s, const struct snapshot_pool *p, const struct fleet *fleet,
                    struct poolview *ret);

/* Whether it is about a type that the pool's requirements leave. */
bool poolview_sells(const struct poolview *v, const struct facts_stockout *o);

json_t *poolview_json(const struct poolview *v);
void poolview_screen(const struct poolview *v, struct buf *out);

#endif
