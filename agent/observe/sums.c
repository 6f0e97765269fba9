/* sums.c - see sums.h. */
#include "sums.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/price.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define SCHEMA 1

struct period {
    int64_t at_ns, v[SUM_COUNT];
};

/* Oldest first. */
struct periods {
    const char *key;
    int64_t length_ns;
    size_t max, n;
    struct period *v;
};

struct sums {
    int64_t since_ns, written_ns;
    struct periods hours, days;
    json_t *entries; /* oldest first */
};

static const struct {
    const char *group, *key;
    bool money;
} names[SUM_COUNT] = {
    [WOULD_LAUNCH] = {"would", "launched", false},
    [WOULD_LAUNCH_PODS] = {"would", "pods", false},
    [WOULD_LAUNCH_PUSD_H] = {"would", "launchedPricePerHour", true},
    [WOULD_REMOVE] = {"would", "removed", false},
    [WOULD_REMOVE_PUSD_H] = {"would", "removedPricePerHour", true},
    [WOULD_REPLACE] = {"would", "replacements", false},
    [WOULD_REPLACE_PUSD_H] = {"would", "replacementPricePerHour", true},
    [WOULD_SAVE_PUSD] = {"would", "saved", true},
    [DID_LAUNCH] = {"did", "launched", false},
    [DID_LAUNCH_PUSD_H] = {"did", "launchedPricePerHour", true},
    [DID_REMOVE] = {"did", "removed", false},
    [DID_REMOVE_PUSD_H] = {"did", "removedPricePerHour", true},
};

static struct periods periods_new(const char *key, int64_t length_ns, size_t max)
{
    return (struct periods){key, length_ns, max, 0, NEW_N(struct period, max)};
}

struct sums *sums_new(int64_t now_ns)
{
    struct sums *s = NEW(struct sums);
    s->since_ns = now_ns;
    s->hours = periods_new("hours", NS_PER_H, SUMS_HOURS_MAX);
    s->days = periods_new("days", 24 * NS_PER_H, SUMS_DAYS_MAX);
    s->entries = json_array();
    return s;
}

void sums_free(struct sums *s)
{
    if (s) {
        free(s->hours.v);
        free(s->days.v);
        json_decref(s->entries);
        free(s);
    }
}

/* ---- adding ------------------------------------------------------------------------------------
 */

/* The period of that time, made if it is newer than all. */
static struct period *period_at(struct periods *p, int64_t now_ns)
{
    int64_t at_ns = now_ns - now_ns % p->length_ns;
    for (size_t i = p->n; i > 0; i--) {
        if (p->v[i - 1].at_ns == at_ns) {
            return &p->v[i - 1];
        }
    }
    if (p->n > 0 && at_ns < p->v[p->n - 1].at_ns) {
        return &p->v[p->n - 1];
    }
    if (p->n == p->max) {
        memmove(p->v, p->v + 1, --p->n * sizeof(*p->v));
    }
    p->v[p->n] = (struct period){.at_ns = at_ns};
    return &p->v[p->n++];
}

static void add_to(int64_t *sum, int64_t n)
{
    if (__builtin_add_overflow(*sum, n, sum)) {
        *sum = INT64_MAX;
    }
}

void sums_add(struct sums *s, int64_t now_ns, enum sum which, int64_t n)
{
    if (n > 0) {
        add_to(&period_at(&s->hours, now_ns)->v[which], n);
        add_to(&period_at(&s->days, now_ns)->v[which], n);
    }
}

int64_t sums_share(int64_t whole, int64_t from, int64_t to, int64_t total)
{
    return (int64_t)((__int128)whole * to / total) - (int64_t)((__int128)whole * from / total);
}

void sums_note(struct sums *s, json_t *entry)
{
    json_array_append_new(s->entries, entry);
    while (json_array_size(s->entries) > SUMS_ENTRIES_MAX) {
        json_array_remove(s->entries, 0);
    }
}

const json_t *sums_entry(const struct sums *s, const char *by, const char *action, const char *uid)
{
    for (size_t i = json_array_size(s->entries); i > 0; i--) {
        const json_t *e = json_array_get(s->entries, i - 1);
        if (str_eq(jsonx_str(e, "uid"), uid) && str_eq(jsonx_str(e, "by"), by) &&
            str_eq(jsonx_str(e, "action"), action)) {
            return e;
        }
    }
    return NULL;
}

int64_t sums_written_ns(const struct sums *s)
{
    return s->written_ns;
}

/* ---- reading -----------------------------------------------------------------------------------
 */

static int64_t time_at(const json_t *o, const char *key)
{
    int64_t ns;
    return timefmt_parse_rfc3339(jsonx_str_or(o, key, ""), &ns) ? ns : 0;
}

static int64_t sum_at(const json_t *o, enum sum which)
{
    const json_t *group = jsonx_obj(o, names[which].group);
    int64_t n = jsonx_int(group, names[which].key, 0);
    if (names[which].money && !price_parse(jsonx_str_or(group, names[which].key, "0"), &n)) {
        n = 0;
    }
    return n > 0 ? n : 0;
}

static void read_periods(struct periods *p, const json_t *doc)
{
    const json_t *list = jsonx_arr(doc, p->key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        int64_t at_ns = time_at(o, "at");
        if (at_ns <= 0 || (p->n > 0 && at_ns <= p->v[p->n - 1].at_ns)) {
            continue;
        }
        struct period *q = period_at(p, at_ns);
        for (int k = 0; k < SUM_COUNT; k++) {
            q->v[k] = sum_at(o, (enum sum)k);
        }
    }
}

struct sums *sums_read(const char *text, int64_t now_ns, struct err *reterr)
{
    struct sums *s = sums_new(now_ns);
    if (!text) {
        return s;
    }
    AUTO_JSON json_t *doc = jsonx_parse(text, strlen(text), "karp-observed", reterr);
    int64_t since_ns = time_at(doc, "since");
    if (doc && since_ns == 0) {
        err_set(reterr, ERR_INVALID, "karp-observed: it does not say since when");
    }
    if (since_ns == 0) {
        return s;
    }
    s->since_ns = since_ns;
    s->written_ns = time_at(doc, "writtenAt");
    read_periods(&s->hours, doc);
    read_periods(&s->days, doc);
    const json_t *list = jsonx_arr(doc, "entries");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (time_at(json_array_get(list, i), "time") > 0) {
            sums_note(s, json_incref(json_array_get(list, i)));
        }
    }
    return s;
}

/* ---- writing -----------------------------------------------------------------------------------
 */

static json_t *period_json(const struct period *p)
{
    char at[TIMEFMT_TEXT], usd[PRICE_TEXT];
    json_t *o = json_pack("{s:s, s:{}, s:{}}", "at", timefmt_rfc3339(p->at_ns, at), "would", "did");
    for (int i = 0; i < SUM_COUNT; i++) {
        json_object_set_new(json_object_get(o, names[i].group), names[i].key,
                            names[i].money ? json_string(price_text(p->v[i], usd))
                                           : json_integer(p->v[i]));
    }
    return o;
}

static json_t *periods_json(const struct periods *p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < p->n; i++) {
        json_array_append_new(list, period_json(&p->v[i]));
    }
    return list;
}

static size_t bytes_of(const json_t *v)
{
    return json_dumpb(v, NULL, 0, JSON_COMPACT);
}

/* Drops the oldest entries until all of it fits. */
static void cut(struct sums *s, size_t frame)
{
    size_t n = json_array_size(s->entries), keep = 0, bytes = frame;
    while (keep < n) {
        bytes += bytes_of(json_array_get(s->entries, n - keep - 1)) + 1;
        if (bytes > SUMS_BYTES_MAX) {
            break;
        }
        keep++;
    }
    for (; n > keep; n--) {
        json_array_remove(s->entries, 0);
    }
}

char *sums_text(struct sums *s, int64_t now_ns)
{
    char since[TIMEFMT_TEXT], now[TIMEFMT_TEXT];
    AUTO_JSON json_t *doc =
        json_pack("{s:i, s:s, s:s, s:o, s:o}", "schema", SCHEMA, "since",
                  timefmt_rfc3339(s->since_ns, since), "writtenAt", timefmt_rfc3339(now_ns, now),
                  s->hours.key, periods_json(&s->hours), s->days.key, periods_json(&s->days));
    cut(s, bytes_of(doc) + sizeof(",\"entries\":[]"));
    json_object_set(doc, "entries", s->entries);
    s->written_ns = now_ns;
    return jsonx_dump(doc);
}
