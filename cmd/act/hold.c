/* hold.c - see hold.h. */
#include "hold.h"

#include "change.h"
#include "cmd/opts_table.h"
#include "cmd/read/gather.h"
#include "cmd/read/objects.h"
#include "cmd/read/targets.h"
#include "cmd/screen.h"
#include "cmd/status/holds.h"
#include "cmd/table.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define TARGETS_MAX 1000u
#define STOPS "No consolidation, drift, expiry or repair"
#define GOES_ON "Interruptions and deletions by others still apply.\n"

enum verb {
    VERB_PAUSE,
    VERB_HOLD,
    VERB_CORDON,
    VERB_CORDON_NODE,
    VERB_RESUME,
    VERB_UNHOLD,
    VERB_UNCORDON,
    VERB_UNCORDON_NODE
};

static const char *const verb_names[] = {"pause",  "hold",   "cordon",   "cordon",
                                         "resume", "unhold", "uncordon", "uncordon"};

struct target {
    enum hold_target kind;
    const char *name; /* "" for the cluster */
    const char *node; /* of a claim, "" = unknown */
    const char *hold; /* name of the Hold that the verb writes */
};

struct holder {
    struct cmd *c;
    enum verb verb;
    hold_mark_fn *mark; /* nodes, before their Holds; NULL = there is none */
    struct world w;
    struct arena a;
    struct facts facts;
    struct connection n;
    struct target *targets;
    size_t n_targets;
    int64_t until_ns;
    const char *by; /* "" = unknown */
};

static bool takes_back(const struct holder *h)
{
    return h->verb >= VERB_RESUME;
}

/* With launches. */
static bool stops_all(const struct holder *h)
{
    return h->verb == VERB_CORDON || (h->verb == VERB_PAUSE && h->c->o->all);
}

/* The server's clock. */
static int64_t now_ns(const struct holder *h)
{
    return clock_wall(h->c->clock) + h->w.skew_ns;
}

/* ---- targets --------------------------------------------------------------------------------- */

bool hold_is_pool(const char *word)
{
    enum kube_kind kind;
    char name[64];
    const char *slash = strchr(word, '/');
    if (!slash || (size_t)(slash - word) >= sizeof(name)) {
        return false;
    }
    memcpy(name, word, (size_t)(slash - word));
    name[slash - word] = '\0';
    return objects_kind(name, &kind) && kind == KIND_NODE_POOL;
}

static const char *target_text(struct holder *h, const struct target *t)
{
    static const char *const words[] = {[HOLD_CLUSTER] = "cluster",
                                        [HOLD_POOL] = "nodepool/",
                                        [HOLD_NODE] = "node/",
                                        [HOLD_CLAIM] = "nodeclaim/"};
    return arena_printf(&h->a, "%s%s", words[t->kind], text_safe(&h->a, t->name));
}

static void add_target(struct holder *h, enum hold_target kind, const char *name, const char *node)
{
    const char *hold = kind == HOLD_CLUSTER     ? "pause"
                       : h->mark                ? arena_printf(&h->a, "cordon-node-%s", node)
                       : kind == HOLD_CLAIM     ? arena_printf(&h->a, "nodeclaim-%s", name)
                       : h->verb == VERB_CORDON ? arena_printf(&h->a, "cordon-%s", name)
                                                : arena_printf(&h->a, "nodepool-%s", name);
    h->targets[h->n_targets++] = (struct target){kind, name, node, hold};
}

/* What is no more can still be let go. */
static int find(void *ctx, enum kube_kind kind, const char *name, struct err *reterr)
{
    struct holder *h = ctx;
    const struct world *w = &h->w;
    bool back = takes_back(h);
    const struct node *n = kind == KIND_NODE ? target_node(w, name) : NULL;
    const struct nodeclaim *nc = kind == KIND_NODE_CLAIM ? target_claim(w, name)
                                 : n                     ? target_claim_of(w, n)
                                                         : NULL;
    if (kind == KIND_NODE_POOL && (back || target_pool(w, name))) {
        add_target(h, HOLD_POOL, name, "");
    } else if (nc) {
        add_target(h, HOLD_CLAIM, nc->m.name, n ? name : nc->node_name);
    } else if (back && kind != KIND_NODE_POOL) {
        add_target(h, kind == KIND_NODE ? HOLD_NODE : HOLD_CLAIM, name, h->mark ? name : "");
    } else {
        return n ? target_unmanaged(name, reterr) : target_missing(w, kind, name, reterr);
    }
    return 0;
}

/* ---- what there is --------------------------------------------------------------------------- */

static const struct hold *hold_named(const struct holder *h, const char *name)
{
    for (size_t i = 0; i < world_n(&h->w, KIND_HOLD); i++) {
        const struct hold *one = world_at(&h->w, KIND_HOLD, i);
        if (str_eq(one->m.name, name)) {
            return one;
        }
    }
    return NULL;
}

static bool is_about(const struct hold *one, const struct target *t)
{
    return (one->target == t->kind && str_eq(one->name, t->name)) ||
           (one->target == HOLD_NODE && t->kind == HOLD_CLAIM && *t->node &&
            str_eq(one->name, t->node));
}

/* The verb deletes it. One that cannot be read is about everything, and nobody's to delete so. */
static bool lets_go(const struct holder *h, const struct hold *one, const struct target *t)
{
    bool scope = t->kind != HOLD_POOL || one->all == (h->verb == VERB_UNCORDON);
    if (h->mark) { /* by its name: the node's claim may be gone */
        return str_eq(one->m.name, t->hold) &&
               (one->target == HOLD_CLAIM || one->target == HOLD_NODE) && !one->problem;
    }
    return is_about(one, t) && scope && (one->target != HOLD_CLUSTER || !one->problem);
}

static bool is_others(const struct holder *h, const struct hold *one)
{
    return one && *one->by && !str_eq(one->by, h->by) && hold_in_force(one, now_ns(h));
}

/* ---- guards ---------------------------------------------------------------------------------- */

static int known(const struct holder *h, struct err *reterr)
{
    if (h->w.hidden[KIND_HOLD]) {
        return err_set(reterr, ERR_FORBIDDEN,
                       "not allowed to list Holds (see ClusterRole "
                       "karp-operator)");
    }
    if (h->w.absent[KIND_HOLD]) {
        return err_set(reterr, ERR_NOT_FOUND,
                       "the cluster does not know Holds: the CRD holds.karp.dev is not installed");
    }
    return 0;
}

static int names_free(const struct holder *h, struct err *reterr)
{
    for (size_t i = 0; i < h->n_targets && !takes_back(h); i++) {
        const struct hold *old = hold_named(h, h->targets[i].hold);
        if (old && !is_about(old, &h->targets[i])) {
            return err_set(reterr, ERR_INVALID, "the Hold %s is there and about something else",
                           old->m.name);
        }
    }
    return 0;
}

static bool somebody_obeys(struct holder *h)
{
    if (!holds_obeyed(&h->facts)) {
        change_refuse(h->c,
                      "%s is in charge of this cluster, and upstream Karpenter knows no Holds",
                      text_safe(&h->a, h->facts.leader));
        return false;
    }
    if (h->facts.charge == CHARGE_NONE) {
        cmd_warn(h->c,
                 "no agent is in charge of this cluster now; a Hold counts when there is one");
    }
    return true;
}

/* Is to be asked about, with the question in *ret. */
static bool is_grave(struct holder *h, const char **ret)
{
    const char *others = NULL;
    for (size_t i = 0; i < h->n_targets; i++) {
        const struct target *t = &h->targets[i];
        for (size_t k = 0; takes_back(h) && k < world_n(&h->w, KIND_HOLD); k++) {
            const struct hold *one = world_at(&h->w, KIND_HOLD, k);
            others = lets_go(h, one, t) && is_others(h, one) ? one->text : others;
        }
        const struct hold *mine = takes_back(h) ? NULL : hold_named(h, t->hold);
        others = is_others(h, mine) ? mine->text : others;
    }
    *ret = others ? arena_printf(&h->a, "Somebody else's: %s. %s?", text_safe(&h->a, others),
                                 takes_back(h) ? "Delete it" : "Replace it")
                  : "Pods that need a new node will wait. Stop launches?";
    return others || stops_all(h);
}

/* ---- writing --------------------------------------------------------------------------------- */

static json_t *text_or_null(const char *s)
{
    return s && *s ? json_string(s) : json_null();
}

static json_t *spec_of(const struct holder *h, const struct target *t)
{
    char at[TIMEFMT_TEXT];
    json_t *target = json_pack("{s:s}", "kind", hold_target_name(t->kind));
    if (*t->name) {
        json_object_set_new(target, "name", json_string(t->name));
    }
    bool ends = h->until_ns != HOLD_WITHOUT_END;
    return json_pack("{s:o, s:s, s:o, s:o, s:o}", "target", target, "scope",
                     stops_all(h) ? "All" : "Disruption", "until",
                     ends ? json_string(timefmt_rfc3339(h->until_ns, at)) : json_null(), "reason",
                     text_or_null(h->c->o->reason), "by", text_or_null(h->by));
}

static void drop_nulls(json_t *o)
{
    const char *key;
    json_t *v;
    void *next;
    json_object_foreach_safe(o, next, key, v)
    {
        if (json_is_null(v)) {
            json_object_del(o, key);
        }
    }
}

static int write_hold(struct holder *h, const struct target *t, struct err *reterr)
{
    const struct hold *old = hold_named(h, t->hold);
    json_t *spec = spec_of(h, t);
    if (old) {
        AUTO_JSON json_t *patch =
            json_pack("{s:{s:s}, s:o}", "metadata", "uid", old->m.uid, "spec", spec);
        return change_patch(h->c, &h->n, KIND_HOLD, t->hold, patch, reterr);
    }
    drop_nulls(spec);
    AUTO_JSON json_t *body = json_pack("{s:{s:s}, s:o}", "metadata", "name", t->hold, "spec", spec);
    return change_create(h->c, &h->n, KIND_HOLD, body, reterr);
}

static int place(struct holder *h, const struct target *t, struct err *reterr)
{
    static const char *const done[] = {"paused", "held", "cordoned", "held"};
    if (write_hold(h, t, reterr) != 0) {
        return -1;
    }
    const char *until =
        h->until_ns == HOLD_WITHOUT_END
            ? ""
            : arena_printf(&h->a, " until %s UTC", screen_clock(&h->a, h->until_ns, now_ns(h)));
    (void)fprintf(h->c->out, "%s %s%s%s%s\n", target_text(h, t), done[h->verb],
                  h->verb == VERB_PAUSE && stops_all(h) ? ", launches too," : "", until,
                  change_suffix(h->c));
    return 0;
}

/* Another one that still holds it, or NULL. */
static const char *still(struct holder *h, const struct target *t)
{
    const struct nodeclaim *nc = t->kind == HOLD_CLAIM ? target_claim(&h->w, t->name) : NULL;
    const char *pool = t->kind == HOLD_POOL ? t->name : nc ? nc->pool : NULL;
    const char *claim = t->kind == HOLD_CLAIM ? t->name : NULL;
    for (size_t i = 0; i < world_n(&h->w, KIND_HOLD); i++) {
        const struct hold *one = world_at(&h->w, KIND_HOLD, i);
        if (hold_in_force(one, now_ns(h)) && !lets_go(h, one, t) &&
            hold_is_about(one, pool, claim, *t->node ? t->node : NULL)) {
            return one->text;
        }
    }
    return NULL;
}

static int release(struct holder *h, const struct target *t, struct err *reterr)
{
    static const char *const done[] = {"resumed", "no longer held", "uncordoned", "no longer held"};
    static const char *const none[] = {"is not paused", "is not held", "is not cordoned"};
    size_t n = 0, at = (size_t)h->verb - VERB_RESUME;
    for (size_t i = 0; i < world_n(&h->w, KIND_HOLD); i++) {
        const struct hold *one = world_at(&h->w, KIND_HOLD, i);
        if (lets_go(h, one, t)) {
            n++;
            if (change_delete(h->c, &h->n, KIND_HOLD, one->m.name, one->m.uid, reterr) != 0) {
                return -1;
            }
        }
    }
    if (n || !h->mark) {
        (void)fprintf(h->c->out, "%s %s%s\n", target_text(h, t), n ? done[at] : none[at],
                      n ? change_suffix(h->c) : "");
    }
    const char *other = h->mark ? NULL : still(h, t);
    if (other) {
        cmd_warn(h->c, "%s is still held: %s", target_text(h, t), text_safe(&h->a, other));
    }
    return 0;
}

static void explain(struct holder *h)
{
    static const char *const back[] = {"resume", "unhold ", "uncordon ", "uncordon "};
    const struct target *t = &h->targets[0];
    if (takes_back(h)) {
        return;
    }
    (void)fprintf(h->c->err, "%s%s. " GOES_ON, STOPS,
                  stops_all(h) ? ", and no new nodes: pods that need one wait" : "");
    if (change_mode(h->c) == CHANGE_REAL) {
        (void)fprintf(h->c->err, "Take it back:  kubectl karp %s%s%s\n", back[h->verb],
                      h->verb == VERB_PAUSE ? ""
                      : h->mark             ? text_safe(&h->a, t->node)
                                            : target_text(h, t),
                      h->n_targets > 1 ? " ..." : "");
    }
}

static int act(struct holder *h, struct err *reterr)
{
    const char *question;
    if (change_open(h->c, &h->n, reterr) != 0) {
        return -1;
    }
    h->by = change_mode(h->c) == CHANGE_CLIENT ? "" : connect_whoami(&h->n, &h->a);
    if (is_grave(h, &question) && !change_agreed(h->c, question)) {
        return 0;
    }
    if (h->mark && h->mark(h->c, &h->n, reterr) != 0) {
        return -1;
    }
    for (size_t i = 0; i < h->n_targets; i++) {
        int rc =
            takes_back(h) ? release(h, &h->targets[i], reterr) : place(h, &h->targets[i], reterr);
        if (rc != 0) {
            return -1;
        }
    }
    explain(h);
    return 0;
}

/* ---- the commands ---------------------------------------------------------------------------- */

static int read_until(struct holder *h, struct err *reterr)
{
    const struct cmd_opts *o = h->c->o;
    bool full;
    int64_t for_ns = h->mark ? o->hold_ns : o->for_ns;
    h->until_ns = HOLD_WITHOUT_END;
    if (o->until && o->for_ns) {
        return err_set(reterr, ERR_INVALID, "say either --until or --for");
    }
    if (o->until && gather_time("until", o->until, now_ns(h), &h->until_ns, &full, reterr) != 0) {
        return -1;
    }
    if (for_ns && __builtin_add_overflow(now_ns(h), for_ns, &h->until_ns)) {
        return err_set(reterr, ERR_INVALID, "--%s is too long", h->mark ? "hold" : "for");
    }
    return h->until_ns > now_ns(h) ? 0
                                   : err_set(reterr, ERR_INVALID, "--until %s is over", o->until);
}

static int hold_all(struct holder *h, struct err *reterr)
{
    static const uint64_t all = GATHER(KIND_NODE) | GATHER(KIND_NODE_CLAIM) |
                                GATHER(KIND_NODE_POOL) | GATHER(KIND_LEASE) |
                                GATHER(KIND_CONFIG_MAP) | GATHER(KIND_HOLD);
    /* A node is uncordoned where karp is unknown, too, and by whom Holds are hidden from. */
    bool holds_only = h->verb == VERB_UNCORDON_NODE;
    if (gather(h->c, holds_only ? GATHER(KIND_HOLD) : all, &h->w, reterr) != 0 ||
        (!holds_only && known(h, reterr) != 0) || read_until(h, reterr) != 0) {
        return -1;
    }
    if (h->verb == VERB_PAUSE || h->verb == VERB_RESUME) {
        add_target(h, HOLD_CLUSTER, "", "");
    } else if (targets_read(h->c, &h->a, verb_names[h->verb], find, h, reterr) != 0) {
        return -1;
    }
    if (names_free(h, reterr) != 0) {
        return -1;
    }
    facts_read(&h->w, &h->a, &h->facts);
    return takes_back(h) || somebody_obeys(h) ? act(h, reterr) : 0;
}

static int run(struct cmd *c, enum verb verb, hold_mark_fn *mark, struct err *reterr)
{
    struct holder h = {.c = c, .verb = verb, .mark = mark, .by = ""};
    arena_init(&h.a, 0, SIZE_MAX);
    world_init(&h.w, c->o->agent_namespace);
    h.targets = ARENA_NEW_N(&h.a, struct target, c->o->words.n + 1);
    int rc = hold_all(&h, reterr);
    connect_close(&h.n);
    world_done(&h.w);
    arena_done(&h.a);
    return rc;
}

static int without_words(struct cmd *c, enum verb verb, struct err *reterr)
{
    if (c->o->words.n > 0) {
        return err_set(reterr, ERR_INVALID,
                       "%s is about the whole cluster; see hold for nodes and nodepools",
                       verb_names[verb]);
    }
    return run(c, verb, NULL, reterr);
}

static int with_words(struct cmd *c, enum verb verb, struct err *reterr)
{
    if (c->o->words.n == 0 || c->o->words.n > TARGETS_MAX) {
        return err_set(reterr, ERR_INVALID, "say: %s NODE, or %s nodepool/NAME", verb_names[verb],
                       verb_names[verb]);
    }
    return run(c, verb, NULL, reterr);
}

int hold_cordon_pools(struct cmd *c, bool on, struct err *reterr)
{
    return run(c, on ? VERB_CORDON : VERB_UNCORDON, NULL, reterr);
}

int hold_cordon_nodes(struct cmd *c, bool on, hold_mark_fn *mark, struct err *reterr)
{
    return run(c, on ? VERB_CORDON_NODE : VERB_UNCORDON_NODE, mark, reterr);
}

static int cmd_pause(struct cmd *c, struct err *reterr)
{
    return without_words(c, VERB_PAUSE, reterr);
}

static int cmd_resume(struct cmd *c, struct err *reterr)
{
    return without_words(c, VERB_RESUME, reterr);
}

static int cmd_hold(struct cmd *c, struct err *reterr)
{
    return with_words(c, VERB_HOLD, reterr);
}

static int cmd_unhold(struct cmd *c, struct err *reterr)
{
    return with_words(c, VERB_UNHOLD, reterr);
}

static const struct opt_group *const place_groups[] = {&opts_hold, &opts_write, &opts_connection,
                                                       &opts_general, NULL};
static const struct opt_group *const pause_groups[] = {&opts_pause,      &opts_hold,    &opts_write,
                                                       &opts_connection, &opts_general, NULL};
static const struct opt_group *const back_groups[] = {&opts_write, &opts_connection, &opts_general,
                                                      NULL};

const struct cmd_info cmd_pause_info = {
    "pause",
    "Stops what karp does to nodes by itself, in the whole cluster",
    "[flags]",
    "No node is consolidated, replaced, expired or repaired until `resume`, or until the time "
    "that\n"
    "is given; what has begun is undone if nothing was evicted yet. Interruptions are still "
    "handled\n"
    "and what others delete is still drained. With --all no node is launched either: pods that "
    "need\n"
    "one wait. It is an object, Hold pause: kubectl and GitOps can write it as well.\n"
    "\n"
    "Examples:\n"
    "  kubectl karp pause --for 2h --reason \"release 7\"\n"
    "  kubectl karp pause --until 18:00\n"
    "  kubectl karp pause --all --yes\n",
    cmd_pause,
    pause_groups};

const struct cmd_info cmd_resume_info = {"resume",
                                         "Takes back what pause did",
                                         "[flags]",
                                         "Deletes every Hold whose target is the whole cluster, "
                                         "whoever has written it. Those of single\n"
                                         "nodes and NodePools stay: see unhold and uncordon.\n",
                                         cmd_resume,
                                         back_groups};

const struct cmd_info cmd_hold_info = {
    "hold",
    "Stops what karp does by itself to a node or a nodepool",
    "NODE|nodeclaim/NAME|nodepool/NAME... [flags]",
    "The node, or every node of the NodePool, is not consolidated, replaced, expired or repaired\n"
    "until `unhold`, or until the time that is given; what has begun is undone if nothing was\n"
    "evicted yet. Interruptions are still handled and what others delete is still drained.\n"
    "\n"
    "Examples:\n"
    "  kubectl karp hold ip-10-0-2-12 --for 4h --reason \"debug kernel oops\"\n"
    "  kubectl karp hold nodepool/gpu\n",
    cmd_hold,
    place_groups};

const struct cmd_info cmd_unhold_info = {
    "unhold",
    "Takes back what hold did",
    "NODE|nodeclaim/NAME|nodepool/NAME... [flags]",
    "Deletes the Holds of the node, its NodeClaim or the NodePool, whoever has written them. What\n"
    "holds a NodePool's launches too is cordon's: see uncordon.\n",
    cmd_unhold,
    back_groups};
