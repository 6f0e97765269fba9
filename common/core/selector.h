/*
 * selector.h - label selectors over raw labels (of pods and namespaces).
 *
 * All expressions must hold. No expressions select everything; a selector that is absent (nil) or
 * that Kubernetes would not accept selects nothing, as kube-scheduler reads it. NotIn and
 * DoesNotExist hold where the label is absent. Expressions are sorted by key, operator and values,
 * so that equal selectors have equal texts.
 */
#ifndef KARP_CORE_SELECTOR_H
#define KARP_CORE_SELECTOR_H

#include "common/base/arena.h"
#include "common/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct kv {
    const char *key, *value;
};

struct kvs {
    const struct kv *v; /* sorted by key string */
    uint32_t n;
};

enum selector_op { SELECTOR_IN, SELECTOR_NOT_IN, SELECTOR_EXISTS, SELECTOR_DOES_NOT_EXIST };

struct selector_expr {
    const char *key;
    enum selector_op op;
    const char *const *values; /* sorted */
    uint32_t n;
};

struct selector {
    bool nothing; /* absent or unreadable */
    const struct selector_expr *v;
    uint32_t n;
};

bool selector_op_parse(const char *s, enum selector_op *ret);
bool selector_matches(const struct selector *s, const struct kvs *labels);
/* NULL if the label is absent. */
const char *kvs_get(const struct kvs *l, const char *key);
/* s and, for each key that the labels have, "key In [value]" (or NotIn). s is unchanged. */
struct selector selector_with(struct arena *a, const struct selector *s, const struct kvs *labels,
                              const char *const *keys, uint32_t n, enum selector_op op);
/* Sorts expressions in place, for whoever builds a selector. */
void selector_sort(struct selector_expr *v, uint32_t n);
/* A total order; 0 exactly if they select the same way. */
int selector_cmp(const struct selector *x, const struct selector *y);
/* "app In [x y],tier Exists"; "everything", "nothing". */
void selector_fmt(const struct selector *s, struct buf *out);

#endif
