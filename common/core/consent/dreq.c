/* dreq.c - see dreq.h. */
#include "dreq.h"

#include "common/base/price.h"
#include "common/base/str.h"
#include "common/core/ec2/catalog.h"

static const char *const phases[] = {
    [DREQ_PENDING] = "Pending",     [DREQ_APPROVED] = "Approved",
    [DREQ_EXECUTING] = "Executing", [DREQ_SUCCEEDED] = "Succeeded",
    [DREQ_FAILED] = "Failed",       [DREQ_DENIED] = "Denied",
    [DREQ_EXPIRED] = "Expired",     [DREQ_SUPERSEDED] = "Superseded",
};

const char *dreq_phase_name(enum dreq_phase p)
{
    return phases[p];
}

bool dreq_phase_named(const char *name, enum dreq_phase *ret)
{
    *ret = DREQ_PENDING;
    if (!name || !*name) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        if (str_eq(name, phases[i])) {
            *ret = (enum dreq_phase)i;
            return true;
        }
    }
    return false;
}

bool dreq_open(const struct dreq *r)
{
    return r->m.deleted_ns == 0 && r->phase <= DREQ_EXECUTING;
}

bool dreq_expired(const struct dreq *r, int64_t now_ns)
{
    return r->phase < DREQ_EXECUTING && r->expires_ns <= now_ns;
}

bool dreq_has_candidate(const struct dreq *r, const char *uid)
{
    for (uint32_t i = 0; i < r->n_candidates; i++) {
        if (str_eq(r->candidates[i].uid, uid)) {
            return true;
        }
    }
    return false;
}

int64_t dreq_price_out(const struct dreq *r)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < r->n_candidates; i++) {
        price_add(&sum, r->candidates[i].price_pusd_h);
    }
    return sum;
}

int64_t dreq_price_in(const struct dreq *r)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < r->n_replacements; i++) {
        price_add(&sum, r->replacements[i].price_pusd_h);
    }
    return sum;
}

/* The pod is said to be the only one of its workload. */
static bool warns_single(const struct dreq *r, const char *pod)
{
    for (uint32_t i = 0; i < r->n_warnings; i++) {
        const char *w = r->warnings[i];
        if (strncmp(w, DREQ_SINGLE, strlen(DREQ_SINGLE)) == 0 &&
            str_eq(w + strlen(DREQ_SINGLE), pod)) {
            return true;
        }
    }
    return false;
}

/* ---- what was approved covers it ------------------------------------------------------------- */

static bool has(const char *const *v, uint32_t n, const char *text)
{
    for (uint32_t i = 0; i < n; i++) {
        if (str_eq(v[i], text)) {
            return true;
        }
    }
    return false;
}

static bool in_is_within(const struct dreq_replacement *in, const struct dreq_replacement *of)
{
    if (!str_eq(in->pool, of->pool)) {
        return false;
    }
    for (uint32_t i = 0; i < in->n_capacity_types; i++) {
        if (!has(of->capacity_types, of->n_capacity_types, in->capacity_types[i])) {
            return false;
        }
    }
    return true;
}

static const char *replacements_exceed(const struct dreq *r, const struct dreq_risk *risk)
{
    if (risk->n_in > r->n_replacements) {
        return "there are more replacements than approved";
    }
    for (uint32_t i = 0; i < risk->n_in; i++) {
        bool named = false;
        for (uint32_t k = 0; k < r->n_replacements && !named; k++) {
            named = in_is_within(&risk->in[i], &r->replacements[k]);
        }
        if (!named) {
            return "a replacement is of another pool or capacity type than approved";
        }
    }
    return risk->price_in_pusd_h > dreq_price_in(r) ? "the replacements are dearer than approved"
                                                    : NULL;
}

/* saving >= 80% * approved * out / all_out, without leaving int64. */
static bool worth_it(const struct dreq *r, const struct dreq_risk *risk)
{
    int64_t all_out = dreq_price_out(r);
    __int128 wanted = (__int128)r->saving_pusd_h * DREQ_WORTH_PERCENT;
    __int128 got = (__int128)risk->saving_pusd_h * 100;
    if (risk->n_uids < r->n_candidates && all_out > 0) {
        wanted = wanted / all_out * risk->price_out_pusd_h;
    }
    return got >= wanted;
}

const char *dreq_exceeds(const struct dreq *r, const struct dreq_risk *risk)
{
    if (r->problem || risk->reason != r->reason) {
        return "its reason is not the one approved";
    }
    for (uint32_t i = 0; i < risk->n_uids; i++) {
        if (!dreq_has_candidate(r, risk->uids[i])) {
            return "a node leaves that was not approved";
        }
    }
    for (uint32_t i = 0; i < risk->n_singles; i++) {
        if (!warns_single(r, risk->singles[i])) {
            return "a single replica moves that was not approved";
        }
    }
    const char *why = replacements_exceed(r, risk);
    bool money = risk->reason == DISRUPT_UNDERUTILIZED && !risk->for_weight;
    return why || !money || worth_it(r, risk) ? why : "it saves less than 80% of what was approved";
}
