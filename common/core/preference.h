/*
 * preference.h - what pods would have liked and do not get where a plan puts them.
 *
 * A preference is given up if the place that the pod gets does not surely meet it, whatever the
 * reason: relaxed on the way, not looked at (Ignore), or met at first and spoilt by a pod placed
 * later. It is judged by where all pods lie in the end, as kube-scheduler would see it:
 *
 *  - preferred node affinity: the labels of the place meet the term;
 *  - preferred pod affinity: another pod of the term lies in the same domain, or there is none
 *    anywhere and the pod is one itself;
 *  - preferred pod anti-affinity: no other pod of the term can lie in the same domain;
 *  - spread with ScheduleAnyway: the pod's domain has at most maxSkew pods more than the emptiest
 *    of the places that there are (nodes that stay and claims of the plan; inclusion policies
 *    apply);
 *  - a taint PreferNoSchedule that the pod does not tolerate.
 */
#ifndef KARP_CORE_PREFERENCE_H
#define KARP_CORE_PREFERENCE_H

#include "common/core/sched/sched.h"

enum preference_kind { PREFER_NODE, PREFER_NEAR, PREFER_APART, PREFER_SPREAD, PREFER_NO_TAINT };

struct preference_lost {
    const struct pod *pod;
    enum preference_kind kind;
    uint32_t index; /* in the pod's class: which term or constraint; of the place: which taint */
    const struct taint *taint;
};

/* By pod (namespace, name), kind, index; in a. */
uint32_t preference_lost(struct arena *a, const struct snapshot *s, const struct sched_result *r,
                         const struct preference_lost **ret);
/* "preferred pod affinity of weight 10 over topology.kubernetes.io/zone: app In [web]" */
void preference_fmt(const struct symtab *t, const struct preference_lost *p, struct buf *out);

#endif
