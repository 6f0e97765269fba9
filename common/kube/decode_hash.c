#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "decode_priv.h"

/* ---- normal form ----------------------------------------------------------------------------- */

struct element {
    char *text;
    json_t *v;
};

static int element_cmp(const void *x, const void *y)
{
    return strcmp(((const struct element *)x)->text, ((const struct element *)y)->text);
}

static json_t *normal(const json_t *v);

/* As a set: sorted by text, equal ones once. */
static json_t *normal_array(const json_t *v)
{
    size_t n = json_array_size(v), kept = 0;
    struct element *e = NEW_N(struct element, n + 1);
    for (size_t i = 0; i < n; i++) {
        json_t *x = normal(json_array_get(v, i));
        if (x) {
            e[kept++] = (struct element){jsonx_canonical(x), x};
        }
    }
    qsort(e, kept, sizeof(*e), element_cmp);
    json_t *out = json_array();
    for (size_t i = 0; i < kept; i++) {
        if (i == 0 || !str_eq(e[i].text, e[i - 1].text)) {
            json_array_append(out, e[i].v);
        }
    }
    for (size_t i = 0; i < kept; i++) {
        free(e[i].text);
        json_decref(e[i].v);
    }
    free(e);
    return out;
}

static json_t *normal_object(const json_t *v)
{
    json_t *out = json_object();
    const char *name;
    json_t *x;
    json_object_foreach ((json_t *)(uintptr_t)v, name, x) {
        json_t *n = normal(x);
        if (n) {
            json_object_set_new(out, name, n);
        }
    }
    return out;
}

/* New reference, or NULL for a zero value, which counts as absent. */
static json_t *normal(const json_t *v)
{
    json_t *out = NULL;
    if (json_is_object(v)) {
        out = normal_object(v);
        if (json_object_size(out) > 0) {
            return out;
        }
    } else if (json_is_array(v)) {
        out = normal_array(v);
        if (json_array_size(out) > 0) {
            return out;
        }
    } else if (json_is_true(v) || (json_is_string(v) && json_string_length(v) > 0) ||
               (json_is_number(v) && json_number_value(v) != 0)) {
        return json_incref((json_t *)(uintptr_t)v);
    }
    json_decref(out);
    return NULL;
}

static void take(json_t *part, const json_t *from, const char *key)
{
    json_t *v = normal(json_object_get(from, key));
    if (v) {
        json_object_set_new(part, key, v);
    }
}

/* "60m" and "1h" are one; what is no duration stays as it is written. */
static void take_duration(json_t *part, const json_t *from, const char *key, const char *d)
{
    const char *s = jsonx_str_or(from, key, d);
    int64_t ns;
    char text[TIMEFMT_TEXT];
    if (s && timefmt_parse_duration(s, &ns)) {
        s = timefmt_duration(ns, text);
    }
    if (s && *s) {
        json_object_set_new(part, key, json_string(s));
    }
}

static void hash_of(const json_t *part, char dst[DECODE_HASH_TEXT])
{
    char hex[SHA256_HEX];
    AUTO_FREE char *text = jsonx_canonical(part);
    hash_sha256_hex(text, strlen(text), hex);
    memcpy(dst, hex, DECODE_HASH_TEXT - 1);
    dst[DECODE_HASH_TEXT - 1] = '\0';
}

/* ---- what is hashed -------------------------------------------------------------------------- */

void decode_nodepool_hash(const json_t *spec, char dst[DECODE_HASH_TEXT])
{
    const json_t *meta = jsonx_at(spec, "template.metadata");
    const json_t *in = jsonx_at(spec, "template.spec");
    AUTO_JSON json_t *part = json_object();
    take(part, meta, "labels");
    take(part, meta, "annotations");
    take(part, in, "taints");
    take(part, in, "startupTaints");
    take(part, in, "nodeClassRef");
    take_duration(part, in, "terminationGracePeriod", NULL);
    take_duration(part, in, "expireAfter", "720h"); /* the CRD's default */
    hash_of(part, dst);
}

const char *decode_ami_family(const json_t *spec)
{
    static const struct {
        const char *alias, *family;
    } rows[] = {
        {"al2@", "AL2"},
        {"al2023@", "AL2023"},
        {"bottlerocket@", "Bottlerocket"},
        {"windows2019@", "Windows2019"},
        {"windows2022@", "Windows2022"},
        {"windows2025@", "Windows2025"},
    };
    const char *family = jsonx_str(spec, "amiFamily");
    if (family && *family) {
        return family;
    }
    size_t i;
    json_t *term;
    json_array_foreach (json_object_get(spec, "amiSelectorTerms"), i, term) {
        const char *alias = jsonx_str_or(term, "alias", "");
        for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
            if (str_starts(alias, rows[k].alias)) {
                return rows[k].family;
            }
        }
    }
    return "Custom";
}

void decode_nodeclass_hash(const json_t *spec, char dst[DECODE_HASH_TEXT])
{
    static const char *const fields[] = {
        "placementGroupSelector",
        "userData",
        "role",
        "instanceProfile",
        "tags",
        "blockDeviceMappings",
        "instanceStorePolicy",
        "networkInterfaces",
        "detailedMonitoring",
        "metadataOptions",
        "connectionTracking",
        "context",
        "cpuOptions",
    };
    AUTO_JSON json_t *part = json_object();
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        take(part, spec, fields[i]);
    }
    /* Here false is not absent: absent leaves it to the subnet. */
    json_t *public_ip = json_object_get(spec, "associatePublicIPAddress");
    if (json_is_boolean(public_ip)) {
        json_object_set(part, "associatePublicIPAddress", public_ip);
    }
    /* As a text, because in there a zero means what it says and order may matter. */
    const json_t *kubelet = json_object_get(spec, "kubelet");
    if (json_object_size(kubelet) > 0) {
        AUTO_FREE char *text = jsonx_canonical(kubelet);
        json_object_set_new(part, "kubelet", json_string(text));
    }
    json_object_set_new(part, "amiFamily", json_string(decode_ami_family(spec)));
    hash_of(part, dst);
}
