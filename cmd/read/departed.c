/* departed.c - see departed.h. */
#include "departed.h"

#include "cmd/screen.h"
#include "cmd/status/money.h"
#include "cmd/table.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/ec2/catalog.h"

#define GAP "   "
#define INDENT 6u
#define NAMES_MAX 10u

/* ---- reading --------------------------------------------------------------------------------- */

static int64_t time_at(const json_t *o, const char *key)
{
    int64_t ns;
    return timefmt_parse_rfc3339(jsonx_str_or(o, key, ""), &ns) ? ns : 0;
}

static int64_t money_at(const json_t *o, const char *key)
{
    int64_t pusd;
    const json_t *v = json_object_get(o, key);
    return v && money_read(v, &pusd) ? pusd : PRICE_UNKNOWN;
}

static struct departed one(const json_t *o)
{
    return (struct departed){
        .o = o,
        .node = jsonx_str_or(o, "node", ""),
        .claim = jsonx_str_or(o, "nodeClaim", ""),
        .pool = jsonx_str_or(o, "nodePool", ""),
        .type = jsonx_str_or(o, "instanceType", ""),
        .zone = jsonx_str_or(o, "zone", ""),
        .capacity_type = jsonx_str_or(o, "capacityType", ""),
        .reason = jsonx_str_or(o, "reason", ""),
        .actor = jsonx_str_or(o, "actor", "unknown"),
        .message = jsonx_str_or(o, "message", ""),
        .command = jsonx_str_or(o, "command", ""),
        .replaced_by = jsonx_arr(o, "replacedBy"),
        .time_ns = time_at(o, "time"),
        .ordered_ns = time_at(o, "orderedAt"),
        .price_pusd_h = money_at(o, "pricePerHour"),
        .replacement_pusd_h = money_at(o, "replacementPricePerHour"),
    };
}

static bool is_of(const struct departed *d, enum kube_kind kind, const char *name)
{
    if (!name) {
        return true;
    }
    return str_eq(name, kind == KIND_NODE ? d->node : kind == KIND_NODE_CLAIM ? d->claim : d->pool);
}

static int by_time(const void *x, const void *y)
{
    const struct departed *a = x, *b = y;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    int c = str_cmp(a->node, b->node);
    return c ? c : str_cmp(a->claim, b->claim);
}

struct departed_list departed_read(const struct world *w, struct arena *a, enum kube_kind kind,
                                   const char *name, int64_t since_ns)
{
    const json_t *list = jsonx_arr(w->history, "entries");
    size_t max = json_array_size(list), n = 0;
    max = max < DEPARTED_MAX ? max : DEPARTED_MAX;
    struct departed *v = ARENA_NEW_N(a, struct departed, max);
    for (size_t i = 0; i < max; i++) {
        struct departed d = one(json_array_get(list, i));
        if (d.time_ns && (*d.node || *d.claim) && d.time_ns >= since_ns && is_of(&d, kind, name)) {
            v[n++] = d;
        }
    }
    if (n > 1) {
        qsort(v, n, sizeof(*v), by_time);
    }
    return (struct departed_list){v, n};
}

/* ---- machines -------------------------------------------------------------------------------- */

static void copy(json_t *dst, const json_t *src, const char *key)
{
    json_t *v = json_object_get(src, key);
    if (v) {
        (void)json_object_set(dst, key, v);
    }
}

json_t *departed_json(const struct departed *d)
{
    static const char *const keys[] = {"time",
                                       "node",
                                       "nodeClaim",
                                       "nodePool",
                                       "instanceType",
                                       "zone",
                                       "capacityType",
                                       "reason",
                                       "actor",
                                       "message",
                                       "orderedAt",
                                       "command",
                                       "planDigest",
                                       "replacedBy",
                                       "request",
                                       "grant",
                                       "approvedBy",
                                       "pricePerHour",
                                       "replacementPricePerHour"};
    json_t *o = json_object();
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        copy(o, d->o, keys[i]);
    }
    return o;
}

/* ---- people ---------------------------------------------------------------------------------- */

static void put_head(const struct departed *d, const struct term *term, struct arena *a, bool money,
                     struct buf *out)
{
    buf_puts(out, *d->node ? "Node " : "NodeClaim ");
    term_put(term, COLOR_BOLD, text_safe(a, *d->node ? d->node : d->claim), out);
    if (*d->node && *d->claim) {
        buf_printf(out, GAP "nodeclaim %s", text_safe(a, d->claim));
    }
    if (*d->type) {
        buf_printf(out, GAP "%s%s%s%s%s", text_safe(a, d->type), *d->capacity_type ? " " : "",
                   text_safe(a, d->capacity_type), *d->zone ? " " : "", text_safe(a, d->zone));
    }
    if (money && d->price_pusd_h != PRICE_UNKNOWN) {
        buf_printf(out, GAP "%s", screen_hour(a, d->price_pusd_h, false, ""));
    }
    buf_putc(out, '\n');
}

static const char *names_of(const struct departed *d, struct arena *a)
{
    const char *text = "";
    size_t n = json_array_size(d->replaced_by);
    for (size_t i = 0; i < n && i < NAMES_MAX; i++) {
        const char *name = json_string_value(json_array_get(d->replaced_by, i));
        text = arena_printf(a, "%s%s%s", text, i ? ", " : "", name ? name : "?");
    }
    return n > NAMES_MAX ? arena_printf(a, "%s and more", text) : text;
}

static void put_line(const struct term *term, struct arena *a, const char *text, struct buf *out)
{
    buf_printf(out, "%*s", (int)INDENT, "");
    screen_wrap(term, a, INDENT, text, out);
    buf_putc(out, '\n');
}

static void put_replaced(const struct departed *d, const struct term *term, struct arena *a,
                         bool money, struct buf *out)
{
    const char *text = arena_printf(a, "command %s", d->command);
    if (json_array_size(d->replaced_by) > 0) {
        text = arena_printf(a, "%s: replaced by %s", text, names_of(d, a));
    }
    if (money && d->replacement_pusd_h != PRICE_UNKNOWN) {
        text = arena_printf(a, "%s, %s", text, screen_hour(a, d->replacement_pusd_h, false, ""));
    }
    put_line(term, a, text, out);
}

/* Who let it go, where that was asked. */
static void put_consent(const struct departed *d, const struct term *term, struct arena *a,
                        struct buf *out)
{
    const char *request = jsonx_str_or(d->o, "request", "");
    const char *grant = jsonx_str_or(d->o, "grant", "");
    const char *by = jsonx_str_or(d->o, "approvedBy", "");
    if (*request) {
        put_line(term, a,
                 arena_printf(a, "disruptionrequest %s%s%s%s%s", request,
                              *grant ? ", granted by " : "", grant, *by ? ", approved by " : "",
                              by),
                 out);
    }
}

void departed_screen(const struct departed *d, const struct term *term, struct arena *a,
                     int64_t now_ns, bool money, struct buf *out)
{
    char at[TIMEFMT_TEXT];
    put_head(d, term, a, money, out);
    term_put(term, COLOR_YELLOW, "GONE", out);
    buf_puts(out, "  ");
    screen_wrap(term, a, INDENT,
                arena_printf(a, "%s ago, %s: %s%s%s, by %s.", screen_age(a, now_ns - d->time_ns),
                             timefmt_rfc3339(d->time_ns, at), d->message, *d->message ? " " : "",
                             arena_printf(a, *d->message ? "(%s)" : "%s", d->reason), d->actor),
                out);
    buf_putc(out, '\n');
    if (*d->pool) {
        put_line(term, a, arena_printf(a, "nodepool %s", d->pool), out);
    }
    if (d->ordered_ns && d->ordered_ns < d->time_ns) {
        put_line(term, a,
                 arena_printf(a, "drained in %s", screen_age(a, d->time_ns - d->ordered_ns)), out);
    }
    if (*d->command) {
        put_replaced(d, term, a, money, out);
    }
    put_consent(d, term, a, out);
}
