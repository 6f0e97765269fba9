/* history.c - see history.h. */
#include "history.h"

#include "agent/claim/claim.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "entry.h"
#include "ledger.h"

/* An entry that is not in the ConfigMap as far as is known. */
struct note {
    json_t *entry;
    int64_t since_ns; /* monotonic */
    struct queue *q;  /* who waits, or NULL */
    char key[];
};

struct history {
    struct runtime *rt;
    struct timer timer;
    struct map *notes; /* UID of the claim → struct note */
    uint64_t open;     /* request in flight, 0 = none */
    json_t *ledger;    /* as it was read or written last; NULL = to be read */
    char *version;     /* of the object; NULL = there is none */
    json_t *sending;   /* in flight */
    int64_t full_ns;   /* since when there was no room for another note; 0 = there is */
    bool refused;      /* the last write was, and not for a passing reason */
    bool complained;
};

static void write_soon(struct history *h, int64_t after_ns);

/* ---- notes -------------------------------------------------------------------------------------
 */

static void note_free(struct note *n)
{
    if (n) {
        json_decref(n->entry);
        free(n);
    }
}

static struct note *note_of(struct history *h, const struct nodeclaim *nc, const char *key)
{
    struct note *n = map_get(h->notes, nc->m.uid);
    if (n || map_count(h->notes) >= HISTORY_NOTES_MAX) {
        return n;
    }
    size_t size = strlen(key) + 1;
    n = xcalloc(1, sizeof(*n) + size);
    memcpy(n->key, key, size);
    n->entry = entry_new(h->rt, nc);
    n->since_ns = clock_mono(h->rt->clock);
    map_put(h->notes, nc->m.uid, n, NULL);
    write_soon(h, 0);
    return n;
}

static bool is_written(const struct history *h, const char *uid)
{
    return h->ledger && ledger_has(h->ledger, uid);
}

/* What stands there is no note any more; who waited for it goes on. */
static void settle(struct history *h)
{
    for (MAP_EACH(h->notes, e)) {
        struct note *n = map_value(e);
        if (is_written(h, map_key(e))) {
            if (n->q) {
                queue_add(n->q, n->key);
            }
            map_del(h->notes, map_key(e));
            note_free(n);
            h->full_ns = 0;
        }
    }
}

/* Whoever waits looks again: it may have waited enough. */
static void wake_all(struct history *h)
{
    for (MAP_EACH(h->notes, e)) {
        struct note *n = map_value(e);
        if (n->q) {
            queue_add(n->q, n->key);
        }
    }
}

static void lost(struct history *h, const char *key)
{
    log_error(h->rt->log, "no room for the history of a node", "ConfigMap", HISTORY_CONFIG_MAP,
              "NodeClaim", key);
}

/* No note could be made: how long the claim is to wait for room, 0 = it goes without an entry. */
static int64_t no_room(struct history *h, const char *key)
{
    int64_t now_ns = clock_mono(h->rt->clock);
    h->full_ns = h->full_ns ? h->full_ns : now_ns;
    if (!h->refused && now_ns - h->full_ns < HISTORY_PATIENCE_NS) {
        return HISTORY_PAUSE_NS;
    }
    lost(h, key);
    return 0;
}

bool history_kept(struct history *h, const struct nodeclaim *nc, struct queue *q, const char *key)
{
    if (!entry_due(nc) || is_written(h, nc->m.uid)) {
        return true;
    }
    struct note *n = note_of(h, nc, key);
    int64_t left_ns =
        n ? n->since_ns + HISTORY_PATIENCE_NS - clock_mono(h->rt->clock) : no_room(h, key);
    if (left_ns <= 0 || h->refused) {
        return true;
    }
    if (n) {
        n->q = q;
    }
    queue_add_after(q, key, left_ns);
    return false;
}

/* ---- reading and writing -----------------------------------------------------------------------
 */

static void forget(struct history *h)
{
    json_decref(h->ledger);
    json_decref(h->sending);
    free(h->version);
    h->ledger = h->sending = NULL;
    h->version = NULL;
}

/* The reference to the ledger is taken. */
static void take(struct history *h, const json_t *object, json_t *ledger)
{
    forget(h);
    h->version = xstrdup(jsonx_str_or(object, "metadata.resourceVersion", ""));
    h->ledger = ledger;
}

static bool passes(const struct history *h, const struct err *why)
{
    return err_transient(why) || why->kind == ERR_CONFLICT || why->kind == ERR_EXISTS ||
           why->kind == ERR_CANCELLED || (why->kind == ERR_NOT_FOUND && h->version);
}

/* Whatever it was, the next step is to read: somebody else may have written, or our write may have
 * arrived after all. */
static void failed(struct history *h, const struct err *why)
{
    h->refused = !passes(h, why);
    forget(h);
    if (why->kind == ERR_CONFLICT || why->kind == ERR_EXISTS) {
        write_soon(h, HISTORY_PAUSE_NS);
        return;
    }
    if (!h->complained && why->kind != ERR_CANCELLED) {
        h->complained = true;
        log_error(h->rt->log, "cannot keep the history of nodes", "ConfigMap", HISTORY_CONFIG_MAP,
                  "namespace", h->rt->opt->ns, "error", why->msg);
    }
    wake_all(h);
    write_soon(h, h->refused ? HISTORY_REFUSED_NS : HISTORY_BACKOFF_NS);
}

static void on_read(void *arg, const struct kube_resp *resp)
{
    struct history *h = arg;
    struct err err = ERR_INIT;
    h->open = 0;
    if (resp->err.kind == ERR_NOT_FOUND) {
        forget(h);
        h->ledger = json_array();
    } else if (resp->err.kind != ERR_NONE || !resp->body) {
        failed(h, &resp->err);
        return;
    } else {
        const json_t *data = jsonx_obj(resp->body, "data");
        take(h, resp->body,
             ledger_read(json_string_value(json_object_get(data, HISTORY_KEY)), &err));
    }
    if (err.kind != ERR_NONE) {
        log_error(h->rt->log, "the history of nodes cannot be read and begins anew", "error",
                  err.msg);
    }
    settle(h);
    write_soon(h, 0);
}

static void on_written(void *arg, const struct kube_resp *resp)
{
    struct history *h = arg;
    h->open = 0;
    if (resp->err.kind != ERR_NONE) {
        failed(h, &resp->err);
        return;
    }
    take(h, resp->body, json_incref(h->sending));
    h->refused = h->complained = false;
    settle(h);
    write_soon(h, HISTORY_PAUSE_NS);
}

static void send_ledger(struct history *h)
{
    const char *ns = h->rt->opt->ns;
    h->sending = json_copy(h->ledger);
    for (MAP_EACH(h->notes, e)) {
        const struct note *n = map_value(e);
        ledger_add(h->sending, json_incref(n->entry));
    }
    char *text = ledger_text(h->sending, clock_wall(h->rt->clock));
    AUTO_JSON json_t *body = json_pack("{s:{s:s}}", "data", HISTORY_KEY, text);
    free(text);
    if (h->version) {
        h->open = kube_patch(&h->rt->client, KIND_CONFIG_MAP, ns, HISTORY_CONFIG_MAP, NULL, body,
                             h->version, on_written, h);
    } else {
        json_object_set_new(body, "metadata", json_pack("{s:s}", "name", HISTORY_CONFIG_MAP));
        h->open = kube_create(&h->rt->client, KIND_CONFIG_MAP, ns, body, on_written, h);
    }
}

static void look(void *arg)
{
    struct history *h = arg;
    if (h->open || map_count(h->notes) == 0) {
        return;
    }
    if (!gate_open(h->rt->gate)) {
        write_soon(h, HISTORY_BACKOFF_NS);
        return;
    }
    if (!h->ledger) {
        h->open = kube_get(&h->rt->client, KIND_CONFIG_MAP, h->rt->opt->ns, HISTORY_CONFIG_MAP,
                           on_read, h);
        return;
    }
    send_ledger(h);
}

/* Never sooner than what is due already: that may be the pause after a write. */
static void write_soon(struct history *h, int64_t after_ns)
{
    if (!timer_pending(&h->timer)) {
        timer_set(&h->rt->timers, &h->timer, clock_mono(h->rt->clock) + after_ns, look, h);
    }
}

/* ---- life --------------------------------------------------------------------------------------
 */

/* Ahead of its finalizer while its instance ends; afterwards where it went without us. */
static void on_claim(void *arg, const char *key, const void *before, const void *now)
{
    struct history *h = arg;
    const struct nodeclaim *nc = now ? now : before;
    bool ending = !now || (nc->m.deleted_ns && claim_is(nc, "InstanceTerminating"));
    if (ending && entry_due(nc) && gate_open(h->rt->gate) && !is_written(h, nc->m.uid) &&
        !note_of(h, nc, key) && !now) {
        lost(h, key);
    }
}

struct history *history_new(struct runtime *rt)
{
    struct history *h = NEW(struct history);
    h->rt = rt;
    h->notes = map_new(HISTORY_NOTES_MAX);
    store_subscribe(rt->store, STORE_CLAIM, on_claim, h);
    rt->history = h;
    return h;
}

void history_free(struct history *h)
{
    if (!h) {
        return;
    }
    h->rt->history = NULL;
    timer_stop(&h->rt->timers, &h->timer);
    kube_cancel(&h->rt->client, h->open);
    for (MAP_EACH(h->notes, e)) {
        note_free(map_value(e));
    }
    map_free(h->notes);
    forget(h);
    free(h);
}

void history_start(struct history *h)
{
    (void)h;
}
