/* labels.c - see labels.h */
#include "labels.h"

#include "common/base/str.h"

static const char *const fixed[] = {
#define X(id, text) text,
    LABELS_KEYS(X) LABELS_VALUES(X)
#undef X
};

_Static_assert(ARRAY_LEN(fixed) == LABELS_END - 1, "one string for each constant");

struct symtab *labels_symtab_new(void)
{
    return symtab_new(fixed, ARRAY_LEN(fixed));
}

static const struct {
    const char *old, *now;
} aliases[] = {
    {"beta.kubernetes.io/arch", "kubernetes.io/arch"},
    {"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"},
    {"beta.kubernetes.io/os", "kubernetes.io/os"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"topology.ebs.csi.aws.com/zone", "topology.kubernetes.io/zone"},
};

const char *labels_normalize(const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
        if (str_eq(aliases[i].old, key)) {
            return aliases[i].now;
        }
    }
    return key;
}

bool labels_well_known(sym key)
{
    switch (key) {
    case L_NODEPOOL:
    case L_CAPACITY_TYPE:
    case L_ZONE:
    case L_REGION:
    case L_ZONE_ID:
    case L_INSTANCE_TYPE:
    case L_ARCH:
    case L_OS:
    case L_WINDOWS_BUILD:
        return true;
    default:
        /* The AWS provider's stand in one block. Its ec2nodeclass label is not well-known: the
         * core sets it itself from nodeClassRef. */
        return key >= L_CATEGORY && key <= L_PLACEMENT_GROUP_PARTITION;
    }
}

/* Whether the part of key before '/' is domain or a subdomain of it. */
static bool in_domain(const char *key, const char *domain)
{
    const char *slash = strchr(key, '/');
    size_t n = strlen(domain);
    if (!slash || (size_t)(slash - key) < n) {
        return false;
    }
    const char *tail = slash - n;
    return strncmp(tail, domain, n) == 0 && (tail == key || tail[-1] == '.');
}

bool labels_restricted(const struct symtab *t, sym key)
{
    if (key == L_HOSTNAME) {
        return true;
    }
    if (key == L_CAPACITY_TYPE) {
        return false;
    }
    const char *s = sym_str(t, key);
    if (in_domain(s, "karpenter.sh")) {
        return true;
    }
    return in_domain(s, "karpenter.k8s.aws") && !labels_well_known(key);
}
