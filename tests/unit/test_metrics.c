#include "agent/work/metrics.h"
#include "common/base/str.h"
#include "unit.h"

START_TEST(page)
{
    static const double buckets[] = {0.1, 1};
    struct metrics *m = metrics_new();
    struct metric_family *b =
        metrics_family(m, "b_total", "Second.", METRIC_COUNTER, LABELS("pool", "reason"), NULL, 0);
    struct metric_family *a = metrics_family(m, "a", "First \\ one.", METRIC_GAUGE, NULL, NULL, 0);
    struct metric_family *h =
        metrics_family(m, "h", "Times.", METRIC_HISTOGRAM, LABELS("x"), buckets, 2);
    metric_add(b, LABELS("z", "said \"no\"\n"), 2);
    metric_add(b, LABELS("a", "r"), 1);
    metric_add(b, LABELS("a", "r"), 1.5);
    metric_set(a, NULL, 20971520);
    metric_observe(h, LABELS("1"), 0.1);
    metric_observe(h, LABELS("1"), 0.5);
    metric_observe(h, LABELS("1"), 7);
    AUTO_BUF struct buf out;
    buf_init(&out, 1u << 16);
    metrics_render(m, &out);
    ck_assert_str_eq(out.p,
                     "# HELP a First \\\\ one.\n# TYPE a gauge\na 20971520\n"
                     "# HELP b_total Second.\n# TYPE b_total counter\n"
                     "b_total{pool=\"a\",reason=\"r\"} 2.5\n"
                     "b_total{pool=\"z\",reason=\"said \\\"no\\\"\\n\"} 2\n"
                     "# HELP h Times.\n# TYPE h histogram\n"
                     "h_bucket{x=\"1\",le=\"0.1\"} 1\nh_bucket{x=\"1\",le=\"1\"} 2\n"
                     "h_bucket{x=\"1\",le=\"+Inf\"} 3\nh_sum{x=\"1\"} 7.6\nh_count{x=\"1\"} 3\n"
                     "# HELP karp_metrics_dropped_total Series not kept because their family "
                     "is full.\n# TYPE karp_metrics_dropped_total counter\n"
                     "karp_metrics_dropped_total 0\n");
    ck_assert(metrics_sum(m, "b_total", NULL) == 4.5);
    ck_assert(metrics_sum(m, "b_total", LABELS("pool", "a")) == 2.5);
    ck_assert(metrics_sum(m, "b_total", LABELS("pool", "a", "reason", "other")) == 0);
    ck_assert(metrics_sum(m, "nothing", NULL) == 0);
    metrics_free(m);
}
END_TEST

static void extra(void *ctx, struct buf *out)
{
    metrics_put_head(out, ctx, "Made up.", METRIC_GAUGE);
    buf_printf(out, "%s{", (const char *)ctx);
    metrics_put_label(out, "a", "1");
    metrics_put_label(out, "b", "\"2\"");
    buf_puts(out, "} 3\n");
}

/* Summaries show quantiles of the newest observations; pages follow the families. */
START_TEST(summary_and_page)
{
    struct metrics *m = metrics_new();
    struct metric_family *s =
        metrics_family(m, "s", "Times.", METRIC_SUMMARY, LABELS("pool"), NULL, 0);
    char name[] = "x";
    metrics_page(m, extra, name);
    metric_observe(s, LABELS("gone"), 5);
    for (int i = 0; i < METRICS_SUMMARY_LAST + 101; i++) {
        metric_observe(s, LABELS("p"), i < METRICS_SUMMARY_LAST ? 1e6 : 100 - (i - 256));
    }
    for (int i = 0; i < METRICS_SUMMARY_LAST - 101; i++) {
        metric_observe(s, LABELS("p"), 50);
    }
    metric_forget(s, "pool", "gone");
    metric_forget(s, "other", "p");
    AUTO_BUF struct buf out;
    buf_init(&out, 1u << 16);
    metrics_render(m, &out);
    ck_assert_msg(str_starts(out.p, "# HELP s Times.\n# TYPE s summary\n"
                                    "s{pool=\"p\",quantile=\"0\"} 0\n"
                                    "s{pool=\"p\",quantile=\"0.5\"} 50\n"
                                    "s{pool=\"p\",quantile=\"0.9\"} 74\n"
                                    "s{pool=\"p\",quantile=\"0.99\"} 97\n"
                                    "s{pool=\"p\",quantile=\"1\"} 100\n"
                                    "s_sum{pool=\"p\"} 256012800\n"
                                    "s_count{pool=\"p\"} 512\n"
                                    "# HELP x Made up.\n# TYPE x gauge\n"
                                    "x{a=\"1\",b=\"\\\"2\\\"\"} 3\n"),
                  "%s", out.p);
    ck_assert(metrics_sum(m, "s", NULL) == 512);
    metrics_free(m);
}
END_TEST

START_TEST(full_family_drops)
{
    struct metrics *m = metrics_new();
    struct metric_family *f = metrics_family(m, "f", "F.", METRIC_GAUGE, LABELS("i"), NULL, 0);
    char text[32];
    for (int i = 0; i < METRICS_MAX_SERIES + 3; i++) {
        snprintf(text, sizeof(text), "%d", i);
        metric_set(f, LABELS(text), 1);
    }
    ck_assert(metrics_sum(m, "f", NULL) == METRICS_MAX_SERIES);
    AUTO_BUF struct buf out;
    buf_init(&out, 16u << 20);
    metrics_render(m, &out);
    ck_assert(str_contains(out.p, "karp_metrics_dropped_total 3\n"));
    metric_reset(f);
    ck_assert(metrics_sum(m, "f", NULL) == 0);
    metrics_free(m);
}
END_TEST

UNIT_MAIN("metrics", UNIT_TEST(page), UNIT_TEST(summary_and_page), UNIT_TEST(full_family_drops))
