/* command.c - a command's life; see command.h. */
#include "command.h"

#include "agent/claim/claim.h"
#include "agent/consent/consent.h"
#include "agent/plan/creator.h"
#include "agent/store/intents.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "command_int.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/kube/events.h"
#include "depart.h"
#include "holds.h"
#include "taint_sweep.h"

static const struct command_reason reasons[] = {
    {DISRUPT_EMPTY, "Empty", "empty"},
    {DISRUPT_DRIFTED, "Drifted", "drifted"},
    {DISRUPT_UNDERUTILIZED, "Underutilized", "underutilized"},
};

const struct command_reason *command_reason_of(enum disruption_reason reason)
{
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (reasons[i].reason == reason) {
            return &reasons[i];
        }
    }
    BUG("no such reason to disrupt: %d", (int)reason);
}

const struct command_reason *command_reason_named(const char *mark)
{
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (str_eq(reasons[i].mark, mark)) {
            return &reasons[i];
        }
    }
    return NULL;
}

static int64_t now_of(const struct command *c)
{
    return clock_mono(c->all->rt->clock);
}

/* ---- end ---------------------------------------------------------------------------------------
 */

static void member_done(struct member *m)
{
    struct commands *all = m->c->all;
    if (m->claim && map_get(all->claims, m->claim) == m) {
        map_del(all->claims, m->claim);
    }
    if (m->node && map_get(all->by_node, m->node) == m) {
        map_del(all->by_node, m->node);
    }
}

static void member_free(struct member *m)
{
    free(m->node);
    free(m->node_uid);
    free(m->claim);
    free(m->claim_uid);
    free(m->pool);
}

static void command_free(struct command *c)
{
    struct commands *all = c->all;
    timer_stop(&all->rt->timers, &c->look);
    kube_lister_free(c->lister);
    for (uint32_t i = 0; i < c->n; i++) {
        member_free(&c->members[i]);
    }
    for (uint32_t i = 0; i < c->n_in; i++) {
        order_free(c->orders ? c->orders[i] : NULL);
        if (c->in[i].claim && map_get(all->incoming, c->in[i].claim) == &c->in[i]) {
            map_del(all->incoming, c->in[i].claim);
        }
        free(c->in[i].claim);
    }
    for (uint32_t i = 0; i < c->n_moves; i++) {
        free(c->moves[i].target);
        free(c->moves[i].key);
        free(c->moves[i].uid);
    }
    free(c->moves);
    free(c->orders);
    free(c->in);
    free(c->members);
    map_free(c->planned);
    *c->prev = c->next;
    if (c->next) {
        c->next->prev = c->prev;
    }
    free(c);
}

/* Members leave the books before anybody is told: he may start anew with them. */
void command_close(struct command *c)
{
    if (c->open > 0) {
        return;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        member_done(&c->members[i]);
    }
    c->all->closing = c;
    for (uint32_t i = 0; i < c->n; i++) {
        const struct member *m = &c->members[i];
        enum command_end how = m->stage == MEMBER_GOING ? COMMAND_REMOVED
                               : m->doubtful            ? COMMAND_DOUBTFUL
                               : c->in_vain             ? COMMAND_IN_VAIN
                                                        : COMMAND_LET_GO;
        if (how == COMMAND_LET_GO || how == COMMAND_IN_VAIN) {
            taint_sweep_node(c->all->sweep, m->node);
        }
        if (c->end) {
            c->end(c->ctx, m->node, m->claim, how);
        }
    }
    c->all->closing = NULL;
    command_free(c);
}

const char *commands_trouble(const struct commands *c)
{
    return c->closing ? c->closing->trouble : "";
}

void member_out(struct member *m, const char *why)
{
    m->stage = MEMBER_OUT;
    log_info(m->c->all->rt->log, "not removing node", "Node", m->node, "NodeClaim", m->claim,
             "reason", why);
}

void command_undo(struct command *c, const char *why)
{
    uint32_t waiting = 0;
    if (c->undone) {
        return;
    }
    c->undone = true;
    if (map_count(c->all->undone) >= COMMAND_UNDONE_MAX) {
        map_clear(c->all->undone);
    }
    map_put(c->all->undone, c->id, c->all, NULL);
    timer_stop(&c->all->rt->timers, &c->look);
    for (uint32_t i = 0; i < c->n_in; i++) {
        waiting += !c->in[i].ready;
    }
    metric_add(
        c->all->failures,
        LABELS(c->n_in ? "replace" : "delete", command_reason_of(c->reason)->metric, c->type),
        waiting);
    for (uint32_t i = 0; i < c->n; i++) {
        member_out(&c->members[i], why);
    }
}

/* ---- objections --------------------------------------------------------------------------------
 */

/* As Karpenter: with a terminationGracePeriod drift does not wait for pods. */
static bool forces(const struct member *m)
{
    const struct nodeclaim *nc = store_claim(m->c->all->rt->store, m->claim);
    return m->c->reason == DISRUPT_DRIFTED && nc && nc->termination_grace_ns != DURATION_ABSENT &&
           nc->termination_grace_ns != DURATION_NEVER;
}

const char *member_objection(const struct member *m, const struct pod *p)
{
    const struct command *c = m->c;
    if (pod_terminal(p)) {
        return NULL;
    }
    if (pod_active(p) && pod_do_not_disrupt(p, clock_wall(c->all->rt->clock)) && !forces(m)) {
        return "a pod on it must not be disrupted";
    }
    if (p->owner == POWNER_DAEMONSET || p->owner == POWNER_NODE) {
        return NULL;
    }
    if (c->independent) {
        return "it carries a pod";
    }
    return pod_reschedulable(p) && !map_has(c->planned, p->m.uid) ? "a pod came that has no place"
                                                                  : NULL;
}

static bool forbids(const struct meta *m)
{
    const char *v = kvs_get(&m->annotations, ANN_DO_NOT_DISRUPT);
    return v && !str_eq(v, "false");
}

/* Plans and empty nodes wait for a decision where the pool asks for one; replacements that were
 * asked for do not. */
static const char *unapproved(const struct member *m, const struct nodeclaim *nc)
{
    char plan[COMMAND_PLAN + 1];
    return m->c->reason == DISRUPT_EMPTY || command_plan_of(nc, plan)
               ? consent_stops(m->c->all->rt, nc, m->c->reason)
               : NULL;
}

/* NULL, or what a person said that keeps it. */
static const char *told_to_stay(const struct member *m, const struct nodeclaim *nc,
                                const struct node *n)
{
    if ((n && forbids(&n->m)) || forbids(&nc->m)) {
        return "it must not be disrupted any more";
    }
    const char *held = hold_stops(m->c->all->rt, nc);
    return held ? held : unapproved(m, nc);
}

/* As struct departure asks. */
static const char *departure_stops(struct runtime *rt, const struct nodeclaim *nc)
{
    const struct member *m = map_get(rt->commands->claims, nc->m.name);
    return m ? told_to_stay(m, nc, store_node(rt->store, m->node)) : hold_stops(rt, nc);
}

/* Is it still what was decided on? NULL, or what changed. */
static const char *member_changed(const struct member *m)
{
    struct runtime *rt = m->c->all->rt;
    const struct nodeclaim *nc = store_claim(rt->store, m->claim);
    const struct node *n = store_node(rt->store, m->node);
    const struct nodepool *np = store_pool(rt->store, m->pool);
    if (!nc || !str_eq(nc->m.uid, m->claim_uid) || nc->m.deleted_ns) {
        return "the NodeClaim changed";
    }
    if (!n || !str_eq(n->m.uid, m->node_uid) || n->m.deleted_ns) {
        return "the Node changed";
    }
    if (!np || np->m.deleted_ns || (m->pool_generation && np->m.generation != m->pool_generation)) {
        return "the NodePool changed";
    }
    if (!node_has_taint(rt, n, TAINT_DISRUPTED) || !condition_true(&nc->conditions, COMMAND_MARK)) {
        return "its taint or mark was taken off";
    }
    const char *stays = told_to_stay(m, nc, n);
    if (stays) {
        return stays;
    }
    return m->c->n_in == 0 && m->c->independent && command_expected(rt, n, nc)
               ? "pods are planned for it"
               : NULL;
}

/* Somebody else has ordered it, or it is no more: nothing is left to do about it. */
static bool member_left(const struct member *m)
{
    const struct nodeclaim *nc = store_claim(m->c->all->rt->store, m->claim);
    return !nc || !str_eq(nc->m.uid, m->claim_uid) || nc->m.deleted_ns;
}

/* ---- delete ------------------------------------------------------------------------------------
 */

static void say_deleted(struct member *m)
{
    struct runtime *rt = m->c->all->rt;
    const struct command_reason *why = command_reason_of(m->c->reason);
    struct events_subject node = {KIND_NODE, NULL, m->node, m->node_uid};
    struct events_subject claim = {KIND_NODE_CLAIM, NULL, m->claim, m->claim_uid};
    events_normal(rt->events, &node, "DisruptionTerminating", "Disrupting Node: %s", why->mark);
    events_normal(rt->events, &claim, "DisruptionTerminating", "Disrupting NodeClaim: %s",
                  why->mark);
}

static void on_deleted(void *arg, const struct kube_resp *resp)
{
    struct member *m = arg;
    struct command *c = m->c;
    const struct nodeclaim *nc = store_claim(c->all->rt->store, m->claim);
    const char *reason = command_reason_of(c->reason)->metric;
    if (resp->err.kind == ERR_NONE) {
        if (nc) {
            claim_count_disrupted(c->all->rt, nc, reason);
        }
        log_info(c->all->rt->log, "disrupting node(s)", "reason", reason, "decision", "delete",
                 "Node", m->node, "NodeClaim", m->claim, "NodePool", m->pool);
        say_deleted(m);
    } else {
        m->doubtful = err_transient(&resp->err);
        member_out(m, resp->err.msg);
    }
    c->open--;
    command_close(c);
}

/* One that goes by itself is tried once: it can be decided on again. Where replacements are paid
 * for already, the order is repeated until it is accepted. */
static void delete_member(struct member *m)
{
    struct command *c = m->c;
    struct runtime *rt = c->all->rt;
    m->stage = MEMBER_GOING;
    if (!c->independent) {
        const struct nodeclaim *nc = store_claim(rt->store, m->claim);
        const struct command_reason *reason = command_reason_of(c->reason);
        const struct departure why = {
            .metric = reason->metric, .code = reason->mark, .stops = departure_stops};
        depart_order(c->all->depart, nc, &why);
        c->open++;
        return;
    }
    struct kube_delete_opts o = {.uid = m->claim_uid, .grace_s = -1};
    c->open++;
    kube_delete(&rt->client, KIND_NODE_CLAIM, NULL, m->claim, &o, on_deleted, m);
}

/* depart.h: settled, or this agent may not write any more. */
static void on_departed(void *ctx, const char *claim, bool settled)
{
    struct commands *all = ctx;
    struct member *m = map_get(all->claims, claim);
    if (!m || m->stage != MEMBER_GOING) {
        return;
    }
    if (settled) {
        say_deleted(m);
    } else {
        m->stage = MEMBER_OUT;
        m->doubtful = true; /* whoever leads now goes on with it */
    }
    m->c->open--;
    command_close(m->c);
}

static void command_delete(struct command *c)
{
    const char *decision = c->n_in ? "replace" : "delete";
    c->stage = COMMAND_DELETING;
    c->open = 1; /* held, so that nothing ends under the loop */
    for (uint32_t i = 0; i < c->n; i++) {
        struct member *m = &c->members[i];
        if (m->stage != MEMBER_MARKED) {
            continue;
        }
        if (member_left(m)) {
            m->stage = MEMBER_GOING;
            continue;
        }
        const char *why = c->independent ? member_changed(m) : NULL;
        if (why) {
            member_out(m, why);
            continue;
        }
        metric_add(c->all->decisions,
                   LABELS(decision, command_reason_of(c->reason)->metric, c->type), 1);
        delete_member(m);
    }
    c->open--;
    command_close(c);
}

/* ---- look, wait --------------------------------------------------------------------------------
 */

/* Pods may have changed since they were read; the store is as good as anything for that. */
static const char *pods_object(const struct member *m)
{
    const struct map *pods = store_pods_on(m->c->all->rt->store, m->node);
    if (!pods || m->c->n_in == 0) {
        return NULL;
    }
    for (MAP_EACH(pods, e)) {
        const struct pod *p = map_value(e);
        if (pod_active(p) && pod_do_not_disrupt(p, clock_wall(m->c->all->rt->clock)) &&
            !forces(m)) {
            return "a pod on it must not be disrupted";
        }
    }
    return NULL;
}

static const char *world_moved(const struct command *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        const struct member *m = &c->members[i];
        if (m->stage != MEMBER_MARKED || member_left(m)) {
            continue;
        }
        const char *why = member_changed(m);
        why = why ? why : pods_object(m);
        if (why) {
            return why;
        }
    }
    return NULL;
}

static void say_ready(const struct command *c, const struct nodeclaim *nc, bool registered)
{
    struct events_subject about = {KIND_NODE_CLAIM, NULL, nc->m.name, nc->m.uid};
    events_normal(c->all->rt->events, &about,
                  registered ? "DisruptionWaitingReadiness" : "DisruptionLaunching",
                  registered ? "Waiting on readiness to continue disruption"
                             : "Launching NodeClaim: %s",
                  command_reason_of(c->reason)->mark);
}

/* The first step of the claim that is not done. */
static void note_trouble(struct command *c, const struct nodeclaim *nc)
{
    static const char *const steps[] = {"Launched", "Registered", "Initialized"};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        const struct condition *v = condition_find(&nc->conditions, steps[i]);
        if (v && v->status != STATUS_TRUE) {
            if (!str_eq(v->reason, "AwaitingReconciliation")) {
                snprintf(c->trouble, sizeof(c->trouble), "%.40s: %.150s", v->reason, v->message);
            }
            return;
        }
    }
}

/* NULL, or why the replacement comes to nothing. */
static const char *replacement_look(struct command *c, struct replacement *r)
{
    const struct nodeclaim *nc = store_claim(c->all->rt->store, r->claim);
    if (!nc || nc->m.deleted_ns) {
        return "a replacement came to nothing";
    }
    bool registered = claim_is(nc, "Registered");
    note_trouble(c, nc);
    if (registered && !r->registered) {
        r->registered = true;
        c->progress_ns = now_of(c);
        say_ready(c, nc, true);
    }
    r->ready = claim_is(nc, "Initialized");
    return NULL;
}

/* NULL, or why pods cannot go to that node any more. */
static const char *target_lost(const struct command *c, const char *target)
{
    const struct store *s = c->all->rt->store;
    const struct nodeclaim *nc = store_claim(s, target);
    const struct node *n =
        nc ? store_node_by_provider_id(s, nc->provider_id, NULL) : store_node(s, target);
    if (!n || store_leaving(s, n)) {
        return "a node that its pods were to go to leaves";
    }
    return n->unschedulable          ? "a node that its pods were to go to was cordoned"
           : n->ready != STATUS_TRUE ? "a node that its pods were to go to is not ready"
                                     : NULL;
}

/* Its place is gone before anything was evicted for it. */
static const char *places_left(const struct command *c)
{
    const char *why = NULL;
    for (uint32_t i = 0; i < c->n_moves && !why; i++) {
        why = target_lost(c, c->moves[i].target);
    }
    return why;
}

static void on_look(void *arg)
{
    struct command *c = arg;
    struct runtime *rt = c->all->rt;
    uint32_t ready = 0;
    const char *why = world_moved(c);
    why = why ? why : places_left(c);
    for (uint32_t i = 0; i < c->n_in && !why; i++) {
        why = replacement_look(c, &c->in[i]);
        c->in_vain = why != NULL;
        ready += c->in[i].ready;
    }
    if (!why && ready == c->n_in) {
        if (gate_open(rt->gate)) {
            command_delete(c);
            return;
        }
    } else if (!why && !runtime_clock_skewed(rt) && now_of(c) - c->progress_ns > COMMAND_WAIT_NS) {
        why = "the replacements are not ready in time";
        c->in_vain = true;
    }
    if (why) {
        command_undo(c, why);
        command_close(c);
        return;
    }
    timer_set(&rt->timers, &c->look, now_of(c) + COMMAND_LOOK_NS, on_look, c);
}

void command_wait(struct command *c)
{
    c->stage = COMMAND_WAITING;
    c->progress_ns = now_of(c);
    timer_set(&c->all->rt->timers, &c->look, now_of(c), on_look, c);
}

/* ---- launch ------------------------------------------------------------------------------------
 */

void command_put_in(struct command *c, uint32_t i, const char *claim)
{
    struct replacement *r = &c->in[i];
    bool full = false;
    r->claim = xstrdup(claim);
    map_put(c->all->incoming, claim, r, &full);
    (void)full; /* then the look finds it a second later */
}

static void on_created(void *arg, const struct order *o, const char *claim, const char *why)
{
    struct replacement *r = arg;
    struct command *c = r->c;
    const struct nodeclaim *nc = claim ? store_claim(c->all->rt->store, claim) : NULL;
    (void)o;
    if (claim) {
        command_put_in(c, (uint32_t)(r - c->in), claim);
    } else {
        command_undo(c, why);
    }
    if (nc) {
        say_ready(c, nc, false);
    }
    if (--c->open > 0) {
        return;
    }
    if (c->undone) {
        command_close(c);
    } else {
        command_wait(c);
    }
}

static void annotate(struct command *c, struct order *o)
{
    json_t *annotation = command_annotation(c);
    char *text = jsonx_dump(annotation);
    json_t *meta = json_object_get(o->body, "metadata");
    json_t *all = json_object_get(meta, "annotations");
    json_object_set_new(all, ANN_REPLACES, json_string(text));
    str_copy(o->command, sizeof(o->command), c->id);
    free(text);
    json_decref(annotation);
}

static void command_launch(struct command *c)
{
    struct runtime *rt = c->all->rt;
    c->stage = COMMAND_LAUNCHING;
    c->open = c->n_in;
    for (uint32_t i = 0; i < c->n_moves; i++) {
        intents_put(rt->intents, c->moves[i].target, c->moves[i].key, c->moves[i].uid);
    }
    for (uint32_t i = 0; i < c->n_in; i++) {
        struct order *o = c->orders[i];
        c->orders[i] = NULL;
        annotate(c, o);
        creator_send(rt->creator, o, command_reason_of(c->reason)->metric, on_created, &c->in[i]);
    }
}

void command_go(struct command *c)
{
    const char *why = c->independent ? NULL : world_moved(c);
    why = why ? why : places_left(c);
    if (why) {
        command_undo(c, why);
        command_close(c);
    } else if (c->n_in > 0) {
        command_launch(c);
    } else {
        for (uint32_t i = 0; i < c->n_moves; i++) {
            intents_put(c->all->rt->intents, c->moves[i].target, c->moves[i].key, c->moves[i].uid);
        }
        command_delete(c);
    }
}

/* ---- begin -------------------------------------------------------------------------------------
 */

struct command *command_new(struct commands *all, uint32_t n, uint32_t n_in)
{
    struct command *c = NEW(struct command);
    c->all = all;
    c->n = n;
    c->n_in = n_in;
    c->members = NEW_N(struct member, n);
    c->in = NEW_N(struct replacement, n_in);
    c->planned = map_new(COMMAND_PODS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        c->members[i].c = c;
    }
    for (uint32_t i = 0; i < n_in; i++) {
        c->in[i].c = c;
    }
    c->next = all->first;
    c->prev = &all->first;
    if (c->next) {
        c->next->prev = &c->next;
    }
    all->first = c;
    return c;
}

bool command_add(struct command *c, uint32_t i, const char *node, const char *node_uid,
                 const struct nodeclaim *nc, int64_t pool_generation)
{
    struct member *m = &c->members[i];
    if (map_has(c->all->claims, nc->m.name)) {
        return false;
    }
    m->node = xstrdup(node);
    m->node_uid = xstrdup(node_uid);
    m->claim = xstrdup(nc->m.name);
    m->claim_uid = xstrdup(nc->m.uid);
    m->pool = xstrdup(nc->pool);
    m->pool_generation = pool_generation;
    map_put(c->all->claims, m->claim, m, NULL);
    map_put(c->all->by_node, m->node, m, NULL);
    return true;
}

static void plan_pod(struct command *c, const char *uid)
{
    map_put(c->planned, uid, c, NULL);
}

static void take_pods(struct command *c, const struct command_spec *spec)
{
    c->moves = NEW_N(struct intent_note, spec->n_moves);
    for (uint32_t i = 0; i < spec->n_moves; i++) {
        const struct sched_placement *p = &spec->moves[i];
        c->moves[c->n_moves++] = (struct intent_note){
            .target = xstrdup(p->node->claim ? p->node->claim->m.name : p->node->name),
            .key = xasprintf("%s/%s", p->pod->m.ns, p->pod->m.name),
            .uid = xstrdup(p->pod->m.uid)};
        plan_pod(c, p->pod->m.uid);
    }
    for (uint32_t i = 0; i < spec->n_in; i++) {
        for (uint32_t k = 0; k < spec->in[i]->n_pods; k++) {
            plan_pod(c, spec->in[i]->pods[k].uid);
        }
    }
}

/* Until its pods are planned there (intents.h) nobody else may take a target for empty. */
static void nominate(const struct command *c)
{
    struct runtime *rt = c->all->rt;
    for (uint32_t i = 0; i < c->n_moves; i++) {
        store_nominate(rt->store, c->moves[i].target, now_of(c) + intents_window_ns(rt));
    }
}

void command_start(struct commands *all, const struct command_spec *spec)
{
    struct command *c = command_new(all, spec->n_out, spec->n_in);
    entropy_suffix(all->rt->entropy, c->id, COMMAND_ID);
    c->reason = spec->reason;
    c->type = spec->type;
    str_copy(c->plan, sizeof(c->plan), spec->plan ? spec->plan : "");
    c->independent = spec->independent;
    c->end = spec->end;
    c->ctx = spec->ctx;
    c->orders = NEW_N(struct order *, spec->n_in);
    for (uint32_t i = 0; i < spec->n_in; i++) {
        c->orders[i] = spec->in[i];
    }
    take_pods(c, spec);
    nominate(c);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct snapshot_node *n = spec->out[i];
        if (!command_add(c, i, n->node->m.name, n->node->m.uid, n->claim,
                         n->pool->np->m.generation)) {
            BUG("%s is in a command already", n->claim->m.name);
        }
    }
    command_mark(c, spec->out);
}

/* ---- life --------------------------------------------------------------------------------------
 */

static bool in_command(void *ctx, const char *claim)
{
    return commands_has(ctx, claim);
}

/* A replacement changed, or a member: no need to wait for the next look. */
static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct commands *all = arg;
    const struct replacement *r = map_get(all->incoming, key);
    const struct member *m = map_get(all->claims, key);
    struct command *c = r ? r->c : m ? m->c : NULL;
    (void)before;
    (void)now;
    if (c && c->stage == COMMAND_WAITING && !c->undone) {
        timer_set(&all->rt->timers, &c->look, now_of(c), on_look, c);
    }
}

static void on_hold(void *arg, const char *key, const void *before, const void *now)
{
    struct commands *all = arg;
    (void)key;
    (void)before;
    for (struct command *c = now ? all->first : NULL; c; c = c->next) {
        if (c->stage == COMMAND_WAITING && !c->undone) {
            timer_set(&all->rt->timers, &c->look, now_of(c), on_look, c);
        }
    }
}

static void on_period(void *arg)
{
    struct commands *all = arg;
    struct runtime *rt = all->rt;
    timer_set(&rt->timers, &all->period, clock_mono(rt->clock) + COMMAND_SWEEP_NS, on_period, all);
    if (store_synced(rt->store) && gate_open(rt->gate)) {
        if (rt->opt->mode == MODE_FULL) {
            commands_recover(all);
        }
        taint_sweep_all(all->sweep);
        commands_keep_limits(all);
    }
}

struct commands *commands_new(struct runtime *rt)
{
    struct commands *all = NEW(struct commands);
    all->rt = rt;
    all->claims = map_new(STORE_MAX_OBJECTS);
    all->by_node = map_new(STORE_MAX_OBJECTS);
    all->incoming = map_new(STORE_MAX_OBJECTS);
    all->undone = map_new(COMMAND_UNDONE_MAX);
    all->sweep = taint_sweep_new(rt, in_command, all);
    all->depart = depart_new(rt, "disruption.queue", on_departed, all);
    all->decisions = metrics_family(rt->metrics, "karpenter_voluntary_disruption_decisions_total",
                                    "Voluntary disruptions that were begun.", METRIC_COUNTER,
                                    LABELS("decision", "reason", "consolidation_type"), NULL, 0);
    all->failures =
        metrics_family(rt->metrics, "karpenter_voluntary_disruption_queue_failures_total",
                       "Replacements that were not ready when their disruption was given up.",
                       METRIC_COUNTER, LABELS("decision", "reason", "consolidation_type"), NULL, 0);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, all);
    store_subscribe(rt->store, STORE_HOLD, on_hold, all);
    rt->commands = all;
    return all;
}

void commands_free(struct commands *all)
{
    if (!all) {
        return;
    }
    timer_stop(&all->rt->timers, &all->period);
    while (all->first) {
        command_free(all->first);
    }
    depart_free(all->depart);
    taint_sweep_free(all->sweep);
    map_free(all->undone);
    map_free(all->incoming);
    map_free(all->by_node);
    map_free(all->claims);
    all->rt->commands = NULL;
    free(all);
}

void commands_start(struct commands *all)
{
    timer_set(&all->rt->timers, &all->period, clock_mono(all->rt->clock), on_period, all);
}
