/* ec2type.c - labels of EC2 types and their catalog, see ec2type.h */
#include "ec2type.h"

#include "common/core/labels.h"

#include "common/base/str.h"

#define LABELS_MAX 48 /* of one type */

/* Labels are put in the order of their keys, which is the catalog's. */
struct labeler {
    struct symtab *syms;
    struct req *v;
    sym *values; /* one per label */
    uint32_t n;
};

/* SYM_NONE: DoesNotExist. */
static void put(struct labeler *l, sym key, sym value)
{
    if (l->n >= LABELS_MAX) {
        BUG("more than %d labels for one instance type", LABELS_MAX);
    }
    struct req *r = &l->v[l->n];
    *r = (struct req){.key = key};
    if (value != SYM_NONE) {
        l->values[l->n] = value;
        r->values = &l->values[l->n];
        r->n = 1;
    }
    l->n++;
}

static void put_text(struct labeler *l, sym key, const char *text)
{
    put(l, key, sym_intern(l->syms, text));
}

/* Below 0: DoesNotExist. */
static void put_int(struct labeler *l, sym key, int64_t n)
{
    char text[STR_I64_TEXT];
    put(l, key, n < 0 ? SYM_NONE : sym_intern(l->syms, str_from_i64(n, text)));
}

static void put_bool(struct labeler *l, sym key, bool on)
{
    put(l, key, on ? V_TRUE : V_FALSE);
}

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* "m5.large" is category m, generation 5; "u-6tb1.metal" u and 1. What has another form has
 * neither. */
static void put_category(struct labeler *l, const char *name)
{
    size_t letters = strspn(name, "abcdefghijklmnopqrstuvwxyz");
    const char *generation = name + letters;
    if (*generation == '-') {
        size_t size = digits(generation + 1);
        const char *unit = generation + 1 + size;
        if (size > 0 && str_starts(unit, "tb")) {
            generation = unit + 2;
        }
    }
    size_t n = digits(generation);
    if (letters == 0 || n == 0 || !strchr(generation, '.')) {
        put(l, L_CATEGORY, SYM_NONE);
        put(l, L_GENERATION, SYM_NONE);
        return;
    }
    put(l, L_CATEGORY, sym_intern_n(l->syms, name, letters));
    put(l, L_GENERATION, sym_intern_n(l->syms, generation, n));
}

static void put_name(struct labeler *l, const struct ec2_fact *f)
{
    const char *dot = strchr(f->name, '.');
    size_t family = dot ? (size_t)(dot - f->name) : strlen(f->name);
    put_category(l, f->name);
    sym name = sym_intern_n(l->syms, f->name, family);
    put(l, L_FAMILY, name);
    put_text(l, L_SIZE, dot ? dot + 1 : NULL);
    put_bool(l, L_FLEX, str_contains(sym_str(l->syms, name), "-flex"));
}

static void put_system(struct labeler *l, const struct ec2_fact *f, const struct ec2_class *c)
{
    bool windows = c->family == FAMILY_WINDOWS;
    sym os = V_LINUX;
    if (windows) {
        os = str_eq(f->arch, "amd64") ? (sym)V_WINDOWS : SYM_NONE;
    }
    put_text(l, L_ARCH, f->arch);
    put(l, L_OS, os);
    put_text(l, L_WINDOWS_BUILD, windows ? c->windows_build : NULL);
}

static void put_hardware(struct labeler *l, const struct ec2_fact *f)
{
    put_int(l, L_CPU, f->vcpus);
    put_text(l, L_CPU_MANUFACTURER, f->cpu_manufacturer);
    /* Karpenter publishes 0 where EC2 does not tell. */
    put_int(l, L_CPU_CLOCK_MHZ, f->clock_mhz < 0 ? 0 : f->clock_mhz);
    put_int(l, L_MEMORY, f->mem_mib);
    put_int(l, L_EBS_BANDWIDTH, f->ebs_mbps);
    put_int(l, L_NETWORK_BANDWIDTH, f->network_mbps);
    put_int(l, L_LOCAL_NVME, f->nvme_gb);
    put_text(l, L_HYPERVISOR, f->hypervisor ? f->hypervisor : "");
    put_bool(l, L_ENCRYPTION_IN_TRANSIT, f->encryption_in_transit);
    put_bool(l, L_NITRO_SANDBOX, f->nitro_enclaves);
}

static void put_gpus(struct labeler *l, const struct ec2_fact *f)
{
    put_text(l, L_GPU_NAME, f->gpu_name);
    put_text(l, L_GPU_MANUFACTURER, f->gpu_manufacturer);
    put_int(l, L_GPU_COUNT, f->gpu_count);
    put_int(l, L_GPU_MEMORY, f->gpu_mem_mib);
    put_text(l, L_ACCELERATOR_NAME, f->accelerator_name);
    put_text(l, L_ACCELERATOR_MANUFACTURER, f->accelerator_manufacturer);
    put_int(l, L_ACCELERATOR_COUNT, f->accelerator_count);
}

/* What only nodes in a reservation or placement group have. */
static const sym never[] = {L_RESERVATION_ID, L_RESERVATION_TYPE, L_RESERVATION_INTERRUPTIBLE,
                            L_PLACEMENT_GROUP_ID, L_PLACEMENT_GROUP_PARTITION};
static const sym tenancies[] = {V_DEFAULT, V_DEDICATED};

static void put_placement(struct labeler *l)
{
    put(l, L_TENANCY, SYM_NONE);
    struct req *tenancy = &l->v[l->n - 1];
    tenancy->values = tenancies;
    tenancy->n = ARRAY_LEN(tenancies);
    for (size_t i = 0; i < ARRAY_LEN(never); i++) {
        put(l, never[i], SYM_NONE);
    }
}

static void take_observed(const struct ec2_catalog_in *in, const struct ec2_fact *f,
                          struct catalog_type *t)
{
    static const enum resource seen[] = {
#define X(res, name) res,
        OBSERVED(X)
#undef X
    };
    struct ec2_observed o;
    if (!in->observed || !in->observed(in->ctx, f->name, &o)) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
        int64_t capacity = o.capacity[seen[i]], allocatable = o.allocatable[seen[i]];
        if (capacity >= 0 && allocatable >= 0) {
            t->capacity.v[seen[i]] = capacity;
            t->allocatable.v[seen[i]] = allocatable < capacity ? allocatable : capacity;
        }
    }
}

static void describe(struct arena *a, const struct ec2_catalog_in *in, const struct ec2_fact *f,
                     struct catalog_type *ret)
{
    struct labeler l = {.syms = in->syms};
    l.v = ARENA_NEW_N(a, struct req, LABELS_MAX);
    l.values = ARENA_NEW_N(a, sym, LABELS_MAX);
    put_text(&l, L_REGION, in->region);
    put_text(&l, L_INSTANCE_TYPE, f->name);
    put_system(&l, f, in->cls);
    put_name(&l, f);
    put_hardware(&l, f);
    put_gpus(&l, f);
    put_placement(&l);
    ret->name = sym_intern(in->syms, f->name);
    ret->labels = l.v;
    ret->n_labels = l.n;
    ret->capacity = ec2_capacity(f, in->cls);
    ret->allocatable = ec2_allocatable(in->syms, f, in->cls, &ret->capacity);
    take_observed(in, f, ret);
}

struct catalog *ec2_catalog(struct arena *a, const struct ec2_catalog_in *in, struct err *reterr)
{
    struct arena_mark mark = arena_mark(a);
    const struct ec2_fact *facts = in->facts ? in->facts : ec2_facts;
    uint32_t n_facts = in->facts ? in->n_facts : ec2_facts_n;
    struct catalog_type *types = ARENA_NEW_N(a, struct catalog_type, n_facts);
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_facts; i++) {
        if (!in->type_wanted || in->type_wanted(in->ctx, facts[i].name)) {
            describe(a, in, &facts[i], &types[n++]);
        }
    }
    struct catalog *c = catalog_new(in->syms, types, n, &in->zones, reterr);
    arena_rewind(a, mark);
    return c;
}
