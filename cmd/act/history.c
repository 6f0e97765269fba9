/* history.c - `kubectl karp history`: why nodes left, and by whom. */
#include "cmd/opts_table.h"
#include "cmd/out.h"
#include "cmd/read/departed.h"
#include "cmd/read/gather.h"
#include "cmd/read/objects.h"
#include "cmd/report.h"
#include "cmd/screen.h"
#include "cmd/status/money.h"
#include "cmd/table.h"
#include "common/base/str.h"

#define ACTORS_MAX 16u

struct history {
    struct cmd *c;
    struct world w;
    struct arena a;
    enum kube_kind kind;
    const char *name; /* NULL: all */
    struct departed_list list;
};

/* ---- words ----------------------------------------------------------------------------------- */

static bool read_kind(struct history *h, const char *word)
{
    return objects_kind(word, &h->kind) &&
           (h->kind == KIND_NODE || h->kind == KIND_NODE_CLAIM || h->kind == KIND_NODE_POOL);
}

static int read_words(struct history *h, struct err *reterr)
{
    const struct opt_texts *w = &h->c->o->words;
    const char *slash = w->n == 1 ? strchr(w->v[0], '/') : NULL;
    const char *kind = slash  ? arena_strndup(&h->a, w->v[0], (size_t)(slash - w->v[0]))
                       : w->n ? w->v[0]
                              : NULL;
    if (w->n == 0) {
        return 0;
    }
    h->name = slash ? slash + 1 : w->n == 2 ? w->v[1] : NULL;
    if (w->n > 2 || !h->name || !*h->name || !read_kind(h, kind)) {
        return err_set(reterr, ERR_INVALID,
                       "say: history, history node NAME, history nodeclaim NAME or history "
                       "nodepool NAME");
    }
    return 0;
}

/* ---- machines -------------------------------------------------------------------------------- */

static json_t *report(const struct history *h)
{
    json_t *o = json_object(), *entries = json_array();
    report_text(o, "apiVersion", "karp.dev/v1alpha1");
    report_text(o, "kind", "HistoryReport");
    for (size_t i = 0; i < h->list.n; i++) {
        (void)json_array_append_new(entries, departed_json(&h->list.v[i]));
    }
    report_put(o, "entries", entries);
    report_put(o, "incomplete", json_boolean(h->w.n_notes > 0));
    return o;
}

/* ---- screen ---------------------------------------------------------------------------------- */

struct actor {
    const char *name;
    size_t n;
};

static int by_count(const void *x, const void *y)
{
    const struct actor *a = x, *b = y;
    return a->n != b->n ? a->n > b->n ? -1 : 1 : str_cmp(a->name, b->name);
}

/* "3 emptiness, 1 user" */
static const char *actors(struct history *h)
{
    struct actor v[ACTORS_MAX];
    size_t n = 0;
    const char *text = "";
    for (size_t i = 0; i < h->list.n; i++) {
        size_t k = 0;
        while (k < n && !str_eq(v[k].name, h->list.v[i].actor)) {
            k++;
        }
        if (k == n && n < ACTORS_MAX) {
            v[n++] = (struct actor){h->list.v[i].actor, 0};
        }
        if (k < n) {
            v[k].n++;
        }
    }
    qsort(v, n, sizeof(*v), by_count);
    for (size_t i = 0; i < n; i++) {
        text = arena_printf(&h->a, "%s%s%zu %s", text, i ? ", " : "", v[i].n, v[i].name);
    }
    return text;
}

static const char *within(struct history *h)
{
    return h->c->o->since_ns ? arena_printf(&h->a, " in %s", screen_age(&h->a, h->c->o->since_ns))
                             : "";
}

static void put_none(struct history *h, struct buf *out)
{
    const char *of = h->name ? arena_printf(&h->a, " of %s %s", kube_kind(h->kind)->kind,
                                            text_safe(&h->a, h->name))
                             : "";
    if (!h->w.history) {
        buf_printf(out, "No history: ConfigMap " WORLD_HISTORY " of namespace %s is not there.\n",
                   text_safe(&h->a, h->w.agent_ns));
        return;
    }
    buf_printf(out, "Nothing%s has left%s, as far as is known (7 days, 2,000 nodes).\n", of,
               within(h));
}

static void put_row(struct history *h, struct table *t, const struct departed *d)
{
    char money[MONEY_TEXT];
    const char *first = json_string_value(json_array_get(d->replaced_by, 0));
    size_t more = json_array_size(d->replaced_by);
    table_cell(t, screen_age(&h->a, h->w.now_ns - d->time_ns));
    table_cell(t, *d->node ? d->node : arena_printf(&h->a, "nodeclaim/%s", d->claim));
    table_cell(t, d->pool);
    table_cell(t, arena_printf(&h->a, "%s%s%s", d->type, *d->capacity_type ? " " : "",
                               str_eq(d->capacity_type, "on-demand") ? "od" : d->capacity_type));
    table_cell(t, d->reason);
    table_cell(t, d->actor);
    table_cell(t, d->price_pusd_h == PRICE_UNKNOWN || h->c->o->no_prices
                      ? "-"
                      : arena_strdup(&h->a, money_hour(d->price_pusd_h, money)));
    table_cell(t, !first     ? "-"
                  : more > 1 ? arena_printf(&h->a, "%s and %zu more", first, more - 1)
                             : first);
    table_cell(t, d->claim);
    table_cell(t, d->zone);
    table_cell(t, *d->command ? d->command : "-");
}

static void put_table(struct history *h, bool wide, struct buf *out)
{
    static const struct table_column columns[] = {
        {"LEFT", false, false}, {"NODE", false, false},        {"NODEPOOL", false, false},
        {"TYPE", false, false}, {"REASON", false, false},      {"BY", false, false},
        {"$/H", true, false},   {"REPLACED-BY", false, false}, {"NODECLAIM", false, true},
        {"ZONE", false, true},  {"COMMAND", false, true}};
    struct table t;
    bool heads = !h->c->o->no_headers;
    if (heads) {
        buf_printf(out, "%s left%s: %s\n\n", screen_count(&h->a, (int64_t)h->list.n, "node"),
                   within(h), text_safe(&h->a, actors(h)));
    }
    table_init(&t, &h->a, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < h->list.n; i++) {
        put_row(h, &t, &h->list.v[i]);
    }
    table_write(&t, &h->c->term, heads, wide, out);
}

static void screen(struct history *h, bool wide, struct buf *out)
{
    if (h->list.n == 0) {
        put_none(h, out);
    } else if (!h->name || h->kind == KIND_NODE_POOL) {
        put_table(h, wide, out);
    } else {
        for (size_t i = 0; i < h->list.n; i++) {
            if (i > 0) {
                buf_putc(out, '\n');
            }
            departed_screen(&h->list.v[i], &h->c->term, &h->a, h->w.now_ns, !h->c->o->no_prices,
                            out);
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int show(struct history *h, const struct out_spec *spec, struct err *reterr)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUT_MAX);
    if (spec->format == OUT_TABLE || spec->format == OUT_WIDE) {
        screen(h, spec->format == OUT_WIDE, &out);
    } else {
        json_t *o = report(h);
        int rc = out_report(spec, o, &out, reterr);
        json_decref(o);
        if (rc != 0) {
            return -1;
        }
    }
    return out_flush(h->c->out, &out, reterr);
}

static int look(struct history *h, const struct out_spec *spec, struct err *reterr)
{
    int64_t since_ns = h->c->o->since_ns;
    if (read_words(h, reterr) != 0 || gather(h->c, GATHER_HISTORY, &h->w, reterr) != 0) {
        return -1;
    }
    h->list = departed_read(&h->w, &h->a, h->kind, h->name,
                            since_ns ? h->w.now_ns + h->w.skew_ns - since_ns : 0);
    return show(h, spec, reterr);
}

static int run(struct cmd *c, struct err *reterr)
{
    struct out_spec spec;
    struct history h = {.c = c, .kind = KIND_NODE};
    if (out_parse(c->o->output, OUT_TABLE | OUT_WIDE | OUT_JSON | OUT_YAML | OUT_JSONPATH, &spec,
                  reterr) != 0) {
        return -1;
    }
    arena_init(&h.a, 0, SIZE_MAX);
    world_init(&h.w, c->o->agent_namespace);
    int rc = look(&h, &spec, reterr);
    world_done(&h.w);
    arena_done(&h.a);
    return rc;
}

static const struct opt_group *const groups[] = {&opts_history,    &opts_output,  &opts_input,
                                                 &opts_connection, &opts_general, NULL};

const struct cmd_info cmd_history_info = {
    "history",
    "Why nodes left, and by whom",
    "[node|nodeclaim|nodepool NAME] [flags]",
    "Shows what karp-agent wrote down of every node that left in the last 7 days (at most 2,000\n"
    "nodes): why, who wanted it, which command replaced it by what, and the prices. `user` is\n"
    "somebody else than karp: the API server does not tell who deleted an object; its audit log\n"
    "does.\n"
    "\n"
    "Examples:\n"
    "  kubectl karp history --since 24h\n"
    "  kubectl karp history node ip-10-0-3-17\n"
    "  kubectl karp history nodepool/default -o json\n",
    run,
    groups};
