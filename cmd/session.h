/*
 * session.h - one run of a reading command: options, world, prices, decision, in this order.
 *
 *   session_init → session_gather → (change objects, world_reload) → session_decide → session_done
 *
 * session_decide may be called again after another world_reload. Nothing here writes anywhere.
 */
#ifndef KARP_CMD_SESSION_H
#define KARP_CMD_SESSION_H

#include "cmd/disrupt/decide.h"
#include "cmd/read/gather.h"
#include "cmd/read/held.h"
#include "cmd/read/objects.h"
#include "common/core/explain.h"

struct disrupt;

struct session {
    struct cmd *c;
    struct arena a;
    struct world w;
    struct types types;
    struct prices *prices;
    struct decision d;
    struct objects *keep; /* NULL unless asked for */
    struct map *pods;     /* pod → 1 + its place in the decision's snapshot; made when needed */
    const struct explanation **explained; /* by class of the decision, in its arena */
    struct map *placed;                   /* by class and place, likewise; made with pods */
    struct decision **asides;             /* about one pod each; they go with the decision */
    size_t n_asides, cap_asides;
    struct held_list held;         /* what a what-if could not make */
    const struct disrupt *disrupt; /* what could leave; NULL unless the command asked for it */
    bool money;                    /* false: --no-prices */
};

/* What a decision needs; other kinds are the command's own. */
extern const uint64_t session_kinds;

void session_init(struct session *s, struct cmd *c, bool keep);
void session_done(struct session *s);
int session_gather(struct session *s, uint64_t kinds, struct err *reterr);
int session_decide(struct session *s, enum decide_pods which, struct err *reterr);

/* How far pods like this one got (pods of one class get equally far); NULL if the decision saw none
 * of them. */
const struct explanation *session_explain(struct session *s, const struct pod *pod);
/* Likewise of pods that the decision gave this place. */
const struct explanation *session_explain_placed(struct session *s, const struct pod *pod,
                                                 struct explain_home home);
/* What nodes and pools would have for a pod that is bound, if it came now and everything else lay
 * where it is. NULL for pods that are never placed (of DaemonSets, static, over). */
const struct explanation *session_explain_bound(struct session *s, const struct pod *pod);

/* The namespace that names without one are in: -n, the connection's, "default". */
const char *session_ns(const struct session *s);

#endif
