/*
 * setpath.h - one field of an object on the command line: KIND/[NS/]NAME.PATH=VALUE.
 *
 * PATH begins at the first ".spec.", ".metadata." or ".status."; keys with dots stand in ["…"],
 * places of a list in [0]. VALUE is a YAML scalar; null (or nothing) removes the field. Objects on
 * the way are made, lists are not; a path into a scalar is an error.
 */
#ifndef KARP_CMD_SETPATH_H
#define KARP_CMD_SETPATH_H

#include "common/base/arena.h"
#include "common/kube/client.h"

#define SETPATH_DEPTH_MAX 64u

struct setpath {
    const char *text; /* as it was given, borrowed */
    enum kube_kind kind;
    const char *ns; /* NULL = not said */
    const char *name;
    const char *path; /* "spec.limits.cpu" */
    json_t *value;    /* owned */
};

int setpath_parse(struct arena *a, const char *text, struct setpath *ret, struct err *reterr);
void setpath_done(struct setpath *s);
/* Changes o in place. */
int setpath_apply(const struct setpath *s, json_t *o, struct err *reterr);

#endif
