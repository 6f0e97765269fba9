/*
 * fate.h - what becomes of a request: read off the store, so that every process says the same.
 *
 * An answer is, in this order: the request's own decision; that of the request it supersedes, while
 * that one has not run out, is what this one stays within (dreq_exceeds) and nobody has said no to
 * another one for these nodes that inherited it; a DisruptionGrant that covers all its pools and
 * those of its nodes and replacements, and its reason now, and has not let maxNodesPerHour nodes go
 * within the hour, by the requests that name it (they are kept for a day, so that a restart changes
 * nothing).
 */
#ifndef KARP_AGENT_FATE_H
#define KARP_AGENT_FATE_H

#include "agent/runtime.h"
#include "common/core/consent/dgrant.h"
#include "common/core/consent/dreq.h"

#define FATE_RATE_NS NS_PER_H
#define FATE_TEXT 256

struct answer {
    enum dreq_decision what;
    int64_t from_ns;      /* wall: a yes counts from then on */
    const char *by;       /* borrowed from the store */
    const char *reason;   /* of the condition: Decision, Inherited, Grant, Waiting */
    const char *grant;    /* its name, or NULL */
    const char *inherits; /* the request it comes from, or NULL */
};

/* claims: of the request's candidates. */
struct fate {
    enum dreq_phase phase;
    struct answer answer;
    const char *superseded_by; /* NULL */
    char why[FATE_TEXT];
};

/* ours: whether the reader has just looked for a command behind an Executing one, in vain. */
struct fate fate_of(struct runtime *rt, const struct dreq *r, bool abandoned);
struct answer fate_answer(struct runtime *rt, const struct dreq *r);
/* An Executing one's approval still stands. */
bool fate_stands(struct runtime *rt, const struct dreq *r);
/* The candidate's claim, if it is still that one and not being deleted. */
const struct nodeclaim *fate_claim(const struct runtime *rt, const struct dreq_candidate *c);
/* The request, if there is one of that name. */
const struct dreq *fate_request(const struct runtime *rt, const char *name);

#endif
