/* bare.c - see bare.h. */
#include "bare.h"

#include "common/base/jsonx.h"
#include "common/core/labels.h"

#define SAYS "it is set aside, see karp_attention"

static const char *const kept[] = {"apiVersion",
                                   "kind",
                                   "metadata.name",
                                   "metadata.namespace",
                                   "metadata.uid",
                                   "metadata.resourceVersion",
                                   "metadata.generation",
                                   "metadata.creationTimestamp",
                                   "metadata.deletionTimestamp",
                                   "spec.nodeName",
                                   "spec.providerID",
                                   "spec.nodeClassRef.group",
                                   "spec.nodeClassRef.kind",
                                   "spec.nodeClassRef.name",
                                   "status.providerID",
                                   "status.nodeName",
                                   "status.phase"};

static bool plain(const json_t *v)
{
    return json_is_string(v) || json_is_integer(v);
}

json_t *bare_object(const json_t *object)
{
    json_t *ret = json_object();
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        json_t *v = (json_t *)(uintptr_t)jsonx_at(object, kept[i]);
        if (plain(v)) {
            jsonx_set_new(ret, kept[i], json_incref(v));
        }
    }
    json_t *meta = json_object_get(ret, "metadata");
    json_t *pool = json_object_get(jsonx_obj(object, "metadata.labels"), "karpenter.sh/nodepool");
    json_object_set_new(meta, "annotations", json_pack("{s:s}", ANN_DO_NOT_DISRUPT, "true"));
    if (plain(pool)) {
        json_object_set_new(meta, "labels", json_pack("{s:O}", "karpenter.sh/nodepool", pool));
    }
    return ret;
}

void bare_say(enum store_kind kind, void *decoded)
{
    if (kind == STORE_CLAIM) {
        ((struct nodeclaim *)decoded)->problem = SAYS;
    } else if (kind == STORE_POOL) {
        ((struct nodepool *)decoded)->problem = SAYS;
    } else if (kind == STORE_CLASS) {
        ((struct nodeclass *)decoded)->problem = SAYS;
    } else if (kind == STORE_PDB) {
        ((struct pdb *)decoded)->problem = SAYS;
    }
}
