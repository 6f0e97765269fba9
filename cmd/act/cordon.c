/* cordon.c - `kubectl karp cordon` and `uncordon`: nothing new is scheduled to a node. */
#include "change.h"
#include "cmd/opts_table.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "hold.h"

#define NAMES_MAX 1000u

/* "node/NAME" is NAME. */
static int read_name(const char *word, const char *verb, const char **ret, struct err *reterr)
{
    static const char *const kinds[] = {"node/", "nodes/", "no/"};
    const char *slash = strchr(word, '/');
    *ret = slash ? slash + 1 : word;
    for (size_t i = 0; slash && i < ARRAY_LEN(kinds); i++) {
        if (str_starts(word, kinds[i])) {
            slash = NULL;
        }
    }
    if (slash) {
        return err_set(reterr, ERR_INVALID, "%s takes nodes, or nodepools alone, not %s", verb,
                       word);
    }
    return **ret ? 0 : err_set(reterr, ERR_INVALID, "%s: a node without a name", verb);
}

static bool all_pools(const struct opt_texts *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        n += hold_is_pool(w->v[i]);
    }
    return n == w->n;
}

static json_t *get_node(struct connection *n, const char *name, struct err *reterr)
{
    AUTO_BUF struct buf path;
    buf_init(&path, KUBE_PATH_MAX);
    kube_path(&path, KIND_NODE, NULL, name, NULL);
    return connect_get(n, path.p, reterr);
}

static int one(struct cmd *c, struct connection *n, const char *name, bool on, struct err *reterr)
{
    AUTO_JSON json_t *node = get_node(n, name, reterr);
    if (!node) {
        return -1;
    }
    bool already = jsonx_bool(node, "spec.unschedulable", false) == on;
    if (!already) {
        AUTO_JSON json_t *patch = json_pack("{s:{s:s}, s:{s:o}}", "metadata", "uid",
                                            jsonx_str_or(node, "metadata.uid", ""), "spec",
                                            "unschedulable", on ? json_true() : json_null());
        if (change_patch(c, n, KIND_NODE, name, patch, reterr) != 0) {
            return -1;
        }
    }
    (void)fprintf(c->out, "node/%s %s%sed%s\n", name, already ? "already " : "",
                  on ? "cordon" : "uncordon", change_suffix(c));
    return 0;
}

static int all_nodes(struct cmd *c, struct connection *n, bool on, struct err *reterr)
{
    const struct opt_texts *w = &c->o->words;
    const char *name;
    int rc = 0;
    for (size_t i = 0; i < w->n && rc == 0; i++) {
        (void)read_name(w->v[i], "", &name, NULL);
        rc = one(c, n, name, on, reterr);
    }
    return rc;
}

static int mark(struct cmd *c, struct connection *n, struct err *reterr)
{
    return all_nodes(c, n, true, reterr);
}

static int unmark(struct cmd *c, struct connection *n, struct err *reterr)
{
    return all_nodes(c, n, false, reterr);
}

static int only_cordon(struct cmd *c, struct err *reterr)
{
    struct connection n;
    if (change_open(c, &n, reterr) != 0) {
        return -1;
    }
    int rc = mark(c, &n, reterr);
    connect_close(&n);
    return rc;
}

/* With --hold nodes are held, too. */
static int check_options(const struct cmd *c, bool pools, struct err *reterr)
{
    const struct cmd_opts *o = c->o;
    if (pools && o->hold_ns) {
        return err_set(reterr, ERR_INVALID,
                       "--hold is for nodes: a nodepool is held as well, for --for or --until");
    }
    if (!pools && (o->until || o->for_ns || (o->reason && !o->hold_ns))) {
        return err_set(reterr, ERR_INVALID,
                       "--for and --until are for nodepools, --reason is for those and --hold: a "
                       "node is cordoned until it is uncordoned");
    }
    return 0;
}

static int change(struct cmd *c, bool on, struct err *reterr)
{
    const struct opt_texts *w = &c->o->words;
    const char *verb = on ? "cordon" : "uncordon", *name;
    bool pools = all_pools(w);
    if (w->n == 0 || w->n > NAMES_MAX) {
        return err_set(reterr, ERR_INVALID, "say: %s NODE..., or %s nodepool/NAME...", verb, verb);
    }
    if (check_options(c, pools, reterr) != 0) {
        return -1;
    }
    if (pools) {
        return hold_cordon_pools(c, on, reterr);
    }
    for (size_t i = 0; i < w->n; i++) {
        if (read_name(w->v[i], verb, &name, reterr) != 0) {
            return -1;
        }
    }
    return on && !c->o->hold_ns ? only_cordon(c, reterr)
                                : hold_cordon_nodes(c, on, on ? mark : unmark, reterr);
}

static int cordon(struct cmd *c, struct err *reterr)
{
    return change(c, true, reterr);
}

static int uncordon(struct cmd *c, struct err *reterr)
{
    return change(c, false, reterr);
}

static const struct opt_group *const groups[] = {&opts_write, &opts_connection, &opts_general,
                                                 NULL};
static const struct opt_group *const cordon_groups[] = {
    &opts_cordon, &opts_hold, &opts_write, &opts_connection, &opts_general, NULL};

const struct cmd_info cmd_cordon_info = {
    "cordon",
    "Keeps new pods off a node, new nodes out of a nodepool",
    "NODE... | nodepool/NAME... [flags]",
    "Marks nodes unschedulable, as kubectl cordon: kube-scheduler puts no new pod there and karp\n"
    "plans none there. Pods that run stay. Nobody is asked. With --hold the node gets a Hold, "
    "too,\n"
    "for that long: it is not consolidated, replaced, expired or repaired.\n"
    "\n"
    "A NodePool gets a Hold: no new nodes there, and none of its nodes is consolidated, replaced,\n"
    "expired or repaired, until `uncordon`, or until the time that is given. That is asked about.\n"
    "\n"
    "Examples:\n"
    "  kubectl karp cordon ip-10-0-2-12\n"
    "  kubectl karp cordon ip-10-0-2-12 --hold 4h --reason \"debug kernel oops\"\n"
    "  kubectl karp cordon nodepool/gpu --for 2h --reason \"new subnets\"\n"
    "  kubectl karp uncordon ip-10-0-2-12\n",
    cordon,
    cordon_groups};

const struct cmd_info cmd_uncordon_info = {"uncordon",
                                           "Takes back what cordon did",
                                           "NODE... | nodepool/NAME... [flags]",
                                           "Lets new pods onto nodes again, and deletes the Hold "
                                           "that `cordon --hold` gave them.\nLets new nodes into "
                                           "a NodePool: deletes its Holds that stop launches, "
                                           "whoever has\nwritten them.\n",
                                           uncordon,
                                           groups};
