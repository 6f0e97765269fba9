/* ec2_cloud.c - birth and death of the account, its zones, subnets and images. */
#include "ec2_priv.h"

#include <stdarg.h>

#define FIRST_RELEASE "v20260101"
#define FIRST_RELEASE_WALL_NS (INT64_C(1767225600) * NS_PER_S) /* 2026-01-01 */

void simec2_opts_default(struct simec2_opts *o)
{
    *o = (struct simec2_opts){
        .region = "us-west-2",
        .account = "111122223333",
        .cluster = "sim",
        .queue = "sim",
        .endpoint = "https://api.sim:6443",
        .ca_b64 = "c2ltdWxhdGVkIGNlcnRpZmljYXRlIGF1dGhvcml0eQ==",
        .k8s_version = "1.34",
        .service_cidr = "10.96.0.0/16",
        .fleet_ns = 2 * NS_PER_S,
        .boot_ns = 30 * NS_PER_S,
        .terminate_ns = 5 * NS_PER_S,
        .first_host = 16,
    };
}

int64_t simec2_mono(const struct simec2 *e)
{
    return clock_mono(e->clock);
}

int64_t simec2_wall(const struct simec2 *e)
{
    return clock_wall(e->clock);
}

void simec2_id(struct simec2 *e, const char *prefix, char dst[32])
{
    snprintf(dst, 32, "%s-%017llx", prefix, (unsigned long long)++e->ids);
}

void simec2_note(struct simec2 *e, const char *fmt, ...)
{
    if (!e->hooks.note) {
        return;
    }
    char text[320];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    e->hooks.note(e->hooks.ctx, text);
}

/* ---- zones and subnets ---------------------------------------------------------------------- */

/* us-west-2a is usw2-az1: the region's parts shortened, the letter's number. */
static void zone_id(const char *region, const char *zone, char dst[24])
{
    static const struct {
        const char *word, *brief;
    } words[] = {{"north", "n"},      {"south", "s"},      {"east", "e"},
                 {"west", "w"},       {"central", "c"},    {"northeast", "ne"},
                 {"northwest", "nw"}, {"southeast", "se"}, {"southwest", "sw"}};
    size_t n = strlen(region), w = 0;
    for (size_t i = 0; i < n && w < 16;) {
        size_t len = strcspn(region + i, "-");
        const char *brief = region + i;
        size_t brief_n = len;
        for (size_t k = 0; k < ARRAY_LEN(words); k++) {
            if (strlen(words[k].word) == len && memcmp(words[k].word, region + i, len) == 0) {
                brief = words[k].brief;
                brief_n = strlen(brief);
            }
        }
        memcpy(dst + w, brief, brief_n < 7 ? brief_n : 7);
        w += brief_n < 7 ? brief_n : 7;
        i += len + 1;
    }
    int letter = strlen(zone) > n ? zone[n] - 'a' + 1 : 0;
    snprintf(dst + w, 24 - w, "-az%d", letter);
}

static int make_zones(struct simec2 *e, struct err *reterr)
{
    const char *const *zones = ec2_builtin_zones(e->opts.region);
    if (!zones || !zones[0]) {
        return err_set(reterr, ERR_INVALID, "region %s: no offerings are known", e->opts.region);
    }
    e->zones = zones;
    while (zones[e->n_zones]) {
        e->n_zones++;
    }
    e->subnets = ARENA_NEW_N(&e->mem, struct simec2_subnet, e->n_zones);
    for (uint32_t z = 0; z < e->n_zones; z++) {
        struct simec2_subnet *s = &e->subnets[z];
        snprintf(s->id, sizeof(s->id), "subnet-%017x", z + 1);
        s->zone = zones[z];
        zone_id(e->opts.region, zones[z], s->zone_id);
        s->free_ips = SUBNET_FREE_IPS;
        s->next_host = e->opts.first_host;
    }
    return 0;
}

const char *const *simec2_zones(const struct simec2 *e)
{
    return e->zones;
}

int simec2_zone_no(const struct simec2 *e, const char *zone)
{
    for (uint32_t z = 0; z < e->n_zones; z++) {
        if (str_eq(e->zones[z], zone)) {
            return (int)z;
        }
    }
    return -1;
}

struct simec2_subnet *simec2_subnet_find(struct simec2 *e, const char *id)
{
    for (uint32_t z = 0; z < e->n_zones; z++) {
        if (str_eq(e->subnets[z].id, id)) {
            return &e->subnets[z];
        }
    }
    return NULL;
}

bool simec2_is_group(const char *id)
{
    return str_eq(id, SIMEC2_GROUP_ID) || str_eq(id, SIMEC2_EXTRA_ID);
}

/* ---- images --------------------------------------------------------------------------------- */

static void image_name(const struct simec2 *e, const struct simec2_image *i, char *dst, size_t size)
{
    if (str_eq(i->family, "bottlerocket")) {
        const char *nvidia = str_eq(i->variant, "nvidia") ? "-nvidia" : "";
        snprintf(dst, size, "bottlerocket-aws-k8s-%s%s-%s-%s", e->opts.k8s_version, nvidia, i->arch,
                 i->release);
    } else {
        snprintf(dst, size, "amazon-eks-node-al2023-%s-%s-%s-%s", i->arch, i->variant,
                 e->opts.k8s_version, i->release);
    }
}

struct simec2_image *simec2_image_find(const struct simec2 *e, const char *id)
{
    for (size_t i = 0; i < e->n_images; i++) {
        if (str_eq(e->images[i]->id, id)) {
            return e->images[i];
        }
    }
    return NULL;
}

static void add_image(struct simec2 *e, const char *family, const char *arch, const char *variant,
                      const char *release, const char *id, int64_t created_ns)
{
    struct simec2_image *i = ARENA_NEW(&e->mem, struct simec2_image);
    if (id) {
        str_copy(i->id, sizeof(i->id), id);
    } else {
        simec2_id(e, "ami", i->id);
    }
    i->family = family;
    i->arch = arch;
    i->variant = variant;
    str_copy(i->release, sizeof(i->release), release);
    i->created_ns = created_ns;
    image_name(e, i, i->name, sizeof(i->name));
    ARRAY_GROW(e->images, e->n_images, e->cap_images);
    e->images[e->n_images++] = i;
}

int simec2_images_release(struct simec2 *e, const char *release, const char *x86_id,
                          const char *arm_id, struct err *reterr)
{
    if (e->n_images + 9 > IMAGES_MAX) {
        return err_set(reterr, ERR_LIMIT, "more than %u images", IMAGES_MAX);
    }
    if (strlen(release) >= sizeof(e->images[0]->release) || strlen(release) == 0) {
        return err_set(reterr, ERR_INVALID, "\"%s\" is no release", release);
    }
    if ((x86_id && simec2_image_find(e, x86_id)) || (arm_id && simec2_image_find(e, arm_id))) {
        return err_set(reterr, ERR_INVALID, "that image id exists already");
    }
    int64_t created_ns = e->n_images == 0 ? FIRST_RELEASE_WALL_NS : simec2_wall(e);
    add_image(e, "al2023", "x86_64", "standard", release, x86_id, created_ns);
    add_image(e, "al2023", "arm64", "standard", release, arm_id, created_ns);
    add_image(e, "al2023", "x86_64", "nvidia", release, NULL, created_ns);
    add_image(e, "al2023", "arm64", "nvidia", release, NULL, created_ns);
    add_image(e, "al2023", "x86_64", "neuron", release, NULL, created_ns);
    add_image(e, "bottlerocket", "x86_64", "standard", release, NULL, created_ns);
    add_image(e, "bottlerocket", "arm64", "standard", release, NULL, created_ns);
    add_image(e, "bottlerocket", "x86_64", "nvidia", release, NULL, created_ns);
    add_image(e, "bottlerocket", "arm64", "nvidia", release, NULL, created_ns);
    return 0;
}

struct simec2_image *simec2_image_release(const struct simec2 *e, const char *family,
                                          const char *arch, const char *variant,
                                          const char *release)
{
    for (size_t i = e->n_images; i-- > 0;) {
        struct simec2_image *m = e->images[i];
        if (str_eq(m->family, family) && str_eq(m->arch, arch) && str_eq(m->variant, variant) &&
            (!release || str_eq(m->release, release))) {
            return m;
        }
    }
    return NULL;
}

struct simec2_image *simec2_image_newest(const struct simec2 *e, const char *family,
                                         const char *arch, const char *variant)
{
    return simec2_image_release(e, family, arch, variant, NULL);
}

/* ---- life ----------------------------------------------------------------------------------- */

static const char *copy_or(struct arena *a, const char *s, const char *otherwise)
{
    return arena_strdup(a, s ? s : otherwise);
}

static void copy_opts(struct simec2 *e, const struct simec2_opts *o)
{
    struct simec2_opts d;
    simec2_opts_default(&d);
    e->opts = *o;
    e->opts.region = copy_or(&e->mem, o->region, d.region);
    e->opts.account = copy_or(&e->mem, o->account, d.account);
    e->opts.cluster = copy_or(&e->mem, o->cluster, d.cluster);
    e->opts.queue = copy_or(&e->mem, o->queue, d.queue);
    e->opts.endpoint = copy_or(&e->mem, o->endpoint, d.endpoint);
    e->opts.ca_b64 = copy_or(&e->mem, o->ca_b64, d.ca_b64);
    e->opts.k8s_version = copy_or(&e->mem, o->k8s_version, d.k8s_version);
    e->opts.service_cidr = copy_or(&e->mem, o->service_cidr, d.service_cidr);
    size_t n = 0;
    while (o->types && o->types[n]) {
        n++;
    }
    const char **types = o->types ? ARENA_NEW_N(&e->mem, const char *, n + 1) : NULL;
    for (size_t i = 0; i < n; i++) {
        types[i] = arena_strdup(&e->mem, o->types[i]);
    }
    e->opts.types = types;
    e->hide_ns = o->hide_ns;
}

struct simec2 *simec2_new(const struct simec2_opts *opts, const struct clock *clock,
                          struct timers *timers, const struct simec2_hooks *hooks,
                          struct err *reterr)
{
    struct simec2 *e = NEW(struct simec2);
    arena_init(&e->mem, 65536, 64u << 20);
    e->clock = clock;
    e->timers = timers;
    if (hooks) {
        e->hooks = *hooks;
    }
    copy_opts(e, opts);
    e->by_id = map_new(SIMEC2_MAX_INSTANCES);
    e->by_node = map_new(SIMEC2_MAX_INSTANCES);
    e->templates = map_new(SIMEC2_MAX_TEMPLATES);
    e->profiles = map_new(SIMEC2_MAX_TEMPLATES);
    e->tokens = map_new(SIMEC2_MAX_TOKENS);
    e->counts = map_new(4096);
    e->parameters = json_object();
    e->prices_since_ns = simec2_wall(e);
    if (make_zones(e, reterr) < 0 ||
        simec2_images_release(e, FIRST_RELEASE, NULL, NULL, reterr) < 0) {
        simec2_free(e);
        return NULL;
    }
    simec2_market_init(e);
    return e;
}

static void free_insts(struct simec2 *e)
{
    for (size_t i = 0; i < e->n_insts; i++) {
        simec2_inst_free(e->insts[i]);
    }
    free(e->insts);
    for (MAP_EACH(e->templates, m)) {
        simec2_template_unref(map_value(m));
    }
    for (MAP_EACH(e->profiles, m)) {
        json_decref(map_value(m));
    }
    for (MAP_EACH(e->counts, m)) {
        free(map_value(m));
    }
}

static void free_lists(struct simec2 *e)
{
    for (size_t i = 0; i < e->n_tokens; i++) {
        simec2_token_free(e->token_fifo[i]);
    }
    for (size_t i = 0; i < e->n_messages; i++) {
        simec2_message_done(&e->messages[i]);
    }
    for (size_t i = 0; i < e->n_stockouts; i++) {
        simec2_stockout_done(&e->stockouts[i]);
    }
    for (size_t i = 0; i < e->n_rules; i++) {
        free(e->rules[i].action);
    }
    for (size_t i = 0; i < e->n_images; i++) {
        json_decref(e->images[i]->tags);
    }
    for (uint32_t z = 0; z < e->n_zones; z++) {
        json_decref(e->subnets[z].tags);
    }
    for (uint32_t i = 0; e->offers && i < ec2_facts_n; i++) {
        free(e->offers[i].product);
    }
    simec2_reserve_done(e);
    free(e->token_fifo);
    free(e->messages);
    free(e->stockouts);
    free(e->rules);
    free(e->images);
}

void simec2_free(struct simec2 *e)
{
    if (!e) {
        return;
    }
    while (e->ports) {
        simec2_port_detach(e->ports);
    }
    free_insts(e);
    free_lists(e);
    json_decref(e->group_tags);
    json_decref(e->parameters);
    map_free(e->by_id);
    map_free(e->by_node);
    map_free(e->templates);
    map_free(e->profiles);
    map_free(e->tokens);
    map_free(e->counts);
    arena_done(&e->mem);
    free(e);
}
