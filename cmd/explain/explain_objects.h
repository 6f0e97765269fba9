/*
 * explain_objects.h - the part of `explain` that is about nodes, NodeClaims and NodePools.
 */
#ifndef KARP_CMD_EXPLAIN_OBJECTS_H
#define KARP_CMD_EXPLAIN_OBJECTS_H

#include "cmd/out.h"
#include "cmd/session.h"

struct explain_objects {
    struct session *s; /* nothing was gathered yet */
    enum kube_kind kind;
    const char *const *names;
    size_t n;
};

int explain_objects(const struct explain_objects *x, const struct out_spec *spec,
                    struct err *reterr);

#endif
