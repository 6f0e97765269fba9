/* test_prices.c - price files, regions, catalogs from files (cmd/read/prices.h, cmd/read/types.h).
 */
#include "cmd/read/prices.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "unit.h"

#include <unistd.h>

#define USD(milli) ((milli) * (PUSD_PER_USD / 1000))
#define UNKNOWN PRICE_UNKNOWN

static char path[64];

static void write_file(const char *text)
{
    unit_path(path, sizeof(path), "prices");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* ---- files ----------------------------------------------------------------------------------- */

static const struct {
    const char *text;  /* NULL = no file */
    const char *error; /* part of the message; NULL = fine */
} files[] = {
    {"{\"onDemand\": {\"m5.large\": 0.096}}", NULL},
    {"{\"onDemand\": {}}", NULL},
    {"{\"spot\": {}}", NULL},
    {"{\"onDemand\": {\"m5.large\": \"0.096\"}, \"comment\": 1}", NULL},
    {"{\"onDemand\": {}, \"asOf\": \"2026-01-05T00:00:00Z\", \"region\": \"us-west-2\"}", NULL},
    {"{}", "neither onDemand nor spot"},
    {"[]", "neither onDemand nor spot"},
    {"7", "neither onDemand nor spot"},
    {"", "line 1"},
    {"{\"onDemand\": ", "line 1"},
    {"{\"onDemand\": [1]}", "onDemand: not an object"},
    {"{\"onDemand\": {\"m5.large\": -1}}", "onDemand: m5.large: the price is not an amount"},
    {"{\"onDemand\": {\"m5.large\": \"cheap\"}}", "onDemand: m5.large: the price is not an amount"},
    {"{\"onDemand\": {\"m5.large\": 1e99}}", "onDemand: m5.large: the price is not an amount"},
    {"{\"spot\": {\"m5.large\": 0.1}}", "spot: m5.large: not an object of zones"},
    {"{\"spot\": {\"m5.large\": {\"a\": null}}}", "spot: m5.large a: the price is not an amount"},
    {"{\"spot\": 1}", "spot: not an object"},
    {"{\"onDemand\": {}, \"asOf\": \"yesterday\"}", "asOf: not an RFC 3339 time"},
    {"{\"onDemand\": {}, \"asOf\": 5}", "asOf: not an RFC 3339 time"},
    {"{\"onDemand\": {}, \"region\": 5}", "region: not a string"},
};

START_TEST(price_files)
{
    struct err err = ERR_INIT;
    struct symtab *t = labels_symtab_new();
    write_file(files[_i].text);
    struct prices_in in = {.syms = t, .file = path};
    struct prices *p = prices_new(&in, &err);
    if (files[_i].error) {
        ck_assert_ptr_null(p);
        ck_assert_msg(str_starts(err.msg, path), "%s", err.msg);
        ck_assert_msg(str_contains(err.msg, files[_i].error), "%s", err.msg);
    } else {
        ck_assert_msg(p != NULL, "%s", err.msg);
    }
    prices_free(p);
    symtab_free(t);
    unlink(path);
}
END_TEST

/* ---- looking up ------------------------------------------------------------------------------ */

#define NO_SPOT "{\"onDemand\": {\"m5.large\": 0.1}}"
#define WITH_SPOT                                                                                  \
    "{\"onDemand\": {\"m5.large\": 0.1}, \"spot\": {\"m5.large\": {\"us-west-2a\": 0.03}}}"

static const struct {
    const char *file; /* NULL = built in */
    const char *region, *type, *zone;
    enum capacity_type ct;
    int64_t want;
    bool estimated;
} lookups[] = {
    {NULL, "us-east-1", "m5.large", "us-east-1a", CT_ON_DEMAND, USD(96), false},
    {NULL, "us-east-1", "m5.large", "us-east-1a", CT_SPOT, USD(96) / 5 * 2, true},
    {NULL, "eu-west-1", "m5.large", "eu-west-1a", CT_ON_DEMAND, USD(96), true},
    {NULL, "us-east-1", "m5.large", "us-east-1a", CT_RESERVED, 0, false},
    {NULL, "us-east-1", "no.such", "us-east-1a", CT_ON_DEMAND, UNKNOWN, false},
    {NULL, "us-east-1", NULL, "us-east-1a", CT_ON_DEMAND, UNKNOWN, false},
    {NULL, "us-east-1", "m5.large", NULL, CT_ON_DEMAND, USD(96), false},
    {NULL, "us-east-1", "m5.large", "us-east-1a", CT_COUNT, UNKNOWN, false},
    {NO_SPOT, "us-west-2", "m5.large", "us-west-2a", CT_ON_DEMAND, USD(100), false},
    {NO_SPOT, "us-west-2", "m5.large", "us-west-2a", CT_SPOT, USD(40), true},
    /* what the file does not name has no price, though the built-in list has one */
    {NO_SPOT, "us-west-2", "c5.large", "us-west-2a", CT_ON_DEMAND, UNKNOWN, false},
    {NO_SPOT, "us-west-2", "c5.large", "us-west-2a", CT_SPOT, UNKNOWN, false},
    {WITH_SPOT, "us-west-2", "m5.large", "us-west-2a", CT_SPOT, USD(30), false},
    {WITH_SPOT, "us-west-2", "m5.large", "us-west-2b", CT_SPOT, UNKNOWN, false},
    {WITH_SPOT, "us-west-2", "m5.large", NULL, CT_SPOT, UNKNOWN, false},
};

START_TEST(price_lookups)
{
    struct err err = ERR_INIT;
    struct symtab *t = labels_symtab_new();
    bool estimated = false;
    struct prices_in in = {.syms = t, .region = lookups[_i].region};
    if (lookups[_i].file) {
        write_file(lookups[_i].file);
        in.file = path;
    }
    struct prices *p = prices_new(&in, &err);
    ck_assert_msg(p != NULL, "%s", err.msg);
    ck_assert_int_eq(prices_of(p, lookups[_i].type, lookups[_i].zone, lookups[_i].ct, &estimated),
                     lookups[_i].want);
    ck_assert_int_eq(estimated, lookups[_i].estimated);
    prices_free(p);
    symtab_free(t);
    if (lookups[_i].file) {
        unlink(path);
    }
}
END_TEST

/* ---- what the agent has published ------------------------------------------------------------ */

#define TOLD                                                                                       \
    "{\"region\": \"us-west-2\", \"onDemand\": {\"m5.large\": \"0.123\"}, \"spot\": "              \
    "{\"m5.large\": "                                                                              \
    "{\"us-west-2b\": \"0.0312\"}}, \"zones\": {\"m5.large\": [\"us-west-2b\", \"us-west-2c\"]}}"
#define TOLD_NS (INT64_C(1764511200) * 1000000000)

static const struct {
    const char *told, *file, *region;
    int64_t on_demand, spot_b; /* of m5.large */
    bool told_zones, in_b, in_c;
    int64_t made_ns;
    const char *source; /* part of it */
} told_rows[] = {
    {TOLD, NULL, NULL, USD(123), USD(312) / 10, true, true, true, TOLD_NS,
     "those that karp-agent has published, of 2025-11-30"},
    {TOLD, NULL, "us-west-2", USD(123), USD(312) / 10, true, true, true, TOLD_NS, "karp-agent"},
    /* of another region: as though there were none */
    {TOLD, NULL, "us-east-1", USD(96), USD(96) / 5 * 2, false, false, false, 0, "AWS list"},
    /* a file that is named beats them */
    {TOLD, NO_SPOT, NULL, USD(100), USD(40), false, false, false, 0, path},
    {"{\"region\": \"us-west-2\", \"onDemand\": {\"m5.large\": \"0.1\"}, \"zones\": {\"m5.large\": "
     "[\"us-west-2c\"]}}",
     NULL, NULL, USD(100), USD(40), true, false, true, TOLD_NS, "spot ~40% of it"},
};

START_TEST(told_prices)
{
    struct err err = ERR_INIT;
    struct symtab *t = labels_symtab_new();
    AUTO_JSON json_t *told = jsonx_parse(told_rows[_i].told, strlen(told_rows[_i].told), "t", &err);
    struct prices_in in = {
        .syms = t, .region = told_rows[_i].region, .published = told, .published_ns = TOLD_NS};
    bool known;
    AUTO_BUF struct buf source;
    buf_init(&source, 1024);
    if (told_rows[_i].file) {
        write_file(told_rows[_i].file);
        in.file = path;
    }
    struct prices *p = prices_new(&in, &err);
    ck_assert_msg(p != NULL, "%s", err.msg);
    ck_assert_int_eq(prices_of(p, "m5.large", "us-west-2b", CT_ON_DEMAND, NULL),
                     told_rows[_i].on_demand);
    ck_assert_int_eq(prices_of(p, "m5.large", "us-west-2b", CT_SPOT, NULL), told_rows[_i].spot_b);
    ck_assert(prices_offered(p, "m5.large", "us-west-2b", &known) == told_rows[_i].in_b);
    ck_assert(known == told_rows[_i].told_zones);
    ck_assert(prices_offered(p, "m5.large", "us-west-2c", &known) == told_rows[_i].in_c);
    ck_assert(!prices_offered(p, "c5.large", "us-west-2c", &known));
    ck_assert_int_eq(prices_made_ns(p), told_rows[_i].made_ns);
    prices_source(p, &source);
    ck_assert_msg(str_contains(source.p, told_rows[_i].source), "%s", source.p);
    prices_free(p);
    symtab_free(t);
    if (told_rows[_i].file) {
        unlink(path);
    }
}
END_TEST

START_TEST(told_nonsense)
{
    struct err err = ERR_INIT;
    struct symtab *t = labels_symtab_new();
    AUTO_JSON json_t *told = json_pack("{s:s, s:[]}", "region", "us-west-2", "onDemand");
    struct prices_in in = {.syms = t, .published = told};
    ck_assert_ptr_null(prices_new(&in, &err));
    ck_assert_msg(str_contains(err.msg, "karp-agent has published: onDemand"), "%s", err.msg);
    symtab_free(t);
}
END_TEST

/* ---- region ---------------------------------------------------------------------------------- */

#define OF_WEST "{\"onDemand\": {}, \"region\": \"us-west-2\"}"

static const struct {
    const char *flag, *file;
    const char *nodes[2];
    const char *want;  /* NULL = an error */
    const char *error; /* part of it */
} regions[] = {
    {NULL, NULL, {NULL}, "us-east-1", NULL},
    {NULL, NULL, {"eu-west-1"}, "eu-west-1", NULL},
    {NULL, OF_WEST, {NULL}, "us-west-2", NULL},
    {NULL, OF_WEST, {"us-west-2"}, "us-west-2", NULL},
    {NULL, OF_WEST, {"eu-west-1"}, NULL, "us-west-2, the nodes are in eu-west-1"},
    {"ap-south-1", OF_WEST, {"eu-west-1"}, "ap-south-1", NULL},
    {NULL, NULL, {"eu-west-1", "us-west-2"}, NULL, "eu-west-1 and in us-west-2"},
    {"eu-west-1", NULL, {"eu-west-1", "us-west-2"}, "eu-west-1", NULL},
};

START_TEST(price_regions)
{
    struct err err = ERR_INIT;
    struct symtab *t = labels_symtab_new();
    struct prices_in in = {
        .syms = t, .region = regions[_i].flag, .node_regions = regions[_i].nodes};
    while (in.n_node_regions < 2 && regions[_i].nodes[in.n_node_regions]) {
        in.n_node_regions++;
    }
    if (regions[_i].file) {
        write_file(regions[_i].file);
        in.file = path;
    }
    struct prices *p = prices_new(&in, &err);
    if (regions[_i].want) {
        ck_assert_msg(p != NULL, "%s", err.msg);
        ck_assert_str_eq(prices_region(p), regions[_i].want);
    } else {
        ck_assert_ptr_null(p);
        ck_assert_msg(str_contains(err.msg, regions[_i].error), "%s", err.msg);
        ck_assert(str_contains(err.msg, "--region"));
    }
    prices_free(p);
    symtab_free(t);
    if (regions[_i].file) {
        unlink(path);
    }
}
END_TEST

/* ---- age ------------------------------------------------------------------------------------- */

#define DAY_NS (INT64_C(24) * 3600 * 1000000000)
#define AS_OF_NS (INT64_C(1767571200) * 1000000000) /* 2026-01-05T00:00:00Z */

static const struct {
    const char *file;
    int64_t now_ns;
    bool stale;
    int64_t spot_as_of_ns;
} ages[] = {
    {NULL, AS_OF_NS + 10000 * DAY_NS, false, 0},
    {"{\"onDemand\": {}}", AS_OF_NS + 10000 * DAY_NS, false, 0},
    {"{\"onDemand\": {}, \"asOf\": \"2026-01-05T00:00:00Z\"}", AS_OF_NS + 7 * DAY_NS, false, 0},
    {"{\"onDemand\": {}, \"asOf\": \"2026-01-05T00:00:00Z\"}", AS_OF_NS + 7 * DAY_NS + 1, true, 0},
    {"{\"spot\": {}, \"asOf\": \"2026-01-05T00:00:00Z\"}", AS_OF_NS, false, AS_OF_NS},
};

START_TEST(price_ages)
{
    struct err err = ERR_INIT;
    struct symtab *t = labels_symtab_new();
    struct prices_in in = {.syms = t};
    if (ages[_i].file) {
        write_file(ages[_i].file);
        in.file = path;
    }
    struct prices *p = prices_new(&in, &err);
    ck_assert_msg(p != NULL, "%s", err.msg);
    ck_assert_int_eq(prices_stale(p, ages[_i].now_ns), ages[_i].stale);
    ck_assert_int_eq(prices_spot_as_of(p), ages[_i].spot_as_of_ns);
    prices_free(p);
    symtab_free(t);
    if (ages[_i].file) {
        unlink(path);
    }
}
END_TEST

/* ---- catalogs -------------------------------------------------------------------------------- */

#define EC2_TYPE(name)                                                                             \
    "{\"InstanceType\": \"" name "\", \"VCpuInfo\": {\"DefaultVCpus\": 2}, \"MemoryInfo\": "       \
    "{\"SizeInMiB\": 8192}, \"ProcessorInfo\": {\"SupportedArchitectures\": [\"x86_64\"], "        \
    "\"Manufacturer\": \"Intel\"}, \"SupportedUsageClasses\": [\"on-demand\", \"spot\"]}"
#define FULL_TYPE(name, price)                                                                     \
    "{\"name\": \"" name "\", \"capacity\": {\"cpu\": \"2\", \"memory\": \"8Gi\", \"pods\": "      \
    "\"10\", \"example.com/fuse\": \"4\"}, \"requirements\": [{\"key\": \"size\", \"operator\": "  \
    "\"In\", \"values\": [\"s\"]}], \"offerings\": [{\"price\": " price                            \
    ", \"requirements\": [{\"key\": \"karpenter.sh/capacity-type\", \"operator\": \"In\", "        \
    "\"values\": [\"spot\"]}, {\"key\": \"topology.kubernetes.io/zone\", \"operator\": \"In\", "   \
    "\"values\": [\"z1\"]}]}]}"

static const struct {
    const char *text;
    const char *glob;
    uint32_t facts, full;
    const char *error;
} catalogs[] = {
    {"{\"InstanceTypes\": [" EC2_TYPE("b.x") "," EC2_TYPE("a.x") "]}", NULL, 2, 0, NULL},
    {"[" EC2_TYPE("b.x") "," EC2_TYPE("a.x") "]", "a.*,c.*", 1, 0, NULL},
    {"[" EC2_TYPE("b.x") "," EC2_TYPE("b.x") "]", NULL, 0, 0, "b.x is listed twice"},
    {"[" EC2_TYPE("b.x") "]", "z*", 0, 0, "no instance type is left"},
    {"[" FULL_TYPE("a", "0.1") "," FULL_TYPE("b", "0.2") "]", NULL, 0, 2, NULL},
    {"[" FULL_TYPE("a", "0.1") "," FULL_TYPE("b", "0.2") "]", "b", 0, 1, NULL},
    {"[" FULL_TYPE("a", "-1") "]", NULL, 0, 0, "a: offerings[0]: price: not an amount"},
    {"[" FULL_TYPE("a", "0.1") "," FULL_TYPE("a", "0.1") "]", NULL, 0, 0, "a"},
    {"[{\"name\": \"a\"}]", NULL, 0, 0, "a: capacity: missing"},
    {"[{\"name\": \"a\", \"capacity\": {\"cpu\": \"lots\"}}]", NULL, 0, 0,
     "\"lots\" is not a quantity"},
    {"[{\"InstanceType\": \"m5.large\"}]", NULL, 0, 0, "no instance type is left"},
    {"[{\"InstanceType\": \"m5.large\", \"ProcessorInfo\": {\"SupportedArchitectures\": "
     "[\"arm64\"]}}]",
     NULL, 0, 0, "m5.large: vCPUs or memory are missing"},
    {"[{\"Name\": \"x\"}]", NULL, 0, 0, "InstanceType: missing"},
    {"[]", NULL, 0, 0, "neither a list of instance types"},
    {"{}", NULL, 0, 0, "neither a list of instance types"},
    {"{", NULL, 0, 0, "line 1"},
};

START_TEST(catalog_files)
{
    struct err err = ERR_INIT;
    struct symtab *t = labels_symtab_new();
    struct types types;
    const char *globs[] = {catalogs[_i].glob};
    struct opt_texts list = {globs, catalogs[_i].glob ? 1 : 0, 0};
    write_file(catalogs[_i].text);
    int rc = types_load(t, path, &list, &types, &err);
    if (catalogs[_i].error) {
        ck_assert_int_eq(rc, -1);
        ck_assert_msg(str_starts(err.msg, path), "%s", err.msg);
        ck_assert_msg(str_contains(err.msg, catalogs[_i].error), "%s", err.msg);
    } else {
        ck_assert_msg(rc == 0, "%s", err.msg);
        ck_assert_uint_eq(types.n_facts, catalogs[_i].facts);
        ck_assert_uint_eq(types.catalog ? catalog_n_types(types.catalog) : 0, catalogs[_i].full);
        types_done(&types);
    }
    symtab_free(t);
    unlink(path);
}
END_TEST

/* The offerings of a full catalog are prices; a price file replaces them. */
START_TEST(catalog_prices)
{
    struct err err = ERR_INIT;
    struct symtab *t = labels_symtab_new();
    struct types types;
    struct opt_texts all = {NULL, 0, 0};
    write_file("[" FULL_TYPE("a", "0.1") "]");
    ck_assert_int_eq(types_load(t, path, &all, &types, &err), 0);
    unlink(path);
    struct prices_in in = {.syms = t, .types = &types};
    struct prices *p = prices_new(&in, &err);
    ck_assert_int_eq(prices_of(p, "a", "z1", CT_SPOT, NULL), USD(100));
    ck_assert_int_eq(prices_of(p, "a", "z1", CT_ON_DEMAND, NULL), UNKNOWN);
    ck_assert_int_eq(prices_of(p, "a", "z2", CT_SPOT, NULL), UNKNOWN);
    ck_assert_int_eq(prices_of(p, "m5.large", "z1", CT_ON_DEMAND, NULL), UNKNOWN);
    prices_free(p);
    write_file("{\"onDemand\": {\"a\": 1}}");
    in.file = path;
    p = prices_new(&in, &err);
    ck_assert_int_eq(prices_of(p, "a", "z1", CT_ON_DEMAND, NULL), USD(1000));
    ck_assert_int_eq(prices_of(p, "a", "z1", CT_SPOT, NULL), USD(400));
    prices_free(p);
    unlink(path);
    types_done(&types);
    symtab_free(t);
}
END_TEST

/* The file that the built-in table was generated from reads as that table. */
START_TEST(reads_what_the_generator_reads)
{
    struct err err = ERR_INIT;
    struct symtab *t = labels_symtab_new();
    struct types types;
    struct opt_texts all = {NULL, 0, 0};
    int rc = types_load(t, "common/core/data/instance-types.json.gz", &all, &types, &err);
    ck_assert_msg(rc == 0, "%s", err.msg);
    ck_assert_uint_eq(types.n_facts, ec2_facts_n);
    for (uint32_t i = 0; i < ec2_facts_n; i++) {
        const struct ec2_fact *a = &types.facts[i], *b = &ec2_facts[i];
        bool same = str_eq(a->name, b->name) && str_eq(a->arch, b->arch) &&
                    str_eq(a->cpu_manufacturer, b->cpu_manufacturer) &&
                    str_eq(a->hypervisor, b->hypervisor) && str_eq(a->gpu_name, b->gpu_name) &&
                    str_eq(a->gpu_manufacturer, b->gpu_manufacturer) &&
                    str_eq(a->accelerator_name, b->accelerator_name) &&
                    str_eq(a->accelerator_manufacturer, b->accelerator_manufacturer);
        ck_assert_msg(same, "texts of %s", b->name);
        same = a->vcpus == b->vcpus && a->mem_mib == b->mem_mib && a->clock_mhz == b->clock_mhz &&
               a->ebs_mbps == b->ebs_mbps && a->network_mbps == b->network_mbps &&
               a->nvme_gb == b->nvme_gb && a->enis == b->enis && a->ips_per_eni == b->ips_per_eni &&
               a->cards == b->cards && a->efa_max == b->efa_max &&
               a->branch_enis == b->branch_enis && a->gpu_count == b->gpu_count &&
               a->gpu_mem_mib == b->gpu_mem_mib && a->accelerator_count == b->accelerator_count &&
               a->nvidia_gpus == b->nvidia_gpus && a->amd_gpus == b->amd_gpus &&
               a->gaudis == b->gaudis && a->neurons == b->neurons &&
               a->neuroncores == b->neuroncores;
        ck_assert_msg(same, "numbers of %s", b->name);
        same = a->bare_metal == b->bare_metal && a->nitro_enclaves == b->nitro_enclaves &&
               a->encryption_in_transit == b->encryption_in_transit && a->spot == b->spot &&
               a->on_demand == b->on_demand && a->ena == b->ena;
        ck_assert_msg(same, "flags of %s", b->name);
    }
    types_done(&types);
    symtab_free(t);
}
END_TEST

UNIT_MAIN("prices", UNIT_CASES(price_files, files), UNIT_CASES(price_lookups, lookups),
          UNIT_CASES(told_prices, told_rows), UNIT_TEST(told_nonsense),
          UNIT_CASES(price_regions, regions), UNIT_CASES(price_ages, ages),
          UNIT_CASES(catalog_files, catalogs), UNIT_TEST(catalog_prices),
          UNIT_TEST(reads_what_the_generator_reads))
