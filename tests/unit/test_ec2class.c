/* test_ec2class.c - what of an EC2NodeClass enters the numbers of its types (kube/ec2class.h). */
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/core/labels.h"
#include "common/kube/ec2class.h"
#include "unit.h"

#define GIB (INT64_C(1) << 30)
#define FIELD(f) offsetof(struct ec2_class, f)

/* One field after reading a spec; i32 fields are told by their width. */
static const struct {
    const char *spec;
    size_t at;
    bool is_32;
    int64_t want;
} fields[] = {
    {"{}", FIELD(max_pods), true, -1},
    {"{}", FIELD(root_volume_bytes), false, 20 * GIB},
    {"{}", FIELD(kube_cpu_milli), false, -1},
    {"{}", FIELD(system_cpu_milli), false, 0},
    {"{}", FIELD(evict_mem_bytes), false, -1},
    {"{\"kubelet\": {\"maxPods\": 42}}", FIELD(max_pods), true, 42},
    {"{\"kubelet\": {\"maxPods\": -3}}", FIELD(max_pods), true, -1},
    {"{\"kubelet\": {\"maxPods\": \"42\"}}", FIELD(max_pods), true, -1},
    {"{\"kubelet\": {\"podsPerCore\": 4}}", FIELD(pods_per_core), true, 4},
    {"{\"kubelet\": {\"kubeReserved\": {\"cpu\": \"250m\"}}}", FIELD(kube_cpu_milli), false, 250},
    {"{\"kubelet\": {\"kubeReserved\": {\"cpu\": \"much\"}}}", FIELD(kube_cpu_milli), false, -1},
    {"{\"kubelet\": {\"kubeReserved\": {\"memory\": \"1Gi\"}}}", FIELD(kube_mem_bytes), false, GIB},
    {"{\"kubelet\": {\"systemReserved\": {\"memory\": \"1Gi\"}}}", FIELD(system_mem_bytes), false,
     GIB},
    {"{\"kubelet\": {\"systemReserved\": {\"ephemeral-storage\": \"2Gi\"}}}",
     FIELD(system_ephemeral_bytes), false, 2 * GIB},
    {"{\"kubelet\": {\"evictionHard\": {\"memory.available\": \"200Mi\"}}}", FIELD(evict_mem_bytes),
     false, 200 * (GIB / 1024)},
    {"{\"kubelet\": {\"evictionHard\": {\"memory.available\": \"7.5%\"}}}",
     FIELD(evict_mem_permyriad), true, 750},
    {"{\"kubelet\": {\"evictionHard\": {\"nodefs.available\": \"10%\"}}}",
     FIELD(evict_storage_permyriad), true, 1000},
    {"{\"kubelet\": {\"evictionHard\": {\"memory.available\": \"100%\"}}}", FIELD(evict_mem_bytes),
     false, 0},
    {"{\"kubelet\": {\"evictionHard\": {\"memory.available\": \"200%\"}}}",
     FIELD(evict_mem_permyriad), true, -1},
    {"{\"amiFamily\": \"AL2023\", \"blockDeviceMappings\": [{\"deviceName\": \"/dev/xvda\", "
     "\"ebs\": {\"volumeSize\": \"100Gi\"}}]}",
     FIELD(root_volume_bytes), false, 100 * GIB},
    {"{\"amiFamily\": \"AL2023\", \"blockDeviceMappings\": [{\"deviceName\": \"/dev/xvdb\", "
     "\"ebs\": {\"volumeSize\": \"100Gi\"}}]}",
     FIELD(root_volume_bytes), false, 20 * GIB},
    {"{\"amiFamily\": \"AL2023\", \"blockDeviceMappings\": [{\"deviceName\": \"/dev/xvda\", "
     "\"ebs\": {\"volumeSize\": \"100Gi\"}}, {\"deviceName\": \"/dev/xvdb\", \"rootVolume\": true, "
     "\"ebs\": {\"volumeSize\": \"50Gi\"}}]}",
     FIELD(root_volume_bytes), false, 50 * GIB},
    /* a Custom image's last mapping counts */
    {"{\"amiFamily\": \"Custom\", \"blockDeviceMappings\": [{\"deviceName\": \"/dev/a\", \"ebs\": "
     "{\"volumeSize\": \"100Gi\"}}, {\"deviceName\": \"/dev/b\", \"ebs\": {\"volumeSize\": "
     "\"60Gi\"}}]}",
     FIELD(root_volume_bytes), false, 60 * GIB},
    {"{\"amiFamily\": \"Bottlerocket\", \"blockDeviceMappings\": [{\"deviceName\": \"/dev/xvdb\", "
     "\"ebs\": {\"volumeSize\": \"30Gi\"}}]}",
     FIELD(root_volume_bytes), false, 30 * GIB},
    {"{\"amiFamily\": \"Windows2022\"}", FIELD(root_volume_bytes), false, 50 * GIB},
};

START_TEST(spec_fields)
{
    struct err err = ERR_INIT;
    struct symtab *t = labels_symtab_new();
    struct arena a;
    struct ec2_class c;
    AUTO_JSON json_t *spec = jsonx_parse(fields[_i].spec, strlen(fields[_i].spec), "spec", &err);
    ck_assert_msg(spec != NULL, "%s", err.msg);
    arena_init(&a, 0, SIZE_MAX);
    ec2class_read(t, &a, spec, NULL, &c);
    const char *at = (const char *)&c + fields[_i].at;
    int64_t got = fields[_i].is_32 ? *(const int32_t *)at : *(const int64_t *)at;
    ck_assert_int_eq(got, fields[_i].want);
    arena_done(&a);
    symtab_free(t);
}
END_TEST

static const struct {
    const char *spec;
    enum ami_family family;
    const char *build;
} families[] = {
    {"{\"amiSelectorTerms\": [{\"alias\": \"al2023@latest\"}]}", FAMILY_AL2023, NULL},
    {"{\"amiFamily\": \"AL2\"}", FAMILY_AL2, NULL},
    {"{\"amiSelectorTerms\": [{\"alias\": \"bottlerocket@v1\"}]}", FAMILY_BOTTLEROCKET, NULL},
    {"{\"amiFamily\": \"Windows2019\"}", FAMILY_WINDOWS, "10.0.17763"},
    {"{\"amiFamily\": \"Windows2025\"}", FAMILY_WINDOWS, "10.0.26100"},
    {"{\"amiSelectorTerms\": [{\"id\": \"ami-1\"}]}", FAMILY_CUSTOM, NULL},
    {"{\"amiSelectorTerms\": [{\"alias\": \"al2023@latest\"}], \"amiFamily\": \"Custom\"}",
     FAMILY_CUSTOM, NULL},
};

START_TEST(image_families)
{
    struct symtab *t = labels_symtab_new();
    struct arena a;
    struct ec2_class c;
    AUTO_JSON json_t *spec =
        jsonx_parse(families[_i].spec, strlen(families[_i].spec), "spec", NULL);
    arena_init(&a, 0, SIZE_MAX);
    ec2class_read(t, &a, spec, NULL, &c);
    ck_assert_int_eq(c.family, families[_i].family);
    ck_assert(str_eq(c.windows_build, families[_i].build));
    arena_done(&a);
    symtab_free(t);
}
END_TEST

static const struct {
    const char *annotation;
    int64_t gpus, fuse;
    uint32_t n_ext;
} extras[] = {
    {NULL, 0, 0, 0},
    {"{\"example.com/fuse\": \"100\", \"nvidia.com/gpu\": \"2\"}", 2, 100, 1},
    {"{\"example.com/fuse\": \"lots\", \"nvidia.com/gpu\": \"2\"}", 2, 0, 0},
    {"{\"example.com/fuse\": 100}", 0, 0, 0},
    {"[]", 0, 0, 0},
    {"{broken", 0, 0, 0},
};

START_TEST(extra_resources)
{
    struct symtab *t = labels_symtab_new();
    struct arena a;
    struct ec2_class c;
    arena_init(&a, 0, SIZE_MAX);
    ec2class_read(t, &a, NULL, extras[_i].annotation, &c);
    ck_assert_int_eq(c.family, FAMILY_AL2023);
    ck_assert_int_eq(c.extra.v[RES_NVIDIA_GPU], extras[_i].gpus);
    ck_assert_uint_eq(c.extra.n_ext, extras[_i].n_ext);
    ck_assert_int_eq(resources_get_ext(&c.extra, sym_find(t, "example.com/fuse")), extras[_i].fuse);
    arena_done(&a);
    symtab_free(t);
}
END_TEST

UNIT_MAIN("ec2class", UNIT_CASES(spec_fields, fields), UNIT_CASES(image_families, families),
          UNIT_CASES(extra_resources, extras))
