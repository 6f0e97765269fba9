/*
 * consolidatable.h - the condition Consolidatable: True from the moment that consolidateAfter has
 * passed since the claim's pods last changed, absent otherwise. Claims of static pools and without
 * a pool never get it. candidate.h says when; this writes it then.
 */
#ifndef KARP_AGENT_CONSOLIDATABLE_H
#define KARP_AGENT_CONSOLIDATABLE_H

#include "agent/runtime.h"

struct consolidatable;

struct consolidatable *consolidatable_new(struct runtime *rt);
void consolidatable_free(struct consolidatable *c);
void consolidatable_start(struct consolidatable *c);

#endif
