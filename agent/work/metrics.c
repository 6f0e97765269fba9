#include "metrics.h"

#include "common/base/alloc.h"
#include "common/base/err.h"
#include "common/base/map.h"
#include "common/base/str.h"

#include <math.h>

#define METRICS_MAX_FAMILIES 500
#define SERIES_SEPARATOR '\x1f' /* between label values in a series key */

struct series {
    char *values[METRICS_MAX_LABELS];
    double value;
    double sum;
    uint64_t count;
    uint64_t *hits; /* histogram: observations per bucket */
    double *last;   /* summary: the newest observations, round and round */
};

struct metric_family {
    char *name, *help;
    enum metric_type type;
    size_t n_labels;
    char *labels[METRICS_MAX_LABELS];
    const double *buckets;
    size_t n_buckets;
    struct map *series;
    struct metrics *owner;
};

struct page {
    void (*fn)(void *ctx, struct buf *out);
    void *ctx;
};

struct metrics {
    struct map *families;
    struct page pages[METRICS_MAX_PAGES];
    size_t n_pages;
    uint64_t dropped;
};

struct metrics *metrics_new(void)
{
    struct metrics *m = NEW(struct metrics);
    m->families = map_new(METRICS_MAX_FAMILIES);
    return m;
}

static void series_free(struct metric_family *f, struct series *s)
{
    for (size_t i = 0; i < f->n_labels; i++) {
        free(s->values[i]);
    }
    free(s->hits);
    free(s->last);
    free(s);
}

void metric_reset(struct metric_family *f)
{
    for (MAP_EACH(f->series, e)) {
        series_free(f, map_value(e));
    }
    map_clear(f->series);
}

void metric_forget(struct metric_family *f, const char *label, const char *value)
{
    for (MAP_EACH(f->series, e)) {
        struct series *s = map_value(e);
        for (size_t i = 0; i < f->n_labels; i++) {
            if (str_eq(f->labels[i], label) && str_eq(s->values[i], value)) {
                map_del(f->series, map_key(e));
                series_free(f, s);
                break;
            }
        }
    }
}

void metrics_page(struct metrics *m, void (*fn)(void *ctx, struct buf *out), void *ctx)
{
    if (m->n_pages == METRICS_MAX_PAGES) {
        BUG("more than %d pages of metrics", METRICS_MAX_PAGES);
    }
    m->pages[m->n_pages++] = (struct page){fn, ctx};
}

static void family_free(struct metric_family *f)
{
    metric_reset(f);
    map_free(f->series);
    for (size_t i = 0; i < f->n_labels; i++) {
        free(f->labels[i]);
    }
    free(f->name);
    free(f->help);
    free(f);
}

void metrics_free(struct metrics *m)
{
    if (!m) {
        return;
    }
    for (MAP_EACH(m->families, e)) {
        family_free(map_value(e));
    }
    map_free(m->families);
    free(m);
}

struct metric_family *metrics_family(struct metrics *m, const char *name, const char *help,
                                     enum metric_type type, const char *const *labels,
                                     const double *buckets, size_t n_buckets)
{
    struct metric_family *f = map_get(m->families, name);
    if (f) {
        return f;
    }
    f = NEW(struct metric_family);
    f->name = xstrdup(name);
    f->help = xstrdup(help);
    f->type = type;
    f->buckets = buckets;
    f->n_buckets = n_buckets;
    f->series = map_new(METRICS_MAX_SERIES);
    f->owner = m;
    for (; labels && labels[f->n_labels]; f->n_labels++) {
        if (f->n_labels == METRICS_MAX_LABELS) {
            BUG("metric %s has more than %d labels", name, METRICS_MAX_LABELS);
        }
        f->labels[f->n_labels] = xstrdup(labels[f->n_labels]);
    }
    bool full = false;
    map_put(m->families, name, f, &full);
    if (full) {
        BUG("more than %d metric families", METRICS_MAX_FAMILIES);
    }
    return f;
}

/* Label values joined: the key of a series, which also orders the page. */
static char *series_key(const struct metric_family *f, const char *const *values)
{
    AUTO_BUF struct buf key;
    buf_init(&key, 1u << 16);
    for (size_t i = 0; i < f->n_labels; i++) {
        if (!values || !values[i]) {
            BUG("metric %s wants %zu label values", f->name, f->n_labels);
        }
        buf_puts(&key, values[i]);
        buf_putc(&key, SERIES_SEPARATOR);
    }
    return buf_take(&key);
}

/* NULL when the family is full. */
static struct series *series_touch(struct metric_family *f, const char *const *values)
{
    char *key AUTO_FREE = series_key(f, values);
    struct series *s = map_get(f->series, key);
    if (s) {
        return s;
    }
    s = NEW(struct series);
    bool full = false;
    map_put(f->series, key, s, &full);
    if (full) {
        free(s);
        f->owner->dropped++;
        return NULL;
    }
    for (size_t i = 0; i < f->n_labels; i++) {
        s->values[i] = xstrdup(values[i]);
    }
    if (f->type == METRIC_HISTOGRAM) {
        s->hits = NEW_N(uint64_t, f->n_buckets + 1);
    } else if (f->type == METRIC_SUMMARY) {
        s->last = NEW_N(double, METRICS_SUMMARY_LAST);
    }
    return s;
}

void metric_add(struct metric_family *f, const char *const *values, double delta)
{
    struct series *s = series_touch(f, values);
    if (s) {
        s->value += delta;
    }
}

void metric_set(struct metric_family *f, const char *const *values, double value)
{
    struct series *s = series_touch(f, values);
    if (s) {
        s->value = value;
    }
}

void metric_observe(struct metric_family *f, const char *const *values, double value)
{
    struct series *s = series_touch(f, values);
    if (s && s->last) {
        s->last[s->count++ % METRICS_SUMMARY_LAST] = value;
        s->sum += value;
    }
    if (!s || !s->hits) {
        return;
    }
    size_t b = 0;
    while (b < f->n_buckets && value > f->buckets[b]) {
        b++;
    }
    s->hits[b]++;
    s->sum += value;
    s->count++;
}

/* ---- the page -----------------------------------------------------------------------------------
 */

static void put_escaped(struct buf *out, const char *s, bool quote)
{
    for (; *s; s++) {
        if (*s == '\n') {
            buf_puts(out, "\\n");
        } else if (*s == '\\' || (quote && *s == '"')) {
            buf_putc(out, '\\');
            buf_putc(out, *s);
        } else {
            buf_putc(out, *s);
        }
    }
}

static void put_number(struct buf *out, double v)
{
    if (isnan(v)) {
        buf_puts(out, "NaN");
    } else if (isinf(v)) {
        buf_puts(out, v > 0 ? "+Inf" : "-Inf");
    } else {
        buf_printf(out, "%.15g", v);
    }
}

static void put_series_head(const struct metric_family *f, const struct series *s,
                            const char *suffix, const char *extra, const char *value,
                            struct buf *out)
{
    buf_printf(out, "%s%s", f->name, suffix);
    if (f->n_labels == 0 && !extra) {
        return;
    }
    buf_putc(out, '{');
    for (size_t i = 0; i < f->n_labels; i++) {
        buf_printf(out, "%s%s=\"", i ? "," : "", f->labels[i]);
        put_escaped(out, s->values[i], true);
        buf_putc(out, '"');
    }
    if (extra) {
        buf_printf(out, "%s%s=\"%s\"", f->n_labels ? "," : "", extra, value);
    }
    buf_putc(out, '}');
}

static void put_sum_count(const struct metric_family *f, const struct series *s, struct buf *out)
{
    put_series_head(f, s, "_sum", NULL, NULL, out);
    buf_putc(out, ' ');
    put_number(out, s->sum);
    buf_putc(out, '\n');
    put_series_head(f, s, "_count", NULL, NULL, out);
    buf_printf(out, " %llu\n", (unsigned long long)s->count);
}

static int double_cmp(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void put_summary(const struct metric_family *f, const struct series *s, struct buf *out)
{
    static const struct {
        const char *text;
        unsigned percent;
    } quantiles[] = {{"0", 0}, {"0.5", 50}, {"0.9", 90}, {"0.99", 99}, {"1", 100}};
    double sorted[METRICS_SUMMARY_LAST];
    size_t n = s->count < METRICS_SUMMARY_LAST ? (size_t)s->count : METRICS_SUMMARY_LAST;
    memcpy(sorted, s->last, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), double_cmp);
    for (size_t i = 0; n > 0 && i < ARRAY_LEN(quantiles); i++) {
        put_series_head(f, s, "", "quantile", quantiles[i].text, out);
        buf_putc(out, ' ');
        put_number(out, sorted[(n - 1) * quantiles[i].percent / 100]);
        buf_putc(out, '\n');
    }
    put_sum_count(f, s, out);
}

static void put_histogram(const struct metric_family *f, const struct series *s, struct buf *out)
{
    uint64_t below = 0;
    for (size_t b = 0; b <= f->n_buckets; b++) {
        char le[32] = "+Inf";
        if (b < f->n_buckets) {
            snprintf(le, sizeof(le), "%.15g", f->buckets[b]);
        }
        below += s->hits[b];
        put_series_head(f, s, "_bucket", "le", le, out);
        buf_printf(out, " %llu\n", (unsigned long long)below);
    }
    put_sum_count(f, s, out);
}

static int entry_cmp(const void *a, const void *b)
{
    const struct map_entry *const *x = a, *const *y = b;
    return str_cmp(map_key(*x), map_key(*y));
}

static const struct map_entry **sorted_entries(const struct map *m)
{
    const struct map_entry **list = NEW_N(const struct map_entry *, map_count(m) + 1);
    size_t n = 0;
    for (MAP_EACH(m, e)) {
        list[n++] = e;
    }
    qsort(list, n, sizeof(*list), entry_cmp);
    return list;
}

void metrics_put_label(struct buf *out, const char *name, const char *value)
{
    bool first = out->n > 0 && out->p[out->n - 1] == '{';
    buf_printf(out, "%s%s=\"", first ? "" : ",", name);
    put_escaped(out, value, true);
    buf_putc(out, '"');
}

void metrics_put_head(struct buf *out, const char *name, const char *help, enum metric_type type)
{
    static const char *const types[] = {"counter", "gauge", "histogram", "summary"};
    buf_printf(out, "# HELP %s ", name);
    put_escaped(out, help, false);
    buf_printf(out, "\n# TYPE %s %s\n", name, types[type]);
}

static void put_family(const struct metric_family *f, struct buf *out)
{
    if (map_count(f->series) == 0) {
        return;
    }
    metrics_put_head(out, f->name, f->help, f->type);
    const struct map_entry **list AUTO_FREE = sorted_entries(f->series);
    for (size_t i = 0; i < map_count(f->series); i++) {
        const struct series *s = map_value(list[i]);
        if (f->type == METRIC_HISTOGRAM) {
            put_histogram(f, s, out);
            continue;
        }
        if (f->type == METRIC_SUMMARY) {
            put_summary(f, s, out);
            continue;
        }
        put_series_head(f, s, "", NULL, NULL, out);
        buf_putc(out, ' ');
        put_number(out, s->value);
        buf_putc(out, '\n');
    }
}

void metrics_render(const struct metrics *m, struct buf *out)
{
    const struct map_entry **list AUTO_FREE = sorted_entries(m->families);
    for (size_t i = 0; i < map_count(m->families); i++) {
        put_family(map_value(list[i]), out);
    }
    for (size_t i = 0; i < m->n_pages; i++) {
        m->pages[i].fn(m->pages[i].ctx, out);
    }
    buf_puts(out,
             "# HELP karp_metrics_dropped_total Series not kept because their family is full.\n"
             "# TYPE karp_metrics_dropped_total counter\n");
    buf_printf(out, "karp_metrics_dropped_total %llu\n", (unsigned long long)m->dropped);
}

static bool series_matches(const struct metric_family *f, const struct series *s,
                           const char *const *pairs)
{
    for (; pairs && pairs[0]; pairs += 2) {
        size_t i = 0;
        while (i < f->n_labels && !str_eq(f->labels[i], pairs[0])) {
            i++;
        }
        if (i == f->n_labels || !str_eq(s->values[i], pairs[1])) {
            return false;
        }
    }
    return true;
}

double metrics_sum(const struct metrics *m, const char *name, const char *const *pairs)
{
    const struct metric_family *f = map_get(m->families, name);
    double sum = 0;
    if (!f) {
        return 0;
    }
    for (MAP_EACH(f->series, e)) {
        const struct series *s = map_value(e);
        if (series_matches(f, s, pairs)) {
            sum += f->type >= METRIC_HISTOGRAM ? (double)s->count : s->value;
        }
    }
    return sum;
}
