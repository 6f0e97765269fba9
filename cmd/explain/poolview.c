/* poolview.c - see poolview.h. */
#include "poolview.h"

#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/core/template.h"

/* ---- instance types -------------------------------------------------------------------------- */

struct funnel {
    struct session *s;
    const struct snapshot_pool *p;
    struct poolview_step *steps;
    uint32_t n, cap;
    uint64_t types[CATALOG_WORDS_MAX];
};

static void step(struct funnel *f, enum reason_code code, const char *key)
{
    ARENA_GROW(&f->s->a, f->steps, f->n, f->cap);
    f->steps[f->n++] =
        (struct poolview_step){code, key, bits_count(f->types, catalog_words(f->p->catalog))};
}

struct key {
    const char *text;
    const struct req *r;
};

static int key_cmp(const void *x, const void *y)
{
    return str_cmp(((const struct key *)x)->text, ((const struct key *)y)->text);
}

static void label_steps(struct funnel *f)
{
    const struct reqset *reqs = &f->p->np->reqs;
    const struct symtab *t = f->s->w.syms;
    struct key *keys = ARENA_NEW_N(&f->s->a, struct key, reqs->n);
    for (uint32_t i = 0; i < reqs->n; i++) {
        keys[i] = (struct key){sym_str(t, reqs->v[i].key), &reqs->v[i]};
    }
    if (reqs->n > 1) {
        qsort(keys, reqs->n, sizeof(*keys), key_cmp);
    }
    for (uint32_t i = 0; i < reqs->n; i++) {
        sym k = keys[i].r->key;
        /* Zone and capacity type narrow what is offered, which is a step of its own. */
        if (k != L_ZONE && k != L_ZONE_ID && k != L_CAPACITY_TYPE) {
            template_narrow(f->p->catalog, t, keys[i].r, f->types);
            step(f, REASON_Requirement, keys[i].text);
        }
    }
}

/* What is left of a limit; one that is exceeded leaves nothing. */
static int64_t left_of(int64_t limit, int64_t used)
{
    return limit < 0 ? -1 : limit > used ? limit - used : 0;
}

static void limit_step(struct funnel *f)
{
    const struct nodepool *np = f->p->np;
    struct resources left = np->limits;
    struct res_ext *ext = ARENA_NEW_N(&f->s->a, struct res_ext, left.n_ext);
    for (int r = 0; r < RES_FIXED; r++) {
        left.v[r] = left_of(left.v[r], f->p->in_use.v[r]);
    }
    for (uint32_t i = 0; i < left.n_ext; i++) {
        int64_t used = resources_get_ext(&f->p->in_use, left.ext[i].name);
        ext[i] =
            (struct res_ext){left.ext[i].name, left_of(left.ext[i].amount, used > 0 ? used : 0)};
    }
    left.ext = ext;
    catalog_narrow_limit(f->p->catalog, &left, f->types);
    step(f, REASON_Limit, NULL);
}

static void read_types(struct poolview *v)
{
    struct funnel f = {.s = v->s, .p = v->p};
    const struct nodepool *np = v->p->np;
    if (!v->p->catalog || !v->p->offerings) {
        return;
    }
    catalog_all(v->p->catalog, f.types);
    step(&f, REASON_NONE, NULL);
    label_steps(&f);
    v->by_labels = arena_memdup(&v->s->a, f.types, sizeof(f.types));
    offerings_narrow(v->p->offerings, offerings_mask(v->p->catalog, v->s->w.syms, &np->reqs),
                     f.types);
    step(&f, REASON_Offering, NULL);
    if (np->limit_nodes >= 0 && v->p->nodes_in_use >= np->limit_nodes) {
        memset(f.types, 0, sizeof(f.types));
        step(&f, REASON_NodeLimit, NULL);
    }
    if (np->has_limits) {
        limit_step(&f);
    }
    v->steps = f.steps;
    v->n_steps = f.n;
}

bool poolview_sells(const struct poolview *v, const struct facts_stockout *o)
{
    int type = v->by_labels && o->type
                   ? catalog_find_type(v->p->catalog, sym_find(v->s->w.syms, o->type))
                   : -1;
    return type >= 0 && bits_test(v->by_labels, (uint32_t)type);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static const char *refusal(struct poolview *v, const struct poolview_step *at)
{
    struct arena *a = &v->s->a;
    switch (at->code) {
    case REASON_Requirement:
        return arena_printf(a, "no instance type meets its requirement on %s", at->key);
    case REASON_Offering:
        return "none of its instance types is offered in its zones and capacity types";
    case REASON_NodeLimit:
        return arena_printf(a, "it has %lld of %lld nodes", (long long)v->p->nodes_in_use,
                            (long long)v->p->np->limit_nodes);
    case REASON_Limit:
        return "its limits leave no room for any of its instance types";
    default:
        return "there is no instance type";
    }
}

static void verdict(struct poolview *v)
{
    v->code = reason_name(REASON_Schedulable);
    if (v->p->closed != REASON_NONE) {
        v->code = reason_name(v->p->closed);
        v->message =
            v->p->closed_text && *v->p->closed_text ? v->p->closed_text : "it is not ready";
        return;
    }
    for (uint32_t i = 0; i < v->n_steps; i++) {
        if (v->steps[i].left == 0) {
            enum reason_code code = v->steps[i].code;
            v->code = reason_name(code == REASON_NONE ? REASON_Offering : code);
            v->message = refusal(v, &v->steps[i]);
            return;
        }
    }
    v->open = true;
    v->message =
        v->n_steps ? arena_printf(&v->s->a, "Would launch nodes: %u of %u instance types are left",
                                  v->steps[v->n_steps - 1].left, v->steps[0].left)
                   : "Would launch nodes";
}

/* ---- launches -------------------------------------------------------------------------------- */

static bool launch_of(const struct nodeclaim *nc, struct poolview_launch *ret)
{
    static const char *const steps[] = {"Launched", "Registered", "Initialized"};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        const struct condition *c = condition_find(&nc->conditions, steps[i]);
        if (c && c->status == STATUS_TRUE) {
            continue;
        }
        *ret = (struct poolview_launch){.nc = nc,
                                        .step = steps[i],
                                        .code = c && *c->reason ? c->reason : "Pending",
                                        .message = c ? c->message : "",
                                        .failing = c && c->status == STATUS_FALSE &&
                                                   str_ends(c->reason, "Failed")};
        return true;
    }
    return false;
}

static void read_launches(struct poolview *v)
{
    const struct world *w = &v->s->w;
    struct poolview_launch *list = NULL, one;
    size_t cap = 0;
    for (size_t i = 0; i < world_n(w, KIND_NODE_CLAIM); i++) {
        const struct nodeclaim *nc = world_at(w, KIND_NODE_CLAIM, i);
        if (str_eq(nc->pool, v->p->np->m.name) && !nc->m.deleted_ns && launch_of(nc, &one)) {
            ARENA_GROW(&v->s->a, list, v->n_launches, cap);
            list[v->n_launches++] = one;
        }
    }
    v->launches = list;
}

void poolview_build(struct session *s, const struct snapshot_pool *p, const struct fleet *fleet,
                    struct poolview *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->s = s;
    ret->p = p;
    for (size_t i = 0; i < fleet->n_pools; i++) {
        if (fleet->pools[i].pool == p) {
            ret->n = fleet->pools[i].n;
        }
    }
    budget_rows(p->np, ret->n.counted, ret->n.disrupting, s->w.now_ns, ret->budgets);
    read_types(ret);
    read_launches(ret);
    verdict(ret);
    said_events(&ret->said, &s->w, KIND_NODE_POOL, "", p->np->m.name);
}
