/* podview_advice.c - what could be changed so that a pod finds a home: commands where one command
 * does it, else a sentence. From the nearest pool's obstacle. */
#include "podview.h"

#include "cmd/status/holds.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/core/labels.h"

#define VALUES_MAX 512u

static void advise(struct podview *v, const char *text)
{
    if (v->n_advice < PODVIEW_ADVICE_MAX) {
        v->advice[v->n_advice++] = text;
    }
}

/* Whole cores and GiB: nobody types 31940m. */
static int64_t round_up(enum resource r, int64_t amount)
{
    int64_t unit = r == RES_CPU ? 1000 : r == RES_MEMORY ? INT64_C(1) << 30 : 1;
    int64_t rest = amount % unit;
    return rest == 0 || amount > INT64_MAX - unit ? amount : amount + unit - rest;
}

/* At most what the type has room for, in amounts that people type. */
static const char *smaller(struct arena *a, const struct resources *need,
                           const struct resources *room)
{
    char cpu[QUANTITY_TEXT], mem[QUANTITY_TEXT];
    int64_t c = room->v[RES_CPU] / 100 * 100, gib = INT64_C(1) << 30, m = room->v[RES_MEMORY];
    m = m >= gib ? m / gib * gib : m;
    c = c < need->v[RES_CPU] ? c : need->v[RES_CPU];
    m = m < need->v[RES_MEMORY] ? m : need->v[RES_MEMORY];
    return arena_printf(a, "cpu %s and mem %s", quantity_fmt_milli(c, cpu),
                        quantity_fmt_bytes(m, mem));
}

static void advise_smaller(struct podview *v, const struct explain_pool *p)
{
    if (p->under_limit != SYM_NONE) {
        const struct resources *need = &v->pod->cls->requests;
        advise(v, arena_printf(&v->s->a,
                               "shrink the pod to what is left of the limit: at most %s (%s)",
                               smaller(&v->s->a, need, &p->under_limit_room),
                               sym_str(v->s->w.syms, p->under_limit)));
    }
}

/* Limits as they would have to be, for a patch and as --set of simulate. */
static void advise_limit(struct podview *v, const struct explain_pool *p)
{
    struct arena *a = &v->s->a;
    const char *name = p->pool->np->m.name, *set = "", *patch = "";
    char text[QUANTITY_TEXT];
    for (int r = 0; r < RES_FIXED; r++) {
        int64_t limit = p->pool->np->limits.v[r];
        if (limit < 0 || p->missing.v[r] <= 0) {
            continue;
        }
        const char *key = resource_name((enum resource)r);
        const char *value = report_quantity(
            (enum resource)r, round_up((enum resource)r, limit + p->missing.v[r]), text);
        patch = arena_printf(a, "%s%s\"%s\":\"%s\"", patch, *patch ? "," : "", key, value);
        set =
            arena_printf(a, "%s --set 'nodepool/%s.spec.limits[\"%s\"]=%s'", set, name, key, value);
    }
    if (*patch) {
        advise(v, arena_printf(
                      a, "kubectl patch nodepool %s --type merge -p '{\"spec\":{\"limits\":{%s}}}'",
                      name, patch));
        advise_smaller(v, p);
        advise(v, arena_printf(a, "kubectl karp simulate%s", set));
    }
}

static void advise_node_limit(struct podview *v, const struct explain_pool *p)
{
    long long nodes = (long long)p->reason.count + 1;
    const char *name = p->pool->np->m.name;
    advise(v, arena_printf(&v->s->a,
                           "kubectl patch nodepool %s --type merge -p "
                           "'{\"spec\":{\"limits\":{\"nodes\":\"%lld\"}}}'",
                           name, nodes));
    advise(v,
           arena_printf(&v->s->a, "kubectl karp simulate --set nodepool/%s.spec.limits.nodes=%lld",
                        name, nodes));
}

static void advise_resources(struct podview *v, const struct explain_pool *p)
{
    struct arena *a = &v->s->a;
    const struct symtab *t = v->s->w.syms;
    if (p->nearest != SYM_NONE && !resources_is_zero(&p->missing)) {
        advise(v, arena_printf(a, "ask for less, by %s: then %s would do",
                               report_resources_line(a, t, &p->missing, false),
                               sym_str(t, p->nearest)));
    }
    advise(v, arena_printf(a, "allow larger instance types in nodepool %s", p->pool->np->m.name));
}

static const char *values_of(struct podview *v, const struct req *r)
{
    AUTO_BUF struct buf text;
    buf_init(&text, VALUES_MAX);
    req_fmt(v->s->w.syms, r, 5, &text);
    return arena_strdup(&v->s->a, text.p);
}

static void advise_label(struct podview *v, const struct explain_pool *p)
{
    struct arena *a = &v->s->a;
    const char *key = sym_str(v->s->w.syms, p->reason.key);
    const char *name = p->pool->np->m.name;
    if (p->reason.key == SYM_NONE || !p->reason.want) {
        advise(v, "look at the pod's node selector and node affinity: nothing can meet them");
    } else if (p->reason.key == L_HOSTNAME) {
        advise(v, "take the host name out of what the pod asks for: no new node has it");
    } else if (p->reason.code == REASON_UnknownLabel) {
        advise(v, arena_printf(a, "give nodepool %s the label %s in spec.template.metadata.labels",
                               name, key));
    } else {
        advise(v, arena_printf(a, "let nodepool %s have %s too, or another pool", name,
                               values_of(v, p->reason.want)));
    }
    if (p->reason.want) {
        advise(v, arena_printf(a, "drop %s from what the pod asks for", key));
    }
}

static void advise_taint(struct podview *v, const struct explain_pool *p)
{
    AUTO_BUF struct buf text;
    buf_init(&text, VALUES_MAX);
    if (p->reason.taint) {
        taint_fmt(v->s->w.syms, p->reason.taint, &text);
        advise(v, arena_printf(&v->s->a, "give the pod a toleration of %s (nodepool %s)", text.p,
                               p->pool->np->m.name));
    }
}

static void advise_offering(struct podview *v, const struct explain_pool *p)
{
    const char *name = p->pool->np->m.name;
    advise(v, "wait: what is sold out is tried again after a few minutes");
    advise(v,
           arena_printf(&v->s->a,
                        "allow more zones, instance types or capacity types in nodepool %s", name));
}

static void advise_class(struct podview *v, const struct explain_pool *p)
{
    if (*p->pool->np->class_ref.name) {
        advise(v, arena_printf(&v->s->a, "kubectl describe ec2nodeclass %s",
                               p->pool->np->class_ref.name));
    }
}

static void advise_volume(struct podview *v, const struct explain_pool *p)
{
    struct arena *a = &v->s->a;
    const char *name = p->pool->np->m.name;
    if (p->reason.code == REASON_Volume) {
        advise(v, arena_printf(a, "kubectl describe pvc -n %s", v->pod->m.ns));
    } else if (p->reason.code == REASON_VolumeZone) {
        advise(v, arena_printf(a,
                               "let nodepool %s launch where the volume lies, or restore the "
                               "volume from a snapshot where the pool launches",
                               name));
    } else {
        advise(v, arena_printf(a, "let nodepool %s have instance types that attach more volumes",
                               name));
    }
}

/* Rules about other pods. */
static void advise_others(struct podview *v, const struct explain_pool *p)
{
    struct arena *a = &v->s->a;
    const char *name = p->pool->np->m.name;
    if (p->reason.code == REASON_PodAffinity) {
        advise(v, "run a pod that it wants to be near first, or make the affinity a preferred one");
    } else if (p->reason.code == REASON_PodAntiAffinity) {
        advise(v, arena_printf(a,
                               "let nodepool %s launch in more places, or make the anti-affinity "
                               "a preferred one",
                               name));
    } else if (p->reason.code == REASON_MaxShare) {
        advise(v, arena_printf(a,
                               "raise the annotation karp.dev/max-share of nodepool %s, or "
                               "--max-share",
                               name));
    } else {
        advise(v, "set whenUnsatisfiable: ScheduleAnyway, or raise maxSkew");
    }
}

/* What needs no operands, NULL for the rest. */
static const char *plain_advice(enum reason_code code)
{
    switch (code) {
    case REASON_ResourceClaim:
        return "run it on nodes that karp does not launch: resource claims are not placed";
    case REASON_LaunchBrake:
        return "wait: launches are limited (--max-launches-per-minute, --max-cost-per-hour)";
    case REASON_UnknownFields:
        return "run a version of karp that knows the field, or take the field out";
    case REASON_HostPort:
        return "use another host port, or none";
    case REASON_ResourceUnknown:
        return "declare the resource where a node gets it from, or do not ask for it";
    case REASON_MinValues:
        return "lower minValues of the pool, or let more instance types in";
    default:
        return NULL;
    }
}

static void advise_pool(struct podview *v, const struct explain_pool *p)
{
    struct arena *a = &v->s->a;
    const char *name = p->pool->np->m.name, *plain = plain_advice(p->reason.code);
    if (plain) {
        advise(v, plain);
    }
    switch (p->reason.code) {
    case REASON_Volume:
    case REASON_VolumeZone:
    case REASON_VolumeLimit:
        advise_volume(v, p);
        return;
    case REASON_PodAffinity:
    case REASON_PodAntiAffinity:
    case REASON_TopologySpread:
    case REASON_MaxShare:
        advise_others(v, p);
        return;
    case REASON_NoImage:
    case REASON_NoSubnet:
    case REASON_NoAddresses:
        advise_class(v, p);
        return;
    case REASON_PoolNotReady:
        advise(v, arena_printf(a, "kubectl describe nodepool %s", name));
        advise_class(v, p);
        return;
    case REASON_Held:
        advise(v, holds_undo(&v->s->w, a, name));
        return;
    case REASON_Taint:
        advise_taint(v, p);
        return;
    case REASON_UnknownLabel:
    case REASON_Requirement:
        advise_label(v, p);
        return;
    case REASON_Resources:
        advise_resources(v, p);
        return;
    case REASON_Offering:
        advise_offering(v, p);
        return;
    case REASON_NodeLimit:
        advise_node_limit(v, p);
        return;
    case REASON_Limit:
        advise_limit(v, p);
        return;
    default:
        return;
    }
}

void podview_advise(struct podview *v)
{
    if (str_eq(v->code, reason_name(REASON_Gated))) {
        advise(v, "whoever set the pod's spec.schedulingGates has to remove them");
    } else if (str_eq(v->code, reason_name(REASON_NotScheduledByUs))) {
        advise(v, "take karpenter.sh/nodepool DoesNotExist out of what the pod requires");
    } else if (str_eq(v->code, reason_name(REASON_NoPool)) && !v->s->w.hidden[KIND_NODE_POOL]) {
        advise(v, "create a NodePool and an EC2NodeClass");
    }
    if (v->homeless && v->e && v->e->n_pools > 0) {
        advise_pool(v, &v->e->pools[0]);
    }
}
