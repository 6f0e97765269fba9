/* session.c - see session.h. */
#include "session.h"

#include "common/base/map.h"

#define CLASSES_MAX 1000000u

const uint64_t session_kinds = GATHER(KIND_NODE) | GATHER(KIND_POD) | GATHER(KIND_DAEMON_SET) |
                               GATHER(KIND_NODE_POOL) | GATHER(KIND_NODE_CLAIM) |
                               GATHER(KIND_EC2_NODE_CLASS) | GATHER(KIND_LEASE) |
                               GATHER(KIND_CONFIG_MAP);

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
    map_free(s->explained);
    s->explained = NULL;
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

int session_gather(struct session *s, uint64_t kinds, struct err *reterr)
{
    const struct cmd_opts *o = s->c->o;
    if (o->catalog && types_load(s->w.syms, o->catalog, &o->types, &s->types, reterr) != 0) {
        return -1;
    }
    return gather(s->c, kinds, &s->w, reterr);
}

static int load_prices(struct session *s, struct err *reterr)
{
    struct prices_in in = {.syms = s->w.syms,
                           .file = s->c->o->prices,
                           .region = s->c->o->region,
                           .types = s->c->o->catalog ? &s->types : NULL};
    decide_regions(&s->w, &s->a, &in.node_regions, &in.n_node_regions);
    prices_free(s->prices);
    s->prices = prices_new(&in, reterr);
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

const struct explanation *session_explain(struct session *s, const struct pod *pod)
{
    char key[32];
    (void)snprintf(key, sizeof(key), "%llu", (unsigned long long)pod->cls->serial);
    s->explained = s->explained ? s->explained : map_new(CLASSES_MAX);
    struct explanation *e = map_get(s->explained, key);
    if (!e) {
        e = ARENA_NEW(&s->d.mem, struct explanation);
        if (!explain_pod(s->d.pass, pod, e)) {
            return NULL;
        }
        (void)map_put(s->explained, key, e, NULL);
    }
    return e;
}

const char *session_ns(const struct session *s)
{
    if (s->c->o->kube.ns && *s->c->o->kube.ns) {
        return s->c->o->kube.ns;
    }
    return s->w.ns && *s->w.ns ? s->w.ns : "default";
}
