/*
 * adopt.c - pods that change hands: a pod without controller that a selector fits is adopted, a pod
 * that its controller's selector does not fit any more is released (its controller reference is
 * taken away). Both are rare; the indexes hold only candidates. See workloads_part.h.
 */
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "tests/sim/kube/jsonsel.h"
#include "workloads_part.h"

static const char *text_at(const json_t *o, const char *path)
{
    return jsonx_str_or(o, path, "");
}

static bool fits(const json_t *owner, const json_t *pod)
{
    const json_t *selector = jsonx_at(owner, "spec.selector");
    bool empty = !json_object_size(json_object_get(selector, "matchLabels")) &&
                 !json_array_size(json_object_get(selector, "matchExpressions"));
    return !empty && jsonsel_match_selector(selector, jsonx_at(pod, "metadata.labels"));
}

static json_t *refs_without(const json_t *pod, const char *uid)
{
    json_t *out = json_array();
    size_t i;
    json_t *ref;
    json_array_foreach (jsonx_at(pod, "metadata.ownerReferences"), i, ref) {
        if (!str_eq(text_at(ref, "uid"), uid)) {
            json_array_append(out, ref);
        }
    }
    return out;
}

static void set_refs(struct sim_workloads *c, const char *who, const json_t *pod, json_t *refs)
{
    sim_api_patch(c->w->api, who, SIM_POD, "", text_at(pod, "metadata.namespace"),
                  text_at(pod, "metadata.name"),
                  json_pack("{s:{s:s, s:o}}", "metadata", "uid", text_at(pod, "metadata.uid"),
                            "ownerReferences", refs),
                  NULL, NULL);
}

static void release_strays(struct sim_workloads *c, const char *who, const json_t *owner)
{
    const char *uid = text_at(owner, "metadata.uid");
    AUTO_JSON json_t *found = sim_index_collect(&c->strays, uid, true);
    size_t i;
    json_t *pod;
    json_array_foreach (found, i, pod) {
        if (!fits(owner, pod)) {
            set_refs(c, who, pod, refs_without(pod, uid));
        }
    }
}

static void adopt_orphans(struct sim_workloads *c, const char *who, const json_t *owner)
{
    AUTO_JSON json_t *found =
        sim_index_collect(&c->orphans, text_at(owner, "metadata.namespace"), true);
    size_t i;
    json_t *pod;
    json_array_foreach (found, i, pod) {
        if (fits(owner, pod)) {
            json_t *refs = refs_without(pod, text_at(owner, "metadata.uid"));
            json_array_append_new(refs, sim_owner_ref(owner));
            set_refs(c, who, pod, refs);
        }
    }
}

void sim_adopt(struct sim_workloads *c, const char *who, const json_t *owner)
{
    AUTO_JSON json_t *keep = json_incref((json_t *)owner);
    if (sim_index_set(&c->strays, text_at(keep, "metadata.uid"))) {
        release_strays(c, who, keep);
    }
    if (sim_index_set(&c->orphans, text_at(keep, "metadata.namespace"))) {
        adopt_orphans(c, who, keep);
    }
}

void sim_adopt_mark(struct sim_workloads *c, const json_t *pod)
{
    static const enum sim_kind_id kinds[] = {SIM_REPLICASET, SIM_STATEFULSET, SIM_DAEMONSET,
                                             SIM_JOB};
    const char *ns = text_at(pod, "metadata.namespace");
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        for (size_t i = 0; i < sim_api_count(c->w->api, kinds[k]); i++) {
            const json_t *o = sim_api_at(c->w->api, kinds[k], i);
            if (str_eq(text_at(o, "metadata.namespace"), ns) && fits(o, pod)) {
                sim_workloads_mark(c, kinds[k], ns, text_at(o, "metadata.name"));
            }
        }
    }
}
