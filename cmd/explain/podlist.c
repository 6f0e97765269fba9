/* podlist.c - pods that wait, grouped by cause: what stands in their way in which pool. */
#include "podview.h"

#include "cmd/screen.h"
#include "cmd/table.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define GROUPS_MAX 1000000u
#define NAMES_SHOWN 3u

/* Refusals in the order of their codes, then the outcomes, then the rest. */
static int rank(const char *code)
{
    for (int c = REASON_NONE + 1; c < REASON_END; c++) {
        if (str_eq(reason_name((enum reason_code)c), code)) {
            return c;
        }
    }
    return REASON_END;
}

static int group_qsort(const void *x, const void *y)
{
    const struct podgroup *a = x, *b = y;
    int ra = rank(a->code), rb = rank(b->code);
    if (ra != rb) {
        return ra < rb ? -1 : 1;
    }
    int c = str_cmp(a->pool, b->pool);
    return c ? c : str_cmp(a->message, b->message);
}

static const char *pool_of(const struct podview *v)
{
    if (v->claim) {
        return v->claim->pool->np->m.name;
    }
    if (!v->bound && v->node && v->node->pool) {
        return v->node->pool->np->m.name;
    }
    return v->homeless && v->e && v->e->n_pools ? v->e->pools[0].pool->np->m.name : "";
}

/* Without what differs from pod to pod: the reason itself, not the sentence around it. */
static const char *cause_of(const struct podview *v)
{
    if (v->homeless && v->e && v->e->n_pools) {
        return report_reason(&v->s->a, v->s, &v->e->pools[0].reason);
    }
    if (v->claim || (v->node && !v->bound)) {
        /* Without the node's name. */
        struct reason r = {.code = (enum reason_code)rank(v->code), .short_of = {.res = RES_FIXED}};
        return report_reason(&v->s->a, v->s, &r);
    }
    return v->message;
}

const struct podgroup *podgroups(struct session *s, struct podview *const *v, size_t n,
                                 size_t *ret_n)
{
    struct podgroup *ret = NULL;
    size_t n_ret = 0, cap = 0;
    struct map *known = map_new(GROUPS_MAX);
    for (size_t i = 0; i < n; i++) {
        const char *pool = pool_of(v[i]), *cause = cause_of(v[i]);
        const char *key = arena_printf(&s->a, "%s/%s/%s", v[i]->code, pool, cause);
        size_t at = (size_t)(uintptr_t)map_get(known, key);
        if (at == 0) {
            ARENA_GROW(&s->a, ret, n_ret, cap);
            ret[n_ret++] = (struct podgroup){.code = v[i]->code, .pool = pool, .message = cause};
            at = n_ret;
            (void)map_put(known, key, (void *)(uintptr_t)at, NULL);
        }
        struct podgroup *g = &ret[at - 1];
        ARENA_GROW(&s->a, g->v, g->n, g->cap);
        g->v[g->n++] = v[i];
        g->homeless = g->homeless || v[i]->homeless;
    }
    map_free(known);
    if (n_ret > 1) {
        qsort(ret, n_ret, sizeof(*ret), group_qsort);
    }
    *ret_n = n_ret;
    return ret;
}

/* ---- screen ---------------------------------------------------------------------------------- */

static void put_group(struct session *s, const struct podgroup *g, struct buf *out)
{
    struct arena *a = &s->a;
    const struct term *term = &s->c->term;
    char age[TIMEFMT_TEXT];
    int64_t oldest = 0;
    AUTO_BUF struct buf names;
    buf_init(&names, 1u << 16);
    for (size_t i = 0; i < g->n; i++) {
        int64_t since = podview_since(g->v[i]->pod);
        oldest = since && (oldest == 0 || since < oldest) ? since : oldest;
        if (i < NAMES_SHOWN) {
            buf_printf(&names, "%s%s", i ? ", " : "", report_pod(a, g->v[i]->pod));
        }
    }
    if (g->n > NAMES_SHOWN) {
        buf_printf(&names, " and %zu more", g->n - NAMES_SHOWN);
    }
    buf_putc(out, '\n');
    term_put(term, g->homeless ? COLOR_RED : COLOR_GREEN, g->code, out);
    if (*g->pool) {
        buf_printf(out, "   nodepool %s", text_safe(a, g->pool));
    }
    buf_printf(out, "   %s", screen_count(a, (int64_t)g->n, "pod"));
    if (oldest) {
        buf_printf(out, ", for %s", timefmt_age(s->w.now_ns - oldest, age));
    }
    buf_puts(out, "\n   ");
    screen_wrap(term, a, 3, g->message, out);
    buf_puts(out, "\n   ");
    screen_wrap(term, a, 3, names.p, out);
    buf_putc(out, '\n');
}

/* Of one namespace only if it was named. */
static void find_held(struct session *s, struct held_list *ret)
{
    *ret = (struct held_list){NULL, 0, 0};
    held_find(&s->w, &s->a, s->c->o->all_namespaces ? NULL : s->c->o->kube.ns, ret);
}

static void put_held(struct session *s, struct buf *out)
{
    struct held_list l;
    find_held(s, &l);
    for (size_t i = 0; i < l.n; i++) {
        const struct held *h = &l.v[i];
        buf_puts(out, i == 0 ? "\nNOT CREATED\n   " : "   ");
        screen_wrap(&s->c->term, &s->a, 6,
                    arena_printf(&s->a, "%s %s/%s: %s: %s", h->kind, h->ns, h->name,
                                 screen_count(&s->a, h->missing, "pod"), h->why),
                    out);
        buf_putc(out, '\n');
    }
}

static void put_groups(struct session *s, struct podview *const *v, size_t n, struct buf *out)
{
    size_t n_groups, homeless = 0;
    const struct podgroup *g = podgroups(s, v, n, &n_groups);
    const struct podview *first = NULL;
    for (size_t i = 0; i < n; i++) {
        homeless += v[i]->homeless;
        first = !first && v[i]->homeless ? v[i] : first;
    }
    if (n == 0) {
        buf_puts(out, s->w.hidden[KIND_POD] ? "Pods cannot be seen.\n" : "No pods wait.\n");
        return;
    }
    buf_printf(out, "%s, %zu without a home, %zu cause%s\n",
               screen_count(&s->a, (int64_t)n, "pending pod"), homeless, n_groups,
               n_groups == 1 ? "" : "s");
    for (size_t i = 0; i < n_groups; i++) {
        put_group(s, &g[i], out);
    }
    if (first) {
        buf_printf(out, "\nOne of them in full:  kubectl karp explain pod %s -n %s\n",
                   text_safe(&s->a, first->pod->m.name), text_safe(&s->a, first->pod->m.ns));
    }
}

void podlist_screen(struct session *s, struct podview *const *v, size_t n, struct buf *out)
{
    put_groups(s, v, n, out);
    put_held(s, out);
}

json_t *podlist_held(struct session *s)
{
    struct held_list l;
    json_t *list = json_array();
    find_held(s, &l);
    for (size_t i = 0; i < l.n; i++) {
        const struct held *h = &l.v[i];
        json_t *o = json_pack("{s:s, s:s, s:o}", "code", h->code, "message", h->why, "object",
                              json_sprintf("%s/%s/%s", h->kind, h->ns, h->name));
        report_int(o, "pods", h->missing);
        (void)json_array_append_new(list, o);
    }
    return list;
}
