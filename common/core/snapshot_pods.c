/* snapshot_pods.c - pods in the order of their turns, and those that are bound; see snapshot.h. */
#include "snapshot_pods.h"

#include "common/base/keysort.h"
#include "common/base/sort.h"
#include "common/base/str.h"
#include "common/core/sched/sched.h"
#include "labelset.h"

#define PODS_PER_STEP 4096u
#define PODS_AHEAD 8u /* memory of pods that come next is asked for early */
_Static_assert(REASON_END <= UINT8_MAX, "a gate is a byte");

/* What is known of pods by their place in the input. */
struct known {
    uint8_t gate;
    const struct pod_class *cls; /* NULL: not to be placed */
    uint32_t labels;
};

enum stage { STAGE_LOOK, STAGE_LABELS, STAGE_SORT, STAGE_ORDER, STAGE_BOUND, STAGE_DONE };

struct snapshot_work {
    struct arena *a;
    struct snapshot_in in;
    struct snapshot *out;
    enum stage stage;
    uint32_t at; /* how far the stage is */
    /* the result as it grows */
    const struct pod **pods;
    const struct pod_class **classes;
    uint32_t *labels;
    uint8_t *gates;
    struct snapshot_bound *bound;
    const struct pod **moved; /* that count where they come to, by address */
    uint32_t n_moved;
    /* scratch, given back once pods are in order */
    struct arena_mark mark;
    struct known *known;
    struct keysort order;
    struct labelsets sets;
};

/* ---- orders ---------------------------------------------------------------------------------- */

static int cmp_i64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int cmp_size(const struct pod *a, const struct pod *b)
{
    const int64_t *ra = a->cls->requests.v, *rb = b->cls->requests.v;
    int c = cmp_i64(rb[RES_CPU], ra[RES_CPU]);
    c = c != 0 ? c : cmp_i64(rb[RES_MEMORY], ra[RES_MEMORY]);
    c = c != 0 ? c : cmp_i64(a->m.created_ns, b->m.created_ns);
    c = c != 0 ? c : str_cmp(a->m.uid, b->m.uid);
    c = c != 0 ? c : str_cmp(a->m.ns, b->m.ns);
    return c != 0 ? c : str_cmp(a->m.name, b->m.name);
}

int snapshot_pod_cmp(const struct pod *a, const struct pod *b)
{
    if (a->cls->priority != b->cls->priority) {
        return a->cls->priority > b->cls->priority ? -1 : 1;
    }
    return cmp_size(a, b);
}

static bool to_place(const struct snapshot *s, const struct pod *p)
{
    if (p->node_name[0] == '\0') {
        return pod_provisionable(p);
    }
    const struct snapshot_node *n = pod_reschedulable(p) ? snapshot_named(s, p->node_name) : NULL;
    return n != NULL && n->node != NULL && n->leaving;
}

static bool is_first(const struct snapshot_in *in, const struct pod *p)
{
    return in->n_first > 0 &&
           bsearch(&p->m.uid, in->first, in->n_first, sizeof(*in->first), str_qsort_cmp) != NULL;
}

static int cmp_tie(const void *ctx, uint32_t x, uint32_t y)
{
    const struct pod *const *pods = ctx;
    return cmp_size(pods[x], pods[y]);
}

/* Priority, then whether the last decision did not get to it, then what cmp_size asks for first. */
static void put_key(const struct snapshot_in *in, const struct pod *p, struct keysort_item *item)
{
    const struct pod_class *c = p->cls;
    item->key[0] = (uint64_t)(INT32_MAX - (int64_t)c->priority) << 1 | !is_first(in, p);
    item->key[1] = ~keysort_i64(c->requests.v[RES_CPU]);
    item->key[2] = ~keysort_i64(c->requests.v[RES_MEMORY]);
    item->key[3] = keysort_i64(p->m.created_ns);
    item->key[4] = keysort_text(p->m.uid);
}

static void note_asks(struct snapshot *s, const struct pod *p)
{
    const struct pod_class *c = p->cls;
    s->rules = s->rules || c->n_spreads + c->affinity.n + c->anti_affinity.n +
                                   c->prefer_affinity.n + c->avoid_affinity.n >
                               0;
    s->volumes = s->volumes || p->n_volumes > 0;
}

/* ---- to be placed ---------------------------------------------------------------------------- */

static void prefetch_pod(const struct pod *const *v, uint32_t n, uint32_t at)
{
    if (at + 2 * PODS_AHEAD < n) {
        const struct pod *p = v[at + 2 * PODS_AHEAD];
        __builtin_prefetch(&p->m);
        __builtin_prefetch(&p->cls);
        __builtin_prefetch(&p->phase);
    }
    if (at + PODS_AHEAD < n) {
        const struct pod *p = v[at + PODS_AHEAD];
        __builtin_prefetch(p->m.uid);
        __builtin_prefetch(p->cls);
        __builtin_prefetch(&p->cls->requests);
    }
}

/* Looks at each pod once, in the order of the input: as a rule they lie in memory like that. */
static void look_at(struct snapshot_work *w, uint32_t i)
{
    const struct pod *p = w->in.pods[i];
    prefetch_pod(w->in.pods, w->in.n_pods, i);
    if (to_place(w->out, p)) {
        put_key(&w->in, p, keysort_add(&w->order, i));
        note_asks(w->out, p);
        w->known[i] = (struct known){.gate = (uint8_t)sched_pod_gate(p), .cls = p->cls};
    }
}

/* Their texts lie behind them, as they were decoded. */
static void prefetch_labels(const struct pod *const *v, uint32_t n, uint32_t at)
{
    if (at + PODS_AHEAD < n) {
        const char *labels = (const char *)v[at + PODS_AHEAD]->labels.v;
        __builtin_prefetch(labels);
        __builtin_prefetch(labels + 64);
        __builtin_prefetch(labels + 128);
    }
}

static void number_labels(struct snapshot_work *w, uint32_t i)
{
    prefetch_labels(w->in.pods, w->in.n_pods, i);
    if (w->known[i].cls != NULL) {
        w->known[i].labels = labelset_of(&w->sets, w->in.pods[i]);
    }
}

static void put_in_order(struct snapshot_work *w, uint32_t i)
{
    uint32_t at = w->order.v[i].at;
    w->pods[i] = w->in.pods[at];
    w->classes[i] = w->known[at].cls;
    w->gates[i] = w->known[at].gate;
    w->labels[i] = w->known[at].labels;
}

static void begin_pods(struct snapshot_work *w)
{
    uint32_t n = w->in.n_pods;
    w->pods = ARENA_NEW_N(w->a, const struct pod *, n);
    w->classes = ARENA_NEW_N(w->a, const struct pod_class *, n);
    w->labels = ARENA_NEW_N(w->a, uint32_t, n);
    w->gates = ARENA_NEW_N(w->a, uint8_t, n);
    w->mark = arena_mark(w->a);
    w->known = ARENA_NEW_N(w->a, struct known, n);
    keysort_begin(&w->order, w->a, n);
    w->order.tie = cmp_tie;
    w->order.ctx = w->in.pods;
    w->sets.a = w->a;
}

static void end_pods(struct snapshot_work *w)
{
    struct snapshot *out = w->out;
    out->pods = w->pods;
    out->classes = w->classes;
    out->gates = w->gates;
    out->labels = out->rules ? w->labels : NULL;
    out->n_labels = w->sets.n;
    out->n_pods = w->order.n;
    arena_rewind(w->a, w->mark);
}

/* ---- bound ----------------------------------------------------------------------------------- */

static int cmp_address(const void *x, const void *y)
{
    uintptr_t a = (uintptr_t) * (const void *const *)x, b = (uintptr_t) * (const void *const *)y;
    return a < b ? -1 : a > b;
}

/* Pods that stay where they are; those that are moved count where they come to. */
static void begin_bound(struct snapshot_work *w)
{
    const struct snapshot_in *in = &w->in;
    w->moved = ARENA_NEW_N(w->a, const struct pod *, (size_t)w->out->n_pods + in->n_planned);
    for (uint32_t i = 0; i < w->out->n_pods; i++) {
        if (w->out->pods[i]->node_name[0] != '\0') {
            w->moved[w->n_moved++] = w->out->pods[i];
        }
    }
    for (uint32_t i = 0; i < in->n_planned; i++) {
        w->moved[w->n_moved++] = in->planned[i].pod;
    }
    sort_items(w->moved, w->n_moved, sizeof(*w->moved), cmp_address);
    w->bound = ARENA_NEW_N(w->a, struct snapshot_bound, (size_t)in->n_bound + in->n_planned);
    w->out->bound = w->bound;
}

static void add_bound(struct snapshot_work *w, const struct pod *p, const struct snapshot_node *n)
{
    w->out->bound_rules = w->out->bound_rules || p->cls->anti_affinity.n > 0;
    w->bound[w->out->n_bound++] = (struct snapshot_bound){p, n};
}

/* First those that are bound, then those that are planned. */
static void bind_one(struct snapshot_work *w, uint32_t i)
{
    const struct snapshot_in *in = &w->in;
    if (i >= in->n_bound) {
        const struct snapshot_planned *planned = &in->planned[i - in->n_bound];
        const struct snapshot_node *n = snapshot_find(w->out, planned->target);
        if (n != NULL) {
            add_bound(w, planned->pod, n);
        }
        return;
    }
    const struct pod *p = in->bound[i];
    const struct snapshot_node *n = snapshot_named(w->out, p->node_name);
    bool moves =
        w->n_moved > 0 && bsearch(&p, w->moved, w->n_moved, sizeof(*w->moved), cmp_address) != NULL;
    if (n != NULL && !pod_terminal(p) && !moves) {
        add_bound(w, p, n);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

struct snapshot_work *snapshot_pods_begin(struct arena *a, const struct snapshot_in *in,
                                          struct snapshot *out)
{
    struct snapshot_work *w = ARENA_NEW(a, struct snapshot_work);
    w->a = a;
    w->in = *in;
    w->out = out;
    return w;
}

/* A few more of n; true when there are no more. */
static bool some(struct snapshot_work *w, uint32_t n, void (*one)(struct snapshot_work *, uint32_t))
{
    for (uint32_t i = 0; i < PODS_PER_STEP && w->at < n; i++, w->at++) {
        one(w, w->at);
    }
    return w->at == n;
}

static void next_stage(struct snapshot_work *w, enum stage stage)
{
    w->stage = stage;
    w->at = 0;
}

bool snapshot_step(struct snapshot_work *w)
{
    switch (w->stage) {
    case STAGE_LOOK:
        if (w->known == NULL) {
            begin_pods(w);
        }
        if (some(w, w->in.n_pods, look_at)) {
            next_stage(w, w->out->rules ? STAGE_LABELS : STAGE_SORT);
        }
        return false;
    case STAGE_LABELS:
        if (some(w, w->in.n_pods, number_labels)) {
            next_stage(w, STAGE_SORT);
        }
        return false;
    case STAGE_SORT:
        if (keysort_step(&w->order)) {
            next_stage(w, STAGE_ORDER);
        }
        return false;
    case STAGE_ORDER:
        if (some(w, w->order.n, put_in_order)) {
            end_pods(w);
            begin_bound(w);
            next_stage(w, STAGE_BOUND);
        }
        return false;
    case STAGE_BOUND:
        if (some(w, w->in.n_bound + w->in.n_planned, bind_one)) {
            next_stage(w, STAGE_DONE);
        }
        return w->stage == STAGE_DONE;
    case STAGE_DONE:
        break;
    }
    return true;
}
