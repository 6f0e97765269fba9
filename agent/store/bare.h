/*
 * bare.h - the identity of an object, without what it says.
 *
 * What is kept of an object that is set aside (agent/work/marker.h), and of a pod that cannot be
 * read: who it is, where it stands and what it belongs to, so that a node does not look empty
 * because its pod was not read, nor an instance like nobody's because its claim was not. Nothing may
 * be launched for it, and nothing is removed by our own decision where it is: claims, pools, classes
 * and budgets have a `problem`, pods and nodes the annotation do-not-disrupt (so a drain waits for
 * such a pod, and deletes it by name when the node's time is up).
 */
#ifndef KARP_AGENT_BARE_H
#define KARP_AGENT_BARE_H

#include "store.h"

#include <jansson.h>

/* New reference. */
json_t *bare_object(const json_t *object);
/* The decoded object says why it is not to be used. */
void bare_say(enum store_kind kind, void *decoded);

#endif
