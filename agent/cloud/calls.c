/* calls.c - how long the cloud takes to answer, and what fails: Karpenter's metrics of its
 * provider. */
#include "agent/work/metrics.h"
#include "cloud_int.h"
#include "common/base/str.h"

#define PROVIDER "aws"

static const double buckets[] = {
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7,
    0.8,   0.9,  1,     1.25, 1.5, 1.75, 2,   2.5,  3,   3.5,  4,   4.5,  5,   6,   7,
    8,     9,    10,    15,   20,  25,   30,  40,   50,  60,   120, 150,  300, 450, 600};

/* The controller that asks for it in Karpenter. */
static const char *controller_of(const char *method)
{
    return str_eq(method, "List") ? "nodeclaim.garbagecollection" : "nodeclaim.lifecycle";
}

void calls_note(struct cloud *c, const char *method, int64_t began_ns, bool failed,
                const char *error)
{
    const char *controller = controller_of(method);
    struct metrics *m = c->rt->metrics;
    metric_observe(
        metrics_family(m, "karpenter_cloudprovider_duration_seconds",
                       "Time until the cloud answered, by method.", METRIC_HISTOGRAM,
                       LABELS("controller", "method", "provider"), buckets, ARRAY_LEN(buckets)),
        LABELS(controller, method, PROVIDER), (double)(cloud_mono(c) - began_ns) / NS_PER_S);
    if (failed) {
        metric_add(metrics_family(m, "karpenter_cloudprovider_errors_total",
                                  "Failures that the cloud answered, by method and error.",
                                  METRIC_COUNTER,
                                  LABELS("controller", "method", "provider", "error"), NULL, 0),
                   LABELS(controller, method, PROVIDER, error), 1);
    }
}
