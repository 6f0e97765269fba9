/*
 * why.h - why a NodeClaim leaves and who wanted it: the reasons of the history, and how they
 * outlive the process that had them.
 *
 * The API server does not remember who ordered a deletion. So whoever of ours is about to order one
 * first writes the annotation karp.dev/leaving = "CODE TIME" (why_step), and what has none when it
 * goes was somebody else's doing: a person's, for short `user`. An annotation counts if the
 * deletion followed within WHY_FRESH_NS; one that nothing followed is no reason for what happens
 * later.
 *
 * Without annotation: interruptions in which seconds count are deleted first and say it in the
 * claim's condition DisruptionReason (depart.h, whose message comes again after a crash), and
 * emptiness says it there before (command.h). A Node's deletion by somebody else is annotated by
 * whoever deletes the claim for it (node_termination.c).
 */
#ifndef KARP_AGENT_WHY_H
#define KARP_AGENT_WHY_H

#include "agent/work/work.h"
#include "common/core/model.h"

#define ANN_LEAVING "karp.dev/leaving"
#define WHY_FRESH_NS (10 * NS_PER_MIN)
#define WHY_CODE 64

#define WHY_EXPIRED "Expired"
#define WHY_REGISTRATION "RegistrationTimeout"
#define WHY_INSTANCE_GONE "InstanceGone"
#define WHY_NODE_DELETED "NodeDeleted"
#define WHY_NODE_LOST "NodeLost"
#define WHY_OVER_LIMIT "OverLimit"

struct why {
    const char *code, *actor, *message;
    bool command; /* a command of karp's may stand behind it */
};

/* Never NULL: a code that is not in the table has the actor karp and no message. */
struct why why_named(const char *code);

/* The claim says so already, or is being deleted: false. Else writes it; the key has been added to
 * the queue again. */
bool why_step(const struct work *w, const struct nodeclaim *nc, const char *code,
              enum queue_verdict *ret);

/* The same as a patch, for whoever has no queue. New reference. */
json_t *why_patch(const struct runtime *rt, const char *code);

/* Of a claim that is going, or gone. Its code may lie in code[WHY_CODE]. */
struct why why_of(struct runtime *rt, const struct nodeclaim *nc, char *code);

#endif
