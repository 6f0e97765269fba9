/* command_recover.c - commands that a process before us left; see command.h. */
#include "agent/claim/claim.h"
#include "agent/store/store.h"
#include "command_int.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#define PREFIX "command "
#define PLAN ", plan "

/* What is found of one command. */
struct trail {
    char id[COMMAND_ID + 1];
    const struct command_reason *reason;
    const struct nodeclaim **out, **in;
    size_t n_out, cap_out, n_in, cap_in;
    int64_t of;
};

json_t *command_annotation(const struct command *c)
{
    json_t *claims = json_array();
    for (uint32_t i = 0; i < c->n; i++) {
        json_array_append_new(claims, json_string(c->members[i].claim));
    }
    return json_pack("{s:s, s:I, s:o}", "command", c->id, "of", (json_int_t)c->n_in, "claims",
                     claims);
}

/* As command_annotation begins: thousands may be looked at, so none is parsed. */
bool command_replaces(const struct nodeclaim *nc, const char *id)
{
    char prefix[COMMAND_ID + 20];
    const char *text = kvs_get(&nc->m.annotations, ANN_REPLACES);
    snprintf(prefix, sizeof(prefix), "{\"command\":\"%s\",", id);
    return text && str_starts(text, prefix);
}

static bool is_id(const char *text)
{
    size_t n = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz");
    return n == COMMAND_ID;
}

bool command_id_of(const struct nodeclaim *nc, char dst[COMMAND_ID + 1])
{
    const struct condition *c = condition_find(&nc->conditions, COMMAND_MARK);
    if (!c || c->status != STATUS_TRUE || !command_reason_named(c->reason) || !c->message ||
        !str_starts(c->message, PREFIX) || !is_id(c->message + sizeof(PREFIX) - 1)) {
        return false;
    }
    str_copy(dst, COMMAND_ID + 1, c->message + sizeof(PREFIX) - 1);
    return true;
}

void command_message(const struct command *c, char dst[COMMAND_MESSAGE])
{
    const char *lead = c->n_in > 0 ? PREFIX : "";
    dst[0] = '\0';
    if (c->n_in > 0 || c->plan[0]) {
        snprintf(dst, COMMAND_MESSAGE, "%s%s%s%u node%s leave%s for %u new%s%s", lead,
                 c->n_in > 0 ? c->id : "", c->n_in > 0 ? ": " : "", c->n, c->n == 1 ? "" : "s",
                 c->n == 1 ? "s" : "", c->n_in, c->plan[0] ? PLAN : "", c->plan);
    }
}

bool command_plan_of(const struct nodeclaim *nc, char dst[COMMAND_PLAN + 1])
{
    const struct condition *c = condition_find(&nc->conditions, COMMAND_MARK);
    const char *at = c && c->status == STATUS_TRUE && c->message ? strstr(c->message, PLAN) : NULL;
    if (!at || strspn(at + sizeof(PLAN) - 1, "0123456789abcdef") != COMMAND_PLAN) {
        return false;
    }
    str_copy(dst, COMMAND_PLAN + 1, at + sizeof(PLAN) - 1);
    return true;
}

static void trail_free(struct trail *t)
{
    if (t) {
        free(t->out);
        free(t->in);
        free(t);
    }
}

static struct trail *trail_of(struct map *trails, const char *id)
{
    struct trail *t = map_get(trails, id);
    if (!t) {
        bool full = false;
        t = NEW(struct trail);
        str_copy(t->id, sizeof(t->id), id);
        map_put(trails, id, t, &full);
        if (full) {
            free(t);
            return NULL;
        }
    }
    return t;
}

static void find_members(struct commands *all, struct map *trails)
{
    char id[COMMAND_ID + 1];
    for (MAP_EACH(store_all(all->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        if (nc->m.deleted_ns || commands_has(all, nc->m.name) || !store_ours(&nc->class_ref) ||
            !command_id_of(nc, id) || map_has(all->undone, id)) {
            continue;
        }
        struct trail *t = trail_of(trails, id);
        if (t) {
            t->reason = command_reason_named(condition_find(&nc->conditions, COMMAND_MARK)->reason);
            ARRAY_GROW(t->out, t->n_out, t->cap_out);
            t->out[t->n_out++] = nc;
        }
    }
}

static void find_replacements(struct commands *all, struct map *trails)
{
    for (MAP_EACH(store_all(all->rt->store, STORE_CLAIM), e)) {
        const struct nodeclaim *nc = map_value(e);
        const char *text = kvs_get(&nc->m.annotations, ANN_REPLACES);
        if (!text || nc->m.deleted_ns) {
            continue;
        }
        AUTO_JSON json_t *o = jsonx_parse(text, strlen(text), ANN_REPLACES, NULL);
        struct trail *t = o ? map_get(trails, jsonx_str_or(o, "command", "")) : NULL;
        if (t) {
            t->of = jsonx_int(o, "of", 0);
            ARRAY_GROW(t->in, t->n_in, t->cap_in);
            t->in[t->n_in++] = nc;
        }
    }
}

static bool complete(const struct trail *t)
{
    return t->n_in > 0 && (int64_t)t->n_in == t->of && t->n_in <= COMMAND_REPLACEMENTS_MAX &&
           t->n_out <= COMMAND_MEMBERS_MAX;
}

/* All that is left of it goes on; without its Node a member cannot. */
static void resume(struct commands *all, const struct trail *t)
{
    struct store *s = all->rt->store;
    for (size_t i = 0; i < t->n_out; i++) {
        const struct node *n = store_node_by_provider_id(s, t->out[i]->provider_id, NULL);
        if (!n || n->m.deleted_ns || map_has(all->by_node, n->m.name)) {
            return; /* swept, or gone soon */
        }
    }
    struct command *c = command_new(all, (uint32_t)t->n_out, (uint32_t)t->n_in);
    str_copy(c->id, sizeof(c->id), t->id);
    c->reason = t->reason->reason;
    c->type = "";
    for (size_t i = 0; i < t->n_out; i++) {
        const struct node *n = store_node_by_provider_id(s, t->out[i]->provider_id, NULL);
        command_add(c, (uint32_t)i, n->m.name, n->m.uid, t->out[i], 0);
        c->members[i].stage = MEMBER_MARKED;
    }
    for (size_t i = 0; i < t->n_in; i++) {
        command_put_in(c, (uint32_t)i, t->in[i]->m.name);
    }
    log_info(all->rt->log, "going on with a disruption that was begun before", "command", c->id,
             "nodes", log_n(c->n), "replacements", log_n(c->n_in));
    command_wait(c);
}

void commands_recover(struct commands *all)
{
    struct map *trails = map_new(STORE_MAX_OBJECTS);
    find_members(all, trails);
    if (map_count(trails) > 0) {
        find_replacements(all, trails);
    }
    for (MAP_EACH(trails, e)) {
        struct trail *t = map_value(e);
        if (complete(t)) {
            resume(all, t);
        }
        trail_free(t);
    }
    map_free(trails);
}
