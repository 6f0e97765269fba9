/* classspec.c - an EC2NodeClass's spec: what of it enters the catalog; see cloud_int.h. */
#include "cloud_int.h"
#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/kube/decode.h"
#include "common/kube/ec2class.h"

/* ---- the numbers ----------------------------------------------------------------------------- */

void spec_ec2_class(struct runtime *rt, struct arena *a, const struct nodeclass *cls,
                    const json_t *spec, struct ec2_class *ret)
{
    ec2class_read(rt->syms, a, spec, kvs_get(&cls->m.annotations, ANN_CAPACITY), ret);
    ret->vm_overhead_permyriad = rt->opt->vm_overhead_permyriad;
    ret->reserved_enis = rt->opt->reserved_enis;
}

int spec_check_extra(const struct nodeclass *cls, struct err *reterr)
{
    const char *text = kvs_get(&cls->m.annotations, ANN_CAPACITY), *key;
    json_t *v;
    if (!text) {
        return 0;
    }
    AUTO_JSON json_t *o = jsonx_parse(text, strlen(text), ANN_CAPACITY, reterr);
    if (!o) {
        return -1;
    }
    if (!json_is_object(o)) {
        return err_set(reterr, ERR_INVALID, ANN_CAPACITY ": not an object");
    }
    if (json_object_size(o) > RES_EXT_MAX) {
        return err_set(reterr, ERR_LIMIT, ANN_CAPACITY ": more than %d resources", RES_EXT_MAX);
    }
    json_object_foreach (o, key, v) {
        int64_t n;
        if (!json_is_string(v) || !quantity_parse_milli(json_string_value(v), &n) || n < 0) {
            return err_set(reterr, ERR_INVALID, ANN_CAPACITY ": %s is no quantity", key);
        }
    }
    return 0;
}

/* ---- what this version does not do ----------------------------------------------------------- */

bool spec_unsupported(const json_t *spec, struct buf *why)
{
    enum ami_family family = ec2class_family(spec);
    if (family != FAMILY_AL2023 && family != FAMILY_CUSTOM) {
        buf_printf(why,
                   "amiFamily %s is not supported by this version of karp; AL2023 and Custom "
                   "are",
                   decode_ami_family(spec));
        return true;
    }
    static const char *const fields[] = {"placementGroupSelector", "networkInterfaces"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const json_t *v = json_object_get(spec, fields[i]);
        if (json_array_size(v) > 0 || json_object_size(v) > 0) {
            buf_printf(why, "spec.%s is not supported by this version of karp", fields[i]);
            return true;
        }
    }
    if (str_eq(jsonx_str(spec, "cpuOptions.nestedVirtualization"), "enabled")) {
        buf_puts(why, "spec.cpuOptions.nestedVirtualization is not supported by this version of "
                      "karp");
        return true;
    }
    return false;
}

const char *spec_restricted_tag(const json_t *spec)
{
    static const char *const restricted[] = {TAG_CLUSTER, TAG_POOL, TAG_CLAIM, TAG_CLASS};
    const char *key;
    json_t *v;
    json_object_foreach (jsonx_obj(spec, "tags"), key, v) {
        if (str_starts(key, "kubernetes.io/cluster") || str_starts(key, "karp.dev/")) {
            return key;
        }
        for (size_t i = 0; i < ARRAY_LEN(restricted); i++) {
            if (str_eq(key, restricted[i])) {
                return key;
            }
        }
    }
    return NULL;
}

bool spec_type_fits(const json_t *spec, const struct ec2_class *ec, const struct ec2_fact *f)
{
    if (!ec2_compatible(f, ec)) {
        return false;
    }
    /* Connection tracking is a thing of Nitro. */
    return !jsonx_obj(spec, "connectionTracking") || str_eq(f->hypervisor, "nitro");
}
