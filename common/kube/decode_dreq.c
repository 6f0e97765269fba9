/* decode_dreq.c - DisruptionRequests. */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/price.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/consent/approval.h"
#include "common/core/consent/dreq.h"
#include "common/core/ec2/catalog.h"
#include "decode_priv.h"

#define CHUNK 2048u
#define FILED_GENERATION 1 /* the API server counts every change of the spec */

static void problem(struct dreq *r, const char *text)
{
    r->problem = r->problem ? r->problem : text;
}

/* Decimal dollars; a sign only where it is allowed. Absent: unknown. */
static int64_t price(struct dreq *r, const json_t *o, const char *key, bool sign, const char *bad)
{
    const json_t *v = json_object_get(o, key);
    const char *text = json_string_value(v);
    bool minus = sign && text && *text == '-';
    int64_t ret = 0;
    if (!v || json_is_null(v)) {
        return PRICE_UNKNOWN;
    }
    if (!price_parse(text && minus ? text + 1 : text, &ret)) {
        problem(r, bad);
        return PRICE_UNKNOWN;
    }
    return minus ? -ret : ret;
}

/* Strings of a list; what else stands there, or is too much, is a problem. */
static const char *const *strings(struct dreq *r, const json_t *o, const char *key, uint32_t max,
                                  uint32_t *ret_n, const char *bad)
{
    const json_t *list = json_object_get(o, key);
    size_t n = json_array_size(list);
    const char **v = ARENA_NEW_N(&r->mem, const char *, n > max ? 0 : n);
    *ret_n = 0;
    if (n > max || (list && !json_is_null(list) && !json_is_array(list))) {
        problem(r, bad);
        return v;
    }
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (!text) {
            problem(r, bad);
            return v;
        }
        v[(*ret_n)++] = arena_strdup(&r->mem, text);
    }
    return v;
}

static void read_candidates(struct dreq *r, const json_t *spec)
{
    const json_t *list = json_object_get(spec, "candidates");
    size_t n = json_array_size(list);
    if (n == 0 || n > DREQ_CANDIDATES_MAX) {
        problem(r, "spec.candidates: none, or too many");
        return;
    }
    struct dreq_candidate *v = ARENA_NEW_N(&r->mem, struct dreq_candidate, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *o = json_array_get(list, i);
        v[i] = (struct dreq_candidate){
            .claim = decode_str(&r->mem, o, "nodeClaim"),
            .uid = decode_str(&r->mem, o, "uid"),
            .node = decode_str(&r->mem, o, "node"),
            .type = decode_str(&r->mem, o, "instanceType"),
            .zone = decode_str(&r->mem, o, "zone"),
            .capacity_type = decode_str(&r->mem, o, "capacityType"),
            .price_pusd_h = price(r, o, "pricePerHour", false,
                                  "spec.candidates: a pricePerHour is no amount of dollars")};
        if (!*v[i].claim || !*v[i].uid) {
            problem(r, "spec.candidates: nodeClaim and uid must be said");
        }
    }
    r->candidates = v;
    r->n_candidates = (uint32_t)n;
}

static void read_replacements(struct dreq *r, const json_t *spec)
{
    const json_t *list = json_object_get(spec, "replacements");
    size_t n = json_array_size(list);
    if (n > DREQ_REPLACEMENTS_MAX || (list && !json_is_null(list) && !json_is_array(list))) {
        problem(r, "spec.replacements: no list, or too many");
        return;
    }
    struct dreq_replacement *v = ARENA_NEW_N(&r->mem, struct dreq_replacement, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *o = json_array_get(list, i);
        v[i].pool = decode_str(&r->mem, o, "nodePool");
        v[i].capacity_types = strings(r, o, "capacityTypes", 8, &v[i].n_capacity_types,
                                      "spec.replacements: capacityTypes cannot be read");
        v[i].types = strings(r, o, "instanceTypes", DREQ_TYPES_MAX, &v[i].n_types,
                             "spec.replacements: instanceTypes cannot be read");
        v[i].price_pusd_h = price(r, o, "pricePerHour", false,
                                  "spec.replacements: a pricePerHour is no amount of dollars");
        if (!*v[i].pool) {
            problem(r, "spec.replacements: nodePool must be said");
        }
    }
    r->replacements = v;
    r->n_replacements = (uint32_t)n;
}

static void read_plan(struct dreq *r, const json_t *spec)
{
    r->reason = (enum disruption_reason)approval_reason_named(jsonx_str(spec, "reason"));
    if (r->reason == 0) {
        problem(r, "spec.reason is none of Underutilized, Drifted and Empty");
    }
    r->pools = strings(r, spec, "nodePools", DREQ_CANDIDATES_MAX, &r->n_pools,
                       "spec.nodePools cannot be read");
    read_candidates(r, spec);
    read_replacements(r, spec);
    r->warnings = strings(r, spec, "warnings", DREQ_WARNINGS_MAX, &r->n_warnings,
                          "spec.warnings cannot be read");
    r->pod_count = jsonx_int(spec, "podCount", 0);
    r->saving_pusd_h =
        price(r, spec, "savingsPerHour", true, "spec.savingsPerHour is no amount of dollars");
    if (r->saving_pusd_h == PRICE_UNKNOWN) {
        r->saving_pusd_h = 0;
        problem(r, "spec.savingsPerHour is not said");
    }
    r->plan = decode_str(&r->mem, spec, "planDigest");
    r->supersedes = decode_str(&r->mem, spec, "supersedes");
    if (!timefmt_parse_rfc3339(jsonx_str_or(spec, "expiresAt", ""), &r->expires_ns)) {
        problem(r, "spec.expiresAt is not a time");
    }
}

static void read_decision(struct dreq *r, const json_t *spec)
{
    const json_t *v = json_object_get(spec, "decision");
    const json_t *not_before = json_object_get(spec, "notBefore");
    bool said = v && !json_is_null(v);
    r->decision = !said                                      ? DREQ_UNDECIDED
                  : str_eq(json_string_value(v), "Approved") ? DREQ_YES
                                                             : DREQ_NO;
    if (r->decision == DREQ_NO && !str_eq(json_string_value(v), "Denied")) {
        problem(r, "spec.decision is neither Approved nor Denied");
    }
    if (said && r->m.generation == FILED_GENERATION) {
        problem(r, "it was filed with a decision");
    }
    if (not_before && !json_is_null(not_before) &&
        !timefmt_parse_rfc3339(jsonx_str_or(spec, "notBefore", ""), &r->not_before_ns)) {
        problem(r, "spec.notBefore is not a time");
    }
    r->decided_by = decode_str(&r->mem, spec, "decidedBy");
    r->on_behalf_of = decode_str(&r->mem, spec, "onBehalfOf");
    r->note = decode_str(&r->mem, spec, "note");
}

static void read_status(struct dreq *r, const json_t *status)
{
    if (!dreq_phase_named(jsonx_str(status, "phase"), &r->phase)) {
        problem(r, "status.phase is not known");
    }
    r->superseded_by = decode_str(&r->mem, status, "supersededBy");
    r->grant = decode_str(&r->mem, status, "grant");
    r->approved_by = decode_str(&r->mem, status, "approvedBy");
    r->decided_ns = decode_time(status, "decidedAt");
    r->started_ns = decode_time(status, "startedAt");
    r->ended_ns = decode_time(status, "endedAt");
    r->observed_generation = jsonx_int(status, "observedGeneration", 0);
    decode_conditions(&r->mem, status, &r->conditions);
}

static int read_dreq(struct decoder *d, struct dreq *r, const json_t *o, struct err *reterr)
{
    const json_t *spec = json_object_get(o, "spec");
    if (decode_meta(d, &r->mem, o, META_POD_ANNOTATIONS, &r->m, reterr)) {
        return -1;
    }
    read_plan(r, spec);
    read_decision(r, spec);
    read_status(r, json_object_get(o, "status"));
    return 0;
}

struct dreq *decode_dreq(struct decoder *d, const json_t *o, struct err *reterr)
{
    struct dreq *r = NEW(struct dreq);
    arena_init(&r->mem, CHUNK, DECODE_OBJECT_MAX);
    if (read_dreq(d, r, o, reterr) || decode_check_size(&r->mem, reterr)) {
        decode_dreq_free(r);
        return NULL;
    }
    return r;
}

void decode_dreq_free(struct dreq *r)
{
    if (r) {
        arena_done(&r->mem);
        free(r);
    }
}
