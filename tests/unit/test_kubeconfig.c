#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/str.h"
#include "common/kube/config.h"

#include <sys/stat.h>
#include <unistd.h>

/* Files are made in a fresh folder per case; "@" in texts and expectations stands for it. */
#define DIR_TEXT 64

static char dir[DIR_TEXT];

static char *with_dir(const char *s)
{
    size_t n = 1;
    for (const char *p = s; *p; p++) {
        n += *p == '@' ? strlen(dir) : 1;
    }
    char *out = xmalloc(n), *to = out;
    for (const char *p = s; *p; p++) {
        if (*p == '@') {
            memcpy(to, dir, strlen(dir));
            to += strlen(dir);
        } else {
            *to++ = *p;
        }
    }
    *to = '\0';
    return out;
}

static void put_file(const char *name, const char *text)
{
    AUTO_FREE char *path = xasprintf("%s/%s", dir, name);
    AUTO_FREE char *body = with_dir(text);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(body, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

static void make_dir(void)
{
    unit_path(dir, sizeof(dir), "kubeconfig");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    AUTO_FREE char *kube = xasprintf("%s/.kube", dir);
    AUTO_FREE char *sa = xasprintf("%s/sa", dir);
    ck_assert_int_eq(mkdir(kube, 0700), 0);
    ck_assert_int_eq(mkdir(sa, 0700), 0);
}

static void drop_dir(void)
{
    AUTO_FREE char *command = xasprintf("rm -r '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static const char file_a[] =
    "apiVersion: v1\n"
    "kind: Config\n"
    "current-context: one\n"
    "clusters:\n"
    "- {name: c1, cluster: {server: 'https://one:6443/', certificate-authority: ca.pem}}\n"
    "- {name: c2, cluster: {server: 'https://two', tls-server-name: two.internal,"
    "   certificate-authority-data: UEVNMg==, proxy-url: 'socks5://p:1'}}\n"
    "- {name: both, cluster: {server: 'https://b', insecure-skip-tls-verify: true,"
    "   certificate-authority-data: UEVNMg==}}\n"
    "- {name: broken, cluster: {server: 5}}\n"
    "- {name: none, cluster: {proxy-url: 'http://p'}}\n"
    "users:\n"
    "- {name: u1, user: {token: t1}}\n"
    "- {name: u2, user: {tokenFile: tok}}\n"
    "- {name: u3, user: {client-certificate: cert.pem, client-certificate-data: Q0VSVA==,"
    "   client-key: key.pem}}\n"
    "- {name: u4, user: {username: bob, password: secret}}\n"
    "- {name: half, user: {client-certificate-data: Q0VSVA==}}\n"
    "- {name: badb64, user: {client-certificate-data: '*', client-key-data: '*'}}\n"
    "- {name: gcp, user: {auth-provider: {name: gcp}}}\n"
    "- {name: oidc, user: {auth-provider: {name: oidc, config: {id-token: a.b.c}}}}\n"
    "- {name: as, user: {token: t, as: alice, as-groups: [g1, g2]}}\n"
    "contexts:\n"
    "- {name: one, context: {cluster: c1, user: u1, namespace: shop}}\n"
    "- {name: two, context: {cluster: c2, user: u2}}\n"
    "- {name: three, context: {cluster: c2, user: u3}}\n"
    "- {name: four, context: {cluster: c2, user: u4}}\n"
    "- {name: half, context: {cluster: c2, user: half}}\n"
    "- {name: badb64, context: {cluster: c2, user: badb64}}\n"
    "- {name: lost, context: {cluster: gone, user: u1}}\n"
    "- {name: both, context: {cluster: both, user: u1}}\n"
    "- {name: broken, context: {cluster: broken, user: u1}}\n"
    "- {name: none, context: {cluster: none, user: u1}}\n"
    "- {name: gcp, context: {cluster: c2, user: gcp}}\n"
    "- {name: oidc, context: {cluster: c2, user: oidc}}\n"
    "- {name: as, context: {cluster: c2, user: as}}\n"
    "- {name: nouser, context: {cluster: c2, user: nobody}}\n";

static const char file_b[] =
    "current-context: b\n"
    "clusters:\n"
    "- {name: c1, cluster: {server: 'https://other', proxy-url: 'http://never'}}\n"
    "- {name: cb, cluster: {server: 'https://b:1/path/'}}\n"
    "users:\n"
    "- {name: ub, user: {token: tb}}\n"
    "contexts:\n"
    "- {name: b, context: {cluster: cb, user: ub}}\n"
    "- {name: mixed, context: {cluster: c1, user: ub}}\n";

static const char file_home[] = "current-context: h\n"
                                "clusters: [{name: h, cluster: {server: 'https://h'}}]\n"
                                "contexts: [{name: h, context: {cluster: h, user: ''}}]\n";

static const char file_exec[] =
    "current-context: e\n"
    "clusters:\n"
    "- name: c\n"
    "  cluster:\n"
    "    server: https://c\n"
    "    extensions:\n"
    "    - {name: client.authentication.k8s.io/exec, extension: {audience: x}}\n"
    "users:\n"
    "- name: e\n"
    "  user:\n"
    "    exec:\n"
    "      apiVersion: client.authentication.k8s.io/v1\n"
    "      command: ./bin/get-token\n"
    "      args: [a, 'b c']\n"
    "      env: [{name: P, value: q}]\n"
    "      interactiveMode: Never\n"
    "      provideClusterInfo: true\n"
    "      installHint: install it\n"
    "- {name: beta, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1,"
    "   command: aws}}}\n"
    "- {name: alpha, user: {exec: {apiVersion: client.authentication.k8s.io/v1alpha1,"
    "   command: aws}}}\n"
    "- {name: nomode, user: {exec: {apiVersion: client.authentication.k8s.io/v1,"
    "   command: aws}}}\n"
    "- {name: tokenwins, user: {token: t, exec: {apiVersion: bad, command: aws}}}\n"
    "contexts:\n"
    "- {name: e, context: {cluster: c, user: e}}\n"
    "- {name: beta, context: {cluster: c, user: beta}}\n"
    "- {name: alpha, context: {cluster: c, user: alpha}}\n"
    "- {name: nomode, context: {cluster: c, user: nomode}}\n"
    "- {name: tokenwins, context: {cluster: c, user: tokenwins}}\n";

static void make_files(void)
{
    make_dir();
    put_file("a", file_a);
    put_file("b", file_b);
    put_file("exec", file_exec);
    put_file("empty", "");
    put_file("bad", "clusters: [");
    put_file("list", "- 1\n");
    put_file("ca.pem", "PEM1");
    put_file("cert.pem", "CERTFILE");
    put_file("key.pem", "KEYFILE");
    put_file("tok", "filetoken\n");
    put_file("flagca.pem", "FLAGCA");
    put_file(".kube/config", file_home);
    put_file("sa/token", "satoken\n");
    put_file("sa/ca.crt", "SACA");
    put_file("sa/namespace", "karp\n");
}

struct row {
    const char *name;
    struct kube_flags flags;
    const char *kubeconfig; /* $KUBECONFIG */
    const char *home;
    const char *host;
    /* expected: fields as "key=value" separated by spaces, "-" for NULL; or a part of the error */
    const char *want;
    const char *fault;
};

static const struct row rows[] = {
    {"current context",
     {.kubeconfig = "@/a"},
     NULL,
     NULL,
     NULL,
     "server=https://one:6443 ca=PEM1 token=t1 ns=shop context=one cluster=c1 user=u1",
     NULL},
    {"flag context",
     {.kubeconfig = "@/a", .context = "two"},
     NULL,
     NULL,
     NULL,
     "server=https://two sni=two.internal ca=PEM2 proxy=socks5://p:1 tokenfile=@/tok token=- "
     "ns=default",
     NULL},
    {"data beats file, key from file",
     {.kubeconfig = "@/a", .context = "three"},
     NULL,
     NULL,
     NULL,
     "cert=CERT certfile=- key=KEYFILE keyfile=@/key.pem",
     NULL},
    {"basic",
     {.kubeconfig = "@/a", .context = "four"},
     NULL,
     NULL,
     NULL,
     "username=bob password=secret",
     NULL},
    {"impersonation of the file",
     {.kubeconfig = "@/a", .context = "as"},
     NULL,
     NULL,
     NULL,
     "as=alice groups=2",
     NULL},
    {"flag beats impersonation",
     {.kubeconfig = "@/a", .context = "as", .as = "eve"},
     NULL,
     NULL,
     NULL,
     "as=eve",
     NULL},
    {"uid needs user",
     {.kubeconfig = "@/a", .as_uid = "1"},
     NULL,
     NULL,
     NULL,
     NULL,
     "needs a user (--as)"},
    {"first file wins whole",
     {.context = "mixed"},
     "@/a:@/b",
     NULL,
     NULL,
     "server=https://one:6443 proxy=- token=tb context=mixed",
     NULL},
    {"other order",
     {.context = "mixed"},
     "@/b:@/a",
     NULL,
     NULL,
     "server=https://other proxy=http://never ca=-",
     NULL},
    {"first current-context",
     {0},
     "@/b:@/a",
     NULL,
     NULL,
     "context=b server=https://b:1/path token=tb",
     NULL},
    {"current-context of the second", {0}, "@/empty:@/b", NULL, NULL, "context=b", NULL},
    {"missing and doubled files are skipped",
     {0},
     "::@/none:@/b:@/b:",
     NULL,
     NULL,
     "context=b",
     NULL},
    {"home", {0}, NULL, "@", NULL, "server=https://h context=h token=- ns=default", NULL},
    {"KUBECONFIG beats home", {0}, "@/b", "@", NULL, "context=b", NULL},
    {"flag file must exist",
     {.kubeconfig = "@/none"},
     "@/a",
     NULL,
     NULL,
     NULL,
     "/none: No such file"},
    {"a file that does not parse", {0}, "@/a:@/bad", NULL, NULL, NULL, "/bad"},
    {"a file that is no mapping", {0}, "@/list", NULL, NULL, NULL, "not a mapping"},
    {"all of KUBECONFIG missing",
     {0},
     "@/x:@/y",
     NULL,
     NULL,
     NULL,
     "no kubeconfig found (looked at @/x, @/y)"},
    {"nothing at all", {0}, NULL, NULL, NULL, NULL, "neither KUBECONFIG nor HOME"},
    {"no current-context",
     {.kubeconfig = "@/empty"},
     NULL,
     NULL,
     NULL,
     NULL,
     "sets no current-context"},
    {"unknown context",
     {.kubeconfig = "@/a", .context = "nope"},
     NULL,
     NULL,
     NULL,
     NULL,
     "context was not found for specified context: nope"},
    {"unknown cluster of a context",
     {.kubeconfig = "@/a", .context = "lost"},
     NULL,
     NULL,
     NULL,
     NULL,
     "cluster \"gone\" does not exist"},
    {"unknown cluster flag",
     {.kubeconfig = "@/a", .cluster = "gone"},
     NULL,
     NULL,
     NULL,
     NULL,
     "cluster \"gone\" does not exist"},
    {"unknown user",
     {.kubeconfig = "@/a", .context = "nouser"},
     NULL,
     NULL,
     NULL,
     NULL,
     "user \"nobody\" does not exist"},
    {"cluster and user flags",
     {.kubeconfig = "@/a", .cluster = "c2", .user = "u4"},
     NULL,
     NULL,
     NULL,
     "server=https://two username=bob token=- ns=shop cluster=c2 user=u4",
     NULL},
    {"namespace flag", {.kubeconfig = "@/a", .ns = "x"}, NULL, NULL, NULL, "ns=x", NULL},
    {"server flag drops tls-server-name",
     {.kubeconfig = "@/a", .context = "two", .server = "https://s:1/"},
     NULL,
     NULL,
     NULL,
     "server=https://s:1 sni=- ca=PEM2",
     NULL},
    {"server and its name",
     {.kubeconfig = "@/a", .context = "two", .server = "https://s", .tls_server_name = "n"},
     NULL,
     NULL,
     NULL,
     "server=https://s sni=n",
     NULL},
    {"server without scheme, with CA",
     {.kubeconfig = "@/a", .server = "s:1"},
     NULL,
     NULL,
     NULL,
     "server=https://s:1",
     NULL},
    {"server alone",
     {.server = "127.0.0.1:8080"},
     NULL,
     NULL,
     NULL,
     "server=http://127.0.0.1:8080 ns=default context=",
     NULL},
    {"server that is none", {.server = "ftp://x"}, NULL, NULL, NULL, NULL, "not an http"},
    {"server without host", {.server = "https://"}, NULL, NULL, NULL, NULL, "not an http"},
    {"CA flag beats data",
     {.kubeconfig = "@/a", .context = "two", .certificate_authority = "@/flagca.pem"},
     NULL,
     NULL,
     NULL,
     "ca=FLAGCA insecure=0",
     NULL},
    {"CA flag without file",
     {.kubeconfig = "@/a", .certificate_authority = "@/none"},
     NULL,
     NULL,
     NULL,
     NULL,
     "--certificate-authority: @/none"},
    {"insecure drops the CA",
     {.kubeconfig = "@/a", .context = "two", .insecure = true},
     NULL,
     NULL,
     NULL,
     "ca=- insecure=1",
     NULL},
    {"insecure and CA in one file",
     {.kubeconfig = "@/a", .context = "both"},
     NULL,
     NULL,
     NULL,
     NULL,
     "exclude each other"},
    {"CA flag settles both",
     {.kubeconfig = "@/a", .context = "both", .certificate_authority = "@/flagca.pem"},
     NULL,
     NULL,
     NULL,
     "ca=FLAGCA insecure=0",
     NULL},
    {"wrong type",
     {.kubeconfig = "@/a", .context = "broken"},
     NULL,
     NULL,
     NULL,
     NULL,
     "server is not a string"},
    {"cluster without server",
     {.kubeconfig = "@/a", .context = "none"},
     NULL,
     NULL,
     NULL,
     NULL,
     "cluster \"none\" has no server"},
    {"token flag beats all",
     {.kubeconfig = "@/a", .context = "three", .token = "f"},
     NULL,
     NULL,
     NULL,
     "token=f cert=-",
     NULL},
    {"token flag beats tokenFile",
     {.kubeconfig = "@/a", .context = "two", .token = "f"},
     NULL,
     NULL,
     NULL,
     "token=f tokenfile=-",
     NULL},
    {"token flag beats unreadable credentials",
     {.kubeconfig = "@/a", .context = "badb64", .token = "f"},
     NULL,
     NULL,
     NULL,
     "token=f",
     NULL},
    {"certificate flags",
     {.kubeconfig = "@/a", .client_certificate = "@/cert.pem", .client_key = "@/key.pem"},
     NULL,
     NULL,
     NULL,
     "cert=CERTFILE key=KEYFILE",
     NULL},
    {"certificate without key",
     {.kubeconfig = "@/a", .context = "half"},
     NULL,
     NULL,
     NULL,
     NULL,
     "needs its key"},
    {"not base64",
     {.kubeconfig = "@/a", .context = "badb64"},
     NULL,
     NULL,
     NULL,
     NULL,
     "client-certificate-data is not base64"},
    {"gcp provider",
     {.kubeconfig = "@/a", .context = "gcp"},
     NULL,
     NULL,
     NULL,
     NULL,
     "auth-provider \"gcp\" is not supported"},
    {"oidc provider",
     {.kubeconfig = "@/a", .context = "oidc"},
     NULL,
     NULL,
     NULL,
     "idtoken=a.b.c",
     NULL},
    {"in the cluster",
     {0},
     NULL,
     NULL,
     "10.0.0.1",
     "server=https://10.0.0.1:443 tokenfile=@/sa/token ca=SACA ns=karp incluster=1",
     NULL},
    {"in the cluster, IPv6",
     {.ns = "x"},
     NULL,
     NULL,
     "fd00::1",
     "server=https://[fd00::1]:443 ns=x",
     NULL},
    {"in the cluster, token flag",
     {.token = "f"},
     NULL,
     NULL,
     "10.0.0.1",
     "token=f tokenfile=- incluster=1",
     NULL},
    {"files beat the cluster", {0}, "@/b", NULL, "10.0.0.1", "context=b incluster=0", NULL},
    {"empty file falls to the cluster", {0}, "@/empty", NULL, "10.0.0.1", "incluster=1", NULL},
    {"flag file never falls to the cluster",
     {.kubeconfig = "@/empty"},
     NULL,
     NULL,
     "10.0.0.1",
     NULL,
     "sets no current-context"},
    {"exec",
     {.kubeconfig = "@/exec"},
     NULL,
     NULL,
     NULL,
     "exec=@/./bin/get-token args=2 env=1 mode=0 info=1 hint=install_it extension=1",
     NULL},
    {"exec v1beta1, found on the path",
     {.kubeconfig = "@/exec", .context = "beta"},
     NULL,
     NULL,
     NULL,
     "exec=aws args=0 mode=1 info=0",
     NULL},
    {"exec v1alpha1",
     {.kubeconfig = "@/exec", .context = "alpha"},
     NULL,
     NULL,
     NULL,
     NULL,
     "no longer supported"},
    {"exec v1 without mode",
     {.kubeconfig = "@/exec", .context = "nomode"},
     NULL,
     NULL,
     NULL,
     NULL,
     "interactiveMode"},
    {"token instead of exec",
     {.kubeconfig = "@/exec", .context = "tokenwins"},
     NULL,
     NULL,
     NULL,
     "token=t exec=-",
     NULL},
};

static const char *text_of(const struct kube_config *c, const char *key, char *num, size_t size)
{
    const struct kube_exec *x = c->exec;
    const struct {
        const char *key, *value;
    } texts[] = {
        {"server", c->server},
        {"sni", c->tls_server_name},
        {"proxy", c->proxy_url},
        {"ca", c->ca_pem},
        {"token", c->token},
        {"tokenfile", c->token_file},
        {"username", c->username},
        {"password", c->password},
        {"cert", c->cert_pem},
        {"certfile", c->cert_file},
        {"key", c->key_pem},
        {"keyfile", c->key_file},
        {"ns", c->ns},
        {"context", c->context},
        {"cluster", c->cluster},
        {"user", c->user},
        {"as", c->as},
        {"idtoken", c->id_token},
        {"exec", x ? x->command : NULL},
    };
    const struct {
        const char *key;
        size_t value;
    } numbers[] = {
        {"insecure", c->insecure},
        {"incluster", c->in_cluster},
        {"groups", c->n_as_groups},
        {"args", x ? x->n_args : 99},
        {"env", x ? x->n_env : 99},
        {"mode", x ? (size_t)x->mode : 99},
        {"info", x && x->provide_cluster_info},
        {"extension", x && x->cluster_config},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (str_eq(texts[i].key, key)) {
            return texts[i].value ? texts[i].value : "-";
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (str_eq(numbers[i].key, key)) {
            (void)snprintf(num, size, "%zu", numbers[i].value);
            return num;
        }
    }
    return str_eq(key, "hint") ? (str_eq(x->install_hint, "install it") ? "install_it" : "?")
                               : "??";
}

static void check_want(const struct row *r, const struct kube_config *c)
{
    AUTO_FREE char *want = with_dir(r->want);
    char *save = NULL;
    for (char *field = strtok_r(want, " ", &save); field; field = strtok_r(NULL, " ", &save)) {
        char *eq = strchr(field, '=');
        ck_assert_ptr_nonnull(eq);
        *eq = '\0';
        char num[24];
        const char *got = text_of(c, field, num, sizeof(num));
        ck_assert_msg(str_eq(got, eq + 1), "%s: %s is \"%s\", not \"%s\"", r->name, field, got,
                      eq + 1);
    }
}

/* The flags with "@" replaced; made once, freed by the caller. */
static struct kube_flags real_flags(const struct kube_flags *f, char *own[], size_t *n)
{
    struct kube_flags out = *f;
    const char **paths[] = {&out.kubeconfig, &out.certificate_authority, &out.client_certificate,
                            &out.client_key};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (*paths[i]) {
            own[*n] = with_dir(*paths[i]);
            *paths[i] = own[(*n)++];
        }
    }
    return out;
}

START_TEST(config_row)
{
    const struct row *r = &rows[_i];
    make_files();
    char *own[8];
    size_t n = 0;
    struct kube_flags flags = real_flags(&r->flags, own, &n);
    AUTO_FREE char *list = r->kubeconfig ? with_dir(r->kubeconfig) : NULL;
    AUTO_FREE char *home = r->home ? with_dir(r->home) : NULL;
    AUTO_FREE char *sa = xasprintf("%s/sa", dir);
    struct kube_env env = {list, home, r->host, r->host ? "443" : NULL, sa};
    struct kube_config c;
    struct err err = ERR_INIT;
    int rc = kube_config_load(&flags, &env, &c, &err);
    if (r->fault) {
        AUTO_FREE char *fault = with_dir(r->fault);
        ck_assert_msg(rc == -1, "%s: no error", r->name);
        ck_assert_msg(str_contains(err.msg, fault), "%s: %s", r->name, err.msg);
        ck_assert_int_ne(err.kind, ERR_NONE);
    } else {
        ck_assert_msg(rc == 0, "%s: %s", r->name, err.msg);
        check_want(r, &c);
        kube_config_done(&c);
    }
    while (n > 0) {
        free(own[--n]);
    }
    drop_dir();
}
END_TEST

START_TEST(config_warns)
{
    make_files();
    AUTO_FREE char *list = with_dir("@/x:@/y");
    struct kube_flags flags = {.server = "http://s"};
    struct kube_env env = {.kubeconfig = list};
    struct kube_config c;
    ck_assert_int_eq(kube_config_load(&flags, &env, &c, NULL), 0);
    ck_assert_ptr_nonnull(c.warning);
    ck_assert(str_contains(c.warning, "none of the files"));
    kube_config_done(&c);
    drop_dir();
}
END_TEST

UNIT_MAIN("kubeconfig", UNIT_CASES(config_row, rows), UNIT_TEST(config_warns))
