/*
 * cond.h - conditions of NodeClaims and NodePools, written as Karpenter writes them.
 *
 * A change is collected in a struct cond_edit over the object's present conditions and rendered as
 * the whole new array, since a merge patch replaces arrays: so the patch must carry the resource
 * version the edit was made from. lastTransitionTime moves only when the status does.
 * The root condition Ready is derived from its dependents (operatorpkg): all True makes it True,
 * any False makes it False UnhealthyDependents, else it is Unknown ReconcilingDependents.
 * Dependents that are missing are added as Unknown AwaitingReconciliation since the object's
 * creation.
 */
#ifndef KARP_AGENT_COND_H
#define KARP_AGENT_COND_H

#include "common/core/model.h"

#include <jansson.h>

#define COND_MAX 32 /* conditions of one object; more are kept out of edits */

struct cond_item {
    const char *type, *reason, *message;
    enum status status;
    int64_t transition_ns;
    int64_t observed_generation;
};

struct cond_edit {
    struct cond_item v[COND_MAX];
    uint32_t n;
    int64_t now_ns; /* wall */
    int64_t generation;
    bool changed;
};

/* Begins with what the object has; strings are borrowed from it and from the calls below. */
void cond_begin(struct cond_edit *e, const struct conditions *have, const struct meta *m,
                int64_t now_ns);
/* reason NULL = the type, message NULL = "". */
void cond_set(struct cond_edit *e, const char *type, enum status status, const char *reason,
              const char *message);
void cond_clear(struct cond_edit *e, const char *type);
/* Ready from these dependents (NULL-terminated). message_out backs the message. */
#define COND_ROOT_MESSAGE 512
void cond_root(struct cond_edit *e, const char *const *dependents, int64_t created_ns,
               char message_out[COND_ROOT_MESSAGE]);
/* New reference. */
json_t *cond_json(const struct cond_edit *e);
/* When the condition took its status; fallback if it is absent. */
int64_t cond_since(const struct conditions *c, const char *type, int64_t fallback_ns);

#endif
