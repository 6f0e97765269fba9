/* publish.c - see publish.h. */
#include "publish.h"

#include "agent/claim/gc.h"
#include "agent/claim/launchlog.h"
#include "agent/cloud/cloud.h"
#include "agent/leave/spared.h"
#include "agent/store/observed.h"
#include "agent/store/store.h"
#include "agent/work/gate.h"
#include "agent/work/marker.h"
#include "agent/work/metrics.h"
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/ec2/ec2type.h"
#include "common/kube/client.h"

#define FACTS_KEY "facts.json"
#define PRICES_KEY "prices.json"
#define PUBLISH_ARENA_MAX ((size_t)16 << 20)
#define RESTORE_LOOK_NS (NS_PER_S / 2) /* ahead of the first decision */
#define RESTORE_TRIES 15u              /* nothing waits for what cannot be read */

static const char *const attention_codes[] = {"ClockSkew", "GarbageCollectionHalted", "LaunchBrake",
                                              "PriceSuspect"};

struct publish {
    struct runtime *rt;
    struct kube_client client;
    struct timer timer;
    uint64_t open;                /* request in flight, 0 = none */
    json_t *options;              /* as flags say, for good */
    json_t *content;              /* what was last decided on, without times */
    json_t *sent;                 /* the data in flight, for a create after a patch found nothing */
    uint64_t prices_version;      /* of which prices_hash is; 0 = none yet */
    char prices_hash[SHA256_HEX]; /* "": there are none to publish */
    char prices_written[SHA256_HEX]; /* what the object has; "" = not known */
    char prices_sent[SHA256_HEX];    /* what is in flight */
    int64_t generation;
    int64_t written_ns; /* monotonic; 0 = never */
    bool pending;       /* content has not reached the server yet */
    bool complained;
    bool restored;       /* the object of a process before us has been read */
    unsigned read_tries; /* at most RESTORE_TRIES */
};

/* ---- the content ----------------------------------------------------------------------------- */

/* Of what is compiled in, so that one look in the life of a process is enough. */
static const char *catalog_hash(void)
{
    static char hash[SHA256_HEX];
    if (!*hash) {
        AUTO_BUF struct buf text;
        buf_init(&text, 8u << 20);
        for (uint32_t i = 0; i < ec2_facts_n; i++) {
            const struct ec2_fact *f = &ec2_facts[i];
            buf_printf(&text, "%s %d %lld %d %d %lld\n", f->name, f->vcpus, (long long)f->mem_mib,
                       f->enis, f->ips_per_eni, (long long)ec2_builtin_price(f->name));
        }
        hash_sha256_hex(text.p, text.n, hash);
    }
    return hash;
}

static json_t *options_json(const struct agent_options *o)
{
    static const char *const modes[] = {"full", "observe", "provision"};
    static const char *const preferences[] = {"Respect", "Ignore", "Reasonable"};
    static const char *const min_values[] = {"Strict", "BestEffort"};
    char life[TIMEFMT_TEXT];
    json_t *ret = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:s, s:b, s:i, s:s}", "schedulerConfig",
        o->scheduler_config ? o->scheduler_config : "", "mode", modes[o->mode], "placement",
        sched_placement_name(o->placement), "preferencePolicy", preferences[o->preference],
        "minValuesPolicy", min_values[o->min_values], "budgetTimezone", o->budget_timezone,
        "vmMemoryOverheadPermyriad", o->vm_overhead_permyriad, "reservedENIs", o->reserved_enis,
        "approval", o->approval_text, "minNodeLife", timefmt_duration(o->min_node_life_ns, life),
        "returnToWeight", o->return_to_weight, "spotMinTypes", o->spot_min_types, "featureGates",
        o->gate_spot_to_spot ? "SpotToSpotConsolidation=true" : "");
    if (*o->min_saving_text) {
        json_object_set_new(ret, "minSaving", json_string(o->min_saving_text));
    }
    if (o->scheduler_config && *o->scheduler_config) {
        json_object_set_new(ret, "schedulerConfig", json_string(o->scheduler_config));
    }
    return ret;
}

static void add_aside(const struct publish *p, json_t *list)
{
    AUTO_BUF struct buf object, text;
    buf_init(&object, 1024);
    buf_init(&text, 1024);
    for (size_t i = 0; marker_aside(p->rt->marker, i, &object, &text); i++) {
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "code", MARKER_ATTENTION, "object",
                                              object.p, "message", text.p));
        buf_reset(&object);
        buf_reset(&text);
    }
}

static json_t *attention_json(const struct publish *p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ARRAY_LEN(attention_codes); i++) {
        const char *code = attention_codes[i];
        if (metrics_sum(p->rt->metrics, "karp_attention", LABELS("code", code)) > 0) {
            json_t *o = json_pack("{s:s, s:s}", "code", code, "object", "cluster");
            if (str_eq(code, "GarbageCollectionHalted") && gc_halted(p->rt->gc)) {
                json_object_set_new(o, "message", json_string(gc_halted(p->rt->gc)));
            }
            json_array_append_new(list, o);
        }
    }
    add_aside(p, list);
    return list;
}

static const char *capacity_name(enum capacity_type ct)
{
    static const char *const names[] = {"reserved", "spot", "on-demand"};
    return ct < CT_COUNT ? names[ct] : "";
}

static void add_stockouts(struct publish *p, json_t *o)
{
    struct arena mem;
    const struct stockout *v;
    arena_init(&mem, 0, PUBLISH_ARENA_MAX);
    uint32_t n = cloud_stockouts(p->rt->cloud, &mem, &v);
    uint32_t shown = n < PUBLISH_STOCKOUTS_MAX ? n : PUBLISH_STOCKOUTS_MAX;
    json_t *list = json_array();
    for (uint32_t i = 0; i < shown; i++) {
        char until[TIMEFMT_TEXT];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s}", "capacityType",
                                              capacity_name(v[i].ct), "instanceType", v[i].type,
                                              "zone", v[i].zone, "code", v[i].code ? v[i].code : "",
                                              "until", timefmt_rfc3339(v[i].until_ns, until)));
    }
    json_object_set_new(o, "unavailableOfferings", list);
    if (n > shown) {
        json_object_set_new(o, "omitted", json_integer(n - shown));
    }
    arena_done(&mem);
}

static void add_reservations(struct publish *p, json_t *o)
{
    struct arena mem;
    const struct cloud_reservation *v;
    arena_init(&mem, 0, PUBLISH_ARENA_MAX);
    uint32_t n = cloud_reservations(p->rt->cloud, &mem, &v);
    json_t *left = n > 0 ? json_object() : NULL;
    for (uint32_t i = 0; i < n; i++) {
        json_object_set_new(left, v[i].id, json_integer(v[i].left));
    }
    if (left) {
        json_object_set_new(o, "capacityReservations", left);
    }
    arena_done(&mem);
}

/* Pools that keep their nodes, by name. */
static json_t *failing_json(const struct publish *p)
{
    struct arena mem;
    uint32_t n = 0;
    json_t *ret = json_array();
    arena_init(&mem, 0, PUBLISH_ARENA_MAX);
    const struct map *pools = store_all(p->rt->store, STORE_POOL);
    const char **names = ARENA_NEW_N(&mem, const char *, map_count(pools));
    for (MAP_EACH(pools, e)) {
        if (launchlog_failing(p->rt->launches, map_key(e))) {
            names[n++] = map_key(e);
        }
    }
    if (n > 1) {
        qsort(names, n, sizeof(*names), str_qsort_cmp);
    }
    for (uint32_t i = 0; i < n; i++) {
        json_array_append_new(ret, json_string(names[i]));
    }
    arena_done(&mem);
    return ret;
}

/* Takes the list over; one without rows is left out. */
static void add_list(json_t *o, const char *key, json_t *list)
{
    if (json_array_size(list) > 0) {
        json_object_set(o, key, list);
    }
    json_decref(list);
}

/* The prices; NULL where they are too many. */
static char *prices_text(const struct publish *p)
{
    AUTO_BUF struct buf text;
    buf_init(&text, PUBLISH_PRICES_MAX);
    return cloud_prices(p->rt->cloud, &text) ? buf_take(&text) : NULL;
}

static void hash_prices(struct publish *p)
{
    uint64_t version = cloud_prices_version(p->rt->cloud);
    if (version == p->prices_version) {
        return;
    }
    char *text AUTO_FREE = prices_text(p);
    p->prices_version = version;
    *p->prices_hash = '\0';
    if (text) {
        hash_sha256_hex(text, strlen(text), p->prices_hash);
    } else {
        log_error(p->rt->log, "prices are too many to be published", "ConfigMap",
                  PUBLISH_CONFIG_MAP);
    }
}

static json_t *content_json(struct publish *p)
{
    hash_prices(p);
    json_t *o = json_pack("{s:i, s:s, s:O, s:s, s:s, s:o}", "schema", 1, "version", KARP_VERSION,
                          "options", p->options, "catalogHash", catalog_hash(), "pricesHash",
                          p->prices_hash, "attention", attention_json(p));
    add_stockouts(p, o);
    add_reservations(p, o);
    add_list(o, OBSERVATION_KEY, observed_json(p->rt->observed));
    add_list(o, "spared", spared_json(p->rt->spared));
    add_list(o, "launchesFailing", failing_json(p));
    return o;
}

/* ---- what was there before --------------------------------------------------------------------
 */

static void restore_stockout(struct publish *p, const json_t *o)
{
    struct stockout s = {.type = jsonx_str(o, "instanceType"),
                         .zone = jsonx_str(o, "zone"),
                         .code = jsonx_str_or(o, "code", "")};
    const char *until = jsonx_str_or(o, "until", ""), *ct = jsonx_str(o, "capacityType");
    if (!s.type || !s.zone || !timefmt_parse_rfc3339(until, &s.until_ns)) {
        return;
    }
    for (int i = 0; i < CT_COUNT; i++) {
        if (str_eq(ct, capacity_name((enum capacity_type)i))) {
            s.ct = (enum capacity_type)i;
            cloud_stockout_restore(p->rt->cloud, &s);
        }
    }
}

static void restore(struct publish *p, const json_t *cm)
{
    const char *text = json_string_value(json_object_get(jsonx_obj(cm, "data"), FACTS_KEY));
    AUTO_JSON json_t *facts =
        text ? jsonx_parse(text, strlen(text), PUBLISH_CONFIG_MAP, NULL) : NULL;
    const json_t *list = jsonx_arr(facts, "unavailableOfferings");
    int64_t generation = jsonx_int(facts, "generation", 0);
    if (generation > 0 && generation < INT64_MAX / 2) {
        p->generation = generation;
    }
    for (size_t i = 0; i < json_array_size(list) && i < PUBLISH_STOCKOUTS_MAX; i++) {
        restore_stockout(p, json_array_get(list, i));
    }
    observed_restore(p->rt->observed, jsonx_arr(facts, OBSERVATION_KEY));
}

static void on_read(void *arg, const struct kube_resp *resp)
{
    struct publish *p = arg;
    p->open = 0;
    if (resp->err.kind == ERR_NONE && resp->body) {
        restore(p, resp->body);
        p->restored = true;
    } else {
        p->restored = !err_transient(&resp->err) || ++p->read_tries >= RESTORE_TRIES;
    }
}

static void read_before(struct publish *p)
{
    p->open = kube_get(&p->client, KIND_CONFIG_MAP, p->rt->opt->ns, PUBLISH_CONFIG_MAP, on_read, p);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void answered(struct publish *p, const struct kube_resp *resp)
{
    p->open = 0;
    if (resp->err.kind == ERR_NONE) {
        p->pending = false;
        p->complained = false;
        str_copy(p->prices_written, sizeof(p->prices_written), p->prices_sent);
    } else if (!p->complained && resp->err.kind != ERR_CANCELLED) {
        p->complained = true;
        log_error(p->rt->log, "cannot publish facts", "ConfigMap", PUBLISH_CONFIG_MAP, "namespace",
                  p->rt->opt->ns, "error", resp->err.msg);
    }
}

static void on_created(void *arg, const struct kube_resp *resp)
{
    answered(arg, resp);
}

/* With none, what was there goes. */
static void add_prices(struct publish *p)
{
    char *text AUTO_FREE = prices_text(p);
    *p->prices_sent = '\0';
    if (text) {
        json_object_set_new(p->sent, PRICES_KEY, json_string(text));
        hash_sha256_hex(text, strlen(text), p->prices_sent);
    } else {
        json_object_set_new(p->sent, PRICES_KEY, json_null());
    }
}

static void on_patched(void *arg, const struct kube_resp *resp)
{
    struct publish *p = arg;
    if (resp->err.kind != ERR_NOT_FOUND) {
        answered(p, resp);
        return;
    }
    add_prices(p);
    if (!*p->prices_sent) {
        json_object_del(p->sent, PRICES_KEY); /* nothing that were to be taken away */
    }
    AUTO_JSON json_t *cm =
        json_pack("{s:{s:s}, s:O}", "metadata", "name", PUBLISH_CONFIG_MAP, "data", p->sent);
    p->open = kube_create(&p->client, KIND_CONFIG_MAP, p->rt->opt->ns, cm, on_created, p);
}

static void send_facts(struct publish *p)
{
    char now[TIMEFMT_TEXT];
    AUTO_JSON json_t *facts = json_copy(p->content);
    json_object_set_new(facts, "generation", json_integer(p->generation));
    json_object_set_new(facts, "writtenAt",
                        json_string(timefmt_rfc3339(clock_wall(p->rt->clock), now)));
    char *text AUTO_FREE = jsonx_dump(facts);
    json_decref(p->sent);
    p->sent = json_pack("{s:s}", FACTS_KEY, text);
    p->written_ns = clock_mono(p->rt->clock);
    if (!str_eq(p->prices_hash, p->prices_written)) {
        add_prices(p);
    }
    AUTO_JSON json_t *patch = json_pack("{s:O}", "data", p->sent);
    p->open = kube_patch(&p->client, KIND_CONFIG_MAP, p->rt->opt->ns, PUBLISH_CONFIG_MAP, NULL,
                         patch, NULL, on_patched, p);
}

static bool may_write(const struct publish *p)
{
    const struct runtime *rt = p->rt;
    return cloud_ready(rt->cloud) &&
           (rt->opt->mode == MODE_OBSERVE ? !gate_standby(rt->gate) : gate_open(rt->gate));
}

static void look(void *arg)
{
    struct publish *p = arg;
    int64_t now_ns = clock_mono(p->rt->clock);
    int64_t pause_ns = p->restored ? PUBLISH_LOOK_NS : RESTORE_LOOK_NS;
    timer_set(&p->rt->timers, &p->timer, now_ns + pause_ns, look, p);
    if (p->open || !may_write(p)) {
        return;
    }
    if (!p->restored) {
        read_before(p);
        return;
    }
    json_t *content = content_json(p);
    if (!p->content || !json_equal(content, p->content)) {
        p->generation++;
        p->pending = true;
    }
    json_decref(p->content);
    p->content = content;
    bool due = now_ns - p->written_ns >= PUBLISH_PERIOD_NS;
    bool fresh = p->pending && !p->complained;
    if (p->written_ns == 0 || due || fresh) {
        send_facts(p);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

struct publish *publish_new(struct runtime *rt)
{
    struct publish *p = NEW(struct publish);
    p->rt = rt;
    /* An observing agent's fence is closed for good; this object is what it may write. */
    p->client = (struct kube_client){.port = rt->opt->mode == MODE_OBSERVE ? gate_raw_kube(rt->gate)
                                                                           : &rt->kube,
                                     .field_manager = "karp-agent"};
    p->options = options_json(rt->opt);
    return p;
}

void publish_free(struct publish *p)
{
    if (!p) {
        return;
    }
    timer_stop(&p->rt->timers, &p->timer);
    kube_cancel(&p->client, p->open);
    json_decref(p->options);
    json_decref(p->content);
    json_decref(p->sent);
    free(p);
}

void publish_start(struct publish *p)
{
    timer_set(&p->rt->timers, &p->timer, clock_mono(p->rt->clock) + RESTORE_LOOK_NS, look, p);
}
