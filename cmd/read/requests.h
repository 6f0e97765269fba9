/*
 * requests.h - DisruptionRequests and DisruptionGrants (core/consent/dreq.h,
 * core/consent/dgrant.h), as commands tell of them. Upstream Karpenter files none and knows none.
 */
#ifndef KARP_CMD_REQUESTS_H
#define KARP_CMD_REQUESTS_H

#include "cmd/term.h"
#include "common/core/consent/dgrant.h"
#include "common/core/consent/dreq.h"
#include "facts.h"

/* The API server's clock, or --at. */
int64_t requests_now(const struct world *w);
const struct dreq *requests_find(const struct world *w, const char *name); /* or NULL */
const struct dgrant *grants_find(const struct world *w, const char *name);

/* Nobody has decided it, no grant covers it, and its time has not passed. */
bool request_waits(const struct dreq *r, int64_t now_ns);
/* The decision that counts is yes: its own, the one that it inherited, a grant's. */
bool request_goes(const struct dreq *r, int64_t now_ns);

struct requests_count {
    size_t n;
    int64_t first_ns, oldest_ns; /* which runs out first, which was filed first; 0 = none */
};
struct requests_count requests_waiting(const struct world *w);

/* Why a decision would change nothing: decided already, over, run out, superseded, not readable;
 * NULL if it would. */
const char *request_closed(const struct world *w, struct arena *a, const struct dreq *r);
/* Why the plan is not what it was when it was filed: a node of it is leaving, gone, or another by
 * now. NULL if nothing is known against it. */
const char *request_stale(const struct world *w, struct arena *a, const struct dreq *r);

/* "od to spot, single replica: reports-0", "2 single replicas, 1 naked pod", "unreadable", "-" */
const char *request_risk(struct arena *a, const struct dreq *r);
/* "Approved by ci on behalf of alice (as it claims)", NULL without a decision. */
const char *request_decision(struct arena *a, const struct dreq *r, int64_t now_ns);

/* ["Underutilized"] of bits of disruption_reason. New reference. */
json_t *request_reasons_json(unsigned reasons);
/* "Underutilized,Drifted" of bits of disruption_reason; "default,gpu", "every pool". */
const char *grant_reasons(struct arena *a, const struct dgrant *g);
const char *grant_pools(struct arena *a, const struct dgrant *g);
/* "open", "closed until 22:00", "over", "unreadable" */
const char *grant_state(struct arena *a, const struct dgrant *g, int64_t now_ns);
/* One that is open and names the pool for these reasons, all of them; NULL if there is none. */
const struct dgrant *grants_cover(const struct world *w, const char *pool, unsigned reasons);
/* A line per grant that is open, where karp is in charge; nothing if there is none. */
#define GRANTS_LINES 5u
void grants_banner(const struct world *w, const struct facts *f, const struct term *t,
                   struct arena *a, struct buf *out);

#endif
