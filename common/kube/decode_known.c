/*
 * The fields that this version knows, as paths below spec. A list's elements share one path. "{}"
 * at the end: anything may stand below (labels, tags, kubelet). The tables are the newest
 * upstream CRDs'.
 */
#include "common/base/buf.h"
#include "common/base/str.h"
#include "decode_priv.h"

#define PATH_TEXT 512u

static const char *const nodepool_fields[] = {
    "disruption",
    "disruption.budgets",
    "disruption.budgets.duration",
    "disruption.budgets.nodes",
    "disruption.budgets.reasons",
    "disruption.budgets.schedule",
    "disruption.consolidateAfter",
    "disruption.consolidationPolicy",
    "limits{}",
    "replicas",
    "template",
    "template.metadata",
    "template.metadata.annotations{}",
    "template.metadata.labels{}",
    "template.spec",
    "template.spec.expireAfter",
    "template.spec.nodeClassRef",
    "template.spec.nodeClassRef.group",
    "template.spec.nodeClassRef.kind",
    "template.spec.nodeClassRef.name",
    "template.spec.requirements",
    "template.spec.requirements.key",
    "template.spec.requirements.minValues",
    "template.spec.requirements.operator",
    "template.spec.requirements.values",
    "template.spec.startupTaints",
    "template.spec.startupTaints.effect",
    "template.spec.startupTaints.key",
    "template.spec.startupTaints.timeAdded",
    "template.spec.startupTaints.value",
    "template.spec.taints",
    "template.spec.taints.effect",
    "template.spec.taints.key",
    "template.spec.taints.timeAdded",
    "template.spec.taints.value",
    "template.spec.terminationGracePeriod",
    "weight",
};

static const char *const nodeclass_fields[] = {
    "amiFamily",
    "amiSelectorTerms",
    "amiSelectorTerms.alias",
    "amiSelectorTerms.id",
    "amiSelectorTerms.name",
    "amiSelectorTerms.owner",
    "amiSelectorTerms.ssmParameter",
    "amiSelectorTerms.tags{}",
    "associatePublicIPAddress",
    "blockDeviceMappings",
    "blockDeviceMappings.deviceName",
    "blockDeviceMappings.ebs",
    "blockDeviceMappings.ebs.deleteOnTermination",
    "blockDeviceMappings.ebs.encrypted",
    "blockDeviceMappings.ebs.iops",
    "blockDeviceMappings.ebs.kmsKeyID",
    "blockDeviceMappings.ebs.snapshotID",
    "blockDeviceMappings.ebs.throughput",
    "blockDeviceMappings.ebs.volumeInitializationRate",
    "blockDeviceMappings.ebs.volumeSize",
    "blockDeviceMappings.ebs.volumeType",
    "blockDeviceMappings.rootVolume",
    "capacityReservationSelectorTerms",
    "capacityReservationSelectorTerms.id",
    "capacityReservationSelectorTerms.instanceMatchCriteria",
    "capacityReservationSelectorTerms.ownerID",
    "capacityReservationSelectorTerms.tags{}",
    "connectionTracking",
    "connectionTracking.tcpEstablishedTimeout",
    "connectionTracking.udpStreamTimeout",
    "connectionTracking.udpTimeout",
    "context",
    "cpuOptions",
    "cpuOptions.nestedVirtualization",
    "detailedMonitoring",
    "instanceProfile",
    "instanceStorePolicy",
    "ipPrefixCount",
    "kubelet{}",
    "metadataOptions",
    "metadataOptions.httpEndpoint",
    "metadataOptions.httpProtocolIPv6",
    "metadataOptions.httpPutResponseHopLimit",
    "metadataOptions.httpTokens",
    "networkInterfaces",
    "networkInterfaces.deviceIndex",
    "networkInterfaces.interfaceType",
    "networkInterfaces.networkCardIndex",
    "placementGroupSelector",
    "placementGroupSelector.id",
    "placementGroupSelector.name",
    "role",
    "securityGroupSelectorTerms",
    "securityGroupSelectorTerms.id",
    "securityGroupSelectorTerms.name",
    "securityGroupSelectorTerms.tags{}",
    "subnetSelectorTerms",
    "subnetSelectorTerms.id",
    "subnetSelectorTerms.tags{}",
    "tags{}",
    "userData",
};

struct walk {
    const char *const *fields;
    size_t n;
    char known[PATH_TEXT]; /* as in the table */
    char shown[PATH_TEXT]; /* with list indexes */
};

enum found { UNKNOWN, LEAF_OR_NODE, OPEN };

static enum found find(const struct walk *w)
{
    size_t n = strlen(w->known);
    for (size_t i = 0; i < w->n; i++) {
        const char *f = w->fields[i];
        if (strncmp(f, w->known, n) == 0) {
            if (f[n] == '\0') {
                return LEAF_OR_NODE;
            }
            if (str_eq(f + n, "{}")) {
                return OPEN;
            }
        }
    }
    return UNKNOWN;
}

static size_t append(char *path, const char *dot, const char *name)
{
    size_t n = strlen(path);
    (void)snprintf(path + n, PATH_TEXT - n, "%s%s", *path ? dot : "", name);
    return n;
}

/* Depth is bounded by the table: nothing unknown is entered. */
static bool walk_value(struct walk *w, const json_t *v);

static bool walk_object(struct walk *w, const json_t *o)
{
    const char *name;
    json_t *v;
    json_object_foreach ((json_t *)(uintptr_t)o, name, v) {
        size_t known_n = append(w->known, ".", name);
        size_t shown_n = append(w->shown, ".", name);
        enum found f = find(w);
        if (f == UNKNOWN || (f == LEAF_OR_NODE && !walk_value(w, v))) {
            return false;
        }
        w->known[known_n] = '\0';
        w->shown[shown_n] = '\0';
    }
    return true;
}

static bool walk_value(struct walk *w, const json_t *v)
{
    if (json_is_object(v)) {
        return walk_object(w, v);
    }
    size_t i;
    json_t *e;
    json_array_foreach (v, i, e) {
        char index[24];
        (void)snprintf(index, sizeof(index), "[%zu]", i);
        size_t shown_n = append(w->shown, "", index);
        if (json_is_object(e) && !walk_object(w, e)) {
            return false;
        }
        w->shown[shown_n] = '\0';
    }
    return true;
}

static const char *unknown(struct arena *a, const json_t *spec, const char *const *fields, size_t n)
{
    struct walk w = {.fields = fields, .n = n};
    return walk_value(&w, spec) ? NULL : arena_printf(a, "spec.%s", w.shown);
}

const char *decode_unknown_nodepool(struct arena *a, const json_t *spec)
{
    return unknown(a, spec, nodepool_fields, ARRAY_LEN(nodepool_fields));
}

const char *decode_unknown_nodeclass(struct arena *a, const json_t *spec)
{
    return unknown(a, spec, nodeclass_fields, ARRAY_LEN(nodeclass_fields));
}
