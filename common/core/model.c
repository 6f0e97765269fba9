/* model.c - see model.h */
#include "model.h"

#include "common/base/str.h"
#include "common/base/timefmt.h"

bool pod_terminal(const struct pod *p)
{
    return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

static bool pod_terminating(const struct pod *p)
{
    return p->m.deleted_ns != 0;
}

bool pod_active(const struct pod *p)
{
    return !pod_terminal(p) && !pod_terminating(p);
}

/* Bound to its node by whoever owns it: never placed by a scheduler. */
static bool pod_of_node(const struct pod *p)
{
    return p->owner == POWNER_DAEMONSET || p->owner == POWNER_NODE;
}

bool pod_provisionable(const struct pod *p)
{
    return p->unschedulable && pod_active(p) && p->node_name[0] == '\0' &&
           p->nominated_node[0] == '\0' && !pod_of_node(p);
}

bool pod_reschedulable(const struct pod *p)
{
    bool comes_back = p->owner == POWNER_STATEFULSET && pod_terminating(p);
    return (pod_active(p) || comes_back) && !pod_of_node(p);
}

bool pod_do_not_disrupt(const struct pod *p, int64_t now_ns)
{
    const char *value = kvs_get(&p->m.annotations, ANN_DO_NOT_DISRUPT);
    int64_t for_ns, until_ns;
    if (str_eq(value, "true")) {
        return true;
    }
    if (!value || !timefmt_parse_duration(value, &for_ns) || for_ns <= 0) {
        return false;
    }
    if (p->start_ns == 0) {
        return true;
    }
    return __builtin_add_overflow(p->start_ns, for_ns, &until_ns) || now_ns < until_ns;
}

bool pod_do_not_disrupt_unreadable(const struct pod *p)
{
    const char *value = kvs_get(&p->m.annotations, ANN_DO_NOT_DISRUPT);
    int64_t ns;
    return value && !str_eq(value, "true") && !str_eq(value, "false") &&
           (!timefmt_parse_duration(value, &ns) || ns <= 0);
}

const struct condition *condition_find(const struct conditions *c, const char *type)
{
    for (uint32_t i = 0; i < c->n; i++) {
        const char *t = c->v[i].type;
        if (*t == *type && strcmp(t, type) == 0) {
            return &c->v[i];
        }
    }
    return NULL;
}

enum status condition_status(const struct conditions *c, const char *type)
{
    const struct condition *found = condition_find(c, type);
    return found ? found->status : STATUS_ABSENT;
}

bool condition_true(const struct conditions *c, const char *type)
{
    return condition_status(c, type) == STATUS_TRUE;
}

bool nodeclaim_had_node(const struct nodeclaim *nc)
{
    return (nc->node_name && *nc->node_name) || condition_true(&nc->conditions, "Registered");
}

sym labels_get(const struct labels *l, sym key)
{
    uint32_t lo = 0, hi = l->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (l->v[mid].key < key) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < l->n && l->v[lo].key == key ? l->v[lo].value : SYM_NONE;
}

bool meta_has_finalizer(const struct meta *m, const char *finalizer)
{
    for (uint32_t i = 0; i < m->n_finalizers; i++) {
        if (str_eq(m->finalizers[i], finalizer)) {
            return true;
        }
    }
    return false;
}
