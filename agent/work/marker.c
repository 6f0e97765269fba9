/* marker.c - see marker.h. */
#include "marker.h"

#include "agent/claim/claim.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/kube/events.h"

#include <ctype.h>

#define FORMAT "karp-marker-2"
#define DECISION "Decision"
#define POOL_TEXT 256

/* What this process knows of a row beside the page. */
struct row_state {
    bool held; /* set aside, as far as its object has been seen */
    bool told;
    char pool[POOL_TEXT]; /* of a claim or node */
};

struct marker {
    struct runtime *rt;
    const struct marker_port *port;
    struct marker_page *page;
    struct row_state state[MARKER_ROWS_MAX]; /* parallel to the page's rows */
    struct timer timer;
    int64_t born_ns;
    bool over; /* on_mark has ended the process */
    char closed[POOL_TEXT + 1024];
};

/* ---- rows -------------------------------------------------------------------------------------
 */

static void row_remove(struct marker *m, uint32_t i)
{
    struct marker_page *p = m->page;
    uint32_t after = p->n - i - 1;
    memmove(&p->rows[i], &p->rows[i + 1], after * sizeof(p->rows[0]));
    memmove(&m->state[i], &m->state[i + 1], after * sizeof(m->state[0]));
    p->n--;
}

static bool row_is(const struct marker_row *r, const char *kind, const char *key)
{
    return str_eq(r->of.key, key) && str_eq(r->of.kind, kind);
}

static uint32_t row_find(const struct marker *m, const char *kind, const char *key)
{
    uint32_t i = 0;
    while (i < m->page->n && !row_is(&m->page->rows[i], kind, key)) {
        i++;
    }
    return i;
}

/* Makes room: the oldest that crashed only once, else the oldest. */
static void rows_make_room(struct marker *m)
{
    uint32_t i = 0;
    if (m->page->n < MARKER_ROWS_MAX) {
        return;
    }
    while (i < m->page->n && m->page->rows[i].crashes >= MARKER_CRASHES) {
        i++;
    }
    row_remove(m, i < m->page->n ? i : 0);
}

static struct marker_row *row_for(struct marker *m, const struct marker_object *of)
{
    uint32_t i = row_find(m, of->kind, of->key);
    if (i < m->page->n && !str_eq(m->page->rows[i].of.uid, of->uid)) {
        row_remove(m, i);
        i = m->page->n;
    }
    if (i == m->page->n) {
        rows_make_room(m);
        i = m->page->n++;
        m->page->rows[i] = (struct marker_row){.of = *of};
        m->state[i] = (struct row_state){.held = false};
    }
    return &m->page->rows[i];
}

/* ---- what the process before left ------------------------------------------------------------ */

static void end_text(char *text, size_t size)
{
    text[size - 1] = '\0';
}

static void end_texts(struct marker_object *o)
{
    end_text(o->kind, sizeof(o->kind));
    end_text(o->key, sizeof(o->key));
    end_text(o->uid, sizeof(o->uid));
    end_text(o->version, sizeof(o->version));
    end_text(o->owner, sizeof(o->owner));
}

static void read_page(struct marker_page *p)
{
    end_text(p->format, sizeof(p->format));
    end_text(p->program, sizeof(p->program));
    bool ours =
        str_eq(p->format, FORMAT) && str_eq(p->program, KARP_VERSION) && p->n <= MARKER_ROWS_MAX;
    if (!ours) {
        memset(p, 0, sizeof(*p));
        str_copy(p->format, sizeof(p->format), FORMAT);
        str_copy(p->program, sizeof(p->program), KARP_VERSION);
    }
    end_texts(&p->now);
    for (uint32_t i = 0; i < p->n; i++) {
        end_texts(&p->rows[i].of);
    }
}

static void count_crash(struct marker *m)
{
    struct marker_page *p = m->page;
    if (!p->open) {
        return;
    }
    p->open = 0;
    struct marker_row *r = row_for(m, &p->now);
    bool same = str_eq(r->of.version, p->now.version);
    r->of = p->now;
    r->crashes += r->crashes < UINT32_MAX;
    r->bare = p->bare ? 1 : same ? r->bare : 0;
    log_error(m->rt->log, "the process before this one ended while it worked on an object", "kind",
              r->of.kind, "name", r->of.key, "times", log_n(r->crashes));
}

/* ---- verdicts ---------------------------------------------------------------------------------
 */

static const char *controller_uid(const json_t *object)
{
    size_t i;
    json_t *o;
    json_array_foreach (jsonx_arr(object, "metadata.ownerReferences"), i, o) {
        if (json_is_true(json_object_get(o, "controller"))) {
            return jsonx_str_or(o, "uid", "");
        }
    }
    return "";
}

static void read_object(struct marker_object *ret, const char *kind, const char *key,
                        const json_t *object)
{
    int64_t generation = jsonx_int(object, "metadata.generation", 0);
    str_copy(ret->kind, sizeof(ret->kind), kind);
    str_copy(ret->key, sizeof(ret->key), key);
    str_copy(ret->uid, sizeof(ret->uid), jsonx_str_or(object, "metadata.uid", ""));
    if (generation > 0) {
        snprintf(ret->version, sizeof(ret->version), "g%lld", (long long)generation);
    } else {
        snprintf(ret->version, sizeof(ret->version), "r%.30s",
                 jsonx_str_or(object, "metadata.resourceVersion", ""));
    }
    str_copy(ret->owner, sizeof(ret->owner), str_eq(kind, "Pod") ? controller_uid(object) : "");
}

static void aside_changed(struct marker *m)
{
    bool any = false;
    for (uint32_t i = 0; i < m->page->n; i++) {
        any = any || m->state[i].held;
    }
    attention_set(m->rt, MARKER_ATTENTION, any);
}

static void hold(struct marker *m, uint32_t i, bool held)
{
    const struct marker_row *r = &m->page->rows[i];
    if (m->state[i].held == held) {
        return;
    }
    m->state[i].held = held;
    aside_changed(m);
    if (held && !m->state[i].told) {
        m->state[i].told = true;
        log_error(m->rt->log, "an object is set aside: the process ended over it again and again",
                  "kind", r->of.kind, "name", r->of.key, "times", log_n(r->crashes), "marker",
                  m->port->where);
    }
}

/* It is as it was, or has been tried often enough. */
static bool unchanged(const struct marker_row *r, const struct marker_object *is)
{
    if (!str_eq(r->of.uid, is->uid)) {
        return false;
    }
    bool tried = is->version[0] == 'r' && r->crashes >= MARKER_TRIES;
    return tried || str_eq(r->of.version, is->version);
}

static bool alike(const struct marker_row *r, const struct marker_object *is)
{
    return *is->owner && str_eq(r->of.owner, is->owner);
}

static enum marker_how verdict(struct marker *m, const struct marker_object *is)
{
    uint32_t crashes = 0, bare = 0;
    for (uint32_t i = 0; i < m->page->n; i++) {
        const struct marker_row *r = &m->page->rows[i];
        bool own = row_is(r, is->kind, is->key) && unchanged(r, is);
        if (own || alike(r, is)) {
            crashes += r->crashes;
            bare += r->bare;
        }
    }
    uint32_t own = row_find(m, is->kind, is->key);
    bool held = crashes >= MARKER_CRASHES;
    if (own < m->page->n) {
        hold(m, own, held);
    }
    return !held ? MARKER_WHOLE : bare > 0 ? MARKER_LEAVE_OUT : MARKER_BARE;
}

/* ---- marks ------------------------------------------------------------------------------------
 */

static bool set_mark(struct marker *m, const struct marker_object *of, bool bare, bool alone)
{
    struct marker_page *p = m->page;
    p->open = 0;
    p->now = *of;
    p->bare = bare;
    p->alone = alone;
    p->open = 1;
    if (m->port->on_mark && !m->port->on_mark(m->port->ctx, p)) {
        struct err why = ERR_INIT;
        m->over = true;
        err_set(&why, ERR_CANCELLED, "ended over %s %s", of->kind, of->key);
        runtime_end(m->rt, &why);
        return false;
    }
    return true;
}

static void remember_pool(struct marker *m, const struct marker_object *of, enum store_kind kind,
                          const json_t *object)
{
    uint32_t i = row_find(m, of->kind, of->key);
    const json_t *labels = jsonx_obj(object, "metadata.labels");
    if (i < m->page->n && (kind == STORE_CLAIM || kind == STORE_NODE)) {
        const char *pool = json_string_value(json_object_get(labels, "karpenter.sh/nodepool"));
        str_copy(m->state[i].pool, sizeof(m->state[i].pool), pool ? pool : "");
    }
}

enum marker_how marker_object(struct marker *m, enum store_kind kind, const char *key,
                              const json_t *object)
{
    if (!m) {
        return MARKER_WHOLE;
    }
    if (m->over) {
        return MARKER_LEAVE_OUT;
    }
    struct marker_object of;
    read_object(&of, store_kind_name(kind), key, object);
    enum marker_how how = m->page->n ? verdict(m, &of) : MARKER_WHOLE;
    if (how != MARKER_WHOLE) {
        remember_pool(m, &of, kind, object);
    }
    if (how != MARKER_LEAVE_OUT && !set_mark(m, &of, how == MARKER_BARE, false)) {
        return MARKER_LEAVE_OUT;
    }
    return how;
}

static bool mark_known(struct marker *m, enum store_kind kind, const char *key, bool alone)
{
    const char *name = store_kind_name(kind);
    uint32_t i = row_find(m, name, key);
    if (m->over || (i < m->page->n && m->state[i].held)) {
        return false;
    }
    const struct meta *meta = m->rt->store ? store_meta(m->rt->store, kind, key) : NULL;
    if (!meta) {
        return true;
    }
    struct marker_object of = {.owner = ""};
    if (kind == STORE_POD) {
        const struct pod *pod = map_get(store_all(m->rt->store, STORE_POD), key);
        str_copy(of.owner, sizeof(of.owner), pod->owner_uid ? pod->owner_uid : "");
    }
    str_copy(of.kind, sizeof(of.kind), name);
    str_copy(of.key, sizeof(of.key), key);
    str_copy(of.uid, sizeof(of.uid), meta->uid);
    if (meta->generation > 0) {
        snprintf(of.version, sizeof(of.version), "g%lld", (long long)meta->generation);
    } else {
        snprintf(of.version, sizeof(of.version), "r%.30s", meta->resource_version);
    }
    return set_mark(m, &of, false, alone);
}

bool marker_look(struct marker *m, enum store_kind kind, const char *key)
{
    return !m || mark_known(m, kind, key, false);
}

bool marker_decide(struct marker *m, const char *decision, const char *pod)
{
    struct marker_object of = {.kind = DECISION};
    if (!m || pod) {
        return !m || mark_known(m, STORE_POD, pod, true);
    }
    str_copy(of.key, sizeof(of.key), decision);
    return !m->over && set_mark(m, &of, false, false);
}

bool marker_rests(const struct marker *m, const char *decision)
{
    return m && m->page->n > 0 && marker_is_aside(m, DECISION, NULL, decision);
}

bool marker_is_aside(const struct marker *m, const char *kind, const char *ns, const char *name)
{
    char key[sizeof(m->page->now.key)];
    if (!m || m->page->n == 0) {
        return false;
    }
    snprintf(key, sizeof(key), "%.200s%s%.300s", ns ? ns : "", ns && *ns ? "/" : "", name);
    uint32_t i = row_find(m, kind, key);
    return i < m->page->n && m->state[i].held;
}

void marker_done(struct marker *m)
{
    if (m && !m->over) {
        m->page->open = 0;
    }
}

void marker_gone(struct marker *m, enum store_kind kind, const char *key)
{
    uint32_t i = m ? row_find(m, store_kind_name(kind), key) : 0;
    if (m && i < m->page->n) {
        hold(m, i, false);
    }
}

/* ---- told -------------------------------------------------------------------------------------
 */

const char *marker_pool_closed(const struct marker *m, const char *pool)
{
    for (uint32_t i = 0; m && i < m->page->n; i++) {
        const struct marker_row *r = &m->page->rows[i];
        if (m->state[i].held && *m->state[i].pool && str_eq(m->state[i].pool, pool)) {
            struct marker *mut = (struct marker *)(uintptr_t)m;
            snprintf(mut->closed, sizeof(mut->closed), "%s %s of it is set aside", r->of.kind,
                     r->of.key);
            return mut->closed;
        }
    }
    return NULL;
}

static bool of_decision(const struct marker_row *r)
{
    return str_eq(r->of.kind, DECISION);
}

static void put_text(const struct marker *m, const struct marker_row *r, struct buf *out)
{
    if (of_decision(r)) {
        buf_printf(
            out,
            "the agent's process ended %u times in it: it rests, or is made for one workload "
            "at a time; as ever again after an hour, with another version of karp, or "
            "without %s",
            r->crashes, m->port->where);
        return;
    }
    buf_printf(out,
               "set aside: the agent's process ended %u times over it; it is tried again when %s "
               "changes, with another version of karp, or without %s",
               r->crashes,
               r->of.version[0] == 'r' ? "it"
               : *r->of.owner          ? "its controller"
                                       : "its spec",
               m->port->where);
}

bool marker_aside(const struct marker *m, size_t i, struct buf *ret_object, struct buf *ret_text)
{
    for (uint32_t k = 0; m && k < m->page->n; k++) {
        const struct marker_row *r = &m->page->rows[k];
        if (!m->state[k].held || i-- > 0) {
            continue;
        }
        for (const char *c = r->of.kind; *c; c++) {
            buf_putc(ret_object, (char)tolower((unsigned char)*c));
        }
        buf_printf(ret_object, "/%s", r->of.key);
        put_text(m, r, ret_text);
        return true;
    }
    return false;
}

static void post(struct marker *m, const struct marker_row *r)
{
    AUTO_BUF struct buf text = {.n = 0};
    char ns[256] = "";
    const char *slash = strchr(r->of.key, '/');
    struct events_subject about = {.name = slash ? slash + 1 : r->of.key, .uid = r->of.uid};
    if (!m->rt->events || !kube_kind_find(r->of.kind, NULL, &about.kind)) {
        return;
    }
    if (slash) {
        snprintf(ns, sizeof(ns), "%.*s", (int)(slash - r->of.key), r->of.key);
        about.ns = ns;
    }
    buf_init(&text, EVENTS_MESSAGE_MAX);
    put_text(m, r, &text);
    events_post(m->rt->events, &about, true, "SetAside", "", MARKER_EVENT_NS, "%s", text.p);
}

static void tell(void *arg)
{
    struct marker *m = arg;
    int64_t now_ns = clock_mono(m->rt->clock);
    timer_set(&m->rt->timers, &m->timer, now_ns + MARKER_TELL_NS, tell, m);
    for (uint32_t i = m->page->n; i-- > 0;) {
        bool lived = now_ns - m->born_ns >= MARKER_LIVED_NS;
        if (lived && of_decision(&m->page->rows[i])) {
            hold(m, i, false);
        }
        if (m->state[i].held) {
            post(m, &m->page->rows[i]);
        } else if (lived) {
            row_remove(m, i);
        }
    }
}

/* ---- life -------------------------------------------------------------------------------------
 */

struct marker *marker_new(struct runtime *rt, const struct marker_port *port)
{
    if (!port || !port->page) {
        return NULL;
    }
    struct marker *m = NEW(struct marker);
    m->rt = rt;
    m->port = port;
    m->page = port->page;
    m->born_ns = clock_mono(rt->clock);
    read_page(m->page);
    count_crash(m);
    return m;
}

void marker_free(struct marker *m)
{
    if (m) {
        timer_stop(&m->rt->timers, &m->timer);
        free(m);
    }
}

void marker_start(struct marker *m)
{
    for (uint32_t i = 0; m && i < m->page->n; i++) {
        const struct marker_row *r = &m->page->rows[i];
        hold(m, i, of_decision(r) && r->crashes >= MARKER_CRASHES);
    }
    if (m && m->page->n > 0) {
        timer_set(&m->rt->timers, &m->timer, m->born_ns + MARKER_TELL_NS, tell, m);
    }
}
