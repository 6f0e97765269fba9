/* attention.c - see attention.h; the cluster as a whole, requests, holds, prices. */
#include "attention_int.h"

#include "cmd/read/requests.h"
#include "cmd/screen.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/labels.h"

void attention_add(struct attention_ctx *x, enum attention_topic topic, const char *code,
                   const char *kind, const char *name, const char *message, const char *fix)
{
    struct attention_list *l = x->out;
    if (l->n >= ATTENTION_MAX) {
        return;
    }
    ARENA_GROW(x->a, l->v, l->n, l->cap);
    l->v[l->n++] = (struct attention){(int)topic, code, kind, name, message, fix};
}

/* ---- the cluster ----------------------------------------------------------------------------- */

static void about_control(struct attention_ctx *x)
{
    const struct world *w = x->in->world;
    if (w->absent[KIND_NODE_POOL]) {
        attention_add(x, TOPIC_CLUSTER, "NotInstalled", "cluster", "",
                      "the server has no NodePools: Karpenter's CRDs are not installed",
                      "kubectl apply -f deploy/crds");
        return;
    }
    if (x->in->facts->charge == CHARGE_NONE && world_n(w, KIND_NODE_POOL) > 0) {
        attention_add(x, TOPIC_CLUSTER, "NoController", "cluster", "",
                      "no controller holds the Lease " WORLD_LEASE ": nobody acts on nodes",
                      w->live ? "kubectl get leases -A --field-selector metadata.name=" WORLD_LEASE
                              : NULL);
    }
}

static void about_skew(struct attention_ctx *x)
{
    char by[TIMEFMT_TEXT];
    int64_t skew = x->in->world->skew_ns, abs = skew < 0 ? -skew : skew;
    if (abs <= ATTENTION_SKEW_NS) {
        return;
    }
    attention_add(x, TOPIC_CLUSTER, "ClockSkew", "cluster", "",
                  arena_printf(x->a, "the server's clock is %s %s this one", timefmt_age(abs, by),
                               skew > 0 ? "ahead of" : "behind"),
                  NULL);
}

/* "nodepool/x" to kind and name. */
static void published(struct attention_ctx *x)
{
    const struct facts *f = x->in->facts;
    for (size_t i = 0; i < f->n_attention; i++) {
        const struct facts_attention *p = &f->attention[i];
        const char *slash = strchr(p->object, '/');
        const char *kind =
            slash ? arena_strndup(x->a, p->object, (size_t)(slash - p->object)) : p->object;
        attention_add(x, TOPIC_CLUSTER, p->code, kind, slash ? slash + 1 : "", p->message, NULL);
    }
}

/* ---- requests and holds ---------------------------------------------------------------------- */

static void about_requests(struct attention_ctx *x)
{
    const struct world *w = x->in->world;
    struct requests_count waiting = requests_waiting(w);
    if (waiting.n > 0) {
        const char *until = waiting.first_ns
                                ? arena_printf(x->a, ", the first expires in %s",
                                               screen_age(x->a, waiting.first_ns - requests_now(w)))
                                : "";
        attention_add(x, TOPIC_REQUEST, "ApprovalPending", "approval", "",
                      arena_printf(x->a, "%zu request%s for a decision%s", waiting.n,
                                   waiting.n == 1 ? " waits" : "s wait", until),
                      "kubectl karp approve");
    }
    for (size_t i = 0; i < world_n(w, KIND_DISRUPTION_GRANT); i++) {
        const struct dgrant *g = world_at(w, KIND_DISRUPTION_GRANT, i);
        if (g->problem) {
            attention_add(x, TOPIC_REQUEST, "InvalidGrant", "grant", g->m.name,
                          arena_printf(x->a, "covers nothing: %s", g->problem), NULL);
        }
    }
}

/* Those that do not do what they say; the others stand at the head of the report. */
static void about_holds(struct attention_ctx *x)
{
    const struct world *w = x->in->world;
    bool obeyed = holds_obeyed(x->in->facts);
    for (size_t i = 0; i < world_n(w, KIND_HOLD); i++) {
        const struct hold *h = world_at(w, KIND_HOLD, i);
        if (!hold_in_force(h, w->now_ns) || (obeyed && !h->problem)) {
            continue;
        }
        attention_add(x, TOPIC_HOLD, obeyed ? "InvalidHold" : "HoldNotObeyed", "hold", h->m.name,
                      !obeyed
                          ? "stops nothing: Karpenter is in charge and knows no Holds"
                          : arena_printf(x->a, "%s: it stops %s%s%s", h->problem,
                                         h->target == HOLD_CLUSTER ? "everything"
                                                                   : hold_target_name(h->target),
                                         *h->name ? " " : "", h->name),
                      arena_printf(x->a, "kubectl delete hold %s", h->m.name));
    }
}

/* ---- prices ---------------------------------------------------------------------------------- */

struct unpriced {
    const char *type;
    uint32_t n;
};

static int unpriced_cmp(const void *x, const void *y)
{
    return str_cmp(((const struct unpriced *)x)->type, ((const struct unpriced *)y)->type);
}

static void about_prices(struct attention_ctx *x)
{
    const struct snapshot *s = &x->in->decision->snap;
    struct unpriced *v = NULL;
    size_t n = 0, cap = 0;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct snapshot_node *node = &s->nodes[i];
        if (!fleet_managed(node) || !node->launched ||
            fleet_price(s, node, x->in->prices, NULL) != PRICE_UNKNOWN) {
            continue;
        }
        const char *type = fleet_label(s, node, L_INSTANCE_TYPE);
        type = type ? type : "(no instance type)";
        size_t at = 0;
        while (at < n && !str_eq(v[at].type, type)) {
            at++;
        }
        if (at == n) {
            ARENA_GROW(x->a, v, n, cap);
            v[n++] = (struct unpriced){type, 0};
        }
        v[at].n++;
    }
    if (n > 1) {
        qsort(v, n, sizeof(*v), unpriced_cmp);
    }
    for (size_t i = 0; i < n; i++) {
        attention_add(x, TOPIC_PRICE, "UnknownPrice", "type", v[i].type,
                      arena_printf(x->a,
                                   "no price is known for %u running node%s; sums are lower "
                                   "bounds",
                                   v[i].n, v[i].n == 1 ? "" : "s"),
                      NULL);
    }
    if (prices_stale(x->in->prices, x->in->world->now_ns)) {
        attention_add(x, TOPIC_PRICE, "PriceStale", "prices", "",
                      "are more than 7 days old: nodes are not replaced for them", NULL);
    }
}

/* ---- what cannot be read --------------------------------------------------------------------- */

static void about_malformed(struct attention_ctx *x)
{
    const struct world *w = x->in->world;
    for (size_t i = 0; i < w->n_malformed; i++) {
        const struct world_malformed *m = &w->malformed[i];
        attention_add(x, TOPIC_OBJECT, "Malformed", m->kind, m->name,
                      arena_printf(x->a, "is left out: %s", m->message), NULL);
    }
}

static int attention_cmp(const void *x, const void *y)
{
    const struct attention *a = x, *b = y;
    if (a->topic != b->topic) {
        return a->topic < b->topic ? -1 : 1;
    }
    int c = str_cmp(a->kind, b->kind);
    c = c ? c : str_cmp(a->name, b->name);
    c = c ? c : str_cmp(a->code, b->code);
    return c ? c : str_cmp(a->message, b->message);
}

void attention_collect(const struct attention_in *in, struct arena *a, struct attention_list *ret)
{
    struct attention_ctx x = {in, a, ret};
    memset(ret, 0, sizeof(*ret));
    about_control(&x);
    about_skew(&x);
    published(&x);
    attention_pods(&x);
    attention_pools(&x);
    attention_claims(&x);
    attention_leaving(&x);
    about_requests(&x);
    about_holds(&x);
    if (in->prices) {
        about_prices(&x);
    }
    about_malformed(&x);
    if (ret->n > 1) {
        qsort(ret->v, ret->n, sizeof(*ret->v), attention_cmp);
    }
}
