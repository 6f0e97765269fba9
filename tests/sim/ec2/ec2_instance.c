/* ec2_instance.c - the life of an instance: pending, running, shutting-down, terminated, forgotten.
 */
#include "common/base/hash.h"
#include "ec2_priv.h"

const char *simec2_state_name(enum simec2_state s)
{
    static const char *const names[] = {"pending",    "running",  "shutting-down",
                                        "terminated", "stopping", "stopped"};
    return names[s];
}

bool simec2_inst_alive(const struct simec2_inst *x)
{
    return x->pub.state == SIMEC2_PENDING || x->pub.state == SIMEC2_RUNNING;
}

struct simec2_inst *simec2_inst_find(const struct simec2 *e, const char *id)
{
    return id ? map_get(e->by_id, id) : NULL;
}

const struct simec2_instance *simec2_find(const struct simec2 *e, const char *id)
{
    return (const struct simec2_instance *)simec2_inst_find(e, id);
}

const struct simec2_instance *simec2_find_node(const struct simec2 *e, const char *node_name)
{
    return node_name ? map_get(e->by_node, node_name) : NULL;
}

size_t simec2_n_instances(const struct simec2 *e)
{
    return e->n_insts;
}

const struct simec2_instance *simec2_instance_at(const struct simec2 *e, size_t i)
{
    return &e->insts[i]->pub;
}

void simec2_inst_free(struct simec2_inst *x)
{
    timer_stop(x->e->timers, &x->timer);
    timer_stop(x->e->timers, &x->reclaim);
    simec2_template_unref(x->tmpl);
    json_decref(x->tags);
    struct arena mem = x->mem; /* x lives in it */
    arena_done(&mem);
}

/* ---- boot ----------------------------------------------------------------------------------- */

static void never_joins(struct simec2_inst *x, const char *why)
{
    x->pub.why_not_joined = arena_strdup(&x->mem, why);
    simec2_note(x->e, "instance %s never joins: %s", x->pub.id, why);
}

static bool same_bytes(const char *b64, const char *other)
{
    size_t n = 0, m = 0;
    AUTO_FREE uint8_t *x = base64_decode(b64, &n);
    AUTO_FREE uint8_t *y = base64_decode(other, &m);
    return x && y && n == m && memcmp(x, y, n) == 0;
}

/* Where this instance would register, as far as the user data goes. */
static int check_cluster(const struct simec2 *e, const struct simec2_userdata *u,
                         struct err *reterr)
{
    const struct simec2_opts *o = &e->opts;
    if (!str_eq(u->cluster, o->cluster)) {
        return err_set(reterr, ERR_INVALID, "cluster.name is \"%s\", there is only \"%s\"",
                       u->cluster, o->cluster);
    }
    if (!str_eq(u->endpoint, o->endpoint)) {
        return err_set(reterr, ERR_INVALID, "nobody answers at apiServerEndpoint %s (it is %s)",
                       u->endpoint, o->endpoint);
    }
    if (!same_bytes(u->ca_b64, o->ca_b64)) {
        return err_set(reterr, ERR_INVALID,
                       "certificateAuthority is not the one that signed the API server's "
                       "certificate");
    }
    if (!str_eq(u->cidr, o->service_cidr)) {
        return err_set(reterr, ERR_INVALID, "cidr is %s, services live in %s", u->cidr,
                       o->service_cidr);
    }
    return 0;
}

/* The template's user data, parsed once for all its instances. */
static const struct simec2_userdata *userdata_of(struct simec2_inst *x)
{
    struct simec2_template *t = x->tmpl;
    const struct simec2_image *image = simec2_image_find(x->e, x->pub.image_id);
    struct err err = ERR_INIT;
    if (image && !str_eq(image->family, "al2023")) {
        never_joins(x, "its image reads no NodeConfig");
        return NULL;
    }
    if (!t->parsed) {
        t->parsed = true;
        t->good = simec2_userdata_parse(t->user_data ? t->user_data : "", &t->ud, &err) == 0 &&
                  check_cluster(x->e, &t->ud, &err) == 0;
        str_copy(t->why, sizeof(t->why), err.msg);
    }
    if (!t->good) {
        never_joins(x, t->why);
        return NULL;
    }
    return &t->ud;
}

static void join(struct simec2_inst *x)
{
    struct simec2 *e = x->e;
    if (e->no_boot > 0) {
        e->no_boot--;
        never_joins(x, "told so (noBoot)");
        return;
    }
    const struct simec2_userdata *u = userdata_of(x);
    if (!u) {
        return;
    }
    struct err err = ERR_INIT;
    AUTO_JSON json_t *node = simec2_node(x, u, &err);
    if (!node) {
        never_joins(x, err.msg);
        return;
    }
    x->pub.joined = true;
    if (e->hooks.boot) {
        struct simec2_boot b = {&x->pub, u, node};
        e->hooks.boot(e->hooks.ctx, &b);
    }
}

static void on_boot(void *arg)
{
    struct simec2_inst *x = arg;
    x->pub.state = SIMEC2_RUNNING;
    simec2_event_state(x);
    if (!x->foreign) {
        join(x);
    }
}

/* ---- launch --------------------------------------------------------------------------------- */

/* Where a subnet has one free address, it is that of the last one that went. */
static const struct simec2_inst *heir_of(struct simec2 *e, uint32_t zone)
{
    for (size_t i = e->reuse > 0 ? e->n_insts : 0; i-- > 0;) {
        const struct simec2_inst *x = e->insts[i];
        bool down = x->pub.state == SIMEC2_SHUTTING_DOWN || x->pub.state == SIMEC2_TERMINATED;
        if (x->zone_no == zone && down) {
            e->reuse--;
            return x;
        }
    }
    return NULL;
}

/* The next address of the zone that no remembered instance has. */
static void take_address(struct simec2_inst *x)
{
    struct simec2 *e = x->e;
    struct simec2_subnet *s = &e->subnets[x->zone_no];
    char node[48], text[96];
    uint32_t host;
    const struct simec2_inst *old = heir_of(e, x->zone_no);
    if (old) {
        s->free_ips--;
        x->pub.node_name = arena_strdup(&x->mem, old->pub.node_name);
        x->pub.private_ip = arena_strdup(&x->mem, old->pub.private_ip);
        x->pub.private_dns = arena_strdup(&x->mem, old->pub.private_dns);
        return;
    }
    do {
        host = s->next_host++ % 65536;
        snprintf(node, sizeof(node), "ip-10-%u-%u-%u", x->zone_no, host / 256, host % 256);
    } while (map_has(e->by_node, node));
    s->free_ips--;
    x->pub.node_name = arena_strdup(&x->mem, node);
    snprintf(text, sizeof(text), "10.%u.%u.%u", x->zone_no, host / 256, host % 256);
    x->pub.private_ip = arena_strdup(&x->mem, text);
    snprintf(text, sizeof(text), "%s.%s.compute.internal", node, e->opts.region);
    x->pub.private_dns = arena_strdup(&x->mem, text);
}

static void set_tags(struct simec2_inst *x, const struct simec2_launch *l)
{
    x->tags = json_object();
    if (l->tmpl) {
        json_object_update(x->tags, l->tmpl->instance_tags);
        json_object_set_new(x->tags, "aws:ec2launchtemplate:id", json_string(l->tmpl->id));
        json_object_set_new(x->tags, "aws:ec2launchtemplate:version", json_string("1"));
        json_object_set_new(x->tags, "aws:ec2:fleet-id", json_string(l->fleet_id));
    }
    if (l->tags) {
        json_object_update(x->tags, (json_t *)l->tags);
    }
    x->pub.tags = x->tags;
}

static void set_names(struct simec2_inst *x, const struct simec2_launch *l)
{
    struct simec2 *e = x->e;
    struct arena *a = &x->mem;
    char id[32];
    simec2_id(e, "i", id);
    x->pub.id = arena_strdup(a, id);
    x->pub.type = ec2_facts[l->fact].name;
    x->pub.arch = ec2_facts[l->fact].arch;
    x->pub.zone = e->zones[l->zone_no];
    x->pub.zone_id = e->subnets[l->zone_no].zone_id;
    x->pub.subnet_id = e->subnets[l->zone_no].id;
    x->pub.image_id = arena_strdup(a, l->image_id ? l->image_id : l->tmpl ? l->tmpl->image_id : "");
    x->pub.template_name = arena_strdup(a, l->tmpl ? l->tmpl->name : NULL);
    x->pub.fleet_id = arena_strdup(a, l->fleet_id);
    x->pub.provider_id = arena_printf(a, "aws:///%s/%s", x->pub.zone, id);
    x->reservation_id = arena_strdup(a, l->reservation_id);
    if (l->spot) {
        x->spot_request_id = arena_printf(a, "sir-%08llx", (unsigned long long)++e->ids);
    }
    take_address(x);
}

struct simec2_inst *simec2_launch(struct simec2 *e, const struct simec2_launch *l)
{
    if (e->n_insts >= SIMEC2_MAX_INSTANCES) {
        return NULL;
    }
    struct arena mem;
    arena_init(&mem, 1024, 1u << 20);
    struct simec2_inst *x = ARENA_NEW(&mem, struct simec2_inst);
    x->mem = mem;
    x->e = e;
    x->seq = ++e->inst_seq;
    x->fact = l->fact;
    x->zone_no = l->zone_no;
    x->tmpl = l->tmpl;
    x->foreign = !l->tmpl;
    x->pub.spot = l->spot;
    x->pub.launched_ns = simec2_wall(e);
    x->pub.price_pusd_h = simec2_offer_price(e, l->fact, l->zone_no, l->spot);
    set_names(x, l);
    set_tags(x, l);
    if (l->tmpl) {
        l->tmpl->refs++;
        x->groups = l->tmpl->groups;
    }
    int64_t now_ns = simec2_mono(e);
    x->launched_mono_ns = now_ns;
    ARRAY_GROW(e->insts, e->n_insts, e->cap_insts);
    e->insts[e->n_insts++] = x;
    map_put(e->by_id, x->pub.id, x, NULL);
    map_put(e->by_node, x->pub.node_name, x, NULL);
    timer_set(e->timers, &x->timer, now_ns + l->boot_in_ns, on_boot, x);
    simec2_note(e, "launched %s %s %s %s (%s)", x->pub.id, x->pub.type,
                l->spot ? "spot" : "on-demand", x->pub.zone, x->pub.node_name);
    return x;
}

/* ---- death ---------------------------------------------------------------------------------- */

static void on_forget(void *arg)
{
    struct simec2_inst *x = arg;
    struct simec2 *e = x->e;
    size_t i = 0;
    while (e->insts[i] != x) {
        i++;
    }
    e->n_insts--;
    memmove(e->insts + i, e->insts + i + 1, (e->n_insts - i) * sizeof(struct simec2_inst *));
    map_del(e->by_id, x->pub.id);
    if (map_get(e->by_node, x->pub.node_name) == x) {
        map_del(e->by_node, x->pub.node_name);
    }
    simec2_inst_free(x);
}

static void on_dead(void *arg)
{
    struct simec2_inst *x = arg;
    struct simec2 *e = x->e;
    x->pub.state = SIMEC2_TERMINATED;
    simec2_event_state(x);
    e->subnets[x->zone_no].free_ips++;
    timer_set(e->timers, &x->timer, simec2_mono(e) + LISTED_AFTER_DEATH_NS, on_forget, x);
    simec2_note(e, "terminated %s %s (%s)", x->pub.id, x->pub.type, x->pub.node_name);
    if (x->pub.joined && e->hooks.gone) {
        e->hooks.gone(e->hooks.ctx, &x->pub);
    }
}

static void on_stopped(void *arg)
{
    struct simec2_inst *x = arg;
    x->pub.state = SIMEC2_STOPPED;
    simec2_event_state(x);
}

void simec2_stop(struct simec2_inst *x)
{
    struct simec2 *e = x->e;
    if (x->pub.state != SIMEC2_RUNNING) {
        return;
    }
    x->pub.state = SIMEC2_STOPPING;
    simec2_event_state(x);
    timer_set(e->timers, &x->timer, simec2_mono(e) + e->opts.terminate_ns, on_stopped, x);
    simec2_note(e, "stopping %s %s (%s)", x->pub.id, x->pub.type, x->pub.node_name);
    if (x->pub.joined && e->hooks.down) {
        e->hooks.down(e->hooks.ctx, &x->pub);
    }
}

void simec2_terminate(struct simec2_inst *x, const char *reason_code, const char *reason)
{
    struct simec2 *e = x->e;
    if (x->pub.state == SIMEC2_SHUTTING_DOWN || x->pub.state == SIMEC2_TERMINATED) {
        return;
    }
    x->pub.state = SIMEC2_SHUTTING_DOWN;
    timer_stop(e->timers, &x->reclaim);
    simec2_event_state(x);
    x->state_reason_code = reason_code;
    x->state_reason = reason;
    timer_set(e->timers, &x->timer, simec2_mono(e) + e->opts.terminate_ns, on_dead, x);
    simec2_note(e, "shutting down %s %s (%s)", x->pub.id, x->pub.type, x->pub.node_name);
    if (x->pub.joined && e->hooks.down) {
        e->hooks.down(e->hooks.ctx, &x->pub);
    }
}

bool simec2_kill(struct simec2 *e, const char *id)
{
    struct simec2_inst *x = simec2_inst_find(e, id);
    if (!x || !simec2_inst_alive(x)) {
        return false;
    }
    simec2_terminate(x, "Server.InternalError", "Server.InternalError: Internal error on launch");
    return true;
}
