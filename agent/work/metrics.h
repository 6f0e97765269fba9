/*
 * metrics.h - the agent's numbers in Prometheus' text format, under Karpenter's names.
 *
 * A family is declared once with its help text, type and label names; series come into being when
 * first touched. Each family has a maximum of series; past it new ones are dropped and counted in
 * karp_metrics_dropped_total. Values are kept as double, since Prometheus has nothing else.
 */
#ifndef KARP_AGENT_METRICS_H
#define KARP_AGENT_METRICS_H

#include "common/base/buf.h"

#define METRICS_MAX_LABELS 6
#define METRICS_MAX_SERIES 20000 /* per family */

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

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

#define LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Families by name, series by label values: a deterministic page. */
void metrics_render(const struct metrics *m, struct buf *out);
/* Sum of the series of a family whose labels include all of these pairs (name, value, …, NULL). */
double metrics_sum(const struct metrics *m, const char *name, const char *const *pairs);

#endif
