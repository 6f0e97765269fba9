/* sched_whatif.c - see sched_whatif.h. */
#include "sched_whatif.h"

#define WORK_CHUNK (64u << 10)

enum entry_kind { ENTRY_NODE, ENTRY_COUNT, ENTRY_GONE, ENTRY_WANT, ENTRY_DOMAINS };

struct whatif_entry {
    enum entry_kind kind;
    int delta;
    uint32_t at; /* domain or host number; position of a node */
    union {
        struct sched_node *node;
        struct topo_group *group;
        const struct topo_class *topo;
        struct topo_use *use;
    };
    union {
        const struct sched_node *was;
        const struct topo_use *use_was;
    };
};

struct whatif {
    struct arena keep, work;
    uint64_t *gone; /* positions that take nothing */
    uint32_t n_words;
    uint32_t *position; /* per node of the snapshot, SCHED_NO_CLAIM: no target */
    uint32_t trial, mark, epoch;
    uint32_t max_new;
    struct whatif_entry *log;
    uint32_t n_log, cap_log;
    whatif_price_fn *price;
    void *price_ctx;
};

/* ---- remembering ----------------------------------------------------------------------------- */

uint32_t whatif_next_node(struct sched *s, struct sched_ask *ask)
{
    const struct whatif *w = s->whatif;
    uint32_t from = ask->next_node;
    for (uint32_t i = from / 64; i < w->n_words; i++) {
        uint64_t bad = w->gone[i] | (ask->never != NULL ? ask->never[i] : 0);
        uint64_t left = ~bad & (i == from / 64 ? UINT64_MAX << from % 64 : UINT64_MAX);
        s->idle++;
        if (left != 0) {
            uint32_t at = i * 64 + (uint32_t)__builtin_ctzll(left);
            return at < s->n_nodes ? at : UINT32_MAX;
        }
    }
    return UINT32_MAX;
}

void whatif_node_refused(struct sched *s, struct sched_ask *ask, uint32_t node)
{
    if (s->nodes[node].trial == s->whatif->trial) {
        return; /* because of what this trial put there, perhaps */
    }
    if (ask->never == NULL) {
        ask->never = ARENA_NEW_N(s->keep, uint64_t, s->whatif->n_words);
    }
    bits_set(ask->never, node);
}

static void forget(struct claim_set *set)
{
    *set = (struct claim_set){NULL, 0, 0};
}

void whatif_refresh_ask(struct sched *s, struct sched_ask *ask)
{
    if (ask->epoch == s->whatif->epoch) {
        return;
    }
    ask->epoch = s->whatif->epoch;
    ask->next_node = 0;
    ask->state = 0;
    forget(&ask->nodes_refused);
    forget(&ask->refused);
    forget(&ask->refused_now);
    forget(&ask->accepted);
    memset(ask->pool_refused_now, 0, s->n_pools * sizeof(*ask->pool_refused_now));
}

void whatif_refresh_class(struct sched *s, struct sched_class *k)
{
    if (k->epoch != s->whatif->epoch) {
        k->epoch = s->whatif->epoch;
        k->refused = false;
    }
}

bool whatif_may_open(const struct sched *s)
{
    return s->n_claims < s->whatif->max_new;
}

bool whatif_accepts(const struct sched *s, const struct sched_open *c, const struct sched_trial *t)
{
    if (c->max_price == 0) {
        return true;
    }
    int64_t price = s->whatif->price(s->whatif->price_ctx, c->pool->in, t->types, t->offer);
    return price != PRICE_UNKNOWN && price <= c->max_price;
}

void whatif_freeze_prices(struct sched *s, whatif_price_fn *price, void *ctx)
{
    s->whatif->price = price;
    s->whatif->price_ctx = ctx;
    s->whatif->epoch++;
    for (uint32_t i = 0; i < s->n_claims; i++) {
        struct sched_open *c = s->claims[i];
        int64_t now = price(ctx, c->pool->in, c->types, c->offer);
        c->max_price = now > 0 ? now : 1;
    }
}

/* ---- the log --------------------------------------------------------------------------------- */

static struct whatif_entry *note(struct sched *s, enum entry_kind kind)
{
    struct whatif *w = s->whatif;
    ARENA_GROW(&w->work, w->log, w->n_log, w->cap_log);
    struct whatif_entry *e = &w->log[w->n_log++];
    *e = (struct whatif_entry){.kind = kind};
    return e;
}

void whatif_note_count(struct sched *s, struct topo_group *g, uint32_t at, int delta)
{
    struct whatif_entry *e = note(s, ENTRY_COUNT);
    e->group = g;
    e->at = at;
    e->delta = delta;
}

void whatif_save_domains(struct sched *s, struct topo_use *u)
{
    struct whatif_entry *e = note(s, ENTRY_DOMAINS);
    e->use = u;
    e->use_was = arena_memdup(&s->whatif->work, u, sizeof(*u));
}

bool whatif_refresh_use(const struct sched *s, struct topo_use *u)
{
    if (u->epoch == s->whatif->epoch) {
        return false;
    }
    u->epoch = s->whatif->epoch;
    return true;
}

static void own_volumes(struct arena *a, struct volume_load *v)
{
    v->drivers = arena_memdup(a, v->drivers, v->n * sizeof(*v->drivers));
    v->shared = arena_memdup(a, v->shared, v->n_shared * sizeof(*v->shared));
    v->cap = v->n;
    v->cap_shared = v->n_shared;
}

void whatif_save_node(struct sched *s, struct sched_node *n)
{
    struct whatif *w = s->whatif;
    if (n->saved == w->mark) {
        return;
    }
    struct whatif_entry *e = note(s, ENTRY_NODE);
    e->node = n;
    e->was = arena_memdup(&w->work, n, sizeof(*n));
    own_volumes(&w->work, &n->volumes);
    n->saved = w->mark;
    n->trial = w->trial;
}

static void undo_entry(struct sched *s, const struct whatif_entry *e)
{
    switch (e->kind) {
    case ENTRY_NODE:
        *e->node = *e->was;
        break;
    case ENTRY_COUNT:
        sched_topo_shift(s, e->group, e->at, -e->delta);
        break;
    case ENTRY_GONE:
        bits_clear(s->whatif->gone, e->at);
        break;
    case ENTRY_WANT:
        sched_topo_want(s, e->topo, -1);
        break;
    case ENTRY_DOMAINS:
        *e->use = *e->use_was;
        e->use->least_stamp = 0;
        break;
    }
}

/* ---- marks ----------------------------------------------------------------------------------- */

static uint32_t words_of(const struct sched_open *c)
{
    return catalog_words(c->pool->tm.catalog);
}

struct whatif_mark whatif_mark(struct sched *s)
{
    struct whatif *w = s->whatif;
    struct whatif_mark m = {.log = w->log,
                            .n_log = w->n_log,
                            .cap_log = w->cap_log,
                            .n_existing = s->result.n_existing,
                            .n_refused = s->result.n_refused,
                            .n_claims = s->n_claims,
                            .claims = s->claims,
                            .claims_cap = s->claims_cap,
                            .order = s->order,
                            .order_cap = s->order_cap};
    m.order_was = arena_memdup(&w->work, s->order, s->n_claims * sizeof(*s->order));
    m.pools_was = arena_memdup(&w->work, s->pools, s->n_pools * sizeof(*s->pools));
    m.reservations_was =
        arena_memdup(&w->work, s->reservations, s->n_reservations * sizeof(*s->reservations));
    m.claims_was = ARENA_NEW_N(&w->work, struct sched_open, s->n_claims);
    for (uint32_t i = 0; i < s->n_claims; i++) {
        struct sched_open *c = &m.claims_was[i];
        *c = *s->claims[i];
        c->types = arena_memdup(&w->work, c->types, words_of(c) * sizeof(*c->types));
        own_volumes(&w->work, &c->volumes);
    }
    w->mark++;
    m.mem = arena_mark(&w->work);
    return m;
}

void whatif_undo(struct sched *s, const struct whatif_mark *m)
{
    struct whatif *w = s->whatif;
    while (w->n_log > m->n_log) {
        undo_entry(s, &w->log[--w->n_log]);
    }
    w->log = m->log;
    w->cap_log = m->cap_log;
    s->result.n_existing = m->n_existing;
    s->result.n_refused = m->n_refused;
    s->n_claims = m->n_claims;
    s->claims = m->claims;
    s->claims_cap = m->claims_cap;
    s->order = m->order;
    s->order_cap = m->order_cap;
    if (m->n_claims > 0) {
        memcpy(s->order, m->order_was, m->n_claims * sizeof(*s->order));
    }
    memcpy(s->pools, m->pools_was, s->n_pools * sizeof(*s->pools));
    if (s->n_reservations > 0) {
        memcpy(s->reservations, m->reservations_was, s->n_reservations * sizeof(*s->reservations));
    }
    arena_rewind(&w->work, m->mem);
    for (uint32_t i = 0; i < m->n_claims; i++) {
        uint64_t *types = s->claims[i]->types;
        memcpy(types, m->claims_was[i].types, words_of(&m->claims_was[i]) * sizeof(*types));
        *s->claims[i] = m->claims_was[i];
        s->claims[i]->types = types;
        own_volumes(&w->work, &s->claims[i]->volumes);
    }
    w->mark++;
    w->epoch++;
}

/* ---- begin, end ------------------------------------------------------------------------------ */

struct sched *whatif_begin(struct arena *a, const struct snapshot *snap,
                           const struct sched_options *o, const struct pod *const *moving,
                           uint32_t n_moving)
{
    struct whatif *w = ARENA_NEW(a, struct whatif);
    struct sched_options opt = *o;
    opt.max_units = 0;
    opt.record_reasons = false;
    arena_init(&w->keep, WORK_CHUNK, SIZE_MAX);
    arena_init(&w->work, WORK_CHUNK, SIZE_MAX);
    struct sched *s = sched_begin_moving(&w->keep, snap, &opt, moving, n_moving);
    s->space = w;
    return s;
}

bool whatif_settle(struct sched *s, uint64_t units)
{
    return sched_step_placing(s, units);
}

/* Per node its new place: what has the lower rank is filled first, of equal ones as they stood. */
static uint32_t *by_rank(struct sched *s, const uint32_t *ranks)
{
    uint32_t top = 0;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        uint32_t rank = ranks[s->nodes[i].in - s->snap->nodes];
        top = rank > top ? rank : top;
    }
    uint32_t *next = ARENA_NEW_N(s->keep, uint32_t, (size_t)top + 2);
    uint32_t *ret = ARENA_NEW_N(s->keep, uint32_t, s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        next[ranks[s->nodes[i].in - s->snap->nodes] + 1]++;
    }
    for (uint32_t r = 1; r <= top; r++) {
        next[r] += next[r - 1];
    }
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        ret[i] = next[ranks[s->nodes[i].in - s->snap->nodes]]++;
    }
    return ret;
}

static void order_nodes(struct sched *s, const uint32_t *ranks)
{
    struct whatif *w = s->whatif;
    const uint32_t *at = by_rank(s, ranks);
    struct sched_node *nodes = ARENA_NEW_N(s->keep, struct sched_node, s->n_nodes);
    w->position = ARENA_NEW_N(s->keep, uint32_t, s->snap->n_nodes);
    memset(w->position, 0xff, s->snap->n_nodes * sizeof(*w->position));
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct snapshot_node *in = s->nodes[i].in;
        nodes[at[i]] = s->nodes[i];
        w->position[in - s->snap->nodes] = at[i];
        if (!in->initialized) {
            bits_set(w->gone, at[i]);
        }
    }
    s->nodes = nodes;
}

/* What was remembered while pending pods were placed holds no more. */
static void forget_asks(struct sched *s)
{
    for (uint32_t k = 0; k < s->n_classes; k++) {
        for (uint32_t i = 0; i < s->classes[k].n_asks; i++) {
            struct sched_ask *ask = s->classes[k].asks[i];
            if (ask != NULL) {
                sched_ask_forget_pools(s, s->classes[k].cls, ask);
            }
        }
    }
    for (uint32_t g = 0; g < s->topo.n_groups; g++) {
        s->topo.groups[g]->wanted = 0;
    }
}

/* Rules of all classes hear of the claims before they are closed: these will be nodes. */
static void learn_claims(struct sched *s)
{
    for (uint32_t i = 0; s->n_claims > 0 && i < s->n_classes; i++) {
        sched_topo_learn(s, s->classes[i].cls, s->classes[i].topo);
    }
}

/* Their units of reservations stay held. */
static void close_claims(struct sched *s, const struct resources *reserve)
{
    for (uint32_t i = 0; i < s->n_claims; i++) {
        struct sched_pool *p = s->claims[i]->pool;
        p->in_use = resources_add(s->keep, &p->in_use, &reserve[i], 1);
        p->nodes_in_use++;
        p->opened = 0;
        p->stale = NULL;
        p->room_failed = false;
        memset(p->reserved, 0, sizeof(p->reserved));
    }
    s->n_closed += s->n_claims;
    s->n_claims = s->claims_cap = s->order_cap = 0;
    s->claims = NULL;
    s->order = NULL;
}

static void close_pending(struct sched *s)
{
    struct resources *reserve = ARENA_NEW_N(s->keep, struct resources, s->n_claims);
    for (uint32_t i = 0; i < s->n_claims; i++) {
        const struct sched_open *c = s->claims[i];
        const struct catalog *cat = c->pool->tm.catalog;
        for (int t = bits_next(c->types, catalog_words(cat), 0); t >= 0;
             t = bits_next(c->types, catalog_words(cat), (uint32_t)t + 1)) {
            reserve[i] = resources_max(s->keep, &reserve[i], catalog_capacity(cat, (uint32_t)t));
        }
    }
    close_claims(s, reserve);
}

void whatif_start(struct sched *s, const uint32_t *ranks)
{
    struct whatif *w = s->space;
    w->n_words = (s->n_nodes + 63) / 64;
    w->gone = ARENA_NEW_N(s->keep, uint64_t, w->n_words);
    w->epoch = w->mark = w->trial = 1;
    learn_claims(s);
    s->whatif = w;
    close_pending(s);
    order_nodes(s, ranks);
    forget_asks(s);
    if (s->opt.preference == PREFERENCE_RESPECT) {
        s->opt.preference = PREFERENCE_REASONABLE;
    }
    s->a = &w->work;
}

void whatif_end(struct sched *s)
{
    if (s != NULL) {
        struct whatif *w = s->space; /* s lies in what it keeps */
        arena_done(&w->work);
        arena_done(&w->keep);
    }
}

size_t whatif_held_bytes(const struct sched *s)
{
    return arena_held_bytes(&s->space->keep) + arena_held_bytes(&s->space->work);
}

void whatif_hide(struct sched *s, const struct snapshot_node *n, bool hidden)
{
    uint32_t at = s->whatif->position[n - s->snap->nodes];
    if (at != SCHED_NO_CLAIM && hidden) {
        bits_set(s->whatif->gone, at);
    } else if (at != SCHED_NO_CLAIM && n->initialized) {
        bits_clear(s->whatif->gone, at);
    }
}

/* ---- trials ---------------------------------------------------------------------------------- */

void whatif_begin_trial(struct sched *s, uint32_t max_new)
{
    struct whatif *w = s->whatif;
    w->max_new = max_new;
    w->trial++;
    w->mark++;
    w->epoch++;
    s->result.n_existing = s->result.n_refused = 0;
}

void whatif_allow_new(struct sched *s, uint32_t max_new)
{
    s->whatif->max_new = max_new;
    s->whatif->epoch++;
}

void whatif_remove(struct sched *s, const struct snapshot_node *n, const uint32_t *pods,
                   uint32_t n_pods)
{
    struct whatif *w = s->whatif;
    uint32_t at = w->position[n - s->snap->nodes];
    if (at != SCHED_NO_CLAIM && !bits_test(w->gone, at)) {
        bits_set(w->gone, at);
        note(s, ENTRY_GONE)->at = at;
    }
    for (uint32_t i = 0; i < n_pods; i++) {
        const struct topo_class *topo = s->classes[s->class_of[pods[i]]].topo;
        if (topo != NULL && pod_active(s->pods[pods[i]])) {
            sched_topo_off_node(s, topo, n);
            w->epoch++; /* what the pod kept others from may be open to them now */
        }
        if (topo != NULL) {
            sched_topo_want(s, topo, 1);
            note(s, ENTRY_WANT)->topo = topo;
        }
    }
}

bool whatif_leave(struct sched *s, const struct snapshot_node *n, const uint32_t *pods,
                  uint32_t n_pods)
{
    whatif_remove(s, n, pods, n_pods);
    return sched_place_all(s, pods, n_pods);
}

struct sched_node *whatif_node(struct sched *s, const struct snapshot_node *n)
{
    uint32_t at = s->whatif->position[n - s->snap->nodes];
    return at == SCHED_NO_CLAIM || bits_test(s->whatif->gone, at) ? NULL : &s->nodes[at];
}

bool whatif_touched(const struct sched *s, const struct snapshot_node *n)
{
    uint32_t at = s->whatif->position[n - s->snap->nodes];
    return at != SCHED_NO_CLAIM && s->nodes[at].trial == s->whatif->trial;
}

/* What the work space holds of a node that stays changed. */
static void own_node(struct sched *s, struct sched_node *n)
{
    n->free.ext = arena_memdup(s->keep, n->free.ext, n->free.n_ext * sizeof(*n->free.ext));
    n->ports = arena_memdup(s->keep, n->ports, n->n_ports * sizeof(*n->ports));
    n->ports_cap = n->n_ports;
    own_volumes(s->keep, &n->volumes);
}

static void own_domains(struct sched *s, struct topo_use *u)
{
    u->domains = arena_memdup(s->keep, u->domains, u->n_domains * sizeof(*u->domains));
    u->cap_domains = u->n_domains;
}

void whatif_keep(struct sched *s, const struct snapshot_node *const *left, uint32_t n_left,
                 const struct resources *reserve)
{
    struct whatif *w = s->whatif;
    w->trial++;
    learn_claims(s);
    for (uint32_t i = 0; i < w->n_log; i++) {
        const struct whatif_entry *e = &w->log[i];
        if (e->kind == ENTRY_WANT) {
            sched_topo_want(s, e->topo, -1);
        } else if (e->kind == ENTRY_NODE && e->node->trial != w->trial) {
            e->node->trial = w->trial;
            own_node(s, e->node);
        } else if (e->kind == ENTRY_DOMAINS) {
            own_domains(s, e->use);
        }
    }
    for (uint32_t i = 0; i < n_left; i++) {
        for (uint32_t p = 0; p < s->n_pools; p++) {
            if (s->pools[p].in == left[i]->pool) {
                struct sched_pool *home = &s->pools[p];
                home->in_use = resources_add(s->keep, &home->in_use, &left[i]->capacity, -1);
                home->nodes_in_use--;
            }
        }
    }
    close_claims(s, reserve);
    w->log = NULL;
    w->n_log = w->cap_log = 0;
    arena_reset(&w->work);
    w->epoch++;
}
