#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/labels.h"
#include "decode_priv.h"

#define CLASS_CHUNK 4096u
#define TERMS_MAX 30u

/* ---- what the spec must look like ------------------------------------------------------------ */

/* One selector term: which fields it may have, as strings, beside tags. */
static int check_term(const json_t *term, const char *const *fields, size_t n_fields,
                      struct err *reterr)
{
    size_t found = 0;
    const json_t *tags;
    if (!json_is_object(term)) {
        return err_set(reterr, ERR_INVALID, "not an object");
    }
    for (size_t i = 0; i < n_fields; i++) {
        const json_t *v = json_object_get(term, fields[i]);
        if (v && !json_is_null(v) && !json_is_string(v)) {
            return err_set(reterr, ERR_INVALID, "%s: not a string", fields[i]);
        }
        found += json_string_length(v) > 0 ? 1 : 0;
    }
    if (decode_obj(term, "tags", &tags, reterr)) {
        return -1;
    }
    const char *name;
    json_t *v;
    json_object_foreach ((json_t *)(uintptr_t)tags, name, v) {
        if (!json_is_string(v)) {
            return err_set(reterr, ERR_INVALID, "tags.%s: not a string", name);
        }
        found++;
    }
    return found ? 0 : err_set(reterr, ERR_INVALID, "selects nothing");
}

static int check_terms(const json_t *spec, const char *key, const char *const *fields,
                       size_t n_fields, struct err *reterr)
{
    const json_t *list;
    if (decode_arr(spec, key, &list, reterr)) {
        return -1;
    }
    size_t n = json_array_size(list);
    if (n == 0 || n > TERMS_MAX) {
        return err_set(reterr, ERR_INVALID, "%s: must have 1 to %u terms", key, TERMS_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        if (check_term(json_array_get(list, i), fields, n_fields, reterr)) {
            bool term_itself = !strchr(reterr->msg, ':');
            return decode_in(reterr, "%s[%zu]%s", key, i, term_itself ? ": " : ".");
        }
    }
    return 0;
}

static bool one_of(const char *s, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(list[i], s)) {
            return true;
        }
    }
    return false;
}

/* family@version, and then no other term. */
static int check_aliases(const json_t *spec, struct err *reterr)
{
    static const char *const families[] = {"al2",         "al2023",      "bottlerocket",
                                           "windows2019", "windows2022", "windows2025"};
    const json_t *list = json_object_get(spec, "amiSelectorTerms");
    size_t i;
    json_t *term;
    json_array_foreach (list, i, term) {
        const char *alias = jsonx_str_or(term, "alias", "");
        if (!*alias) {
            continue;
        }
        const char *at = strchr(alias, '@');
        char family[32];
        (void)snprintf(family, sizeof(family), "%.*s", at ? (int)(at - alias) : 0, alias);
        if (!at || at[1] == '\0' || strlen(alias) > 30 ||
            !one_of(family, families, ARRAY_LEN(families))) {
            return err_set(reterr, ERR_INVALID,
                           "amiSelectorTerms[%zu].alias: \"%s\" is not family@version of a known "
                           "family",
                           i, alias);
        }
        if (json_array_size(list) > 1 || json_object_size(term) > 1) {
            return err_set(reterr, ERR_INVALID, "amiSelectorTerms[%zu].alias: must stand alone", i);
        }
    }
    return 0;
}

static int check_family(const json_t *spec, struct err *reterr)
{
    static const char *const families[] = {"AL2",         "AL2023",      "Bottlerocket", "Custom",
                                           "Windows2019", "Windows2022", "Windows2025"};
    const json_t *v = json_object_get(spec, "amiFamily");
    if (v && !json_is_null(v) && !one_of(json_string_value(v), families, ARRAY_LEN(families))) {
        return err_set(reterr, ERR_INVALID, "amiFamily: \"%s\" is unknown",
                       json_is_string(v) ? json_string_value(v) : "");
    }
    return 0;
}

static int check_role(const json_t *spec, struct err *reterr)
{
    const char *role = jsonx_str_or(spec, "role", "");
    const char *profile = jsonx_str_or(spec, "instanceProfile", "");
    if (!*role == !*profile) {
        return err_set(reterr, ERR_INVALID,
                       "role: exactly one of role and instanceProfile is needed");
    }
    return 0;
}

static int check_shapes(const json_t *spec, struct err *reterr)
{
    static const char *const objects[] = {
        "kubelet", "metadataOptions", "placementGroupSelector", "connectionTracking", "cpuOptions",
        "tags"};
    static const char *const lists[] = {"blockDeviceMappings", "networkInterfaces",
                                        "capacityReservationSelectorTerms"};
    static const char *const strings[] = {"userData", "context", "instanceStorePolicy"};
    const json_t *v;
    for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
        if (decode_obj(spec, objects[i], &v, reterr)) {
            return -1;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        if (decode_arr(spec, lists[i], &v, reterr)) {
            return -1;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
        v = json_object_get(spec, strings[i]);
        if (v && !json_is_null(v) && !json_is_string(v)) {
            return err_set(reterr, ERR_INVALID, "%s: not a string", strings[i]);
        }
    }
    return 0;
}

/* As the CRD has it: there may be none; an id stands alone. */
static int check_reservations(const json_t *spec, struct err *reterr)
{
    static const char *const fields[] = {"id", "ownerID", "instanceMatchCriteria"};
    const json_t *list = json_object_get(spec, "capacityReservationSelectorTerms");
    size_t i;
    json_t *term;
    if (json_array_size(list) == 0) {
        return 0;
    }
    if (check_terms(spec, "capacityReservationSelectorTerms", fields, ARRAY_LEN(fields), reterr)) {
        return -1;
    }
    json_array_foreach ((json_t *)(uintptr_t)list, i, term) {
        bool tags = json_object_size(json_object_get(term, "tags")) > 0;
        bool id = *jsonx_str_or(term, "id", "") != '\0';
        const char *match = jsonx_str_or(term, "instanceMatchCriteria", "");
        bool owner = *jsonx_str_or(term, "ownerID", "") != '\0';
        if (id ? tags || owner || *match : !tags && !*match) {
            return err_set(
                reterr, ERR_INVALID,
                "capacityReservationSelectorTerms[%zu]: needs an id, which stands alone, "
                "or tags or instanceMatchCriteria",
                i);
        }
        if (*match && !str_eq(match, "open") && !str_eq(match, "targeted")) {
            return err_set(reterr, ERR_INVALID,
                           "capacityReservationSelectorTerms[%zu].instanceMatchCriteria: neither "
                           "open nor targeted",
                           i);
        }
    }
    return 0;
}

static int check_spec(const json_t *spec, struct err *reterr)
{
    static const char *const subnet[] = {"id"};
    static const char *const group[] = {"id", "name"};
    static const char *const ami[] = {"alias", "id", "name", "owner", "ssmParameter"};
    if (check_terms(spec, "subnetSelectorTerms", subnet, ARRAY_LEN(subnet), reterr) ||
        check_terms(spec, "securityGroupSelectorTerms", group, ARRAY_LEN(group), reterr) ||
        check_terms(spec, "amiSelectorTerms", ami, ARRAY_LEN(ami), reterr) ||
        check_aliases(spec, reterr) || check_family(spec, reterr) || check_role(spec, reterr) ||
        check_shapes(spec, reterr) || check_reservations(spec, reterr)) {
        return decode_in(reterr, "spec.");
    }
    return 0;
}

/* ---- status ---------------------------------------------------------------------------------- */

static int read_subnets(struct decoder *d, struct nodeclass *c, const json_t *status,
                        struct err *reterr)
{
    const json_t *list;
    if (decode_arr(status, "subnets", &list, reterr)) {
        return -1;
    }
    struct class_subnet *v = ARENA_NEW_N(&c->mem, struct class_subnet, json_array_size(list));
    size_t i;
    json_t *o;
    json_array_foreach (list, i, o) {
        const char *zone_id = jsonx_str_or(o, "zoneID", "");
        v[i] = (struct class_subnet){
            .id = decode_str(&c->mem, o, "id"),
            .zone = sym_intern(d->t, jsonx_str_or(o, "zone", "")),
            .zone_id = *zone_id ? sym_intern(d->t, zone_id) : SYM_NONE,
        };
    }
    c->subnets = v;
    c->n_subnets = (uint32_t)json_array_size(list);
    return 0;
}

static int read_amis(struct decoder *d, struct nodeclass *c, const json_t *status,
                     struct err *reterr)
{
    const json_t *list;
    if (decode_arr(status, "amis", &list, reterr)) {
        return -1;
    }
    struct class_ami *v = ARENA_NEW_N(&c->mem, struct class_ami, json_array_size(list));
    size_t i;
    json_t *o;
    json_array_foreach (list, i, o) {
        v[i].id = decode_str(&c->mem, o, "id");
        v[i].name = decode_str(&c->mem, o, "name");
        v[i].deprecated = jsonx_bool(o, "deprecated", false);
        if (decode_requirements(d, &c->mem, o, "requirements", &v[i].reqs, reterr)) {
            return decode_in(reterr, "amis[%zu].", i);
        }
    }
    c->amis = v;
    c->n_amis = (uint32_t)json_array_size(list);
    return 0;
}

static int read_groups(struct nodeclass *c, const json_t *status, struct err *reterr)
{
    const json_t *list;
    if (decode_arr(status, "securityGroups", &list, reterr)) {
        return -1;
    }
    struct class_sg *v = ARENA_NEW_N(&c->mem, struct class_sg, json_array_size(list));
    size_t i;
    json_t *o;
    json_array_foreach (list, i, o) {
        v[i] = (struct class_sg){decode_str(&c->mem, o, "id"), decode_str(&c->mem, o, "name")};
    }
    c->sgs = v;
    c->n_sgs = (uint32_t)json_array_size(list);
    return 0;
}

static int read_reservations(struct decoder *d, struct nodeclass *c, const json_t *status,
                             struct err *reterr)
{
    const json_t *list;
    if (decode_arr(status, "capacityReservations", &list, reterr)) {
        return -1;
    }
    struct class_reservation *v =
        ARENA_NEW_N(&c->mem, struct class_reservation, json_array_size(list));
    size_t i;
    json_t *o;
    json_array_foreach (list, i, o) {
        const char *end = jsonx_str(o, "endTime");
        v[i] = (struct class_reservation){
            .id = decode_str(&c->mem, o, "id"),
            .owner = decode_str(&c->mem, o, "ownerID"),
            .match = decode_str(&c->mem, o, "instanceMatchCriteria"),
            .type = sym_intern(d->t, jsonx_str_or(o, "instanceType", "")),
            .zone = sym_intern(d->t, jsonx_str_or(o, "availabilityZone", "")),
            .kind = sym_intern(d->t, jsonx_str_or(o, "reservationType", "default")),
            .interruptible = jsonx_bool(o, "interruptible", false),
            .expiring = str_eq(jsonx_str(o, "state"), "expiring"),
        };
        v[i].id_sym = sym_intern(d->t, v[i].id);
        if (end && !timefmt_parse_rfc3339(end, &v[i].end_ns)) {
            return err_set(reterr, ERR_INVALID, "capacityReservations[%zu].endTime: no time", i);
        }
    }
    c->reservations = v;
    c->n_reservations = (uint32_t)json_array_size(list);
    return 0;
}

/* ---- the object ------------------------------------------------------------------------------ */

static void read_class(struct decoder *d, struct nodeclass *c, const json_t *o)
{
    struct arena *a = &c->mem;
    struct err e = ERR_INIT;
    const json_t *spec;
    const json_t *status = json_object_get(o, "status");
    decode_note(a, &c->problem, "", decode_obj(o, "spec", &spec, &e), &e);
    decode_note(a, &c->problem, "", check_spec(spec, &e), &e);
    c->unknown_field = decode_unknown_nodeclass(a, spec);
    char hash[DECODE_HASH_TEXT];
    decode_nodeclass_hash(spec, hash);
    c->hash = arena_strdup(a, hash);
    AUTO_FREE char *text = spec ? jsonx_dump(spec) : xstrdup("{}");
    c->spec = arena_strdup(a, text);
    decode_note(a, &c->problem, "status.", read_subnets(d, c, status, &e), &e);
    decode_note(a, &c->problem, "status.", read_amis(d, c, status, &e), &e);
    decode_note(a, &c->problem, "status.", read_groups(c, status, &e), &e);
    decode_note(a, &c->problem, "status.", read_reservations(d, c, status, &e), &e);
    c->instance_profile = decode_str(a, status, "instanceProfile");
    decode_conditions(a, status, &c->conditions);
}

struct nodeclass *decode_nodeclass(struct decoder *d, const json_t *o, struct err *reterr)
{
    struct nodeclass *c = NEW(struct nodeclass);
    arena_init(&c->mem, CLASS_CHUNK, DECODE_OBJECT_MAX);
    if (decode_meta(d, &c->mem, o, META_LABELS, &c->m, reterr)) {
        decode_nodeclass_free(c);
        return NULL;
    }
    read_class(d, c, o);
    if (decode_check_size(&c->mem, reterr)) {
        decode_nodeclass_free(c);
        return NULL;
    }
    return c;
}

void decode_nodeclass_free(struct nodeclass *c)
{
    if (c) {
        arena_done(&c->mem);
        free(c);
    }
}
