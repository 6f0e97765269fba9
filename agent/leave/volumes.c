/* volumes.c - see volumes.h. */
#include "volumes.h"

#include "agent/work/wakes.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/map.h"
#include "common/kube/list.h"

struct volumes {
    struct runtime *rt;
    struct kube_lister *lister;
    struct map *found, *coming; /* node → name of an attachment */
    int64_t asked_ns;           /* start of the list that is open */
    int64_t known_ns;           /* start of the one that found is from; 0 = none */
    int64_t failed_ns;          /* NS_NEVER: the last one succeeded */
    struct wakes wakes;
};

static void names_free(struct map *m)
{
    if (!m) {
        return;
    }
    for (MAP_EACH(m, e)) {
        free(map_value(e));
    }
    map_free(m);
}

static void on_begin(void *arg)
{
    struct volumes *v = arg;
    names_free(v->coming);
    v->coming = map_new(VOLUMES_MAX);
}

static void on_object(void *arg, json_t *object)
{
    struct volumes *v = arg;
    const char *node = jsonx_str(object, "spec.nodeName");
    if (node && v->coming && !map_has(v->coming, node)) {
        char *name = xstrdup(jsonx_str_or(object, "spec.source.persistentVolumeName",
                                          jsonx_str_or(object, "metadata.name", "")));
        bool full = false;
        map_put(v->coming, node, name, &full);
        if (full) {
            free(name);
        }
    }
}

static void on_end(void *arg, const struct err *why, const char *resource_version)
{
    struct volumes *v = arg;
    (void)resource_version;
    kube_lister_free(v->lister);
    v->lister = NULL;
    if (why->kind == ERR_NONE) {
        names_free(v->found);
        v->found = v->coming ? v->coming : map_new(VOLUMES_MAX);
        v->coming = NULL;
        v->known_ns = v->asked_ns;
        v->failed_ns = NS_NEVER;
    } else {
        v->failed_ns = clock_mono(v->rt->clock);
        log_error(v->rt->log, "cannot list VolumeAttachments", "error", why->msg);
    }
    wakes_run(&v->wakes);
}

enum volumes_answer volumes_ask(struct volumes *v, const char *node_name, int64_t since_ns,
                                struct queue *q, const char *key, const char **ret_first)
{
    static const struct kube_list_cb cb = {on_begin, on_object, on_end};
    static const struct kube_list_opts all;
    int64_t now_ns = clock_mono(v->rt->clock);
    if (v->found && v->known_ns >= since_ns && now_ns - v->known_ns <= VOLUMES_FRESH_NS) {
        *ret_first = map_get(v->found, node_name);
        return *ret_first ? VOLUMES_ATTACHED : VOLUMES_NONE;
    }
    if (v->failed_ns != NS_NEVER && now_ns - v->failed_ns < VOLUMES_FRESH_NS) {
        queue_add_after(q, key, VOLUMES_FRESH_NS);
        return VOLUMES_ASKING;
    }
    wakes_add(&v->wakes, q, key);
    if (!v->lister) {
        v->asked_ns = now_ns;
        v->lister = kube_lister_new(&v->rt->client, KIND_VOLUME_ATTACHMENT, &all, &cb, v);
    }
    return VOLUMES_ASKING;
}

struct volumes *volumes_new(struct runtime *rt)
{
    struct volumes *v = NEW(struct volumes);
    v->rt = rt;
    v->failed_ns = NS_NEVER;
    return v;
}

void volumes_free(struct volumes *v)
{
    if (!v) {
        return;
    }
    kube_lister_free(v->lister);
    names_free(v->found);
    names_free(v->coming);
    wakes_done(&v->wakes);
    free(v);
}
