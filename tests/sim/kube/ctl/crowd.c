/* crowd.c - see crowd.h */
#include "crowd.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "workloads_part.h"

struct member {
    struct sim_crowd *crowd;
    bool healthy;
};

static char *key_of(const json_t *pod)
{
    const json_t *labels = jsonx_at(pod, "metadata.labels");
    AUTO_FREE char *text = labels ? jsonx_dump(labels) : xstrdup("");
    return xasprintf("%s\n%s\n%s", jsonx_str_or(pod, "metadata.namespace", ""),
                     jsonx_str_or(sim_controller(pod), "uid", ""), text);
}

static struct sim_crowd *crowd_of(struct sim_crowds *c, const json_t *pod)
{
    AUTO_FREE char *key = key_of(pod);
    struct sim_crowd *one = map_get(c->all, key);
    if (!one) {
        one = NEW(struct sim_crowd);
        one->key = xstrdup(key);
        one->ns = xstrdup(jsonx_str_or(pod, "metadata.namespace", ""));
        one->labels = json_incref(jsonx_at(pod, "metadata.labels"));
        one->controller = json_incref((json_t *)sim_controller(pod));
        map_put(c->all, key, one, NULL);
    }
    return one;
}

static void crowd_free(struct sim_crowd *one)
{
    json_decref(one->labels);
    json_decref(one->controller);
    free(one->key);
    free(one->ns);
    free(one);
}

static void leave(struct sim_crowds *c, struct member *m)
{
    struct sim_crowd *one = m->crowd;
    one->n--;
    one->healthy -= m->healthy;
    if (one->n == 0) {
        map_del(c->all, one->key);
        crowd_free(one);
    }
}

static bool moves(const struct sim_change *ch)
{
    return !ch->before ||
           !sim_json_same(jsonx_at(ch->before, "metadata.labels"),
                          jsonx_at(ch->after, "metadata.labels")) ||
           !sim_json_same(jsonx_at(ch->before, "metadata.ownerReferences"),
                          jsonx_at(ch->after, "metadata.ownerReferences"));
}

void sim_crowds_change(struct sim_crowds *c, const struct sim_change *ch)
{
    const char *uid = jsonx_str_or(ch->after, "metadata.uid", "");
    struct member *m = map_get(c->members, uid);
    if (m && (ch->type == KUBE_DELETED || moves(ch))) {
        leave(c, m);
        m->crowd = NULL;
    }
    if (ch->type == KUBE_DELETED) {
        free(map_del(c->members, uid));
        return;
    }
    if (!m) {
        m = NEW(struct member);
        map_put(c->members, uid, m, NULL);
    }
    if (!m->crowd) {
        m->crowd = crowd_of(c, ch->after);
        m->crowd->n++;
        m->healthy = false;
    }
    bool healthy = sim_pod_ready(ch->after) && !sim_pod_terminating(ch->after);
    m->crowd->healthy += healthy - m->healthy;
    m->healthy = healthy;
}

void sim_crowds_init(struct sim_crowds *c)
{
    c->all = map_new(SIM_API_OBJECTS_MAX);
    c->members = map_new(SIM_API_OBJECTS_MAX);
}

void sim_crowds_done(struct sim_crowds *c)
{
    for (MAP_EACH(c->all, one)) {
        crowd_free(map_value(one));
    }
    for (MAP_EACH(c->members, m)) {
        free(map_value(m));
    }
    map_free(c->all);
    map_free(c->members);
}
