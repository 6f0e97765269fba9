/* filing.c - see filing.h. */
#include "filing.h"

#include "agent/work/render.h"
#include "common/base/hash.h"
#include "common/base/price.h"
#include "common/base/sort.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/consent/approval.h"

/* ---- risk --------------------------------------------------------------------------------------
 */

static uint32_t capacity_types(struct arena *a, const struct snapshot *s, const struct step_in *in,
                               const char *const **ret)
{
    const char **v = ARENA_NEW_N(a, const char *, CT_COUNT);
    uint32_t n = 0;
    for (unsigned ct = 0; ct < CT_COUNT; ct++) {
        if (in->claim.offer.cts >> ct & 1) {
            v[n++] = sym_str(s->syms, capacity_type_sym((enum capacity_type)ct));
        }
    }
    sort_items(v, n, sizeof(*v), str_qsort_cmp);
    *ret = v;
    return n;
}

static uint32_t instance_types(struct arena *a, const struct snapshot *s, const struct step_in *in,
                               const char *const **ret)
{
    uint32_t n = in->claim.n_types < DREQ_TYPES_MAX ? in->claim.n_types : DREQ_TYPES_MAX;
    const char **v = ARENA_NEW_N(a, const char *, n);
    for (uint32_t i = 0; i < n; i++) {
        v[i] = sym_str(s->syms, catalog_type_name(in->pool->catalog, in->claim.types[i]));
    }
    *ret = v;
    return n;
}

static const struct dreq_replacement *replacements(struct arena *a, const struct snapshot *s,
                                                   const struct consolidate_step *step)
{
    struct dreq_replacement *v = ARENA_NEW_N(a, struct dreq_replacement, step->n_in);
    for (uint32_t i = 0; i < step->n_in; i++) {
        const struct step_in *in = &step->in[i];
        v[i].pool = in->pool->np->m.name;
        v[i].n_capacity_types = capacity_types(a, s, in, &v[i].capacity_types);
        v[i].n_types = instance_types(a, s, in, &v[i].types);
        v[i].price_pusd_h = in->price_pusd_h;
    }
    return v;
}

struct dreq_risk filing_risk(struct arena *a, const struct snapshot *s,
                             const struct consolidate_step *step)
{
    const char **uids = ARENA_NEW_N(a, const char *, step->n_out);
    const char **singles = ARENA_NEW_N(a, const char *, step->n_singles);
    for (uint32_t i = 0; i < step->n_out; i++) {
        uids[i] = step->out[i].node->claim->m.uid;
    }
    for (uint32_t i = 0; i < step->n_singles; i++) {
        const struct pod *p = step->singles[i];
        singles[i] = arena_printf(a, "%s/%s", p->m.ns, p->m.name);
    }
    return (struct dreq_risk){.reason = step->reason,
                              .uids = uids,
                              .n_uids = step->n_out,
                              .in = replacements(a, s, step),
                              .n_in = step->n_in,
                              .price_out_pusd_h = step->price_out_pusd_h,
                              .price_in_pusd_h = step->price_in_pusd_h,
                              .saving_pusd_h = step->saving_pusd_h,
                              .singles = singles,
                              .n_singles = step->n_singles,
                              .for_weight = step->return_to_weight};
}

static const char *pool_of(const struct consolidate_step *step, uint32_t i)
{
    return i < step->n_out ? step->out[i].node->pool->np->m.name
                           : step->in[i - step->n_out].pool->np->m.name;
}

bool filing_too_large(const struct consolidate_step *step)
{
    uint32_t pools = 0; /* both lists are by pool */
    for (uint32_t i = 0; i < step->n_out + step->n_in; i++) {
        pools += i == 0 || !str_eq(pool_of(step, i), pool_of(step, i - 1));
    }
    return pools > DREQ_POOLS_MAX || step->n_out > DREQ_CANDIDATES_MAX ||
           step->n_in > DREQ_REPLACEMENTS_MAX || step->n_singles >= DREQ_WARNINGS_MAX;
}

/* ---- the object --------------------------------------------------------------------------------
 */

void filing_name(const char *plan, uint32_t nth, char dst[FILING_NAME])
{
    char text[96], hex[SHA256_HEX];
    int n = snprintf(text, sizeof(text), "%.64s/%u", plan, nth);
    hash_sha256_hex(text, (size_t)n, hex);
    snprintf(dst, FILING_NAME, "dr-%.8s", hex);
}

static void put_amount(json_t *o, const char *key, int64_t pusd_h)
{
    char text[PRICE_TEXT + 1] = "-";
    price_text(pusd_h < 0 ? -pusd_h : pusd_h, text + 1);
    json_object_set_new(o, key, json_string(pusd_h < 0 ? text : text + 1));
}

static void put_price(json_t *o, const char *key, int64_t pusd_h)
{
    if (pusd_h != PRICE_UNKNOWN) {
        put_amount(o, key, pusd_h);
    }
}

static void put_text(json_t *o, const char *key, const char *text)
{
    if (*text) {
        json_object_set_new(o, key, json_string(text));
    }
}

static const char *label(const struct snapshot *s, const struct snapshot_node *n, sym key)
{
    const struct req *r = reqset_get(&n->labels, key);
    sym v = r ? req_single(r) : SYM_NONE;
    return v != SYM_NONE ? sym_str(s->syms, v) : "";
}

static json_t *candidates(const struct snapshot *s, const struct consolidate_step *step)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < step->n_out; i++) {
        const struct snapshot_node *n = step->out[i].node;
        json_t *o = json_pack("{s:s, s:s}", "nodeClaim", n->claim->m.name, "uid", n->claim->m.uid);
        put_text(o, "node", n->name);
        put_text(o, "instanceType", label(s, n, L_INSTANCE_TYPE));
        put_text(o, "zone", label(s, n, L_ZONE));
        put_text(o, "capacityType", label(s, n, L_CAPACITY_TYPE));
        put_price(o, "pricePerHour", step->out[i].price_pusd_h);
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *strings(const char *const *v, uint32_t n)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++) {
        json_array_append_new(list, json_string(v[i]));
    }
    return list;
}

/* As they stand in a NodeClaim; types have a list of their own. */
static json_t *requirements(const struct snapshot *s, const struct step_in *in)
{
    static const sym skip[] = {L_REGISTERED, L_INITIALIZED, L_HOSTNAME, L_INSTANCE_TYPE, SYM_NONE};
    json_t *list = render_requirements(s->syms, &in->claim.reqs, skip);
    size_t i;
    json_t *o;
    json_array_foreach (list, i, o) {
        json_object_del(o, "minValues");
    }
    return list;
}

static json_t *replacements_json(const struct snapshot *s, const struct consolidate_step *step,
                                 const struct dreq_risk *risk)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < step->n_in; i++) {
        const struct dreq_replacement *in = &risk->in[i];
        json_t *o = json_pack("{s:s, s:o, s:o, s:o}", "nodePool", in->pool, "capacityTypes",
                              strings(in->capacity_types, in->n_capacity_types), "instanceTypes",
                              strings(in->types, in->n_types), "requirements",
                              requirements(s, &step->in[i]));
        put_price(o, "pricePerHour", in->price_pusd_h);
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *pools(struct arena *a, const struct consolidate_step *step)
{
    const char **v = ARENA_NEW_N(a, const char *, step->n_out + step->n_in);
    uint32_t n = step->n_out + step->n_in, kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        v[i] = pool_of(step, i);
    }
    sort_items(v, n, sizeof(*v), str_qsort_cmp);
    for (uint32_t i = 0; i < n; i++) {
        if (kept == 0 || !str_eq(v[kept - 1], v[i])) {
            v[kept++] = v[i];
        }
    }
    return strings(v, kept);
}

static void warn(json_t *list, const char *text)
{
    if (json_array_size(list) < DREQ_WARNINGS_MAX) {
        json_array_append_new(list, json_stringn(text, str_cut(text, DREQ_WARNING_TEXT)));
    }
}

static bool any_capacity(const struct dreq_risk *risk, const char *type)
{
    for (uint32_t i = 0; i < risk->n_in; i++) {
        for (uint32_t k = 0; k < risk->in[i].n_capacity_types; k++) {
            if (str_eq(risk->in[i].capacity_types[k], type)) {
                return true;
            }
        }
    }
    return false;
}

static bool leaves(const struct snapshot *s, const struct consolidate_step *step, const char *type)
{
    for (uint32_t i = 0; i < step->n_out; i++) {
        if (str_eq(label(s, step->out[i].node, L_CAPACITY_TYPE), type)) {
            return true;
        }
    }
    return false;
}

/* Single replicas first: they are read back. */
static json_t *warnings(struct arena *a, const struct snapshot *s,
                        const struct consolidate_step *step, const struct dreq_risk *risk)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < risk->n_singles; i++) {
        warn(list, arena_printf(a, DREQ_SINGLE "%s", risk->singles[i]));
    }
    if (leaves(s, step, "on-demand") && any_capacity(risk, "spot")) {
        warn(list, "on-demand to spot");
    }
    for (uint32_t i = 0; i < step->n_naked; i++) {
        warn(list,
             arena_printf(a, DREQ_NAKED "%s/%s", step->naked[i]->m.ns, step->naked[i]->m.name));
    }
    for (uint32_t i = 0; i < step->n_given_up; i++) {
        const struct step_preference *p = &step->given_up[i];
        warn(list, arena_printf(a, "preference given up: %s/%s %s", p->pod->m.ns, p->pod->m.name,
                                p->rule));
    }
    return list;
}

json_t *filing_body(struct arena *a, const struct snapshot *s, const struct consolidate_step *step,
                    const char *name, int64_t expires_ns, const char *supersedes)
{
    char at[TIMEFMT_TEXT];
    struct dreq_risk risk = filing_risk(a, s, step);
    json_t *spec =
        json_pack("{s:s, s:o, s:I, s:I, s:o, s:o, s:I, s:o, s:s, s:s}", "reason",
                  approval_reason_name(step->reason), "nodePools", pools(a, step), "nodesOut",
                  (json_int_t)step->n_out, "nodesIn", (json_int_t)step->n_in, "candidates",
                  candidates(s, step), "replacements", replacements_json(s, step, &risk),
                  "podCount", (json_int_t)step->n_moves, "warnings", warnings(a, s, step, &risk),
                  "planDigest", step->digest, "expiresAt", timefmt_rfc3339(expires_ns, at));
    put_amount(spec, "savingsPerHour", step->saving_pusd_h);
    put_text(spec, "supersedes", supersedes ? supersedes : "");
    return json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "karp.dev/v1alpha1", "kind",
                     "DisruptionRequest", "metadata", "name", name, "spec", spec);
}
