/*
 * metrics.h - the agent's numbers in Prometheus' text format, under Karpenter's names.
 *
 * A family is declared once with its help text, type and label names; series come into being when
 * first touched. Each family has a maximum of series; past it new ones are dropped and counted in
 * karp_metrics_dropped_total. Summaries have Karpenter's quantiles 0, 0.5, 0.9, 0.99 and 1 over the
 * newest METRICS_SUMMARY_LAST observations. Values are kept as double, since Prometheus has nothing
 * else.
 */
#ifndef KARP_AGENT_METRICS_H
#define KARP_AGENT_METRICS_H

#include "common/base/buf.h"

#define METRICS_MAX_LABELS 6
#define METRICS_MAX_SERIES 20000 /* per family */

#define METRICS_SUMMARY_LAST 256 /* observations that a summary's quantiles are taken from */

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM, METRIC_SUMMARY };

struct metrics;
struct metric_family;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/* labels: NULL-terminated list of names (at most METRICS_MAX_LABELS), NULL for none. buckets for
 * histograms: ascending, n_buckets of them, borrowed for ever. Declaring a name again returns the
 * family it has. */
struct metric_family *metrics_family(struct metrics *m, const char *name, const char *help,
                                     enum metric_type type, const char *const *labels,
                                     const double *buckets, size_t n_buckets);
/* Label values in the family's order, NULL-terminated; NULL for none. */
void metric_add(struct metric_family *f, const char *const *values, double delta);
void metric_set(struct metric_family *f, const char *const *values, double value);
void metric_observe(struct metric_family *f, const char *const *values, double value);
/* Drops all series of a gauge family, before it is filled anew. */
void metric_reset(struct metric_family *f);
/* Drops the series whose label has that value: what it names is gone. */
void metric_forget(struct metric_family *f, const char *label, const char *value);

/* For what would be too many series to keep: fn writes whole families, sorted, whenever a page is
 * made; they follow the others. At most METRICS_MAX_PAGES. */
#define METRICS_MAX_PAGES 4
void metrics_page(struct metrics *m, void (*fn)(void *ctx, struct buf *out), void *ctx);
/* name="value" with the value escaped, for such pages; preceded by "," unless out ends in "{". */
void metrics_put_label(struct buf *out, const char *name, const char *value);
void metrics_put_head(struct buf *out, const char *name, const char *help, enum metric_type type);

#define LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Families by name, series by label values: a deterministic page. */
void metrics_render(const struct metrics *m, struct buf *out);
/* Sum of the series of a family whose labels include all of these pairs (name, value, …, NULL). */
double metrics_sum(const struct metrics *m, const char *name, const char *const *pairs);

#endif
