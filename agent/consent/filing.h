/*
 * filing.h - a step of a plan as a DisruptionRequest (core/consent/dreq.h has the shapes).
 */
#ifndef KARP_AGENT_FILING_H
#define KARP_AGENT_FILING_H

#include "agent/runtime.h"
#include "common/core/consent/dreq.h"
#include "common/core/disrupt/consolidate.h"

#include <jansson.h>

#define FILING_NAME 16 /* "dr-" and eight hex digits */

/* What the step does, to be held against what was approved. In a. */
struct dreq_risk filing_risk(struct arena *a, const struct snapshot *s,
                             const struct consolidate_step *step);
/* More nodes, warnings or replacements than a request holds. */
bool filing_too_large(const struct consolidate_step *step);
/* The nth name that a request for this plan may have. */
void filing_name(const char *plan, uint32_t nth, char dst[FILING_NAME]);
/* supersedes: whose decision it inherits, NULL = nobody's. New reference. */
json_t *filing_body(struct arena *a, const struct snapshot *s, const struct consolidate_step *step,
                    const char *name, int64_t expires_ns, const char *supersedes);

#endif
