/*
 * want.h - what a pod class asks of a node's labels.
 *
 * A class has a selector, required terms (one of which must hold) and preferred ones. A want is one
 * way through them: the selector, at most one required and one preferred term, as one requirement
 * set.
 */
#ifndef KARP_CORE_WANT_H
#define KARP_CORE_WANT_H

#include "model.h"

/*
 * selector ∩ required ∩ preferred (both may be NULL). False if nothing can meet it: a term that the
 * core does not take, or two rules for one label without a common value. (Karpenter reads the
 * latter as "the label must not exist"; that is not what was asked.)
 */
bool want_build(struct arena *a, const struct symtab *t, const struct pod_class *cls,
                const struct affinity_term *required, const struct affinity_term *preferred,
                struct reqset *ret);

/* No rules in the set contradict each other. */
bool want_possible(const struct reqset *set);
/* The first by key string of those for which they do, or NULL. */
const struct req *want_impossible(const struct symtab *t, const struct reqset *set);

/*
 * Whether a node with these labels surely meets the want: a label that is asked for must be there
 * (no exemption for well-known ones), and every value that it can have must be allowed. Labels of a
 * claim that was not launched are still sets; so a pod is promised only what will be true. Scratch
 * is left as it was.
 */
bool want_met(struct arena *scratch, const struct symtab *t, const struct reqset *labels,
              const struct reqset *want);

/* Whether a node that does not exist yet will do for this requirement of a host name: Exists and
 * NotIn. It will have one, so DoesNotExist is never met; and nobody can name it beforehand. */
bool want_any_host(const struct req *host);

#endif
