#include "guest.h"

#include "agent/agent.h"
#include "agent/work/marker.h"
#include "common/base/alloc.h"
#include "common/base/str.h"
#include "run.h"

#define GUEST_ARMED_MAX 16
#define GUEST_LINE_MAX 4096
#define METRICS_PAGE_MAX (16u << 20)

struct armed {
    char call[128];
    uint64_t left;
    int64_t restart_ns;
};

struct poison {
    char kind[48], key[512];
    bool bare, alone;
};

struct sim_guest {
    struct sim_run *run;
    char name[32];
    struct agent_options opt;
    struct clock clock; /* the world's, with a wall clock that may have jumped */
    int64_t jump_ns, frozen_until_ns, mono_ns;
    struct log log;
    uint64_t chance;
    struct agent *agent; /* NULL while down */
    struct kube_port *kube;
    struct simec2_port *aws;
    struct timer restart;
    struct armed armed[GUEST_ARMED_MAX];
    size_t n_armed;
    struct marker_page page; /* outlives the agent */
    struct marker_port marker;
    struct poison poisons[GUEST_POISON_MAX];
    size_t n_poisons;
};

static int64_t guest_wall(void *ctx)
{
    struct sim_guest *g = ctx;
    return vclock_wall(&g->run->world->clock) + g->jump_ns;
}

static int64_t guest_mono(void *ctx)
{
    struct sim_guest *g = ctx;
    /* Where turns are measured work takes time, so that slices of decisions end. */
    int64_t now_ns = vclock_now(&g->run->world->clock) + sim_run_spent_ns(g->run);
    g->mono_ns = now_ns > g->mono_ns ? now_ns : g->mono_ns;
    return g->mono_ns;
}

static void guest_log(void *ctx, const char *line, size_t n)
{
    struct sim_guest *g = ctx;
    sim_trace(g->run->world, "%s %.*s", g->name, (int)(n && line[n - 1] == '\n' ? n - 1 : n), line);
}

static bool is_poisoned(const struct poison *p, const struct marker_page *page)
{
    size_t n = strlen(p->key);
    bool any_rest = n > 0 && p->key[n - 1] == '*';
    return str_eq(p->kind, page->now.kind) && (p->bare || !page->bare) &&
           (!p->alone || page->alone) &&
           (any_rest ? strncmp(p->key, page->now.key, n - 1) == 0 : str_eq(p->key, page->now.key));
}

static bool on_mark(void *ctx, const struct marker_page *page)
{
    struct sim_guest *g = ctx;
    for (size_t i = 0; i < g->n_poisons; i++) {
        if (is_poisoned(&g->poisons[i], page)) {
            sim_note(g->run->world, "%s crashes over %s %s", g->name, page->now.kind,
                     page->now.key);
            return false;
        }
    }
    return true;
}

void guest_poison(struct sim_guest *g, const char *kind, const char *key, bool bare, bool alone)
{
    if (g->n_poisons < GUEST_POISON_MAX) {
        struct poison *p = &g->poisons[g->n_poisons++];
        str_copy(p->kind, sizeof(p->kind), kind);
        str_copy(p->key, sizeof(p->key), key);
        p->bare = bare;
        p->alone = alone;
    }
}

static int set_flags(struct sim_guest *g, const char *const *flags, struct err *reterr)
{
    const char *argv[SCENARIO_FLAGS_MAX + 8];
    char region[64];
    int argc = 0;
    snprintf(region, sizeof(region), "--region=%.40s", g->run->scenario->region);
    argv[argc++] = "--cluster-name=sim";
    argv[argc++] = "--interruption-queue=sim";
    argv[argc++] = region;
    argv[argc++] = str_eq(g->name, "karp-agent-0") ? "--pod-name=karp-0" : "--pod-name=karp-1";
    for (; *flags; flags++) {
        argv[argc++] = *flags;
    }
    return options_parse(&g->opt, argc, argv, NULL, NULL, reterr);
}

int guest_flags(struct sim_guest *g, const char *const *flags, struct err *reterr)
{
    if (g->agent) {
        return err_set(reterr, ERR_INVALID, "agent.flags: %s is up", g->name);
    }
    options_done(&g->opt);
    return set_flags(g, flags, reterr);
}

struct sim_guest *guest_new(struct sim_run *r, int number, const char *const *flags,
                            struct err *reterr)
{
    struct sim_guest *g = NEW(struct sim_guest);
    g->run = r;
    snprintf(g->name, sizeof(g->name), "karp-agent-%d", number);
    if (set_flags(g, flags, reterr) < 0) {
        err_wrap(reterr, "spec.agent.flags");
        free(g);
        return NULL;
    }
    g->clock = (struct clock){guest_wall, guest_mono, g};
    g->log = (struct log){
        .level = LOG_DEBUG_LEVEL, .name = "karp", .clock = &g->clock, .write = guest_log, .ctx = g};
    g->marker = (struct marker_port){
        .page = &g->page, .where = "/var/lib/karp/" MARKER_FILE, .on_mark = on_mark, .ctx = g};
    g->chance = vclock_fork(&r->world->clock, g->name);
    g->kube = sim_api_port(r->world->api, g->name);
    g->aws = simec2_port_new(r->ec2);
    return g;
}

/* ---- up and down
 * ---------------------------------------------------------------------------------- */

static int64_t guest_next(void *ctx)
{
    const struct sim_guest *g = ctx;
    /* It may have ended in the callback of a port: that is to be seen at once. */
    int64_t next_ns = agent_ended(g->agent, NULL) ? 0 : agent_next_ns(g->agent);
    return next_ns < g->frozen_until_ns ? g->frozen_until_ns : next_ns;
}

static void guest_turn(void *ctx)
{
    struct sim_guest *g = ctx;
    struct err why = ERR_INIT;
    g->run->agent_ran = true;
    agent_turn(g->agent);
    if (agent_ended(g->agent, &why)) {
        sim_note(g->run->world, "%s ends itself: %s", g->name, why.msg);
        guest_crash(g, GUEST_RESTART_NS);
    }
}

void guest_start(struct sim_guest *g)
{
    if (g->agent) {
        return;
    }
    timer_stop(&g->run->world->clock.timers, &g->restart);
    struct agent_ports ports = {.kube = g->kube,
                                .aws = simec2_port_aws(g->aws),
                                .clock = &g->clock,
                                .entropy = entropy_seeded(&g->chance),
                                .log = &g->log,
                                .marker = &g->marker};
    g->agent = agent_new(&g->opt, &ports);
    vclock_add_driver(&g->run->world->clock, (struct vclock_driver){guest_next, guest_turn, g});
    sim_trace(g->run->world, "%s up", g->name);
}

static void freeze_until(struct sim_guest *g, int64_t until_ns)
{
    g->frozen_until_ns = until_ns;
    sim_api_port_freeze(g->kube, until_ns);
    simec2_port_freeze(g->aws, until_ns);
}

void guest_freeze(struct sim_guest *g, int64_t for_ns)
{
    int64_t until_ns = vclock_now(&g->run->world->clock) + for_ns;
    if (g->agent && until_ns > g->frozen_until_ns) {
        sim_note(g->run->world, "%s stands still", g->name);
        freeze_until(g, until_ns);
    }
}

static void on_restart(void *arg)
{
    struct sim_guest *g = arg;
    sim_note(g->run->world, "%s is started again", g->name);
    guest_start(g);
}

void guest_crash(struct sim_guest *g, int64_t restart_ns)
{
    if (g->agent) {
        vclock_remove_driver(&g->run->world->clock, g);
        agent_free(g->agent);
        g->agent = NULL;
        freeze_until(g, 0);
        sim_trace(g->run->world, "%s down", g->name);
    }
    if (restart_ns >= 0) {
        vclock_set(&g->run->world->clock, &g->restart, restart_ns, on_restart, g);
    } else {
        timer_stop(&g->run->world->clock.timers, &g->restart);
    }
}

void guest_free(struct sim_guest *g)
{
    if (!g) {
        return;
    }
    guest_crash(g, -1);
    simec2_port_free(g->aws);
    sim_api_port_free(g->run->world->api, g->kube);
    options_done(&g->opt);
    free(g);
}

bool guest_up(const struct sim_guest *g)
{
    return g->agent != NULL;
}

const struct store *guest_store(const struct sim_guest *g)
{
    return agent_store(g->agent);
}

bool guest_leads(struct sim_guest *g)
{
    static const char *const any[] = {NULL};
    return guest_metric(g, "leader_election_master_status", any) > 0;
}

size_t guest_open(const struct sim_guest *g)
{
    return sim_api_port_open(g->kube);
}

const char *guest_name(const struct sim_guest *g)
{
    return g->name;
}

/* ---- crashes after a call
 * -------------------------------------------------------------------------- */

void guest_arm(struct sim_guest *g, const char *call, uint64_t nth, int64_t restart_ns)
{
    if (g->n_armed == GUEST_ARMED_MAX) {
        return;
    }
    struct armed *a = &g->armed[g->n_armed++];
    str_copy(a->call, sizeof(a->call), call);
    a->left = nth ? nth : 1;
    a->restart_ns = restart_ns;
}

static bool answered(struct sim_guest *g, const char *call)
{
    for (size_t i = 0; g->agent && i < g->n_armed; i++) {
        struct armed *a = &g->armed[i];
        if (!str_eq(a->call, call) || --a->left > 0) {
            continue;
        }
        int64_t restart_ns = a->restart_ns;
        g->armed[i] = g->armed[--g->n_armed];
        sim_note(g->run->world, "%s is killed right after %s", g->name, call);
        guest_crash(g, restart_ns);
        return true;
    }
    return false;
}

bool guest_answered_kube(struct sim_guest *g, const char *verb, const char *resource)
{
    char call[128];
    snprintf(call, sizeof(call), "kube:%.40s %.80s", verb, resource);
    return answered(g, call);
}

bool guest_observes(const struct sim_guest *g)
{
    return g->opt.mode == MODE_OBSERVE;
}

bool guest_asks(const struct sim_guest *g, const struct simec2_port *port)
{
    return g->aws == port;
}

bool guest_answered_aws(struct sim_guest *g, const struct simec2_port *from, const char *service,
                        const char *action)
{
    char call[128];
    if (from != g->aws) {
        return false;
    }
    snprintf(call, sizeof(call), "%.40s:%.80s", service, action);
    return answered(g, call);
}

void guest_clock_jump(struct sim_guest *g, int64_t by_ns)
{
    g->jump_ns += by_ns;
}

/* ---- /metrics
 * --------------------------------------------------------------------------------------- */

/* One line "name{a="x",b="y"} 3": does it carry all pairs? */
static bool line_matches(const char *labels, size_t n, const char *const *pairs)
{
    for (; pairs[0]; pairs += 2) {
        char want[512];
        int len = snprintf(want, sizeof(want), "%.200s=\"%.200s\"", pairs[0], pairs[1]);
        const char *hit = memmem(labels, n, want, (size_t)len);
        if (!hit || (hit > labels && hit[-1] != '{' && hit[-1] != ',')) {
            return false;
        }
    }
    return true;
}

double guest_metric(struct sim_guest *g, const char *name, const char *const *pairs)
{
    AUTO_BUF struct buf page;
    double sum = 0, v;
    size_t n = strlen(name);
    buf_init(&page, METRICS_PAGE_MAX);
    if (!g->agent || agent_http(g->agent, "/metrics", &page) != 200) {
        return 0;
    }
    char *rest = page.p;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *space = strrchr(line, ' ');
        if (strncmp(line, name, n) != 0 || (line[n] != '{' && line[n] != ' ') || !space) {
            continue;
        }
        if (line_matches(line + n, (size_t)(space - line) - n, pairs) &&
            str_parse_f64(space + 1, &v)) {
            sum += v;
        }
    }
    return sum;
}

uint64_t guest_rate(const struct sim_guest *g)
{
    return (uint64_t)g->opt.kube_qps + (uint64_t)g->opt.kube_burst;
}
