/* images.c - which images a class uses, and for which types. */
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/str.h"

static const struct variant {
    const char *arch, *name;
} al2023[] = {{"x86_64", "standard"},
              {"x86_64", "nvidia"},
              {"x86_64", "neuron"},
              {"arm64", "standard"},
              {"arm64", "nvidia"}};

size_t images_al2023_paths(struct arena *a, const char *version, const char *minor,
                           const char *paths[8], const char *variants[8])
{
    for (size_t i = 0; i < ARRAY_LEN(al2023); i++) {
        const struct variant *v = &al2023[i];
        char last[128] = "recommended";
        if (!str_eq(version, "latest")) {
            snprintf(last, sizeof(last), "amazon-eks-node-al2023-%s-%s-%s-%s", v->arch, v->name,
                     minor, version);
        }
        paths[i] = arena_printf(a,
                                "/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/%s/"
                                "image_id",
                                minor, v->arch, v->name, last);
        variants[i] = v->name;
    }
    return ARRAY_LEN(al2023);
}

/* NULL: no architecture of ours. */
static const char *arch_label(const char *arch)
{
    return str_eq(arch, "x86_64") ? "amd64" : str_eq(arch, "arm64") ? "arm64" : NULL;
}

static bool deprecated(const struct image_in *m, int64_t now_ns)
{
    return m->deprecated_ns != 0 && m->deprecated_ns <= now_ns;
}

/* Of two images for the same types: the one not deprecated, the newer, the greater name. */
static bool better(const struct image_in *x, const struct image_in *y, int64_t now_ns)
{
    if (deprecated(x, now_ns) != deprecated(y, now_ns)) {
        return !deprecated(x, now_ns);
    }
    if (x->created_ns != y->created_ns) {
        return x->created_ns > y->created_ns;
    }
    int r = str_cmp(x->name, y->name);
    return r ? r > 0 : str_cmp(x->id, y->id) > 0;
}

static int image_cmp(const void *a, const void *b)
{
    const struct image_in *x = *(const struct image_in *const *)a;
    const struct image_in *y = *(const struct image_in *const *)b;
    if (x->created_ns != y->created_ns) {
        return x->created_ns > y->created_ns ? -1 : 1;
    }
    int r = str_cmp(y->name, x->name);
    r = r ? r : str_cmp(x->variant, y->variant);
    return r ? r : str_cmp(x->id, y->id);
}

static bool same_types(const struct image_in *x, const struct image_in *y)
{
    return str_eq(x->arch, y->arch) && str_eq(x->variant, y->variant);
}

/* One per set of requirements; returns how many are left. */
static size_t reduce(const struct image_in *v, size_t n, int64_t now_ns,
                     const struct image_in **kept)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        if (!arch_label(v[i].arch)) {
            continue;
        }
        while (k < n_kept && !same_types(kept[k], &v[i])) {
            k++;
        }
        if (k == n_kept) {
            kept[n_kept++] = &v[i];
        } else if (better(&v[i], kept[k], now_ns)) {
            kept[k] = &v[i];
        }
    }
    return n_kept;
}

static void require(json_t *list, const char *key, const char *op, const char *value)
{
    json_t *r = json_pack("{s:s, s:s}", "key", key, "operator", op);
    if (value) {
        json_object_set_new(r, "values", json_pack("[s]", value));
    }
    json_array_append_new(list, r);
}

/* By length of the key, then by key: the order Karpenter writes. */
static json_t *requirements(const struct image_in *m)
{
    json_t *list = json_array();
    require(list, "kubernetes.io/arch", "In", arch_label(m->arch));
    bool standard = str_eq(m->variant, "standard");
    if (standard || str_eq(m->variant, "nvidia")) {
        require(list, "karpenter.k8s.aws/instance-gpu-count", standard ? "DoesNotExist" : "Exists",
                NULL);
    }
    if (standard || str_eq(m->variant, "neuron")) {
        require(list, "karpenter.k8s.aws/instance-accelerator-count",
                standard ? "DoesNotExist" : "Exists", NULL);
    }
    return list;
}

json_t *images_status(const struct image_in *v, size_t n, int64_t now_ns)
{
    AUTO_FREE const struct image_in **kept = NEW_N(const struct image_in *, n + 1);
    size_t n_kept = reduce(v, n, now_ns, kept);
    qsort(kept, n_kept, sizeof(*kept), image_cmp);
    json_t *list = json_array();
    for (size_t i = 0; i < n_kept; i++) {
        json_t *m = json_pack("{s:s, s:s}", "id", kept[i]->id, "name", kept[i]->name);
        if (deprecated(kept[i], now_ns)) {
            json_object_set_new(m, "deprecated", json_true());
        }
        json_object_set_new(m, "requirements", requirements(kept[i]));
        json_array_append_new(list, m);
    }
    return list;
}
