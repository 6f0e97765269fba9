/* improve_turn.c - who comes when in the replay; see improve_play.h. */
#include "common/base/sort.h"
#include "improve_play.h"

#define PODS_AHEAD 8u /* memory of pods that come next is asked for early */
#define PODS_PER_STEP 4096u
#define LOOKS_PER_SORT 8192u /* that a step of sorting stands for */
#define FIXED_MAX 1000000u   /* kinds times fixed places; with more they are left out */

/* What is planned for each pod. */
struct turns {
    struct arrival *v;
    uint32_t n;
};

static void add_turn(const struct improve *m, struct turns *t, uint32_t pod, uint32_t kind,
                     uint32_t place)
{
    t->v[pod] = (struct arrival){.pod = pod,
                                 .kind = kind,
                                 .place = place,
                                 .bay = place < m->n_bins ? m->bins[place].bay : IMPROVE_NONE,
                                 .next = true};
    t->n++;
}

static void add_bins(const struct improve *m, struct turns *t)
{
    for (uint32_t i = 0; i < m->n_bins; i++) {
        const struct improve_bin *b = &m->bins[i];
        for (uint32_t l = 0; l < b->n_lots; l++) {
            for (uint32_t p = 0; p < b->lots[l].n; p++) {
                add_turn(m, t, b->lots[l].pods[p], b->lots[l].kind, i);
            }
        }
    }
}

static void add_taken(struct improve *m, struct turns *t, const struct sched_taken *taken,
                      uint32_t place)
{
    uint32_t kind = improve_kind(m, m->s->class_of[taken->pod], taken->way);
    add_turn(m, t, taken->pod, kind, place);
}

/* Claims that are left alone: as large as the smallest of their types. */
static void add_claims(struct improve *m, struct improve_safe *r, struct turns *t)
{
    for (uint32_t i = 0; i < m->n_alone; i++) {
        const struct sched_open *c = m->alone[i];
        struct fixed *f = &r->fixed[r->n_fixed];
        *f = (struct fixed){.c = c};
        if (!improve_least_room(m, c, f->room)) {
            continue;
        }
        for (uint32_t p = 0; p < c->n_pods; p++) {
            add_taken(m, t, &c->taken[p], m->n_bins + r->n_fixed);
        }
        r->n_fixed++;
    }
}

static void add_nodes(struct improve *m, struct improve_safe *r, struct turns *t)
{
    struct sched *s = m->s;
    uint32_t *place = ARENA_NEW_N(s->a, uint32_t, s->n_nodes); /* plus 1 */
    for (uint32_t i = 0; i < s->result.n_existing; i++) {
        uint32_t node = s->host_of[s->existing[i].node - s->snap->nodes];
        const struct sched_taken *taken = &s->existing_taken[i];
        if (place[node] == 0) {
            r->fixed[r->n_fixed] = (struct fixed){.node = &s->nodes[node]};
            place[node] = m->n_bins + ++r->n_fixed;
        }
        add_taken(m, t, taken, place[node] - 1);
    }
    for (uint32_t i = 0; i < r->n_fixed; i++) {
        const struct sched_node *n = r->fixed[i].node;
        for (uint32_t d = 0; n != NULL && d < m->n_dims; d++) {
            r->fixed[i].room[d] = n->in->free.v[m->dims[d]];
        }
    }
}

/* A few more, by priority and age; else in the order in which the pass took them. */
static void put_keys(const struct improve *m, struct improve_safe *r)
{
    const struct snapshot *snap = m->s->snap;
    for (uint32_t i = 0; i < PODS_PER_STEP && r->keyed < snap->n_pods; i++, r->keyed++) {
        const struct pod *p = snap->pods[r->keyed];
        if (r->keyed + PODS_AHEAD < snap->n_pods) {
            __builtin_prefetch(&snap->pods[r->keyed + PODS_AHEAD]->m.created_ns);
        }
        if (!r->turns[r->keyed].next) {
            continue; /* it has no place */
        }
        struct keysort_item *item = keysort_add(&r->order, r->keyed);
        item->key[0] = (uint64_t)(INT32_MAX - (int64_t)snap->classes[r->keyed]->priority);
        item->key[1] = keysort_i64(p->m.created_ns);
    }
}

void improve_turn_begin(struct improve *m, struct improve_safe *r)
{
    struct sched *s = m->s;
    struct turns t = {.v = ARENA_NEW_N(s->a, struct arrival, s->snap->n_pods)};
    r->fixed = ARENA_NEW_N(s->a, struct fixed, m->n_alone + s->result.n_existing);
    add_bins(m, &t);
    if ((uint64_t)(m->n_alone + s->result.n_existing) * m->n_kinds <= FIXED_MAX) {
        add_claims(m, r, &t);
        add_nodes(m, r, &t);
    }
    r->n_pods = t.n;
    r->n_places = m->n_bins + r->n_fixed;
    r->turns = t.v;
    keysort_begin(&r->order, s->a, r->n_pods);
}

static void sorted(struct improve *m, struct improve_safe *r)
{
    const struct keysort_item *v = r->order.v;
    r->pods = ARENA_NEW_N(m->s->a, struct arrival, r->n_pods);
    for (uint32_t i = 0; i < r->n_pods; i++) {
        r->pods[i] = r->turns[v[i].at];
        r->pods[i].next =
            i == 0 || v[i].key[0] != v[i - 1].key[0] || v[i].key[1] != v[i - 1].key[1];
    }
}

bool improve_turn_sort(struct improve *m, struct improve_safe *r)
{
    m->looks += LOOKS_PER_SORT;
    if (r->keyed < m->s->snap->n_pods) {
        put_keys(m, r);
        return false;
    }
    if (!keysort_step(&r->order)) {
        return false;
    }
    sorted(m, r);
    return true;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

uint32_t improve_chance(const struct improve_safe *r, uint32_t x)
{
    uint32_t h = (x * 2654435761u) ^ (r->round * 40503u);
    h = (h ^ h >> 15) * 2246822519u;
    return h ^ h >> 13;
}

struct by_kind {
    uint64_t key;
    uint32_t pod;
};

static int cmp_by_kind(const void *x, const void *y)
{
    const struct by_kind *a = x, *b = y;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->pod < b->pod ? -1 : a->pod > b->pod;
}

/* Pods of the same age come kind by kind, as when workloads are made larger one after the other. */
static void line_up_kinds(struct arena *a, struct improve_safe *r)
{
    struct arena_mark mark = arena_mark(a);
    struct by_kind *v = ARENA_NEW_N(a, struct by_kind, r->n_pods);
    uint64_t age = 0;
    for (uint32_t i = 0; i < r->n_pods; i++) {
        age += r->pods[i].next;
        v[i] = (struct by_kind){age << 32 | improve_chance(r, r->pods[i].kind), i};
    }
    sort_items(v, r->n_pods, sizeof(*v), cmp_by_kind);
    for (uint32_t i = 0; i < r->n_pods; i++) {
        r->waiting[i] = v[i].pod;
    }
    arena_rewind(a, mark);
}

/* Pods of the same age come in any order. */
static void line_up_waiting(struct improve_safe *r)
{
    for (uint32_t i = 0, from = 0; i < r->n_pods; i++) {
        from = r->pods[i].next ? i : from;
        uint32_t before = i - from + 1,
                 back = r->round % 2 == 0 ? 0 : improve_chance(r, i) % before;
        r->waiting[i] = r->waiting[i - back];
        r->waiting[i - back] = i;
    }
}

void improve_turn_round(struct improve *m, struct improve_safe *r)
{
    if (r->round % 4 == 3) {
        line_up_kinds(m->s->a, r);
    } else {
        line_up_waiting(r);
    }
    r->n_waiting = r->n_pods;
    m->looks += r->n_pods / 4;
}
