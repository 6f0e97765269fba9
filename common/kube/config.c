#include "config.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "config_file.h"

#define CONFIG_ARENA_MAX (32u << 20)

struct kube_env kube_env_system(void)
{
    struct kube_env env = {
        .kubeconfig = getenv("KUBECONFIG"),
        .home = getenv("HOME"),
        .service_host = getenv("KUBERNETES_SERVICE_HOST"),
        .service_port = getenv("KUBERNETES_SERVICE_PORT"),
        .sa_dir = KUBE_SA_DIR,
    };
    return env;
}

static bool given(const char *s)
{
    return s && *s;
}

/* ---- entries of the files -------------------------------------------------------------------- */

struct picked {
    struct config_entry context, cluster, user;
};

static int pick_context(const struct config_files *f, const struct kube_flags *flags,
                        struct kube_config *c, struct picked *p, struct err *reterr)
{
    const char *name = given(flags->context) ? flags->context : config_files_current(f);
    if (!name) {
        return 0;
    }
    c->context = arena_strdup(&c->mem, name);
    p->context = config_files_find(f, &c->mem, "contexts", "context", name);
    if (!p->context.o) {
        return err_set(reterr, ERR_NOT_FOUND, "context was not found for specified context: %s",
                       name);
    }
    return 0;
}

/* The entry that a flag or else the context names. */
static int pick_entry(const struct config_files *f, struct kube_config *c, const struct picked *p,
                      const char *flag, const char *list, const char *item,
                      struct config_entry *ret, const char **ret_name, struct err *reterr)
{
    const char *name = flag;
    if (!given(name) && p->context.o && config_str(&p->context, &c->mem, item, &name, reterr)) {
        return -1;
    }
    if (!given(name)) {
        return 0;
    }
    *ret_name = arena_strdup(&c->mem, name);
    *ret = config_files_find(f, &c->mem, list, item, name);
    if (!ret->o) {
        return err_set(reterr, ERR_NOT_FOUND, "%s \"%s\" does not exist in the kubeconfig (%s)",
                       item, name, f->looked_at.p);
    }
    return 0;
}

static int take_cluster(struct kube_config *c, const struct config_entry *e, struct err *reterr)
{
    if (!e->o) {
        return 0;
    }
    if (config_str(e, &c->mem, "server", &c->server, reterr) ||
        config_str(e, &c->mem, "tls-server-name", &c->tls_server_name, reterr) ||
        config_str(e, &c->mem, "proxy-url", &c->proxy_url, reterr) ||
        config_bool(e, "insecure-skip-tls-verify", &c->insecure, reterr) ||
        config_bool(e, "disable-compression", &c->disable_compression, reterr)) {
        return -1;
    }
    return 0;
}

/* True if flags settle the matter: what they replace in the file need not even be readable. */
static int flag_ca(struct kube_config *c, const struct kube_flags *flags, bool *ret_settled,
                   struct err *reterr)
{
    *ret_settled = flags->insecure || given(flags->certificate_authority);
    if (!*ret_settled) {
        return 0;
    }
    c->insecure = flags->insecure;
    c->ca_pem = NULL;
    if (!flags->insecure && kube_read_file(&c->mem, flags->certificate_authority,
                                           KUBE_CONFIG_FILE_MAX, &c->ca_pem, &c->ca_n, reterr)) {
        return err_wrap(reterr, "--certificate-authority");
    }
    return 0;
}

static int take_ca(struct kube_config *c, const struct kube_flags *flags,
                   const struct config_entry *e, struct err *reterr)
{
    bool settled;
    if (flag_ca(c, flags, &settled, reterr)) {
        return -1;
    }
    if (settled || !e->o) {
        return 0;
    }
    if (config_material(e, &c->mem, "certificate-authority", &c->ca_pem, &c->ca_n, NULL, reterr)) {
        return -1;
    }
    if (c->insecure && c->ca_pem) {
        return err_set(
            reterr, ERR_INVALID,
            "%s: a certificate authority and insecure-skip-tls-verify exclude each other",
            e->where);
    }
    return 0;
}

static int take_groups(struct kube_config *c, const struct config_entry *e, struct err *reterr)
{
    const json_t *list = json_object_get(e->o, "as-groups");
    const char **groups = ARENA_NEW_N(&c->mem, const char *, json_array_size(list) + 1);
    size_t i;
    json_t *v;
    json_array_foreach (list, i, v) {
        if (!json_is_string(v)) {
            return err_set(reterr, ERR_INVALID, "%s: as-groups are not all strings", e->where);
        }
        groups[i] = arena_strdup(&c->mem, json_string_value(v));
    }
    c->as_groups = groups;
    c->n_as_groups = json_array_size(list);
    return 0;
}

static int take_provider(struct kube_config *c, const struct config_entry *e, struct err *reterr)
{
    const json_t *p = json_object_get(e->o, "auth-provider");
    if (!json_is_object(p) || c->exec) {
        return 0;
    }
    const char *name = jsonx_str_or(p, "name", "");
    const char *id_token = json_string_value(json_object_get(jsonx_at(p, "config"), "id-token"));
    if (str_eq(name, "oidc") && given(id_token)) {
        c->id_token = arena_strdup(&c->mem, id_token);
        return 0;
    }
    return err_set(reterr, ERR_INVALID,
                   "%s: auth-provider \"%s\" is not supported: use an exec credential plugin",
                   e->where, name);
}

static int take_user(struct kube_config *c, const struct config_entry *e,
                     const struct config_entry *cluster, struct err *reterr)
{
    struct kube_exec *exec;
    if (config_str(e, &c->mem, "token", &c->token, reterr) ||
        config_str(e, &c->mem, "tokenFile", &c->token_file, reterr) ||
        config_str(e, &c->mem, "username", &c->username, reterr) ||
        config_str(e, &c->mem, "password", &c->password, reterr) ||
        config_str(e, &c->mem, "as", &c->as, reterr) ||
        config_str(e, &c->mem, "as-uid", &c->as_uid, reterr) || take_groups(c, e, reterr) ||
        config_material(e, &c->mem, "client-certificate", &c->cert_pem, &c->cert_n, &c->cert_file,
                        reterr) ||
        config_material(e, &c->mem, "client-key", &c->key_pem, &c->key_n, &c->key_file, reterr)) {
        return -1;
    }
    if (c->token_file) {
        c->token_file = config_path(e, &c->mem, c->token_file);
    }
    if (c->token || c->token_file || c->username || c->cert_pem) {
        return 0; /* as client-go: exec is not even looked at */
    }
    if (config_exec(e, cluster, &c->mem, &exec, reterr)) {
        return -1;
    }
    c->exec = exec;
    return take_provider(c, e, reterr);
}

/* ---- flags ----------------------------------------------------------------------------------- */

static int flag_file(struct kube_config *c, const char *flag, const char *path, const char **ret,
                     size_t *ret_n, const char **ret_file, struct err *reterr)
{
    if (!given(path)) {
        return 0;
    }
    if (kube_read_file(&c->mem, path, KUBE_CONFIG_FILE_MAX, ret, ret_n, reterr)) {
        return err_wrap(reterr, "%s", flag);
    }
    *ret_file = arena_strdup(&c->mem, path);
    return 0;
}

static void flag_server(struct kube_config *c, const struct kube_flags *flags)
{
    if (given(flags->server)) {
        c->server = arena_strdup(&c->mem, flags->server);
        c->tls_server_name = NULL; /* the file's belongs to the file's server */
    }
    if (given(flags->tls_server_name)) {
        c->tls_server_name = arena_strdup(&c->mem, flags->tls_server_name);
    }
    c->disable_compression |= flags->disable_compression;
}

static void flag_as(struct kube_config *c, const struct kube_flags *flags)
{
    if (given(flags->as)) {
        c->as = arena_strdup(&c->mem, flags->as);
    }
    if (given(flags->as_uid)) {
        c->as_uid = arena_strdup(&c->mem, flags->as_uid);
    }
    if (flags->n_as_groups) {
        const char **groups = ARENA_NEW_N(&c->mem, const char *, flags->n_as_groups);
        for (size_t i = 0; i < flags->n_as_groups; i++) {
            groups[i] = arena_strdup(&c->mem, flags->as_groups[i]);
        }
        c->as_groups = groups;
        c->n_as_groups = flags->n_as_groups;
    }
}

static int flag_user(struct kube_config *c, const struct kube_flags *flags, struct err *reterr)
{
    if (given(flags->token)) {
        c->token = arena_strdup(&c->mem, flags->token);
        c->token_file = NULL;
    }
    if (given(flags->username)) {
        c->username = arena_strdup(&c->mem, flags->username);
        c->password = arena_strdup(&c->mem, flags->password ? flags->password : "");
    }
    if (flag_file(c, "--client-certificate", flags->client_certificate, &c->cert_pem, &c->cert_n,
                  &c->cert_file, reterr) ||
        flag_file(c, "--client-key", flags->client_key, &c->key_pem, &c->key_n, &c->key_file,
                  reterr)) {
        return -1;
    }
    flag_as(c, flags);
    return 0;
}

/* ---- in the cluster -------------------------------------------------------------------------- */

static bool in_cluster_possible(const struct kube_env *env)
{
    return given(env->service_host) && given(env->service_port) && env->sa_dir;
}

static int take_in_cluster(struct kube_config *c, const struct kube_env *env, struct err *reterr)
{
    struct arena *a = &c->mem;
    bool v6 = strchr(env->service_host, ':') != NULL && env->service_host[0] != '[';
    c->server = arena_printf(a, "https://%s%s%s:%s", v6 ? "[" : "", env->service_host,
                             v6 ? "]" : "", env->service_port);
    c->token_file = arena_printf(a, "%s/token", env->sa_dir);
    c->in_cluster = true;
    if (kube_read_file(a, arena_printf(a, "%s/ca.crt", env->sa_dir), KUBE_CONFIG_FILE_MAX,
                       &c->ca_pem, &c->ca_n, reterr)) {
        return err_wrap(reterr, "service account");
    }
    const char *ns;
    size_t n;
    if (kube_read_file(a, arena_printf(a, "%s/namespace", env->sa_dir), 4096, &ns, &n, NULL) == 0) {
        n = strcspn(ns, " \r\n");
        c->ns = n ? arena_strndup(a, ns, n) : NULL;
    }
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int no_cluster(const struct config_files *f, const struct kube_flags *flags,
                      const struct kube_config *c, struct err *reterr)
{
    const char *looked_at = f->looked_at.n ? f->looked_at.p : "neither KUBECONFIG nor HOME is set";
    if (f->n == 0) {
        return err_set(reterr, ERR_NOT_FOUND, "no kubeconfig found (looked at %s)", looked_at);
    }
    if (given(c->cluster)) {
        return err_set(reterr, ERR_INVALID, "cluster \"%s\" has no server (%s)", c->cluster,
                       looked_at);
    }
    if (given(c->context)) {
        return err_set(reterr, ERR_INVALID, "context \"%s\" names no cluster (%s)", c->context,
                       looked_at);
    }
    return err_set(reterr, ERR_INVALID, "%s sets no current-context: choose one with --context%s",
                   looked_at, flags->kubeconfig ? "" : " or set KUBECONFIG");
}

/* "host:6443" as kubectl takes it; no slash at the end. */
static int finish_server(struct kube_config *c, struct err *reterr)
{
    const char *s = c->server;
    if (!strstr(s, "://")) {
        bool tls = c->ca_pem || c->cert_pem || c->insecure;
        s = arena_printf(&c->mem, "%s://%s", tls ? "https" : "http", s);
    }
    size_t n = strlen(s);
    while (n > 0 && s[n - 1] == '/') {
        n--;
    }
    c->server = arena_strndup(&c->mem, s, n);
    bool https = str_starts(c->server, "https://");
    size_t scheme_n = https ? 8 : 7;
    if ((!https && !str_starts(c->server, "http://")) || c->server[scheme_n] == '\0' ||
        strpbrk(c->server, "?# \t\r\n")) {
        return err_set(reterr, ERR_INVALID, "server \"%s\" is not an http or https address",
                       c->server);
    }
    return 0;
}

static int finish(struct kube_config *c, struct err *reterr)
{
    if (!!c->cert_pem != !!c->key_pem) {
        return err_set(reterr, ERR_INVALID,
                       "user \"%s\": a client certificate needs its key and a key its certificate",
                       c->user);
    }
    if (!c->as && (c->as_uid || c->n_as_groups)) {
        return err_set(reterr, ERR_INVALID, "impersonating a uid or group needs a user (--as)");
    }
    return finish_server(c, reterr);
}

static int take_ns(struct kube_config *c, const struct kube_flags *flags, const struct picked *p,
                   struct err *reterr)
{
    if (given(flags->ns)) {
        c->ns = arena_strdup(&c->mem, flags->ns);
        return 0;
    }
    const char *of_context = NULL;
    if (p->context.o && config_str(&p->context, &c->mem, "namespace", &of_context, reterr)) {
        return -1;
    }
    c->ns = of_context ? of_context : c->ns ? c->ns : "default";
    return 0;
}

static int take_files(struct kube_config *c, const struct config_files *f,
                      const struct kube_flags *flags, struct picked *p, struct err *reterr)
{
    if (pick_context(f, flags, c, p, reterr) ||
        pick_entry(f, c, p, flags->cluster, "clusters", "cluster", &p->cluster, &c->cluster,
                   reterr) ||
        pick_entry(f, c, p, flags->user, "users", "user", &p->user, &c->user, reterr) ||
        take_cluster(c, &p->cluster, reterr)) {
        return -1;
    }
    return 0;
}

static int load(struct kube_config *c, const struct config_files *f, const struct kube_flags *flags,
                const struct kube_env *env, struct err *reterr)
{
    struct picked p = {0};
    if (take_files(c, f, flags, &p, reterr)) {
        return -1;
    }
    flag_server(c, flags);
    if (!c->server && !given(flags->kubeconfig) && !given(flags->context) &&
        !given(flags->cluster) && in_cluster_possible(env)) {
        if (take_in_cluster(c, env, reterr)) {
            return -1;
        }
    } else if (!c->server) {
        return no_cluster(f, flags, c, reterr);
    }
    if (take_ca(c, flags, &p.cluster, reterr)) {
        return -1;
    }
    /* A token beats every other credential of the file, readable or not. */
    if (p.user.o && !given(flags->token) && take_user(c, &p.user, &p.cluster, reterr)) {
        return -1;
    }
    if (flag_user(c, flags, reterr) || take_ns(c, flags, &p, reterr)) {
        return -1;
    }
    return finish(c, reterr);
}

int kube_config_load(const struct kube_flags *flags, const struct kube_env *env,
                     struct kube_config *ret, struct err *reterr)
{
    memset(ret, 0, sizeof(*ret));
    arena_init(&ret->mem, 4096, CONFIG_ARENA_MAX);
    ret->context = ret->cluster = ret->user = "";
    struct config_files files = {0};
    if (config_files_load(&files, &ret->mem, flags, env, reterr)) {
        kube_config_done(ret);
        return -1;
    }
    if (files.n == 0 && given(env->kubeconfig) && !given(flags->kubeconfig)) {
        ret->warning =
            arena_printf(&ret->mem, "none of the files in KUBECONFIG exists: %s", env->kubeconfig);
    }
    int rc = load(ret, &files, flags, env, reterr);
    config_files_done(&files);
    if (rc) {
        kube_config_done(ret);
    }
    return rc;
}

void kube_config_done(struct kube_config *c)
{
    if (c->exec) {
        json_decref(c->exec->cluster_config);
    }
    arena_done(&c->mem);
    memset(c, 0, sizeof(*c));
}
