/*
 * req.h - requirements: what may stand in one label, and sets of them.
 *
 * One requirement is a set of values, or with `complement` everything but these values, and
 * optionally integer bounds. Bounds and exclusions are kept together (Karpenter loses the
 * exclusions when it writes such a requirement out; we do not). DoesNotExist is the empty set that
 * is not a complement; Exists is the complement of nothing. What an intersection cannot say with
 * values and bounds any more is in `present`: Exists and NotIn [a] is no NotIn [a], because a node
 * without the label does not do; and of In [a] and In [b] nothing is left, which is no
 * DoesNotExist (Karpenter reads both so, and launches nodes that the pod can never run on).
 *
 * A reqset has at most one requirement per key, sorted by symbol id, so sets merge and compare in
 * one pass; a missing key reads as Exists. Both are values in an arena: never changed once built.
 * Results share value arrays with the sets they came from, which must live as long; the single
 * requirement given to reqset_add, and the second one of req_intersect, are always copied.
 * Nothing here orders anything visible by id: req_fmt sorts values by string.
 */
#ifndef KARP_CORE_REQ_H
#define KARP_CORE_REQ_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/sym.h"

#include <stdbool.h>

#define REQ_MAX_VALUES 20000 /* values of one requirement after all intersections */

enum req_op {
    REQ_IN,
    REQ_NOT_IN,
    REQ_EXISTS,
    REQ_DOES_NOT_EXIST,
    REQ_GT,
    REQ_LT,
    REQ_GTE,
    REQ_LTE
};

struct req {
    sym key;
    bool complement;
    bool has_gte, has_lte; /* only with complement: concrete sets drop values out of bounds */
    bool present;          /* the label must be there; set only where the rest does not say so */
    uint16_t min_values;   /* 0 = unset */
    uint32_t n;
    const sym *values; /* sorted by id, unique */
    int64_t gte, lte;
};

struct reqset {
    const struct req *v; /* sorted by key */
    uint32_t n;
};

/* "In", "NotIn", … exactly as Kubernetes spells them. */
bool req_op_parse(const char *s, enum req_op *ret);
const char *req_op_name(enum req_op op);

/*
 * One requirement from its written form. values are symbols; Gt, Lt, Gte, Lte take exactly one
 * integer ≥ 0; In takes at least one; values of Exists and DoesNotExist are ignored, as Karpenter
 * does. ERR_INVALID with operator and value in the message otherwise, ERR_LIMIT above
 * REQ_MAX_VALUES.
 */
int req_make(struct arena *a, const struct symtab *t, sym key, enum req_op op, const sym *values,
             uint32_t n, uint16_t min_values, struct req *ret, struct err *reterr);

/* How it would be written: In, NotIn, Exists or DoesNotExist (bounds apart). */
enum req_op req_op(const struct req *r);
/* A node that does not have the label satisfies it: NotIn or DoesNotExist, and nothing else with
 * it. */
bool req_negative(const struct req *r);
bool req_has(const struct symtab *t, const struct req *r, sym value);
bool req_is_empty(const struct req *r); /* no value can satisfy it */
/* The only value it admits, or SYM_NONE. */
sym req_single(const struct req *r);
/* More than REQ_MAX_VALUES exclusions become the empty set: refusing is the safe side. */
struct req req_intersect(struct arena *a, const struct symtab *t, const struct req *x,
                         const struct req *y);
/* Whether the intersection has a member, without building it. */
bool req_intersects(const struct symtab *t, const struct req *x, const struct req *y);
bool req_equal(const struct req *x, const struct req *y);

const struct req *reqset_get(const struct reqset *s, sym key);
/* s with r intersected in; s itself is unchanged. */
struct reqset reqset_add(struct arena *a, const struct symtab *t, const struct reqset *s,
                         const struct req *r);
struct reqset reqset_merge(struct arena *a, const struct symtab *t, const struct reqset *x,
                           const struct reqset *y);
struct reqset reqset_without(struct arena *a, const struct reqset *s, sym key);

/*
 * May something that `have` describes carry pods that ask for `want` (Karpenter's Compatible)?
 * For each key of want: fine if have defines it, or the key is well-known and `allow_well_known`,
 * or want is negative (req_negative). Then every shared key needs a common value, except that two
 * negative ones always agree. On refusal *ret_key is the key that failed
 * first (unknown labels before values without a common one, then by string) and *ret_unknown tells
 * "no such label" from "no common value"; both may be NULL.
 */
bool reqset_compatible(const struct symtab *t, const struct reqset *have, const struct reqset *want,
                       bool allow_well_known, sym *ret_key, bool *ret_unknown);

/* "kubernetes.io/arch In [amd64 arm64]", values by string, at most max_values (0 = all) and "and N
 * more"; bounds as "Gte 4", joined with " and ". */
void req_fmt(const struct symtab *t, const struct req *r, unsigned max_values, struct buf *out);

#endif
