#include "agent/options.h"
#include "common/base/str.h"
#include "unit.h"

#define BASE "--cluster-name=c", "--region=eu-west-1"
#define MAX_ARGS 8

struct row {
    const char *args[MAX_ARGS];
    const char *env_name, *env_value;
    const char *error; /* part of the message; NULL = must be accepted */
};

static const char *env_one(void *ctx, const char *name)
{
    const struct row *r = ctx;
    return r->env_name && str_eq(name, r->env_name) ? r->env_value : NULL;
}

static int parse(const struct row *r, struct agent_options *o, struct err *e)
{
    int n = 0;
    while (n < MAX_ARGS && r->args[n]) {
        n++;
    }
    return options_parse(o, n, r->args, env_one, (void *)(uintptr_t)r, e);
}

static const struct row verdicts[] = {
    {{BASE}, NULL, NULL, NULL},
    {{BASE, "--batch-idle-duration", "2s"}, NULL, NULL, NULL},
    {{BASE, "--isolated-vpc"}, NULL, NULL, NULL},
    {{BASE, "--isolated-vpc=false"}, NULL, NULL, NULL},
    {{BASE, "--memory-limit=-1"}, NULL, NULL, NULL},
    {{BASE, "--enable-profiling"}, NULL, NULL, NULL},
    {{"--region=eu-west-1"}, "CLUSTER_NAME", "c", NULL},
    {{"--cluster-name=c"}, "AWS_REGION", "eu-west-1", NULL},
    {{BASE, "--feature-gates=NodeRepair=true,NeverHeardOf=true"}, NULL, NULL, NULL},
    {{BASE, "--max-cost-per-hour=12.5"}, NULL, NULL, NULL},
    {{BASE, "--max-share=25%"}, NULL, NULL, NULL},
    {{BASE, "--placement=Cheapest"}, NULL, NULL, NULL},
    {{BASE, "--placement="}, NULL, NULL, NULL},
    {{BASE, "--budget-timezone=Europe/Berlin"}, NULL, NULL, NULL},
    {{BASE, "--scheduler-config={podTopologySpread: {defaultConstraints: [{maxSkew: 1, "
            "topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}}"},
     NULL,
     NULL,
     NULL},
    {{BASE, "--scheduler-config={podTopologySpread: {defaultConstraints: [{maxSkew: 1}]}}"},
     NULL,
     NULL,
     "defaultConstraints[0]: topologyKey: missing"},
    {{"--help"}, NULL, NULL, NULL},
    {{"--region=eu-west-1"}, NULL, NULL, "cluster's name is missing"},
    {{"--cluster-name=c"}, NULL, NULL, "region is missing"},
    {{BASE, "--isolated-vpc=yes"}, NULL, NULL, "--isolated-vpc: \"yes\" is neither true nor false"},
    {{BASE, "--batch-idle-duration=5"}, NULL, NULL, "--batch-idle-duration: \"5\" is no duration"},
    {{BASE, "--batch-idle-duration=20s"}, NULL, NULL, "longer than --batch-max-duration"},
    {{BASE, "--metrics-port=70000"}, NULL, NULL, "--metrics-port: \"70000\""},
    {{BASE, "--metrics-port"}, NULL, NULL, "needs a value"},
    {{BASE, "--mode=bold"}, NULL, NULL, "none of full, observe, provision"},
    {{BASE, "--nonsense=1"}, NULL, NULL, "unknown flag --nonsense=1"},
    {{BASE, "stray"}, NULL, NULL, "unexpected argument \"stray\""},
    {{BASE, "--cluster-endpoint=http://x"}, NULL, NULL, "no https URL"},
    {{BASE, "--vm-memory-overhead-percent=7.5"}, NULL, NULL, "more than the whole"},
    {{BASE, "--feature-gates=NodeRepair"}, NULL, NULL, "NAME=true"},
    {{BASE}, "BATCH_MAX_DURATION", "soon", "environment variable BATCH_MAX_DURATION"},
    {{BASE, "--max-cost-per-hour=-1"}, NULL, NULL, "no amount"},
    {{BASE, "--budget-timezone=Mars/Base"}, NULL, NULL, "time zone Mars/Base is not known here"},
    {{BASE, "--budget-timezone=../x"}, NULL, NULL, "not the name of a time zone"},
    {{BASE, "--max-share=25"}, NULL, NULL, "not a share from 1% to 100%"},
    {{BASE, "--placement=Baseline"}, NULL, NULL, "none of Compatible, Cheapest"},
    {{BASE, "--repair-threshold=50%"}, NULL, NULL, NULL},
    {{BASE, "--repair-threshold=0.5"}, NULL, NULL, "not a share from 1% to 100%"},
    {{BASE, "--max-share=0%"}, NULL, NULL, "not a share"},
    {{BASE, "--max-share=101%"}, NULL, NULL, "not a share"},
    {{BASE, "--log-level=loud"}, NULL, NULL, "none of debug, info, error"},
    {{BASE, "--interruption-queue=Prod_eu-1"}, NULL, NULL, NULL},
    {{BASE, "--interruption-queue="}, NULL, NULL, NULL},
    {{BASE, "--expiration=Budgeted", "--rebalance=Replace", "--expiration-max-delay=0s"},
     NULL,
     NULL,
     NULL},
    {{BASE, "--expiration=Never"}, NULL, NULL, "none of Forceful, Budgeted"},
    {{BASE, "--approval=Required", "--min-saving=10%", "--min-node-life=15m",
      "--return-to-weight=true", "--spot-min-types=5"},
     NULL,
     NULL,
     NULL},
    {{BASE, "--approval=Underutilized,Empty", "--min-saving=0.02"}, NULL, NULL, NULL},
    {{BASE, "--approval=Always"}, NULL, NULL, "neither Off, Required"},
    {{BASE, "--min-saving=much"}, NULL, NULL, "neither a share"},
    {{BASE, "--min-node-life=-1s"}, NULL, NULL, "no duration"},
    {{BASE, "--spot-min-types=0"}, NULL, NULL, "no whole number from 1"},
    {{BASE, "--rebalance=replace"}, NULL, NULL, "none of Ignore, Replace"},
    {{BASE, "--interruption-queue=https://sqs.eu-west-1.amazonaws.com/1/q"},
     NULL,
     NULL,
     "is no name of a standard SQS queue"},
    {{BASE}, "INTERRUPTION_QUEUE", "q.fifo", "is no name of a standard SQS queue"},
};

START_TEST(verdict)
{
    const struct row *r = &verdicts[_i];
    struct agent_options o;
    struct err e = ERR_INIT;
    int rc = parse(r, &o, &e);
    if (!r->error) {
        ck_assert_msg(rc == 0, "refused: %s", e.msg);
        options_done(&o);
    } else {
        ck_assert_int_eq(rc, -1);
        ck_assert_int_eq(e.kind, ERR_INVALID);
        ck_assert_msg(str_contains(e.msg, r->error), "said: %s", e.msg);
    }
}
END_TEST

START_TEST(defaults)
{
    static const struct row r = {{BASE}, NULL, NULL, NULL};
    struct agent_options o;
    ck_assert_int_eq(parse(&r, &o, NULL), 0);
    ck_assert_int_eq(o.mode, MODE_FULL);
    ck_assert_str_eq(o.ns, "karp");
    ck_assert_int_eq(o.vm_overhead_permyriad, 750);
    ck_assert_int_eq(o.batch_idle_ns, NS_PER_S);
    ck_assert_int_eq(o.batch_max_ns, 10 * NS_PER_S);
    ck_assert_int_eq(o.registration_timeout_ns, 15 * NS_PER_MIN);
    ck_assert_int_eq(o.max_launches_per_min, 60);
    ck_assert_int_eq(o.placement, PLACEMENT_COMPATIBLE);
    ck_assert(!o.expiration_budgeted && !o.rebalance_replace);
    ck_assert_int_eq(o.expiration_max_delay_ns, 72 * NS_PER_H);
    ck_assert(o.approval == 0 && o.min_saving.permyriad == 0 && o.min_saving.pusd_h == 0);
    ck_assert(o.min_node_life_ns == 0 && !o.return_to_weight && o.spot_min_types == 15);
    ck_assert_str_eq(o.interruption_queue, "");
    ck_assert_int_eq(o.max_cost_pusd_h, PRICE_UNKNOWN);
    ck_assert(o.leader_election);
    ck_assert(o.gate_reserved_capacity && !o.gate_spot_to_spot && !o.gate_node_repair);
    ck_assert_str_eq(o.lease_name, "karpenter-leader-election");
    ck_assert_str_eq(o.lease_ns, "kube-system");
    ck_assert_int_eq(o.metrics_port, 8080);
    ck_assert_int_eq(o.health_port, 8081);
    options_done(&o);
}
END_TEST

START_TEST(flag_beats_environment)
{
    static const struct row r = {{BASE, "--batch-max-duration=7s", "--disable-leader-election",
                                  "--preference-policy", "Ignore"},
                                 "BATCH_MAX_DURATION",
                                 "9s",
                                 NULL};
    struct agent_options o;
    ck_assert_int_eq(parse(&r, &o, NULL), 0);
    ck_assert_int_eq(o.batch_max_ns, 7 * NS_PER_S);
    ck_assert(!o.leader_election);
    ck_assert_int_eq(o.preference, PREFERENCE_IGNORE);
    options_done(&o);
}
END_TEST

UNIT_MAIN("options", UNIT_CASES(verdict, verdicts), UNIT_TEST(defaults),
          UNIT_TEST(flag_beats_environment))
