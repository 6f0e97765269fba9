/* approve_screen.c - requests on the screen: see approve_int.h. */
#include "approve_int.h"
#include "cmd/screen.h"
#include "cmd/status/money.h"
#include "cmd/table.h"
#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/core/consent/approval.h"
#include "common/core/ec2/catalog.h"

#define DIGEST_SHOWN 8
#define INDENT 9u /* of text behind a row's title */

/* "-0.300" of a saving of $0.300/h */
static const char *delta(struct approver *x, const struct dreq *r)
{
    char text[MONEY_TEXT];
    return x->c->o->no_prices ? "-"
           : r->saving_pusd_h == PRICE_UNKNOWN || r->problem
               ? "?"
               : arena_strdup(x->a, money_hour(-r->saving_pusd_h, text));
}

static const char *price(struct approver *x, int64_t pusd_h)
{
    return x->c->o->no_prices ? ""
                              : arena_printf(x->a, "   %s", screen_hour(x->a, pusd_h, false, ""));
}

static const char *pools(struct approver *x, const struct dreq *r)
{
    const char *text = "";
    for (uint32_t i = 0; i < r->n_pools; i++) {
        text = arena_printf(x->a, "%s%s%s", text, i ? "," : "", r->pools[i]);
    }
    return text;
}

/* ---- list ------------------------------------------------------------------------------------ */

static void put_row(struct approver *x, struct table *t, const struct dreq *r, int64_t now_ns)
{
    table_cell(t, r->m.name);
    table_cell(t, approval_reason_name(r->reason));
    table_cellf(t, "%u", r->n_candidates);
    table_cellf(t, "%u", r->n_replacements);
    table_cellf(t, "%lld", (long long)r->pod_count);
    table_cell(t, delta(x, r));
    table_cell(t, screen_age(x->a, r->expires_ns - now_ns));
    table_cell(t, request_risk(x->a, r));
    table_cell(t, pools(x, r));
    table_cell(t, screen_age(x->a, now_ns - r->m.created_ns));
    table_cell(t, r->plan);
}

static size_t put_waiting(struct approver *x, bool wide, struct buf *out, const char **ret_first)
{
    static const struct table_column columns[] = {
        {"ID", false, false},      {"REASON", false, false}, {"OUT", true, false},
        {"IN", true, false},       {"PODS", true, false},    {"$/H", true, false},
        {"EXPIRES", false, false}, {"RISK", false, false},   {"NODEPOOLS", false, true},
        {"AGE", false, true},      {"PLAN", false, true}};
    struct table t;
    int64_t now_ns = requests_now(x->w);
    size_t n = 0;
    table_init(&t, x->a, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < world_n(x->w, KIND_DISRUPTION_REQUEST); i++) {
        const struct dreq *r = world_at(x->w, KIND_DISRUPTION_REQUEST, i);
        if (request_waits(r, now_ns)) {
            *ret_first = n++ ? *ret_first : r->m.name;
            put_row(x, &t, r, now_ns);
        }
    }
    if (n > 0) {
        table_write(&t, &x->c->term, !x->c->o->no_headers, wide, out);
    }
    return n;
}

/* Why nothing waits, as far as that is known. */
static void put_none(struct approver *x, struct buf *out)
{
    const struct facts *f = &x->facts;
    buf_puts(out, "No request waits for a decision.\n");
    if (f->charge == CHARGE_KARPENTER) {
        buf_printf(
            out,
            "%s is in charge: upstream Karpenter files none and knows no approvals. What it\n"
            "could do:  kubectl karp consolidate --dry-run\n",
            text_safe(x->a, f->leader));
    } else if (f->charge == CHARGE_NONE) {
        buf_puts(out, "No agent is in charge of this cluster: nobody files any.\n");
    }
}

/* "executing, by grant nightly" */
static const char *under_way(struct approver *x, const struct dreq *r)
{
    const char *by = *r->grant                 ? arena_printf(x->a, "covered by grant %s", r->grant)
                     : r->decision == DREQ_YES ? request_decision(x->a, r, requests_now(x->w))
                     : *r->supersedes ? arena_printf(x->a, "approved as %s was", r->supersedes)
                                      : "approved";
    return r->phase == DREQ_EXECUTING ? arena_printf(x->a, "executing, %s", by) : by;
}

/* Decided by a person or a grant, and not over. */
static void put_under_way(struct approver *x, struct buf *out)
{
    bool first = true;
    for (size_t i = 0; i < world_n(x->w, KIND_DISRUPTION_REQUEST); i++) {
        const struct dreq *r = world_at(x->w, KIND_DISRUPTION_REQUEST, i);
        if (!request_goes(r, requests_now(x->w))) {
            continue;
        }
        buf_puts(out, first ? "\nUNDER WAY\n" : "");
        buf_printf(out, "  %-*s ", (int)INDENT, text_safe(x->a, r->m.name));
        screen_wrap(&x->c->term, x->a, 2 + INDENT + 1, under_way(x, r), out);
        buf_putc(out, '\n');
        first = false;
    }
}

void approve_list(struct approver *x, bool wide, struct buf *out)
{
    const char *first = "";
    size_t n = put_waiting(x, wide, out, &first);
    if (x->c->o->no_headers) {
        return;
    }
    if (n == 0) {
        put_none(x, out);
    }
    put_under_way(x, out);
    if (n > 0) {
        first = text_safe(x->a, first);
        buf_printf(out,
                   "\nLook at one:  kubectl karp approve %s --show\n"
                   "Say yes:      kubectl karp approve %s      All:  kubectl karp approve --all\n"
                   "Say no:       kubectl karp deny %s --note \"...\"\n",
                   first, first, first);
    }
}

/* ---- one ------------------------------------------------------------------------------------- */

static void put_title(const char *title, bool first, struct buf *out)
{
    buf_printf(out, "  %-7s", first ? title : "");
}

static void put_wrapped(struct approver *x, const char *title, const char *text, struct buf *out)
{
    put_title(title, true, out);
    screen_wrap(&x->c->term, x->a, INDENT, text, out);
    buf_putc(out, '\n');
}

static void put_out(struct approver *x, const struct dreq *r, struct buf *out)
{
    for (uint32_t i = 0; i < r->n_candidates; i++) {
        const struct dreq_candidate *c = &r->candidates[i];
        put_title("out", i == 0, out);
        buf_puts(out, text_safe(x->a, *c->node ? c->node : c->claim));
        buf_printf(
            out, "   %s",
            text_safe(x->a, arena_printf(x->a, "%s %s %s", c->type, c->capacity_type, c->zone)));
        buf_printf(out, "%s\n", price(x, c->price_pusd_h));
    }
}

/* "m6i.xlarge or 21 other types, spot" */
static const char *replacement(struct approver *x, const struct dreq_replacement *in)
{
    const char *types = in->n_types == 0 ? "any type" : in->types[0];
    const char *more = in->n_types > 1 ? arena_printf(x->a, " or %u other type%s", in->n_types - 1,
                                                      in->n_types == 2 ? "" : "s")
                                       : "";
    const char *text = arena_printf(x->a, "%s%s", types, more);
    for (uint32_t i = 0; i < in->n_capacity_types; i++) {
        text = arena_printf(x->a, "%s%s%s", text, i ? " or " : ", ", in->capacity_types[i]);
    }
    return text_safe(x->a, text);
}

static void put_in(struct approver *x, const struct dreq *r, struct buf *out)
{
    for (uint32_t i = 0; i < r->n_replacements; i++) {
        const struct dreq_replacement *in = &r->replacements[i];
        put_title("in", i == 0, out);
        buf_printf(out, "1 x %s of nodepool %s%s\n", replacement(x, in), text_safe(x->a, in->pool),
                   x->c->o->no_prices
                       ? ""
                       : arena_printf(x->a, "   about %s",
                                      screen_hour(x->a, in->price_pusd_h, false, "")));
    }
    if (r->n_replacements == 0) {
        put_wrapped(x, "in", "nothing: what there is has room", out);
    }
}

static void put_moves(struct approver *x, const struct dreq *r, struct buf *out)
{
    put_wrapped(x, "moves", r->pod_count == 0 ? "no pods" : screen_count(x->a, r->pod_count, "pod"),
                out);
    for (uint32_t i = 0; i < r->n_warnings; i++) {
        put_wrapped(x, "risk", r->warnings[i], out);
    }
}

static void put_fresh(struct approver *x, const struct dreq *r, struct buf *out)
{
    bool other;
    const char *where = x->w->live ? "checked against the cluster now" : "by the snapshot";
    const char *closed = request_closed(x->w, x->a, r), *stale = request_stale(x->w, x->a, r);
    const char *text = stale     ? stale
                       : x->deny ? "its nodes are there"
                                 : approve_fresh(x, r, &other);
    if (closed) {
        put_wrapped(x, "state", closed, out);
    } else {
        put_wrapped(x, "fresh", arena_printf(x->a, "%s: %s", where, text), out);
    }
}

void approve_show(struct approver *x, const struct dreq *r, struct buf *out)
{
    int64_t now_ns = requests_now(x->w);
    const char *expires =
        r->expires_ns > now_ns
            ? arena_printf(x->a, "  expires in %s", screen_age(x->a, r->expires_ns - now_ns))
            : "";
    buf_printf(out, "%s  %s  filed %s ago%s  plan %.*s\n", text_safe(x->a, r->m.name),
               approval_reason_name(r->reason), screen_age(x->a, now_ns - r->m.created_ns), expires,
               DIGEST_SHOWN, text_safe(x->a, r->plan));
    put_out(x, r, out);
    put_in(x, r, out);
    put_moves(x, r, out);
    put_fresh(x, r, out);
}
