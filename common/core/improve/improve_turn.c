/* improve_turn.c - who comes when in the replay; see improve_play.h. */
#include "common/base/sort.h"
#include "improve_play.h"

#define RUN 4096u
#define FIXED_MAX 1000000u /* kinds times fixed places; with more they are left out */

struct turn {
    int64_t priority, created;
    struct arrival a;
};

static int cmp_turn(const void *x, const void *y)
{
    const struct turn *a = x, *b = y;
    if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    if (a->created != b->created) {
        return a->created < b->created ? -1 : 1;
    }
    return a->a.pod < b->a.pod ? -1 : a->a.pod > b->a.pod;
}

struct turns {
    struct turn *v;
    uint32_t n;
};

static void add_turn(const struct improve *m, struct turns *t, uint32_t pod, uint32_t kind,
                     uint32_t place)
{
    const struct pod *p = m->s->snap->pods[pod];
    t->v[t->n++] = (struct turn){p->cls->priority,
                                 p->m.created_ns,
                                 {.pod = pod,
                                  .kind = kind,
                                  .place = place,
                                  .bay = place < m->n_bins ? m->bins[place].bay : IMPROVE_NONE}};
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

void improve_turn_begin(struct improve *m, struct improve_safe *r)
{
    struct sched *s = m->s;
    struct turns t = {.v = ARENA_NEW_N(s->a, struct turn, s->snap->n_pods)};
    r->fixed = ARENA_NEW_N(s->a, struct fixed, m->n_alone + s->result.n_existing);
    add_bins(m, &t);
    if ((uint64_t)(m->n_alone + s->result.n_existing) * m->n_kinds <= FIXED_MAX) {
        add_claims(m, r, &t);
        add_nodes(m, r, &t);
    }
    r->n_pods = t.n;
    r->n_places = m->n_bins + r->n_fixed;
    r->turns = t.v;
    r->spare = ARENA_NEW_N(s->a, struct turn, t.n);
}

/* Two runs in order become one. */
static void merge(const struct turn *v, uint32_t n, uint32_t middle, struct turn *to)
{
    for (uint32_t i = 0, a = 0, b = middle; i < n; i++) {
        bool first = b == n || (a < middle && cmp_turn(&v[a], &v[b]) < 0);
        to[i] = v[first ? a++ : b++];
    }
}

/* Runs, then all runs two by two. */
static bool sort_step(struct improve_safe *r)
{
    uint32_t n = r->n_pods, left = n - r->at;
    if (r->run == 0 && left > 0) {
        uint32_t some = left < RUN ? left : RUN;
        sort_items(r->turns + r->at, some, sizeof(*r->turns), cmp_turn);
        r->at += some;
        return false;
    }
    r->run = r->run == 0 ? RUN : r->run * 2;
    r->at = 0;
    if (r->run >= n) {
        return true;
    }
    for (uint32_t i = 0; i < n; i += 2 * r->run) {
        uint32_t both = n - i < 2 * r->run ? n - i : 2 * r->run;
        merge(r->turns + i, both, r->run < both ? r->run : both, r->spare + i);
    }
    struct turn *sorted = r->spare;
    r->spare = r->turns;
    r->turns = sorted;
    r->at = n;
    return false;
}

static void sorted(struct improve *m, struct improve_safe *r)
{
    r->pods = ARENA_NEW_N(m->s->a, struct arrival, r->n_pods);
    for (uint32_t i = 0; i < r->n_pods; i++) {
        r->pods[i] = r->turns[i].a;
        r->pods[i].next = i == 0 || r->turns[i].priority != r->turns[i - 1].priority ||
                          r->turns[i].created != r->turns[i - 1].created;
    }
}

bool improve_turn_sort(struct improve *m, struct improve_safe *r)
{
    m->looks += RUN;
    if (!sort_step(r)) {
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
}
