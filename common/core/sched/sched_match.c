/* sched_match.c - see sched_match.h */
#include "sched_match.h"

#include "common/base/sort.h"
#include "common/base/str.h"

bool match_in_list(struct topo_group *const *v, uint32_t n, const struct topo_group *g)
{
    for (uint32_t i = 0; i < n; i++) {
        if (v[i] == g) {
            return true;
        }
    }
    return false;
}

/* ---- groups by what they ask for ------------------------------------------------------------- */

static void note_keys(struct sched *s, const struct selector *sel)
{
    struct topo_table *t = s->topo.table;
    for (uint32_t i = 0; i < sel->n; i++) {
        bool known = false;
        for (uint32_t k = 0; k < t->n_keys && !known; k++) {
            known = str_eq(t->keys[k], sel->v[i].key);
        }
        if (!known) {
            ARENA_GROW(s->a, t->keys, t->n_keys, t->cap_keys);
            t->keys[t->n_keys++] = sel->v[i].key;
        }
    }
}

/* Groups that ask for this value of the label, among others perhaps. */
static struct text_entry *groups_at(struct sched *s, const char *key, const char *value)
{
    struct text *b = text_begin(&s->topo.table->texts);
    text_str(b, "i");
    text_str(b, key);
    text_str(b, value);
    return text_entry(&s->topo.table->texts);
}

static void add(struct sched *s, struct groups *list, struct topo_group *g)
{
    ARENA_GROW(s->a, list->v, list->n, list->cap);
    list->v[list->n++] = g;
}

/* By the first label of which it wants one of some values. */
void match_group(struct sched *s, struct topo_group *g)
{
    const struct selector *sel = &g->sel;
    uint32_t at = 0;
    note_keys(s, sel);
    if (sel->nothing || g->owner_uid != NULL) {
        return;
    }
    while (at < sel->n && sel->v[at].op != SELECTOR_IN) {
        at++;
    }
    for (uint32_t i = 0; at < sel->n && i < sel->v[at].n; i++) {
        struct text_entry *e = groups_at(s, sel->v[at].key, sel->v[at].values[i]);
        e->value = e->value != NULL ? e->value : ARENA_NEW(s->a, struct groups);
        struct groups *list = e->value;
        if (list->n == 0 || list->v[list->n - 1] != g) {
            add(s, list, g);
        }
    }
    if (at == sel->n) {
        add(s, &s->topo.table->others, g);
    }
}

/* ---- pods ------------------------------------------------------------------------------------ */

static bool concerns_ns(const struct topo_group *g, const char *ns)
{
    return g->all_ns || (g->n_namespaces > 0 && bsearch(&ns, g->namespaces, g->n_namespaces,
                                                        sizeof(*g->namespaces), str_qsort_cmp));
}

static int cmp_at(const void *x, const void *y)
{
    uint32_t a = (*(struct topo_group *const *)x)->at, b = (*(struct topo_group *const *)y)->at;
    return a < b ? -1 : a > b;
}

static void add_matching(struct sched *s, const struct pod *p, const struct groups *from,
                         struct groups *to)
{
    for (uint32_t i = 0; from != NULL && i < from->n; i++) {
        struct topo_group *g = from->v[i];
        if (concerns_ns(g, p->m.ns) && selector_matches(&g->sel, &p->labels)) {
            add(s, to, g);
        }
    }
}

/* Equal namespaces and values of the labels that anybody asks for give equal lists. */
static struct text_entry *entry_of(struct sched *s, const struct pod *p)
{
    struct topo_table *t = s->topo.table;
    struct text *b = text_begin(&t->texts);
    text_str(b, "m");
    text_str(b, p->m.ns);
    for (uint32_t i = 0; i < t->n_keys; i++) {
        const char *v = kvs_get(&p->labels, t->keys[i]);
        if (v != NULL) {
            text_str(b, t->keys[i]);
            text_str(b, v);
        }
    }
    return text_entry(&t->texts);
}

const struct groups *match_pod(struct sched *s, const struct pod *p)
{
    struct topo_table *t = s->topo.table;
    sort_items(t->keys, t->n_keys, sizeof(*t->keys), str_qsort_cmp);
    struct text_entry *e = entry_of(s, p);
    if (e->value != NULL) {
        return e->value;
    }
    struct groups *m = ARENA_NEW(s->a, struct groups);
    e->value = m;
    add_matching(s, p, &t->others, m);
    for (uint32_t i = 0; i < p->labels.n; i++) {
        const struct kv *l = &p->labels.v[i];
        add_matching(s, p, groups_at(s, l->key, l->value)->value, m);
    }
    sort_items(m->v, m->n, sizeof(*m->v), cmp_at);
    return m;
}
