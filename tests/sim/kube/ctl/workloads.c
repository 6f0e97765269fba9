/* workloads.c - the controller manager's loop, indexes and common parts; see workloads.h */
#include "tests/sim/kube/workloads.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "workloads_part.h"

/* ---- indexes ----------------------------------------------------------------------------------
 */

struct sim_count {
    int64_t active, ready;
};

/* by is 1 or -1. */
static void index_tally(struct sim_index *i, const char *key, const struct sim_ref *r, int by)
{
    struct sim_count *n = map_get(i->counts, key);
    if (!n) {
        n = NEW(struct sim_count);
        map_put(i->counts, key, n, NULL);
    }
    n->active += r->active ? by : 0;
    n->ready += r->active && r->ready ? by : 0;
}

static void index_put(struct sim_index *i, const char *key, json_t *obj)
{
    struct map *set = map_get(i->sets, key);
    if (!set) {
        set = map_new(SIM_API_OBJECTS_MAX);
        map_put(i->sets, key, set, NULL);
    }
    const char *uid = jsonx_str_or(obj, "metadata.uid", "");
    struct sim_ref *r = map_get(set, uid);
    if (!r) {
        r = NEW(struct sim_ref);
        map_put(set, uid, r, NULL);
    }
    index_tally(i, key, r, -1);
    json_decref(r->obj);
    r->obj = json_incref(obj);
    r->active = sim_pod_active(obj);
    r->ready = sim_pod_ready(obj);
    index_tally(i, key, r, 1);
}

static void ref_free(struct sim_ref *r)
{
    if (r) {
        json_decref(r->obj);
        free(r);
    }
}

static void index_del(struct sim_index *i, const char *key, const json_t *obj)
{
    struct map *set = map_get(i->sets, key);
    if (!set) {
        return;
    }
    struct sim_ref *r = map_del(set, jsonx_str_or(obj, "metadata.uid", ""));
    if (r) {
        index_tally(i, key, r, -1);
    }
    ref_free(r);
    if (map_count(set) == 0) {
        free(map_del(i->counts, key));
        map_del(i->sets, key);
        map_free(set);
    }
}

static void index_done(struct sim_index *i)
{
    for (MAP_EACH(i->sets, e)) {
        struct map *set = map_value(e);
        for (MAP_EACH(set, o)) {
            ref_free(map_value(o));
        }
        map_free(set);
    }
    map_free(i->sets);
    for (MAP_EACH(i->counts, n)) {
        free(map_value(n));
    }
    map_free(i->counts);
}

const struct map *sim_index_set(const struct sim_index *i, const char *key)
{
    return map_get(i->sets, key);
}

json_t *sim_index_collect(const struct sim_index *i, const char *key, bool only_active)
{
    json_t *out = json_array();
    const struct map *set = sim_index_set(i, key);
    if (set) {
        for (MAP_EACH(set, e)) {
            const struct sim_ref *r = map_value(e);
            if (r->active || !only_active) {
                json_array_append(out, r->obj);
            }
        }
    }
    return out;
}

void sim_index_count(const struct sim_index *i, const char *key, int64_t *ret_active,
                     int64_t *ret_ready)
{
    const struct sim_count *n = map_get(i->counts, key);
    *ret_active = n ? n->active : 0;
    *ret_ready = n ? n->ready : 0;
}

/* key_before/after "" = in no set. */
static void index_move(struct sim_index *i, const char *key_before, const char *key_after,
                       json_t *obj)
{
    if (key_before[0] && !str_eq(key_before, key_after)) {
        index_del(i, key_before, obj);
    }
    if (key_after[0]) {
        index_put(i, key_after, obj);
    }
}

static const char *controller_uid(const json_t *obj)
{
    return obj ? jsonx_str_or(sim_controller(obj), "uid", "") : "";
}

/* "" for pods that nobody could adopt. */
static const char *orphan_key(const json_t *pod)
{
    bool orphan = pod && controller_uid(pod)[0] == '\0' && sim_pod_active(pod) &&
                  json_object_size(jsonx_at(pod, "metadata.labels")) > 0;
    return orphan ? jsonx_str_or(pod, "metadata.namespace", "") : "";
}

/* "ns/name" of the Job that a pod is counted for; NULL if it is none's. */
static char *job_key(const json_t *pod)
{
    const json_t *ref = pod ? sim_controller(pod) : NULL;
    return ref && str_eq(jsonx_str(ref, "kind"), "Job")
               ? xasprintf("%s/%s", jsonx_str_or(pod, "metadata.namespace", ""),
                           jsonx_str_or(ref, "name", ""))
               : NULL;
}

/* Which pods could change hands. */
static void follow_owners(struct sim_workloads *c, const struct sim_change *ch, const json_t *now)
{
    AUTO_FREE char *job_before = job_key(ch->before);
    AUTO_FREE char *job_now = job_key(now);
    index_move(&c->job_pods, job_before ? job_before : "", job_now ? job_now : "", ch->after);
    index_move(&c->orphans, orphan_key(ch->before), orphan_key(now), ch->after);
    bool relabelled =
        ch->before && now && controller_uid(now)[0] &&
        !sim_json_same(jsonx_at(ch->before, "metadata.labels"), jsonx_at(now, "metadata.labels"));
    if (relabelled) {
        index_put(&c->strays, controller_uid(now), ch->after);
    } else if (!now || !str_eq(controller_uid(ch->before), controller_uid(now))) {
        index_del(&c->strays, controller_uid(ch->before), ch->after);
    }
}

static void follow(struct sim_workloads *c, const struct sim_change *ch)
{
    const json_t *now = ch->type == KUBE_DELETED ? NULL : ch->after;
    if (ch->kind == SIM_POD) {
        index_move(&c->pods_of, controller_uid(ch->before), controller_uid(now), ch->after);
        index_move(&c->pods_on, ch->before ? sim_pod_node(ch->before) : "",
                   now ? sim_pod_node(now) : "", ch->after);
        follow_owners(c, ch, now);
        sim_crowds_change(&c->crowds, ch);
    } else if (ch->kind == SIM_REPLICASET) {
        index_move(&c->sets_of, controller_uid(ch->before), controller_uid(now), ch->after);
    } else if (ch->kind == SIM_JOB) {
        index_move(&c->jobs_of, controller_uid(ch->before), controller_uid(now), ch->after);
    }
}

/* ---- what is due ------------------------------------------------------------------------------
 */

static void on_timer(void *arg);

static void arm(struct sim_workloads *c)
{
    if (!c->stopped && c->n_dirty > 0 && !timer_pending(&c->timer)) {
        vclock_set(&c->w->clock, &c->timer, SIM_WORKLOADS_DELAY_NS, on_timer, c);
    }
}

void sim_workloads_mark(struct sim_workloads *c, enum sim_kind_id kind, const char *ns,
                        const char *name)
{
    AUTO_FREE char *key = xasprintf("%d/%s/%s", (int)kind, ns, name);
    if (map_has(c->is_dirty, key)) {
        return;
    }
    map_put(c->is_dirty, key, c, NULL);
    ARRAY_GROW(c->dirty, c->n_dirty, c->cap_dirty);
    c->dirty[c->n_dirty++] = (struct sim_dirty){kind, xstrdup(ns), xstrdup(name)};
    arm(c);
}

/* Something that is due at a time of its own. */
struct sim_later {
    struct sim_workloads *c;
    enum sim_kind_id kind;
    char *key, *ns, *name;
    struct timer timer;
};

static void later_free(struct sim_later *l)
{
    timer_stop(&l->c->w->clock.timers, &l->timer);
    free(l->key);
    free(l->ns);
    free(l->name);
    free(l);
}

static void on_later(void *arg)
{
    struct sim_later *l = arg;
    map_del(l->c->later, l->key);
    sim_workloads_mark(l->c, l->kind, l->ns, l->name);
    later_free(l);
}

void sim_workloads_mark_later(struct sim_workloads *c, enum sim_kind_id kind, const char *ns,
                              const char *name, int64_t delay_ns)
{
    AUTO_FREE char *key = xasprintf("%d/%s/%s", (int)kind, ns, name);
    struct sim_later *l = map_get(c->later, key);
    if (!l) {
        l = NEW(struct sim_later);
        l->c = c;
        l->kind = kind;
        l->key = xstrdup(key);
        l->ns = xstrdup(ns);
        l->name = xstrdup(name);
        map_put(c->later, key, l, NULL);
    } else if (l->timer.at_ns <= vclock_now(&c->w->clock) + delay_ns) {
        return;
    }
    vclock_set(&c->w->clock, &l->timer, delay_ns, on_later, l);
}

static void mark_object(struct sim_workloads *c, enum sim_kind_id kind, const json_t *obj)
{
    sim_workloads_mark(c, kind, jsonx_str_or(obj, "metadata.namespace", ""),
                       jsonx_str_or(obj, "metadata.name", ""));
}

static void mark_controller(struct sim_workloads *c, const json_t *obj)
{
    const json_t *ref = obj ? sim_controller(obj) : NULL;
    const struct sim_kind *k = ref ? sim_kind_of(ref) : NULL;
    if (k) {
        sim_workloads_mark(c, k->id, jsonx_str_or(obj, "metadata.namespace", ""),
                           jsonx_str_or(ref, "name", ""));
    }
}

static void mark_all(struct sim_workloads *c, enum sim_kind_id kind, const char *ns)
{
    for (size_t i = 0; i < sim_api_count(c->w->api, kind); i++) {
        const json_t *o = sim_api_at(c->w->api, kind, i);
        if (!ns || str_eq(jsonx_str(o, "metadata.namespace"), ns)) {
            mark_object(c, kind, o);
        }
    }
}

/* Of a pod, what a budget looks at. */
static bool health_changed(const struct sim_change *ch)
{
    return !ch->before || ch->type == KUBE_DELETED ||
           sim_pod_ready(ch->before) != sim_pod_ready(ch->after) ||
           sim_pod_active(ch->before) != sim_pod_active(ch->after);
}

static bool node_fit_changed(const struct sim_change *ch)
{
    return ch->type != KUBE_MODIFIED ||
           !json_equal(json_object_get(ch->before, "spec"), json_object_get(ch->after, "spec")) ||
           !json_equal(jsonx_at(ch->before, "metadata.labels"),
                       jsonx_at(ch->after, "metadata.labels"));
}

/* A pod became an orphan just now, or got other labels. */
static bool may_be_adopted_now(const struct sim_change *ch)
{
    return !ch->before || controller_uid(ch->before)[0] ||
           !sim_json_same(jsonx_at(ch->before, "metadata.labels"),
                          jsonx_at(ch->after, "metadata.labels"));
}

static void mark_for(struct sim_workloads *c, const struct sim_change *ch)
{
    switch (ch->kind) {
    case SIM_POD:
        mark_controller(c, ch->after);
        if (ch->before && !str_eq(controller_uid(ch->before), controller_uid(ch->after))) {
            mark_controller(c, ch->before);
        }
        if (ch->type != KUBE_DELETED && orphan_key(ch->after)[0] && may_be_adopted_now(ch)) {
            sim_adopt_mark(c, ch->after);
        }
        if (health_changed(ch)) {
            mark_all(c, SIM_PDB, jsonx_str(ch->after, "metadata.namespace"));
        }
        break;
    case SIM_REPLICASET:
    case SIM_JOB:
        mark_object(c, ch->kind, ch->after);
        mark_controller(c, ch->after);
        break;
    case SIM_STATEFULSET:
    case SIM_CRONJOB:
    case SIM_DEPLOYMENT:
    case SIM_DAEMONSET:
    case SIM_PDB:
        mark_object(c, ch->kind, ch->after);
        break;
    case SIM_NODE:
        mark_object(c, ch->kind, ch->after);
        if (node_fit_changed(ch)) {
            mark_all(c, SIM_DAEMONSET, NULL);
        }
        break;
    default:
        break;
    }
}

static void on_change(void *ctx, const struct sim_change *ch)
{
    struct sim_workloads *c = ctx;
    follow(c, ch);
    mark_for(c, ch);
    sim_gc_change(c->gc, ch);
    sim_nodelife_change(c->life, ch);
    sim_claims_change(c->claims, ch);
    sim_attach_change(c->attach, ch);
}

static void reconcile(struct sim_workloads *c, const struct sim_dirty *d)
{
    switch (d->kind) {
    case SIM_REPLICASET:
        sim_replicaset_reconcile(c, d->ns, d->name);
        break;
    case SIM_DEPLOYMENT:
        sim_deployment_reconcile(c, d->ns, d->name);
        break;
    case SIM_DAEMONSET:
        sim_daemonset_reconcile(c, d->ns, d->name);
        break;
    case SIM_STATEFULSET:
        sim_statefulset_reconcile(c, d->ns, d->name);
        break;
    case SIM_JOB:
        sim_job_reconcile(c, d->ns, d->name);
        break;
    case SIM_CRONJOB:
        sim_cronjob_reconcile(c, d->ns, d->name);
        break;
    case SIM_PDB:
        sim_pdb_reconcile(c, d->ns, d->name);
        break;
    case SIM_NODE:
        sim_nodelife_reconcile(c, d->ns, d->name);
        break;
    default:
        break;
    }
}

static void dirty_free(struct sim_dirty *d, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(d[i].ns);
        free(d[i].name);
    }
    free(d);
}

static void on_timer(void *arg)
{
    struct sim_workloads *c = arg;
    struct sim_dirty *due = c->dirty;
    size_t n = c->n_dirty;
    c->dirty = NULL;
    c->n_dirty = c->cap_dirty = 0;
    map_clear(c->is_dirty);
    for (size_t i = 0; i < n; i++) {
        reconcile(c, &due[i]);
    }
    dirty_free(due, n);
}

/* ---- common parts -----------------------------------------------------------------------------
 */

json_t *sim_owner_ref(const json_t *owner)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:b, s:b}", "apiVersion", jsonx_str_or(owner, "apiVersion", ""),
        "kind", jsonx_str_or(owner, "kind", ""), "name", jsonx_str_or(owner, "metadata.name", ""),
        "uid", jsonx_str_or(owner, "metadata.uid", ""), "controller", 1, "blockOwnerDeletion", 1);
}

json_t *sim_pod_from(const json_t *template, const json_t *owner, const char *generate_name)
{
    json_t *meta = json_object();
    static const char *const copied[] = {"labels", "annotations", "finalizers"};
    for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
        json_t *v = json_object_get(json_object_get(template, "metadata"), copied[i]);
        if (v) {
            json_object_set_new(meta, copied[i], json_deep_copy(v));
        }
    }
    json_object_set_new(meta, "generateName", json_string(generate_name));
    json_object_set_new(meta, "namespace",
                        json_string(jsonx_str_or(owner, "metadata.namespace", "")));
    json_object_set_new(meta, "ownerReferences", json_pack("[o]", sim_owner_ref(owner)));
    return json_pack("{s:o, s:o}", "metadata", meta, "spec",
                     json_deep_copy(json_object_get(template, "spec")));
}

void sim_template_hash(const json_t *template, char dst[16])
{
    static const char safe[] = "bcdfghjklmnpqrstvwxz2456789";
    AUTO_FREE char *text = jsonx_canonical(template);
    uint64_t h = hash_fnv1a(text, strlen(text));
    for (size_t i = 0; i < 10; i++) {
        dst[i] = safe[h % (sizeof(safe) - 1)];
        h /= sizeof(safe) - 1;
    }
    dst[10] = '\0';
}

void sim_status_update(struct sim_workloads *c, const char *who, const json_t *obj, json_t *status)
{
    const char *key;
    json_t *value;
    bool differs = false;
    json_object_foreach (status, key, value) {
        differs =
            differs || !json_equal(value, json_object_get(json_object_get(obj, "status"), key));
    }
    const struct sim_kind *k = sim_kind_of(obj);
    if (!differs || !k) {
        json_decref(status);
        return;
    }
    sim_api_patch(c->w->api, who, k->id, "status", jsonx_str_or(obj, "metadata.namespace", ""),
                  jsonx_str_or(obj, "metadata.name", ""), json_pack("{s:o}", "status", status),
                  NULL, NULL);
}

bool sim_pod_active(const json_t *pod)
{
    return !sim_pod_over(pod) && !sim_pod_terminating(pod);
}

bool sim_pod_ready(const json_t *pod)
{
    return str_eq(sim_cond_status(pod, "Ready"), "True");
}

bool sim_pod_available(struct sim_workloads *c, enum sim_kind_id kind, const json_t *owner,
                       const json_t *pod)
{
    int64_t min_s = jsonx_int(owner, "spec.minReadySeconds", 0), since;
    const char *at = jsonx_str_or(sim_cond(pod, "Ready"), "lastTransitionTime", "");
    if (!sim_pod_ready(pod) || min_s <= 0 || !timefmt_parse_rfc3339(at, &since)) {
        return sim_pod_ready(pod);
    }
    int64_t left = since + min_s * NS_PER_S - vclock_wall(&c->w->clock);
    if (left > 0) {
        sim_workloads_mark_later(c, kind, jsonx_str_or(owner, "metadata.namespace", ""),
                                 jsonx_str_or(owner, "metadata.name", ""), left);
    }
    return left <= 0;
}

int64_t sim_int_or_percent(const json_t *v, int64_t total, bool up, int64_t absent)
{
    const char *s = json_string_value(v);
    int64_t n;
    if (json_is_integer(v)) {
        return json_integer_value(v);
    }
    if (!s) {
        return absent;
    }
    AUTO_FREE char *digits = xstrndup(s, strcspn(s, "%"));
    if (!str_parse_i64(digits, &n)) {
        return absent;
    }
    return str_ends(s, "%") ? (n * total + (up ? 99 : 0)) / 100 : n;
}

/* ---- life -------------------------------------------------------------------------------------
 */

struct sim_workloads *sim_workloads_new(struct sim_world *w)
{
    struct sim_workloads *c = NEW(struct sim_workloads);
    c->w = w;
    struct sim_index *const all[] = {&c->pods_of,  &c->pods_on, &c->sets_of, &c->jobs_of,
                                     &c->job_pods, &c->orphans, &c->strays};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        all[i]->sets = map_new(SIM_API_OBJECTS_MAX);
        all[i]->counts = map_new(SIM_API_OBJECTS_MAX);
    }
    c->later = map_new(SIM_DIRTY_MAX);
    sim_crowds_init(&c->crowds);
    c->is_dirty = map_new(SIM_DIRTY_MAX);
    c->gc = sim_gc_new(w);
    c->life = sim_nodelife_new(c);
    c->claims = sim_claims_new(w);
    c->attach = sim_attach_new(w);
    sim_api_subscribe(w->api, on_change, c);
    return c;
}

void sim_workloads_free(struct sim_workloads *c)
{
    if (!c) {
        return;
    }
    sim_api_unsubscribe(c->w->api, c);
    timer_stop(&c->w->clock.timers, &c->timer);
    sim_nodelife_free(c->life);
    sim_claims_free(c->claims);
    sim_attach_free(c->attach);
    sim_gc_free(c->gc);
    index_done(&c->pods_of);
    index_done(&c->pods_on);
    index_done(&c->sets_of);
    index_done(&c->jobs_of);
    index_done(&c->job_pods);
    index_done(&c->orphans);
    index_done(&c->strays);
    sim_crowds_done(&c->crowds);
    for (MAP_EACH(c->later, l)) {
        later_free(map_value(l));
    }
    map_free(c->later);
    dirty_free(c->dirty, c->n_dirty);
    map_free(c->is_dirty);
    free(c);
}

void sim_workloads_stop(struct sim_workloads *c)
{
    c->stopped = true;
    timer_stop(&c->w->clock.timers, &c->timer);
    sim_gc_run(c->gc, false);
    sim_claims_run(c->claims, false);
    sim_attach_run(c->attach, false);
}

void sim_workloads_start(struct sim_workloads *c)
{
    c->stopped = false;
    sim_gc_run(c->gc, true);
    sim_claims_run(c->claims, true);
    sim_attach_run(c->attach, true);
    sim_nodelife_watch(c->life);
    arm(c);
}

void sim_workloads_node_silent(struct sim_workloads *c)
{
    sim_nodelife_watch(c->life);
}

void sim_workloads_hold_volumes(struct sim_workloads *c, const char *node, bool hold)
{
    sim_attach_hold(c->attach, node, hold);
}
