/* explain.c - `kubectl karp explain pod`: why a pod waits or runs where it does. Reads only. */
#include "common/base/str.h"
#include "opts_table.h"
#include "out.h"
#include "podview.h"
#include "screen.h"

#define NAMES_MAX 100u /* a bound pod costs a decision of its own */

/* What the words ask for. */
struct asked {
    const char **names;
    size_t n;
    bool pending;
};

/* ---- words ----------------------------------------------------------------------------------- */

static int bad_words(struct err *reterr)
{
    return err_set(reterr, ERR_INVALID,
                   "say: explain pod NAME, explain pod/NAME or explain pods "
                   "--pending");
}

static int only_pods(const char *kind, struct err *reterr)
{
    enum kube_kind k;
    if (objects_kind(kind, &k) && k == KIND_POD) {
        return 0;
    }
    return err_set(reterr, ERR_INVALID, "explain knows pods, not \"%s\"", kind);
}

static int read_words(const struct cmd *c, struct arena *a, struct asked *ret, struct err *reterr)
{
    const struct opt_texts *w = &c->o->words;
    *ret = (struct asked){.names = ARENA_NEW_N(a, const char *, w->n), .pending = c->o->pending};
    if (w->n == 0) {
        return bad_words(reterr);
    }
    bool slashes = strchr(w->v[0], '/') != NULL;
    if (!slashes && only_pods(w->v[0], reterr) != 0) {
        return -1;
    }
    for (size_t i = slashes ? 0 : 1; i < w->n; i++) {
        const char *slash = strchr(w->v[i], '/');
        if ((slash != NULL) != slashes || (slash && !slash[1])) {
            return bad_words(reterr);
        }
        if (slash && only_pods(arena_strndup(a, w->v[i], (size_t)(slash - w->v[i])), reterr) != 0) {
            return -1;
        }
        ret->names[ret->n++] = slash ? slash + 1 : w->v[i];
    }
    if ((ret->n == 0) != ret->pending) {
        return bad_words(reterr);
    }
    return ret->n > NAMES_MAX ? err_set(reterr, ERR_LIMIT, "more than %u pods at once", NAMES_MAX)
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

static int explain(struct session *s, const struct out_spec *spec, struct err *reterr)
{
    struct asked asked;
    struct found found = {NULL, 0, 0};
    if (read_words(s->c, &s->a, &asked, reterr) != 0) {
        return -1;
    }
    /* Of many pods the events would be more than the rest of the cluster. */
    s->w.event_fields = asked.n == 1 ? arena_printf(&s->a,
                                                    "involvedObject.kind=Pod,"
                                                    "involvedObject.name=%s",
                                                    asked.names[0])
                                     : "involvedObject.kind=Pod,reason=FailedScheduling";
    if (session_gather(s, session_kinds | GATHER(KIND_EVENT), reterr) != 0 ||
        session_decide(s, DECIDE_AS_AGENT, reterr) != 0 || find(s, &asked, &found, reterr) != 0) {
        return -1;
    }
    return render(s, &asked, &found, spec, reterr);
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
    "Why a pod waits, or runs where it does, and what would help",
    "pod NAME... [-n NAMESPACE] | pods --pending [flags]",
    "For a pod that waits: what each NodePool has against it, the nearest one first; how many\n"
    "instance types were left after each step; what the existing nodes have against it; and what\n"
    "could be changed. For a pod that runs: its node, what that is and costs. What the controller\n"
    "itself has said stands apart, since it may have seen another moment. --pending shows all "
    "pods\n"
    "that wait, of all namespaces unless -n names one, grouped by cause. Nothing is written\n"
    "anywhere.\n"
    "\n"
    "Examples:\n"
    "  kubectl karp explain pod report-29411-xk2 -n shop\n"
    "  kubectl karp explain pods --pending\n"
    "  kubectl karp explain pod/api-0 pod/api-1 -n shop -o json\n"
    "  kubectl karp explain pod report-0 -n shop --snapshot cluster.yaml\n",
    run,
    groups};
