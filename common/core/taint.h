/*
 * taint.h - taints and tolerations, as kube-scheduler and Karpenter read them.
 */
#ifndef KARP_CORE_TAINT_H
#define KARP_CORE_TAINT_H

#include "common/base/buf.h"
#include "common/base/sym.h"

#include <stdbool.h>

enum taint_effect {
    EFFECT_ANY = 0,
    EFFECT_NO_SCHEDULE,
    EFFECT_PREFER_NO_SCHEDULE,
    EFFECT_NO_EXECUTE
};

struct taint {
    sym key, value; /* value V_EMPTY when absent */
    enum taint_effect effect;
};

struct taints {
    const struct taint *v;
    uint32_t n;
};

struct toleration {
    sym key;   /* SYM_NONE: every key (operator Exists) */
    sym value; /* only with op Equal */
    bool exists;
    enum taint_effect effect; /* EFFECT_ANY: every effect */
    int64_t seconds;          /* tolerationSeconds, -1 if absent */
};

struct tolerations {
    const struct toleration *v;
    uint32_t n;
};

bool taint_effect_parse(const char *s, enum taint_effect *ret);
const char *taint_effect_name(enum taint_effect e);
bool taint_tolerated(const struct taint *taint, const struct tolerations *by);
/* The first taint that is not tolerated, or NULL. PreferNoSchedule counts only when
 * `prefer_counts` (Karpenter treats it as hard until relaxed). */
const struct taint *taints_refuse(const struct taints *taints, const struct tolerations *by,
                                  bool prefer_counts);
bool taint_equal(const struct taint *a, const struct taint *b);
/* Same key and effect: what Kubernetes regards as the same taint. */
bool taint_matches(const struct taint *a, const struct taint *b);
/* Taints every node has for a while at its start, as Karpenter: not-ready, unreachable,
 * cloudprovider uninitialized, karpenter.sh/unregistered, and every key
 * under readiness.k8s.io. */
bool taint_ephemeral(const struct symtab *t, const struct taint *taint);
/* "key=value:NoSchedule" */
void taint_fmt(const struct symtab *t, const struct taint *taint, struct buf *out);

#endif
