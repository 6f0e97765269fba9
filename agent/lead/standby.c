/* standby.c - see standby.h. */
#include "standby.h"

#include "agent/work/gate.h"
#include "agent/work/metrics.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "lease.h"

#define DEFAULT_DURATION_S 15

/* What was seen of one Lease at the last list. */
struct seen {
    char *renewed;
    unsigned changes; /* lists in a row at which it had changed */
    bool here;
};

struct standby {
    struct runtime *rt;
    struct timer timer;
    uint64_t open;
    struct map *leases; /* "ns/name" → struct seen */
    bool known;
    struct metric_family *gauge;
};

static void standby_list(void *arg);

static struct seen *seen_of(struct standby *s, const json_t *lease)
{
    char key[512];
    snprintf(key, sizeof(key), "%s/%s", jsonx_str_or(lease, "metadata.namespace", ""),
             jsonx_str_or(lease, "metadata.name", ""));
    struct seen *have = map_get(s->leases, key);
    if (!have) {
        bool full = false;
        have = NEW(struct seen);
        map_put(s->leases, key, have, &full);
        if (full) {
            free(have);
            return NULL;
        }
    }
    return have;
}

static bool is_fresh(struct standby *s, const json_t *lease)
{
    const char *renewed = jsonx_str_or(lease, "spec.renewTime", "");
    int64_t seconds = jsonx_int(lease, "spec.leaseDurationSeconds", DEFAULT_DURATION_S);
    int64_t renewed_ns, now_ns = clock_wall(s->rt->clock);
    struct seen *seen = seen_of(s, lease);
    bool changed = !seen || !seen->renewed || !str_eq(seen->renewed, renewed);
    if (seen) {
        seen->here = true;
        seen->changes = changed && seen->renewed ? seen->changes + 1 : 0;
        free(seen->renewed);
        seen->renewed = xstrdup(renewed);
    }
    if (!timefmt_parse_rfc3339(renewed, &renewed_ns)) {
        return false;
    }
    if (renewed_ns > now_ns) {
        return changed;
    }
    /* Old by our clock: alive all the same if it has moved at two lists in a row. */
    return now_ns - renewed_ns < seconds * NS_PER_S || (seen && seen->changes >= 2);
}

static void forget_gone(struct standby *s)
{
    for (MAP_EACH(s->leases, e)) {
        struct seen *seen = map_value(e);
        if (!seen->here) {
            map_del(s->leases, map_key(e));
            free(seen->renewed);
            free(seen);
        } else {
            seen->here = false;
        }
    }
}

static bool foreign(const json_t *lease)
{
    const char *holder = jsonx_str_or(lease, "spec.holderIdentity", "");
    return str_eq(jsonx_str_or(lease, "metadata.name", ""), STANDBY_LEASE) && *holder &&
           !str_starts(holder, LEASE_IDENTITY_PREFIX);
}

static void standby_set(struct standby *s, const json_t *lease)
{
    bool on = lease != NULL;
    metric_set(s->gauge, NULL, on ? 1 : 0);
    if (on && (!gate_standby(s->rt->gate) || !s->known)) {
        log_info(s->rt->log, "standing by: another controller is in charge", "holder",
                 jsonx_str_or(lease, "spec.holderIdentity", ""), "namespace",
                 jsonx_str_or(lease, "metadata.namespace", ""));
    } else if (!on && s->known && gate_standby(s->rt->gate)) {
        log_info(s->rt->log, "taking over: no other controller is in charge any more");
    }
    s->known = true;
    gate_set_standby(s->rt->gate, on);
}

static void on_list(void *arg, const struct kube_resp *resp)
{
    struct standby *s = arg;
    s->open = 0;
    int64_t wait_ns = STANDBY_AGAIN_NS;
    if (resp->err.kind != ERR_NONE) {
        log_error(s->rt->log, "cannot list Leases", "error", resp->err.msg);
    } else {
        const json_t *found = NULL, *lease;
        size_t i;
        json_array_foreach (jsonx_arr(resp->body, "items"), i, lease) {
            if (foreign(lease) && is_fresh(s, lease)) {
                found = lease;
            }
        }
        forget_gone(s);
        standby_set(s, found);
        wait_ns = found ? STANDBY_AGAIN_NS : STANDBY_PERIOD_NS;
    }
    timer_set(&s->rt->timers, &s->timer, clock_mono(s->rt->clock) + wait_ns, standby_list, s);
}

static void standby_list(void *arg)
{
    struct standby *s = arg;
    struct kube_list_opts o = {.field_selector = "metadata.name=" STANDBY_LEASE};
    s->open = kube_list(&s->rt->client, KIND_LEASE, &o, on_list, s);
}

struct standby *standby_new(struct runtime *rt)
{
    struct standby *s = NEW(struct standby);
    s->rt = rt;
    s->leases = map_new(STANDBY_LEASES_MAX);
    s->gauge = metrics_family(rt->metrics, "karp_standby",
                              "1 while another controller is in charge of the cluster.",
                              METRIC_GAUGE, NULL, NULL, 0);
    metric_set(s->gauge, NULL, 0);
    return s;
}

void standby_free(struct standby *s)
{
    if (!s) {
        return;
    }
    timer_stop(&s->rt->timers, &s->timer);
    if (s->open) {
        kube_cancel(&s->rt->client, s->open);
    }
    for (MAP_EACH(s->leases, e)) {
        struct seen *seen = map_value(e);
        free(seen->renewed);
        free(seen);
    }
    map_free(s->leases);
    free(s);
}

void standby_start(struct standby *s)
{
    if (s->rt->opt->mode != MODE_OBSERVE) {
        standby_list(s);
    }
}
