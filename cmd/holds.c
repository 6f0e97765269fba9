/* holds.c - see holds.h. */
#include "holds.h"

#include "screen.h"

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

const char *holds_launches(const struct world *w, struct arena *a, const char *pool)
{
    for (size_t i = 0; i < world_n(w, KIND_HOLD); i++) {
        const struct hold *h = world_at(w, KIND_HOLD, i);
        if (hold_in_force(h, w->now_ns) && hold_is_about_launches(h, pool)) {
            return describe(w, a, h);
        }
    }
    return NULL;
}
