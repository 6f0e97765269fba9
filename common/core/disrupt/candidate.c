/* candidate.c - see candidate.h. Costs and prices: candidate_cost.c, empty nodes:
 * candidate_empty.c. */
#include "candidate.h"

#include "common/base/sort.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/labels.h"

#define NEVER INT64_MAX /* clock.h's NS_NEVER */

enum reason_code candidate_gate_code(enum candidate_gate_id id)
{
    static const enum reason_code codes[GATE_COUNT] = {
#define X(name) [GATE_##name] = REASON_##name,
        CANDIDATE_GATES(X)
#undef X
    };
    return codes[id];
}

int64_t candidate_consolidatable_at(const struct nodepool *np, const struct nodeclaim *nc)
{
    const struct condition *init = condition_find(&nc->conditions, "Initialized");
    if (init == NULL || init->status != STATUS_TRUE) {
        return 0;
    }
    if (np->consolidate_after_ns == DURATION_NEVER) {
        return NEVER;
    }
    int64_t from = nc->last_pod_event_ns != 0 ? nc->last_pod_event_ns : init->transition_ns;
    int64_t after = np->consolidate_after_ns > 0 ? np->consolidate_after_ns : 0, ret;
    return __builtin_add_overflow(from, after, &ret) ? NEVER : ret;
}

/* ---- who is where ---------------------------------------------------------------------------- */

static int cmp_pod(const void *x, const void *y)
{
    const struct pod *a = *(const struct pod *const *)x, *b = *(const struct pod *const *)y;
    int c = str_cmp(a->m.ns, b->m.ns);
    c = c != 0 ? c : str_cmp(a->m.name, b->m.name);
    return c != 0 ? c : str_cmp(a->m.uid, b->m.uid);
}

static void note_hits(struct arena *a, const struct pdb_index *x, struct candidate_pods *at)
{
    struct pdb_hit *hits = ARENA_NEW_N(a, struct pdb_hit, at->n);
    for (uint32_t i = 0; i < at->n; i++) {
        hits[i] = pdb_of(x, at->pods[i]);
    }
    at->pdbs = hits;
}

static void add_costs(struct candidate_pods *at)
{
    for (uint32_t i = 0; i < at->n; i++) {
        if (pod_reschedulable(at->pods[i])) {
            int64_t cost = candidate_pod_cost(at->pods[i]);
            at->n_moving++;
            at->cost_micro += cost > 0 ? cost : 0;
        }
    }
}

void candidate_index_build(struct arena *a, const struct snapshot *s, struct candidate_index *ret)
{
    struct candidate_pods *nodes = ARENA_NEW_N(a, struct candidate_pods, s->n_nodes);
    const struct pod **pods = ARENA_NEW_N(a, const struct pod *, s->n_bound);
    uint32_t *at = ARENA_NEW_N(a, uint32_t, s->n_nodes), sum = 0;
    for (uint32_t i = 0; i < s->n_bound; i++) {
        nodes[s->bound[i].node - s->nodes].n++;
    }
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        nodes[i].pods = pods + sum;
        at[i] = sum;
        sum += nodes[i].n;
    }
    for (uint32_t i = 0; i < s->n_bound; i++) {
        pods[at[s->bound[i].node - s->nodes]++] = s->bound[i].pod;
    }
    pdb_index_build(a, s, &ret->pdbs);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        sort_items(pods + (nodes[i].pods - pods), nodes[i].n, sizeof(*pods), cmp_pod);
        if (ret->pdbs.n > 0) {
            note_hits(a, &ret->pdbs, &nodes[i]);
        }
        add_costs(&nodes[i]);
    }
    ret->nodes = nodes;
}

static const struct candidate_pods *pods_of(const struct candidate_in *in,
                                            const struct snapshot_node *n)
{
    return in->index != NULL ? &in->index->nodes[n - in->snap->nodes] : NULL;
}

bool candidate_is_empty(const struct candidate_in *in, const struct snapshot_node *n)
{
    const struct candidate_pods *at = pods_of(in, n);
    if (n->usage != NULL && n->usage->pods + n->usage->waiting_evict > 0) {
        return false;
    }
    for (uint32_t i = 0; at != NULL && i < at->n; i++) {
        if (at->pods[i]->owner != POWNER_DAEMONSET && at->pods[i]->owner != POWNER_NODE) {
            return false;
        }
    }
    return true;
}

/* ---- one pod --------------------------------------------------------------------------------- */

static struct reason refusal(enum reason_code code)
{
    return (struct reason){.code = code, .short_of = {.res = RES_FIXED}};
}

/* In force for an active pod, and for one that is being terminated until its grace is over. */
static bool protects(const struct pod *p, int64_t now_ns)
{
    bool here = pod_active(p) || (!pod_terminal(p) && now_ns < p->m.deleted_ns);
    return here && pod_do_not_disrupt(p, now_ns);
}

static bool tolerates_disruption(const struct symtab *t, const struct pod *p)
{
    struct taint taint = {sym_find(t, TAINT_DISRUPTED), V_EMPTY, EFFECT_NO_SCHEDULE};
    return taint_tolerated(&taint, &p->cls->tolerations);
}

static bool evictable(const struct candidate_in *in, const struct pod *p)
{
    return pod_active(p) && p->owner != POWNER_NODE && !tolerates_disruption(in->snap->syms, p) &&
           !pod_do_not_disrupt(p, in->snap->now_ns);
}

static const char *pod_name(const struct candidate_in *in, const struct pod *p)
{
    return in->a != NULL ? arena_printf(in->a, "%s/%s", p->m.ns, p->m.name) : p->m.name;
}

static void blame(const struct candidate_in *in, const struct pod *p, struct pdb_hit hit,
                  struct reason *r)
{
    r->object = pod_name(in, p);
    if (hit.pdb != NULL) {
        r->object2 = hit.pdb->name;
        r->limit = hit.pdb->allowed;
    }
}

struct reason candidate_pod(const struct candidate_in *in, const struct pod *p)
{
    struct reason r = refusal(REASON_NONE);
    struct pdb_hit hit = {NULL, false};
    if (p->owner == POWNER_DAEMONSET || p->owner == POWNER_NODE) {
        r.code = p->owner == POWNER_NODE ? REASON_StaticPod : REASON_DaemonSetPod;
    } else if (protects(p, in->snap->now_ns)) {
        r.code = REASON_DoNotDisruptPod;
    } else if (in->index != NULL && evictable(in, p)) {
        hit = pdb_of(&in->index->pdbs, p);
        r.code = pdb_check(&in->index->pdbs, p, hit);
    }
    if (r.code != REASON_NONE) {
        blame(in, p, hit, &r);
    }
    return r;
}

/* ---- gates ----------------------------------------------------------------------------------- */

/* Each tells whether the node passes and fills operands; the code is filled by the caller. */
typedef bool gate_fn(const struct candidate_in *in, const struct snapshot_node *n,
                     struct reason *r);

static bool gate_managed(const struct candidate_in *in UNUSED, const struct snapshot_node *n,
                         struct reason *r UNUSED)
{
    return n->claim != NULL && n->pool != NULL;
}

static bool gate_initialized(const struct candidate_in *in UNUSED, const struct snapshot_node *n,
                             struct reason *r UNUSED)
{
    return n->node != NULL && n->initialized &&
           condition_true(&n->claim->conditions, "Initialized");
}

static bool gate_deleting(const struct candidate_in *in, const struct snapshot_node *n,
                          struct reason *r UNUSED)
{
    return !n->leaving && !(in->facts.in_command != NULL && in->facts.in_command(in->facts.ctx, n));
}

static bool gate_held(const struct candidate_in *in, const struct snapshot_node *n,
                      struct reason *r)
{
    r->text = in->facts.held != NULL ? in->facts.held(in->facts.ctx, n) : NULL;
    return r->text == NULL;
}

static bool gate_nominated(const struct candidate_in *in, const struct snapshot_node *n,
                           struct reason *r)
{
    return in->facts.nominated == NULL || !in->facts.nominated(in->facts.ctx, n, &r->object);
}

/* "false" is the only value that allows; what cannot be read forbids. */
static bool forbids(const struct meta *m)
{
    const char *v = kvs_get(&m->annotations, ANN_DO_NOT_DISRUPT);
    return v != NULL && !str_eq(v, "false");
}

static bool gate_mark(const struct candidate_in *in UNUSED, const struct snapshot_node *n,
                      struct reason *r UNUSED)
{
    return !forbids(&n->node->m) && !forbids(&n->claim->m);
}

/* Pods do not keep a drifted node whose end has a deadline. */
static bool pods_waived(const struct candidate_in *in, const struct snapshot_node *n)
{
    return in->reason == DISRUPT_DRIFTED && n->claim->termination_grace_ns != DURATION_ABSENT;
}

static bool gate_pods(const struct candidate_in *in, const struct snapshot_node *n,
                      struct reason *r)
{
    const struct candidate_pods *at = pods_of(in, n);
    if (at == NULL) {
        r->count = n->usage != NULL ? n->usage->do_not_disrupt : 0;
    }
    for (uint32_t i = 0; at != NULL && i < at->n; i++) {
        if (protects(at->pods[i], in->snap->now_ns)) {
            r->object = r->count++ == 0 ? pod_name(in, at->pods[i]) : r->object;
        }
    }
    return r->count == 0 || pods_waived(in, n);
}

/* The first pod that the budget gate of this code speaks about. */
static bool gate_pdbs(const struct candidate_in *in, const struct snapshot_node *n,
                      enum reason_code code, struct reason *r)
{
    const struct candidate_pods *at = pods_of(in, n);
    const struct pdb_state *tightest = NULL;
    bool any = at != NULL && (at->pdbs != NULL || in->index->pdbs.unknown);
    for (uint32_t i = 0; any && i < at->n; i++) {
        struct pdb_hit hit = at->pdbs != NULL ? at->pdbs[i] : (struct pdb_hit){NULL, false};
        if ((hit.pdb == NULL && !in->index->pdbs.unknown) || !evictable(in, at->pods[i])) {
            continue;
        }
        if (pdb_check(&in->index->pdbs, at->pods[i], hit) == code) {
            blame(in, at->pods[i], hit, r);
            r->count++;
            return pods_waived(in, n);
        }
        if (hit.pdb != NULL && (tightest == NULL || hit.pdb->allowed < tightest->allowed)) {
            tightest = hit.pdb;
        }
    }
    if (tightest != NULL) {
        r->object2 = tightest->name;
        r->limit = tightest->allowed;
    }
    return true;
}

static bool gate_multiple(const struct candidate_in *in, const struct snapshot_node *n,
                          struct reason *r)
{
    return gate_pdbs(in, n, REASON_MultiplePDB, r);
}

static bool gate_permanent(const struct candidate_in *in, const struct snapshot_node *n,
                           struct reason *r)
{
    return gate_pdbs(in, n, REASON_PDBPermanent, r);
}

static bool gate_pdb(const struct candidate_in *in, const struct snapshot_node *n, struct reason *r)
{
    bool pass = gate_pdbs(in, n, REASON_PDB, r);
    if (in->index != NULL && in->index->pdbs.unknown) {
        r->text = "PodDisruptionBudgets cannot be read";
    }
    return pass;
}

static bool gate_policy(const struct candidate_in *in, const struct snapshot_node *n,
                        struct reason *r)
{
    const struct nodepool *np = n->pool->np;
    bool drifted = in->reason == DISRUPT_DRIFTED;
    if (np->is_static) {
        r->text = "the pool is static";
    } else if (np->consolidate_after_ns == DURATION_NEVER && !drifted && !in->any_policy) {
        r->text = "consolidateAfter is Never";
    } else if (in->reason == DISRUPT_UNDERUTILIZED && np->policy == POLICY_EMPTY &&
               !in->any_policy) {
        r->text = "the pool removes empty nodes only";
    } else if (in->reason == DISRUPT_EMPTY && !candidate_is_empty(in, n)) {
        r->count = n->usage != NULL ? n->usage->pods + n->usage->waiting_evict : 0;
        r->text = "it carries pods, and only empty nodes are removed";
    }
    return r->text == NULL;
}

static bool gate_fields(const struct candidate_in *in UNUSED, const struct snapshot_node *n,
                        struct reason *r)
{
    const struct nodepool *np = n->pool->np;
    const struct nodeclass *cls = n->pool->cls;
    const char *texts[] = {np->unknown_field, np->problem, n->claim->problem,
                           cls ? cls->unknown_field : NULL, cls ? cls->problem : NULL};
    for (size_t i = 0; i < ARRAY_LEN(texts) && r->text == NULL; i++) {
        r->text = texts[i];
    }
    return r->text == NULL;
}

static bool gate_launches(const struct candidate_in *in, const struct snapshot_node *n,
                          struct reason *r UNUSED)
{
    return in->facts.launches_failing == NULL ||
           !in->facts.launches_failing(in->facts.ctx, n->pool);
}

static bool gate_clock(const struct candidate_in *in, const struct snapshot_node *n UNUSED,
                       struct reason *r UNUSED)
{
    return !in->facts.clock_skew;
}

/* How long a node of the pool is left alone; what cannot be read is for ever. */
static int64_t least_life(const struct candidate_in *in, const struct snapshot_node *n)
{
    const char *text = kvs_get(&n->pool->np->m.annotations, ANN_MIN_NODE_LIFE);
    int64_t ret;
    if (text == NULL) {
        return in->min_node_life_ns;
    }
    return timefmt_parse_duration_days(text, &ret) && ret >= 0 ? ret : NEVER;
}

int64_t candidate_churn_until(const struct nodepool *np)
{
    const struct condition *c = condition_find(&np->conditions, "ChurnGuard");
    return c && c->status == STATUS_TRUE ? c->transition_ns + CANDIDATE_CHURN_NS : 0;
}

static bool gate_churn(const struct candidate_in *in, const struct snapshot_node *n,
                       struct reason *r)
{
    bool asked = in->reason == DISRUPT_UNDERUTILIZED;
    int64_t until = asked && in->facts.churn_until ? in->facts.churn_until(in->facts.ctx, n) : 0;
    int64_t life = asked ? least_life(in, n) : 0, end;
    if (life > 0 && __builtin_add_overflow(n->claim->m.created_ns, life, &end)) {
        end = NEVER;
    }
    if (life > 0 && end > until) {
        until = end;
        r->text = life == NEVER ? ANN_MIN_NODE_LIFE " cannot be read" : "its node is young";
    }
    r->until_ns = until == NEVER ? 0 : until;
    return until <= in->snap->now_ns;
}

static bool gate_waiting(const struct candidate_in *in, const struct snapshot_node *n,
                         struct reason *r)
{
    int64_t peace =
        in->facts.let_go_until ? in->facts.let_go_until(in->facts.ctx, n, in->reason) : 0;
    if (peace > in->snap->now_ns) {
        r->until_ns = peace;
        r->text = "what was begun with it came to nothing: it is left in peace";
        return false;
    }
    if (in->reason == DISRUPT_DRIFTED ||
        (in->any_policy && n->pool->np->consolidate_after_ns == DURATION_NEVER)) {
        return true;
    }
    const struct condition *init = condition_find(&n->claim->conditions, "Initialized");
    int64_t since = n->claim->last_pod_event_ns;
    r->since_ns = since != 0 ? since : init != NULL ? init->transition_ns : 0;
    r->until_ns = candidate_consolidatable_at(n->pool->np, n->claim);
    return r->until_ns <= in->snap->now_ns;
}

static bool gate_type(const struct candidate_in *in, const struct snapshot_node *n,
                      struct reason *r)
{
    int type;
    (void)candidate_price(n, &type);
    const struct req *label = reqset_get(&n->labels, L_INSTANCE_TYPE);
    r->nearest_type = label != NULL ? req_single(label) : SYM_NONE;
    return in->reason != DISRUPT_UNDERUTILIZED || type >= 0;
}

static bool gate_price(const struct candidate_in *in UNUSED, const struct snapshot_node *n,
                       struct reason *r UNUSED)
{
    return candidate_price(n, NULL) != PRICE_UNKNOWN;
}

static bool gate_stale(const struct candidate_in *in, const struct snapshot_node *n UNUSED,
                       struct reason *r)
{
    r->since_ns = in->facts.prices_ns;
    return in->facts.prices_ns == 0 ||
           in->snap->now_ns - in->facts.prices_ns <= CANDIDATE_PRICE_MAX_AGE_NS;
}

static bool gate_price_suspect(const struct candidate_in *in, const struct snapshot_node *n,
                               struct reason *r UNUSED)
{
    return in->facts.price_suspect == NULL || !in->facts.price_suspect(in->facts.ctx, n->pool);
}

static bool gate_drift_suspect(const struct candidate_in *in, const struct snapshot_node *n,
                               struct reason *r UNUSED)
{
    return in->reason != DISRUPT_DRIFTED || in->facts.drift_suspect == NULL ||
           !in->facts.drift_suspect(in->facts.ctx, n->pool);
}

static gate_fn *const gates[GATE_COUNT] = {
    [GATE_NotManaged] = gate_managed,
    [GATE_NotInitialized] = gate_initialized,
    [GATE_Deleting] = gate_deleting,
    [GATE_Held] = gate_held,
    [GATE_Nominated] = gate_nominated,
    [GATE_DoNotDisruptNode] = gate_mark,
    [GATE_DoNotDisruptPod] = gate_pods,
    [GATE_MultiplePDB] = gate_multiple,
    [GATE_PDBPermanent] = gate_permanent,
    [GATE_PDB] = gate_pdb,
    [GATE_Policy] = gate_policy,
    [GATE_UnknownFields] = gate_fields,
    [GATE_LaunchesFailing] = gate_launches,
    [GATE_ClockSkew] = gate_clock,
    [GATE_ChurnGuard] = gate_churn,
    [GATE_Waiting] = gate_waiting,
    [GATE_UnknownType] = gate_type,
    [GATE_UnknownPrice] = gate_price,
    [GATE_PriceStale] = gate_stale,
    [GATE_PriceSuspect] = gate_price_suspect,
    [GATE_DriftSuspect] = gate_drift_suspect,
};

static struct candidate_gate ask(const struct candidate_in *in, const struct snapshot_node *n,
                                 int id)
{
    struct candidate_gate g = {.pass = true, .asked = true};
    g.reason = refusal(candidate_gate_code((enum candidate_gate_id)id));
    if (gates[id] != NULL) {
        g.pass = gates[id](in, n, &g.reason);
    }
    return g;
}

/* Most nodes pass nearly all of them: only the one that fails is asked for its operands. */
static struct reason first_failing(const struct candidate_in *in, const struct snapshot_node *n,
                                   int from, int to, unsigned skip)
{
    struct reason unused = refusal(REASON_NONE);
    for (int id = from; id <= to; id++) {
        if (gates[id] != NULL && (skip >> id & 1) == 0 && !gates[id](in, n, &unused)) {
            return ask(in, n, id).reason;
        }
    }
    return refusal(REASON_NONE);
}

static struct reason check(const struct candidate_in *in, const struct snapshot_node *n, bool held)
{
    unsigned skip = 1u << GATE_UnknownPrice | 1u << GATE_PriceStale | 1u << GATE_PriceSuspect;
    skip |= held ? 0 : 1u << GATE_Held;
    return first_failing(in, n, 0, GATE_Budget - 1, skip);
}

struct reason candidate_check(const struct candidate_in *in, const struct snapshot_node *n)
{
    return check(in, n, true);
}

struct reason candidate_check_but_held(const struct candidate_in *in, const struct snapshot_node *n)
{
    return check(in, n, false);
}

struct reason candidate_price_gate(const struct candidate_in *in, const struct snapshot_node *n)
{
    return first_failing(in, n, GATE_UnknownType, GATE_PriceSuspect, 0);
}

void candidate_gates(const struct candidate_in *in, const struct snapshot_node *n,
                     struct candidate_gate ret[GATE_COUNT])
{
    bool managed = n->claim != NULL && n->pool != NULL && n->node != NULL;
    for (int id = 0; id < GATE_COUNT; id++) {
        bool can = id <= GATE_NotInitialized || managed;
        if (id < GATE_Budget && can && (id != GATE_NotInitialized || n->claim != NULL)) {
            ret[id] = ask(in, n, id);
        } else {
            ret[id] = (struct candidate_gate){.pass = true};
            ret[id].reason = refusal(candidate_gate_code((enum candidate_gate_id)id));
        }
    }
}
