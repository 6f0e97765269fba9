/*
 * network.c - in which subnet and security groups instances are, and whether their class still
 * wants them there.
 *
 * Every listing of all instances (gc.h) tells; an instance that EC2 does not show for a moment
 * stays where it was. Most instances are in one of a few places, so each is kept once.
 */
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#define PLACES_MAX 10000
#define TEXT_MAX 4096

struct place {
    char *subnet;
    json_t *groups; /* array of ids, in order */
};

void network_init(struct cloud *c)
{
    c->network.places = map_new(PLACES_MAX);
    c->network.of_claim = map_new(STORE_MAX_OBJECTS);
}

void network_done(struct cloud *c)
{
    for (MAP_EACH(c->network.places, e)) {
        struct place *p = map_value(e);
        free(p->subnet);
        json_decref(p->groups);
        free(p);
    }
    map_free(c->network.places);
    map_free(c->network.of_claim);
}

/* ---- listed ------------------------------------------------------------------------------------
 */

static int text_cmp(const void *a, const void *b)
{
    return str_cmp(*(const char *const *)a, *(const char *const *)b);
}

static const char **sorted(struct arena *a, const struct instance *i)
{
    const char **v = ARENA_NEW_N(a, const char *, i->n_groups);
    memcpy(v, i->groups, i->n_groups * sizeof(*v));
    if (i->n_groups > 1) {
        qsort(v, i->n_groups, sizeof(*v), text_cmp);
    }
    return v;
}

/* NULL: there are too many. */
static struct place *place_of(struct cloud *c, struct arena *a, const struct instance *i)
{
    const char **groups = sorted(a, i);
    struct buf key;
    buf_init(&key, TEXT_MAX);
    buf_puts(&key, i->subnet_id);
    for (uint32_t k = 0; k < i->n_groups; k++) {
        buf_printf(&key, " %s", groups[k]);
    }
    struct place *p = key.over ? NULL : map_get(c->network.places, key.p);
    bool full = key.over;
    if (!p && !full) {
        p = NEW(struct place);
        p->subnet = xstrdup(i->subnet_id);
        p->groups = json_array();
        for (uint32_t k = 0; k < i->n_groups; k++) {
            json_array_append_new(p->groups, json_string(groups[k]));
        }
        map_put(c->network.places, key.p, p, &full);
        if (full) {
            free(p->subnet);
            json_decref(p->groups);
            free(p);
            p = NULL;
        }
    }
    buf_done(&key);
    return p;
}

/* A claim may have a twin, of an attempt that was given up (gc.h); that one's place is not its. */
static bool is_claims(const struct cloud *c, const struct instance *i)
{
    const struct nodeclaim *nc =
        *i->claim_uid ? store_claim_by_uid(c->rt->store, i->claim_uid) : NULL;
    return nc && str_eq(cloud_instance_id(nc->provider_id), i->id);
}

void network_listed(struct cloud *c, struct arena *a, const struct instance *v, uint32_t n)
{
    for (MAP_EACH(c->network.of_claim, e)) {
        if (!store_claim_by_uid(c->rt->store, map_key(e))) {
            map_del(c->network.of_claim, map_key(e));
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        bool told = is_claims(c, &v[i]) && *v[i].subnet_id && v[i].n_groups > 0;
        struct place *p = told ? place_of(c, a, &v[i]) : NULL;
        if (p) {
            map_put(c->network.of_claim, v[i].claim_uid, p, NULL);
        }
    }
}

/* ---- drift -------------------------------------------------------------------------------------
 */

static bool wanted_group(const json_t *groups, const char *id)
{
    size_t i;
    json_t *g;
    json_array_foreach (groups, i, g) {
        if (str_eq(jsonx_str(g, "id"), id)) {
            return true;
        }
    }
    return false;
}

/* The first group that is not wanted, or NULL. */
static const char *stray_group(const struct place *p, const json_t *groups)
{
    size_t i;
    json_t *g;
    json_array_foreach (p->groups, i, g) {
        if (!wanted_group(groups, json_string_value(g))) {
            return json_string_value(g);
        }
    }
    return NULL;
}

static bool wanted_subnet(const struct resolved *r, const char *id)
{
    for (uint32_t i = 0; i < r->n_subnets; i++) {
        if (str_eq(r->subnets[i].id, id)) {
            return true;
        }
    }
    return false;
}

static bool resolved_now(const struct resolved *r, enum resolve_part part)
{
    return r->have[part] && r->err[part].kind == ERR_NONE;
}

enum network_state cloud_network(struct cloud *c, struct arena *a, const struct nodeclaim *nc,
                                 struct drift *ret)
{
    const struct nodeclass *cls = store_class(c->rt->store, nc->class_ref.name);
    const struct class_entry *e = cls ? class_entry(c, cls->m.name) : NULL;
    const struct place *p = map_get(c->network.of_claim, nc->m.uid);
    *ret = (struct drift){NULL, NULL, 0};
    if (!e || !p || e->generation != cls->m.generation || !resolved_now(&e->res, PART_SUBNETS) ||
        !resolved_now(&e->res, PART_GROUPS) || e->res.n_subnets == 0 ||
        json_array_size(e->res.groups) == 0) {
        return NETWORK_UNKNOWN;
    }
    const char *stray = stray_group(p, e->res.groups);
    if (stray) {
        *ret = (struct drift){"SecurityGroupDrift",
                              arena_printf(a,
                                           "security group %s is not among those of EC2NodeClass "
                                           "%s",
                                           stray, cls->m.name),
                              0};
    } else if (json_array_size(p->groups) != json_array_size(e->res.groups)) {
        *ret = (struct drift){"SecurityGroupDrift",
                              arena_printf(a,
                                           "it has %zu of the %zu security groups of EC2NodeClass "
                                           "%s",
                                           json_array_size(p->groups),
                                           json_array_size(e->res.groups), cls->m.name),
                              0};
    } else if (!wanted_subnet(&e->res, p->subnet)) {
        *ret = (struct drift){"SubnetDrift",
                              arena_printf(a, "subnet %s is not among those of EC2NodeClass %s",
                                           p->subnet, cls->m.name),
                              0};
    }
    return NETWORK_KNOWN;
}
