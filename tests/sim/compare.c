/* compare.c - see compare.h */
#include "compare.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "tests/sim/kube/podspec.h"
#include "tests/sim/kube/world.h"

#define LINE_BYTES_MAX (16u << 20)
#define WHO "compare"

struct tally {
    size_t placements, preemptions, rankings, differ;
};

static void differ(struct tally *t, const json_t *record, const char *what, const char *here)
{
    t->differ++;
    printf("%s: %s%s\n", jsonx_str_or(record, "name", "?"), what, here);
}

/* ---- placements -------------------------------------------------------------------------------
 */

static int create_all(struct sim_world *w, enum sim_kind_id kind, const json_t *list,
                      struct err *reterr)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)list, i, o) {
        json_t *copy = json_deep_copy(o);
        json_object_del(json_object_get(copy, "metadata"), "resourceVersion");
        if (sim_api_create(w->api, WHO, kind, copy, NULL, reterr)) {
            return -1;
        }
    }
    return 0;
}

/* Creation adds the not-ready taint, and drops what a pod's status says. */
static void with_status(struct sim_world *w, enum sim_kind_id kind, const json_t *list)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)list, i, o) {
        sim_api_patch(w->api, WHO, kind, "status", jsonx_str(o, "metadata.namespace"),
                      jsonx_str(o, "metadata.name"),
                      json_pack("{s:O?}", "status", json_object_get(o, "status")), NULL, NULL);
    }
}

static void as_recorded(struct sim_world *w, const json_t *nodes)
{
    size_t i;
    json_t *o;
    json_array_foreach ((json_t *)nodes, i, o) {
        json_t *taints = jsonx_at(o, "spec.taints");
        sim_api_patch(
            w->api, WHO, SIM_NODE, "", NULL, jsonx_str(o, "metadata.name"),
            json_pack("{s:{s:o}}", "spec", "taints", taints ? json_incref(taints) : json_array()),
            NULL, NULL);
    }
}

static struct sim_world *world_of(const json_t *record, struct err *reterr)
{
    struct sim_world_options o = {.start_wall_ns = INT64_C(1767603600) * NS_PER_S, .seed = 1};
    struct sim_world *w = sim_world_new(&o);
    const json_t *nodes = json_object_get(record, "nodes"), *pods = json_object_get(record, "pods");
    sim_sched_stop(w->sched);
    AUTO_JSON json_t *one = json_pack("[O?]", json_object_get(record, "pod"));
    const json_t *budgets = json_object_get(record, "budgets");
    if (create_all(w, SIM_PRIORITYCLASS, json_object_get(record, "classes"), reterr) ||
        create_all(w, SIM_NODE, nodes, reterr) || create_all(w, SIM_POD, pods, reterr) ||
        create_all(w, SIM_SERVICE, json_object_get(record, "services"), reterr) ||
        create_all(w, SIM_PDB, budgets, reterr) || create_all(w, SIM_POD, one, reterr)) {
        sim_world_free(w);
        return NULL;
    }
    as_recorded(w, nodes);
    with_status(w, SIM_POD, pods);
    with_status(w, SIM_PDB, budgets);
    return w;
}

static bool names(const json_t *list, const char *name)
{
    size_t i;
    json_t *v;
    json_array_foreach ((json_t *)list, i, v) {
        if (str_eq(json_string_value(v), name)) {
            return true;
        }
    }
    return false;
}

/* Is that one of the rooms that would be made here: the same node, the same victims? */
static bool makes_room(const json_t *rooms, const char *node, const json_t *victims)
{
    size_t i, k;
    json_t *room, *v;
    json_array_foreach ((json_t *)rooms, i, room) {
        const json_t *own = json_object_get(room, "victims");
        bool same = str_eq(jsonx_str(room, "node"), node) &&
                    json_array_size(own) == json_array_size(victims);
        json_array_foreach ((json_t *)own, k, v) {
            same = same && names(victims, json_string_value(v));
        }
        if (same) {
            return true;
        }
    }
    return false;
}

static void compare_room(struct tally *t, const json_t *record, const json_t *rooms,
                         const char *else_here)
{
    const json_t *victims = json_object_get(record, "victims");
    t->preemptions++;
    if (!makes_room(rooms, jsonx_str_or(record, "nominated", ""), victims)) {
        AUTO_FREE char *there = jsonx_dump(victims);
        AUTO_FREE char *here = rooms ? jsonx_dump(rooms) : xstrdup(else_here);
        AUTO_FREE char *text =
            xasprintf("%s on %s, here %s", there, jsonx_str_or(record, "nominated", ""), here);
        differ(t, record, "there in place of ", text);
    }
}

static int compare_placement(struct tally *t, const json_t *record, struct err *reterr)
{
    struct sim_world *w = world_of(record, reterr);
    const char *chosen = jsonx_str_or(record, "chosen", "");
    AUTO_FREE char *why = NULL;
    if (!w) {
        return -1;
    }
    json_t *room = NULL;
    AUTO_JSON json_t *best = sim_sched_would(
        w->sched, "default", jsonx_str_or(record, "pod.metadata.name", ""), &room, &why);
    AUTO_FREE char *text = room ? jsonx_dump(room) : jsonx_dump(best);
    t->placements++;
    if (jsonx_str(record, "nominated")) {
        compare_room(t, record, room, why ? why : text);
    } else if (chosen[0] && !names(best, chosen)) {
        differ(t, record, "there on another node, here on one of ", why ? why : text);
    } else if (!chosen[0] && !str_eq(why, jsonx_str_or(record, "message", ""))) {
        differ(t, record, "there nowhere, here ", why ? why : text);
    }
    json_decref(room);
    sim_world_free(w);
    return 0;
}

/* ---- rankings ---------------------------------------------------------------------------------
 */

/* How many active pods of the list are on the node. */
static int crowd(const json_t *pods, const char *node)
{
    int n = 0;
    size_t i;
    json_t *p;
    json_array_foreach ((json_t *)pods, i, p) {
        n += node[0] && str_eq(sim_pod_node(p), node) && !sim_pod_over(p);
    }
    return n;
}

/* Company counts only for ReplicaSets that belong to something. */
static struct sim_victim *read_victims(const json_t *pods, bool owned)
{
    struct sim_victim *v = NEW_N(struct sim_victim, json_array_size(pods) + 1);
    size_t i;
    json_t *p;
    json_array_foreach ((json_t *)pods, i, p) {
        sim_victim_read(p, &v[i]);
        v[i].rank = owned ? crowd(pods, sim_pod_node(p)) : 0;
        v[i].created_wall_ns = 0;
    }
    return v;
}

static void compare_ranking(struct tally *t, const json_t *record)
{
    const json_t *pods = json_object_get(record, "pods"), *gone = json_object_get(record, "gone");
    int64_t now = 0;
    AUTO_FREE struct sim_victim *v = read_victims(pods, jsonx_bool(record, "owned", false));
    size_t n = json_array_size(pods);
    timefmt_parse_rfc3339(jsonx_str_or(record, "now", ""), &now);
    t->rankings++;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            const char *left = jsonx_str_or(v[i].pod, "metadata.name", "");
            const char *stays = jsonx_str_or(v[k].pod, "metadata.name", "");
            if (names(gone, left) && !names(gone, stays) &&
                sim_victim_order(&v[k], &v[i], now) < 0) {
                AUTO_FREE char *text = xasprintf("%s, here rather %s", left, stays);
                differ(t, record, "there it gave up ", text);
                return;
            }
        }
    }
}

/* ---- the file ---------------------------------------------------------------------------------
 */

static int compare_line(struct tally *t, const char *line, size_t n, struct err *reterr)
{
    AUTO_JSON json_t *record = jsonx_parse(line, n, "record", reterr);
    const char *what = jsonx_str_or(record, "what", "");
    if (!record) {
        return -1;
    }
    if (str_eq(what, "place")) {
        return compare_placement(t, record, reterr);
    }
    if (!str_eq(what, "rank")) {
        return err_set(reterr, ERR_INVALID, "unknown record \"%s\"", what);
    }
    compare_ranking(t, record);
    return 0;
}

int compare_main(const char *file)
{
    struct err e = ERR_INIT;
    struct tally t = {0};
    FILE *f = fopen(file, "rb");
    AUTO_FREE char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int rc = f ? 0 : err_set(&e, ERR_NOT_FOUND, "%s cannot be read", file);
    while (rc == 0 && (n = getline(&line, &cap, f)) > 0) {
        rc = n > (ssize_t)LINE_BYTES_MAX ? err_set(&e, ERR_LIMIT, "a line is too long")
                                         : compare_line(&t, line, (size_t)n, &e);
    }
    if (f) {
        fclose(f);
    }
    if (rc) {
        fprintf(stderr, "karp-sim: %s: %s\n", file, e.msg);
        return 2;
    }
    printf("%zu placements, %zu of them by preemption, %zu rankings, %zu differ\n", t.placements,
           t.preemptions, t.rankings, t.differ);
    return t.differ ? 1 : 0;
}
