/* targets.c - see targets.h. */
#include "targets.h"

#include "common/base/str.h"
#include "objects.h"

static bool is_kind(const char *word, enum kube_kind *ret)
{
    return objects_kind(word, ret) &&
           (*ret == KIND_NODE || *ret == KIND_NODE_CLAIM || *ret == KIND_NODE_POOL);
}

int targets_read(const struct cmd *c, struct arena *a, const char *verb, target_fn fn, void *ctx,
                 struct err *reterr)
{
    const struct opt_texts *w = &c->o->words;
    enum kube_kind kind = KIND_NODE, own;
    size_t first = w->n > 1 && is_kind(w->v[0], &kind) ? 1 : 0;
    for (size_t i = first; i < w->n; i++) {
        const char *slash = strchr(w->v[i], '/'), *name = slash ? slash + 1 : w->v[i];
        own = kind;
        if ((slash && !is_kind(arena_strndup(a, w->v[i], (size_t)(slash - w->v[i])), &own)) ||
            !*name) {
            return err_set(reterr, ERR_INVALID,
                           "%s knows nodes, nodeclaims and nodepools, not \"%s\"", verb, w->v[i]);
        }
        if (fn(ctx, own, name, reterr) != 0) {
            return -1;
        }
    }
    return 0;
}

#define BY_NAME(fn, type, kind)                                                                    \
    const struct type *fn(const struct world *w, const char *name)                                 \
    {                                                                                              \
        for (size_t i = 0; i < world_n(w, kind); i++) {                                            \
            const struct type *o = world_at(w, kind, i);                                           \
            if (str_eq(o->m.name, name)) {                                                         \
                return o;                                                                          \
            }                                                                                      \
        }                                                                                          \
        return NULL;                                                                               \
    }
BY_NAME(target_node, node, KIND_NODE)
BY_NAME(target_claim, nodeclaim, KIND_NODE_CLAIM)
BY_NAME(target_pool, nodepool, KIND_NODE_POOL)

const struct nodeclaim *target_claim_of(const struct world *w, const struct node *n)
{
    for (size_t i = 0; i < world_n(w, KIND_NODE_CLAIM); i++) {
        const struct nodeclaim *nc = world_at(w, KIND_NODE_CLAIM, i);
        if (*nc->provider_id && str_eq(nc->provider_id, n->provider_id)) {
            return nc;
        }
    }
    return NULL;
}

int target_missing(const struct world *w, enum kube_kind kind, const char *name, struct err *reterr)
{
    return err_set(reterr, ERR_NOT_FOUND, "%s \"%s\" not found%s", kube_kind(kind)->plural, name,
                   w->hidden[kind] ? " (not allowed to list them)" : "");
}

int target_unmanaged(const char *node, struct err *reterr)
{
    return err_set(reterr, ERR_INVALID, "node %s has no NodeClaim: karp does not manage it", node);
}
