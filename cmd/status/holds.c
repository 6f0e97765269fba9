/* holds.c - see holds.h. */
#include "holds.h"

#include "cmd/screen.h"

bool holds_obeyed(const struct facts *f)
{
    return f->charge != CHARGE_KARPENTER;
}

static const char *describe(const struct world *w, struct arena *a, const struct hold *h)
{
    bool ends = h->until_ns != HOLD_WITHOUT_END;
    return hold_describe(a, h, ends ? screen_clock(a, h->until_ns, w->now_ns) : NULL);
}

const char *holds_node(const struct world *w, struct arena *a, const char *pool, const char *claim,
                       const char *node)
{
    for (size_t i = 0; i < world_n(w, KIND_HOLD); i++) {
        const struct hold *h = world_at(w, KIND_HOLD, i);
        if (hold_in_force(h, w->now_ns) && hold_is_about(h, pool, claim, node)) {
            return describe(w, a, h);
        }
    }
    return NULL;
}

static const struct hold *find_launches(const struct world *w, const char *pool)
{
    for (size_t i = 0; i < world_n(w, KIND_HOLD); i++) {
        const struct hold *h = world_at(w, KIND_HOLD, i);
        if (hold_in_force(h, w->now_ns) && hold_is_about_launches(h, pool)) {
            return h;
        }
    }
    return NULL;
}

const char *holds_launches(const struct world *w, struct arena *a, const char *pool)
{
    const struct hold *h = find_launches(w, pool);
    return h ? describe(w, a, h) : NULL;
}

const char *holds_undo(const struct world *w, struct arena *a, const char *pool)
{
    const struct hold *h = find_launches(w, pool);
    return !h                          ? NULL
           : h->target == HOLD_CLUSTER ? "kubectl karp resume"
                                       : arena_printf(a, "kubectl karp uncordon nodepool/%s", pool);
}

/* ---- banner ---------------------------------------------------------------------------------- */

/* "nodepool gpu" */
static const char *target(struct arena *a, const struct hold *h)
{
    static const char *const words[] = {[HOLD_CLUSTER] = "the whole cluster",
                                        [HOLD_POOL] = "nodepool ",
                                        [HOLD_NODE] = "node ",
                                        [HOLD_CLAIM] = "nodeclaim "};
    return arena_printf(a, "%s%s", words[h->target], h->name);
}

static void put_line(const struct world *w, const struct term *t, struct arena *a,
                     const struct hold *h, struct buf *out)
{
    bool ends = h->until_ns != HOLD_WITHOUT_END;
    term_put(t, COLOR_YELLOW, h->target == HOLD_CLUSTER ? "PAUSED" : "HELD  ", out);
    buf_puts(out, "  ");
    const char *line =
        arena_printf(a, "%s%s%s%s%s%s%s%s", target(a, h), h->all ? ", launches too," : "",
                     ends ? " until " : "", ends ? screen_clock(a, h->until_ns, w->now_ns) : "",
                     *h->by ? " by " : "", h->by, *h->reason ? ": " : "", h->reason);
    screen_wrap(t, a, 8, line, out);
    buf_putc(out, '\n');
}

void holds_banner(const struct world *w, const struct facts *f, const struct term *t,
                  struct arena *a, struct buf *out)
{
    size_t n = 0;
    for (int whole = 1; whole >= 0 && holds_obeyed(f); whole--) {
        for (size_t i = 0; i < world_n(w, KIND_HOLD); i++) {
            const struct hold *h = world_at(w, KIND_HOLD, i);
            if (hold_in_force(h, w->now_ns) && (h->target == HOLD_CLUSTER) == (whole == 1) &&
                n++ < HOLDS_LINES) {
                put_line(w, t, a, h, out);
            }
        }
    }
    if (n > HOLDS_LINES) {
        buf_printf(out, "        %zu more (kubectl get holds)\n", n - HOLDS_LINES);
    }
    if (n > 0) {
        buf_putc(out, '\n');
    }
}
