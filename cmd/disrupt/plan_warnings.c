/* plan_warnings.c - what a plan should be taken with care for: see plan.h. */
#include "cmd/explain/podview.h"
#include "plan.h"

#include "cmd/screen.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/core/labels.h"

#define SHARE_PODS_MIN 3u /* replicas of a workload that are worth spreading */
#define SHARE_PERCENT 50u /* of them on one node are too many */
#define WORKLOADS_SHOWN 20u

/* A workload with pods of the plan. */
struct workload {
    const struct pod *first;
    uint32_t pods; /* where they lie in the end, all of them */
    uint32_t most;
    const char *where; /* the place with the most */
};

struct shares {
    struct session *s;
    const struct plan *p;
    struct map *workloads; /* UID → 1 + place in v */
    struct map *counts;    /* "UID/place" → pods */
    struct workload *v;
    uint32_t n, cap;
};

static void add_workload(struct shares *c, const struct pod *p)
{
    if (*p->owner_uid && !map_has(c->workloads, p->owner_uid)) {
        ARENA_GROW(&c->s->a, c->v, c->n, c->cap);
        c->v[c->n++] = (struct workload){.first = p};
        (void)map_put(c->workloads, p->owner_uid, (void *)(uintptr_t)c->n, NULL);
    }
}

static void count_pod(struct shares *c, const struct pod *p, const char *where)
{
    size_t at = *p->owner_uid ? (size_t)(uintptr_t)map_get(c->workloads, p->owner_uid) : 0;
    if (at == 0) {
        return;
    }
    struct workload *w = &c->v[at - 1];
    const char *key = arena_printf(&c->s->a, "%s/%s", p->owner_uid, where);
    uint32_t n = (uint32_t)(uintptr_t)map_get(c->counts, key) + 1;
    (void)map_put(c->counts, key, (void *)(uintptr_t)n, NULL);
    w->pods++;
    if (n > w->most) {
        w->most = n;
        w->where = where;
    }
}

static void count_all(struct shares *c)
{
    struct arena *a = &c->s->a;
    const struct plan *p = c->p;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        for (uint32_t k = 0; k < p->nodes[i].n_pods; k++) {
            count_pod(c, p->nodes[i].pods[k], report_node(a, p->nodes[i].node));
        }
    }
    for (uint32_t i = 0; i < p->n_claims; i++) {
        const char *where =
            arena_printf(a, "new-%u of nodepool %s", i, p->claims[i]->pool->np->m.name);
        for (uint32_t k = 0; k < p->claims[i]->n_pods; k++) {
            count_pod(c, p->claims[i]->pods[k], where);
        }
    }
    for (uint32_t i = 0; i < c->s->d.snap.n_bound; i++) {
        const struct snapshot_bound *b = &c->s->d.snap.bound[i];
        if (pod_active(b->pod)) {
            count_pod(c, b->pod, report_node(a, b->node));
        }
    }
    for (uint32_t i = 0; i < p->n_refused; i++) {
        const struct pod *pod = p->refused[i].refusal->pod;
        size_t at = *pod->owner_uid ? (size_t)(uintptr_t)map_get(c->workloads, pod->owner_uid) : 0;
        if (at != 0) {
            c->v[at - 1].pods++; /* one of its replicas all the same */
        }
    }
}

static int workload_qsort(const void *x, const void *y)
{
    const struct workload *a = x, *b = y;
    int c = str_cmp(a->first->m.ns, b->first->m.ns);
    return c ? c : str_cmp(a->first->m.name, b->first->m.name);
}

/* "deployment/shop/api" */
static const char *workload_object(struct arena *a, const struct pod *p)
{
    const char *owner = podview_owner(a, p), *slash = strchr(owner, '/');
    char *kind = arena_strndup(a, owner, slash ? (size_t)(slash - owner) : strlen(owner));
    for (char *s = kind; *s; s++) {
        *s = *s >= 'A' && *s <= 'Z' ? (char)(*s - 'A' + 'a') : *s;
    }
    return arena_printf(a, "%s/%s%s", kind, p->m.ns, slash ? slash : "");
}

static void warn_shares(json_t *list, struct session *s, const struct plan *p)
{
    size_t max = (size_t)s->d.snap.n_pods + s->d.snap.n_bound + 1;
    struct shares c = {.s = s, .p = p, .workloads = map_new(max), .counts = map_new(max)};
    uint32_t told = 0, more = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        for (uint32_t k = 0; k < p->nodes[i].n_pods; k++) {
            add_workload(&c, p->nodes[i].pods[k]);
        }
    }
    for (uint32_t i = 0; i < p->n_claims; i++) {
        for (uint32_t k = 0; k < p->claims[i]->n_pods; k++) {
            add_workload(&c, p->claims[i]->pods[k]);
        }
    }
    count_all(&c);
    if (c.n > 1) {
        qsort(c.v, c.n, sizeof(*c.v), workload_qsort);
    }
    for (uint32_t i = 0; i < c.n; i++) {
        const struct workload *w = &c.v[i];
        if (w->pods < SHARE_PODS_MIN || w->most * 100 <= w->pods * SHARE_PERCENT) {
            continue;
        }
        more += told == WORKLOADS_SHOWN;
        if (told < WORKLOADS_SHOWN) {
            told++;
            report_warn(list, "WorkloadShare", workload_object(&s->a, w->first),
                        arena_printf(&s->a,
                                     "%u of its %u pods would lie on one node, %s (--max-share and "
                                     "annotation karp.dev/max-share bound that)",
                                     w->most, w->pods, w->where));
        }
    }
    if (more > 0) {
        report_warn(list, "WorkloadShare", arena_printf(&s->a, "%u more workloads", more),
                    "more than half of their pods would lie on one node");
    }
    map_free(c.workloads);
    map_free(c.counts);
}

static void warn_naked(json_t *list, struct session *s)
{
    const struct pod *first = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->d.snap.n_pods; i++) {
        const struct pod *pod = s->d.snap.pods[i];
        if (pod->owner != POWNER_NONE) {
            continue;
        }
        int c = first ? str_cmp(pod->m.ns, first->m.ns) : -1;
        c = c == 0 ? str_cmp(pod->m.name, first->m.name) : c;
        first = c < 0 ? pod : first;
        n++;
    }
    if (n > 0) {
        report_naked(list, &s->a, first, n);
    }
}

static void warn_held(json_t *list, struct session *s)
{
    for (size_t i = 0; i < s->held.n; i++) {
        const struct held *h = &s->held.v[i];
        report_warn(list, h->code, arena_printf(&s->a, "%s/%s/%s", h->kind, h->ns, h->name),
                    arena_printf(&s->a, "%lld of %lld new pods are created: %s", (long long)h->made,
                                 (long long)(h->made + h->missing), h->why));
    }
}

void plan_warnings(json_t *list, struct session *s, const struct plan *p)
{
    report_warnings(list, &s->a, s);
    warn_held(list, s);
    warn_shares(list, s, p);
    warn_naked(list, s);
}
