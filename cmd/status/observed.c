/* observed.c - see observed.h. */
#include "observed.h"

#include "cmd/read/facts.h"
#include "cmd/read/gather.h"
#include "cmd/report.h"
#include "cmd/screen.h"
#include "cmd/table.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/ec2/catalog.h"
#include "money.h"

#define MODE_OF_OBSERVERS "observe"

/* Of would and did; what did has not stays 0. */
struct doing {
    int64_t launched, launched_pusd_h, pods, removed, removed_pusd_h, replacements,
        replacement_pusd_h, saved_pusd;
};

struct period {
    int64_t at_ns;
    struct doing would, did;
};

struct periods {
    struct period *v; /* oldest first */
    size_t n;
};

struct observed {
    struct cmd *c;
    struct world w;
    struct arena a;
    struct facts facts;
    int64_t since_ns, written_ns; /* 0 = unknown */
    struct periods days, hours;
    struct period all;
    const json_t **entries; /* oldest first */
    size_t n_entries;
};

/* ---- reading --------------------------------------------------------------------------------- */

static int64_t time_at(const json_t *o, const char *key)
{
    int64_t ns;
    return timefmt_parse_rfc3339(jsonx_str_or(o, key, ""), &ns) ? ns : 0;
}

static int64_t count_at(const json_t *o, const char *key)
{
    int64_t n = jsonx_int(o, key, 0);
    return n > 0 && n < INT32_MAX ? n : 0;
}

static int64_t money_at(const json_t *o, const char *key, int64_t absent)
{
    int64_t pusd;
    const json_t *v = json_object_get(o, key);
    return v && money_read(v, &pusd) ? pusd : absent;
}

static struct doing doing_of(const json_t *o)
{
    return (struct doing){.launched = count_at(o, "launched"),
                          .launched_pusd_h = money_at(o, "launchedPricePerHour", 0),
                          .pods = count_at(o, "pods"),
                          .removed = count_at(o, "removed"),
                          .removed_pusd_h = money_at(o, "removedPricePerHour", 0),
                          .replacements = count_at(o, "replacements"),
                          .replacement_pusd_h = money_at(o, "replacementPricePerHour", 0),
                          .saved_pusd = money_at(o, "saved", 0)};
}

static void add_to(int64_t *sum, int64_t n)
{
    if (__builtin_add_overflow(*sum, n, sum)) {
        *sum = INT64_MAX;
    }
}

static void add(struct doing *sum, const struct doing *d)
{
    add_to(&sum->launched, d->launched);
    add_to(&sum->launched_pusd_h, d->launched_pusd_h);
    add_to(&sum->pods, d->pods);
    add_to(&sum->removed, d->removed);
    add_to(&sum->removed_pusd_h, d->removed_pusd_h);
    add_to(&sum->replacements, d->replacements);
    add_to(&sum->replacement_pusd_h, d->replacement_pusd_h);
    add_to(&sum->saved_pusd, d->saved_pusd);
}

static int by_time(const void *x, const void *y)
{
    const struct period *a = x, *b = y;
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns ? -1 : 1 : 0;
}

static struct periods periods_of(struct observed *o, const char *key)
{
    const json_t *list = jsonx_arr(o->w.observed, key);
    size_t max = json_array_size(list);
    max = max < OBSERVED_PERIODS_MAX ? max : OBSERVED_PERIODS_MAX;
    struct periods p = {ARENA_NEW_N(&o->a, struct period, max), 0};
    for (size_t i = 0; i < max; i++) {
        const json_t *e = json_array_get(list, i);
        if (time_at(e, "at")) {
            p.v[p.n++] = (struct period){time_at(e, "at"), doing_of(jsonx_obj(e, "would")),
                                         doing_of(jsonx_obj(e, "did"))};
        }
    }
    if (p.n > 1) {
        qsort(p.v, p.n, sizeof(*p.v), by_time);
    }
    return p;
}

static void read_record(struct observed *o)
{
    const json_t *list = jsonx_arr(o->w.observed, "entries");
    size_t max = json_array_size(list);
    max = max < OBSERVED_ENTRIES_MAX ? max : OBSERVED_ENTRIES_MAX;
    o->since_ns = time_at(o->w.observed, "since");
    o->written_ns = time_at(o->w.observed, "writtenAt");
    o->days = periods_of(o, "days");
    o->hours = periods_of(o, "hours");
    for (size_t i = 0; i < o->days.n; i++) {
        add(&o->all.would, &o->days.v[i].would);
        add(&o->all.did, &o->days.v[i].did);
    }
    o->entries = ARENA_NEW_N(&o->a, const json_t *, max);
    for (size_t i = 0; i < max; i++) {
        const json_t *e = json_array_get(list, i);
        if (time_at(e, "time") && jsonx_str(e, "by") && jsonx_str(e, "action")) {
            o->entries[o->n_entries++] = e;
        }
    }
}

/* ---- machines -------------------------------------------------------------------------------- */

static json_t *would_json(const struct doing *d, bool money)
{
    json_t *o = json_object();
    report_int(o, "launched", d->launched);
    report_int(o, "pods", d->pods);
    report_int(o, "removed", d->removed);
    report_int(o, "replacements", d->replacements);
    if (money) {
        report_money(o, "launchedPricePerHour", d->launched_pusd_h);
        report_money(o, "removedPricePerHour", d->removed_pusd_h);
        report_money(o, "replacementPricePerHour", d->replacement_pusd_h);
        report_money(o, "savingsPerHour", d->removed_pusd_h - d->replacement_pusd_h);
        report_money(o, "saved", d->saved_pusd);
    }
    return o;
}

static json_t *did_json(const struct doing *d, bool money)
{
    json_t *o = json_object();
    report_int(o, "launched", d->launched);
    report_int(o, "removed", d->removed);
    if (money) {
        report_money(o, "launchedPricePerHour", d->launched_pusd_h);
        report_money(o, "removedPricePerHour", d->removed_pusd_h);
    }
    return o;
}

static json_t *period_json(const struct observed *o, const struct period *p)
{
    json_t *ret = json_object();
    report_time(ret, "at", p->at_ns);
    report_put(ret, "would", would_json(&p->would, !o->c->o->no_prices));
    report_put(ret, "did", did_json(&p->did, !o->c->o->no_prices));
    return ret;
}

static json_t *periods_json(const struct observed *o, const struct periods *p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < p->n; i++) {
        (void)json_array_append_new(list, period_json(o, &p->v[i]));
    }
    return list;
}

static json_t *entry_json(const struct observed *o, const json_t *e)
{
    static const char *const texts[] = {"by",   "action",       "nodeClaim",
                                        "node", "nodePool",     "instanceType",
                                        "zone", "capacityType", "reason"};
    json_t *ret = json_object();
    report_time(ret, "time", time_at(e, "time"));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        report_text(ret, texts[i], jsonx_str(e, texts[i]));
    }
    for (size_t i = 0; i < 2; i++) {
        const char *key = i ? "pods" : "types";
        if (count_at(e, key)) {
            report_int(ret, key, count_at(e, key));
        }
    }
    if (!o->c->o->no_prices) {
        report_money(ret, "pricePerHour", money_at(e, "pricePerHour", PRICE_UNKNOWN));
        report_money(ret, "replacementPricePerHour",
                     money_at(e, "replacementPricePerHour", PRICE_UNKNOWN));
    }
    return ret;
}

static json_t *report(const struct observed *o)
{
    json_t *ret = json_object(), *entries = json_array();
    report_text(ret, "apiVersion", "karp.dev/v1alpha1");
    report_text(ret, "kind", "ObservedReport");
    report_text(ret, "controller", charge_name(o->facts.charge));
    report_time(ret, "since", o->since_ns);
    report_time(ret, "writtenAt", o->written_ns);
    report_put(ret, "total", period_json(o, &o->all));
    report_put(ret, "days", periods_json(o, &o->days));
    report_put(ret, "hours", periods_json(o, &o->hours));
    for (size_t i = 0; i < o->n_entries; i++) {
        (void)json_array_append_new(entries, entry_json(o, o->entries[i]));
    }
    report_put(ret, "entries", entries);
    report_put(ret, "incomplete", json_boolean(o->w.n_notes > 0));
    return ret;
}

/* ---- screen ---------------------------------------------------------------------------------- */

static const char *in_charge(const struct observed *o)
{
    switch (o->facts.charge) {
    case CHARGE_KARPENTER:
        return "Karpenter is in charge";
    case CHARGE_KARP:
        return "another karp-agent is in charge";
    case CHARGE_NONE:
        return "nobody is in charge";
    default:
        return "who is in charge is hidden";
    }
}

static void put_head(struct observed *o, struct buf *out)
{
    char since[TIMEFMT_TEXT];
    int64_t age_ns = o->w.now_ns - o->written_ns;
    if (o->since_ns) {
        buf_printf(out, "Observed since %s, for %s; %s\n", timefmt_rfc3339(o->since_ns, since),
                   screen_age(&o->a, o->w.now_ns - o->since_ns), in_charge(o));
    } else {
        buf_printf(out, "Observed; %s\n", in_charge(o));
    }
    if (o->written_ns && age_ns > OBSERVED_STALE_NS) {
        term_put(&o->c->term, COLOR_YELLOW,
                 arena_printf(&o->a, "Nobody observes now: last written %s ago\n",
                              screen_age(&o->a, age_ns)),
                 out);
    }
    buf_putc(out, '\n');
}

static const char *money(struct observed *o, int64_t pusd)
{
    char text[MONEY_TEXT];
    return o->c->o->no_prices ? "-" : arena_strdup(&o->a, money_hour(pusd, text));
}

static void put_rows(struct observed *o, struct table *t, const char *name, const struct period *p)
{
    const struct doing *d = &p->would;
    table_cell(t, name);
    table_cell(t, "karp would");
    table_cellf(t, "%lld", (long long)d->launched);
    table_cell(t, money(o, d->launched_pusd_h));
    table_cellf(t, "%lld", (long long)d->pods);
    table_cellf(t, "%lld", (long long)d->removed);
    table_cell(t, money(o, d->removed_pusd_h));
    table_cellf(t, "%lld", (long long)d->replacements);
    table_cell(t, money(o, d->replacement_pusd_h));
    table_cell(t, o->c->o->no_prices ? "-" : arena_printf(&o->a, "$%s", money(o, d->saved_pusd)));
    d = &p->did;
    table_cell(t, " ");
    table_cell(t, "others did");
    table_cellf(t, "%lld", (long long)d->launched);
    table_cell(t, money(o, d->launched_pusd_h));
    table_cell(t, "-");
    table_cellf(t, "%lld", (long long)d->removed);
    table_cell(t, money(o, d->removed_pusd_h));
    table_cell(t, "-");
    table_cell(t, "-");
    table_cell(t, "-");
}

static void put_newest(struct observed *o, struct table *t, const struct periods *p, size_t shown,
                       size_t bytes)
{
    char at[TIMEFMT_TEXT];
    for (size_t i = p->n > shown ? p->n - shown : 0; i < p->n; i++) {
        timefmt_rfc3339(p->v[i].at_ns, at);
        char *sep = strchr(at, 'T');
        if (sep) {
            *sep = ' ';
        }
        put_rows(o, t, arena_strndup(&o->a, at, bytes), &p->v[i]);
    }
}

static void put_sums(struct observed *o, bool wide, struct buf *out)
{
    static const struct table_column columns[] = {
        {"PERIOD", false, false}, {"WHO", false, false},     {"LAUNCHED", true, false},
        {"$/H", true, false},     {"PODS", true, false},     {"REMOVED", true, false},
        {"$/H", true, false},     {"REPLACED", true, false}, {"$/H", true, false},
        {"SAVED", true, false}};
    struct table t;
    table_init(&t, &o->a, columns, ARRAY_LEN(columns));
    put_rows(o, &t, "all", &o->all);
    put_newest(o, &t, &o->days, OBSERVED_DAYS_SHOWN, strlen("2026-01-05"));
    if (wide) {
        put_newest(o, &t, &o->hours, OBSERVED_HOURS_SHOWN, strlen("2026-01-05 09:00"));
    }
    table_write(&t, &o->c->term, !o->c->o->no_headers, wide, out);
}

static const char *type_of(struct observed *o, const json_t *e)
{
    int64_t types = count_at(e, "types");
    const char *ct = jsonx_str_or(e, "capacityType", "");
    const char *text = arena_printf(&o->a, "%s%s%s", jsonx_str_or(e, "instanceType", "?"),
                                    *ct ? " " : "", str_eq(ct, "on-demand") ? "od" : ct);
    return types > 1 ? arena_printf(&o->a, "%s or %lld more", text, (long long)types - 1) : text;
}

static void put_entry(struct observed *o, struct table *t, const json_t *e)
{
    bool karp = str_eq(jsonx_str(e, "by"), "karp");
    bool launch = str_eq(jsonx_str(e, "action"), "launch");
    const char *claim = jsonx_str_or(e, "nodeClaim", ""), *node = jsonx_str_or(e, "node", "");
    int64_t price = money_at(e, "pricePerHour", PRICE_UNKNOWN), pods = count_at(e, "pods");
    table_cell(t, screen_age(&o->a, o->w.now_ns - time_at(e, "time")));
    table_cell(t, karp     ? launch ? "karp would launch" : "karp would remove"
                  : launch ? "others launched"
                           : "others removed");
    table_cell(t, *node ? node : *claim ? arena_printf(&o->a, "nodeclaim/%s", claim) : "-");
    table_cell(t, type_of(o, e));
    table_cell(t, price == PRICE_UNKNOWN ? "-" : money(o, price));
    table_cell(t, pods ? arena_printf(&o->a, "for %s", screen_count(&o->a, pods, "pod"))
                       : jsonx_str_or(e, "reason", "-"));
    table_cell(t, jsonx_str_or(e, "nodePool", "-"));
    table_cell(t, jsonx_str_or(e, "zone", "-"));
}

static void put_entries(struct observed *o, bool wide, struct buf *out)
{
    static const struct table_column columns[] = {{"AGO", false, false},  {"WHAT", false, false},
                                                  {"NODE", false, false}, {"TYPE", false, false},
                                                  {"$/H", true, false},   {"WHY", false, false},
                                                  {"POOL", false, true},  {"ZONE", false, true}};
    struct table t;
    size_t shown = wide ? o->n_entries : OBSERVED_ENTRIES_SHOWN;
    shown = shown < o->n_entries ? shown : o->n_entries;
    if (shown == 0) {
        return;
    }
    if (!o->c->o->no_headers) {
        buf_printf(out, "\nNEWEST%s\n",
                   shown < o->n_entries ? arena_printf(&o->a, " (%zu of %zu; -o wide shows all)",
                                                       shown, o->n_entries)
                                        : "");
    }
    table_init(&t, &o->a, columns, ARRAY_LEN(columns));
    for (size_t i = o->n_entries - shown; i < o->n_entries; i++) {
        put_entry(o, &t, o->entries[i]);
    }
    table_write(&t, &o->c->term, !o->c->o->no_headers, wide, out);
}

static void screen(struct observed *o, bool wide, struct buf *out)
{
    if (!o->w.observed) {
        buf_printf(out,
                   "Nothing is observed: ConfigMap " WORLD_OBSERVED " of namespace %s is not "
                   "there.\nAn agent with --mode=" MODE_OF_OBSERVERS " writes it.\n",
                   text_safe(&o->a, o->w.agent_ns));
        return;
    }
    put_head(o, out);
    put_sums(o, wide, out);
    put_entries(o, wide, out);
    if (!o->c->o->no_prices) {
        buf_puts(out,
                 "\n$/H: what launched nodes cost, what removed ones did, what would have come "
                 "for these.\nSAVED: what nodes that would have gone have cost since.\n");
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int show(struct observed *o, const struct out_spec *spec, struct err *reterr)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUT_MAX);
    if (spec->format == OUT_TABLE || spec->format == OUT_WIDE) {
        screen(o, spec->format == OUT_WIDE, &out);
    } else {
        json_t *r = report(o);
        int rc = out_report(spec, r, &out, reterr);
        json_decref(r);
        if (rc != 0) {
            return -1;
        }
    }
    return out_flush(o->c->out, &out, reterr);
}

int observed_show(struct cmd *c, const struct out_spec *spec, struct err *reterr)
{
    struct observed o = {.c = c};
    arena_init(&o.a, 0, SIZE_MAX);
    world_init(&o.w, c->o->agent_namespace);
    int rc = gather(c, GATHER_OBSERVED | GATHER(KIND_LEASE), &o.w, reterr);
    if (rc == 0) {
        facts_read(&o.w, &o.a, &o.facts);
        read_record(&o);
        rc = show(&o, spec, reterr);
    }
    world_done(&o.w);
    arena_done(&o.a);
    return rc;
}
