/*
 * catalog_gen.c - build-time generator: DescribeInstanceTypes, offerings and prices to C.
 *
 *     catalog_gen FOLDER > catalog_table.c
 *
 * FOLDER holds the three files of README.md beside this one. What it prints are the tables declared
 * in common/core/ec2/ec2type.h and ec2table.h. It is a tool of the build, no part of the core: it
 * may read files and allocate. Anything unexpected in the data ends it with an error and no table.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PRICES_AS_OF "2026-07-20"
#define PRICES_AS_OF_NS INT64_C(1784505600000000000)

#define FILE_MAX (64u << 20)
#define ZONES_MAX 16 /* EC2_TABLE_ZONES_MAX */

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

static void die(const char *fmt, ...)
{
    va_list ap;
    fputs("catalog_gen: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(1);
}

static json_t *load(const char *folder, const char *name)
{
    char path[4096];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path)) {
        die("path too long: %s", folder);
    }
    gzFile in = gzopen(path, "rb");
    if (!in) {
        die("%s: %s", path, strerror(errno));
    }
    size_t n = 0, cap = 1u << 20;
    char *text = malloc(cap);
    for (int got; text && (got = gzread(in, text + n, (unsigned)(cap - n))) != 0;) {
        if (got < 0 || n > FILE_MAX) {
            die("%s: cannot be read", path);
        }
        n += (size_t)got;
        if (n == cap) {
            cap *= 2;
            text = realloc(text, cap);
        }
    }
    if (!text) {
        die("out of memory");
    }
    gzclose(in);
    json_error_t error;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        die("%s: line %d: %s", path, error.line, error.text);
    }
    free(text);
    return root;
}

/* ---- reading fields
 * -------------------------------------------------------------------------------- */

/* "A.B.C" below o, or NULL. */
static const json_t *at(const json_t *o, const char *path)
{
    char key[64];
    while (o && *path) {
        size_t n = strcspn(path, ".");
        if (n >= sizeof(key)) {
            die("field name too long: %s", path);
        }
        memcpy(key, path, n);
        key[n] = '\0';
        o = json_object_get(o, key);
        path += n + (path[n] == '.');
    }
    return o;
}

static const char *text_at(const json_t *o, const char *path)
{
    return json_string_value(at(o, path));
}

static bool is_at(const json_t *o, const char *path, const char *value)
{
    const char *s = text_at(o, path);
    return s && strcmp(s, value) == 0;
}

static int64_t int_at(const json_t *o, const char *path)
{
    const json_t *v = at(o, path);
    return json_is_integer(v) ? (int64_t)json_integer_value(v) : -1;
}

static bool has_text(const json_t *list, const char *value)
{
    size_t i;
    const json_t *v;
    json_array_foreach ((json_t *)list, i, v) {
        if (json_is_string(v) && strcmp(json_string_value(v), value) == 0) {
            return true;
        }
    }
    return false;
}

/* Σ of Count over entries whose Manufacturer is that one; every entry if NULL. */
static int64_t sum_counts(const json_t *list, const char *manufacturer)
{
    int64_t sum = 0;
    size_t i;
    const json_t *v;
    json_array_foreach ((json_t *)list, i, v) {
        if (!manufacturer || is_at(v, "Manufacturer", manufacturer)) {
            sum += int_at(v, "Count") > 0 ? int_at(v, "Count") : 0;
        }
    }
    return sum;
}

/* ---- printing
 * --------------------------------------------------------------------------------------- */

/* A C string, lower case and with '-' for blanks, as Karpenter writes label values. */
static void put_kebab(const char *field, const char *s)
{
    if (!s) {
        return;
    }
    printf(".%s=\"", field);
    for (; *s; s++) {
        char c = *s;
        if (c == '"' || c == '\\' || (unsigned char)c < ' ') {
            die("odd character in %s", field);
        }
        putchar(c == ' ' ? '-' : c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    fputs("\",", stdout);
}

static void put_int(const char *field, int64_t n)
{
    printf(".%s=%" PRId64 ",", field, n);
}

static void put_flag(const char *field, bool on)
{
    if (on) {
        printf(".%s=true,", field);
    }
}

static const char *arch_of(const json_t *type)
{
    size_t i;
    const json_t *v;
    json_array_foreach ((json_t *)at(type, "ProcessorInfo.SupportedArchitectures"), i, v) {
        const char *s = json_string_value(v);
        if (s && strcmp(s, "x86_64") == 0) {
            return "amd64";
        }
        if (s && strcmp(s, "arm64") == 0) {
            return "arm64";
        }
    }
    return NULL;
}

static void put_processor(const json_t *type)
{
    const json_t *ghz = at(type, "ProcessorInfo.SustainedClockSpeedInGhz");
    put_kebab("arch", arch_of(type));
    put_kebab("cpu_manufacturer", text_at(type, "ProcessorInfo.Manufacturer"));
    put_kebab("hypervisor", text_at(type, "Hypervisor"));
    put_int("vcpus", int_at(type, "VCpuInfo.DefaultVCpus"));
    put_int("mem_mib", int_at(type, "MemoryInfo.SizeInMiB"));
    put_int("clock_mhz",
            json_is_number(ghz) ? (int64_t)llround(json_number_value(ghz) * 1000) : -1);
}

static const json_t *default_card(const json_t *type)
{
    int64_t index = int_at(type, "NetworkInfo.DefaultNetworkCardIndex");
    size_t i;
    const json_t *card;
    json_array_foreach ((json_t *)at(type, "NetworkInfo.NetworkCards"), i, card) {
        if (int_at(card, "NetworkCardIndex") == (index < 0 ? 0 : index)) {
            return card;
        }
    }
    return NULL;
}

static int64_t network_mbps(const json_t *type)
{
    double gbps = 0;
    size_t i;
    const json_t *card;
    json_array_foreach ((json_t *)at(type, "NetworkInfo.NetworkCards"), i, card) {
        const json_t *v = at(card, "BaselineBandwidthInGbps");
        gbps += json_is_number(v) ? json_number_value(v) : 0;
    }
    return gbps > 0 ? (int64_t)llround(gbps * 1000) : -1;
}

static void put_network(const json_t *type)
{
    const json_t *card = default_card(type);
    int64_t enis = int_at(card ? card : type, "MaximumNetworkInterfaces");
    put_int("enis", enis >= 0 ? enis : int_at(type, "NetworkInfo.MaximumNetworkInterfaces"));
    put_int("ips_per_eni", int_at(type, "NetworkInfo.Ipv4AddressesPerInterface"));
    put_int("cards", int_at(type, "NetworkInfo.MaximumNetworkCards"));
    put_int("efa_max", int_at(type, "NetworkInfo.EfaInfo.MaximumEfaInterfaces"));
    put_int("branch_enis", int_at(type, "BranchInterfaces"));
    put_int("network_mbps", network_mbps(type));
    put_flag("encryption_in_transit",
             json_is_true(at(type, "NetworkInfo.EncryptionInTransitSupported")));
    /* Where the answer does not say, there is ENA: all current types have it. */
    put_flag("ena", !is_at(type, "NetworkInfo.EnaSupport", "unsupported"));
}

static void put_storage(const json_t *type)
{
    bool optimized = is_at(type, "EbsInfo.EbsOptimizedSupport", "default");
    bool nvme = at(type, "InstanceStorageInfo") &&
                !is_at(type, "InstanceStorageInfo.NvmeSupport", "unsupported");
    put_int("ebs_mbps",
            optimized ? int_at(type, "EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps") : -1);
    put_int("nvme_gb", nvme ? int_at(type, "InstanceStorageInfo.TotalSizeInGB") : -1);
}

static void put_gpus(const json_t *type)
{
    const json_t *gpus = at(type, "GpuInfo.Gpus");
    const json_t *only = json_array_size(gpus) == 1 ? json_array_get(gpus, 0) : NULL;
    put_kebab("gpu_name", text_at(only, "Name"));
    put_kebab("gpu_manufacturer", text_at(only, "Manufacturer"));
    put_int("gpu_count", only ? int_at(only, "Count") : -1);
    put_int("gpu_mem_mib", only ? int_at(only, "MemoryInfo.SizeInMiB") : -1);
    put_int("nvidia_gpus", sum_counts(gpus, "NVIDIA"));
    put_int("amd_gpus", sum_counts(gpus, "AMD"));
    put_int("gaudis", sum_counts(gpus, "Habana"));
}

static void put_accelerators(const json_t *type)
{
    const json_t *neurons = at(type, "NeuronInfo.NeuronDevices");
    const json_t *others = at(type, "InferenceAcceleratorInfo.Accelerators");
    const json_t *first = json_array_get(neurons, 0), *only = first;
    int64_t cores = 0;
    if (first) {
        cores = int_at(first, "Count") * int_at(first, "CoreInfo.Count");
        put_kebab("accelerator_manufacturer", "aws");
    } else if (json_array_size(others) == 1) {
        only = json_array_get(others, 0);
        put_kebab("accelerator_manufacturer", text_at(only, "Manufacturer"));
    }
    put_kebab("accelerator_name", text_at(only, "Name"));
    put_int("accelerator_count", only ? int_at(only, "Count") : -1);
    put_int("neurons", sum_counts(neurons, NULL));
    put_int("neuroncores", cores > 0 ? cores : 0);
}

static void put_type(const char *name, const json_t *type)
{
    const json_t *usage = at(type, "SupportedUsageClasses");
    if (int_at(type, "VCpuInfo.DefaultVCpus") <= 0 || int_at(type, "MemoryInfo.SizeInMiB") <= 0) {
        die("%s: vCPUs or memory are missing", name);
    }
    printf("{.name=\"%s\",", name);
    put_processor(type);
    put_network(type);
    put_storage(type);
    put_gpus(type);
    put_accelerators(type);
    put_flag("bare_metal", json_is_true(at(type, "BareMetal")));
    put_flag("nitro_enclaves", is_at(type, "NitroEnclavesSupport", "supported"));
    put_flag("spot", has_text(usage, "spot"));
    put_flag("on_demand", has_text(usage, "on-demand"));
    fputs("},\n", stdout);
}

/* ---- tables
 * ------------------------------------------------------------------------------------------ */

struct list {
    const char **v;
    size_t n;
};

static int text_cmp(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add(struct list *l, const char *s)
{
    l->v = realloc(l->v, (l->n + 1) * sizeof(*l->v));
    if (!l->v) {
        die("out of memory");
    }
    l->v[l->n++] = s;
}

static bool contains(const struct list *l, const char *s)
{
    return l->n && bsearch(&s, l->v, l->n, sizeof(*l->v), text_cmp);
}

static void sort(struct list *l)
{
    if (l->n) {
        qsort(l->v, l->n, sizeof(*l->v), text_cmp);
    }
}

/* Types with hvm and an architecture that Kubernetes knows, by name. */
static json_t *wanted_types(const json_t *all, struct list *names)
{
    json_t *by_name = json_object();
    size_t i;
    json_t *type;
    json_array_foreach ((json_t *)all, i, type) {
        const char *name = text_at(type, "InstanceType");
        if (!name || strpbrk(name, "\"\\")) {
            die("an instance type without a proper name");
        }
        if (arch_of(type) && has_text(at(type, "SupportedVirtualizationTypes"), "hvm")) {
            if (json_object_get(by_name, name)) {
                die("%s is listed twice", name);
            }
            json_object_set(by_name, name, type);
            add(names, name);
        }
    }
    sort(names);
    return by_name;
}

static void put_facts(const json_t *types, const struct list *names)
{
    puts("const struct ec2_fact ec2_facts[] = {");
    for (size_t i = 0; i < names->n; i++) {
        put_type(names->v[i], json_object_get(types, names->v[i]));
    }
    printf("};\nconst uint32_t ec2_facts_n = %zu;\n", names->n);
}

/* The price list has at most ten decimals. */
static int64_t pico_dollars(const char *name, const json_t *price)
{
    double usd = json_number_value(price);
    if (!json_is_number(price) || !(usd >= 0) || usd > 100000) {
        die("%s: odd price", name);
    }
    return (int64_t)llround(usd * 1e10) * 100;
}

static void put_prices(const json_t *prices, const struct list *names)
{
    struct list others = {NULL, 0};
    const char *name;
    json_t *v;
    printf("/* Prices of %s. */\n", PRICES_AS_OF);
    printf("const int64_t ec2_prices_as_of_ns = INT64_C(%" PRId64 ");\n", PRICES_AS_OF_NS);
    puts("const int64_t ec2_table_prices[] = {");
    for (size_t i = 0; i < names->n; i++) {
        v = json_object_get(prices, names->v[i]);
        printf("%" PRId64 ",\n", v ? pico_dollars(names->v[i], v) : INT64_C(-1));
    }
    puts("};\nconst struct ec2_table_price ec2_table_other_prices[] = {");
    json_object_foreach ((json_t *)prices, name, v) {
        if (!contains(names, name)) {
            add(&others, name);
        }
    }
    sort(&others);
    for (size_t i = 0; i < others.n; i++) {
        printf("{\"%s\",%" PRId64 "},\n", others.v[i],
               pico_dollars(others.v[i], json_object_get(prices, others.v[i])));
    }
    printf("{\"\",-1}\n};\nconst uint32_t ec2_table_other_prices_n = %zu;\n", others.n);
    free(others.v);
}

static void list_zones(const json_t *region, struct list *zones)
{
    const char *type;
    json_t *list;
    json_object_foreach ((json_t *)region, type, list) {
        size_t i;
        const json_t *zone;
        json_array_foreach (list, i, zone) {
            const char *s = json_string_value(zone);
            if (!s) {
                die("%s: a zone is no string", type);
            }
            if (!contains(zones, s)) {
                add(zones, s);
                sort(zones);
            }
        }
    }
    if (zones->n > ZONES_MAX) {
        die("more than %d zones in one region", ZONES_MAX);
    }
}

static void put_region(size_t number, const json_t *region, const struct list *names)
{
    struct list zones = {NULL, 0};
    list_zones(region, &zones);
    printf("static const char *const zones_%zu[] = {", number);
    for (size_t i = 0; i < zones.n; i++) {
        printf("\"%s\",", zones.v[i]);
    }
    printf("NULL};\nstatic const uint16_t offered_%zu[] = {", number);
    for (size_t i = 0; i < names->n; i++) {
        const json_t *list = json_object_get(region, names->v[i]);
        unsigned bits = 0;
        for (size_t k = 0; k < zones.n; k++) {
            bits |= (unsigned)has_text(list, zones.v[k]) << k;
        }
        printf("%s%u,", i % 24 ? "" : "\n", bits);
    }
    puts("\n};");
    free(zones.v);
}

static void put_regions(const json_t *offerings, const struct list *names)
{
    struct list regions = {NULL, 0};
    const char *name;
    json_t *v;
    json_object_foreach ((json_t *)offerings, name, v) {
        add(&regions, name);
    }
    sort(&regions);
    for (size_t i = 0; i < regions.n; i++) {
        put_region(i, json_object_get(offerings, regions.v[i]), names);
    }
    puts("const struct ec2_table_region ec2_table_regions[] = {");
    for (size_t i = 0; i < regions.n; i++) {
        printf("{\"%s\", zones_%zu, offered_%zu},\n", regions.v[i], i, i);
    }
    printf("};\nconst uint32_t ec2_table_regions_n = %zu;\n", regions.n);
    free(regions.v);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        die("usage: catalog_gen FOLDER");
    }
    json_t *all = load(argv[1], "instance-types.json.gz");
    json_t *offerings = load(argv[1], "offerings.json.gz");
    json_t *prices = load(argv[1], "prices-us-east-1.json.gz");
    struct list names = {NULL, 0};
    json_t *types = wanted_types(all, &names);
    puts("/* Generated by common/core/data/catalog_gen.c. */\n#include "
         "\"common/core/ec2/ec2table.h\"\n");
    put_facts(types, &names);
    put_prices(prices, &names);
    put_regions(offerings, &names);
    json_decref(types);
    json_decref(all);
    json_decref(offerings);
    json_decref(prices);
    free(names.v);
    if (fflush(stdout) || ferror(stdout)) {
        die("cannot write");
    }
    return 0;
}
