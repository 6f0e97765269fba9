/* attention_pods.c - pods without a home, grouped, and those that cannot be made: see attention.h.
 */
#include "attention_int.h"
#include "cmd/read/held.h"

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define GROUPS_MAX 100000u
#define REASON_TEXT_MAX 1024u

struct group {
    const struct pod *first; /* by namespace and name */
    const char *code, *why;
    int64_t since_ns; /* of the oldest */
    uint32_t n;
};

static int64_t waiting_since(const struct pod *p)
{
    return p->unschedulable_since_ns ? p->unschedulable_since_ns : p->m.created_ns;
}

static int pod_cmp(const struct pod *a, const struct pod *b)
{
    int c = str_cmp(a->m.ns, b->m.ns);
    return c ? c : str_cmp(a->m.name, b->m.name);
}

/* "no nodepool fits; nearest is gpu: does not tolerate taint …" */
static const char *explain(struct attention_ctx *x, const struct sched_refusal *r)
{
    AUTO_BUF struct buf text;
    buf_init(&text, REASON_TEXT_MAX);
    if (r->n_pools == 0) {
        reason_fmt(x->in->decision->snap.syms, &r->reason, &text);
        return arena_strdup(x->a, text.p);
    }
    const struct sched_pool_refusal *nearest = &r->pools[0];
    buf_printf(&text, "no nodepool fits; nearest is %s: ", nearest->pool->np->m.name);
    reason_fmt(x->in->decision->snap.syms, &nearest->reason, &text);
    return arena_strdup(x->a, text.p);
}

static void group_add(struct attention_ctx *x, struct map *groups, const struct sched_refusal *r)
{
    const struct pod *p = r->pod;
    const char *code = reason_name(r->reason.code), *why = explain(x, r);
    const char *owner = *p->owner_uid ? p->owner_uid : p->m.name;
    const char *key = arena_printf(x->a, "%s/%s/%s/%s", p->m.ns, owner, code, why);
    int64_t since = waiting_since(p);
    struct group *g = map_get(groups, key);
    if (!g) {
        g = ARENA_NEW(x->a, struct group);
        *g = (struct group){p, code, why, since, 0};
        (void)map_put(groups, key, g, NULL);
    }
    g->n++;
    g->first = pod_cmp(p, g->first) < 0 ? p : g->first;
    g->since_ns = since && since < g->since_ns ? since : g->since_ns;
}

static void group_tell(struct attention_ctx *x, const struct group *g)
{
    char age[TIMEFMT_TEXT];
    const struct pod *p = g->first;
    const char *more = g->n > 1 ? arena_printf(x->a, "and %u more like it ", g->n - 1) : "";
    const char *since =
        g->since_ns
            ? arena_printf(x->a, " %s", timefmt_age(x->in->world->now_ns - g->since_ns, age))
            : "";
    attention_add(x, TOPIC_POD, g->code, "pod",
                  arena_printf(x->a, "%s%s%s", p->m.ns, *p->m.ns ? "/" : "", p->m.name),
                  arena_printf(x->a, "%spending%s: %s", more, since, g->why),
                  x->in->world->live
                      ? arena_printf(x->a, "kubectl describe pod %s -n %s", p->m.name, p->m.ns)
                      : NULL);
}

static void about_held(struct attention_ctx *x)
{
    struct held_list l = {NULL, 0, 0};
    held_find(x->in->world, x->a, NULL, &l);
    for (size_t i = 0; i < l.n; i++) {
        const struct held *h = &l.v[i];
        attention_add(x, TOPIC_WORKLOAD, h->code, h->kind,
                      arena_printf(x->a, "%s/%s", h->ns, h->name),
                      arena_printf(x->a, "%lld pod%s not created: %s", (long long)h->missing,
                                   h->missing == 1 ? " is" : "s are", h->why),
                      x->in->world->live ? arena_printf(x->a, "kubectl describe %s %s -n %s",
                                                        h->kind, h->name, h->ns)
                                         : NULL);
    }
}

void attention_pods(struct attention_ctx *x)
{
    about_held(x);
    const struct sched_result *r = x->in->decision->result;
    struct map *groups = map_new(GROUPS_MAX);
    for (uint32_t i = 0; i < r->n_refused; i++) {
        const struct pod *p = r->refused[i].pod;
        if (p->node_name[0] == '\0' && !p->gated && pod_active(p)) {
            group_add(x, groups, &r->refused[i]);
        }
    }
    for (MAP_EACH(groups, e)) {
        group_tell(x, map_value(e));
    }
    map_free(groups);
}
