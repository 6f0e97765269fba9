/*
 * userdata.c - what an AL2023 node boots from: a MIME message whose last part is the NodeConfig
 * that nodeadm reads. nodeadm merges parts in order, so ours has the last word.
 */
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/yamlx.h"

#include <strings.h>

#define BOUNDARY "//"
#define BOUNDARY_MAX 80
#define TYPE_NODE "application/node.eks.aws"
#define TYPE_SHELL "text/x-shellscript; charset=\"us-ascii\""
#define TEXT_MAX (1u << 20)
#define FLAG_MAX 16384

/* ---- MIME --------------------------------------------------------------------------------------
 */

static void put_part(struct buf *out, const char *part, size_t n)
{
    buf_puts(out, "--" BOUNDARY "\n");
    buf_put(out, part, n);
    if (n == 0 || part[n - 1] != '\n') {
        buf_putc(out, '\n');
    }
}

static void put_typed(struct buf *out, const char *type, const char *text)
{
    buf_printf(out, "--" BOUNDARY "\nContent-Type: %s\n\n%s", type, text);
    if (!str_ends(text, "\n")) {
        buf_putc(out, '\n');
    }
}

static bool is_mime(const char *text)
{
    return strncasecmp(text, "MIME-Version:", 13) == 0 ||
           strncasecmp(text, "Content-Type:", 13) == 0;
}

/* Where the headers end; NULL if no empty line follows them. */
static const char *headers_end(const char *text)
{
    const char *lf = strstr(text, "\n\n"), *crlf = strstr(text, "\n\r\n");
    return crlf && (!lf || crlf < lf) ? crlf + 1 : lf;
}

/* The boundary of a multipart message; false if it is none. */
static bool boundary_of(const char *text, const char *end, char dst[BOUNDARY_MAX])
{
    static const char name[] = "boundary=";
    const char *p = text;
    while (p < end && strncasecmp(p, name, sizeof(name) - 1) != 0) {
        p++;
    }
    if (p >= end) {
        return false;
    }
    p += sizeof(name) - 1;
    bool quoted = *p == '"';
    p += quoted ? 1 : 0;
    size_t n = strcspn(p, quoted ? "\"\r\n" : "; \t\r\n");
    if (n == 0 || n >= BOUNDARY_MAX - 2) {
        return false;
    }
    snprintf(dst, BOUNDARY_MAX, "--%.*s", (int)n, p);
    return true;
}

/* The next line that is the boundary, at or after p; NULL if there is none. */
static const char *find_boundary(const char *p, const char *mark)
{
    size_t n = strlen(mark);
    while (p) {
        if (strncmp(p, mark, n) == 0 &&
            (strspn(p + n, " \t\r") == strcspn(p + n, "\n") || str_starts(p + n, "--"))) {
            return p;
        }
        p = strchr(p, '\n');
        p = p ? p + 1 : NULL;
    }
    return NULL;
}

/* The parts of the user's message, each as it stands, under our boundary. */
static int put_mime(struct buf *out, const char *text, struct err *reterr)
{
    char mark[BOUNDARY_MAX];
    const char *end = headers_end(text);
    if (!end) {
        return err_set(reterr, ERR_INVALID, "spec.userData: the MIME headers do not end");
    }
    if (!boundary_of(text, end, mark)) {
        put_part(out, text, strlen(text)); /* a single part with its headers */
        return 0;
    }
    const char *at = find_boundary(end, mark);
    while (at && !str_starts(at + strlen(mark), "--")) {
        const char *from = strchr(at, '\n');
        const char *next = from ? find_boundary(++from, mark) : NULL;
        if (next) {
            put_part(out, from, (size_t)(next - from));
        }
        at = next;
    }
    return at ? 0 : err_set(reterr, ERR_INVALID, "spec.userData: the MIME message does not end");
}

/* A YAML map, which only a NodeConfig can be. */
static bool is_config(const char *text)
{
    AUTO_JSON json_t *docs = yamlx_parse_all(text, strlen(text), "userData", NULL, NULL);
    for (size_t i = 0; i < json_array_size(docs); i++) {
        if (!json_is_object(json_array_get(docs, i))) {
            return false;
        }
    }
    return json_array_size(docs) > 0;
}

static int put_user(struct buf *out, const char *text, struct err *reterr)
{
    if (!text || !*text) {
        return 0;
    }
    if (is_mime(text)) {
        return put_mime(out, text, reterr);
    }
    put_typed(out, is_config(text) ? TYPE_NODE : TYPE_SHELL, text);
    return 0;
}

/* ---- NodeConfig ---------------------------------------------------------------------------------
 */

bool userdata_label_allowed(const char *key)
{
    static const char *const domains[] = {"kubernetes.io", "k8s.io"};
    const char *slash = strchr(key, '/');
    size_t n = slash ? (size_t)(slash - key) : 0;
    for (size_t i = 0; i < ARRAY_LEN(domains); i++) {
        size_t d = strlen(domains[i]);
        if (n >= d && strncmp(key + n - d, domains[i], d) == 0 &&
            (n == d || key[n - d - 1] == '.')) {
            return false;
        }
    }
    return true;
}

static json_t *taint_json(const struct symtab *t, const struct taint *taint)
{
    json_t *o = json_pack("{s:s}", "key", sym_str(t, taint->key));
    const char *value = sym_str(t, taint->value);
    if (*value) {
        json_object_set_new(o, "value", json_string(value));
    }
    json_object_set_new(o, "effect", json_string(taint_effect_name(taint->effect)));
    return o;
}

static json_t *taints_json(const struct userdata_in *in)
{
    const struct taints *lists[] = {in->taints, in->startup_taints};
    json_t *v = json_array();
    bool unregistered = false;
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        for (uint32_t i = 0; lists[k] && i < lists[k]->n; i++) {
            const struct taint *taint = &lists[k]->v[i];
            unregistered |= str_eq(sym_str(in->syms, taint->key), TAINT_UNREGISTERED);
            json_array_append_new(v, taint_json(in->syms, taint));
        }
    }
    if (!unregistered) {
        json_array_append_new(
            v, json_pack("{s:s, s:s}", "key", TAINT_UNREGISTERED, "effect", "NoExecute"));
    }
    return v;
}

/* --node-labels="a=b,c=d", by key. */
static int labels_flag(const struct userdata_in *in, struct buf *out, struct err *reterr)
{
    AUTO_FREE char **v = NEW_N(char *, (size_t)in->n_labels + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < in->n_labels; i++) {
        const char *key = sym_str(in->syms, in->labels[i].key);
        if (userdata_label_allowed(key)) {
            v[n++] = xasprintf("%s=%s", key, sym_str(in->syms, in->labels[i].value));
        }
    }
    qsort(v, n, sizeof(*v), str_qsort_cmp);
    buf_puts(out, "--node-labels=\"");
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(out, "%s%s", i ? "," : "", v[i]);
        free(v[i]);
    }
    buf_putc(out, '"');
    return out->over
               ? err_set(reterr, ERR_LIMIT, "the node's labels are longer than %d bytes", FLAG_MAX)
               : 0;
}

static json_t *kubelet_config(const struct userdata_in *in)
{
    json_t *o = in->kubelet ? json_deep_copy(in->kubelet) : json_object();
    json_object_set_new(o, "maxPods", json_integer(in->max_pods));
    json_object_set_new(o, "registerWithTaints", taints_json(in));
    if (!json_object_get(o, "clusterDNS") && in->dns_ip) {
        json_object_set_new(o, "clusterDNS", json_pack("[s]", in->dns_ip));
    }
    return o;
}

static json_t *node_config(const struct userdata_in *in, const char *flag)
{
    json_t *spec = json_object();
    json_object_set_new(spec, "cluster",
                        json_pack("{s:s, s:s, s:s, s:s}", "name", in->cluster, "apiServerEndpoint",
                                  in->endpoint ? in->endpoint : "", "certificateAuthority",
                                  in->ca_b64 ? in->ca_b64 : "", "cidr", in->cidr ? in->cidr : ""));
    if (in->raid0) {
        json_object_set_new(spec, "instance",
                            json_pack("{s:{s:s}}", "localStorage", "strategy", "RAID0"));
    }
    json_object_set_new(spec, "kubelet",
                        json_pack("{s:o, s:[s]}", "config", kubelet_config(in), "flags", flag));
    return json_pack("{s:s, s:s, s:o}", "apiVersion", "node.eks.aws/v1alpha1", "kind", "NodeConfig",
                     "spec", spec);
}

/* Keys sorted: the API server does not keep their order, and the text names the template. */
static json_t *sorted(json_t *o)
{
    AUTO_FREE char *text = jsonx_canonical(o);
    json_decref(o);
    return jsonx_parse(text, strlen(text), "NodeConfig", NULL);
}

static int put_config(const struct userdata_in *in, struct buf *out, struct err *reterr)
{
    AUTO_BUF struct buf flag, yaml;
    buf_init(&flag, FLAG_MAX);
    buf_init(&yaml, TEXT_MAX);
    if (labels_flag(in, &flag, reterr) < 0) {
        return -1;
    }
    AUTO_JSON json_t *o = sorted(node_config(in, flag.p));
    if (yamlx_emit(o, &yaml, reterr) < 0) {
        return -1;
    }
    put_typed(out, TYPE_NODE, yaml.p);
    return 0;
}

/* ---- all together -------------------------------------------------------------------------------
 */

int userdata_build(const struct userdata_in *in, struct buf *out, struct err *reterr)
{
    if (in->custom) {
        buf_puts(out, in->user ? in->user : "");
    } else {
        buf_puts(out,
                 "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"" BOUNDARY "\"\n\n");
        if (put_user(out, in->user, reterr) < 0 || put_config(in, out, reterr) < 0) {
            return -1;
        }
        buf_puts(out, "--" BOUNDARY "--\n");
    }
    if (out->over || out->n > EC2_USER_DATA_MAX) {
        return err_set(reterr, ERR_LIMIT, "User data is limited to %d bytes", EC2_USER_DATA_MAX);
    }
    return 0;
}
