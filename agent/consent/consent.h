/*
 * consent.h - disruptions that wait for a person: DisruptionRequests are filed, followed and put to
 * work (core/consent/dreq.h has the object, core/consent/dgrant.h the standing approval,
 * core/consent/approval.h which pools ask for it).
 *
 *     step of a plan → quiet time → filed: Pending → Approved → Executing → Succeeded, Failed
 *
 * Asked for are steps of the consolidator whose reason a pool of theirs asks a decision for. What
 * never waits: interruption, repair, forceful and budgeted expiry, replacements that a person asked
 * for, and what others delete.
 *
 * Filing: one open request per candidate, at most DREQ_OPEN_MAX open, none for a plan that a Hold
 * stops or that was denied within CONSENT_KEEP_NS. The name comes from the plan's digest, so that
 * what is filed twice is filed once.
 *
 * What becomes of an open request (fate.h) follows from the objects alone, so that any process goes
 * on where another stopped; only `Valid` (does the last plan still have the step, as approved?) is
 * this process's finding, and is written to the object. Approved is permission, no more: the step
 * must be found again in a plan made after the quiet time, with the same digest, as approved or
 * better (dreq_exceeds), and pass budgets, Holds and every other gate. Then the request is marked
 * Executing under the version that was read, which is the last look at it; and only when that has
 * been answered the step is looked for once more, and begun. Right before the first eviction
 * command.h asks consent_stops: without a request that is Executing and still approved the command
 * is undone.
 *
 * After a crash: an Executing request with no command behind it goes back to Approved once commands
 * had time to be recovered, or ends where its nodes have gone.
 *
 * Whom it believes: whoever may write a DisruptionRequest's decision fields (RBAC: karp-approver).
 * `decidedBy` is what the shipped admission policy makes of it, the user's own name; without the
 * policy it is what that person claims, and is shown as such. The agent never writes them.
 *
 * Fail closed: where requests cannot be listed, or their kind is not installed, nothing is approved
 * and nothing filed; `karp_attention` RequestsUnreadable says so where a decision is asked for. So
 * it is with more than STORE_MAX_CONSENT of them; but those that are over are deleted and those
 * whose time has passed are closed all the same, so that there is room for the rest.
 *
 * Metrics karp_requests_pending, karp_requests_oldest_seconds. Events on the request: Filed, and
 * each phase by its name; InvalidRequest and InvalidGrant for what cannot be read.
 */
#ifndef KARP_AGENT_CONSENT_H
#define KARP_AGENT_CONSENT_H

#include "agent/leave/command.h"
#include "common/core/consent/dreq.h"
#include "common/core/disrupt/consolidate.h"

#define CONSENT_KEEP_NS (24 * NS_PER_H)      /* closed ones, and so a denial */
#define CONSENT_CLOSED_MAX 1000u             /* more are deleted earlier, oldest first */
#define CONSENT_INVALID_NS (10 * NS_PER_MIN) /* a plan that has not held for so long is over */
#define CONSENT_STALE_NS (1 * NS_PER_MIN) /* after that another plan for its nodes may be filed */
#define CONSENT_START_NS (1 * NS_PER_MIN) /* Executing without a command */
#define CONSENT_REST_NS (1 * NS_PER_MIN)  /* of an approved one that could not start */
#define CONSENT_LOOK_NS (5 * NS_PER_S)
#define CONSENT_SOON_NS (100 * NS_PER_MS)
#define CONSENT_BACKOFF_NS (1 * NS_PER_S)
#define CONSENT_BACKOFF_MAX_NS (1 * NS_PER_MIN)

struct consent;
struct proposals;

struct consent *consent_new(struct runtime *rt);
void consent_free(struct consent *c);
void consent_start(struct consent *c);

/* ---- the consolidator's questions --------------------------------------------------------------
 */

/* A pool of the step asks for a decision about it. */
bool consent_needed(const struct runtime *rt, const struct consolidate_step *s);
/* The whole plan, as just decided: open requests are found in it, or not. */
void consent_look(struct consent *c, struct arena *a, const struct snapshot *snap,
                  const struct consolidate_result *r);
/* The step needs a decision and none is asked for yet. */
bool consent_wants(struct consent *c, struct arena *a, const struct snapshot *snap,
                   const struct consolidate_step *s);
/* Asks for it. */
void consent_file(struct consent *c, struct arena *a, const struct snapshot *snap,
                  const struct consolidate_step *s);
/* Adds the requests that may be carried out now. */
void consent_propose(struct consent *c, struct proposals *p);
/* The step is what was approved, or better. */
bool consent_covers(const struct consent *c, struct arena *a, const struct snapshot *snap,
                    const char *request, const struct consolidate_step *s);
/* Marks the request Executing; consent_busy until that is answered, consent_begun if it went well.
 */
void consent_begin(struct consent *c, const char *request);
bool consent_busy(const struct consent *c);
bool consent_begun(const struct consent *c, const char *request);
/* It was not found in a plan, or could not start for the moment: not proposed for a while. */
void consent_rest(struct consent *c, const char *request, bool missing);
/* A member's command has ended. */
void consent_ended(struct consent *c, const char *claim, enum command_end how);

/* ---- everybody's -------------------------------------------------------------------------------
 */

/* NULL, or why the claim may not be disrupted for that reason without a decision. */
const char *consent_stops(struct runtime *rt, const struct nodeclaim *nc,
                          enum disruption_reason reason);
/* The newest request that was begun of those the claim is a candidate of; NULL. */
const struct dreq *consent_request_of(const struct runtime *rt, const char *claim_uid);

#endif
