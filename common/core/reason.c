/* reason.c - see reason.h. */
#include "reason.h"

#include "common/base/quantity.h"
#include "common/base/timefmt.h"
#include "labels.h"

const char *reason_name(enum reason_code code)
{
    static const char *const names[] = {[REASON_NONE] = "",
#define X(name) [REASON_##name] = #name,
                                        REASONS_POD(X) REASONS_NODE(X) REASONS_OUTCOME(X)
#undef X
    };
    return (size_t)code < ARRAY_LEN(names) ? names[code] : "";
}

/* ---- operands -------------------------------------------------------------------------------- */

#define FMT_VALUES 5 /* values of a requirement that are shown */

static const char *amount(const struct res_short *s, int64_t v, char *dst)
{
    switch (s->res) {
    case RES_CPU:
        return quantity_fmt_milli(v, dst);
    case RES_MEMORY:
    case RES_EPHEMERAL_STORAGE:
        return quantity_fmt_bytes(v, dst);
    default:
        return quantity_fmt_count(v, dst);
    }
}

static const char *resource_of(const struct symtab *t, const struct res_short *s)
{
    return s->res < RES_FIXED ? resource_name(s->res) : sym_str(t, s->ext);
}

static bool has_short(const struct res_short *s)
{
    return s->need > 0;
}

static void fmt_text(const struct reason *r, struct buf *out)
{
    if (r->text != NULL && r->text[0] != '\0') {
        buf_printf(out, ": %s", r->text);
    }
}

static void fmt_until(const struct reason *r, struct buf *out)
{
    char when[TIMEFMT_TEXT];
    if (r->until_ns > 0 && r->until_ns < INT64_MAX) {
        buf_printf(out, " until %s", timefmt_rfc3339(r->until_ns, when));
    }
}

/* ---- codes with operands of their own -------------------------------------------------------- */

static void fmt_taint(const struct symtab *t, const struct reason *r, struct buf *out)
{
    if (r->taint == NULL) {
        buf_puts(out, "does not tolerate a taint");
        return;
    }
    buf_puts(out, "does not tolerate taint ");
    taint_fmt(t, r->taint, out);
}

static void fmt_requirement(const struct symtab *t, const struct reason *r, struct buf *out)
{
    if (r->want == NULL) {
        buf_puts(out, r->text ? r->text : "requirements cannot be met");
        return;
    }
    buf_puts(out, "asks for ");
    req_fmt(t, r->want, FMT_VALUES, out);
    if (r->have != NULL) {
        buf_puts(out, ", there is ");
        req_fmt(t, r->have, FMT_VALUES, out);
    } else {
        buf_puts(out, ", which nothing in the pool has");
    }
}

static void fmt_resources(const struct symtab *t, const struct reason *r, struct buf *out)
{
    const struct res_short *s = &r->short_of;
    char missing[QUANTITY_TEXT], need[QUANTITY_TEXT], have[QUANTITY_TEXT];
    char daemons[QUANTITY_TEXT];
    if (!has_short(s)) {
        buf_puts(out, "no instance type is large enough");
        return;
    }
    buf_printf(out, "short of %s %s (", amount(s, s->need - s->have, missing), resource_of(t, s));
    if (r->pod_need > 0 && s->need > r->pod_need) {
        buf_printf(out, "pod %s + daemonsets %s", amount(s, r->pod_need, need),
                   amount(s, s->need - r->pod_need, daemons));
    } else {
        buf_puts(out, amount(s, s->need, need));
    }
    buf_printf(out, " > %s", amount(s, s->have, have));
    if (r->nearest_type != SYM_NONE) {
        buf_printf(out, " of %s", sym_str(t, r->nearest_type));
    }
    buf_putc(out, ')');
}

static void fmt_limit(const struct symtab *t, const struct reason *r, struct buf *out)
{
    const struct res_short *s = &r->short_of;
    char need[QUANTITY_TEXT], have[QUANTITY_TEXT], all[QUANTITY_TEXT];
    if (!has_short(s)) {
        buf_puts(out, "the limits are used up");
        return;
    }
    buf_printf(out, "needs %s %s", resource_of(t, s), amount(s, s->need, need));
    if (r->nearest_type != SYM_NONE) {
        buf_printf(out, " for %s", sym_str(t, r->nearest_type));
    }
    buf_printf(out, ", %s left of limit %s", amount(s, s->have, have), amount(s, r->limit, all));
}

static void fmt_offering(const struct symtab *t, const struct reason *r, struct buf *out)
{
    if (r->nearest_type == SYM_NONE) {
        buf_puts(out, "no instance type is offered");
    } else {
        buf_printf(out, "none of %lld fitting instance types can be had, nearest is %s",
                   (long long)r->count, sym_str(t, r->nearest_type));
    }
    fmt_until(r, out);
    fmt_text(r, out);
}

static void fmt_min_values(const struct symtab *t, const struct reason *r, struct buf *out)
{
    buf_printf(out, "minValues %lld for %s, %lld left", (long long)r->limit, sym_str(t, r->key),
               (long long)r->count);
    if (r->text != NULL) {
        buf_printf(out, " after %s", r->text);
    }
}

static void fmt_unknown_resource(const struct symtab *t, const struct reason *r, struct buf *out)
{
    buf_printf(out, "resource %s is provided by no instance type of the pool",
               resource_of(t, &r->short_of));
}

static void fmt_unknown_label(const struct symtab *t, const struct reason *r, struct buf *out)
{
    buf_printf(out, "label %s is given by nothing in the pool", sym_str(t, r->key));
    if (r->want != NULL) {
        buf_puts(out, ", asked for is ");
        req_fmt(t, r->want, FMT_VALUES, out);
    }
}

static void fmt_counted(const char *what, const struct reason *r, struct buf *out)
{
    buf_printf(out, "%s: %lld of %lld", what, (long long)r->count, (long long)r->limit);
    fmt_until(r, out);
}

static void fmt_pods(const char *what, const struct reason *r, struct buf *out)
{
    if (r->count > 0) {
        buf_printf(out, "%lld %s", (long long)r->count, r->count == 1 ? "pod " : "pods ");
    }
    buf_puts(out, what);
    fmt_text(r, out);
}

static bool fmt_special(const struct symtab *t, const struct reason *r, struct buf *out)
{
    switch (r->code) {
    case REASON_Taint:
        fmt_taint(t, r, out);
        return true;
    case REASON_UnknownLabel:
        fmt_unknown_label(t, r, out);
        return true;
    case REASON_Requirement:
        fmt_requirement(t, r, out);
        return true;
    case REASON_ResourceUnknown:
        fmt_unknown_resource(t, r, out);
        return true;
    case REASON_Resources:
        fmt_resources(t, r, out);
        return true;
    case REASON_Offering:
        fmt_offering(t, r, out);
        return true;
    case REASON_MinValues:
        fmt_min_values(t, r, out);
        return true;
    case REASON_Limit:
        fmt_limit(t, r, out);
        return true;
    case REASON_NodeLimit:
        fmt_counted("limit of nodes is used up", r, out);
        return true;
    case REASON_LaunchBrake:
        fmt_counted("launches that the brake allows are used up", r, out);
        return true;
    case REASON_Budget:
        fmt_counted("the disruption budget is used up", r, out);
        return true;
    case REASON_DoNotDisruptPod:
        fmt_pods("with karpenter.sh/do-not-disrupt", r, out);
        return true;
    default:
        return false;
    }
}

/* ---- the rest -------------------------------------------------------------------------------- */

static const char *const plain[REASON_END] = {
    [REASON_Gated] = "waits for its scheduling gates",
    [REASON_Preempting] = "is about to preempt other pods",
    [REASON_DaemonSetPod] = "belongs to a DaemonSet",
    [REASON_StaticPod] = "is a static pod",
    [REASON_NotScheduledByUs] = "asks for nodes without a NodePool",
    [REASON_ResourceClaim] = "asks for a ResourceClaim",
    [REASON_PoolNotReady] = "the pool is not ready",
    [REASON_UnknownFields] = "a field of a newer version is set",
    [REASON_LaunchIneffective] = "nodes launched for it did not help",
    [REASON_CloudError] = "the cloud refuses",
    [REASON_Volume] = "has a volume that cannot be used",
    [REASON_VolumeZone] = "its volume lies in another zone",
    [REASON_VolumeLimit] = "no more volumes can be attached",
    [REASON_HostPort] = "its host port is taken",
    [REASON_PodAffinity] = "pod affinity cannot be met",
    [REASON_PodAntiAffinity] = "pod anti-affinity cannot be met",
    [REASON_TopologySpread] = "topology spread cannot be met",
    [REASON_MaxShare] = "one node would hold too much of its workload",
    [REASON_NoImage] = "no machine image fits",
    [REASON_NoSubnet] = "no subnet fits",
    [REASON_NoAddresses] = "the subnets are out of addresses",
    [REASON_NoPool] = "there is no NodePool",
    [REASON_NotManaged] = "is not managed by a NodePool",
    [REASON_NotInitialized] = "is not initialized",
    [REASON_Deleting] = "is leaving already",
    [REASON_Held] = "is held",
    [REASON_Nominated] = "pods are expected on it",
    [REASON_DoNotDisruptNode] = "has karpenter.sh/do-not-disrupt",
    [REASON_MultiplePDB] = "a pod has several PodDisruptionBudgets",
    [REASON_PDBPermanent] = "a PodDisruptionBudget never allows it",
    [REASON_PDB] = "a PodDisruptionBudget does not allow it now",
    [REASON_Policy] = "the pool's disruption policy does not allow it",
    [REASON_LaunchesFailing] = "launches fail, so nothing is removed",
    [REASON_ClockSkew] = "clocks differ too much to trust ages",
    [REASON_ChurnGuard] = "its pods were moved a short while ago",
    [REASON_Waiting] = "waits for consolidateAfter",
    [REASON_UnknownType] = "its instance type is not known",
    [REASON_UnknownPrice] = "its price is not known",
    [REASON_PriceStale] = "prices are too old",
    [REASON_PriceSuspect] = "prices moved too much to be trusted",
    [REASON_DriftSuspect] = "too much of the pool drifts at once",
    [REASON_HeadroomNode] = "is kept as headroom",
    [REASON_PodsDoNotFit] = "its pods fit nowhere else",
    [REASON_SpotToSpot] = "spot is not replaced by spot",
    [REASON_NotCheaper] = "nothing cheaper would hold its pods",
    [REASON_TooSmallSaving] = "the saving is too small",
    [REASON_NotBalanced] = "the saving is not worth the disruption",
    [REASON_Denied] = "was denied",
    [REASON_ApprovalPending] = "waits for approval",
    [REASON_FitsExisting] = "fits on a node that exists",
    [REASON_WaitingForNode] = "waits for a node that is being launched",
    [REASON_Schedulable] = "a node would be launched for it",
    [REASON_Empty] = "carries no pods",
    [REASON_Consolidatable] = "its pods fit elsewhere",
    [REASON_Drifted] = "differs from its pool",
    [REASON_Expiring] = "is at the end of its life",
};

void reason_fmt(const struct symtab *t, const struct reason *r, struct buf *out)
{
    if ((size_t)r->code >= REASON_END || fmt_special(t, r, out)) {
        return;
    }
    if (plain[r->code] != NULL) {
        buf_puts(out, plain[r->code]);
    }
    fmt_until(r, out);
    fmt_text(r, out);
}
