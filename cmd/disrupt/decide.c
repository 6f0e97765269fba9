/* decide.c - see decide.h. */
#include "decide.h"

#include "cmd/read/facts.h"
#include "cmd/status/holds.h"
#include "cmd/usage.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/kube/ec2class.h"

#define SCRATCH_MAX SIZE_MAX
#define RESERVED_PART 10000000 /* of the on-demand price */

struct decide_market {
    const struct nodeclass *cls; /* NULL: that of an absent class */
    struct catalog *catalog;
    struct offerings *offerings;
    bool borrowed, own_offerings; /* the catalog is the types' own; its offerings are a copy */
};

struct decider {
    struct cmd *c;
    struct world *w;
    const struct prices *prices;
    const struct types *types; /* NULL = built in */
    enum decide_pods which;
    const struct pod *only; /* NULL: all */
    struct facts facts;
    struct decision *d;
    struct arena *a;
    struct err *err;
};

/* ---- region and zones ------------------------------------------------------------------------ */

static void add_text(struct arena *a, const char ***v, size_t *n, size_t *cap, const char *s)
{
    for (size_t i = 0; i < *n; i++) {
        if (str_eq((*v)[i], s)) {
            return;
        }
    }
    ARENA_GROW(a, *v, *n, *cap);
    (*v)[(*n)++] = s;
}

void decide_regions(const struct world *w, struct arena *a, const char *const **ret, size_t *ret_n)
{
    const char **v = NULL;
    size_t n = 0, cap = 0;
    for (int all = 0; all < 2 && n == 0; all++) {
        for (size_t i = 0; i < world_n(w, KIND_NODE); i++) {
            const struct node *node = world_at(w, KIND_NODE, i);
            sym region = labels_get(&node->m.labels, L_REGION);
            bool ours = labels_get(&node->m.labels, L_NODEPOOL) != SYM_NONE;
            if (region != SYM_NONE && (all || ours)) {
                add_text(a, &v, &n, &cap, sym_str(w->syms, region));
            }
        }
    }
    if (n > 1) {
        qsort(v, n, sizeof(*v), str_qsort_cmp);
    }
    *ret = v;
    *ret_n = n;
}

/* Every zone that is known of the region: the built-in table's, else what nodes, subnets and the
 * price file name. */
static const char **all_zones(const struct decider *d, size_t *ret_n)
{
    const char **v = NULL;
    size_t n = 0, cap = 0, n_prices;
    const char *const *builtin = ec2_builtin_zones(prices_region(d->prices));
    const char *const *named = prices_zones(d->prices, &n_prices);
    for (; builtin && *builtin; builtin++) {
        add_text(d->a, &v, &n, &cap, *builtin);
    }
    for (size_t i = 0; n == 0 && i < world_n(d->w, KIND_NODE); i++) {
        const struct node *node = world_at(d->w, KIND_NODE, i);
        sym zone = labels_get(&node->m.labels, L_ZONE);
        if (zone != SYM_NONE) {
            add_text(d->a, &v, &n, &cap, sym_str(d->w->syms, zone));
        }
    }
    for (size_t i = 0; i < n_prices; i++) {
        add_text(d->a, &v, &n, &cap, named[i]);
    }
    if (n == 0) {
        add_text(d->a, &v, &n, &cap, arena_printf(d->a, "%sa", prices_region(d->prices)));
    }
    *ret_n = n;
    return v;
}

struct zone_row {
    const char *name;
    sym zone, id;
};

static int zone_cmp(const void *x, const void *y)
{
    return str_cmp(((const struct zone_row *)x)->name, ((const struct zone_row *)y)->name);
}

static struct zone_row *zone_rows(const struct decider *d, const struct nodeclass *cls,
                                  uint32_t *ret_n)
{
    struct symtab *t = d->w->syms;
    size_t n_all = 0, n = 0;
    const char **all = cls && cls->n_subnets ? NULL : all_zones(d, &n_all);
    size_t max = all ? n_all : cls->n_subnets;
    struct zone_row *v = ARENA_NEW_N(d->a, struct zone_row, max);
    for (size_t i = 0; i < max; i++) {
        sym zone = all ? sym_intern(t, all[i]) : cls->subnets[i].zone;
        v[i] = (struct zone_row){sym_str(t, zone), zone, all ? SYM_NONE : cls->subnets[i].zone_id};
    }
    if (max > 1) {
        qsort(v, max, sizeof(*v), zone_cmp);
    }
    for (size_t i = 0; i < max; i++) {
        if (*v[i].name && (n == 0 || v[i].zone != v[n - 1].zone)) {
            v[n++] = v[i];
        }
    }
    *ret_n = (uint32_t)(n > CATALOG_MAX_ZONES ? CATALOG_MAX_ZONES : n);
    return v;
}

static struct catalog_zones zones_of(const struct decider *d, const struct nodeclass *cls)
{
    uint32_t n;
    struct zone_row *rows = zone_rows(d, cls, &n);
    sym *zones = ARENA_NEW_N(d->a, sym, n), *ids = ARENA_NEW_N(d->a, sym, n);
    for (uint32_t i = 0; i < n; i++) {
        zones[i] = rows[i].zone;
        ids[i] = rows[i].id;
    }
    return (struct catalog_zones){zones, ids, n};
}

/* ---- markets --------------------------------------------------------------------------------- */

/* Of which types and with which numbers a catalog is built. */
struct catalog_asks {
    const struct decider *d;
    const struct nodeclass *cls;
};

static bool wanted(void *ctx, const char *name)
{
    const struct catalog_asks *k = ctx;
    return types_wanted(&k->d->c->o->types, name);
}

/* What the agent saw of the class's nodes. */
static bool observed(void *ctx, const char *type, struct ec2_observed *ret)
{
    const struct catalog_asks *k = ctx;
    return k->cls && facts_observed(&k->d->facts, k->cls, type, ret);
}

/* Has the class an image for the type? One without images in its status has them all. */
static bool has_image(const struct decider *d, const struct decide_market *m, uint32_t type)
{
    const struct nodeclass *cls = m->cls;
    if (!cls || cls->n_amis == 0) {
        return true;
    }
    bool found = false;
    struct arena_mark mark = arena_mark(d->a);
    struct reqset labels = catalog_labels(m->catalog, d->a, type);
    for (uint32_t i = 0; i < cls->n_amis && !found; i++) {
        found = reqset_compatible(d->w->syms, &labels, &cls->amis[i].reqs, true, NULL, NULL);
    }
    arena_rewind(d->a, mark);
    return found;
}

static const struct ec2_fact *fact_of(const struct decider *d, const char *name)
{
    if (!d->types || !d->types->facts) {
        int i = ec2_find_fact(name);
        return i < 0 ? NULL : &ec2_facts[i];
    }
    uint32_t lo = 0, hi = d->types->n_facts;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int c = str_cmp(d->types->facts[mid].name, name);
        if (c == 0) {
            return &d->types->facts[mid];
        }
        lo = c < 0 ? mid + 1 : lo;
        hi = c < 0 ? hi : mid;
    }
    return NULL;
}

/* Where the prices say so. */
static uint64_t offered_as_told(const struct decider *d, const struct catalog *c, const char *type,
                                bool *ret_known)
{
    uint64_t ret = 0;
    for (uint32_t z = 0; z < catalog_n_zones(c); z++) {
        const char *zone = sym_str(d->w->syms, catalog_zone(c, z));
        ret |= (uint64_t)prices_offered(d->prices, type, zone, ret_known) << z;
    }
    return ret;
}

/* Bits per zone of the catalog in which the type is offered. */
static uint64_t offered_in(const struct decider *d, const struct catalog *c, const char *type)
{
    bool known = false;
    uint64_t told = offered_as_told(d, c, type, &known);
    if (known) {
        return told;
    }
    const char *region = prices_region(d->prices);
    const char *const *zones = ec2_builtin_zones(region);
    uint64_t builtin = ec2_builtin_offered(region, type), ret = 0;
    if (!zones) {
        return UINT64_MAX;
    }
    for (unsigned z = 0; zones[z]; z++) {
        int at = catalog_find_zone(c, sym_find(d->w->syms, zones[z]));
        if (at >= 0 && (builtin >> z & 1)) {
            ret |= UINT64_C(1) << at;
        }
    }
    return ret;
}

static void offer(const struct decider *d, struct decide_market *m, uint32_t type,
                  const struct ec2_fact *f)
{
    const struct catalog *c = m->catalog;
    uint64_t zones = offered_in(d, c, f->name);
    for (uint32_t z = 0; z < catalog_n_zones(c); z++) {
        const char *zone = sym_str(d->w->syms, catalog_zone(c, z));
        if (!(zones >> z & 1)) {
            continue;
        }
        if (f->on_demand) {
            offerings_set_price(m->offerings, type, z, CT_ON_DEMAND,
                                prices_of(d->prices, f->name, zone, CT_ON_DEMAND, NULL));
        }
        if (f->spot) {
            offerings_set_price(m->offerings, type, z, CT_SPOT,
                                prices_of(d->prices, f->name, zone, CT_SPOT, NULL));
        }
    }
}

static void offer_all(const struct decider *d, struct decide_market *m, const struct ec2_class *ec)
{
    m->offerings = offerings_new(m->catalog);
    for (uint32_t i = 0; i < catalog_n_types(m->catalog); i++) {
        const char *name = sym_str(d->w->syms, catalog_type_name(m->catalog, i));
        const struct ec2_fact *f = fact_of(d, name);
        if (!f || !ec2_compatible(f, ec)) {
            continue;
        }
        if (has_image(d, m, i)) {
            offer(d, m, i, f);
        } else {
            offerings_set_no_image(m->offerings, i);
        }
    }
}

/* Capacity reservations that the class's status has. As the agent: a ten-millionth of the on-demand
 * price; none is left of one that is about to end. */
static void offer_reservations(const struct decider *d, struct decide_market *m,
                               const struct ec2_class *ec)
{
    for (uint32_t i = 0; m->cls && i < m->cls->n_reservations; i++) {
        const struct class_reservation *c = &m->cls->reservations[i];
        int type = catalog_find_type(m->catalog, c->type);
        int zone = catalog_find_zone(m->catalog, c->zone);
        const struct ec2_fact *f = fact_of(d, sym_str(d->w->syms, c->type));
        if (type < 0 || zone < 0 || !f || !ec2_compatible(f, ec) ||
            offerings_no_image(m->offerings, (uint32_t)type)) {
            continue;
        }
        int64_t price = prices_of(d->prices, sym_str(d->w->syms, c->type),
                                  sym_str(d->w->syms, c->zone), CT_ON_DEMAND, NULL);
        struct reservation r = {.id = c->id_sym,
                                .kind = c->kind,
                                .interruptible = c->interruptible,
                                .type = (uint32_t)type,
                                .zone = (uint32_t)zone,
                                .count = c->expiring ? 0 : facts_reservation_left(d->w, c->id),
                                .price_pusd_h = price > 0 ? price / RESERVED_PART : 0};
        (void)offerings_add_reservation(m->offerings, &r);
    }
}

/* What is sold out now, as far as the agent has told. */
static void sell_out(const struct decider *d, struct offerings *o, const struct catalog *c)
{
    for (size_t i = 0; i < d->facts.n_stockouts; i++) {
        const struct facts_stockout *f = &d->facts.stockouts[i];
        int type = f->type ? catalog_find_type(c, sym_find(d->w->syms, f->type)) : -1;
        int zone = f->zone ? catalog_find_zone(c, sym_find(d->w->syms, f->zone)) : -1;
        enum capacity_type ct =
            f->capacity_type ? capacity_type_of(sym_find(d->w->syms, f->capacity_type)) : CT_COUNT;
        if (type >= 0 && zone >= 0 && ct != CT_COUNT) {
            offerings_set_available(o, (uint32_t)type, (uint32_t)zone, ct, false);
        }
    }
}

static int make_market(const struct decider *d, const struct nodeclass *cls,
                       struct decide_market *ret)
{
    struct ec2_class ec;
    *ret = (struct decide_market){.cls = cls};
    if (d->types && d->types->catalog) {
        ret->catalog = d->types->catalog;
        ret->offerings = d->types->offerings;
        ret->borrowed = true;
        if (d->facts.n_stockouts > 0) {
            ret->offerings = offerings_copy(ret->offerings);
            ret->own_offerings = true;
            sell_out(d, ret->offerings, ret->catalog);
        }
        return 0;
    }
    AUTO_JSON json_t *spec = cls ? jsonx_parse(cls->spec, strlen(cls->spec), "spec", NULL) : NULL;
    ec2class_read(d->w->syms, d->a, spec, cls ? kvs_get(&cls->m.annotations, ANN_CAPACITY) : NULL,
                  &ec);
    struct catalog_asks asks = {d, cls};
    struct ec2_catalog_in in = {.syms = d->w->syms,
                                .region = prices_region(d->prices),
                                .cls = &ec,
                                .zones = zones_of(d, cls),
                                .facts = d->types ? d->types->facts : NULL,
                                .n_facts = d->types ? d->types->n_facts : 0,
                                .type_wanted = wanted,
                                .observed = observed,
                                .ctx = &asks};
    ret->catalog = ec2_catalog(d->a, &in, d->err);
    if (!ret->catalog) {
        return -1;
    }
    offer_all(d, ret, &ec);
    offer_reservations(d, ret, &ec);
    sell_out(d, ret->offerings, ret->catalog);
    return 0;
}

static const struct decide_market *market_of(struct decider *d, const struct nodeclass *cls)
{
    struct decision *out = d->d;
    for (size_t i = 0; i < out->n_markets; i++) {
        if (out->markets[i].cls == cls) {
            return &out->markets[i];
        }
    }
    struct decide_market m;
    if (make_market(d, cls, &m) != 0) {
        return NULL;
    }
    ARENA_GROW(d->a, out->markets, out->n_markets, out->cap_markets);
    out->markets[out->n_markets] = m;
    return &out->markets[out->n_markets++];
}

/* ---- pools ----------------------------------------------------------------------------------- */

static const struct nodeclass *class_of(const struct world *w, const struct nodepool *np)
{
    if (!str_eq(np->class_ref.kind, "EC2NodeClass")) {
        return NULL;
    }
    for (size_t i = 0; i < world_n(w, KIND_EC2_NODE_CLASS); i++) {
        const struct nodeclass *cls = world_at(w, KIND_EC2_NODE_CLASS, i);
        if (str_eq(cls->m.name, np->class_ref.name)) {
            return cls;
        }
    }
    return NULL;
}

static void close_pool(struct snapshot_pool_in *p, enum reason_code code, const char *text)
{
    if (p->closed == REASON_NONE) {
        p->closed = code;
        p->closed_text = text;
    }
}

static void close_unready(struct snapshot_pool_in *p, const struct conditions *c)
{
    const struct condition *ready = condition_find(c, "Ready");
    if (ready && ready->status != STATUS_TRUE) {
        close_pool(p, REASON_PoolNotReady, *ready->message ? ready->message : ready->reason);
    }
}

static void gate(struct snapshot_pool_in *p)
{
    const struct nodepool *np = p->pool;
    if (np->m.deleted_ns) {
        close_pool(p, REASON_PoolNotReady, "the NodePool is being deleted");
    }
    if (np->problem) {
        close_pool(p, REASON_PoolNotReady, np->problem);
    }
    close_unready(p, &np->conditions);
    if (np->unknown_field) {
        close_pool(p, REASON_UnknownFields, np->unknown_field);
    }
    if (!p->cls) {
        return;
    }
    if (p->cls->problem) {
        close_pool(p, REASON_PoolNotReady, p->cls->problem);
    }
    close_unready(p, &p->cls->conditions);
    if (p->cls->unknown_field) {
        close_pool(p, REASON_UnknownFields, p->cls->unknown_field);
    }
}

/* What the pool itself says comes first. */
static void close_held(struct decider *d, const struct facts *f, struct snapshot_pool_in *p)
{
    const char *by = holds_obeyed(f) ? holds_launches(d->w, d->a, p->pool->m.name) : NULL;
    if (by) {
        close_pool(p, REASON_Held, by);
    }
}

static int add_pools(struct decider *d, struct snapshot_in *in)
{
    struct facts facts;
    facts_read(d->w, d->a, &facts);
    size_t n = world_n(d->w, KIND_NODE_POOL);
    struct snapshot_pool_in *v = ARENA_NEW_N(d->a, struct snapshot_pool_in, n);
    for (size_t i = 0; i < n; i++) {
        const struct nodepool *np = world_at(d->w, KIND_NODE_POOL, i);
        const struct nodeclass *cls = class_of(d->w, np);
        const struct decide_market *m = market_of(d, cls);
        if (!m) {
            return -1;
        }
        v[i] = (struct snapshot_pool_in){.pool = np,
                                         .cls = cls,
                                         .catalog = m->catalog,
                                         .offerings = m->offerings,
                                         .max_new_nodes = -1};
        gate(&v[i]);
        close_held(d, &facts, &v[i]);
        (void)sym_intern(d->w->syms, np->m.name);
        (void)sym_intern(d->w->syms, np->class_ref.name);
    }
    in->pools = v;
    in->n_pools = (uint32_t)n;
    return 0;
}

/* ---- the decision ---------------------------------------------------------------------------- */

/* The option, else what the agent has published, NULL if neither says. */
static const char *told(const struct world *w, const char *option, const char *path)
{
    return option ? option : jsonx_str(w->facts, path);
}

const char *decide_scheduler_config(const struct cmd *c, const struct world *w)
{
    return told(w, c->o->scheduler_config, "options.schedulerConfig");
}

int decide_options(const struct cmd *c, const struct world *w, struct arena *a,
                   struct sched_options *ret, struct err *reterr)
{
    const struct cmd_opts *o = c->o;
    const char *preference = told(w, o->preference_policy, "options.preferencePolicy");
    const char *min_values = told(w, o->min_values_policy, "options.minValuesPolicy");
    const char *placement = told(w, o->placement, "options.placement");
    sched_options_default(ret);
    if (placement && !sched_parse_placement(placement, &ret->placement)) {
        ret->placement = PLACEMENT_BASELINE;
    }
    ret->max_units = DECIDE_MAX_UNITS;
    ret->record_reasons = true;
    if (str_eq(preference, "Ignore")) {
        ret->preference = PREFERENCE_IGNORE;
    } else if (str_eq(preference, "Reasonable")) {
        ret->preference = PREFERENCE_REASONABLE;
    }
    if (str_eq(min_values, "BestEffort")) {
        ret->min_values = MIN_VALUES_BEST_EFFORT;
    }
    if (o->max_share && !sched_parse_share(o->max_share, &ret->max_share_permyriad)) {
        return err_set(reterr, ERR_INVALID,
                       "invalid argument \"%s\" for \"--max-share\" flag: must be a share from 1%% "
                       "to 100%%",
                       o->max_share);
    }
    struct err err = ERR_INIT;
    if (decode_scheduler_config(w->decoder, a, decide_scheduler_config(c, w), &ret->default_spreads,
                                &ret->n_default_spreads, &err) != 0 &&
        o->scheduler_config) { /* a later agent's is left out */
        if (reterr) {
            *reterr = err;
        }
        return err_wrap(reterr, "invalid argument for \"--scheduler-config\" flag");
    }
    return 0;
}

#define ALL(kind, T) (const struct T *const *)w->lists[kind].v

/* What placing looks at beside nodes and pods. */
static void add_rest(struct world *w, struct snapshot_in *in)
{
    in->bound = in->pods;
    in->n_bound = in->n_pods;
    in->namespaces = ALL(KIND_NAMESPACE, namespace);
    in->n_namespaces = (uint32_t)world_n(w, KIND_NAMESPACE);
    in->services = ALL(KIND_SERVICE, service);
    in->n_services = (uint32_t)world_n(w, KIND_SERVICE);
    in->pvcs = ALL(KIND_PERSISTENT_VOLUME_CLAIM, pvc);
    in->n_pvcs = (uint32_t)world_n(w, KIND_PERSISTENT_VOLUME_CLAIM);
    in->pvs = ALL(KIND_PERSISTENT_VOLUME, pv);
    in->n_pvs = (uint32_t)world_n(w, KIND_PERSISTENT_VOLUME);
    in->storage_classes = ALL(KIND_STORAGE_CLASS, storage_class);
    in->n_storage_classes = (uint32_t)world_n(w, KIND_STORAGE_CLASS);
    in->csi_nodes = ALL(KIND_CSI_NODE, csi_node);
    in->n_csi_nodes = (uint32_t)world_n(w, KIND_CSI_NODE);
    in->pdbs = ALL(KIND_POD_DISRUPTION_BUDGET, pdb);
    in->n_pdbs = (uint32_t)world_n(w, KIND_POD_DISRUPTION_BUDGET);
    in->pdbs_unknown = w->hidden[KIND_POD_DISRUPTION_BUDGET];
}

/* The pods that are not bound. */
static void only_unbound(const struct decider *d, struct snapshot_in *in)
{
    const struct pod **v = ARENA_NEW_N(d->a, const struct pod *, in->n_pods);
    uint32_t n = 0;
    for (uint32_t i = 0; i < in->n_pods; i++) {
        if (in->pods[i]->node_name[0] == '\0') {
            v[n++] = in->pods[i];
        }
    }
    in->pods = v;
    in->n_pods = n;
}

static int build(struct decider *d)
{
    struct world *w = d->w;
    facts_read(w, d->a, &d->facts);
    struct snapshot_in in = {
        .now_ns = w->now_ns,
        .syms = w->syms,
        .nodes = (const struct node *const *)w->lists[KIND_NODE].v,
        .usage = usage_build(w, d->a),
        .n_nodes = (uint32_t)world_n(w, KIND_NODE),
        .claims = (const struct nodeclaim *const *)w->lists[KIND_NODE_CLAIM].v,
        .n_claims = (uint32_t)world_n(w, KIND_NODE_CLAIM),
        .daemonsets = (const struct daemonset *const *)w->lists[KIND_DAEMON_SET].v,
        .n_daemonsets = (uint32_t)world_n(w, KIND_DAEMON_SET),
        .pods = (const struct pod *const *)w->lists[KIND_POD].v,
        .n_pods = (uint32_t)world_n(w, KIND_POD),
    };
    if (add_pools(d, &in) != 0) {
        return -1;
    }
    struct sched_options options;
    if (decide_options(d->c, w, d->a, &options, d->err) != 0) {
        return -1;
    }
    add_rest(w, &in); /* bound are all, whoever is to be placed */
    if (d->only) {
        in.pods = &d->only;
        in.n_pods = 1;
    } else if (d->which == DECIDE_UNBOUND) {
        only_unbound(d, &in);
    }
    snapshot_build(d->a, &in, &d->d->snap);
    d->d->pass = sched_begin(d->a, &d->d->snap, &options);
    return 0;
}

int decide(struct cmd *c, struct world *w, const struct prices *p, const struct types *types,
           struct decision *ret, struct err *reterr)
{
    return decide_which(c, w, p, types, DECIDE_AS_AGENT, ret, reterr);
}

static int begin(struct cmd *c, struct world *w, const struct prices *p, const struct types *types,
                 const struct decider *with, struct decision *ret, struct err *reterr)
{
    memset(ret, 0, sizeof(*ret));
    arena_init(&ret->mem, 64u << 10, SCRATCH_MAX);
    struct decider d = {.c = c,
                        .w = w,
                        .prices = p,
                        .types = types,
                        .which = with->which,
                        .only = with->only,
                        .d = ret,
                        .a = &ret->mem,
                        .err = reterr};
    if (build(&d) != 0) {
        decide_done(ret);
        return -1;
    }
    return 0;
}

int decide_begin(struct cmd *c, struct world *w, const struct prices *p, const struct types *types,
                 enum decide_pods which, struct decision *ret, struct err *reterr)
{
    const struct decider with = {.which = which};
    return begin(c, w, p, types, &with, ret, reterr);
}

static int whole(struct cmd *c, struct world *w, const struct prices *p, const struct types *types,
                 const struct decider *with, struct decision *ret, struct err *reterr)
{
    if (begin(c, w, p, types, with, ret, reterr) != 0) {
        return -1;
    }
    while (!sched_step(ret->pass, DECIDE_MAX_UNITS)) {
    }
    ret->result = sched_result(ret->pass);
    return 0;
}

int decide_which(struct cmd *c, struct world *w, const struct prices *p, const struct types *types,
                 enum decide_pods which, struct decision *ret, struct err *reterr)
{
    const struct decider with = {.which = which};
    return whole(c, w, p, types, &with, ret, reterr);
}

/* Stands for the bound pod among all while the picture is made: gated, so that it is not placed. */
int decide_one(struct cmd *c, struct world *w, const struct prices *p, const struct types *types,
               const struct pod *pod, struct decision *ret, struct err *reterr)
{
    struct world_list *l = &w->lists[KIND_POD];
    struct pod *stand_in = arena_memdup(&w->mem, pod, sizeof(*pod));
    const struct decider with = {.only = stand_in};
    size_t at = 0;
    while (at < l->n && l->v[at] != pod) {
        at++;
    }
    stand_in->node_name = stand_in->nominated_node = "";
    stand_in->phase = POD_PENDING;
    stand_in->unschedulable = stand_in->gated = true;
    if (at < l->n) {
        l->v[at] = stand_in;
    }
    int rc = whole(c, w, p, types, &with, ret, reterr);
    if (at < l->n) {
        l->v[at] = (void *)(uintptr_t)pod;
    }
    return rc;
}

void decide_done(struct decision *d)
{
    for (size_t i = 0; i < d->n_markets; i++) {
        if (!d->markets[i].borrowed) {
            catalog_free(d->markets[i].catalog);
        }
        if (!d->markets[i].borrowed || d->markets[i].own_offerings) {
            offerings_free(d->markets[i].offerings);
        }
    }
    arena_done(&d->mem);
    memset(d, 0, sizeof(*d));
}
