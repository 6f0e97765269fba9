/* attention_leaving.c - pods that keep a node which leaves, or would not leave a spot node in time:
 * see attention.h. */
#include "attention_int.h"

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/disrupt/pdb.h"
#include "common/core/labels.h"

#define GROUPS_MAX 100000u
#define DISRUPTED "karpenter.sh/disrupted"

struct leaving_ctx {
    struct attention_ctx *x;
    struct pdb_index pdbs;
    struct map *groups;
};

/* Pods of one owner that are held alike. */
struct group {
    const struct pod *first; /* by namespace and name */
    const struct snapshot_node *n;
    const char *why, *fix;
    bool spot;
    uint32_t count;
};

/* ---- why a pod stays ---------------------------------------------------------------------------
 */

struct keeper {
    const char *why, *fix;
};

static const char *name_of(struct arena *a, const struct pod *p)
{
    return arena_printf(a, "%s/%s", p->m.ns, p->m.name);
}

static const char *amount(struct arena *a, const struct pdb *b)
{
    const struct pdb_amount *m = b->min_available.set ? &b->min_available : &b->max_unavailable;
    return arena_printf(a, "%s %d%s", b->min_available.set ? "minAvailable" : "maxUnavailable",
                        (int)m->value, m->percent ? "%" : "");
}

/* False: it leaves when it is asked to, sooner or later. */
static bool held(struct leaving_ctx *l, const struct pod *p, struct keeper *ret)
{
    struct arena *a = l->x->a;
    struct pdb_hit hit = pdb_of(&l->pdbs, p);
    if (pod_do_not_disrupt(p, l->x->in->world->now_ns)) {
        const char *value = kvs_get(&p->m.annotations, ANN_DO_NOT_DISRUPT);
        ret->why = str_eq(value, "true")
                       ? "it has karpenter.sh/do-not-disrupt"
                       : arena_printf(a, "it has karpenter.sh/do-not-disrupt for %s", value);
        ret->fix = arena_printf(a, "kubectl annotate pod -n %s %s %s-", p->m.ns, p->m.name,
                                ANN_DO_NOT_DISRUPT);
        return true;
    }
    switch (pdb_check(&l->pdbs, p, hit)) {
    case REASON_MultiplePDB:
        ret->why = arena_printf(a,
                                "PodDisruptionBudget %s is not the only one that selects it, and "
                                "no such pod can be evicted",
                                hit.pdb->name);
        ret->fix = arena_printf(a, "kubectl get pdb -n %s", p->m.ns);
        return true;
    case REASON_PDBPermanent:
        ret->why = arena_printf(
            a,
            "PodDisruptionBudget %s (%s) wants %lld of %lld pods healthy, so it never lets one go",
            hit.pdb->name, amount(a, hit.pdb->pdb), (long long)hit.pdb->desired,
            (long long)hit.pdb->expected);
        ret->fix = arena_printf(a, "kubectl edit pdb -n %s %s", p->m.ns, hit.pdb->pdb->m.name);
        return true;
    default:
        return false;
    }
}

/* A drain waits for it. */
static bool counts(const struct leaving_ctx *l, const struct pod *p)
{
    sym key = sym_find(l->x->in->decision->snap.syms, DISRUPTED);
    const struct taint disrupted = {.key = key, .value = V_EMPTY, .effect = EFFECT_NO_SCHEDULE};
    return pod_active(p) && p->owner != POWNER_NODE &&
           !(key && taint_tolerated(&disrupted, &p->cls->tolerations));
}

/* ---- groups ------------------------------------------------------------------------------------
 */

static int pod_cmp(const struct pod *a, const struct pod *b)
{
    int c = str_cmp(a->m.ns, b->m.ns);
    return c ? c : str_cmp(a->m.name, b->m.name);
}

static void group_add(struct leaving_ctx *l, const struct pod *p, const struct snapshot_node *n,
                      const struct keeper *h, bool spot)
{
    struct arena *a = l->x->a;
    const char *owner = *p->owner_uid ? p->owner_uid : p->m.name;
    const char *key = arena_printf(a, "%s/%s/%s/%s", spot ? "" : n->name, p->m.ns, owner, h->why);
    struct group *g = map_get(l->groups, key);
    if (!g) {
        g = ARENA_NEW(a, struct group);
        *g = (struct group){p, n, h->why, h->fix, spot, 0};
        (void)map_put(l->groups, key, g, NULL);
    }
    g->count++;
    if (pod_cmp(p, g->first) < 0) {
        g->first = p;
        g->fix = h->fix;
    }
}

static bool on_spot(const struct leaving_ctx *l, const struct snapshot_node *n)
{
    return str_eq(fleet_label(&l->x->in->decision->snap, n, L_CAPACITY_TYPE), "spot");
}

static void look_at(struct leaving_ctx *l, const struct pod *p)
{
    const struct snapshot_node *n =
        *p->node_name ? snapshot_find(&l->x->in->decision->snap, p->node_name) : NULL;
    struct keeper h = {.why = NULL};
    if (!n || !n->node || !fleet_managed(n) || !counts(l, p)) {
        return;
    }
    bool going = n->node->m.deleted_ns || (n->claim && n->claim->m.deleted_ns);
    if (held(l, p, &h)) {
        if (going || on_spot(l, n)) {
            group_add(l, p, n, &h, !going);
        }
    } else if (!going && p->grace_ns > ATTENTION_SPOT_NS && p->owner != POWNER_DAEMONSET &&
               on_spot(l, n)) {
        h.why = arena_printf(l->x->a, "its terminationGracePeriodSeconds is %lld",
                             (long long)(p->grace_ns / NS_PER_S));
        group_add(l, p, n, &h, true);
    }
}

/* ---- telling -----------------------------------------------------------------------------------
 */

static const char *what_ends_it(struct attention_ctx *x, const struct snapshot_node *n)
{
    const char *at = n->claim ? kvs_get(&n->claim->m.annotations, ANN_TERMINATION_TIME) : NULL;
    return at ? arena_printf(x->a, "deleted at %s with the node", at)
              : "no terminationGracePeriod ends it";
}

static void tell(struct attention_ctx *x, const struct group *g)
{
    const char *more = g->count > 1 ? arena_printf(x->a, " and %u more like it", g->count - 1) : "";
    const char *pod = name_of(x->a, g->first);
    if (g->spot) {
        attention_add(x, TOPIC_POD, "SlowOnSpot", "pod", pod,
                      arena_printf(x->a, "%s%son spot, where 2 minutes are left to leave: %s",
                                   *more ? more + 1 : "", *more ? " " : "", g->why),
                      g->fix);
        return;
    }
    char age[TIMEFMT_TEXT];
    int64_t since = g->n->node->m.deleted_ns ? g->n->node->m.deleted_ns : g->n->claim->m.deleted_ns;
    timefmt_age(x->in->world->now_ns - since, age);
    attention_add(x, TOPIC_NODE, "CannotLeave", "node", g->n->name,
                  arena_printf(x->a, "leaving for %s, but %s%s cannot go: %s; %s", age, pod, more,
                               g->why, what_ends_it(x, g->n)),
                  g->fix);
}

static void about_volumes(struct attention_ctx *x, const struct nodeclaim *nc)
{
    const struct condition *c = condition_find(&nc->conditions, "VolumesDetached");
    char age[TIMEFMT_TEXT];
    if (!nc->m.deleted_ns || !c || c->status != STATUS_UNKNOWN || !*c->message ||
        x->in->world->now_ns - c->transition_ns <= ATTENTION_DETACH_NS) {
        return;
    }
    attention_add(x, TOPIC_CLAIM, "SlowDetach", "nodeclaim", nc->m.name,
                  arena_printf(x->a, "drained, but waiting for %s already: %s",
                               timefmt_age(x->in->world->now_ns - c->transition_ns, age),
                               c->message),
                  "kubectl get volumeattachments");
}

void attention_leaving(struct attention_ctx *x)
{
    const struct world *w = x->in->world;
    struct leaving_ctx l = {.x = x, .groups = map_new(GROUPS_MAX)};
    pdb_index_build(x->a, &x->in->decision->snap, &l.pdbs);
    for (size_t i = 0; i < world_n(w, KIND_POD); i++) {
        look_at(&l, world_at(w, KIND_POD, i));
    }
    for (MAP_EACH(l.groups, e)) {
        tell(x, map_value(e));
    }
    map_free(l.groups);
    for (size_t i = 0; i < world_n(w, KIND_NODE_CLAIM); i++) {
        about_volumes(x, world_at(w, KIND_NODE_CLAIM, i));
    }
}
