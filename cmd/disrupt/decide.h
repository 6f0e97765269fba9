/*
 * decide.h - the decision core over a world: one snapshot, and where its pending pods would go.
 *
 * Everything is as the agent does it, from the same facts as far as they are known here: catalogs
 * are made per EC2NodeClass, offerings from the prices and the zones of the class's subnets. Rules
 * for what a snapshot leaves open are those of offline input: a NodePool without
 * conditions is ready, an absent EC2NodeClass (or one of another kind, or one without status) has
 * all zones of the region and all images. A type is offered in the zones of the built-in table, in
 * all zones of a region that the table does not know.
 *
 * Offerings that the agent has published as sold out are so until their time.
 *
 * A decision borrows world, prices and types. The world's symbols grow with it.
 */
#ifndef KARP_CMD_DECIDE_H
#define KARP_CMD_DECIDE_H

#include "cmd/cmd.h"
#include "cmd/read/prices.h"
#include "cmd/world.h"
#include "common/core/sched/sched.h"

#define DECIDE_MAX_UNITS 50000000u

struct decide_market; /* a catalog with its offerings */

struct decision {
    struct arena mem;
    struct snapshot snap;
    struct sched *pass;                /* over, but after decide_begin; for explain.h */
    const struct sched_result *result; /* NULL after decide_begin */
    struct decide_market *markets;
    size_t n_markets, cap_markets;
};

/* Whose place is looked for: DECIDE_AS_AGENT has beside pending pods those of leaving nodes too. */
enum decide_pods { DECIDE_AS_AGENT, DECIDE_UNBOUND };

/* The text of default spread constraints: the option, else what the agent has published; or NULL.
 */
const char *decide_scheduler_config(const struct cmd *c, const struct world *w);

/* On failure nothing is left behind. */
int decide_which(struct cmd *c, struct world *w, const struct prices *p, const struct types *types,
                 enum decide_pods which, struct decision *ret, struct err *reterr);
/* The same up to the first step: who steps `pass` asks it for the result. */
int decide_begin(struct cmd *c, struct world *w, const struct prices *p, const struct types *types,
                 enum decide_pods which, struct decision *ret, struct err *reterr);
/* As the agent. */
int decide(struct cmd *c, struct world *w, const struct prices *p, const struct types *types,
           struct decision *ret, struct err *reterr);
/* About this bound pod alone, as if it were pending and everything else lay where it is. It is the
 * only pod of the snapshot and is not placed: for explain.h. */
int decide_one(struct cmd *c, struct world *w, const struct prices *p, const struct types *types,
               const struct pod *pod, struct decision *ret, struct err *reterr);
void decide_done(struct decision *d);

/* How to place, as the options say; where they do not, as an agent in charge has published. In a.
 * A placement that is none of the two, as an agent without one tells, is the baseline; nobody says
 * anything: Compatible. */
#define DECIDE_BASELINE "Baseline"
int decide_options(const struct cmd *c, const struct world *w, struct arena *a,
                   struct sched_options *ret, struct err *reterr);

/* Regions that the labels of managed nodes name, of all nodes if no managed one does; in string
 * order. */
void decide_regions(const struct world *w, struct arena *a, const char *const **ret, size_t *ret_n);

#endif
