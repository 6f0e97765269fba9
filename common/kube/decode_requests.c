/*
 * Effective requests: what kube-scheduler subtracts from a node for a pod (component-helpers'
 * PodRequests with status resources, as Karpenter calls it).
 */
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "decode_priv.h"

struct counting {
    struct decoder *d;
    struct arena *a;
    bool template_limits;
    bool resize_infeasible; /* the spec asks for what the node will not give */
    const json_t *status;
};

/* resources.requests of a container, limits standing in for what is missing if so wanted. */
static int spec_requests(struct counting *c, const json_t *container, struct resources *ret,
                         struct err *reterr)
{
    const json_t *res, *requests, *limits;
    struct res_build b = {.n = 0};
    if (decode_obj(container, "resources", &res, reterr) ||
        decode_obj(res, "requests", &requests, reterr) ||
        decode_obj(res, "limits", &limits, reterr)) {
        return -1;
    }
    const char *name;
    json_t *v;
    json_object_foreach ((json_t *)(uintptr_t)requests, name, v) {
        int64_t *slot = res_build_slot(c->d, &b, name, reterr);
        if (!slot || decode_quantity(name, v, slot, reterr)) {
            return decode_in(reterr, "resources.requests.");
        }
    }
    json_object_foreach ((json_t *)(uintptr_t)limits, name, v) {
        if (!c->template_limits || json_object_get(requests, name)) {
            continue;
        }
        int64_t *slot = res_build_slot(c->d, &b, name, reterr);
        if (!slot || decode_quantity(name, v, slot, reterr)) {
            return decode_in(reterr, "resources.limits.");
        }
    }
    *ret = res_build_done(c->a, &b);
    return 0;
}

static const json_t *container_status(const struct counting *c, const char *list,
                                      const json_t *container)
{
    const char *name = jsonx_str(container, "name");
    size_t i;
    json_t *v;
    json_array_foreach (json_object_get(c->status, list), i, v) {
        if (name && str_eq(jsonx_str(v, "name"), name)) {
            return v;
        }
    }
    return NULL;
}

/* The greater of what was asked for and what the node still holds for it. */
static int container_requests(struct counting *c, const json_t *container, const char *statuses,
                              struct resources *ret, struct err *reterr)
{
    if (spec_requests(c, container, ret, reterr)) {
        return -1;
    }
    const json_t *status = container_status(c, statuses, container);
    if (!status) {
        return 0;
    }
    struct resources allocated, actual;
    if (decode_resources(c->d, c->a, status, "allocatedResources", &allocated, reterr) ||
        decode_resources(c->d, c->a, json_object_get(status, "resources"), "requests", &actual,
                         reterr)) {
        return decode_in(reterr, "status.");
    }
    struct resources held = resources_max(c->a, &allocated, &actual);
    *ret =
        c->resize_infeasible && !resources_is_zero(&held) ? held : resources_max(c->a, ret, &held);
    return 0;
}

static int sum_containers(struct counting *c, const json_t *spec, struct resources *sum,
                          struct err *reterr)
{
    const json_t *list;
    if (decode_arr(spec, "containers", &list, reterr)) {
        return -1;
    }
    size_t i;
    json_t *v;
    json_array_foreach (list, i, v) {
        struct resources one;
        if (container_requests(c, v, "containerStatuses", &one, reterr)) {
            return decode_in(reterr, "containers[%zu].", i);
        }
        *sum = resources_add(c->a, sum, &one, 1);
    }
    return 0;
}

/*
 * Init containers run one after another; sidecars among them start in their turn and stay. So the
 * dearest moment of initialization is an init container beside the sidecars before it.
 */
static int add_init_containers(struct counting *c, const json_t *spec, struct resources *sum,
                               struct err *reterr)
{
    struct resources sidecars = {.n_ext = 0}, dearest = {.n_ext = 0};
    const json_t *list;
    if (decode_arr(spec, "initContainers", &list, reterr)) {
        return -1;
    }
    size_t i;
    json_t *v;
    json_array_foreach (list, i, v) {
        struct resources one;
        if (container_requests(c, v, "initContainerStatuses", &one, reterr)) {
            return decode_in(reterr, "initContainers[%zu].", i);
        }
        struct resources moment = resources_add(c->a, &sidecars, &one, 1);
        if (str_eq(jsonx_str(v, "restartPolicy"), "Always")) {
            sidecars = moment;
            *sum = resources_add(c->a, sum, &one, 1);
        }
        dearest = resources_max(c->a, &dearest, &moment);
    }
    *sum = resources_max(c->a, sum, &dearest);
    return 0;
}

/* spec.resources: cpu, memory and huge pages of the pod as a whole replace the sum. */
static int set_pod_level(struct counting *c, const json_t *spec, struct resources *sum,
                         struct err *reterr)
{
    const json_t *res = json_object_get(spec, "resources");
    if (!json_is_object(res)) {
        return 0;
    }
    struct resources level;
    if (spec_requests(c, spec, &level, reterr)) {
        return -1;
    }
    const json_t *requests = json_object_get(res, "requests");
    const json_t *limits = c->template_limits ? json_object_get(res, "limits") : NULL;
    static const enum resource whole[] = {RES_CPU, RES_MEMORY};
    for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
        const char *name = resource_name(whole[i]);
        if (json_object_get(requests, name) || json_object_get(limits, name)) {
            sum->v[whole[i]] = level.v[whole[i]];
        }
    }
    struct resources huge = {.n_ext = 0};
    struct res_ext *v = ARENA_NEW_N(c->a, struct res_ext, level.n_ext);
    for (uint32_t i = 0; i < level.n_ext; i++) {
        if (str_starts(sym_str(c->d->t, level.ext[i].name), "hugepages-")) {
            int64_t now = resources_get_ext(sum, level.ext[i].name);
            v[huge.n_ext++] = (struct res_ext){level.ext[i].name, level.ext[i].amount - now};
        }
    }
    huge.ext = v;
    *sum = resources_add(c->a, sum, &huge, 1);
    return 0;
}

static bool resize_infeasible(const json_t *status)
{
    size_t i;
    json_t *v;
    json_array_foreach (json_object_get(status, "conditions"), i, v) {
        if (str_eq(jsonx_str(v, "type"), "PodResizePending")) {
            return str_eq(jsonx_str(v, "reason"), "Infeasible");
        }
    }
    return str_eq(jsonx_str(status, "resize"), "Infeasible");
}

int decode_pod_requests(struct decoder *d, struct arena *a, const json_t *pod, bool template_limits,
                        struct resources *ret, struct err *reterr)
{
    const json_t *spec = json_object_get(pod, "spec");
    const json_t *status = json_object_get(pod, "status");
    struct counting c = {d, a, template_limits, resize_infeasible(status), status};
    struct resources sum = {.n_ext = 0}, overhead;
    if (sum_containers(&c, spec, &sum, reterr) || add_init_containers(&c, spec, &sum, reterr) ||
        set_pod_level(&c, spec, &sum, reterr) ||
        decode_resources(d, a, spec, "overhead", &overhead, reterr)) {
        return decode_in(reterr, "spec.");
    }
    *ret = resources_add(a, &sum, &overhead, 1);
    ret->v[RES_PODS] = 1;
    return 0;
}
