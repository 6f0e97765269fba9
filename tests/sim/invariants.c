#include "invariants.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "consentlook.h"
#include "disruptlook.h"
#include "guest.h"
#include "held.h"
#include "historylook.h"
#include "limits.h"
#include "pdblook.h"
#include "run.h"
#include "starved.h"
#include "tests/sim/kube/podspec.h"
#include "view.h"

#define WATCHDOG_MAX 200000u
#define AGENT_PREFIX "karp-agent-" /* guest.c's names */
#define TAG_CLAIM_UID "karp.dev/nodeclaim-uid"
#define TAG_CLUSTER_UID "karp.dev/cluster-uid"
#define DO_NOT_DISRUPT "karpenter.sh/do-not-disrupt"
#define DEADLINE "karpenter.sh/nodeclaim-termination-timestamp"

struct sim_watchdog {
    struct sim_run *run;
    struct map *said;      /* "Kind object" once noted */
    struct map *aging;     /* "Kind object" → since (int64_t *) */
    struct map *unwritten; /* UIDs of claims that went without an entry in the history */
    struct map *foreign;   /* instances of others that were seen alive */
    struct sim_held *held;
    char *cluster_uid;
    bool claims_changed;
    size_t n_instances;
    int64_t ages_ns, starved_ns;
    int64_t version,
        old_version;    /* of the API server at the last look at ages, and the one before */
    int64_t deleted_ns; /* the last time something went */
};

static void violation(struct sim_watchdog *w, const char *kind, const char *object,
                      const char *text)
{
    char key[300], at[TIMEFMT_TEXT];
    snprintf(key, sizeof(key), "%.40s %.200s", kind, object);
    if (map_has(w->said, key)) {
        return;
    }
    map_put(w->said, key, w, NULL);
    run_text_add(&w->run->violations, "%s at %s: %s: %s (seed %llu)", kind,
                 timefmt_duration(vclock_now(&w->run->world->clock), at), object, text,
                 (unsigned long long)w->run->opt.seed);
    sim_note(w->run->world, "INVARIANT %s: %s: %s", kind, object, text);
}

static const struct sim_api *api_of(const struct sim_watchdog *w)
{
    return w->run->world->api;
}

static bool is_agent(const char *who)
{
    return str_starts(who, AGENT_PREFIX);
}

/* ---- at a deletion by the agent's own decision
 * ------------------------------------------------------- */

static bool says_no(const json_t *o)
{
    return str_eq(look_text(jsonx_obj(o, "metadata.annotations"), DO_NOT_DISRUPT), "true");
}

static bool keeps_node(const json_t *pod)
{
    const json_t *owner = json_array_get(jsonx_arr(pod, "metadata.ownerReferences"), 0);
    const char *kind = jsonx_str_or(owner, "kind", "");
    return look_stays(pod) && !str_eq(kind, "DaemonSet") && !str_eq(kind, "Node");
}

/* The claim's condition DisruptionReason, if it is True and names a decision of the agent's own. */
static const json_t *mark_of(const json_t *claim)
{
    static const char *const reasons[] = {"Empty", "Underutilized", "Drifted"};
    size_t i;
    json_t *c;
    json_array_foreach (jsonx_arr(claim, "status.conditions"), i, c) {
        for (size_t k = 0; k < ARRAY_LEN(reasons); k++) {
            if (str_eq(jsonx_str(c, "type"), "DisruptionReason") &&
                str_eq(jsonx_str(c, "status"), "True") &&
                str_eq(jsonx_str(c, "reason"), reasons[k])) {
                return c;
            }
        }
    }
    return NULL;
}

static bool voluntary(const json_t *claim)
{
    return mark_of(claim) != NULL;
}

static bool marked_as(const json_t *claim, const char *reason)
{
    return str_eq(jsonx_str(mark_of(claim), "reason"), reason);
}

/* As Karpenter: drift does not wait for pods where there is a terminationGracePeriod. */
static bool forces(const json_t *claim)
{
    return marked_as(claim, "Drifted") && jsonx_str(claim, "spec.terminationGracePeriod");
}

static void check_pods_of(struct sim_watchdog *w, const json_t *claim, const char *node)
{
    const char *name = jsonx_str_or(claim, "metadata.name", "");
    for (size_t i = 0; i < sim_api_count(api_of(w), SIM_POD); i++) {
        const json_t *pod = sim_api_at(api_of(w), SIM_POD, i);
        if (!str_eq(sim_pod_node(pod), node)) {
            continue;
        }
        if (keeps_node(pod) && marked_as(claim, "Empty")) {
            violation(w, "NotEmpty", name, jsonx_str_or(pod, "metadata.name", ""));
        }
        if (look_stays(pod) && says_no(pod) && !forces(claim)) {
            violation(w, "DoNotDisrupt", name, jsonx_str_or(pod, "metadata.name", ""));
        }
    }
}

/* What one budget lets go of n nodes; -1 if it does not count here. */
static int64_t budget_allows(const json_t *budget, int64_t n, const char *why)
{
    const json_t *nodes = json_object_get(budget, "nodes"), *reason;
    const char *text = json_string_value(nodes);
    int64_t v = json_integer_value(nodes);
    size_t i;
    bool meant = !jsonx_arr(budget, "reasons");
    json_array_foreach (jsonx_arr(budget, "reasons"), i, reason) {
        meant = meant || str_eq(json_string_value(reason), why);
    }
    if (!meant || jsonx_str(budget, "schedule")) {
        return -1;
    }
    if (!text) {
        return nodes ? v : -1;
    }
    size_t len = strlen(text);
    char digits[24];
    if (len == 0 || len >= sizeof(digits)) {
        return -1;
    }
    bool percent = text[len - 1] == '%';
    str_copy(digits, sizeof(digits), text);
    digits[len - (percent ? 1 : 0)] = '\0';
    if (!str_parse_i64(digits, &v)) {
        return -1;
    }
    return percent ? (n * v + 99) / 100 : v;
}

static void check_budget(struct sim_watchdog *w, const json_t *claim)
{
    const char *pool = look_label(claim, POOL_LABEL);
    const json_t *np = pool ? sim_api_get(api_of(w), SIM_NODEPOOL, NULL, pool) : NULL, *budget;
    int64_t all = 0, leaving = 0, least = INT64_MAX;
    size_t i;
    for (i = 0; np && i < sim_api_count(api_of(w), SIM_NODECLAIM); i++) {
        const json_t *c = sim_api_at(api_of(w), SIM_NODECLAIM, i);
        /* As Karpenter: what is only a name any more does not count. */
        if (str_eq(look_label(c, POOL_LABEL), pool) &&
            !str_eq(sim_cond_status(c, "InstanceTerminating"), "True")) {
            all++;
            leaving += look_going(c) && voluntary(c);
        }
    }
    json_array_foreach (jsonx_arr(np, "spec.disruption.budgets"), i, budget) {
        int64_t allows = budget_allows(budget, all, jsonx_str(mark_of(claim), "reason"));
        least = allows >= 0 && allows < least ? allows : least;
    }
    if (leaving > least) {
        char text[96];
        snprintf(text, sizeof(text), "%lld leave, %lld may", (long long)leaving, (long long)least);
        violation(w, "Budget", jsonx_str_or(claim, "metadata.name", ""), text);
    }
}

/* How many claims carry the command's ID and are initialized; *ret_of: how many there are to be. */
static int64_t replacements(const struct sim_watchdog *w, const char *id, int64_t *ret_of)
{
    int64_t n = 0;
    for (size_t i = 0; i < sim_api_count(api_of(w), SIM_NODECLAIM); i++) {
        const json_t *c = sim_api_at(api_of(w), SIM_NODECLAIM, i);
        const char *text = look_text(jsonx_obj(c, "metadata.annotations"), "karp.dev/replaces");
        AUTO_JSON json_t *o = text ? jsonx_parse(text, strlen(text), "replaces", NULL) : NULL;
        if (o && str_eq(jsonx_str(o, "command"), id)) {
            *ret_of = jsonx_int(o, "of", 0);
            n += str_eq(sim_cond_status(c, "Initialized"), "True") && !look_going(c);
        }
    }
    return n;
}

/* The ID of a command with replacements, "" if there is none. */
static void command_of(const json_t *claim, char dst[17])
{
    const char *text = jsonx_str_or(mark_of(claim), "message", "");
    str_copy(dst, 17, str_starts(text, "command ") ? text + sizeof("command ") - 1 : "");
}

static void check_replaced(struct sim_watchdog *w, const json_t *claim)
{
    char id[17], text[96];
    int64_t of = -1;
    command_of(claim, id);
    int64_t n = *id ? replacements(w, id, &of) : -1;
    if (n != of) {
        snprintf(text, sizeof(text), "%lld of %lld replacements are initialized", (long long)n,
                 (long long)of);
        violation(w, "Replacement", jsonx_str_or(claim, "metadata.name", ""), text);
    }
    int64_t in, out;
    if (*id && marked_as(claim, "Underutilized") &&
        disruptlook_dearer(api_of(w), w->run->ec2, id, &in, &out)) {
        snprintf(text, sizeof(text), "%lld pUSD/h come for %lld", (long long)in, (long long)out);
        violation(w, "Dearer", jsonx_str_or(claim, "metadata.name", ""), text);
    }
}

/* Watches heal within that time. */
static bool weather_is_settled(const struct sim_watchdog *w)
{
    int64_t since_ns = faults_calm_since_ns(w->run->faults);
    return !faults_storm(w->run->faults) &&
           (since_ns < 0 || vclock_now(&w->run->world->clock) - since_ns > INVARIANT_SETTLED_NS);
}

static void check_held(struct sim_watchdog *w, const struct sim_change *c, bool removal)
{
    const char *by = weather_is_settled(w) ? held_against(w->held, c, removal) : NULL;
    if (by) {
        violation(w, "Hold", jsonx_str_or(c->after ? c->after : c->before, "metadata.name", ""),
                  by);
    }
}

/* False only if the cloud knows it and it is down. */
static bool instance_lives(const struct sim_watchdog *w, const json_t *claim)
{
    const char *id = jsonx_str_or(claim, "status.providerID", "");
    for (size_t i = 0; i < simec2_n_instances(w->run->ec2); i++) {
        const struct simec2_instance *inst = simec2_instance_at(w->run->ec2, i);
        if (str_eq(inst->provider_id, id)) {
            return inst->state == SIMEC2_PENDING || inst->state == SIMEC2_RUNNING;
        }
    }
    return true;
}

static void check_consent(struct sim_watchdog *w, const json_t *claim)
{
    const char *reason = jsonx_str_or(mark_of(claim), "reason", "");
    const char *why = disruptlook_asks(api_of(w), claim, reason)
                          ? consentlook_lacks(api_of(w), claim, reason)
                          : NULL;
    if (why && !faults_just_restored(w->run->faults)) {
        violation(w, "Approval", jsonx_str_or(claim, "metadata.name", ""), why);
    }
}

static void check_removal(struct sim_watchdog *w, const struct sim_change *change)
{
    const json_t *claim = change->before;
    const char *node = jsonx_str(claim, "status.nodeName");
    const json_t *o = node ? sim_api_get(api_of(w), SIM_NODE, NULL, node) : NULL;
    /* What is gone or going already is no decision of the agent's. */
    if (!voluntary(claim) || (o && look_going(o)) || !instance_lives(w, claim)) {
        return;
    }
    if (says_no(claim) || says_no(o)) {
        violation(w, "DoNotDisrupt", jsonx_str_or(claim, "metadata.name", ""), "is marked itself");
    }
    if (node) {
        check_pods_of(w, claim, node);
    }
    check_budget(w, claim);
    check_replaced(w, claim);
    check_consent(w, claim);
    check_held(w, change, true);
}

/* ---- at an eviction
 * --------------------------------------------------------------------------------- */

static void check_pdb(struct sim_watchdog *w, const json_t *pdb, const json_t *pod)
{
    char text[160];
    if (pdb_broken(api_of(w), pdb, pod, text, sizeof(text))) {
        violation(w, "Pdb", jsonx_str_or(pod, "metadata.name", ""), text);
    }
}

/* No more than its own grace is left of its node's time: it goes whatever else holds it. */
static bool time_is_up(const struct sim_watchdog *w, const json_t *pod)
{
    int64_t grace_ns = jsonx_int(pod, "spec.terminationGracePeriodSeconds", 30) * NS_PER_S, at_ns;
    for (size_t i = 0; i < sim_api_count(api_of(w), SIM_NODECLAIM); i++) {
        const json_t *c = sim_api_at(api_of(w), SIM_NODECLAIM, i);
        const char *at = look_text(jsonx_obj(c, "metadata.annotations"), DEADLINE);
        if (at && look_going(c) && str_eq(jsonx_str(c, "status.nodeName"), sim_pod_node(pod)) &&
            timefmt_parse_rfc3339(at, &at_ns)) {
            return vclock_wall(&w->run->world->clock) >= at_ns - grace_ns;
        }
    }
    return false;
}

/* before = the pod as it was. */
static void check_eviction(struct sim_watchdog *w, const json_t *pod)
{
    /* Else the server itself may go by a status that is still old. */
    bool calm = weather_is_settled(w) && !time_is_up(w, pod);
    for (size_t i = 0; calm && i < sim_api_count(api_of(w), SIM_PDB); i++) {
        check_pdb(w, sim_api_at(api_of(w), SIM_PDB, i), pod);
    }
    for (size_t i = 0; says_no(pod) && i < sim_api_count(api_of(w), SIM_NODECLAIM); i++) {
        const json_t *c = sim_api_at(api_of(w), SIM_NODECLAIM, i);
        if (str_eq(jsonx_str(c, "status.nodeName"), sim_pod_node(pod)) && voluntary(c) &&
            !forces(c)) {
            violation(w, "DoNotDisrupt", jsonx_str_or(pod, "metadata.name", ""), "was evicted");
        }
    }
}

/* Two are never right. Where it cannot be written now it may be later. */
static void check_history(struct sim_watchdog *w, const json_t *claim)
{
    const char *uid = jsonx_str_or(claim, "metadata.uid", "");
    const char *name = jsonx_str_or(claim, "metadata.name", "");
    bool ours = str_eq(jsonx_str(claim, "spec.nodeClassRef.group"), "karpenter.k8s.aws");
    size_t n = historylook_of(api_of(w), uid);
    if (!ours || !jsonx_str(claim, "status.providerID")) {
        return;
    }
    if (n > 1) {
        violation(w, "History", name, "has more than one entry");
    } else if (n == 0 && weather_is_settled(w)) {
        map_put(w->unwritten, uid, w, NULL);
    }
}

static void check_unwritten(struct sim_watchdog *w)
{
    for (MAP_EACH(w->unwritten, e)) {
        if (historylook_of(api_of(w), map_key(e)) != 1) {
            violation(w, "History", map_key(e), "is gone without an entry");
        }
    }
}

static void on_change(void *ctx, const struct sim_change *c)
{
    struct sim_watchdog *w = ctx;
    bool goes =
        (c->type == KUBE_DELETED || look_going(c->after)) && c->before && !look_going(c->before);
    w->deleted_ns = c->type == KUBE_DELETED ? vclock_now(&w->run->world->clock) : w->deleted_ns;
    if (c->kind == SIM_NODECLAIM) {
        w->claims_changed = true;
        if (c->type == KUBE_DELETED && is_agent(c->who) && look_going(c->before)) {
            check_history(w, c->before);
        }
        if (goes && is_agent(c->who)) {
            check_removal(w, c);
        } else if (c->type != KUBE_DELETED && is_agent(c->who)) {
            const char *res = limits_broken(api_of(w), c);
            if (res) {
                violation(w, "Limit", look_label(c->after, POOL_LABEL), res);
            }
            check_held(w, c, false);
        }
    } else if (c->kind == SIM_HOLD) {
        held_change(w->held, c);
    } else if (c->kind == SIM_POD && goes && is_agent(c->who)) {
        check_eviction(w, c->before);
    }
}

/* ---- what an observer writes
 * ------------------------------------------------------------------------- */

void watchdog_write(struct sim_watchdog *w, const struct sim_call *c)
{
    /* A create that was refused has no name. */
    bool own = str_eq(c->resource, "configmaps") &&
               (str_eq(c->name, "karp-offerings") || str_eq(c->name, "karp-observed") ||
                (c->status == 409 && !*c->name));
    for (int i = 0; w && i < w->run->n_guests && !own; i++) {
        const struct sim_guest *g = w->run->guests[i];
        if (guest_observes(g) && str_eq(guest_name(g), c->who)) {
            violation(w, "Observes", c->resource, c->verb);
        }
    }
}

void watchdog_aws(struct sim_watchdog *w, const struct sim_guest *g, const char *action)
{
    bool reads =
        str_starts(action, "Describe") || str_starts(action, "Get") || str_starts(action, "List");
    if (!reads && guest_observes(g)) {
        violation(w, "Observes", "AWS", action);
    }
}

/* ---- what grows old
 * --------------------------------------------------------------------------------- */

static bool nobody_works(const struct sim_watchdog *w)
{
    bool up = w->run->n_guests == 0;
    for (int i = 0; i < w->run->n_guests; i++) {
        up = up || guest_up(w->run->guests[i]);
    }
    return !up || faults_storm(w->run->faults);
}

/* True once `bad` has held for longer than max_ns of calm. */
static bool too_old(struct sim_watchdog *w, const char *kind, const char *object, bool bad,
                    int64_t max_ns)
{
    char key[300];
    int64_t now = vclock_now(&w->run->world->clock);
    if (!bad && map_count(w->aging) == 0) {
        return false;
    }
    snprintf(key, sizeof(key), "%.40s %.200s", kind, object);
    if (!bad) {
        free(map_del(w->aging, key));
        return false;
    }
    int64_t *since = map_get(w->aging, key);
    if (!since) {
        since = xmalloc(sizeof(*since));
        *since = now;
        map_put(w->aging, key, since, NULL);
    }
    if (nobody_works(w) || *since < faults_calm_since_ns(w->run->faults)) {
        *since = now;
    }
    return now - *since > max_ns;
}

static bool claim_exists(const struct sim_watchdog *w, const char *uid)
{
    enum sim_kind_id kind;
    return sim_api_get_uid(api_of(w), uid, &kind) && kind == SIM_NODECLAIM;
}

/* A pool whose launches do not join is tried seldom, and says so. */
static bool pool_fails(const struct sim_watchdog *w)
{
    for (size_t i = 0; i < sim_api_count(api_of(w), SIM_NODEPOOL); i++) {
        const json_t *np = sim_api_at(api_of(w), SIM_NODEPOOL, i);
        if (str_eq(sim_cond_status(np, "RegistrationFailing"), "True")) {
            return true;
        }
    }
    return false;
}

/* An agent says that a person should look at something: of that code, or of any. */
static bool attention(const struct sim_watchdog *w, const char *code_wanted)
{
    const char *const code[] = {code_wanted ? "code" : NULL, code_wanted, NULL};
    double sum = 0;
    for (int i = 0; i < w->run->n_guests; i++) {
        sum += guest_metric(w->run->guests[i], "karp_attention", code);
    }
    return sum > 0;
}

static void check_orphan(struct sim_watchdog *w, const struct simec2_instance *inst, bool orphan)
{
    const json_t *node = orphan ? sim_api_get(api_of(w), SIM_NODE, NULL, inst->node_name) : NULL;
    bool ready = node && str_eq(sim_cond_status(node, "Ready"), "True") &&
                 str_eq(jsonx_str(node, "spec.providerID"), inst->provider_id);
    if (too_old(w, "Orphan", inst->id, orphan && !ready, INVARIANT_ORPHAN_NS) &&
        !attention(w, "GarbageCollectionHalted")) {
        violation(w, "Orphan", inst->id, "lives without a claim");
    }
}

static void check_foreign(struct sim_watchdog *w, const struct simec2_instance *inst, bool alive)
{
    if (alive) {
        map_put(w->foreign, inst->id, w, NULL); /* seen alive */
    } else if (map_has(w->foreign, inst->id)) {
        violation(w, "Foreign", inst->id, "of another cluster goes down");
    }
}

static void check_instances(struct sim_watchdog *w)
{
    struct map *by_claim = map_new(WATCHDOG_MAX);
    for (size_t i = 0; i < simec2_n_instances(w->run->ec2); i++) {
        const struct simec2_instance *inst = simec2_instance_at(w->run->ec2, i);
        const char *uid = look_text(inst->tags, TAG_CLAIM_UID);
        const char *cluster = look_text(inst->tags, TAG_CLUSTER_UID);
        bool alive = inst->state == SIMEC2_PENDING || inst->state == SIMEC2_RUNNING;
        bool ours = str_eq(cluster, w->cluster_uid);
        if (cluster && !ours) {
            check_foreign(w, inst, alive);
        }
        check_orphan(w, inst, alive && ours && !(uid && claim_exists(w, uid)));
        if (!alive || !ours || !uid) {
            continue;
        }
        const struct simec2_instance *other = map_put(by_claim, uid, (void *)(uintptr_t)inst, NULL);
        if (other) {
            violation(w, "TwoInstances", uid, inst->id);
        }
    }
    map_free(by_claim);
}

/* NULL if there is none. */
static const json_t *find_by(const struct sim_watchdog *w, enum sim_kind_id kind, const char *path,
                             const char *provider_id)
{
    for (size_t i = 0; i < sim_api_count(api_of(w), kind); i++) {
        const json_t *o = sim_api_at(api_of(w), kind, i);
        if (str_eq(jsonx_str(o, path), provider_id)) {
            return o;
        }
    }
    return NULL;
}

/* It is being deleted, or a command waits for its replacements. */
static bool claim_goes(const struct sim_watchdog *w, const char *provider_id)
{
    const json_t *claim = find_by(w, SIM_NODECLAIM, "status.providerID", provider_id);
    char id[17] = "";
    int64_t of = 0;
    if (claim) {
        command_of(claim, id);
    }
    if (*id) {
        replacements(w, id, &of);
    }
    return claim && (look_going(claim) || of > 0);
}

/* Somebody holds the Lease, so that he may act. */
static bool somebody_leads(const struct sim_watchdog *w)
{
    bool leads = w->run->n_guests == 0;
    for (int i = 0; i < w->run->n_guests; i++) {
        leads = leads || (guest_up(w->run->guests[i]) && guest_leads(w->run->guests[i]));
    }
    return leads;
}

/* A warning was read: is its node being drained? */
static void check_notices(struct sim_watchdog *w)
{
    for (size_t i = 0; i < simec2_n_instances(w->run->ec2); i++) {
        const struct simec2_instance *inst = simec2_instance_at(w->run->ec2, i);
        if (!inst->notice_read) {
            continue;
        }
        const char *id = inst->provider_id;
        const json_t *claim = find_by(w, SIM_NODECLAIM, "status.providerID", id);
        const json_t *node = find_by(w, SIM_NODE, "spec.providerID", id);
        bool begun = !claim || (look_going(claim) && !node) ||
                     (look_going(claim) && look_going(node) && look_disrupted(node));
        bool bad = inst->state == SIMEC2_RUNNING && !begun && somebody_leads(w);
        if (too_old(w, "Notice", inst->id, bad, INVARIANT_NOTICE_NS)) {
            violation(w, "Notice", inst->id, "is taken back, and its node is not drained");
        }
    }
}

static void check_taints(struct sim_watchdog *w)
{
    for (size_t i = 0; i < sim_api_count(api_of(w), SIM_NODE); i++) {
        const json_t *node = sim_api_at(api_of(w), SIM_NODE, i);
        const char *name = jsonx_str_or(node, "metadata.name", "");
        bool bad = look_disrupted(node) && !look_going(node) &&
                   !claim_goes(w, jsonx_str_or(node, "spec.providerID", "?"));
        if (too_old(w, "Taint", name, bad, INVARIANT_TAINT_NS)) {
            violation(w, "Taint", name, "is disrupted and does not go");
        }
    }
}

/* Its agents may launch: one that is up does more than observe. */
static bool may_launch(const struct sim_watchdog *w)
{
    static const char *const any[] = {NULL};
    double standby = 0;
    bool idle = w->run->n_guests > 0;
    for (int i = 0; i < w->run->n_guests; i++) {
        struct sim_guest *g = w->run->guests[i];
        standby += guest_metric(g, "karp_standby", any);
        idle = idle && (guest_observes(g) || !guest_up(g));
    }
    return !idle && standby == 0 && !sim_sched_stopped(w->run->world->sched);
}

/* What a new node would do is asked only for pods that have waited long. */
static void check_starved(struct sim_watchdog *w)
{
    const int64_t half_ns = INVARIANT_STARVED_NS / 2;
    int looked = 0;
    for (size_t i = 0; i < sim_api_count(api_of(w), SIM_POD); i++) {
        const json_t *pod = sim_api_at(api_of(w), SIM_POD, i);
        const char *uid = jsonx_str_or(pod, "metadata.uid", "");
        bool waits = starved_waits(pod) && looked < INVARIANT_STARVED_PODS;
        looked += waits;
        bool bad = too_old(w, "Waits", uid, waits, half_ns) && may_launch(w) && !pool_fails(w) &&
                   !held_launches(w->held) && starved_could_run(w->run, pod);
        if (too_old(w, "Starved", uid, bad, half_ns) && !attention(w, NULL)) {
            violation(w, "Starved", jsonx_str_or(pod, "metadata.name", ""),
                      "waits although a new node would take it");
        }
    }
}

static void check_rate(struct sim_watchdog *w)
{
    uint64_t most = 0;
    for (int i = 0; i < w->run->n_guests; i++) {
        most += guest_rate(w->run->guests[i]) + INVARIANT_LEASE_CALLS;
    }
    if (w->run->n_guests > 0 && w->run->most_a_second > most) {
        violation(w, "Rate", "the API server", "is asked more often than flags allow");
    }
}

static void check_growth(struct sim_watchdog *w)
{
    for (int i = 0; i < w->run->n_guests; i++) {
        if (guest_open(w->run->guests[i]) > INVARIANT_OPEN_MAX) {
            violation(w, "Growth", guest_name(w->run->guests[i]), "has too many requests open");
        }
    }
    if (simec2_n_templates(w->run->ec2) > INVARIANT_TEMPLATES_MAX) {
        violation(w, "Growth", "launch templates", "are too many");
    }
}

void watchdog_look(struct sim_watchdog *w)
{
    int64_t now = vclock_now(&w->run->world->clock);
    size_t n = simec2_n_instances(w->run->ec2);
    bool aged = now - w->ages_ns >= INVARIANT_AGES_NS;
    if (n != w->n_instances || w->claims_changed || aged) {
        w->n_instances = n;
        w->claims_changed = false;
        check_instances(w);
    }
    if (aged) {
        w->ages_ns = now;
        w->old_version = w->version;
        w->version = sim_api_version(api_of(w));
        check_taints(w);
        check_notices(w);
        check_growth(w);
        check_rate(w);
    }
    if (now - w->starved_ns >= INVARIANT_STARVED_EVERY_NS) {
        w->starved_ns = now;
        check_starved(w);
    }
}

void watchdog_turn(struct sim_watchdog *w, int64_t spent_ns)
{
    char text[TIMEFMT_TEXT];
    if (spent_ns > w->run->opt.turn_limit_ns) {
        violation(w, "Turn", "the loop", timefmt_duration(spent_ns, text));
    }
}

static bool view_is_off(const struct sim_watchdog *w, struct sim_guest *g, char *text, size_t size)
{
    static const char *const any[] = {NULL};
    int64_t calm_ns = vclock_now(&w->run->world->clock) - w->deleted_ns;
    if (w->run->opt.faults == FAULTS_NONE) {
        return view_differs(api_of(w), guest_store(g), w->old_version, calm_ns > INVARIANT_AGES_NS,
                            text, size);
    }
    double seen = guest_metric(g, "karpenter_cluster_state_node_count", any);
    size_t nodes = sim_api_count(api_of(w), SIM_NODE);
    snprintf(text, size, "sees %.0f nodes of %zu", seen, nodes);
    return seen != (double)nodes;
}

void watchdog_end(struct sim_watchdog *w)
{
    char text[300];
    int64_t calm_ns = vclock_now(&w->run->world->clock) - faults_calm_since_ns(w->run->faults);
    check_unwritten(w);
    bool settled = !nobody_works(w) && calm_ns >= INVARIANT_SETTLED_NS;
    for (int i = 0; settled && i < w->run->n_guests; i++) {
        struct sim_guest *g = w->run->guests[i];
        if (guest_up(g) && guest_leads(g) && view_is_off(w, g, text, sizeof(text))) {
            violation(w, "View", guest_name(g), text);
        }
    }
}

/* ---- life
 * ------------------------------------------------------------------------------------------- */

struct sim_watchdog *watchdog_new(struct sim_run *r)
{
    struct sim_watchdog *w = NEW(struct sim_watchdog);
    w->run = r;
    w->said = map_new(WATCHDOG_MAX);
    w->aging = map_new(WATCHDOG_MAX);
    w->foreign = map_new(WATCHDOG_MAX);
    w->held = held_new(r->world);
    w->unwritten = map_new(WATCHDOG_MAX);
    const json_t *ns = sim_api_get(r->world->api, SIM_NAMESPACE, "", "kube-system");
    w->cluster_uid = xstrdup(jsonx_str_or(ns, "metadata.uid", ""));
    sim_api_subscribe(r->world->api, on_change, w);
    return w;
}

void watchdog_free(struct sim_watchdog *w)
{
    if (!w) {
        return;
    }
    sim_api_unsubscribe(w->run->world->api, w);
    for (MAP_EACH(w->aging, e)) {
        free(map_value(e));
    }
    map_free(w->aging);
    map_free(w->foreign);
    held_free(w->held);
    map_free(w->unwritten);
    map_free(w->said);
    free(w->cluster_uid);
    free(w);
}
