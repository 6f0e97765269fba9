/* improve_menu.c - types by price; see improve_int.h. */
#include "improve_int.h"

/* With limits a smaller type can do where one that beats it is too large, so all are kept. */
static bool beaten(const struct improve *m, const struct improve_bay *bay, const int64_t *room)
{
    const struct improve_menu *menu = &bay->menu;
    for (uint32_t i = menu->n; i-- > 0 && !bay->pool->in->np->has_limits;) {
        if (improve_fits(m->lanes, menu->room[i], room)) {
            return true;
        }
    }
    return false;
}

static void room_of(const struct improve *m, const struct template *tm, uint32_t type, int64_t *ret)
{
    const struct resources *all = catalog_allocatable(tm->catalog, type);
    const struct resources *taken = &template_group(tm, type)->sum;
    for (uint32_t d = 0; d < m->n_dims; d++) {
        ret[d] = all->v[m->dims[d]] - taken->v[m->dims[d]];
    }
}

bool improve_least_room(const struct improve *m, const struct sched_open *c, int64_t *ret)
{
    struct arena *a = m->s->a;
    struct arena_mark mark = arena_mark(a);
    const struct template *tm = &c->pool->tm;
    uint32_t *ranked = ARENA_NEW_N(a, uint32_t, catalog_n_types(tm->catalog));
    uint32_t n = offerings_rank(c->pool->in->offerings, c->types, c->offer, false, ranked,
                                catalog_n_types(tm->catalog));
    if (n > 0) {
        room_of(m, tm, ranked[0], ret);
    }
    arena_rewind(a, mark);
    return n > 0;
}

void improve_menu_make(struct improve *m, struct improve_bay *bay)
{
    struct arena *a = m->s->a;
    const struct template *tm = &bay->pool->tm;
    uint32_t *ranked = ARENA_NEW_N(a, uint32_t, catalog_n_types(tm->catalog));
    uint32_t n = offerings_rank(bay->pool->in->offerings, bay->bits, bay->like->offer, false,
                                ranked, catalog_n_types(tm->catalog));
    struct improve_menu *menu = &bay->menu;
    *menu = (struct improve_menu){.types = ranked};
    menu->price = ARENA_NEW_N(a, int64_t, n);
    menu->room = arena_alloc_n(a, n, sizeof(*menu->room));
    for (uint32_t i = 0; i < n; i++) {
        int64_t *room = menu->room[menu->n];
        room_of(m, tm, ranked[i], room);
        if (!beaten(m, bay, room)) {
            menu->price[menu->n] = offerings_cheapest(bay->pool->in->offerings, ranked[i],
                                                      bay->like->offer, NULL, NULL);
            menu->types[menu->n++] = ranked[i];
        }
    }
    m->looks += n;
}

bool improve_menu_allows(const struct improve *m, const struct improve_bay *bay, uint32_t rank,
                         const int64_t *most)
{
    const int64_t *v = catalog_capacity(bay->pool->tm.catalog, bay->menu.types[rank])->v;
    (void)m;
    for (int r = 0; most != NULL && r < RES_FIXED; r++) {
        if (most[r] >= 0 && v[r] > most[r]) {
            return false;
        }
    }
    return true;
}

uint32_t improve_menu_find(struct improve *m, const struct improve_bay *bay, uint32_t from,
                           const int64_t *used, const int64_t *most)
{
    uint32_t i = from;
    while (i < bay->menu.n && !(improve_fits(m->lanes, bay->menu.room[i], used) &&
                                improve_menu_allows(m, bay, i, most))) {
        i++;
    }
    m->looks += (i - from) / 4 + 1;
    return i < bay->menu.n ? i : IMPROVE_NONE;
}
