/* report.c - see report.h. */
#include "report.h"

#include "cmd/read/facts.h"
#include "cmd/status/money.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/labels.h"
#include "screen.h"
#include "table.h"

#define REASON_TEXT_MAX 1024u
#define WARNING_INDENT 6u
#define STOCKOUTS_SHOWN 3u
#define REASON_VALUES 5u /* values of a requirement that are shown */

/* ---- small parts ----------------------------------------------------------------------------- */

void report_put(json_t *o, const char *key, json_t *v)
{
    if (json_object_set_new(o, key, v) != 0) {
        BUG("the report refuses %s", key);
    }
}

void report_text(json_t *o, const char *key, const char *s)
{
    json_t *v = s && *s ? json_string(s) : NULL;
    if (v) {
        report_put(o, key, v);
    }
}

void report_int(json_t *o, const char *key, int64_t n)
{
    report_put(o, key, json_integer(n));
}

void report_time(json_t *o, const char *key, int64_t ns)
{
    char text[TIMEFMT_TEXT];
    if (ns != 0) {
        report_put(o, key, json_string(timefmt_rfc3339(ns, text)));
    }
}

void report_money(json_t *o, const char *key, int64_t pusd_h)
{
    char text[MONEY_TEXT];
    if (pusd_h != PRICE_UNKNOWN) {
        report_put(o, key, json_string(money_exact(pusd_h, text)));
    }
}

char *report_quantity(enum resource r, int64_t v, char *dst)
{
    if (r == RES_CPU) {
        return quantity_fmt_milli(v, dst);
    }
    bool bytes = r == RES_MEMORY || r == RES_EPHEMERAL_STORAGE;
    return bytes ? quantity_fmt_bytes(v, dst) : quantity_fmt_count(v, dst);
}

/* ---- resources ------------------------------------------------------------------------------- */

struct named {
    const char *name;
    int64_t amount;
};

static int named_cmp(const void *x, const void *y)
{
    return str_cmp(((const struct named *)x)->name, ((const struct named *)y)->name);
}

static uint32_t extended(const struct symtab *t, const struct resources *r,
                         struct named dst[RES_EXT_MAX])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_ext && n < RES_EXT_MAX; i++) {
        if (r->ext[i].amount != 0) {
            dst[n++] = (struct named){sym_str(t, r->ext[i].name), r->ext[i].amount};
        }
    }
    if (n > 1) {
        qsort(dst, n, sizeof(*dst), named_cmp);
    }
    return n;
}

json_t *report_resources(const struct symtab *t, const struct resources *r)
{
    json_t *o = json_object();
    char text[QUANTITY_TEXT];
    struct named ext[RES_EXT_MAX];
    for (int i = 0; i < RES_FIXED; i++) {
        if (r->v[i] != 0) {
            report_put(o, resource_name((enum resource)i),
                       json_string(report_quantity((enum resource)i, r->v[i], text)));
        }
    }
    uint32_t n = extended(t, r, ext);
    for (uint32_t i = 0; i < n; i++) {
        bool bytes = str_starts(ext[i].name, "hugepages-");
        report_put(o, ext[i].name,
                   json_string(bytes ? quantity_fmt_bytes(ext[i].amount, text)
                                     : quantity_fmt_count(ext[i].amount, text)));
    }
    return o;
}

/* Extended ones that are not negative, by name. */
static void put_extended(json_t *o, const struct symtab *t, const struct resources *r)
{
    char text[QUANTITY_TEXT];
    struct named ext[RES_EXT_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_ext && n < RES_EXT_MAX; i++) {
        if (r->ext[i].amount >= 0) {
            ext[n++] = (struct named){sym_str(t, r->ext[i].name), r->ext[i].amount};
        }
    }
    if (n > 1) {
        qsort(ext, n, sizeof(*ext), named_cmp);
    }
    for (uint32_t i = 0; i < n; i++) {
        report_put(o, ext[i].name, json_string(quantity_fmt_count(ext[i].amount, text)));
    }
}

json_t *report_limits(const struct symtab *t, const struct nodepool *np)
{
    json_t *o = json_object();
    char text[QUANTITY_TEXT];
    for (int r = 0; np->has_limits && r < RES_FIXED; r++) {
        if (np->limits.v[r] >= 0) {
            report_put(o, resource_name((enum resource)r),
                       json_string(report_quantity((enum resource)r, np->limits.v[r], text)));
        }
    }
    if (np->has_limits) {
        put_extended(o, t, &np->limits);
    }
    if (np->limit_nodes >= 0) {
        report_put(o, "nodes", json_string(quantity_fmt_count(np->limit_nodes, text)));
    }
    return o;
}

json_t *report_in_use(const struct symtab *t, const struct snapshot_pool *p)
{
    json_t *o = json_object();
    char text[QUANTITY_TEXT];
    for (int r = 0; r < RES_FIXED; r++) {
        if (r <= RES_PODS || p->in_use.v[r] > 0) {
            report_put(o, resource_name((enum resource)r),
                       json_string(report_quantity((enum resource)r, p->in_use.v[r], text)));
        }
    }
    put_extended(o, t, &p->in_use);
    report_put(o, "nodes", json_string(quantity_fmt_count(p->nodes_in_use, text)));
    return o;
}

json_t *report_budgets(const struct budget_row rows[BUDGET_REASONS])
{
    json_t *list = json_array();
    for (int i = 0; i < BUDGET_REASONS; i++) {
        json_t *o = json_object();
        report_text(o, "reason", budget_reason_name(rows[i].reason));
        report_int(o, "nodes", rows[i].nodes);
        report_int(o, "allowed", rows[i].allowed);
        report_int(o, "disrupting", rows[i].disrupting);
        report_int(o, "remaining", rows[i].remaining);
        report_time(o, "opensAt", rows[i].opens_ns);
        report_time(o, "closesAt", rows[i].closes_ns);
        (void)json_array_append_new(list, o);
    }
    return list;
}

static const char *short_name(enum resource r)
{
    return r == RES_MEMORY ? "mem" : r == RES_EPHEMERAL_STORAGE ? "disk" : resource_name(r);
}

const char *report_resources_line(struct arena *a, const struct symtab *t,
                                  const struct resources *r, bool pods)
{
    AUTO_BUF struct buf out;
    char text[QUANTITY_TEXT];
    struct named ext[RES_EXT_MAX];
    buf_init(&out, REASON_TEXT_MAX);
    for (int i = 0; i < RES_FIXED; i++) {
        if (r->v[i] != 0 && (i != RES_PODS || pods)) {
            buf_printf(&out, "%s%s %s", out.n ? ", " : "", short_name((enum resource)i),
                       report_quantity((enum resource)i, r->v[i], text));
        }
    }
    uint32_t n = extended(t, r, ext);
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(&out, "%s%s %s", out.n ? ", " : "", ext[i].name,
                   quantity_fmt_count(ext[i].amount, text));
    }
    return out.n ? arena_strdup(a, out.p) : "nothing";
}

/* ---- requirements ---------------------------------------------------------------------------- */

struct named_req {
    const char *key;
    const struct req *r;
};

static int named_req_cmp(const void *x, const void *y)
{
    return str_cmp(((const struct named_req *)x)->key, ((const struct named_req *)y)->key);
}

static json_t *values_of(const struct symtab *t, const struct req *r)
{
    struct named *v = calloc(r->n ? r->n : 1, sizeof(*v));
    json_t *list = json_array();
    if (!v) {
        BUG("out of memory");
    }
    for (uint32_t i = 0; i < r->n; i++) {
        v[i].name = sym_str(t, r->values[i]);
    }
    qsort(v, r->n, sizeof(*v), named_cmp);
    for (uint32_t i = 0; i < r->n; i++) {
        (void)json_array_append_new(list, json_string(v[i].name));
    }
    free(v);
    return list;
}

static json_t *req_entry(json_t *list, const char *key, const char *op, json_t *values,
                         const char *source)
{
    json_t *o = json_object();
    report_text(o, "key", key);
    report_text(o, "operator", op);
    if (values) {
        report_put(o, "values", values);
    }
    report_text(o, "source", source);
    (void)json_array_append_new(list, o);
    return o;
}

static void req_bound(json_t *list, const char *key, const char *op, int64_t v, const char *source)
{
    req_entry(list, key, op, json_pack("[o]", json_sprintf("%lld", (long long)v)), source);
}

static void req_put(json_t *list, const struct symtab *t, const struct req *r, const char *source)
{
    const char *key = sym_str(t, r->key);
    enum req_op op = req_op(r);
    if (op != REQ_EXISTS || !(r->has_gte || r->has_lte) || r->min_values) {
        bool values = op == REQ_IN || op == REQ_NOT_IN;
        json_t *o = req_entry(list, key, req_op_name(op), values ? values_of(t, r) : NULL, source);
        if (r->min_values) {
            report_int(o, "minValues", r->min_values);
        }
    }
    if (r->has_gte) {
        req_bound(list, key, "Gte", r->gte, source);
    }
    if (r->has_lte) {
        req_bound(list, key, "Lte", r->lte, source);
    }
}

void report_reqs(json_t *list, const struct symtab *t, const struct reqset *set, const char *source)
{
    struct named_req *v = calloc(set->n ? set->n : 1, sizeof(*v));
    if (!v) {
        BUG("out of memory");
    }
    for (uint32_t i = 0; i < set->n; i++) {
        v[i] = (struct named_req){sym_str(t, set->v[i].key), &set->v[i]};
    }
    qsort(v, set->n, sizeof(*v), named_req_cmp);
    for (uint32_t i = 0; i < set->n; i++) {
        req_put(list, t, v[i].r, source);
    }
    free(v);
}

/* ---- names and reasons ----------------------------------------------------------------------- */

const char *report_pod(struct arena *a, const struct pod *p)
{
    return arena_printf(a, "%s%s%s", p->m.ns, *p->m.ns ? "/" : "", p->m.name);
}

const char *report_node(struct arena *a, const struct snapshot_node *n)
{
    return n->node ? n->name : arena_printf(a, "nodeclaim/%s", n->name);
}

/* "m5.large is sold out: spot in zone-c until 10:42, …"; false if nothing is known of it. */
static bool put_sold_out(struct arena *a, const struct session *s, sym type, struct buf *out)
{
    struct facts f;
    unsigned n = 0;
    const char *name = sym_str(s->w.syms, type);
    facts_read(&s->w, a, &f);
    for (size_t i = 0; i < f.n_stockouts; i++) {
        const struct facts_stockout *o = &f.stockouts[i];
        if (!str_eq(o->type, name) || !o->zone || !o->capacity_type) {
            continue;
        }
        if (n++ < STOCKOUTS_SHOWN) {
            buf_printf(out, "%s%s in %s", n == 1 ? arena_printf(a, "%s is sold out: ", name) : ", ",
                       o->capacity_type, o->zone);
            buf_printf(out, "%s%s", o->until_ns ? " until " : "",
                       o->until_ns ? screen_clock(a, o->until_ns, s->w.now_ns) : "");
        }
    }
    if (n > STOCKOUTS_SHOWN) {
        buf_printf(out, " and %u more", n - STOCKOUTS_SHOWN);
    }
    return n > 0;
}

/* "…, as far as can be seen (not allowed to list nodepools)": nothing is claimed of what is hidden.
 */
static const char *hidden_part(const struct session *s, enum reason_code code)
{
    static const enum kube_kind volumes[] = {KIND_PERSISTENT_VOLUME_CLAIM, KIND_PERSISTENT_VOLUME,
                                             KIND_STORAGE_CLASS};
    if (code == REASON_NoPool && s->w.hidden[KIND_NODE_POOL]) {
        return kube_kind(KIND_NODE_POOL)->plural;
    }
    for (size_t i = 0; code == REASON_Volume && i < ARRAY_LEN(volumes); i++) {
        if (s->w.hidden[volumes[i]]) {
            return kube_kind(volumes[i])->plural;
        }
    }
    return NULL;
}

const char *report_reason(struct arena *a, const struct session *s, const struct reason *r)
{
    const char *hidden = hidden_part(s, r->code);
    if (hidden) {
        return arena_printf(a, "cannot be told: not allowed to list %s", hidden);
    }
    AUTO_BUF struct buf text;
    buf_init(&text, REASON_TEXT_MAX);
    bool stock = r->code == REASON_Offering && r->nearest_type != SYM_NONE;
    if (stock && put_sold_out(a, s, r->nearest_type, &text)) {
        buf_puts(&text, "; ");
    }
    reason_fmt(s->w.syms, r, &text);
    return arena_strdup(a, text.p);
}

static void put_shortage(const struct explain_nodes *n, struct arena *a, const struct symtab *t,
                         struct buf *out)
{
    buf_printf(out, "not enough room; most has %s, which is short of %s",
               report_node(a, n->nearest), report_resources_line(a, t, &n->missing, true));
}

const char *report_nodes_reason(struct arena *a, const struct symtab *t,
                                const struct explain_nodes *n)
{
    AUTO_BUF struct buf out;
    buf_init(&out, REASON_TEXT_MAX);
    if (n->reason.code == REASON_Resources) {
        put_shortage(n, a, t, &out);
    } else if (n->reason.code == REASON_FitsExisting || n->reason.code == REASON_WaitingForNode) {
        buf_puts(&out, "would take it");
    } else if (n->reason.code == REASON_Requirement && n->reason.want && !n->reason.have) {
        buf_puts(&out, "asks for ");
        req_fmt(t, n->reason.want, REASON_VALUES, &out);
        buf_puts(&out, ", which they do not have");
    } else if (n->reason.code == REASON_Taint && n->reason.taint == NULL && n->reason.text) {
        buf_puts(&out, n->reason.text);
    } else {
        reason_fmt(t, &n->reason, &out);
    }
    return arena_strdup(a, out.p);
}

json_t *report_existing_nodes(struct arena *a, const struct session *s, const struct explanation *e)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < e->n_nodes; i++) {
        const struct explain_nodes *n = &e->nodes[i];
        json_t *o = json_object(), *nearest = json_object();
        report_text(o, "code", reason_name(n->reason.code));
        report_int(o, "count", n->count);
        report_text(nearest, "node", report_node(a, n->nearest));
        if (n->reason.code == REASON_Resources) {
            report_put(nearest, "short", report_resources(s->w.syms, &n->missing));
        }
        report_put(o, "nearest", nearest);
        report_text(o, "message", report_nodes_reason(a, s->w.syms, n));
        (void)json_array_append_new(list, o);
    }
    return list;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static bool can_be_had(const struct sched_claim *c, uint32_t zone)
{
    const struct offerings *o = c->pool->offerings;
    for (uint32_t i = 0; i < c->n_types && i < REPORT_TYPES_MAX; i++) {
        for (unsigned ct = 0; ct < CT_COUNT; ct++) {
            if ((c->offer.cts >> ct & 1) &&
                offerings_available(o, c->types[i], zone, (enum capacity_type)ct)) {
                return true;
            }
        }
    }
    return false;
}

void report_claim_lists(json_t *o, const struct symtab *t, const struct sched_claim *c)
{
    const struct catalog *cat = c->pool->catalog;
    json_t *types = json_array(), *zones = json_array(), *cts = json_array();
    for (uint32_t i = 0; i < c->n_types && i < REPORT_TYPES_MAX; i++) {
        (void)json_array_append_new(types,
                                    json_string(sym_str(t, catalog_type_name(cat, c->types[i]))));
    }
    for (uint32_t z = 0; z < catalog_n_zones(cat); z++) {
        if ((c->offer.zones >> z & 1) && can_be_had(c, z)) {
            (void)json_array_append_new(zones, json_string(sym_str(t, catalog_zone(cat, z))));
        }
    }
    /* By string: on-demand, reserved, spot. */
    static const enum capacity_type order[] = {CT_ON_DEMAND, CT_RESERVED, CT_SPOT};
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        if (c->offer.cts >> order[i] & 1) {
            (void)json_array_append_new(cts, json_string(sym_str(t, capacity_type_sym(order[i]))));
        }
    }
    report_put(o, "instanceTypes", types);
    report_put(o, "zones", zones);
    report_put(o, "capacityTypes", cts);
}

bool report_estimated(const struct session *s, const struct snapshot_pool *p, uint32_t type,
                      sym zone, enum capacity_type ct)
{
    bool ret = false;
    const char *name = sym_str(s->w.syms, catalog_type_name(p->catalog, type));
    (void)prices_of(s->prices, name, sym_str(s->w.syms, zone), ct, &ret);
    return ret;
}

bool report_claim_estimated(const struct session *s, const struct sched_claim *c)
{
    uint32_t zone;
    enum capacity_type ct;
    if (c->n_types == 0 || offerings_cheapest(c->pool->offerings, c->types[0], c->offer, &zone,
                                              &ct) == PRICE_UNKNOWN) {
        return false;
    }
    return report_estimated(s, c->pool, c->types[0], catalog_zone(c->pool->catalog, zone), ct);
}

/* ---- warnings -------------------------------------------------------------------------------- */

void report_warn(json_t *list, const char *code, const char *object, const char *message)
{
    json_t *o = json_object();
    report_text(o, "code", code);
    report_text(o, "object", object);
    report_text(o, "message", message);
    (void)json_array_append_new(list, o);
}

static const char *pool_name(struct arena *a, const struct nodepool *np)
{
    return arena_printf(a, "nodepool/%s", np->m.name);
}

static bool lacks_class(const struct session *s, const struct nodepool *np)
{
    const struct snapshot_pool *p = snapshot_pool_find(&s->d.snap, np->m.name);
    return p && !p->cls;
}

/* One for each class that is missing. */
static void warn_classes(json_t *list, struct arena *a, const struct session *s)
{
    size_t n = world_n(&s->w, KIND_NODE_POOL);
    for (size_t i = 0; i < n; i++) {
        const struct nodepool *np = world_at(&s->w, KIND_NODE_POOL, i);
        unsigned pools = 0;
        bool told = !lacks_class(s, np);
        for (size_t k = 0; k < n && !told; k++) {
            const struct nodepool *other = world_at(&s->w, KIND_NODE_POOL, k);
            bool same = str_eq(np->class_ref.name, other->class_ref.name) && lacks_class(s, other);
            told = same && k < i;
            pools += same;
        }
        if (!told) {
            const char *there =
                s->w.hidden[KIND_EC2_NODE_CLASS] ? "cannot be seen" : "is not there";
            report_warn(
                list, "NoNodeClass", arena_printf(a, "ec2nodeclass/%s", np->class_ref.name),
                arena_printf(a, "%s; nodepool %s%s taken as having all subnets and images", there,
                             np->m.name,
                             pools > 1 ? arena_printf(a, " and %u more are", pools - 1) : " is"));
        }
    }
}

/* Does anything that is asked for settle the architecture? */
static bool asks_for_arch(const struct pod_class *cls)
{
    bool ret = reqset_get(&cls->selector, L_ARCH) || reqset_get(&cls->selector, L_INSTANCE_TYPE);
    for (uint32_t i = 0; i < cls->n_required; i++) {
        ret = ret || reqset_get(&cls->required[i].reqs, L_ARCH) ||
              reqset_get(&cls->required[i].reqs, L_INSTANCE_TYPE);
    }
    return ret;
}

static bool mixed_arch(const struct session *s, const struct sched_claim *c)
{
    bool amd = false, arm = false;
    for (uint32_t i = 0; i < c->n_types; i++) {
        const struct req *arch = catalog_label(c->pool->catalog, c->types[i], L_ARCH);
        amd = amd || (arch && req_has(s->w.syms, arch, V_AMD64));
        arm = arm || (arch && req_has(s->w.syms, arch, V_ARM64));
    }
    return amd && arm;
}

static void warn_arch(json_t *list, struct arena *a, const struct session *s)
{
    const struct sched_result *r = s->d.result;
    for (size_t i = 0; i < world_n(&s->w, KIND_NODE_POOL); i++) {
        const struct nodepool *np = world_at(&s->w, KIND_NODE_POOL, i);
        uint32_t pods = 0;
        const struct pod *first = NULL;
        for (uint32_t k = 0; k < r->n_claims; k++) {
            const struct sched_claim *c = &r->claims[k];
            if (c->pool->np != np || !mixed_arch(s, c)) {
                continue;
            }
            for (uint32_t j = 0; j < c->n_pods; j++) {
                if (!asks_for_arch(c->pods[j]->cls)) {
                    pods++;
                    first = first ? first : c->pods[j];
                }
            }
        }
        if (pods > 0) {
            report_warn(
                list, "MixedArch", pool_name(a, np),
                arena_printf(a,
                             "arch free, pool mixed: %u pod%s (first %s) may start on amd64 or "
                             "arm64; their images must have both",
                             pods, pods == 1 ? "" : "s", report_pod(a, first)));
        }
    }
}

/* Which pods those are only the agent knows: a node that seems to fit may not be launched. */
static void warn_ineffective(json_t *list, struct arena *a, const struct session *s)
{
    const char *code = reason_name(REASON_LaunchIneffective);
    for (uint32_t i = 0; i < s->d.snap.n_pools; i++) {
        const struct nodepool *np = s->d.snap.pools[i].np;
        const struct condition *c = condition_find(&np->conditions, code);
        if (c && c->status == STATUS_TRUE) {
            report_warn(
                list, code, pool_name(a, np),
                "the agent launches nothing for pods that earlier nodes of it did not help; "
                "their Events say FailedScheduling");
        }
    }
}

static void warn_zones(json_t *list, struct arena *a, const struct session *s)
{
    for (size_t i = 0; i < world_n(&s->w, KIND_NODE_POOL); i++) {
        const struct nodepool *np = world_at(&s->w, KIND_NODE_POOL, i);
        if (np->budget_tz_problem) {
            report_warn(list, "BudgetTimezoneUnknown", pool_name(a, np), np->budget_tz_problem);
        }
    }
}

/* Told once, of the first such pod by name. */
static void warn_marks(json_t *list, struct arena *a, const struct session *s)
{
    const struct pod *first = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->d.snap.n_bound; i++) {
        const struct pod *p = s->d.snap.bound[i].pod;
        if (!pod_active(p) || !pod_do_not_disrupt_unreadable(p)) {
            continue;
        }
        int c = first ? str_cmp(p->m.ns, first->m.ns) : -1;
        c = c == 0 ? str_cmp(p->m.name, first->m.name) : c;
        first = c < 0 ? p : first;
        n++;
    }
    if (n > 0) {
        report_warn(
            list, "DoNotDisruptUnreadable", arena_printf(a, "pod/%s", report_pod(a, first)),
            arena_printf(a,
                         "karpenter.sh/do-not-disrupt \"%s\"%s protects nothing: neither true nor "
                         "a duration",
                         text_safe(a, kvs_get(&first->m.annotations, ANN_DO_NOT_DISRUPT)),
                         n > 1 ? arena_printf(a, ", and that of %u more pods,", n - 1) : ""));
    }
}

void report_warnings(json_t *list, struct arena *a, const struct session *s)
{
    warn_classes(list, a, s);
    warn_ineffective(list, a, s);
    warn_arch(list, a, s);
    warn_zones(list, a, s);
    warn_marks(list, a, s);
    for (size_t i = 0; i < s->w.n_malformed; i++) {
        const struct world_malformed *m = &s->w.malformed[i];
        report_warn(list, "Malformed", arena_printf(a, "%s/%s", m->kind, m->name), m->message);
    }
}

void report_naked(json_t *list, struct arena *a, const struct pod *first, uint32_t n)
{
    const char *who = n < 2 ? "has" : arena_printf(a, "it and %u more have", n - 1);
    report_warn(list, "NakedPod", arena_printf(a, "pod/%s", report_pod(a, first)),
                arena_printf(a,
                             "%s no controller: nobody makes %s anew when %s node goes or is "
                             "consolidated",
                             who, n < 2 ? "it" : "them", n < 2 ? "its" : "their"));
}

void report_put_warning_list(struct session *s, json_t *list, struct buf *out)
{
    json_t *o;
    size_t i;
    json_array_foreach (list, i, o) {
        const char *object = json_string_value(json_object_get(o, "object"));
        const char *message = json_string_value(json_object_get(o, "message"));
        buf_puts(out, i == 0 ? "\nWARNINGS\n  " : "  ");
        screen_wrap(&s->c->term, &s->a, WARNING_INDENT,
                    arena_printf(&s->a, "%s: %s", object ? object : "?", message ? message : "?"),
                    out);
        buf_putc(out, '\n');
    }
    json_decref(list);
}

void report_put_warnings(struct session *s, struct buf *out)
{
    json_t *list = json_array();
    report_warnings(list, &s->a, s);
    report_put_warning_list(s, list, out);
}

bool report_incomplete(const struct session *s)
{
    return s->w.n_notes > 0 || s->w.n_malformed > 0;
}
