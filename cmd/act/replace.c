/*
 * replace.c - `kubectl karp replace`: has nodes replaced by new ones of their NodePool.
 *
 * It writes one annotation, karp.dev/replace = now by the server's clock: the agent replaces what
 * was created before it. That is why asking again is harmless: what is under way is left as it is,
 * and a later time would only begin again with what is new by then.
 */
#include "change.h"
#include "cmd/opts_table.h"
#include "cmd/read/facts.h"
#include "cmd/read/gather.h"
#include "cmd/read/targets.h"
#include "cmd/screen.h"
#include "cmd/table.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/labels.h"

#define TARGETS_MAX 1000u
#define FOLLOW "Follow it:  kubectl karp status -w      kubectl karp history --since 1h\n"

struct target {
    enum kube_kind kind; /* NodeClaim or NodePool */
    const char *name, *uid;
    const char *what; /* for people */
    bool done;        /* was asked for before */
};

struct replace {
    struct cmd *c;
    struct world w;
    struct arena a;
    struct facts facts;
    struct target *targets;
    size_t n, nodes; /* nodes: that would be replaced */
};

/* ---- what is there --------------------------------------------------------------------------- */

/* The time that stands there already; 0 = none. */
static int64_t asked_ns(const struct meta *m)
{
    int64_t at_ns;
    const char *text = kvs_get(&m->annotations, ANN_REPLACE);
    return text && timefmt_parse_rfc3339(text, &at_ns) ? at_ns : 0;
}

static const char *since(struct replace *r, int64_t at_ns)
{
    int64_t age_ns = r->w.now_ns + r->w.skew_ns - at_ns;
    return age_ns > 0 ? arena_printf(&r->a, "%s ago", screen_age(&r->a, age_ns)) : "just now";
}

/* ---- targets --------------------------------------------------------------------------------- */

static const char *claim_text(struct replace *r, const struct nodeclaim *nc)
{
    const struct symtab *t = r->w.syms;
    const char *node = *nc->node_name ? arena_printf(&r->a, "   node %s", nc->node_name) : "";
    return arena_printf(&r->a, "nodeclaim/%s%s   %s %s %s   age %s", nc->m.name, node,
                        sym_str(t, labels_get(&nc->m.labels, L_INSTANCE_TYPE)),
                        sym_str(t, labels_get(&nc->m.labels, L_CAPACITY_TYPE)),
                        sym_str(t, labels_get(&nc->m.labels, L_ZONE)),
                        screen_age(&r->a, r->w.now_ns + r->w.skew_ns - nc->m.created_ns));
}

static void add_claim(struct replace *r, const struct nodeclaim *nc)
{
    struct target *t = &r->targets[r->n++];
    int64_t asked = asked_ns(&nc->m);
    *t = (struct target){.kind = KIND_NODE_CLAIM, .name = nc->m.name, .uid = nc->m.uid};
    t->done = nc->m.deleted_ns || asked > nc->m.created_ns;
    t->what = nc->m.deleted_ns ? arena_printf(&r->a, "nodeclaim/%s is leaving already", nc->m.name)
              : t->done
                  ? arena_printf(&r->a, "nodeclaim/%s: its replacement was asked for %s already",
                                 nc->m.name, since(r, asked))
                  : claim_text(r, nc);
    r->nodes += !t->done;
}

static void add_pool(struct replace *r, const struct nodepool *np)
{
    struct target *t = &r->targets[r->n++];
    int64_t asked = asked_ns(&np->m);
    size_t all = 0, old = 0;
    for (size_t i = 0; i < world_n(&r->w, KIND_NODE_CLAIM); i++) {
        const struct nodeclaim *nc = world_at(&r->w, KIND_NODE_CLAIM, i);
        bool counts = str_eq(nc->pool, np->m.name) && !nc->m.deleted_ns;
        all += counts;
        old += counts && nc->m.created_ns < asked;
    }
    *t = (struct target){.kind = KIND_NODE_POOL, .name = np->m.name, .uid = np->m.uid};
    t->done = old > 0 || all == 0;
    t->what = all == 0 ? arena_printf(&r->a, "nodepool/%s has no nodes", np->m.name)
              : t->done
                  ? arena_printf(&r->a,
                                 "nodepool/%s is being replaced already, as was asked for %s: %zu "
                                 "of its %zu nodes are left to do",
                                 np->m.name, since(r, asked), old, all)
                  : arena_printf(&r->a, "nodepool/%s   %s", np->m.name,
                                 screen_count(&r->a, (int64_t)all, "node"));
    r->nodes += t->done ? 0 : all;
}

static int find(void *ctx, enum kube_kind kind, const char *name, struct err *reterr)
{
    struct replace *r = ctx;
    const struct world *w = &r->w;
    const struct node *n = kind == KIND_NODE ? target_node(w, name) : NULL;
    const struct nodeclaim *nc = kind == KIND_NODE_CLAIM ? target_claim(w, name)
                                 : n                     ? target_claim_of(w, n)
                                                         : NULL;
    const struct nodepool *np = kind == KIND_NODE_POOL ? target_pool(w, name) : NULL;
    if (nc) {
        add_claim(r, nc);
    } else if (np) {
        add_pool(r, np);
    } else {
        return n ? target_unmanaged(name, reterr) : target_missing(w, kind, name, reterr);
    }
    return 0;
}

/* ---- guards ---------------------------------------------------------------------------------- */

static bool somebody_does_it(struct replace *r)
{
    const struct facts *f = &r->facts;
    if (f->charge == CHARGE_KARPENTER) {
        change_refuse(
            r->c,
            "%s is in charge of this cluster, and upstream Karpenter does not know " ANN_REPLACE,
            text_safe(&r->a, f->leader));
        return false;
    }
    if (f->mode && !str_eq(f->mode, "full")) {
        change_refuse(r->c, "the agent runs with --mode=%s and replaces nothing",
                      text_safe(&r->a, f->mode));
        return false;
    }
    if (f->charge == CHARGE_NONE) {
        cmd_warn(r->c, "no agent is in charge of this cluster now; it is done when there is one");
    }
    return true;
}

/* ---- doing it -------------------------------------------------------------------------------- */

static int write_one(struct replace *r, struct connection *n, const struct target *t,
                     struct err *reterr)
{
    char at[TIMEFMT_TEXT];
    timefmt_rfc3339(clock_wall(r->c->clock) + r->w.skew_ns, at);
    AUTO_JSON json_t *patch =
        json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid", t->uid, "annotations", ANN_REPLACE, at);
    if (change_patch(r->c, n, t->kind, t->name, patch, reterr) != 0) {
        return -1;
    }
    (void)fprintf(r->c->out, "%s.karpenter.sh/%s to be replaced%s\n",
                  t->kind == KIND_NODE_POOL ? "nodepool" : "nodeclaim", t->name,
                  change_suffix(r->c));
    return 0;
}

static int write_all(struct replace *r, struct err *reterr)
{
    struct connection n;
    int rc = change_open(r->c, &n, reterr);
    for (size_t i = 0; rc == 0 && i < r->n; i++) {
        rc = r->targets[i].done ? 0 : write_one(r, &n, &r->targets[i], reterr);
    }
    connect_close(&n);
    if (rc == 0 && change_mode(r->c) == CHANGE_REAL) {
        (void)fputs(FOLLOW, r->c->err);
    }
    return rc;
}

static int replace(struct replace *r, struct err *reterr)
{
    static const uint64_t kinds = GATHER(KIND_NODE) | GATHER(KIND_NODE_CLAIM) |
                                  GATHER(KIND_NODE_POOL) | GATHER(KIND_LEASE) |
                                  GATHER(KIND_CONFIG_MAP);
    if (gather(r->c, kinds, &r->w, reterr) != 0 ||
        targets_read(r->c, &r->a, "replace", find, r, reterr) != 0) {
        return -1;
    }
    facts_read(&r->w, &r->a, &r->facts);
    for (size_t i = 0; i < r->n; i++) {
        (void)fprintf(r->targets[i].done ? r->c->out : r->c->err, "%s\n",
                      text_safe(&r->a, r->targets[i].what));
    }
    if (r->nodes == 0 || !somebody_does_it(r)) {
        return 0;
    }
    (void)fputs("Each gets its replacement first, within the budgets of its nodepool for Drifted; "
                "then its pods\nleave within their PodDisruptionBudgets.\n",
                r->c->err);
    const char *question =
        arena_printf(&r->a, "Replace %s?", screen_count(&r->a, (int64_t)r->nodes, "node"));
    return change_agreed(r->c, question) ? write_all(r, reterr) : 0;
}

static int run(struct cmd *c, struct err *reterr)
{
    struct replace r = {.c = c};
    if (c->o->words.n == 0 || c->o->words.n > TARGETS_MAX) {
        return err_set(reterr, ERR_INVALID, "say: replace NODE, or replace nodepool/NAME");
    }
    arena_init(&r.a, 0, SIZE_MAX);
    world_init(&r.w, c->o->agent_namespace);
    r.targets = ARENA_NEW_N(&r.a, struct target, c->o->words.n);
    int rc = replace(&r, reterr);
    world_done(&r.w);
    arena_done(&r.a);
    return rc;
}

static const struct opt_group *const groups[] = {&opts_write, &opts_connection, &opts_general,
                                                 NULL};

const struct cmd_info cmd_replace_info = {
    "replace",
    "Has nodes replaced by new ones, replacement first",
    "NODE|nodeclaim/NAME|nodepool/NAME... [flags]",
    "Asks karp-agent to replace a node, or every node that a NodePool has now: a new node is\n"
    "launched and ready before the old one is drained, one after the other, within the NodePool's\n"
    "budgets for Drifted and the pods' PodDisruptionBudgets. Approvals are not waited for. It goes "
    "on\n"
    "by itself, also after a restart of the agent; asking again changes nothing while it lasts. "
    "What\n"
    "holds a node back stands in `explain node`.\n"
    "\n"
    "Examples:\n"
    "  kubectl karp replace ip-10-0-3-17\n"
    "  kubectl karp replace nodepool/default --yes\n"
    "  kubectl karp replace nodepool/default --dry-run=server\n",
    run,
    groups};
