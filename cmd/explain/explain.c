/*
 * explain.c - `kubectl karp explain`: why a pod waits or runs where it does, why a node is there
 * and stays or goes, what a pool can do. Reads only.
 */
#include "cmd/disrupt/disrupt.h"
#include "cmd/opts_table.h"
#include "cmd/out.h"
#include "cmd/screen.h"
#include "common/base/str.h"
#include "explain_objects.h"
#include "podview.h"

#define NAMES_MAX 100u /* a bound pod costs a decision of its own */

/* What the words ask for: objects of one kind. */
struct asked {
    enum kube_kind kind;
    const char **names;
    size_t n;
    bool pending;
};

/* ---- words ----------------------------------------------------------------------------------- */

static int bad_words(struct err *reterr)
{
    return err_set(reterr, ERR_INVALID,
                   "say: explain KIND NAME, explain KIND/NAME or explain pods --pending; KIND is "
                   "pod, node, nodeclaim or nodepool");
}

static int read_kind(const char *word, enum kube_kind *ret, struct err *reterr)
{
    if (objects_kind(word, ret) && (*ret == KIND_POD || *ret == KIND_NODE ||
                                    *ret == KIND_NODE_CLAIM || *ret == KIND_NODE_POOL)) {
        return 0;
    }
    return err_set(reterr, ERR_INVALID,
                   "explain knows pods, nodes, nodeclaims and nodepools, not \"%s\"", word);
}

/* "KIND/NAME" */
static int read_pair(struct arena *a, const char *word, struct asked *ret, struct err *reterr)
{
    const char *slash = strchr(word, '/');
    enum kube_kind kind;
    if (!slash || !slash[1]) {
        return bad_words(reterr);
    }
    if (read_kind(arena_strndup(a, word, (size_t)(slash - word)), &kind, reterr) != 0) {
        return -1;
    }
    if (ret->n > 0 && kind != ret->kind) {
        return err_set(reterr, ERR_INVALID, "explain takes objects of one kind at a time");
    }
    ret->kind = kind;
    ret->names[ret->n++] = slash + 1;
    return 0;
}

static int read_names(struct arena *a, const struct opt_texts *w, struct asked *ret,
                      struct err *reterr)
{
    bool pairs = strchr(w->v[0], '/') != NULL;
    if (!pairs && read_kind(w->v[0], &ret->kind, reterr) != 0) {
        return -1;
    }
    for (size_t i = pairs ? 0 : 1; i < w->n; i++) {
        if (!pairs && strchr(w->v[i], '/')) {
            return bad_words(reterr);
        }
        if (!pairs) {
            ret->names[ret->n++] = w->v[i];
        } else if (read_pair(a, w->v[i], ret, reterr) != 0) {
            return -1;
        }
    }
    return 0;
}

static int read_words(const struct cmd *c, struct arena *a, struct asked *ret, struct err *reterr)
{
    const struct opt_texts *w = &c->o->words;
    *ret = (struct asked){.names = ARENA_NEW_N(a, const char *, w->n), .pending = c->o->pending};
    if (w->n == 0) {
        return bad_words(reterr);
    }
    if (read_names(a, w, ret, reterr) != 0) {
        return -1;
    }
    if ((ret->n == 0) != ret->pending || (ret->pending && ret->kind != KIND_POD)) {
        return bad_words(reterr);
    }
    return ret->n > NAMES_MAX
               ? err_set(reterr, ERR_LIMIT, "more than %u objects at once", NAMES_MAX)
               : 0;
}

/* ---- finding --------------------------------------------------------------------------------- */

struct found {
    struct podview **v;
    size_t n, cap;
};

static void add(struct session *s, struct found *f, const struct pod *p)
{
    ARENA_GROW(&s->a, f->v, f->n, f->cap);
    struct podview *v = ARENA_NEW(&s->a, struct podview);
    podview_build(s, p, v);
    f->v[f->n++] = v;
}

static const struct pod *pod_at(const struct session *s, size_t i)
{
    return world_at(&s->w, KIND_POD, i);
}

/* A pod that is there and cannot be read, or NULL. */
static const struct world_malformed *malformed(const struct session *s, const char *name)
{
    for (size_t i = 0; i < s->w.n_malformed; i++) {
        const struct world_malformed *m = &s->w.malformed[i];
        const char *slash = strchr(m->name, '/');
        bool ns = s->c->o->all_namespaces ||
                  (slash && strlen(session_ns(s)) == (size_t)(slash - m->name) &&
                   str_starts(m->name, session_ns(s)));
        if (str_eq(m->kind, "pod") && ns && str_eq(slash ? slash + 1 : m->name, name)) {
            return m;
        }
    }
    return NULL;
}

static int not_found(struct session *s, const char *name, const char *elsewhere, struct err *reterr)
{
    const struct world_malformed *m = malformed(s, name);
    if (m) {
        return err_set(reterr, ERR_INVALID, "pod %s cannot be read: %s", m->name, m->message);
    }
    const char *hidden = s->w.hidden[KIND_POD] ? " (not allowed to list pods)" : "";
    if (elsewhere) {
        return err_set(reterr, ERR_NOT_FOUND,
                       "pods \"%s\" not found in namespace \"%s\"; there is one in \"%s\": add "
                       "-n %s",
                       name, session_ns(s), elsewhere, elsewhere);
    }
    return err_set(reterr, ERR_NOT_FOUND, "pods \"%s\" not found%s%s%s%s", name,
                   s->c->o->all_namespaces ? "" : " in namespace \"",
                   s->c->o->all_namespaces ? "" : session_ns(s),
                   s->c->o->all_namespaces ? "" : "\"", hidden);
}

static int find_one(struct session *s, const char *name, struct found *f, struct err *reterr)
{
    const char *elsewhere = NULL;
    size_t before = f->n;
    for (size_t i = 0; i < world_n(&s->w, KIND_POD); i++) {
        const struct pod *p = pod_at(s, i);
        if (!str_eq(p->m.name, name)) {
            continue;
        }
        if (s->c->o->all_namespaces || str_eq(p->m.ns, session_ns(s))) {
            add(s, f, p);
        } else {
            elsewhere = elsewhere ? elsewhere : p->m.ns;
        }
    }
    return f->n > before ? 0 : not_found(s, name, elsewhere, reterr);
}

/* Of one namespace only if it was named. */
static void find_pending(struct session *s, struct found *f)
{
    const char *ns = s->c->o->all_namespaces ? NULL : s->c->o->kube.ns;
    for (size_t i = 0; i < world_n(&s->w, KIND_POD); i++) {
        const struct pod *p = pod_at(s, i);
        bool waits = p->node_name[0] == '\0' && pod_active(p) && p->owner != POWNER_DAEMONSET &&
                     p->owner != POWNER_NODE;
        if (waits && (!ns || !*ns || str_eq(p->m.ns, ns))) {
            add(s, f, p);
        }
    }
}

static int find(struct session *s, const struct asked *asked, struct found *f, struct err *reterr)
{
    if (asked->pending) {
        find_pending(s, f);
    }
    for (size_t i = 0; i < asked->n; i++) {
        if (find_one(s, asked->names[i], f, reterr) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- showing --------------------------------------------------------------------------------- */

static void put_warnings(struct session *s, const struct found *f, struct buf *out)
{
    json_t *list = json_array();
    podview_warnings(list, s, f->v, f->n);
    report_put_warning_list(s, list, out);
}

static void put_screens(struct session *s, bool grouped, const struct found *f, struct buf *out)
{
    if (grouped) {
        podlist_screen(s, f->v, f->n, out);
        put_warnings(s, f, out);
        return;
    }
    for (size_t i = 0; i < f->n; i++) {
        if (i > 0) {
            buf_putc(out, '\n');
        }
        podview_screen(f->v[i], out);
    }
    bool priced = false;
    for (size_t i = 0; i < f->n; i++) {
        priced = priced || f->v[i]->e || f->v[i]->claim || f->v[i]->node;
    }
    put_warnings(s, f, out);
    if (priced && s->money) {
        screen_prices(&s->c->term, &s->a, s->prices, out);
    }
}

static int render(struct session *s, const struct asked *asked, const struct found *f,
                  const struct out_spec *spec, struct err *reterr)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUT_MAX);
    if (spec->format == OUT_TABLE || spec->format == OUT_WIDE) {
        put_screens(s, asked->pending, f, &out);
    } else {
        bool one = !asked->pending && f->n == 1;
        json_t *report = one ? podview_json(f->v[0]) : podlist_json(s, f->v, f->n);
        int rc = out_report(spec, report, &out, reterr);
        json_decref(report);
        if (rc != 0) {
            return -1;
        }
    }
    return out_flush(s->c->out, &out, reterr);
}

/* One of the pods asked for runs: then what becomes of its node is worth a plan. */
static bool any_bound(const struct session *s, const struct asked *asked)
{
    for (size_t i = 0; i < world_n(&s->w, KIND_POD) && asked->n > 0; i++) {
        const struct pod *p = pod_at(s, i);
        for (size_t k = 0; k < asked->n && p->node_name[0] != '\0'; k++) {
            if (str_eq(p->m.name, asked->names[k])) {
                return true;
            }
        }
    }
    return false;
}

static int plan_leaving(struct session *s, struct disrupt *d, struct err *reterr)
{
    if (disrupt_plan(s, DISRUPT_ALL, d, reterr) != 0) {
        return -1;
    }
    s->disrupt = d;
    return 0;
}

static int explain_pods(struct session *s, const struct asked *asked, const struct out_spec *spec,
                        struct err *reterr)
{
    struct found found = {NULL, 0, 0};
    /* Of many pods the events would be more than the rest of the cluster. */
    s->w.event_fields = asked->n == 1 ? arena_printf(&s->a,
                                                     "involvedObject.kind=Pod,"
                                                     "involvedObject.name=%s",
                                                     asked->names[0])
                                      : "involvedObject.kind=Pod,reason=FailedScheduling";
    uint64_t more = asked->pending ? held_kinds : disrupt_kinds;
    struct disrupt d;
    if (session_gather(s, session_kinds | more | GATHER(KIND_EVENT), reterr) != 0 ||
        session_decide(s, DECIDE_AS_AGENT, reterr) != 0 ||
        (any_bound(s, asked) && plan_leaving(s, &d, reterr) != 0) ||
        find(s, asked, &found, reterr) != 0) {
        return -1;
    }
    return render(s, asked, &found, spec, reterr);
}

static int explain(struct session *s, const struct out_spec *spec, struct err *reterr)
{
    struct asked asked;
    if (read_words(s->c, &s->a, &asked, reterr) != 0) {
        return -1;
    }
    if (asked.kind == KIND_POD) {
        return explain_pods(s, &asked, spec, reterr);
    }
    struct explain_objects objects = {s, asked.kind, asked.names, asked.n};
    return explain_objects(&objects, spec, reterr);
}

static int run(struct cmd *c, struct err *reterr)
{
    struct out_spec spec;
    struct session s;
    unsigned formats = OUT_TABLE | OUT_WIDE | OUT_JSON | OUT_YAML | OUT_JSONPATH;
    if (out_parse(c->o->output, formats, &spec, reterr) != 0) {
        return -1;
    }
    session_init(&s, c, false);
    int rc = explain(&s, &spec, reterr);
    session_done(&s);
    return rc;
}

static const struct opt_group *const groups[] = {
    &opts_pods, &opts_output, &opts_input, &opts_connection, &opts_decision, &opts_general, NULL};

const struct cmd_info cmd_explain_info = {
    "explain",
    "Why a pod waits, a node stays or goes, a NodePool launches or does not",
    "pod|node|nodeclaim|nodepool NAME... [-n NAMESPACE] | pods --pending [flags]",
    "For a pod that waits: what each NodePool has against it, the nearest one first; how many\n"
    "instance types were left after each step; what the existing nodes have against it; and what\n"
    "could be changed. For a pod that runs: its node, what that is and costs. --pending shows all\n"
    "pods that wait, of all namespaces unless -n names one, grouped by cause.\n"
    "For a node or NodeClaim: how it came, what is on it, each gate that may keep it, and where "
    "its\n"
    "pods would go. For a NodePool: the instance types left after each of its rules, its limits "
    "and\n"
    "budgets, launches under way and failing. What controllers have said stands apart, since they\n"
    "may have seen another moment. Nothing is written anywhere.\n"
    "\n"
    "Examples:\n"
    "  kubectl karp explain pod report-29411-xk2 -n shop\n"
    "  kubectl karp explain pods --pending\n"
    "  kubectl karp explain node ip-10-0-1-5\n"
    "  kubectl karp explain nodeclaim/default-7xk2p -o json\n"
    "  kubectl karp explain nodepool default\n"
    "  kubectl karp explain pod report-0 -n shop --snapshot cluster.yaml\n",
    run,
    groups};
