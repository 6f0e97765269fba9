/*
 * launchask.c - a launch in EC2's words: launch templates and overrides.
 *
 * Types that boot alike share a template: same image, same number of pods (AL2023's user data says
 * it), same EFA interfaces. Each capacity reservation has templates of its own, which name it.
 */
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"

#define GIB (INT64_C(1) << 30)
#define DEFAULT_GIB 20

struct asker {
    struct cloud *c;
    struct arena *a;
    const struct nodeclaim *nc;
    const struct nodeclass *cls;
    const struct market *m;
    const struct plan *plan;
    const json_t *spec;
    struct launch_ask *ask;
    const char *subnets[ZONES_MAX]; /* per zone of the catalog; NULL: none with room */
};

/* ---- tags ---------------------------------------------------------------------------------------
 */

static int tag_cmp(const void *a, const void *b)
{
    return str_cmp(((const struct ec2_tag *)a)->key, ((const struct ec2_tag *)b)->key);
}

/* The user's, then ours over them; by key. */
static struct ec2_tags base_tags(const struct asker *k)
{
    struct arena *a = k->a;
    const char *cluster = k->c->rt->opt->cluster_name;
    const json_t *user = jsonx_obj(k->spec, "tags");
    const struct ec2_tag own[] = {
        {arena_printf(a, "kubernetes.io/cluster/%s", cluster), "owned"},
        {TAG_POOL, arena_strdup(a, k->nc->pool)},
        {TAG_CLUSTER, cluster},
        {TAG_CLASS, arena_strdup(a, k->cls->m.name)},
        {TAG_CLUSTER_UID, arena_strdup(a, k->c->rt->cluster_uid)},
    };
    struct ec2_tag *v = ARENA_NEW_N(a, struct ec2_tag, json_object_size(user) + ARRAY_LEN(own) + 1);
    size_t n = ARRAY_LEN(own);
    memcpy(v, own, sizeof(own));
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)user, key, value) {
        const struct ec2_tags mine = {own, ARRAY_LEN(own)};
        if (json_is_string(value) && !ec2_tag(&mine, key)) {
            v[n++] =
                (struct ec2_tag){arena_strdup(a, key), arena_strdup(a, json_string_value(value))};
        }
    }
    qsort(v, n, sizeof(*v), tag_cmp);
    return (struct ec2_tags){v, n};
}

static struct ec2_tags with_claim(const struct asker *k, const struct ec2_tags *base)
{
    struct ec2_tag *v = ARENA_NEW_N(k->a, struct ec2_tag, base->n + 1);
    memcpy(v, base->v, base->n * sizeof(*v));
    v[base->n] = (struct ec2_tag){TAG_CLAIM_UID, arena_strdup(k->a, k->nc->m.uid)};
    return (struct ec2_tags){v, base->n + 1};
}

/* ---- volumes ------------------------------------------------------------------------------------
 */

static int8_t tristate(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_boolean(v) ? (int8_t)json_is_true(v) : -1;
}

static const char *text_of(struct arena *a, const json_t *o, const char *key)
{
    const char *s = jsonx_str(o, key);
    return s && *s ? arena_strdup(a, s) : NULL;
}

static void read_device(struct arena *a, const json_t *m, struct ec2_block_device *d)
{
    const json_t *ebs = jsonx_obj(m, "ebs");
    const char *size = jsonx_str(ebs, "volumeSize");
    int64_t bytes = 0;
    *d = (struct ec2_block_device){
        .device_name = text_of(a, m, "deviceName"),
        .volume_type = text_of(a, ebs, "volumeType"),
        .kms_key_id = text_of(a, ebs, "kmsKeyID"),
        .snapshot_id = text_of(a, ebs, "snapshotID"),
        .iops = jsonx_int(ebs, "iops", 0),
        .throughput = jsonx_int(ebs, "throughput", 0),
        .init_rate = jsonx_int(ebs, "volumeInitializationRate", 0),
        .encrypted = tristate(ebs, "encrypted"),
        .delete_on_termination = tristate(ebs, "deleteOnTermination"),
    };
    if (size && quantity_parse(size, &bytes) && bytes > 0) {
        d->size_gib = bytes / GIB + (bytes % GIB ? 1 : 0);
    }
}

static void put_devices(const struct asker *k, struct ec2_create_template *t)
{
    const json_t *list = jsonx_arr(k->spec, "blockDeviceMappings");
    size_t n = json_array_size(list);
    bool by_default = n == 0 && k->m->ec.family == FAMILY_AL2023;
    struct ec2_block_device *v = ARENA_NEW_N(k->a, struct ec2_block_device, n + 1);
    for (size_t i = 0; i < n; i++) {
        read_device(k->a, json_array_get(list, i), &v[i]);
    }
    if (by_default) {
        v[n++] = (struct ec2_block_device){.device_name = "/dev/xvda",
                                           .volume_type = "gp3",
                                           .size_gib = DEFAULT_GIB,
                                           .encrypted = 1,
                                           .delete_on_termination = -1};
    }
    t->devices = v;
    t->n_devices = n;
}

/* ---- network ------------------------------------------------------------------------------------
 */

static bool ipv6(const struct cloud *c)
{
    return c->home.dns_ip && strchr(c->home.dns_ip, ':');
}

static struct ec2_interface plain_interface(const struct asker *k)
{
    const json_t *tracking = jsonx_obj(k->spec, "connectionTracking");
    int64_t prefixes = jsonx_int(k->spec, "ipPrefixCount", -1);
    bool six = ipv6(k->c);
    const char **groups = ARENA_NEW_N(k->a, const char *, k->cls->n_sgs);
    for (uint32_t i = 0; i < k->cls->n_sgs; i++) {
        groups[i] = arena_strdup(k->a, k->cls->sgs[i].id);
    }
    return (struct ec2_interface){
        .group_ids = {groups, k->cls->n_sgs},
        .associate_public_ip = tristate(k->spec, "associatePublicIPAddress"),
        .primary_ipv6 = six ? 1 : -1,
        .ipv6_addresses = six ? 1 : -1,
        .ipv4_prefixes = six ? -1 : prefixes,
        .ipv6_prefixes = six ? prefixes : -1,
        .tcp_established_s = jsonx_int(tracking, "tcpEstablishedTimeout", 0),
        .udp_stream_s = jsonx_int(tracking, "udpStreamTimeout", 0),
        .udp_s = jsonx_int(tracking, "udpTimeout", 0),
    };
}

static void put_interfaces(const struct asker *k, int32_t efas, struct ec2_create_template *t)
{
    struct ec2_interface plain = plain_interface(k);
    size_t n = efas > 0 ? (size_t)efas : 1;
    struct ec2_interface *v = ARENA_NEW_N(k->a, struct ec2_interface, n);
    for (size_t i = 0; i < n; i++) {
        v[i] = plain;
        if (efas > 0) {
            v[i].type = "efa";
            v[i].send_card_index = true;
            v[i].card_index = (int64_t)i;
            v[i].device_index = i > 0 ? 1 : 0;
        }
    }
    t->interfaces = v;
    t->n_interfaces = n;
}

struct group {
    const char *image;
    int32_t pods, efas;
    struct reservation reservation; /* id SYM_NONE: none */
};

/* ---- one template ---------------------------------------------------------------------------- */

static void put_metadata(const struct asker *k, struct ec2_create_template *t)
{
    const json_t *o = jsonx_obj(k->spec, "metadataOptions");
    const char *region = k->c->rt->opt->region;
    const char *six = jsonx_str_or(o, "httpProtocolIPv6", "disabled");
    t->metadata = (struct ec2_metadata_options){
        .http_endpoint = arena_strdup(k->a, jsonx_str_or(o, "httpEndpoint", "enabled")),
        .http_tokens = arena_strdup(k->a, jsonx_str_or(o, "httpTokens", "required")),
        .http_protocol_ipv6 = str_starts(region, "us-iso") ? NULL : arena_strdup(k->a, six),
        .instance_metadata_tags = "disabled", /* keys with "/" break instance tags */
        .hop_limit = jsonx_int(o, "httpPutResponseHopLimit", 1),
    };
}

/* Labels of the node that kubelet sets itself: the claim's, the capacity type, and that the taints
 * are already there. */
static const struct label *node_labels(const struct asker *k, const struct reservation *r,
                                       uint32_t *ret_n)
{
    const struct labels *l = &k->nc->m.labels;
    struct label *v = ARENA_NEW_N(k->a, struct label, l->n + 5);
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        sym key = l->v[i].key;
        bool of_reservation = key == L_RESERVATION_ID || key == L_RESERVATION_TYPE ||
                              key == L_RESERVATION_INTERRUPTIBLE;
        if (key != L_CAPACITY_TYPE && key != L_DO_NOT_SYNC_TAINTS && !of_reservation) {
            v[n++] = l->v[i];
        }
    }
    v[n++] = (struct label){L_CAPACITY_TYPE, capacity_type_sym(k->plan->ct)};
    v[n++] = (struct label){L_DO_NOT_SYNC_TAINTS, V_TRUE};
    if (r->id != SYM_NONE) {
        v[n++] = (struct label){L_RESERVATION_ID, r->id};
        v[n++] = (struct label){L_RESERVATION_TYPE, r->kind};
        v[n++] = (struct label){L_RESERVATION_INTERRUPTIBLE, r->interruptible ? V_TRUE : V_FALSE};
    }
    *ret_n = n;
    return v;
}

static int put_user_data(const struct asker *k, const struct group *g,
                         struct ec2_create_template *t, struct err *reterr)
{
    const struct home *h = &k->c->home;
    struct userdata_in in = {.syms = k->c->rt->syms,
                             .cluster = k->c->rt->opt->cluster_name,
                             .endpoint = h->endpoint,
                             .ca_b64 = h->ca_b64,
                             .cidr = h->cidr,
                             .dns_ip = h->dns_ip,
                             .user = jsonx_str(k->spec, "userData"),
                             .kubelet = jsonx_obj(k->spec, "kubelet"),
                             .custom = k->m->ec.family == FAMILY_CUSTOM,
                             .raid0 = k->m->ec.instance_store_raid0,
                             .max_pods = g->pods,
                             .taints = &k->nc->taints,
                             .startup_taints = &k->nc->startup_taints};
    AUTO_BUF struct buf b;
    buf_init(&b, 4 * EC2_USER_DATA_MAX);
    in.labels = node_labels(k, &g->reservation, &in.n_labels);
    if (userdata_build(&in, &b, reterr) < 0) {
        return -1;
    }
    if (b.n > 0) {
        AUTO_FREE char *b64 = base64_encode(b.p, b.n);
        t->user_data_b64 = arena_strdup(k->a, b64);
    }
    return 0;
}

static const char *tenancy(const struct asker *k)
{
    const struct req *r = reqset_get(&k->nc->reqs, L_TENANCY);
    return r && !req_has(k->c->rt->syms, r, V_DEFAULT) ? "dedicated" : "default";
}

/* Others' open reservations are never used by chance: they are somebody's. */
static void put_reservation(const struct asker *k, const struct reservation *r,
                            struct ec2_create_template *t)
{
    const struct symtab *syms = k->c->rt->syms;
    if (r->id == SYM_NONE) {
        t->reservation_preference = k->c->rt->opt->gate_reserved_capacity ? "none" : NULL;
        return;
    }
    t->reservation_preference = "capacity-reservations-only";
    t->reservation_id = sym_str(syms, r->id);
    t->market_type = str_eq(sym_str(syms, r->kind), "capacity-block") ? "capacity-block"
                     : r->interruptible ? "interruptible-capacity-reservation"
                                        : NULL;
}

static int build_template(const struct asker *k, const struct group *g,
                          struct ec2_create_template *t, struct err *reterr)
{
    struct ec2_tag_spec *own = ARENA_NEW_N(k->a, struct ec2_tag_spec, 1);
    struct ec2_tag_spec *data = ARENA_NEW_N(k->a, struct ec2_tag_spec, 2);
    own[0] = (struct ec2_tag_spec){"launch-template", k->ask->tags};
    data[0] = (struct ec2_tag_spec){"network-interface", k->ask->tags};
    data[1] = (struct ec2_tag_spec){"spot-instances-request", k->ask->tags};
    *t = (struct ec2_create_template){
        .image_id = arena_strdup(k->a, g->image),
        .instance_profile = arena_strdup(k->a, k->cls->instance_profile),
        .monitoring = tristate(k->spec, "detailedMonitoring"),
        .tenancy = tenancy(k),
        .tags = {own, 1},
        .data_tags = {data, k->plan->ct == CT_SPOT ? 2 : 1},
    };
    put_devices(k, t);
    put_metadata(k, t);
    put_interfaces(k, g->efas, t);
    put_reservation(k, &g->reservation, t);
    if (put_user_data(k, g, t, reterr) < 0) {
        return -1;
    }
    template_name(k->a, t);
    return 0;
}

/* ---- overrides ------------------------------------------------------------------------------- */

/* Per zone the subnet with most free addresses, as far as they are known. */
static void choose_subnets(struct asker *k)
{
    const struct class_entry *e = class_entry(k->c, k->cls->m.name);
    int64_t best[ZONES_MAX];
    for (uint32_t i = 0; i < k->m->n_subnets; i++) {
        const struct market_subnet *s = &k->m->subnets[i];
        int64_t free_ips = 0;
        for (uint32_t r = 0; e && r < e->res.n_subnets; r++) {
            if (str_eq(e->res.subnets[r].id, s->id)) {
                free_ips = e->res.subnets[r].free_ips;
            }
        }
        if (s->zone < 0 || stock_subnet_full(k->c, s->id)) {
            continue;
        }
        if (!k->subnets[s->zone] || free_ips > best[s->zone]) {
            k->subnets[s->zone] = s->id;
            best[s->zone] = free_ips;
        }
    }
}

static void add_overrides(const struct asker *k, const struct plan_type *pt,
                          struct ec2_fleet_config *config, struct ec2_override *v)
{
    const struct symtab *t = k->c->rt->syms;
    const struct catalog *cat = k->m->catalog;
    for (uint32_t z = 0; z < catalog_n_zones(cat); z++) {
        if (!((pt->zones >> z) & 1) || !k->subnets[z]) {
            continue;
        }
        v[config->n_overrides++] = (struct ec2_override){
            .instance_type = sym_str(t, catalog_type_name(cat, pt->type)),
            .subnet_id = arena_strdup(k->a, k->subnets[z]),
            .zone = sym_str(t, catalog_zone(cat, z)),
            .image_id = arena_strdup(k->a, k->m->images[pt->type]),
            .priority_pusd_h = pt->reservation.id != SYM_NONE
                                   ? pt->price_pusd_h
                                   : offerings_price(k->m->offerings, pt->type, z, k->plan->ct),
        };
    }
}

static struct group group_of(const struct asker *k, const struct plan_type *pt)
{
    const struct ec2_fact *f = &ec2_facts[k->m->facts[pt->type]];
    const struct ec2_class *ec = &k->m->ec;
    struct group g = {.image = k->m->images[pt->type], .reservation = pt->reservation};
    if (ec->family == FAMILY_AL2023) {
        g.pods = ec->max_pods >= 0 ? ec->max_pods : ec2_max_pods(f, ec);
    }
    g.efas = k->nc->requests.v[RES_EFA] > 0 && f->efa_max > 0 ? f->efa_max : 0;
    return g;
}

static bool same_group(const struct group *x, const struct group *y)
{
    return x->pods == y->pods && x->efas == y->efas && x->reservation.id == y->reservation.id &&
           str_eq(x->image, y->image);
}

/* In the order of the groups' cheapest types. */
static int build_groups(struct asker *k, struct err *reterr)
{
    uint32_t n = k->plan->n_types;
    struct launch_ask *ask = k->ask;
    struct group *groups = ARENA_NEW_N(k->a, struct group, n);
    size_t room = (size_t)n * catalog_n_zones(k->m->catalog);
    ask->templates = ARENA_NEW_N(k->a, struct ec2_create_template, n);
    ask->configs = ARENA_NEW_N(k->a, struct ec2_fleet_config, n);
    ask->reservations = ARENA_NEW_N(k->a, struct reservation, n);
    struct ec2_override **v = ARENA_NEW_N(k->a, struct ec2_override *, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct plan_type *pt = &k->plan->types[i];
        struct group g = group_of(k, pt);
        uint32_t at = 0;
        while (at < ask->n && !same_group(&groups[at], &g)) {
            at++;
        }
        if (at == ask->n) {
            groups[ask->n] = g;
            v[at] = ARENA_NEW_N(k->a, struct ec2_override, room);
            ask->configs[at].overrides = v[at];
            ask->reservations[at] = g.reservation;
            if (build_template(k, &g, &ask->templates[at], reterr) < 0) {
                return -1;
            }
            ask->configs[at].template_name = ask->templates[at].name;
            ask->n++;
        }
        add_overrides(k, pt, &ask->configs[at], v[at]);
    }
    return 0;
}

/* Groups whose zones have no subnet with room ask for nothing. */
static void drop_empty(struct launch_ask *ask)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < ask->n; i++) {
        if (ask->configs[i].n_overrides > 0) {
            ask->configs[n] = ask->configs[i];
            ask->reservations[n] = ask->reservations[i];
            ask->templates[n++] = ask->templates[i];
        }
    }
    ask->n = n;
}

int launch_ask_build(struct cloud *c, struct arena *a, const struct nodeclaim *nc,
                     const struct nodeclass *cls, const struct market *m, const struct plan *plan,
                     struct launch_ask *ret, struct err *reterr)
{
    const struct class_entry *e = class_entry(c, cls->m.name);
    struct asker k = {.c = c, .a = a, .nc = nc, .cls = cls, .m = m, .plan = plan, .ask = ret};
    k.spec = e->spec;
    *ret = (struct launch_ask){.ct = plan->ct, .cls = arena_strdup(a, cls->m.name)};
    ret->tags = base_tags(&k);
    ret->instance_tags = with_claim(&k, &ret->tags);
    bool relaxed = str_eq(kvs_get(&nc->m.annotations, ANN_MIN_VALUES_RELAXED), "true");
    ret->context = relaxed ? NULL : text_of(a, e->spec, "context");
    choose_subnets(&k);
    if (build_groups(&k, reterr) < 0) {
        return -1;
    }
    drop_empty(ret);
    return 0;
}
