/* requests.c - see requests.h. */
#include "requests.h"

#include "cmd/screen.h"
#include "cmd/status/holds.h"
#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/core/consent/approval.h"
#include "common/core/labels.h"
#include "targets.h"

static const enum disruption_reason reasons[] = {DISRUPT_UNDERUTILIZED, DISRUPT_DRIFTED,
                                                 DISRUPT_EMPTY};

int64_t requests_now(const struct world *w)
{
    return w->now_ns + w->skew_ns;
}

const struct dreq *requests_find(const struct world *w, const char *name)
{
    for (size_t i = 0; i < world_n(w, KIND_DISRUPTION_REQUEST); i++) {
        const struct dreq *r = world_at(w, KIND_DISRUPTION_REQUEST, i);
        if (str_eq(r->m.name, name)) {
            return r;
        }
    }
    return NULL;
}

const struct dgrant *grants_find(const struct world *w, const char *name)
{
    for (size_t i = 0; i < world_n(w, KIND_DISRUPTION_GRANT); i++) {
        const struct dgrant *g = world_at(w, KIND_DISRUPTION_GRANT, i);
        if (str_eq(g->m.name, name)) {
            return g;
        }
    }
    return NULL;
}

/* ---- where a request stands ------------------------------------------------------------------ */

bool request_waits(const struct dreq *r, int64_t now_ns)
{
    return dreq_open(r) && r->phase == DREQ_PENDING && r->decision == DREQ_UNDECIDED &&
           !dreq_expired(r, now_ns) && !*r->superseded_by;
}

bool request_goes(const struct dreq *r, int64_t now_ns)
{
    bool yes = r->phase == DREQ_APPROVED || r->phase == DREQ_EXECUTING ||
               (r->phase == DREQ_PENDING && r->decision == DREQ_YES);
    return yes && !r->problem && dreq_open(r) && !dreq_expired(r, now_ns);
}

struct requests_count requests_waiting(const struct world *w)
{
    struct requests_count ret = {0};
    for (size_t i = 0; i < world_n(w, KIND_DISRUPTION_REQUEST); i++) {
        const struct dreq *r = world_at(w, KIND_DISRUPTION_REQUEST, i);
        if (!request_waits(r, requests_now(w))) {
            continue;
        }
        ret.n++;
        if (r->expires_ns && (!ret.first_ns || r->expires_ns < ret.first_ns)) {
            ret.first_ns = r->expires_ns;
        }
        if (r->m.created_ns && (!ret.oldest_ns || r->m.created_ns < ret.oldest_ns)) {
            ret.oldest_ns = r->m.created_ns;
        }
    }
    return ret;
}

static const char *ago(struct arena *a, int64_t then_ns, int64_t now_ns)
{
    return then_ns ? arena_printf(a, " %s ago", screen_age(a, now_ns - then_ns)) : "";
}

const char *request_decision(struct arena *a, const struct dreq *r, int64_t now_ns)
{
    if (r->decision == DREQ_UNDECIDED) {
        return NULL;
    }
    const char *claimed =
        *r->on_behalf_of ? arena_printf(a, " on behalf of %s (as it claims)", r->on_behalf_of) : "";
    const char *later =
        r->not_before_ns > now_ns
            ? arena_printf(a, ", not before %s UTC", screen_clock(a, r->not_before_ns, now_ns))
            : "";
    return arena_printf(a, "%s by %s%s%s%s%s%s", r->decision == DREQ_YES ? "approved" : "denied",
                        r->decided_by, claimed, ago(a, r->decided_ns, now_ns), later,
                        *r->note ? ": " : "", r->note);
}

const char *request_closed(const struct world *w, struct arena *a, const struct dreq *r)
{
    int64_t now_ns = requests_now(w);
    const char *decision = request_decision(a, r, now_ns);
    if (*r->superseded_by) {
        return arena_printf(a, "plan changed since it was filed, superseded by %s",
                            r->superseded_by);
    }
    if (r->phase > DREQ_APPROVED && r->phase != DREQ_DENIED) {
        const char *by = *r->grant  ? arena_printf(a, ", covered by grant %s", r->grant)
                         : decision ? arena_printf(a, ", %s", decision)
                                    : "";
        return arena_printf(a, "it is %s%s", dreq_phase_name(r->phase), by);
    }
    if (decision) {
        return arena_printf(a, "already %s", decision);
    }
    if (r->m.deleted_ns) {
        return "it is being deleted";
    }
    if (r->phase == DREQ_DENIED) {
        return "it is Denied";
    }
    if (dreq_expired(r, now_ns)) {
        return arena_printf(a, "it expired%s", ago(a, r->expires_ns, now_ns));
    }
    if (r->problem) {
        return arena_printf(a, "it cannot be read: %s", r->problem);
    }
    if (r->phase == DREQ_APPROVED) {
        return *r->grant ? arena_printf(a, "grant %s covers it already", r->grant)
                         : "it is Approved already";
    }
    return NULL;
}

static const char *candidate_stale(const struct world *w, struct arena *a,
                                   const struct dreq_candidate *c)
{
    const struct nodeclaim *nc = target_claim(w, c->claim);
    const char *node = *c->node ? c->node : arena_printf(a, "nodeclaim/%s", c->claim);
    return !nc                          ? arena_printf(a, "%s is gone", node)
           : !str_eq(nc->m.uid, c->uid) ? arena_printf(a, "%s is another node by now", node)
           : nc->m.deleted_ns           ? arena_printf(a, "%s is leaving already", node)
                                        : NULL;
}

const char *request_stale(const struct world *w, struct arena *a, const struct dreq *r)
{
    const char *why = NULL;
    for (uint32_t i = 0; i < r->n_candidates && !why && !w->hidden[KIND_NODE_CLAIM]; i++) {
        why = candidate_stale(w, a, &r->candidates[i]);
    }
    return why ? arena_printf(a, "plan changed since it was filed: %s", why) : NULL;
}

/* ---- risk ------------------------------------------------------------------------------------ */

static bool to_spot(const struct dreq *r)
{
    bool on_demand = false, spot = false;
    for (uint32_t i = 0; i < r->n_candidates; i++) {
        on_demand = on_demand || str_eq(r->candidates[i].capacity_type, "on-demand");
    }
    for (uint32_t i = 0; i < r->n_replacements; i++) {
        const struct dreq_replacement *in = &r->replacements[i];
        for (uint32_t k = 0; k < in->n_capacity_types; k++) {
            spot = spot || str_eq(in->capacity_types[k], "spot");
        }
    }
    return on_demand && spot;
}

/* Without its namespace. */
static const char *pod_name(const char *warning, const char *prefix)
{
    const char *pod = warning + strlen(prefix), *slash = strchr(pod, '/');
    return slash ? slash + 1 : pod;
}

const char *request_risk(struct arena *a, const struct dreq *r)
{
    const char *first = NULL, *spot = to_spot(r) ? "od to spot" : "";
    uint32_t singles = 0, naked = 0;
    for (uint32_t i = 0; i < r->n_warnings; i++) {
        bool single = str_starts(r->warnings[i], DREQ_SINGLE);
        first = single && !first ? pod_name(r->warnings[i], DREQ_SINGLE) : first;
        singles += single;
        naked += str_starts(r->warnings[i], DREQ_NAKED);
    }
    const char *single = singles == 0           ? ""
                         : singles + naked == 1 ? arena_printf(a, "single replica: %s", first)
                                                : screen_count(a, singles, "single replica");
    const char *bare = naked ? screen_count(a, naked, "naked pod") : "";
    const char *text = arena_printf(a, "%s%s%s%s%s", spot, *spot && *single ? ", " : "", single,
                                    (*spot || *single) && *bare ? ", " : "", bare);
    return r->problem ? "unreadable" : *text ? text : "-";
}

/* ---- grants ---------------------------------------------------------------------------------- */

json_t *request_reasons_json(unsigned bits)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (bits & (unsigned)reasons[i]) {
            (void)json_array_append_new(list, json_string(approval_reason_name(reasons[i])));
        }
    }
    return list;
}

const char *grant_reasons(struct arena *a, const struct dgrant *g)
{
    const char *text = "";
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (g->reasons & (unsigned)reasons[i]) {
            text =
                arena_printf(a, "%s%s%s", text, *text ? "," : "", approval_reason_name(reasons[i]));
        }
    }
    return text;
}

const char *grant_pools(struct arena *a, const struct dgrant *g)
{
    const char *text = "";
    for (uint32_t i = 0; i < g->n_pools; i++) {
        if (str_eq(g->pools[i], DGRANT_ALL_POOLS)) {
            return "every pool";
        }
        text = arena_printf(a, "%s%s%s", text, *text ? "," : "", g->pools[i]);
    }
    return text;
}

const char *grant_state(struct arena *a, const struct dgrant *g, int64_t now_ns)
{
    if (g->problem) {
        return "unreadable";
    }
    if (!dgrant_in_force(g, now_ns)) {
        return "over";
    }
    if (dgrant_open(g, now_ns)) {
        return "open";
    }
    int64_t next_ns = cron_next(&g->schedule, g->tz, now_ns);
    return next_ns == NS_NEVER
               ? "never opens"
               : arena_printf(a, "closed until %s", screen_clock(a, next_ns, now_ns));
}

const struct dgrant *grants_cover(const struct world *w, const char *pool, unsigned asked)
{
    for (size_t i = 0; i < world_n(w, KIND_DISRUPTION_GRANT); i++) {
        const struct dgrant *g = world_at(w, KIND_DISRUPTION_GRANT, i);
        bool all = dgrant_open(g, requests_now(w));
        for (size_t k = 0; k < ARRAY_LEN(reasons); k++) {
            all = all && (!(asked & (unsigned)reasons[k]) || dgrant_names(g, pool, reasons[k]));
        }
        if (all) {
            return g;
        }
    }
    return NULL;
}

void grants_banner(const struct world *w, const struct facts *f, const struct term *t,
                   struct arena *a, struct buf *out)
{
    int64_t now_ns = requests_now(w);
    size_t n = 0;
    for (size_t i = 0; i < world_n(w, KIND_DISRUPTION_GRANT) && holds_obeyed(f); i++) {
        const struct dgrant *g = world_at(w, KIND_DISRUPTION_GRANT, i);
        if (!dgrant_open(g, now_ns) || n++ >= GRANTS_LINES) {
            continue;
        }
        bool ends = g->expires_ns != DGRANT_WITHOUT_END;
        term_put(t, COLOR_BLUE, "GRANTED", out);
        buf_putc(out, ' ');
        screen_wrap(t, a, 8,
                    arena_printf(a, "%s by %s: %s of %s needs no decision%s%s%s", g->m.name,
                                 g->granted_by, grant_reasons(a, g), grant_pools(a, g),
                                 ends ? " until " : "",
                                 ends ? screen_clock(a, g->expires_ns, now_ns) : "",
                                 *g->note ? arena_printf(a, " (%s)", g->note) : ""),
                    out);
        buf_putc(out, '\n');
    }
    if (n > GRANTS_LINES) {
        buf_printf(out, "        %zu more (kubectl karp grant)\n", n - GRANTS_LINES);
    }
    if (n > 0) {
        buf_putc(out, '\n');
    }
}
