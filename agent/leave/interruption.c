/* interruption.c - see interruption.h. */
#include "interruption.h"

#include "agent/claim/claim.h"
#include "agent/cloud/cloud.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "agent/work/metrics.h"
#include "agent/work/queue.h"
#include "agent/work/work.h"
#include "common/base/alloc.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/kube/events.h"
#include "depart.h"
#include "mailbox.h"
#include "notice.h"

#define READ_ARENA_MAX (4u << 20)

/* A message that is kept until everything it asks for was accepted. */
struct letter {
    unsigned open;
    bool lost; /* something was not: it is to come again */
    char receipt[];
};

/* Who waits for one claim. */
struct waiters {
    struct letter **v;
    size_t n, cap;
};

struct interruption {
    struct runtime *rt;
    struct mailbox *mailbox; /* NULL: switched off */
    struct depart *depart;
    struct map *by_instance; /* instance id → name of the claim, heap */
    struct map *waiting;     /* claim → struct waiters for its departure */
    struct map *marking;     /* the same for its karp.dev/replace */
    struct queue *marks;
    size_t letters;
    struct timer again;
    bool wanted, asking; /* to reconcile */
    int64_t asked_ns;    /* monotonic; NS_NEVER = never */
    struct metric_family *received, *age;
};

/* ---- letters -----------------------------------------------------------------------------------
 */

static void letter_let_go(struct interruption *i, struct letter *l)
{
    if (--l->open > 0) {
        return;
    }
    if (!l->lost) {
        mailbox_delete(i->mailbox, l->receipt);
    }
    i->letters--;
    free(l);
}

static void let_go(struct interruption *i, struct map *whose, const char *claim, bool settled)
{
    struct waiters *w = map_del(whose, claim);
    for (size_t k = 0; w && k < w->n; k++) {
        w->v[k]->lost |= !settled;
        letter_let_go(i, w->v[k]);
    }
    if (w) {
        free(w->v);
        free(w);
    }
}

static void on_departed(void *ctx, const char *claim, bool settled)
{
    struct interruption *i = ctx;
    let_go(i, i->waiting, claim, settled);
}

static struct waiters *waiters_of(struct map *whose, const char *claim)
{
    struct waiters *w = map_get(whose, claim);
    if (!w) {
        bool full = false;
        w = NEW(struct waiters);
        map_put(whose, claim, w, &full);
        if (full) {
            free(w);
            return NULL;
        }
    }
    return w;
}

/* False: too many; the message comes again. */
static bool letter_waits(struct interruption *i, struct map *whose, struct letter **l,
                         const char *receipt, const char *claim)
{
    struct waiters *w =
        *l || i->letters < INTERRUPTION_LETTERS_MAX ? waiters_of(whose, claim) : NULL;
    if (!w) {
        return false;
    }
    if (!*l) {
        size_t n = strlen(receipt) + 1;
        *l = xcalloc(1, sizeof(**l) + n);
        memcpy((*l)->receipt, receipt, n);
        i->letters++;
    }
    ARRAY_GROW(w->v, w->n, w->cap);
    w->v[w->n++] = *l;
    (*l)->open++;
    return true;
}

/* ---- one instance of ours -----------------------------------------------------------------------
 */

static const struct nodeclaim *claim_of(const struct interruption *i, const char *instance)
{
    const char *name = map_get(i->by_instance, instance);
    const struct nodeclaim *nc = name ? store_claim(i->rt->store, name) : NULL;
    return nc && store_ours(&nc->class_ref) ? nc : NULL;
}

static void say(struct interruption *i, const struct nodeclaim *nc, enum notice_kind kind)
{
    const struct notice_names *names = notice_names(kind);
    const struct node *n = store_node_by_provider_id(i->rt->store, nc->provider_id, NULL);
    struct events_subject claim = {KIND_NODE_CLAIM, NULL, nc->m.name, nc->m.uid};
    events_post(i->rt->events, &claim, names->warning, names->event, NULL, 0, "%s", names->message);
    if (n) {
        struct events_subject node = {KIND_NODE, NULL, n->m.name, n->m.uid};
        events_post(i->rt->events, &node, names->warning, names->event, NULL, 0, "%s",
                    names->message);
    }
}

static void avoid_offering(struct interruption *i, const struct nodeclaim *nc, const char *code)
{
    const char *type = claim_label(i->rt, nc, L_INSTANCE_TYPE);
    const char *zone = claim_label(i->rt, nc, L_ZONE);
    if (str_eq(claim_label(i->rt, nc, L_CAPACITY_TYPE), "spot") && *type && *zone) {
        cloud_stockout_mark(i->rt->cloud, CT_SPOT, type, zone, code);
    }
}

static bool has_mark(const struct nodeclaim *nc, const char *mark)
{
    const struct condition *c = condition_find(&nc->conditions, "DisruptionReason");
    return c && c->status == STATUS_TRUE && str_eq(c->reason, mark);
}

/* Nothing is left to do. What our own terminations tell is no news; a claim that leaves slowly and
 * is then taken away needs the mark. */
static bool is_done(const struct nodeclaim *nc, enum notice_kind kind)
{
    bool sudden = kind == NOTICE_SPOT || kind == NOTICE_RESERVATION;
    return nc->m.deleted_ns && (!sudden || has_mark(nc, notice_names(kind)->mark));
}

/* ---- rebalancing --------------------------------------------------------------------------------
 */

static bool rebalances(const struct interruption *i, const struct nodeclaim *nc)
{
    const struct nodepool *np = store_pool(i->rt->store, nc->pool);
    const char *says = np ? kvs_get(&np->m.annotations, ANN_REBALANCE) : NULL;
    int64_t age_ns = clock_wall(i->rt->clock) - nc->m.created_ns;
    bool wanted = says ? str_eq(says, "Replace") : i->rt->opt->rebalance_replace;
    return wanted && np && age_ns >= INTERRUPTION_REBALANCE_AGE_NS && !nc->m.deleted_ns &&
           !kvs_get(&nc->m.annotations, ANN_REPLACE) && !runtime_clock_skewed(i->rt);
}

static enum queue_verdict mark(void *ctx, const char *key)
{
    struct interruption *i = ctx;
    struct runtime *rt = i->rt;
    const struct nodeclaim *nc = store_claim(rt->store, key);
    bool open = gate_open(rt->gate);
    if (!nc || !open || nc->m.deleted_ns || kvs_get(&nc->m.annotations, ANN_REPLACE)) {
        let_go(i, i->marking, key, open);
        return QUEUE_OK;
    }
    char at[TIMEFMT_TEXT];
    queue_add(i->marks, key); /* the next look finds it there */
    struct work w = {rt, i->marks, key, NULL, NULL};
    return work_patch(&w, KIND_NODE_CLAIM, NULL, key, "",
                      json_pack("{s:{s:{s:s, s:s}}}", "metadata", "annotations", ANN_REPLACE,
                                timefmt_rfc3339(clock_wall(rt->clock), at), ANN_REBALANCE, at),
                      nc->m.resource_version);
}

/* True: it is on its way. */
static bool rebalance(struct interruption *i, const struct nodeclaim *nc)
{
    bool under_way = map_has(i->marking, nc->m.name);
    say(i, nc, NOTICE_REBALANCE);
    if (!under_way && !rebalances(i, nc)) {
        return false;
    }
    if (!under_way) {
        log_info(i->rt->log, "replacing node ahead of an interruption", "NodeClaim", nc->m.name);
        avoid_offering(i, nc, "SpotRebalance");
    }
    queue_add(i->marks, nc->m.name);
    return true;
}

/* True: depart.h has an order for it. */
static bool act(struct interruption *i, const struct nodeclaim *nc, enum notice_kind kind)
{
    const struct notice_names *names = notice_names(kind);
    const struct departure why = {.metric = names->metric,
                                  .mark = names->mark,
                                  .interruption = true,
                                  .urgent = kind == NOTICE_SPOT || kind == NOTICE_RESERVATION};
    if (is_done(nc, kind)) {
        return false;
    }
    bool again = depart_has(i->depart, nc->m.name);
    say(i, nc, kind);
    if (kind == NOTICE_SPOT && !again) {
        avoid_offering(i, nc, "SpotInterruption");
    }
    if (kind == NOTICE_RESERVATION && !again) {
        cloud_reservation_empty(i->rt->cloud, claim_label(i->rt, nc, L_RESERVATION_ID));
    }
    depart_order(i->depart, nc, &why);
    return true;
}

/* ---- messages -----------------------------------------------------------------------------------
 */

static void reconcile(struct interruption *i);

static void note_age(struct interruption *i, const struct notice *n, int64_t sent_ns)
{
    int64_t now_ns = clock_wall(i->rt->clock);
    if (n->time_ns) {
        metric_observe(i->age, NULL,
                       n->time_ns < now_ns ? (double)(now_ns - n->time_ns) / NS_PER_S : 0);
    }
    if (sent_ns && now_ns - sent_ns > INTERRUPTION_OLD_NS) {
        reconcile(i);
    }
}

static bool on_message(void *ctx, const struct sqs_message *m)
{
    struct interruption *i = ctx;
    struct letter *l = NULL;
    struct notice n;
    struct arena mem;
    struct err err = ERR_INIT;
    bool done = true;
    arena_init(&mem, 2048, READ_ARENA_MAX);
    if (notice_parse(&mem, m->body, m->body_n, &n, &err) < 0) {
        log_error(i->rt->log, "a message of the interruption queue cannot be read", "id", m->id,
                  "error", err.msg);
    }
    metric_add(i->received, LABELS(notice_names(n.kind)->metric), 1);
    note_age(i, &n, m->sent_wall_ns);
    for (size_t k = 0; k < n.n_instances; k++) {
        const struct nodeclaim *nc = claim_of(i, n.instances[k]);
        bool rebalancing = n.kind == NOTICE_REBALANCE;
        if (nc && (rebalancing ? rebalance(i, nc) : act(i, nc, n.kind))) {
            letter_waits(i, rebalancing ? i->marking : i->waiting, &l, m->receipt, nc->m.name);
            done = false;
        }
    }
    arena_done(&mem);
    return done;
}

static void on_gap(void *ctx, int64_t gap_ns)
{
    if (gap_ns > INTERRUPTION_OLD_NS) {
        reconcile(ctx);
    }
}

/* ---- what the queue did not tell ----------------------------------------------------------------
 */

static enum notice_kind kind_of_state(const char *state)
{
    if (str_eq(state, "stopping") || str_eq(state, "stopped")) {
        return NOTICE_STOPPED;
    }
    return str_eq(state, "shutting-down") ? NOTICE_TERMINATED : NOTICE_NONE;
}

static void on_again(void *arg)
{
    struct interruption *i = arg;
    if (i->wanted) {
        i->wanted = false;
        reconcile(i);
    }
}

static void on_listed(void *arg, const struct err *err, const struct instance *list, uint32_t n)
{
    struct interruption *i = arg;
    i->asking = false;
    if (err->kind != ERR_NONE) {
        log_error(i->rt->log, "cannot ask EC2 for what the interruption queue may have lost",
                  "error", err->msg);
        reconcile(i);
        return;
    }
    for (uint32_t k = 0; k < n && gate_open(i->rt->gate); k++) {
        enum notice_kind kind = kind_of_state(list[k].state);
        const struct nodeclaim *nc = kind ? claim_of(i, list[k].id) : NULL;
        if (nc) {
            act(i, nc, kind);
        }
    }
}

static void reconcile(struct interruption *i)
{
    int64_t now_ns = clock_mono(i->rt->clock);
    int64_t due_ns = i->asked_ns == NS_NEVER ? now_ns : i->asked_ns + INTERRUPTION_RECONCILE_NS;
    if (i->asking || due_ns > now_ns) {
        i->wanted = true;
        if (!timer_pending(&i->again)) {
            timer_set(&i->rt->timers, &i->again,
                      due_ns > now_ns ? due_ns : now_ns + INTERRUPTION_RECONCILE_NS, on_again, i);
        }
        return;
    }
    i->asked_ns = now_ns;
    i->asking = true;
    cloud_list(i->rt->cloud, on_listed, i);
}

/* ---- life --------------------------------------------------------------------------------------
 */

static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct interruption *i = arg;
    const struct nodeclaim *was = before, *is = now;
    const char *old = was ? cloud_instance_id(was->provider_id) : NULL;
    const char *id = is ? cloud_instance_id(is->provider_id) : NULL;
    if (str_eq(old, id)) {
        return;
    }
    if (old && str_eq(map_get(i->by_instance, old), key)) {
        free(map_del(i->by_instance, old));
    }
    if (id) {
        char *name = xstrdup(key);
        bool full = false;
        free(map_put(i->by_instance, id, name, &full));
        if (full) {
            free(name);
        }
    }
}

static const double age_buckets[] = {0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300};

struct interruption *interruption_new(struct runtime *rt)
{
    struct interruption *i = NEW(struct interruption);
    i->rt = rt;
    i->asked_ns = NS_NEVER;
    if (!*rt->opt->interruption_queue) {
        return i;
    }
    i->by_instance = map_new(STORE_MAX_OBJECTS);
    i->waiting = map_new(STORE_MAX_OBJECTS);
    i->marking = map_new(STORE_MAX_OBJECTS);
    i->marks = queue_new(rt, "interruption.rebalance", STORE_CLAIM, DEPART_BACKOFF_NS,
                         DEPART_BACKOFF_MAX_NS, mark, i);
    i->depart = depart_new(rt, "interruption", on_departed, i);
    i->mailbox = mailbox_new(rt, rt->opt->interruption_queue, on_message, on_gap, i);
    i->received = metrics_family(
        rt->metrics, "karpenter_interruption_received_messages_total",
        "Messages from the interruption queue, by type; one may come more than once.",
        METRIC_COUNTER, LABELS("message_type"), NULL, 0);
    i->age = metrics_family(rt->metrics, "karpenter_interruption_message_queue_duration_seconds",
                            "From a notice's own time to its receipt.", METRIC_HISTOGRAM, NULL,
                            age_buckets, ARRAY_LEN(age_buckets));
    store_subscribe(rt->store, STORE_CLAIM, on_claim, i);
    return i;
}

void interruption_free(struct interruption *i)
{
    if (!i || !i->mailbox) {
        free(i);
        return;
    }
    timer_stop(&i->rt->timers, &i->again);
    for (MAP_EACH(i->waiting, e)) {
        let_go(i, i->waiting, map_key(e), false);
    }
    for (MAP_EACH(i->marking, m)) {
        let_go(i, i->marking, map_key(m), false);
    }
    mailbox_free(i->mailbox);
    depart_free(i->depart);
    queue_free(i->marks);
    map_free(i->waiting);
    map_free(i->marking);
    for (MAP_EACH(i->by_instance, b)) {
        free(map_value(b));
    }
    map_free(i->by_instance);
    free(i);
}

void interruption_start(struct interruption *i)
{
    if (i->mailbox) {
        mailbox_start(i->mailbox);
    }
}
