/*
 * ec2_userdata.c - user data as cloud-init and nodeadm read it.
 *
 * A MIME multipart message; its application/node.eks.aws parts are NodeConfig documents (YAML or
 * JSON), merged in order: later ones win, kubelet.flags add up. Shell parts are none of our
 * business. What nodeadm or kubelet would refuse is refused: fields that do not exist, missing
 * cluster details, labels that kubelet may not set on itself, malformed taints and quantities.
 */
#include "common/base/hash.h"
#include "common/base/quantity.h"
#include "common/base/yamlx.h"
#include "ec2_priv.h"

#include <ctype.h>
#include <strings.h>

#define NODE_TYPE "application/node.eks.aws"
#define PARTS_MAX 64
#define BOUNDARY_MAX 80

/* ---- MIME ----------------------------------------------------------------------------------- */

struct part {
    const char *headers, *body; /* borrowed */
    size_t headers_n, body_n;
};

/* Splits at the empty line; false if there is none. */
static bool split_part(const char *p, size_t n, struct part *ret)
{
    for (size_t i = 0; i < n; i++) {
        size_t gap = p[i] != '\n'                                        ? 0
                     : i + 1 < n && p[i + 1] == '\n'                     ? 2
                     : i + 2 < n && p[i + 1] == '\r' && p[i + 2] == '\n' ? 3
                                                                         : 0;
        if (gap || (i == 0 && p[0] == '\n')) {
            size_t skip = gap ? gap : 1;
            *ret = (struct part){p, p + i + skip, i, n - i - skip};
            return true;
        }
    }
    return false;
}

/* The value of a header, without its name; cut to fit. Continuation lines belong to it. */
static bool header(const struct part *part, const char *name, char *dst, size_t size)
{
    size_t name_n = strlen(name), at = 0;
    while (at < part->headers_n) {
        const char *line = part->headers + at;
        const char *nl = memchr(line, '\n', part->headers_n - at);
        size_t len = nl ? (size_t)(nl - line) : part->headers_n - at;
        at += len + 1;
        if (len > name_n && strncasecmp(line, name, name_n) == 0 && line[name_n] == ':') {
            while (at < part->headers_n &&
                   (part->headers[at] == ' ' || part->headers[at] == '\t')) {
                const char *next = memchr(part->headers + at, '\n', part->headers_n - at);
                size_t end = next ? (size_t)(next - part->headers) : part->headers_n;
                len = end - (size_t)(line - part->headers);
                at = end + 1;
            }
            size_t from = name_n + 1;
            while (from < len && isspace((unsigned char)line[from])) {
                from++;
            }
            while (len > from && isspace((unsigned char)line[len - 1])) {
                len--;
            }
            size_t n = len - from < size - 1 ? len - from : size - 1;
            memcpy(dst, line + from, n);
            dst[n] = 0;
            return true;
        }
    }
    return false;
}

/* multipart/…; boundary="//" */
static bool boundary_of(const char *type, char dst[BOUNDARY_MAX])
{
    const char *p = strcasestr(type, "boundary=");
    if (strncasecmp(type, "multipart/", 10) != 0 || !p) {
        return false;
    }
    p += 9;
    bool quoted = *p == '"';
    p += quoted;
    size_t n = strcspn(p, quoted ? "\"" : "; \t\r\n");
    if (n == 0 || n >= BOUNDARY_MAX) {
        return false;
    }
    memcpy(dst, p, n);
    dst[n] = 0;
    return true;
}

/* The next delimiter line at or after p: its start, its end (behind the newline), whether it is the
 * last one. */
static bool next_delimiter(const char *p, const char *end, const char *boundary, const char **start,
                           const char **after, bool *last)
{
    size_t b = strlen(boundary);
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        const char *line_end = nl ? nl : end;
        size_t len = (size_t)(line_end - p);
        while (len > 0 && isspace((unsigned char)p[len - 1])) {
            len--;
        }
        if (len >= b + 2 && memcmp(p, "--", 2) == 0 && memcmp(p + 2, boundary, b) == 0) {
            *last = len == b + 4 && memcmp(p + 2 + b, "--", 2) == 0;
            if (*last || len == b + 2) {
                *start = p;
                *after = nl ? nl + 1 : end;
                return true;
            }
        }
        p = nl ? nl + 1 : end;
    }
    return false;
}

static int split_message(const char *text, size_t n, struct part *parts, size_t *ret_n,
                         struct err *reterr)
{
    struct part whole;
    char type[256], boundary[BOUNDARY_MAX];
    *ret_n = 0;
    if (!split_part(text, n, &whole) || !header(&whole, "Content-Type", type, sizeof(type)) ||
        !boundary_of(type, boundary)) {
        return err_set(reterr, ERR_INVALID, "user data is no MIME multipart message");
    }
    const char *end = text + n, *start, *after;
    bool last = false;
    if (!next_delimiter(whole.body, end, boundary, &start, &after, &last)) {
        return err_set(reterr, ERR_INVALID, "user data has no part with boundary \"%s\"", boundary);
    }
    while (!last) {
        const char *from = after;
        if (!next_delimiter(from, end, boundary, &start, &after, &last)) {
            return err_set(reterr, ERR_INVALID, "user data does not end with --%s--", boundary);
        }
        if (*ret_n == PARTS_MAX) {
            return err_set(reterr, ERR_LIMIT, "user data has more than %d parts", PARTS_MAX);
        }
        if (!split_part(from, (size_t)(start - from), &parts[*ret_n])) {
            return err_set(reterr, ERR_INVALID, "part %zu of the user data has no headers",
                           *ret_n + 1);
        }
        (*ret_n)++;
    }
    return 0;
}

/* ---- NodeConfig ----------------------------------------------------------------------------- */

static bool listed(const char *word, const char *list)
{
    while (*list) {
        size_t n = strcspn(list, " ");
        if (n == strlen(word) && memcmp(list, word, n) == 0) {
            return true;
        }
        list += n + (list[n] == ' ');
    }
    return false;
}

/* Fields of an object beyond the blank-separated known ones are errors. */
static int only(const json_t *o, const char *where, const char *known, struct err *reterr)
{
    const char *key;
    json_t *value;
    if (o && !json_is_object(o)) {
        return err_set(reterr, ERR_INVALID, "NodeConfig: %s is no object", where);
    }
    json_object_foreach ((json_t *)o, key, value) {
        if (!listed(key, known)) {
            return err_set(reterr, ERR_INVALID, "NodeConfig: unknown field \"%s.%s\"", where, key);
        }
    }
    return 0;
}

static int check_shape(const json_t *doc, struct err *reterr)
{
    if (!json_is_object(doc) || !str_eq(jsonx_str(doc, "apiVersion"), "node.eks.aws/v1alpha1") ||
        !str_eq(jsonx_str(doc, "kind"), "NodeConfig")) {
        return err_set(reterr, ERR_INVALID,
                       "a " NODE_TYPE " part is no node.eks.aws/v1alpha1 NodeConfig");
    }
    if (only(doc, "", "apiVersion kind metadata spec", reterr) < 0 ||
        only(json_object_get(doc, "spec"), "spec",
             "cluster kubelet containerd instance featureGates", reterr) < 0 ||
        only(jsonx_at(doc, "spec.cluster"), "spec.cluster",
             "name apiServerEndpoint certificateAuthority cidr id enableOutpost", reterr) < 0 ||
        only(jsonx_at(doc, "spec.kubelet"), "spec.kubelet", "config flags", reterr) < 0 ||
        only(jsonx_at(doc, "spec.containerd"), "spec.containerd", "config baseRuntimeSpec",
             reterr) < 0 ||
        only(jsonx_at(doc, "spec.instance"), "spec.instance", "localStorage environment network",
             reterr) < 0 ||
        only(jsonx_at(doc, "spec.instance.localStorage"), "spec.instance.localStorage",
             "strategy mountPath disabledMounts", reterr) < 0) {
        return -1;
    }
    return 0;
}

/* Later documents win; kubelet.flags add up. */
static void merge_spec(json_t *into, const json_t *spec)
{
    AUTO_JSON json_t *flags = json_array();
    if (jsonx_arr(into, "kubelet.flags")) {
        json_array_extend(flags, jsonx_arr(into, "kubelet.flags"));
    }
    if (jsonx_arr(spec, "kubelet.flags")) {
        json_array_extend(flags, jsonx_arr(spec, "kubelet.flags"));
    }
    jsonx_merge_patch(into, spec);
    if (json_array_size(flags) > 0) {
        jsonx_set_new(into, "kubelet.flags", json_incref(flags));
    }
}

static int read_part(const struct part *part, json_t *config, struct err *reterr)
{
    char encoding[64];
    if (header(part, "Content-Transfer-Encoding", encoding, sizeof(encoding)) &&
        strcasecmp(encoding, "7bit") != 0 && strcasecmp(encoding, "8bit") != 0 &&
        strcasecmp(encoding, "binary") != 0) {
        return err_set(reterr, ERR_INVALID, "user data: transfer encoding %s", encoding);
    }
    AUTO_JSON json_t *docs = yamlx_parse_all(part->body, part->body_n, "NodeConfig", NULL, reterr);
    if (!docs) {
        return -1;
    }
    size_t i;
    json_t *doc;
    json_array_foreach (docs, i, doc) {
        if (check_shape(doc, reterr) < 0) {
            return -1;
        }
        if (json_object_get(doc, "spec")) {
            merge_spec(config, json_object_get(doc, "spec"));
        }
    }
    return json_array_size(docs) > 0
               ? 0
               : err_set(reterr, ERR_INVALID, "a " NODE_TYPE " part is empty");
}

/* ---- kubelet -------------------------------------------------------------------------------- */

static bool ends_domain(const char *domain, size_t n, const char *suffix)
{
    size_t s = strlen(suffix);
    return n >= s && memcmp(domain + n - s, suffix, s) == 0 && (n == s || domain[n - s - 1] == '.');
}

/* Upstream's rule for --node-labels: of kubernetes.io and k8s.io only these. */
static bool kubelet_may(const char *key)
{
    static const char *const fine[] = {
        "kubernetes.io/hostname",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.kubernetes.io/zone",
        "failure-domain.kubernetes.io/region",
    };
    const char *slash = strchr(key, '/');
    size_t n = slash ? (size_t)(slash - key) : 0;
    if (!slash || (!ends_domain(key, n, "kubernetes.io") && !ends_domain(key, n, "k8s.io"))) {
        return true;
    }
    if (ends_domain(key, n, "kubelet.kubernetes.io") || ends_domain(key, n, "node.kubernetes.io")) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
        if (str_eq(key, fine[i])) {
            return true;
        }
    }
    return false;
}

static bool name_chars(const char *s, size_t n)
{
    if (n == 0 || n > 63 || !isalnum((unsigned char)s[0]) || !isalnum((unsigned char)s[n - 1])) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)s[i]) && !strchr("-_.", s[i])) {
            return false;
        }
    }
    return true;
}

static bool label_key_ok(const char *key)
{
    const char *slash = strchr(key, '/');
    if (!slash) {
        return name_chars(key, strlen(key));
    }
    size_t n = (size_t)(slash - key);
    for (size_t i = 0; i < n; i++) {
        if (!islower((unsigned char)key[i]) && !isdigit((unsigned char)key[i]) &&
            !strchr("-.", key[i])) {
            return false;
        }
    }
    return n > 0 && n <= 253 && isalnum((unsigned char)key[0]) &&
           isalnum((unsigned char)key[n - 1]) && name_chars(slash + 1, strlen(slash + 1));
}

static bool label_value_ok(const char *value)
{
    return !*value || name_chars(value, strlen(value));
}

/* "k=v" */
static int add_label(json_t *labels, const char *text, size_t n, struct err *reterr)
{
    char pair[512];
    if (n == 0) {
        return 0;
    }
    if (n >= sizeof(pair)) {
        return err_set(reterr, ERR_INVALID, "--node-labels: a label is too long");
    }
    memcpy(pair, text, n);
    pair[n] = 0;
    char *eq = strchr(pair, '=');
    if (!eq) {
        return err_set(reterr, ERR_INVALID, "--node-labels: \"%s\" is not key=value", pair);
    }
    *eq = 0;
    if (!label_key_ok(pair) || !label_value_ok(eq + 1)) {
        return err_set(reterr, ERR_INVALID, "--node-labels: %s=%s is no valid label", pair, eq + 1);
    }
    if (!kubelet_may(pair)) {
        return err_set(reterr, ERR_INVALID,
                       "kubelet refuses to start: unknown 'kubernetes.io' or 'k8s.io' label %s in "
                       "--node-labels",
                       pair);
    }
    json_object_set_new(labels, pair, json_string(eq + 1));
    return 0;
}

static int add_labels(json_t *labels, const char *list, struct err *reterr)
{
    while (*list) {
        size_t n = strcspn(list, ",");
        if (add_label(labels, list, n, reterr) < 0) {
            return -1;
        }
        list += n + (list[n] == ',');
    }
    return 0;
}

static int add_taint(json_t *taints, const char *key, const char *value, const char *effect,
                     struct err *reterr)
{
    bool known = str_eq(effect, "NoSchedule") || str_eq(effect, "NoExecute") ||
                 str_eq(effect, "PreferNoSchedule");
    if (!key || !label_key_ok(key) || !label_value_ok(value) || !known) {
        return err_set(reterr, ERR_INVALID, "taint %s=%s:%s is malformed", key ? key : "", value,
                       effect ? effect : "");
    }
    json_t *t = json_pack("{s:s, s:s}", "key", key, "effect", effect);
    if (*value) {
        json_object_set_new(t, "value", json_string(value));
    }
    json_array_append_new(taints, t);
    return 0;
}

/* key[=value]:Effect,… */
static int add_taint_list(json_t *taints, const char *list, struct err *reterr)
{
    while (*list) {
        char one[512];
        size_t n = strcspn(list, ",");
        snprintf(one, sizeof(one), "%.*s", n < 511 ? (int)n : 511, list);
        list += n + (list[n] == ',');
        char *colon = strrchr(one, ':');
        if (colon) {
            *colon = 0;
        }
        char *eq = strchr(one, '=');
        if (eq) {
            *eq = 0;
        }
        if (add_taint(taints, one, eq ? eq + 1 : "", colon ? colon + 1 : NULL, reterr) < 0) {
            return -1;
        }
    }
    return 0;
}

/* --name=value or --name="value" */
static const char *flag_value(const char *flag, const char *name, char *dst, size_t size)
{
    size_t n = strlen(name);
    if (strncmp(flag, name, n) != 0 || flag[n] != '=') {
        return NULL;
    }
    const char *v = flag + n + 1;
    size_t len = strlen(v);
    if (len >= 2 && (*v == '"' || *v == '\'') && v[len - 1] == *v) {
        v++;
        len -= 2;
    }
    snprintf(dst, size, "%.*s", (int)len, v);
    return dst;
}

static int read_flags(struct simec2_userdata *u, struct err *reterr)
{
    const json_t *flags = jsonx_arr(u->config, "kubelet.flags");
    size_t i;
    json_t *f;
    char value[USER_DATA_MAX];
    json_array_foreach ((json_t *)flags, i, f) {
        const char *flag = json_string_value(f);
        if (!flag || !str_starts(flag, "--")) {
            return err_set(reterr, ERR_INVALID, "NodeConfig: spec.kubelet.flags[%zu] is no flag",
                           i);
        }
        if (flag_value(flag, "--node-labels", value, sizeof(value))) {
            if (add_labels(u->labels, value, reterr) < 0) {
                return -1;
            }
        } else if (flag_value(flag, "--register-with-taints", value, sizeof(value))) {
            if (add_taint_list(u->taints, value, reterr) < 0) {
                return -1;
            }
        } else if (flag_value(flag, "--max-pods", value, sizeof(value)) &&
                   (!str_parse_i64(value, &u->max_pods) || u->max_pods < 0)) {
            return err_set(reterr, ERR_INVALID, "kubelet: --max-pods=%s", value);
        }
    }
    return 0;
}

static int read_taints(struct simec2_userdata *u, struct err *reterr)
{
    const json_t *list = json_object_get(u->kubelet, "registerWithTaints");
    size_t i;
    json_t *t;
    if (list && !json_is_array(list) && !json_is_null(list)) {
        return err_set(reterr, ERR_INVALID, "kubelet config: registerWithTaints is no list");
    }
    json_array_foreach ((json_t *)list, i, t) {
        if (only(t, "kubelet.config.registerWithTaints[]", "key value effect timeAdded", reterr) <
                0 ||
            add_taint(u->taints, jsonx_str(t, "key"), jsonx_str_or(t, "value", ""),
                      jsonx_str(t, "effect"), reterr) < 0) {
            return -1;
        }
    }
    return 0;
}

/* {name: quantity}, or percentages where those may stand. */
static int check_amounts(const json_t *kubelet, const char *field, bool percent, struct err *reterr)
{
    const json_t *o = json_object_get(kubelet, field);
    const char *key;
    json_t *v;
    if (o && !json_is_object(o)) {
        return err_set(reterr, ERR_INVALID, "kubelet config: %s is no map", field);
    }
    json_object_foreach ((json_t *)o, key, v) {
        const char *text = json_string_value(v);
        int64_t n;
        bool ok =
            text && (quantity_parse_milli(text, &n) ? n >= 0 : percent && str_ends(text, "%"));
        if (!ok) {
            return err_set(reterr, ERR_INVALID, "kubelet config: %s.%s is no quantity", field, key);
        }
    }
    return 0;
}

static int read_kubelet(struct simec2_userdata *u, struct err *reterr)
{
    const json_t *max = json_object_get(u->kubelet, "maxPods");
    const json_t *dns = json_object_get(u->kubelet, "clusterDNS");
    if (max && (!json_is_integer(max) || json_integer_value(max) < 0)) {
        return err_set(reterr, ERR_INVALID, "kubelet config: maxPods is no number of pods");
    }
    if (dns && !json_is_array(dns)) {
        return err_set(reterr, ERR_INVALID, "kubelet config: clusterDNS is no list");
    }
    u->max_pods = max ? json_integer_value(max) : -1;
    if (check_amounts(u->kubelet, "kubeReserved", false, reterr) < 0 ||
        check_amounts(u->kubelet, "systemReserved", false, reterr) < 0 ||
        check_amounts(u->kubelet, "evictionHard", true, reterr) < 0 || read_taints(u, reterr) < 0) {
        return -1;
    }
    return read_flags(u, reterr);
}

static int read_cluster(struct simec2_userdata *u, struct err *reterr)
{
    u->cluster = jsonx_str_or(u->config, "cluster.name", "");
    u->endpoint = jsonx_str_or(u->config, "cluster.apiServerEndpoint", "");
    u->ca_b64 = jsonx_str_or(u->config, "cluster.certificateAuthority", "");
    u->cidr = jsonx_str_or(u->config, "cluster.cidr", "");
    const char *missing = !*u->cluster    ? "name"
                          : !*u->endpoint ? "apiServerEndpoint"
                          : !*u->ca_b64   ? "certificateAuthority"
                          : !*u->cidr     ? "cidr"
                                          : NULL;
    if (missing) {
        return err_set(reterr, ERR_INVALID, "NodeConfig: spec.cluster.%s is missing", missing);
    }
    u->raid0 = str_eq(jsonx_str(u->config, "instance.localStorage.strategy"), "RAID0");
    return 0;
}

/* ---- all together --------------------------------------------------------------------------- */

static int read_message(const char *text, size_t n, struct simec2_userdata *u, struct err *reterr)
{
    struct part parts[PARTS_MAX];
    size_t n_parts, found = 0;
    if (split_message(text, n, parts, &n_parts, reterr) < 0) {
        return -1;
    }
    for (size_t i = 0; i < n_parts; i++) {
        char type[128] = "";
        header(&parts[i], "Content-Type", type, sizeof(type));
        type[strcspn(type, "; \t")] = 0;
        if (strcasecmp(type, NODE_TYPE) != 0) {
            continue;
        }
        found++;
        if (read_part(&parts[i], u->config, reterr) < 0) {
            return -1;
        }
    }
    return found > 0 ? 0 : err_set(reterr, ERR_INVALID, "user data has no " NODE_TYPE " part");
}

int simec2_userdata_parse(const char *b64, struct simec2_userdata *ret, struct err *reterr)
{
    size_t n = 0;
    *ret = (struct simec2_userdata){
        .config = json_object(), .labels = json_object(), .taints = json_array(), .max_pods = -1};
    AUTO_FREE uint8_t *raw = base64_decode(b64, &n);
    if (!raw || n == 0) {
        err_set(reterr, ERR_INVALID, raw ? "there is no user data" : "user data is not base64");
    } else if (memchr(raw, 0, n)) {
        err_set(reterr, ERR_INVALID, "user data is no text");
    } else if (read_message((const char *)raw, n, ret, reterr) == 0) {
        json_t *kubelet = jsonx_obj(ret->config, "kubelet.config");
        ret->kubelet = kubelet ? json_incref(kubelet) : json_object();
        if (read_cluster(ret, reterr) == 0 && read_kubelet(ret, reterr) == 0) {
            return 0;
        }
    }
    simec2_userdata_done(ret);
    return -1;
}

void simec2_userdata_done(struct simec2_userdata *u)
{
    json_decref(u->config);
    json_decref(u->kubelet);
    json_decref(u->labels);
    json_decref(u->taints);
    *u = (struct simec2_userdata){.max_pods = -1};
}
