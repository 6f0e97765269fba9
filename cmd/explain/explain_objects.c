/* explain_objects.c - see explain_objects.h. */
#include "explain_objects.h"

#include "cmd/read/departed.h"
#include "cmd/screen.h"
#include "common/base/str.h"
#include "nodeview.h"
#include "poolview.h"

/* ---- finding --------------------------------------------------------------------------------- */

static int not_found(const struct explain_objects *x, const char *name, struct err *reterr)
{
    const struct world *w = &x->s->w;
    const struct kube_kind_info *info = kube_kind(x->kind);
    for (size_t i = 0; i < w->n_malformed; i++) {
        const struct world_malformed *m = &w->malformed[i];
        if (strcasecmp(m->kind, info->kind) == 0 && str_eq(m->name, name)) {
            return err_set(reterr, ERR_INVALID, "%s %s cannot be read: %s", m->kind, name,
                           m->message);
        }
    }
    const char *hidden = "";
    if (w->hidden[x->kind]) {
        hidden = arena_printf(&x->s->a, " (not allowed to list %s)", info->plural);
    }
    return err_set(reterr, ERR_NOT_FOUND, "%s \"%s\" not found%s", info->plural, name, hidden);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* One that is gone may have left a trace: then gone[i] has it, and v[i] is nothing. */
static int find_nodes(const struct explain_objects *x, const struct disrupt *d, struct nodeview *v,
                      struct departed_list *gone, struct err *reterr)
{
    for (size_t i = 0; i < x->n; i++) {
        const struct snapshot_node *n = nodeview_find(x->s, x->kind, x->names[i]);
        if (n) {
            nodeview_build(d, n, &v[i]);
            continue;
        }
        gone[i] = departed_read(&x->s->w, &x->s->a, x->kind, x->names[i], 0);
        if (gone[i].n == 0) {
            return not_found(x, x->names[i], reterr);
        }
    }
    return 0;
}

/* The last time that a node of this name was there. */
static const struct departed *last_of(const struct departed_list *gone)
{
    return &gone->v[gone->n - 1];
}

static json_t *gone_json(const struct departed_list *gone)
{
    const struct departed *d = last_of(gone);
    json_t *o = json_object(), *history = json_array();
    report_text(o, "node", *d->node ? d->node : NULL);
    report_text(o, "nodeClaim", *d->claim ? d->claim : NULL);
    report_text(o, "nodePool", *d->pool ? d->pool : NULL);
    report_put(o, "verdict", json_pack("{s:s, s:s}", "code", "Gone", "message", d->message));
    for (size_t i = 0; i < gone->n; i++) {
        (void)json_array_append_new(history, departed_json(&gone->v[i]));
    }
    report_put(o, "history", history);
    return o;
}

static void gone_screen(const struct explain_objects *x, const struct departed_list *gone,
                        struct buf *out)
{
    for (size_t i = 0; i < gone->n; i++) {
        if (i > 0) {
            buf_putc(out, '\n');
        }
        departed_screen(&gone->v[i], &x->s->c->term, &x->s->a, x->s->w.now_ns, x->s->money, out);
    }
}

/* ---- showing --------------------------------------------------------------------------------- */

/* One of the two is there. */
struct views {
    const struct explain_objects *x;
    const struct nodeview *nodes;
    const struct poolview *pools;
    const struct departed_list *gone; /* beside nodes */
};

static json_t *body(const struct views *v, size_t i)
{
    if (!v->nodes) {
        return poolview_json(&v->pools[i]);
    }
    return v->gone[i].n ? gone_json(&v->gone[i]) : nodeview_json(&v->nodes[i]);
}

static json_t *headed(const struct views *v, bool list)
{
    json_t *o = json_object();
    const char *kind = v->nodes ? "NodeExplanation" : "NodePoolExplanation";
    report_text(o, "apiVersion", "karp.dev/v1alpha1");
    report_text(o, "kind", arena_printf(&v->x->s->a, "%s%s", kind, list ? "List" : ""));
    return o;
}

static json_t *report(const struct views *v)
{
    bool list = v->x->n > 1;
    json_t *o = headed(v, list), *warnings = json_array(), *items = json_array();
    for (size_t i = 0; i < v->x->n; i++) {
        json_t *one = body(v, i);
        if (list) {
            (void)json_array_append_new(items, one);
        } else {
            (void)json_object_update(o, one);
            json_decref(one);
        }
    }
    if (list) {
        report_put(o, "items", items);
    } else {
        json_decref(items);
    }
    report_warnings(warnings, &v->x->s->a, v->x->s);
    report_put(o, "warnings", warnings);
    report_put(o, "incomplete", json_boolean(report_incomplete(v->x->s)));
    return o;
}

static void screens(const struct views *v, bool wide, struct buf *out)
{
    for (size_t i = 0; i < v->x->n; i++) {
        if (i > 0) {
            buf_putc(out, '\n');
        }
        if (v->nodes && v->gone[i].n) {
            gone_screen(v->x, &v->gone[i], out);
        } else if (v->nodes) {
            nodeview_screen(&v->nodes[i], wide, out);
        } else {
            poolview_screen(&v->pools[i], out);
        }
    }
    report_put_warnings(v->x->s, out);
    if (v->x->s->money) {
        screen_prices(&v->x->s->c->term, &v->x->s->a, v->x->s->prices, out);
    }
}

static int render(const struct views *v, const struct out_spec *spec, struct err *reterr)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUT_MAX);
    if (spec->format == OUT_TABLE || spec->format == OUT_WIDE) {
        screens(v, spec->format == OUT_WIDE, &out);
    } else {
        json_t *o = report(v);
        int rc = out_report(spec, o, &out, reterr);
        json_decref(o);
        if (rc != 0) {
            return -1;
        }
    }
    return out_flush(v->x->s->c->out, &out, reterr);
}

/* ---- both ------------------------------------------------------------------------------------ */

static int explain_nodes(const struct explain_objects *x, const struct out_spec *spec,
                         struct err *reterr)
{
    struct disrupt d;
    struct nodeview *v = ARENA_NEW_N(&x->s->a, struct nodeview, x->n);
    struct departed_list *gone = ARENA_NEW_N(&x->s->a, struct departed_list, x->n);
    if (disrupt_plan(x->s, DISRUPT_ALL, &d, reterr) != 0 ||
        find_nodes(x, &d, v, gone, reterr) != 0) {
        return -1;
    }
    return render(&(struct views){x, v, NULL, gone}, spec, reterr);
}

static int explain_pools(const struct explain_objects *x, const struct out_spec *spec,
                         struct err *reterr)
{
    struct fleet fleet;
    struct poolview *v = ARENA_NEW_N(&x->s->a, struct poolview, x->n);
    fleet_count(&x->s->w, &x->s->d, x->s->prices, &x->s->a, &fleet);
    for (size_t i = 0; i < x->n; i++) {
        const struct snapshot_pool *p = snapshot_pool_find(&x->s->d.snap, x->names[i]);
        if (!p) {
            return not_found(x, x->names[i], reterr);
        }
        poolview_build(x->s, p, &fleet, &v[i]);
    }
    return render(&(struct views){x, NULL, v, NULL}, spec, reterr);
}

int explain_objects(const struct explain_objects *x, const struct out_spec *spec,
                    struct err *reterr)
{
    /* Events about what is in no namespace: nodes, claims and pools. */
    x->s->w.event_fields = "involvedObject.namespace=";
    if (session_gather(x->s, session_kinds | disrupt_kinds | GATHER(KIND_EVENT) | GATHER_HISTORY,
                       reterr) != 0 ||
        session_decide(x->s, DECIDE_AS_AGENT, reterr) != 0) {
        return -1;
    }
    return x->kind == KIND_NODE_POOL ? explain_pools(x, spec, reterr)
                                     : explain_nodes(x, spec, reterr);
}
