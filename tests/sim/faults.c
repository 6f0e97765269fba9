#include "faults.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "guest.h"
#include "run.h"

#define NEVER_ANSWERED_NS (INT64_C(24) * 60 * NS_PER_MIN)
#define RESTORES_MAX 1

/* What a profile allows: upper bounds from which each storm draws its own. */
struct profile {
    const char *name;
    int64_t storm_min_s, storm_max_s;   /* length */
    int64_t strike_min_s, strike_max_s; /* between two strikes */
    unsigned kube_permille, aws_permille;
    unsigned crash_permille; /* per answered call */
    int64_t freeze_max_s;
    int64_t jump_max_s;
    unsigned restore_percent; /* of the runs */
    unsigned standby_percent;
};

static const struct profile profiles[] = {
    {.name = "none"},
    {.name = "mild",
     .storm_min_s = 60,
     .storm_max_s = 180,
     .strike_min_s = 20,
     .strike_max_s = 90,
     .kube_permille = 30,
     .aws_permille = 30,
     .crash_permille = 1,
     .freeze_max_s = 8,
     .jump_max_s = 60},
    {.name = "harsh",
     .storm_min_s = 120,
     .storm_max_s = 480,
     .strike_min_s = 5,
     .strike_max_s = 45,
     .kube_permille = 200,
     .aws_permille = 200,
     .crash_permille = 6,
     .freeze_max_s = 60,
     .jump_max_s = 40 * 86400,
     .restore_percent = 25,
     .standby_percent = 50},
};

enum aws_weather { AWS_FAIR, AWS_OUT, AWS_FORBIDDEN, AWS_THROTTLED };

struct sim_faults {
    struct sim_run *run;
    const struct profile *p;
    uint64_t state;
    struct entropy chance;
    struct timer begin, strike, end, aws_over;
    bool storm;
    int64_t until_ns, calm_since_ns;
    /* of the present storm, in permille of calls */
    unsigned kube, aws, crash;
    enum aws_weather aws_weather;
    int64_t jumped_ns[SCENARIO_REPLICAS_MAX];
    bool scheduler_stopped, controllers_stopped, restored;
    int64_t restored_ns; /* last time; -1 = never */
    unsigned restores;
};

bool faults_parse(const char *name, enum faults_level *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(profiles); i++) {
        if (str_eq(name, profiles[i].name)) {
            *ret = (enum faults_level)i;
            return true;
        }
    }
    return false;
}

const char *faults_name(enum faults_level level)
{
    return profiles[level].name;
}

/* ---- chance
 * --------------------------------------------------------------------------------------- */

static int64_t between(struct sim_faults *f, int64_t low, int64_t high)
{
    return low + (int64_t)entropy_below(&f->chance, (uint64_t)(high - low) + 1);
}

static bool chance(struct sim_faults *f, unsigned permille)
{
    return permille && entropy_below(&f->chance, 1000) < permille;
}

static struct vclock *clock_of(struct sim_faults *f)
{
    return &f->run->world->clock;
}

/* ---- calls
 * ---------------------------------------------------------------------------------------- */

int faults_kube(struct sim_faults *f, const struct sim_call *c, int64_t *extra_ns)
{
    static const int codes[] = {429, 500, 503, 504, SIM_FAULT_REFUSED, SIM_FAULT_LOST};
    if (!f->storm || !chance(f, f->kube)) {
        return 0;
    }
    bool conflicts =
        str_eq(c->verb, "patch") || str_eq(c->verb, "update") || str_eq(c->verb, "delete");
    int64_t kind = between(f, 0, 9);
    if (kind < 2) {
        *extra_ns += between(f, 1, 200) * 100 * NS_PER_MS;
        return 0;
    }
    if (kind == 2) {
        *extra_ns += NEVER_ANSWERED_NS;
        return 0;
    }
    if (kind == 3 && conflicts) {
        return 409;
    }
    return codes[between(f, 0, ARRAY_LEN(codes) - 1)];
}

static const char *aws_code(struct sim_faults *f, const char *service)
{
    static const char *const ec2[] = {"RequestLimitExceeded", "InternalError", "Unavailable"};
    static const char *const others[] = {"ThrottlingException", "InternalFailure",
                                         "ServiceUnavailable"};
    size_t i = (size_t)between(f, 0, 2);
    return str_eq(service, "ec2") ? ec2[i] : others[i];
}

static void aws_error(struct simec2_fault *ret, const char *code)
{
    ret->kind = SIMEC2_ERROR;
    str_copy(ret->code, sizeof(ret->code), code);
}

static void aws_chance(struct sim_faults *f, const char *service, struct simec2_fault *ret)
{
    static const enum simec2_fault_kind kinds[] = {SIMEC2_REFUSED, SIMEC2_LOST_ANSWER,
                                                   SIMEC2_LATE_ANSWER, SIMEC2_CUT_ANSWER};
    int64_t kind = between(f, 0, 7);
    if (kind >= (int64_t)ARRAY_LEN(kinds)) {
        aws_error(ret, aws_code(f, service));
        return;
    }
    ret->kind = kinds[kind];
    ret->delay_ns = between(f, 1, 400) * 100 * NS_PER_MS;
}

void faults_aws(struct sim_faults *f, const char *service, struct simec2_fault *ret)
{
    bool ec2 = str_eq(service, "ec2");
    if (!f->storm) {
        return;
    }
    if (f->aws_weather == AWS_OUT) {
        aws_error(ret, ec2 ? "Unavailable" : "ServiceUnavailable");
    } else if (f->aws_weather == AWS_FORBIDDEN) {
        aws_error(ret, ec2 ? "UnauthorizedOperation" : "AccessDeniedException");
    } else if (f->aws_weather == AWS_THROTTLED && chance(f, 700)) {
        aws_error(ret, ec2 ? "RequestLimitExceeded" : "ThrottlingException");
    } else if (chance(f, f->aws)) {
        aws_chance(f, service, ret);
    }
}

static void crash(struct sim_faults *f, struct sim_guest *g)
{
    if (guest_up(g)) {
        sim_note(f->run->world, "%s dies", guest_name(g));
        guest_crash(g, between(f, 1, 30) * NS_PER_S);
    }
}

bool faults_answered(struct sim_faults *f, struct sim_guest *g)
{
    if (!f->storm || !guest_up(g) || !chance(f, f->crash)) {
        return false;
    }
    crash(f, g);
    return true;
}

/* ---- strikes
 * -------------------------------------------------------------------------------------- */

static struct sim_guest *any_guest(struct sim_faults *f)
{
    int n = f->run->n_guests;
    return n ? f->run->guests[between(f, 0, n - 1)] : NULL;
}

static void strike_crash(struct sim_faults *f)
{
    struct sim_guest *g = any_guest(f);
    if (g) {
        crash(f, g);
    }
}

static void strike_freeze(struct sim_faults *f)
{
    struct sim_guest *g = any_guest(f);
    int64_t for_ns = between(f, 1, f->p->freeze_max_s) * NS_PER_S;
    for (int i = 0; i < f->run->n_guests; i++) {
        if (guest_leads(f->run->guests[i])) {
            g = f->run->guests[i];
        }
    }
    if (g) {
        guest_freeze(g, for_ns);
    }
}

static void strike_jump(struct sim_faults *f)
{
    int n = f->run->n_guests;
    int64_t i = n ? between(f, 0, n - 1) : 0;
    /* Small jumps are as likely as big ones. */
    int64_t max_s = chance(f, 500) ? f->p->jump_max_s : f->p->jump_max_s / 1000 + 5;
    int64_t by_ns = between(f, -max_s, max_s) * NS_PER_S;
    char text[TIMEFMT_TEXT];
    if (n) {
        sim_note(f->run->world, "the clock of %s jumps %s by %s", guest_name(f->run->guests[i]),
                 by_ns < 0 ? "back" : "forth", timefmt_duration(by_ns < 0 ? -by_ns : by_ns, text));
        guest_clock_jump(f->run->guests[i], by_ns);
        f->jumped_ns[i] += by_ns;
    }
}

static void strike_watches(struct sim_faults *f)
{
    bool gone = chance(f, 300);
    sim_note(f->run->world, "watches break%s", gone ? ", their history is gone" : "");
    if (gone) {
        sim_api_compact(f->run->world->api);
    }
    sim_api_break_watches(f->run->world->api);
}

static void strike_lag(struct sim_faults *f)
{
    static const enum sim_kind_id kinds[] = {SIM_POD,      SIM_NODE,      SIM_NODECLAIM,
                                             SIM_NODEPOOL, SIM_DAEMONSET, SIM_EC2NODECLASS};
    enum sim_kind_id kind = kinds[between(f, 0, ARRAY_LEN(kinds) - 1)];
    int64_t by_ns = between(f, 1, 120) * NS_PER_S;
    sim_note(f->run->world, "watches of %s lag", sim_kind(kind)->plural);
    sim_api_lag_watches(f->run->world->api, kind, by_ns, f->until_ns - vclock_now(clock_of(f)));
}

static void strike_restore(struct sim_faults *f)
{
    /* Which runs have one is decided by the seed alone. */
    if (f->restores >= RESTORES_MAX ||
        vclock_fork(clock_of(f), "restore") % 100 >= f->p->restore_percent) {
        return;
    }
    f->restores++;
    f->restored = true;
    f->restored_ns = vclock_now(clock_of(f));
    int64_t ago_ns = between(f, 10, 600) * NS_PER_S;
    size_t n = sim_api_restore(f->run->world->api, ago_ns);
    sim_note(f->run->world, "etcd is restored to %lld s ago: %zu objects are as they were",
             (long long)(ago_ns / NS_PER_S), n);
}

static void cloud_step(struct sim_faults *f, json_t *step)
{
    struct err why = ERR_INIT;
    char *text AUTO_FREE = jsonx_dump(step);
    sim_note(f->run->world, "ec2 %.200s", text);
    if (simec2_step(f->run->ec2, step, &why) < 0) {
        BUG("a fault the cloud does not know: %s", why.msg);
    }
    json_decref(step);
}

static void strike_stock(struct sim_faults *f)
{
    static const char *const types[] = {"*", "c*", "m*", "r*", "t*", "*.large", "*.xlarge"};
    static const char *const kinds[] = {"*", "spot", "spot", "on-demand"};
    const char *const *zones = simec2_zones(f->run->ec2);
    int64_t n = 0;
    while (zones[n]) {
        n++;
    }
    int64_t zone = between(f, 0, n);
    char span[32];
    snprintf(span, sizeof(span), "%llds",
             (long long)((f->until_ns - vclock_now(clock_of(f))) / NS_PER_S + 1));
    const char *type = types[between(f, 0, ARRAY_LEN(types) - 1)];
    const char *kind = kinds[between(f, 0, ARRAY_LEN(kinds) - 1)];
    cloud_step(f, json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "outOfCapacity", "capacityType", kind,
                            "type", type, "zone", zone == n ? "*" : zones[zone], "for", span));
}

static void strike_hide(struct sim_faults *f)
{
    char span[32];
    snprintf(span, sizeof(span), "%llds", (long long)between(f, 5, 40));
    cloud_step(f, json_pack("{s:{s:s}}", "hide", "for", span));
}

static void strike_no_boot(struct sim_faults *f)
{
    cloud_step(f, json_pack("{s:{s:i}}", "noBoot", "times", 1));
}

static void strike_kill(struct sim_faults *f)
{
    size_t n = simec2_n_instances(f->run->ec2);
    const struct simec2_instance *inst =
        n ? simec2_instance_at(f->run->ec2, (size_t)between(f, 0, (int64_t)n - 1)) : NULL;
    if (inst && inst->state == SIMEC2_RUNNING && inst->joined) {
        sim_note(f->run->world, "instance %s dies", inst->id);
        simec2_kill(f->run->ec2, inst->id);
    }
}

static void aws_over(void *arg)
{
    struct sim_faults *f = arg;
    f->aws_weather = AWS_FAIR;
}

static void strike_aws(struct sim_faults *f)
{
    static const char *const names[] = {"fair", "out", "forbidden", "throttled"};
    f->aws_weather = (enum aws_weather)between(f, AWS_OUT, AWS_THROTTLED);
    sim_note(f->run->world, "AWS is %s", names[f->aws_weather]);
    vclock_set(clock_of(f), &f->aws_over, between(f, 5, 120) * NS_PER_S, aws_over, f);
}

static void strike_scheduler(struct sim_faults *f)
{
    if (!f->scheduler_stopped) {
        sim_note(f->run->world, "scheduler stops");
        f->scheduler_stopped = true;
        sim_sched_stop(f->run->world->sched);
    }
}

static void strike_controllers(struct sim_faults *f)
{
    if (!f->controllers_stopped) {
        sim_note(f->run->world, "controller-manager stops");
        f->controllers_stopped = true;
        sim_workloads_stop(f->run->world->workloads);
    }
}

static const struct {
    void (*fn)(struct sim_faults *f);
    unsigned weight;
} strikes[] = {{strike_crash, 4},      {strike_freeze, 3}, {strike_jump, 2},
               {strike_watches, 4},    {strike_lag, 4},    {strike_restore, 1},
               {strike_stock, 4},      {strike_hide, 2},   {strike_no_boot, 1},
               {strike_kill, 2},       {strike_aws, 3},    {strike_scheduler, 1},
               {strike_controllers, 1}};

static void next_strike(struct sim_faults *f);

static void on_strike(void *arg)
{
    struct sim_faults *f = arg;
    unsigned sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(strikes); i++) {
        sum += strikes[i].weight;
    }
    int64_t at = between(f, 0, (int64_t)sum - 1);
    size_t i = 0;
    while (at >= (int64_t)strikes[i].weight) {
        at -= strikes[i++].weight;
    }
    strikes[i].fn(f);
    next_strike(f);
}

static void next_strike(struct sim_faults *f)
{
    vclock_set(clock_of(f), &f->strike,
               between(f, f->p->strike_min_s, f->p->strike_max_s) * NS_PER_S, on_strike, f);
}

/* ---- storms
 * --------------------------------------------------------------------------------------- */

/* What an operator does after a restore, told by GarbageCollectionHalted: the agent may not end
 * that many instances that no claim knows. */
static void end_unknown(struct sim_faults *f)
{
    for (size_t i = 0; i < simec2_n_instances(f->run->ec2); i++) {
        const struct simec2_instance *inst = simec2_instance_at(f->run->ec2, i);
        const char *uid = json_string_value(json_object_get(inst->tags, "karp.dev/nodeclaim-uid"));
        bool up = inst->state == SIMEC2_RUNNING || inst->state == SIMEC2_PENDING;
        if (up && uid && !sim_api_get_uid(f->run->world->api, uid, NULL)) {
            sim_note(f->run->world, "an operator terminates %s", inst->id);
            simec2_kill(f->run->ec2, inst->id);
        }
    }
}

static void on_end(void *arg)
{
    struct sim_faults *f = arg;
    f->storm = false;
    f->calm_since_ns = vclock_now(clock_of(f));
    f->aws_weather = AWS_FAIR;
    timer_stop(&clock_of(f)->timers, &f->strike);
    timer_stop(&clock_of(f)->timers, &f->aws_over);
    if (f->scheduler_stopped) {
        sim_sched_start(f->run->world->sched);
    }
    if (f->controllers_stopped) {
        sim_workloads_start(f->run->world->workloads);
    }
    f->scheduler_stopped = f->controllers_stopped = false;
    if (f->restored) {
        sim_run_redo(f->run);
        end_unknown(f);
        f->restored = false;
    }
    for (int i = 0; i < f->run->n_guests; i++) {
        guest_clock_jump(f->run->guests[i], -f->jumped_ns[i]);
        f->jumped_ns[i] = 0;
    }
    cloud_step(f, json_pack("{s:{s:s}, s:{s:i}}", "hide", "for", "0s", "noBoot", "times", 0));
    sim_note(f->run->world, "the storm is over");
}

static void on_begin(void *arg)
{
    struct sim_faults *f = arg;
    int64_t now = vclock_now(clock_of(f));
    int64_t until_ns = now + between(f, f->p->storm_min_s, f->p->storm_max_s) * NS_PER_S;
    f->kube = (unsigned)between(f, 0, f->p->kube_permille);
    f->aws = (unsigned)between(f, 0, f->p->aws_permille);
    f->crash = (unsigned)between(f, 0, f->p->crash_permille);
    f->until_ns = until_ns > f->until_ns ? until_ns : f->until_ns;
    vclock_set(clock_of(f), &f->end, f->until_ns - now, on_end, f);
    if (!f->storm) {
        f->storm = true;
        sim_note(f->run->world, "a storm begins");
        next_strike(f);
    }
}

void faults_step(struct sim_faults *f)
{
    if (f->p != &profiles[FAULTS_NONE] && !timer_pending(&f->begin)) {
        vclock_set(clock_of(f), &f->begin, between(f, 0, 30) * NS_PER_S, on_begin, f);
    }
}

bool faults_storm(const struct sim_faults *f)
{
    return f->storm;
}

bool faults_just_restored(const struct sim_faults *f)
{
    return f->restored_ns >= 0 &&
           vclock_now(&f->run->world->clock) < f->restored_ns + FAULTS_RESTORED_NS;
}

int64_t faults_calm_since_ns(const struct sim_faults *f)
{
    return f->calm_since_ns;
}

/* ---- life
 * ----------------------------------------------------------------------------------------- */

int faults_replicas(const struct sim_faults *f, int n)
{
    return n == 1 && vclock_fork(&f->run->world->clock, "standby") % 100 < f->p->standby_percent
               ? 2
               : n;
}

struct sim_faults *faults_new(struct sim_run *r, enum faults_level level)
{
    struct sim_faults *f = NEW(struct sim_faults);
    f->run = r;
    f->p = &profiles[level];
    f->calm_since_ns = f->restored_ns = -1;
    f->state = vclock_fork(&r->world->clock, "faults");
    f->chance = entropy_seeded(&f->state);
    return f;
}

void faults_free(struct sim_faults *f)
{
    if (f) {
        struct timers *t = &clock_of(f)->timers;
        timer_stop(t, &f->begin);
        timer_stop(t, &f->strike);
        timer_stop(t, &f->end);
        timer_stop(t, &f->aws_over);
        free(f);
    }
}
