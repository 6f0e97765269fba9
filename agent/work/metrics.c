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

struct metrics {
    struct map *families;
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
    free(s);
}

void metric_reset(struct metric_family *f)
{
    for (MAP_EACH(f->series, e)) {
        series_free(f, map_value(e));
    }
    map_clear(f->series);
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
                            const char *suffix, const char *le, struct buf *out)
{
    buf_printf(out, "%s%s", f->name, suffix);
    if (f->n_labels == 0 && !le) {
        return;
    }
    buf_putc(out, '{');
    for (size_t i = 0; i < f->n_labels; i++) {
        buf_printf(out, "%s%s=\"", i ? "," : "", f->labels[i]);
        put_escaped(out, s->values[i], true);
        buf_putc(out, '"');
    }
    if (le) {
        buf_printf(out, "%sle=\"%s\"", f->n_labels ? "," : "", le);
    }
    buf_putc(out, '}');
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
        put_series_head(f, s, "_bucket", le, out);
        buf_printf(out, " %llu\n", (unsigned long long)below);
    }
    put_series_head(f, s, "_sum", NULL, out);
    buf_putc(out, ' ');
    put_number(out, s->sum);
    buf_putc(out, '\n');
    put_series_head(f, s, "_count", NULL, out);
    buf_printf(out, " %llu\n", (unsigned long long)s->count);
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

static void put_family(const struct metric_family *f, struct buf *out)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    if (map_count(f->series) == 0) {
        return;
    }
    buf_printf(out, "# HELP %s ", f->name);
    put_escaped(out, f->help, false);
    buf_printf(out, "\n# TYPE %s %s\n", f->name, types[f->type]);
    const struct map_entry **list AUTO_FREE = sorted_entries(f->series);
    for (size_t i = 0; i < map_count(f->series); i++) {
        const struct series *s = map_value(list[i]);
        if (f->type == METRIC_HISTOGRAM) {
            put_histogram(f, s, out);
            continue;
        }
        put_series_head(f, s, "", NULL, out);
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
            sum += f->type == METRIC_HISTOGRAM ? (double)s->count : s->value;
        }
    }
    return sum;
}
