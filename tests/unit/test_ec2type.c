/* test_ec2type.c - worked numbers, node class options, labels, the built-in table */
#include "unit.h"

#include "common/core/ec2/ec2type.h"
#include "common/core/labels.h"

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

static const struct ec2_fact *fact(const char *type)
{
    int i = ec2_find_fact(type);
    ck_assert_msg(i >= 0, "%s", type);
    return &ec2_facts[i];
}

static const struct {
    const char *type;
    int64_t mem_mib, pods, kube_cpu, kube_mib, cpu, alloc_mib, enis, price_e4; /* $/h · 10⁴ */
} worked[] = {
    {"t3.medium", 3788, 17, 70, 442, 1930, 3246, 0, 416},
    {"m5.large", 7577, 29, 70, 574, 1930, 6903, 9, 960},
    {"c6g.xlarge", 7518, 58, 80, 893, 3920, 6525, 18, 1360},
    {"g5.xlarge", 15155, 58, 80, 893, 3920, 14162, 4, 10060},
    {"c5.4xlarge", 30310, 234, 110, 2829, 15890, 27381, 54, 6800},
    {"m5.24xlarge", 363724, 737, 310, 8362, 95690, 355262, 107, 46080},
    {"p5.48xlarge", 1939865, 100, 550, 1355, 191450, 1938410, 120, 550400},
};

START_TEST(worked_numbers)
{
    struct symtab *t = labels_symtab_new();
    const struct ec2_fact *f = fact(worked[_i].type);
    struct ec2_class c;
    ec2_class_default(&c);
    struct resources cap = ec2_capacity(f, &c), kube = ec2_kube_reserved(f, &c);
    struct resources alloc = ec2_allocatable(t, f, &c, &cap);
    ck_assert_int_eq(cap.v[RES_MEMORY], worked[_i].mem_mib * MIB);
    ck_assert_int_eq(cap.v[RES_PODS], worked[_i].pods);
    ck_assert_int_eq(cap.v[RES_POD_ENI], worked[_i].enis);
    ck_assert_int_eq(kube.v[RES_CPU], worked[_i].kube_cpu);
    ck_assert_int_eq(kube.v[RES_MEMORY], worked[_i].kube_mib * MIB);
    ck_assert_int_eq(kube.v[RES_EPHEMERAL_STORAGE], GIB);
    ck_assert_int_eq(alloc.v[RES_CPU], worked[_i].cpu);
    ck_assert_int_eq(alloc.v[RES_MEMORY], worked[_i].alloc_mib * MIB);
    ck_assert_int_eq(alloc.v[RES_PODS], worked[_i].pods);
    ck_assert_int_eq(alloc.v[RES_EPHEMERAL_STORAGE], 17 * GIB);
    ck_assert_int_eq(ec2_builtin_price(worked[_i].type),
                     worked[_i].price_e4 * (PUSD_PER_USD / 10000));
    symtab_free(t);
}
END_TEST

/* ---- what a node class changes, on m5.large unless said
 * ------------------------------------------------ */

struct option_row {
    const char *name, *type;
    void (*set)(struct ec2_class *c);
    enum resource res;
    int64_t capacity, allocatable;
};

static void none(UNUSED struct ec2_class *c)
{
}
static void no_overhead(struct ec2_class *c)
{
    c->vm_overhead_permyriad = 0;
}
static void all_overhead(struct ec2_class *c)
{
    c->vm_overhead_permyriad = 20000;
}
static void one_eni(struct ec2_class *c)
{
    c->reserved_enis = 1;
}
static void all_enis(struct ec2_class *c)
{
    c->reserved_enis = 3;
}
static void max_110(struct ec2_class *c)
{
    c->max_pods = 110;
}
static void per_core(struct ec2_class *c)
{
    c->pods_per_core = 4;
}
static void per_core_bottlerocket(struct ec2_class *c)
{
    c->pods_per_core = 4;
    c->family = FAMILY_BOTTLEROCKET;
}
static void bottlerocket_110(struct ec2_class *c)
{
    c->max_pods = 110;
    c->family = FAMILY_BOTTLEROCKET;
}
static void windows(struct ec2_class *c)
{
    c->family = FAMILY_WINDOWS;
}
static void by_hand(struct ec2_class *c)
{
    c->kube_cpu_milli = 200;
    c->kube_mem_bytes = 500 * MIB;
    c->kube_ephemeral_bytes = 2 * GIB;
    c->system_cpu_milli = 100;
    c->system_mem_bytes = 77 * MIB;
    c->system_ephemeral_bytes = GIB;
}
static void evict_bytes(struct ec2_class *c)
{
    c->evict_mem_bytes = 200 * MIB;
    c->evict_storage_bytes = 5 * GIB;
}
static void evict_share(struct ec2_class *c)
{
    c->evict_mem_permyriad = 500;
    c->evict_storage_permyriad = 500;
}
static void evict_off(struct ec2_class *c)
{
    c->evict_mem_permyriad = 10000;
    c->evict_storage_permyriad = 10000;
}
static void raid0(struct ec2_class *c)
{
    c->instance_store_raid0 = true;
}
static void volume(struct ec2_class *c)
{
    c->root_volume_bytes = 100 * GIB;
}
static void extra_gpu(struct ec2_class *c)
{
    c->extra.v[RES_NVIDIA_GPU] = 2;
}

static const struct option_row options[] = {
    {"default memory", "m5.large", none, RES_MEMORY, 7577 * MIB, 6903 * MIB},
    {"no overhead", "m5.large", no_overhead, RES_MEMORY, 8192 * MIB, 7518 * MIB},
    {"more than all", "m5.large", all_overhead, RES_MEMORY, 0, -674 * MIB},
    {"a reserved ENI", "m5.large", one_eni, RES_PODS, 20, 20},
    {"does not change kube reserved", "m5.large", one_eni, RES_MEMORY, 7577 * MIB, 6903 * MIB},
    {"no ENI left", "m5.large", all_enis, RES_PODS, 0, 0},
    {"max pods", "m5.large", max_110, RES_PODS, 110, 110},
    {"max pods, AL2023 memory", "m5.large", max_110, RES_MEMORY, 7577 * MIB, 6903 * MIB},
    {"max pods, Bottlerocket memory", "m5.large", bottlerocket_110, RES_MEMORY, 7577 * MIB,
     (7577 - 11 * 110 - 255 - 100) * MIB},
    {"pods per core", "m5.large", per_core, RES_PODS, 8, 8},
    {"pods per core, but more than ENIs", "t3.medium", per_core, RES_PODS, 8, 8},
    {"Bottlerocket has none", "m5.large", per_core_bottlerocket, RES_PODS, 29, 29},
    {"Windows pods", "m5.large", windows, RES_PODS, 110, 110},
    {"Windows addresses", "m5.large", windows, RES_PRIVATE_IPV4, 9, 9},
    {"Linux addresses", "m5.large", none, RES_PRIVATE_IPV4, 0, 0},
    {"by hand: cpu", "m5.large", by_hand, RES_CPU, 2000, 1700},
    {"by hand: memory", "m5.large", by_hand, RES_MEMORY, 7577 * MIB, 6900 * MIB},
    {"by hand: storage", "m5.large", by_hand, RES_EPHEMERAL_STORAGE, 20 * GIB, 15 * GIB},
    {"eviction in bytes", "m5.large", evict_bytes, RES_MEMORY, 7577 * MIB, 6803 * MIB},
    {"eviction in bytes: storage", "m5.large", evict_bytes, RES_EPHEMERAL_STORAGE, 20 * GIB,
     14 * GIB},
    {"eviction as share, rounded up", "m5.large", evict_share, RES_MEMORY, 7577 * MIB,
     7003 * MIB - (7577 * MIB * 5 + 99) / 100},
    {"eviction as share: storage", "m5.large", evict_share, RES_EPHEMERAL_STORAGE, 20 * GIB,
     18 * GIB},
    {"eviction off", "m5.large", evict_off, RES_MEMORY, 7577 * MIB, 7003 * MIB},
    {"eviction off: storage", "m5.large", evict_off, RES_EPHEMERAL_STORAGE, 20 * GIB, 19 * GIB},
    {"RAID0 with disks", "p5.48xlarge", raid0, RES_EPHEMERAL_STORAGE, INT64_C(30400000000000),
     INT64_C(30400000000000) * 9 / 10 - GIB},
    {"RAID0 without", "m5.large", raid0, RES_EPHEMERAL_STORAGE, 20 * GIB, 17 * GIB},
    {"larger volume", "m5.large", volume, RES_EPHEMERAL_STORAGE, 100 * GIB, 89 * GIB},
    {"declared by the class", "m5.large", extra_gpu, RES_NVIDIA_GPU, 2, 2},
    {"on top of its own", "p5.48xlarge", extra_gpu, RES_NVIDIA_GPU, 10, 10},
    {"inf1 cores", "inf1.24xlarge", none, RES_NEURONCORE, 64, 64},
    {"inf1 devices", "inf1.24xlarge", none, RES_NEURON, 16, 16},
    {"EFA", "p5.48xlarge", none, RES_EFA, 32, 32},
    {"fraction of a GPU", "g6f.large", none, RES_NVIDIA_GPU, 0, 0},
};

START_TEST(node_class_options)
{
    struct symtab *t = labels_symtab_new();
    const struct option_row *row = &options[_i];
    struct ec2_class c;
    ec2_class_default(&c);
    row->set(&c);
    struct resources cap = ec2_capacity(fact(row->type), &c);
    struct resources alloc = ec2_allocatable(t, fact(row->type), &c, &cap);
    ck_assert_msg(cap.v[row->res] == row->capacity, "%s: capacity %lld", row->name,
                  (long long)cap.v[row->res]);
    ck_assert_msg(alloc.v[row->res] == row->allocatable, "%s: allocatable %lld", row->name,
                  (long long)alloc.v[row->res]);
    symtab_free(t);
}
END_TEST

START_TEST(hugepages_are_no_memory)
{
    struct symtab *t = labels_symtab_new();
    const struct ec2_fact *f = fact("m5.large");
    struct ec2_class c;
    struct res_ext ext[] = {{sym_intern(t, "hugepages-2Mi"), 1024 * MIB},
                            {sym_intern(t, "example.com/fuse"), 100}};
    ec2_class_default(&c);
    c.extra.ext = ext;
    c.extra.n_ext = 2;
    struct resources cap = ec2_capacity(f, &c);
    struct resources alloc = ec2_allocatable(t, f, &c, &cap);
    ck_assert_int_eq(alloc.v[RES_MEMORY], (6903 - 1024) * MIB);
    ck_assert_int_eq(resources_get_ext(&alloc, ext[1].name), 100);
    ext[0].amount = 9000 * MIB;
    cap = ec2_capacity(f, &c);
    ck_assert_int_eq(ec2_allocatable(t, f, &c, &cap).v[RES_MEMORY], 0);
    symtab_free(t);
}
END_TEST

static const struct {
    int32_t vcpus;
    int64_t milli;
} cpus[] = {{1, 60}, {2, 70}, {3, 75}, {4, 80}, {5, 82}, {8, 90}, {448, 1190}};

START_TEST(kube_reserved_cpu)
{
    struct ec2_fact f = {.name = "x.y", .vcpus = cpus[_i].vcpus};
    struct ec2_class c;
    ec2_class_default(&c);
    ck_assert_int_eq(ec2_kube_reserved(&f, &c).v[RES_CPU], cpus[_i].milli);
}
END_TEST

/* ---- labels
 * --------------------------------------------------------------------------------------------- */

struct world {
    struct symtab *syms;
    struct arena scratch;
    struct ec2_class cls;
    struct catalog *c;
    sym zones[2];
};

static bool only_g_and_c(UNUSED void *ctx, const char *name)
{
    return name[0] == 'g' || name[0] == 'c';
}

/* More memory, of which somebody keeps most; fewer pods; nothing is known of the rest. */
static bool observed(UNUSED void *ctx, const char *type, struct ec2_observed *ret)
{
    memset(ret, 0xff, sizeof(*ret));
    ret->capacity[RES_MEMORY] = 12345 * MIB;
    ret->allocatable[RES_MEMORY] = 1234 * MIB;
    ret->capacity[RES_PODS] = 8;
    ret->allocatable[RES_PODS] = 9;
    return strcmp(type, "c5.large") == 0;
}

static void build(struct world *w, enum ami_family family, bool some)
{
    struct err e = ERR_INIT;
    w->syms = labels_symtab_new();
    arena_init(&w->scratch, 0, SIZE_MAX);
    ec2_class_default(&w->cls);
    w->cls.family = family;
    w->cls.windows_build = family == FAMILY_WINDOWS ? "10.0.20348" : NULL;
    w->zones[0] = sym_intern(w->syms, "us-east-1a");
    w->zones[1] = sym_intern(w->syms, "us-east-1b");
    struct ec2_catalog_in in = {.syms = w->syms,
                                .region = "us-east-1",
                                .cls = &w->cls,
                                .zones = {w->zones, NULL, 2},
                                .type_wanted = some ? only_g_and_c : NULL,
                                .observed = some ? observed : NULL};
    w->c = ec2_catalog(&w->scratch, &in, &e);
    ck_assert_msg(w->c != NULL, "%s", e.msg);
    ck_assert_uint_eq(w->scratch.used_bytes, 0);
}

static void done(struct world *w)
{
    catalog_free(w->c);
    arena_done(&w->scratch);
    symtab_free(w->syms);
}

/* value NULL: DoesNotExist. */
static const struct {
    const char *type;
    sym key;
    const char *value;
} labels[] = {
    {"m5.large", L_INSTANCE_TYPE, "m5.large"},
    {"m5.large", L_REGION, "us-east-1"},
    {"m5.large", L_CATEGORY, "m"},
    {"m5.large", L_GENERATION, "5"},
    {"m5.large", L_FAMILY, "m5"},
    {"m5.large", L_SIZE, "large"},
    {"m5.large", L_FLEX, "false"},
    {"m5.large", L_OS, "linux"},
    {"m5.large", L_ARCH, "amd64"},
    {"m5.large", L_GPU_NAME, NULL},
    {"m5.large", L_ACCELERATOR_COUNT, NULL},
    {"m5.large", L_LOCAL_NVME, NULL},
    {"m5.large", L_WINDOWS_BUILD, NULL},
    {"m5.large", L_RESERVATION_ID, NULL},
    {"m5.large", L_PLACEMENT_GROUP_PARTITION, NULL},
    {"m5.large", L_NITRO_SANDBOX, "false"},
    {"m5.metal", L_HYPERVISOR, ""},
    {"p5.48xlarge", L_NITRO_SANDBOX, "true"},
    {"p5.48xlarge", L_GPU_NAME, "h100"},
    {"p5.48xlarge", L_LOCAL_NVME, "30400"},
    {"c7i-flex.large", L_FLEX, "true"},
    {"c7i-flex.large", L_CATEGORY, "c"},
    {"u-3tb1.56xlarge", L_CATEGORY, "u"},
    {"u-3tb1.56xlarge", L_GENERATION, "1"},
    {"u7i-6tb.112xlarge", L_GENERATION, "7"},
    {"dl2q.24xlarge", L_ACCELERATOR_MANUFACTURER, "qualcomm"},
    {"dl2q.24xlarge", L_ACCELERATOR_NAME, "qualcomm-ai100"},
    {"inf2.xlarge", L_ACCELERATOR_MANUFACTURER, "aws"},
    {"c6g.xlarge", L_CPU_MANUFACTURER, "aws"},
    {"m1.small", L_CPU_CLOCK_MHZ, "0"},
    {"m1.small", L_EBS_BANDWIDTH, NULL},
};

START_TEST(labels_of_types)
{
    struct world w;
    build(&w, FAMILY_AL2023, false);
    int i = catalog_find_type(w.c, sym_find(w.syms, labels[_i].type));
    ck_assert_int_ge(i, 0);
    const struct req *r = catalog_label(w.c, (uint32_t)i, labels[_i].key);
    ck_assert_ptr_nonnull(r);
    if (labels[_i].value) {
        ck_assert_str_eq(sym_str(w.syms, req_single(r)), labels[_i].value);
    } else {
        ck_assert_int_eq(req_op(r), REQ_DOES_NOT_EXIST);
    }
    done(&w);
}
END_TEST

START_TEST(every_type_says_something_to_every_key)
{
    struct world w;
    build(&w, FAMILY_AL2023, false);
    ck_assert_uint_eq(catalog_n_types(w.c), ec2_facts_n);
    for (sym key = 1; key < LABELS_END; key++) {
        bool of_pool =
            key == L_NODEPOOL || key == L_ZONE || key == L_ZONE_ID || key == L_CAPACITY_TYPE;
        for (uint32_t i = 0; labels_well_known(key) && !of_pool && i < catalog_n_types(w.c); i++) {
            ck_assert_msg(catalog_label(w.c, i, key) != NULL, "%s", sym_str(w.syms, key));
        }
    }
    const struct req *tenancy = catalog_label(w.c, 0, L_TENANCY);
    ck_assert_uint_eq(tenancy->n, 2);
    done(&w);
}
END_TEST

START_TEST(windows_runs_on_amd64)
{
    struct world w;
    build(&w, FAMILY_WINDOWS, true);
    int amd = catalog_find_type(w.c, sym_find(w.syms, "c5.large"));
    int arm = catalog_find_type(w.c, sym_find(w.syms, "c6g.large"));
    const struct req *os = catalog_label(w.c, (uint32_t)amd, L_OS);
    const struct req *build_no = catalog_label(w.c, (uint32_t)amd, L_WINDOWS_BUILD);
    ck_assert_uint_eq(req_single(os), V_WINDOWS);
    ck_assert_str_eq(sym_str(w.syms, req_single(build_no)), "10.0.20348");
    os = catalog_label(w.c, (uint32_t)arm, L_OS);
    ck_assert(req_is_empty(os));
    done(&w);
}
END_TEST

START_TEST(wanted_types_and_observed_ones)
{
    struct world w;
    build(&w, FAMILY_AL2023, true);
    ck_assert_uint_lt(catalog_n_types(w.c), ec2_facts_n);
    ck_assert_int_eq(catalog_find_type(w.c, sym_find(w.syms, "m5.large")), -1);
    int i = catalog_find_type(w.c, sym_find(w.syms, "c5.large"));
    const struct resources *capacity = catalog_capacity(w.c, (uint32_t)i);
    const struct resources *allocatable = catalog_allocatable(w.c, (uint32_t)i);
    ck_assert_int_eq(capacity->v[RES_MEMORY], 12345 * MIB);
    ck_assert_int_eq(allocatable->v[RES_MEMORY], 1234 * MIB);
    ck_assert_int_eq(capacity->v[RES_PODS], 8);
    ck_assert_int_eq(allocatable->v[RES_PODS], 8);
    ck_assert_int_eq(capacity->v[RES_CPU], 2000);
    ck_assert_int_eq(allocatable->v[RES_CPU], 1930);
    i = catalog_find_type(w.c, sym_find(w.syms, "c5.xlarge"));
    ck_assert_int_eq(catalog_capacity(w.c, (uint32_t)i)->v[RES_MEMORY], 7577 * MIB);
    ck_assert_uint_eq(catalog_n_zones(w.c), 2);
    done(&w);
}
END_TEST

START_TEST(a1_does_not_run_al2023)
{
    struct ec2_class c;
    ec2_class_default(&c);
    ck_assert(!ec2_compatible(fact("a1.large"), &c));
    ck_assert(ec2_compatible(fact("m5.large"), &c));
    c.family = FAMILY_BOTTLEROCKET;
    ck_assert(ec2_compatible(fact("a1.large"), &c));
}
END_TEST

/* ---- the table
 * ---------------------------------------------------------------------------------------------- */

START_TEST(facts_are_sorted_and_sane)
{
    ck_assert_uint_eq(ec2_facts_n, 1386);
    for (uint32_t i = 0; i < ec2_facts_n; i++) {
        const struct ec2_fact *f = &ec2_facts[i];
        ck_assert_msg(i == 0 || strcmp(ec2_facts[i - 1].name, f->name) < 0, "%s", f->name);
        ck_assert_int_eq(ec2_find_fact(f->name), (int)i);
        ck_assert_msg(f->vcpus > 0 && f->mem_mib > 0 && f->enis > 0 && f->ips_per_eni > 0, "%s",
                      f->name);
        ck_assert(strcmp(f->arch, "amd64") == 0 || strcmp(f->arch, "arm64") == 0);
    }
    ck_assert_int_eq(ec2_find_fact("mac2.metal"), -1);
    ck_assert_int_eq(ec2_find_fact(""), -1);
    ck_assert_int_eq(ec2_find_fact(NULL), -1);
}
END_TEST

static const struct {
    const char *region, *first;
    int n;
} regions[] = {{"us-east-1", "us-east-1a", 6},
               {"us-west-2", "us-west-2a", 4},
               {"eu-west-1", "eu-west-1a", 3},
               {"ap-northeast-1", "ap-northeast-1a", 3}};

START_TEST(zones_of_regions)
{
    const char *const *zones = ec2_builtin_zones(regions[_i].region);
    int n = 0;
    ck_assert_str_eq(zones[0], regions[_i].first);
    for (; zones[n]; n++) {
        ck_assert(n == 0 || strcmp(zones[n - 1], zones[n]) < 0);
    }
    ck_assert_int_eq(n, regions[_i].n);
    uint64_t offered = ec2_builtin_offered(regions[_i].region, "m5.large");
    ck_assert_uint_ne(offered, 0);
    ck_assert_uint_eq(offered >> n, 0);
}
END_TEST

START_TEST(what_the_table_does_not_have)
{
    ck_assert_ptr_null(ec2_builtin_zones("moon-1"));
    ck_assert_ptr_null(ec2_builtin_zones(NULL));
    ck_assert_uint_eq(ec2_builtin_offered("moon-1", "m5.large"), 0);
    ck_assert_uint_eq(ec2_builtin_offered("us-east-1", "m5.giant"), 0);
    ck_assert_int_eq(ec2_builtin_price("m5.giant"), PRICE_UNKNOWN);
    ck_assert_int_eq(ec2_builtin_price(NULL), PRICE_UNKNOWN);
    /* Retired, no longer described, but with a price. */
    ck_assert_int_eq(ec2_find_fact("p2.xlarge"), -1);
    ck_assert_int_gt(ec2_builtin_price("p2.xlarge"), 0);
    /* us-east-1a to c, and not d to f. */
    ck_assert_uint_eq(ec2_builtin_offered("us-east-1", "a1.2xlarge"), 7);
    ck_assert_int_eq(ec2_prices_as_of_ns, INT64_C(1784505600) * 1000000000);
}
END_TEST

UNIT_MAIN("ec2type", UNIT_CASES(worked_numbers, worked), UNIT_CASES(node_class_options, options),
          UNIT_TEST(hugepages_are_no_memory), UNIT_CASES(kube_reserved_cpu, cpus),
          UNIT_CASES(labels_of_types, labels), UNIT_TEST(every_type_says_something_to_every_key),
          UNIT_TEST(windows_runs_on_amd64), UNIT_TEST(wanted_types_and_observed_ones),
          UNIT_TEST(a1_does_not_run_al2023), UNIT_TEST(facts_are_sorted_and_sane),
          UNIT_CASES(zones_of_regions, regions), UNIT_TEST(what_the_table_does_not_have))
