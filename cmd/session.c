/* session.c - see session.h. */
#include "session.h"

#include "cmd/read/facts.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"

#define PODS_MAX 5000000u
#define KEY_MAX 32u
#define HOME_KEY_MAX 64u

const uint64_t session_kinds =
    GATHER(KIND_NODE) | GATHER(KIND_POD) | GATHER(KIND_DAEMON_SET) | GATHER(KIND_NODE_POOL) |
    GATHER(KIND_NODE_CLAIM) | GATHER(KIND_EC2_NODE_CLASS) | GATHER(KIND_LEASE) |
    GATHER(KIND_CONFIG_MAP) | GATHER(KIND_NAMESPACE) | GATHER(KIND_PERSISTENT_VOLUME) |
    GATHER(KIND_PERSISTENT_VOLUME_CLAIM) | GATHER(KIND_STORAGE_CLASS) | GATHER(KIND_CSI_NODE) |
    GATHER(KIND_LIMIT_RANGE) | GATHER(KIND_RUNTIME_CLASS) | GATHER(KIND_HOLD);

void session_init(struct session *s, struct cmd *c, bool keep)
{
    memset(s, 0, sizeof(*s));
    s->c = c;
    s->money = !c->o->no_prices;
    arena_init(&s->a, 0, SIZE_MAX);
    world_init(&s->w, c->o->agent_namespace);
    if (keep) {
        s->keep = objects_new();
        s->w.keep = s->keep;
    }
}

static void forget_decision(struct session *s)
{
    map_free(s->pods);
    map_free(s->placed);
    s->pods = s->placed = NULL;
    s->explained = NULL;
    for (size_t i = 0; i < s->n_asides; i++) {
        decide_done(s->asides[i]);
    }
    s->n_asides = 0;
    decide_done(&s->d);
}

void session_done(struct session *s)
{
    forget_decision(s);
    prices_free(s->prices);
    types_done(&s->types);
    world_done(&s->w);
    objects_free(s->keep);
    arena_done(&s->a);
}

/* Of budgets in pools that name none: the option, else what the agent has published. */
static int set_timezone(struct session *s, struct err *reterr)
{
    const char *option = s->c->o->budget_timezone;
    const char *name = option ? option : jsonx_str(s->w.facts, "options.budgetTimezone");
    int rc = name ? decoder_budget_timezone(s->w.decoder, name, reterr) : 0;
    if (rc != 0 && option) {
        return err_wrap(reterr, "invalid argument for \"--budget-timezone\" flag");
    }
    for (size_t i = 0; i < world_n(&s->w, KIND_NODE_POOL); i++) {
        decode_budget_timezone(s->w.decoder, s->w.lists[KIND_NODE_POOL].v[i]);
    }
    return 0;
}

/* Services say whose pods default spread constraints are about; nothing else asks for them. Whether
 * the agent has such constraints is known when its facts are. */
static int gather_services(struct session *s, struct err *reterr)
{
    const char *config = decide_scheduler_config(s->c, &s->w);
    bool read = s->c->o->scheduler_config || !s->w.live || !config || !*config;
    return read ? 0 : gather_live(s->c, GATHER(KIND_SERVICE), &s->w, reterr);
}

int session_gather(struct session *s, uint64_t kinds, struct err *reterr)
{
    const struct cmd_opts *o = s->c->o;
    if (o->catalog && types_load(s->w.syms, o->catalog, &o->types, &s->types, reterr) != 0) {
        return -1;
    }
    kinds |= o->scheduler_config ? GATHER(KIND_SERVICE) : 0;
    return gather(s->c, kinds, &s->w, reterr) != 0 || gather_services(s, reterr) != 0
               ? -1
               : set_timezone(s, reterr);
}

static int load_prices(struct session *s, struct err *reterr)
{
    struct prices_in in = {.syms = s->w.syms,
                           .file = s->c->o->prices,
                           .region = s->c->o->region,
                           .types = s->c->o->catalog ? &s->types : NULL,
                           .published = s->w.prices,
                           .published_ns = facts_written_ns(&s->w)};
    decide_regions(&s->w, &s->a, &in.node_regions, &in.n_node_regions);
    prices_free(s->prices);
    struct err e = ERR_INIT;
    s->prices = prices_new(&in, in.published ? &e : reterr);
    if (!s->prices && in.published) {
        world_note(&s->w, "the agent's prices cannot be read: %s", e.msg);
        in.published = NULL;
        s->prices = prices_new(&in, reterr);
    }
    return s->prices ? 0 : -1;
}

int session_decide(struct session *s, enum decide_pods which, struct err *reterr)
{
    if (load_prices(s, reterr) != 0) {
        return -1;
    }
    forget_decision(s);
    return decide_which(s->c, &s->w, s->prices, s->c->o->catalog ? &s->types : NULL, which, &s->d,
                        reterr);
}

/* Addresses find, they order nothing. */
static const char *pod_key(const struct pod *p, char dst[KEY_MAX])
{
    (void)snprintf(dst, KEY_MAX, "%llx", (unsigned long long)(uintptr_t)p);
    return dst;
}

static void index_pods(struct session *s)
{
    char key[KEY_MAX];
    const struct snapshot *snap = &s->d.snap;
    uint32_t classes = 0;
    s->pods = map_new(PODS_MAX);
    s->placed = map_new(PODS_MAX);
    for (uint32_t i = 0; i < snap->n_pods; i++) {
        uint32_t k = explain_class(s->d.pass, i);
        classes = k >= classes ? k + 1 : classes;
        (void)map_put(s->pods, pod_key(snap->pods[i], key), (void *)(uintptr_t)(i + 1), NULL);
    }
    s->explained = ARENA_NEW_N(&s->d.mem, const struct explanation *, classes);
}

/* 1 + its place in the decision's snapshot, 0 if the decision did not see it. */
static size_t place_of(struct session *s, const struct pod *pod)
{
    char key[KEY_MAX];
    if (!s->pods) {
        index_pods(s);
    }
    return (size_t)(uintptr_t)map_get(s->pods, pod_key(pod, key));
}

const struct explanation *session_explain(struct session *s, const struct pod *pod)
{
    size_t at = place_of(s, pod);
    if (at == 0) {
        return NULL;
    }
    uint32_t k = explain_class(s->d.pass, (uint32_t)at - 1);
    if (!s->explained[k]) {
        struct explanation *e = ARENA_NEW(&s->d.mem, struct explanation);
        explain_pod(s->d.pass, (uint32_t)at - 1, (struct explain_home){NULL, NULL}, e);
        s->explained[k] = e;
    }
    return s->explained[k];
}

const struct explanation *session_explain_placed(struct session *s, const struct pod *pod,
                                                 struct explain_home home)
{
    size_t at = place_of(s, pod);
    if (at == 0) {
        return NULL;
    }
    char key[HOME_KEY_MAX];
    (void)snprintf(key, sizeof(key), "%u %p %p", explain_class(s->d.pass, (uint32_t)at - 1),
                   (const void *)home.node, (const void *)home.claim);
    struct explanation *e = map_get(s->placed, key);
    if (!e) {
        e = ARENA_NEW(&s->d.mem, struct explanation);
        explain_pod(s->d.pass, (uint32_t)at - 1, home, e);
        (void)map_put(s->placed, key, e, NULL);
    }
    return e;
}

const struct explanation *session_explain_bound(struct session *s, const struct pod *pod)
{
    struct decision *d = ARENA_NEW(&s->a, struct decision);
    struct err err = ERR_INIT;
    if (decide_one(s->c, &s->w, s->prices, s->c->o->catalog ? &s->types : NULL, pod, d, &err) !=
        0) {
        return NULL; /* it has worked before, on more */
    }
    ARENA_GROW(&s->a, s->asides, s->n_asides, s->cap_asides);
    s->asides[s->n_asides++] = d;
    if (d->snap.n_pods != 1) {
        return NULL;
    }
    struct explanation *e = ARENA_NEW(&d->mem, struct explanation);
    explain_pod(d->pass, 0, (struct explain_home){snapshot_find(&d->snap, pod->node_name), NULL},
                e);
    return e;
}

const char *session_ns(const struct session *s)
{
    if (s->c->o->kube.ns && *s->c->o->kube.ns) {
        return s->c->o->kube.ns;
    }
    return s->w.ns && *s->w.ns ? s->w.ns : "default";
}
