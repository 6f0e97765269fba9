#include "rawserver.h"

#include "common/base/jsonx.h"
#include "common/kube/http_port.h"

#include <sys/stat.h>

static struct loop *loop;
static struct raw_server server;
static struct kube_config config;
static struct kube_http *kube;
static const struct kube_port *port;
static char dir[64];

/* What came back. */
static struct {
    bool done;
    unsigned n_done;
    struct err err;
    int status;
    json_t *body;
    struct buf events; /* "+a 1|" */
    const char *cancel_on;
    uint64_t handle;
} got;

/* What the server says next; "{" begins a whole answer with status 200. */
static struct {
    int status;
    const char *headers, *body;
    const char *good_token; /* others get a 401 */
    bool hang;
    bool rotate; /* each 401 comes with another token in the file */
} say;

static void put_file(const char *name, const char *text, mode_t mode);

static void on_done(void *arg UNUSED, const struct kube_resp *r)
{
    got.done = true;
    got.n_done++;
    got.err = r->err;
    got.status = r->status;
    json_decref(got.body);
    got.body = json_incref(r->body);
}

static void on_event(void *arg UNUSED, enum kube_event_type type, json_t *o)
{
    static const char marks[] = {'+', '~', '-', 'B'};
    char text[64];
    (void)snprintf(text, sizeof(text), "%c%s", marks[type], jsonx_str_or(o, "metadata.name", ""));
    buf_printf(&got.events, "%s|", text);
    if (str_eq(text, got.cancel_on)) {
        port->cancel(port->ctx, got.handle);
    }
}

static void on_end(void *arg UNUSED, const struct err *why)
{
    got.done = true;
    got.n_done++;
    got.err = *why;
}

static enum raw_then answer(struct raw_server *s, struct buf *out)
{
    if (say.hang) {
        return RAW_KEEP;
    }
    AUTO_FREE char *want =
        say.good_token ? xasprintf("\r\nAuthorization: Bearer %s\r\n", say.good_token) : NULL;
    if (want && !raw_has(s, want)) {
        if (say.rotate) {
            char token[16];
            (void)snprintf(token, sizeof(token), "bad%u", s->n_requests);
            put_file("token", token, 0600);
        }
        raw_reply(out, 401, "",
                  "{\"kind\":\"Status\",\"message\":\"Unauthorized\",\"reason\":"
                  "\"Unauthorized\",\"code\":401}");
        return RAW_KEEP;
    }
    raw_reply(out, say.status ? say.status : 200, say.headers ? say.headers : "", say.body);
    return RAW_KEEP;
}

static void put_file(const char *name, const char *text, mode_t mode)
{
    AUTO_FREE char *path = xasprintf("%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
}

/* user: what stands in the kubeconfig under "user:", on one line. */
static void begin_as(const char *user)
{
    memset(&got, 0, sizeof(got));
    memset(&say, 0, sizeof(say));
    say.body = "{\"kind\":\"Pod\"}";
    buf_init(&got.events, 1u << 16);
    struct err err = ERR_INIT;
    loop = loop_new(NULL, &err);
    ck_assert_ptr_nonnull(loop);
    raw_start(&server, loop, answer);
    unit_path(dir, sizeof(dir), "http");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    put_file("token", "old\n", 0600);
    AUTO_FREE char *text =
        xasprintf("current-context: c\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d/"
                  "base', proxy-url: ''}}]\nusers: [{name: u, user: %s}]\ncontexts: [{name: c, "
                  "context: {cluster: c, user: u}}]\n",
                  server.port, user);
    put_file("config", text, 0600);
    AUTO_FREE char *path = xasprintf("%s/config", dir);
    struct kube_flags flags = {.kubeconfig = path};
    struct kube_env env = {0};
    ck_assert_msg(kube_config_load(&flags, &env, &config, &err) == 0, "%s", err.msg);
    kube = kube_http_new(loop, &config, "karp-test/1", &err);
    ck_assert_msg(kube != NULL, "%s", err.msg);
    port = kube_http_port(kube);
}

static void end(void)
{
    kube_http_free(kube);
    kube_config_done(&config);
    raw_stop(&server);
    loop_free(loop);
    buf_done(&got.events);
    json_decref(got.body);
    AUTO_FREE char *command = xasprintf("rm -r '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static void ask(void)
{
    struct kube_req req = {.method = "GET", .path = "/api/v1/pods/x"};
    got.done = false;
    got.handle = port->request(port->ctx, &req, on_done, NULL);
    ck_assert(!got.done);
}

static void ask_and_wait(void)
{
    ask();
    raw_run_until(loop, &got.done);
}

/* ---- statuses -------------------------------------------------------------------------------- */

struct status_row {
    int status;
    const char *body;
    enum err_kind kind;
    const char *code, *msg;
    int64_t retry_after_ns;
    const char *headers;
};

#define STATUS(reason, message)                                                                    \
    "{\"kind\":\"Status\",\"reason\":\"" reason "\",\"message\":\"" message "\"}"

static const struct status_row status_rows[] = {
    {200, "{}", ERR_NONE, "", "", 0, NULL},
    {201, "{}", ERR_NONE, "", "", 0, NULL},
    {202, "", ERR_NONE, "", "", 0, NULL},
    {200, "{\"a\":", ERR_UNAVAILABLE, "", "answer", 0, NULL},
    {400, STATUS("BadRequest", "no such thing"), ERR_INVALID, "BadRequest", "no such thing", 0,
     NULL},
    {401, STATUS("Unauthorized", "Unauthorized"), ERR_UNAUTHENTICATED, "Unauthorized", "", 0, NULL},
    {403, STATUS("Forbidden", "pods is forbidden"), ERR_FORBIDDEN, "Forbidden", "pods is forbidden",
     0, NULL},
    {404, STATUS("NotFound", "gone"), ERR_NOT_FOUND, "NotFound", "gone", 0, NULL},
    {404, "404 page not found\n", ERR_NOT_FOUND, "", "answered 404: 404 page not found", 0, NULL},
    {405, "", ERR_INVALID, "", "405", 0, NULL},
    {408, "", ERR_TIMEOUT, "", "", 0, NULL},
    {409, STATUS("AlreadyExists", "x"), ERR_EXISTS, "AlreadyExists", "x", 0, NULL},
    {409, STATUS("Conflict", "x"), ERR_CONFLICT, "Conflict", "x", 0, NULL},
    {410, STATUS("Expired", "too old"), ERR_GONE, "Expired", "too old", 0, NULL},
    {413, "", ERR_LIMIT, "", "", 0, NULL},
    {422, STATUS("Invalid", "spec.x"), ERR_INVALID, "Invalid", "spec.x", 0, NULL},
    {429, STATUS("TooManyRequests", "wait"), ERR_THROTTLED, "TooManyRequests", "wait", 3 * NS_PER_S,
     "Retry-After: 3\r\n"},
    {429,
     "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":9,\"causes\":[{\"reason\":"
     "\"DisruptionBudget\"}]},\"reason\":\"TooManyRequests\"}",
     ERR_THROTTLED, "DisruptionBudget", "429 TooManyRequests", 9 * NS_PER_S, NULL},
    {500, STATUS("InternalError", "oops"), ERR_UNAVAILABLE, "InternalError", "oops", 0, NULL},
    {502, "<html>\x1b[31mBad Gateway</html>", ERR_UNAVAILABLE, "", "<html> [31mBad Gateway", 0,
     NULL},
    {503, "", ERR_UNAVAILABLE, "", "503", 2 * NS_PER_S, "Retry-After: 2\r\n"},
    {504, STATUS("Timeout", "etcd"), ERR_TIMEOUT, "Timeout", "etcd", 0, NULL},
    {302, "", ERR_UNAVAILABLE, "", "302", 0, "Location: /x\r\n"},
    {500, "[1]", ERR_UNAVAILABLE, "", "500", 0, NULL},
    {500, "{\"kind\":\"Status\",\"message\":7,\"reason\":[],\"code\":\"x\"}", ERR_UNAVAILABLE, "",
     "500", 0, NULL},
};

START_TEST(status_row)
{
    const struct status_row *r = &status_rows[_i];
    begin_as("{token: t}");
    say.status = r->status;
    say.body = r->body;
    say.headers = r->headers;
    ask_and_wait();
    ck_assert_msg(got.err.kind == r->kind, "%d: %s (%s)", r->status, err_kind_name(got.err.kind),
                  got.err.msg);
    ck_assert_int_eq(got.status, r->status);
    ck_assert_str_eq(got.err.code, r->code);
    ck_assert_msg(str_contains(got.err.msg, r->msg), "%d: %s", r->status, got.err.msg);
    ck_assert_int_eq(got.err.retry_after_ns, r->retry_after_ns);
    ck_assert_int_eq(got.err.http, r->kind == ERR_NONE ? 0 : r->status);
    if (r->kind != ERR_NONE) {
        ck_assert_uint_gt(strlen(got.err.msg), 0);
    }
    ck_assert_uint_eq(got.n_done, 1);
    end();
}
END_TEST

START_TEST(request_bytes)
{
    begin_as("{token: t, as: alice, as-groups: [g1, g2]}");
    AUTO_JSON json_t *body = json_pack("{s:s}", "a", "b");
    struct kube_req req = {.method = "PATCH",
                           .path = "/api/v1/nodes/n?fieldManager=k",
                           .body = body,
                           .content_type = KUBE_MERGE_PATCH};
    port->request(port->ctx, &req, on_done, NULL);
    raw_run_until(loop, &got.done);
    static const char *const lines[] = {
        "PATCH /base/api/v1/nodes/n?fieldManager=k HTTP/1.1\r\n",
        "\r\nAccept: application/json\r\n",
        "\r\nAuthorization: Bearer t\r\n",
        "\r\nContent-Type: application/merge-patch+json\r\n",
        "\r\nImpersonate-User: alice\r\n",
        "\r\nImpersonate-Group: g1\r\n",
        "\r\nImpersonate-Group: g2\r\n",
        "\r\nUser-Agent: karp-test/1\r\n",
        "\r\n\r\n{\"a\":\"b\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        ck_assert_msg(raw_has(&server, lines[i]), "lacks %s:\n%s", lines[i], server.last.p);
    }
    ck_assert_str_eq(jsonx_str(got.body, "kind"), "Pod");
    end();
}
END_TEST

START_TEST(bad_requests)
{
    begin_as("{token: t}");
    struct kube_req req = {.method = "BREW", .path = "/x"};
    port->request(port->ctx, &req, on_done, NULL);
    ck_assert(!got.done);
    raw_run_until(loop, &got.done);
    ck_assert_int_eq(got.err.kind, ERR_BUG);
    ck_assert_uint_eq(server.n_requests, 0);
    end();
}
END_TEST

START_TEST(times_out)
{
    begin_as("{token: t}");
    say.hang = true;
    struct kube_req req = {.method = "GET", .path = "/x", .timeout_ns = 200 * NS_PER_MS};
    port->request(port->ctx, &req, on_done, NULL);
    raw_run_until(loop, &got.done);
    ck_assert_int_eq(got.err.kind, ERR_TIMEOUT);
    ck_assert_int_eq(got.status, 0);
    ck_assert_ptr_null(got.body);
    end();
}
END_TEST

START_TEST(cancel_and_close)
{
    begin_as("{token: t}");
    say.hang = true;
    ask();
    raw_run_for(loop, 30 * NS_PER_MS);
    port->cancel(port->ctx, got.handle);
    port->cancel(port->ctx, got.handle);
    ask();
    port->watch(port->ctx, "/api/v1/pods?watch=true", on_event, on_end, NULL);
    raw_run_for(loop, 30 * NS_PER_MS);
    port->close(port->ctx);
    raw_run_for(loop, 30 * NS_PER_MS);
    ck_assert(!got.done);
    ck_assert_uint_eq(server.n_open, 0);
    end();
}
END_TEST

static unsigned n_traced;
static char traced[128];

static void on_trace(void *arg UNUSED, const char *method, const char *path, int status,
                     int64_t took_ns)
{
    n_traced++;
    ck_assert_int_ge(took_ns, 0);
    (void)snprintf(traced, sizeof(traced), "%s %s %d", method, path, status);
}

START_TEST(skew_and_trace)
{
    begin_as("{token: t}");
    int64_t skew_ns;
    n_traced = 0;
    kube_http_trace(kube, on_trace, NULL);
    ck_assert(!kube_http_skew_ns(kube, &skew_ns));
    ask_and_wait();
    ck_assert(!kube_http_skew_ns(kube, &skew_ns)); /* no Date came */
    say.headers = "Date: Thu, 01 Jan 1970 00:00:10 GMT\r\n";
    ask_and_wait();
    ck_assert(kube_http_skew_ns(kube, &skew_ns));
    int64_t off_ns = clock_wall(&clock_real) + skew_ns - 10 * NS_PER_S;
    ck_assert_int_lt(off_ns, 5 * NS_PER_S);
    ck_assert_int_gt(off_ns, -5 * NS_PER_S);
    ck_assert_uint_eq(n_traced, 2);
    ck_assert_str_eq(traced, "GET /api/v1/pods/x 200");
    end();
}
END_TEST

/* ---- watches --------------------------------------------------------------------------------- */

#define EVENT(type, name)                                                                          \
    "{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"" name "\"}}}\n"

struct watch_row {
    const char *name;
    int status;
    const char *body, *events;
    enum err_kind kind;
};

static const struct watch_row watch_rows[] = {
    {"events", 200,
     EVENT("ADDED", "a") EVENT("MODIFIED", "a") EVENT("DELETED", "a") EVENT("BOOKMARK", ""),
     "+a|~a|-a|B|", ERR_NONE},
    {"nothing", 200, "", "", ERR_NONE},
    {"half an event at the end", 200, EVENT("ADDED", "a") "{\"type\":\"ADD", "+a|", ERR_NONE},
    {"expired", 200,
     EVENT("ADDED", "a") "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\","
                         "\"code\":410,\"reason\":\"Expired\",\"message\":\"too old\"}}\n" EVENT(
                             "ADDED", "b"),
     "+a|", ERR_GONE},
    {"expired without code", 200,
     "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"reason\":"
     "\"Expired\"}}\n",
     "", ERR_GONE},
    {"another error", 200, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500}}\n",
     "", ERR_UNAVAILABLE},
    {"an error without object", 200, "{\"type\":\"ERROR\"}\n", "", ERR_UNAVAILABLE},
    {"garbage", 200, EVENT("ADDED", "a") "<html>\n" EVENT("ADDED", "b"), "+a|", ERR_UNAVAILABLE},
    {"unknown type", 200, EVENT("MOVED", "a"), "", ERR_UNAVAILABLE},
    {"no object", 200, "{\"type\":\"ADDED\",\"object\":5}\n", "", ERR_UNAVAILABLE},
    {"no type", 200, "{}\n", "", ERR_UNAVAILABLE},
    {"410 as status", 410, STATUS("Gone", "too old"), "", ERR_GONE},
    {"forbidden", 403, STATUS("Forbidden", "no"), "", ERR_FORBIDDEN},
};

START_TEST(watch_row)
{
    const struct watch_row *r = &watch_rows[_i];
    begin_as("{token: t}");
    say.status = r->status;
    say.body = r->body;
    got.handle = port->watch(port->ctx, "/api/v1/pods?watch=true", on_event, on_end, NULL);
    ck_assert(!got.done);
    raw_run_until(loop, &got.done);
    raw_run_for(loop, 10 * NS_PER_MS);
    ck_assert_msg(str_eq(got.events.p, r->events), "%s: %s", r->name, got.events.p);
    ck_assert_msg(got.err.kind == r->kind, "%s: %s (%s)", r->name, err_kind_name(got.err.kind),
                  got.err.msg);
    ck_assert_uint_eq(got.n_done, 1);
    end();
}
END_TEST

START_TEST(watch_cancelled_in_event)
{
    begin_as("{token: t}");
    say.body = EVENT("ADDED", "a") EVENT("ADDED", "b") EVENT("ADDED", "c");
    got.cancel_on = "+b";
    got.handle = port->watch(port->ctx, "/api/v1/pods?watch=true", on_event, on_end, NULL);
    raw_run_for(loop, 100 * NS_PER_MS);
    ck_assert_str_eq(got.events.p, "+a|+b|");
    ck_assert(!got.done);
    end();
}
END_TEST

/* ---- credentials ----------------------------------------------------------------------------- */

START_TEST(token_file_read_again)
{
    begin_as("{tokenFile: token}");
    say.good_token = "old";
    ask_and_wait();
    ck_assert_int_eq(got.status, 200);
    put_file("token", "new\n", 0600);
    ask_and_wait(); /* within a minute nobody looks at the file */
    ck_assert_int_eq(got.status, 200);
    ck_assert_uint_eq(server.n_requests, 2);
    say.good_token = "new";
    ask_and_wait(); /* 401, read again, sent again */
    ck_assert_int_eq(got.status, 200);
    ck_assert_uint_eq(server.n_requests, 4);
    say.good_token = "other";
    ask_and_wait(); /* the file says the same as before: no use */
    ck_assert_int_eq(got.err.kind, ERR_UNAUTHENTICATED);
    ck_assert_uint_eq(server.n_requests, 5);
    put_file("token", "", 0600);
    say.good_token = "new";
    ask_and_wait(); /* the last good one stays */
    ck_assert_int_eq(got.status, 200);
    ck_assert_uint_eq(got.n_done, 5);
    end();
}
END_TEST

START_TEST(tried_again_only_once)
{
    begin_as("{tokenFile: token}");
    say.good_token = "none";
    say.rotate = true;
    ask_and_wait();
    ck_assert_int_eq(got.err.kind, ERR_UNAUTHENTICATED);
    ck_assert_uint_eq(server.n_requests, 2);
    end();
}
END_TEST

START_TEST(watch_reads_token_again)
{
    begin_as("{tokenFile: token}");
    say.good_token = "old";
    ask_and_wait();
    say.good_token = "new";
    say.body = EVENT("ADDED", "a");
    put_file("token", "new\n", 0600);
    got.done = false;
    port->watch(port->ctx, "/api/v1/pods?watch=true", on_event, on_end, NULL);
    raw_run_until(loop, &got.done);
    ck_assert_str_eq(got.events.p, "+a|");
    ck_assert_int_eq(got.err.kind, ERR_NONE);
    end();
}
END_TEST

struct cred_row {
    const char *user, *line; /* that the request must have */
    const char *fault;       /* or why there is none */
};

static const struct cred_row cred_rows[] = {
    {"{username: bob, password: x}", "\r\nAuthorization: Basic Ym9iOng=\r\n", NULL},
    {"{token: t}", "\r\nAuthorization: Bearer t\r\n", NULL},
    {"{tokenFile: nowhere}", NULL, "nowhere: No such file"},
    {"{tokenFile: nowhere, token: spare}", "\r\nAuthorization: Bearer spare\r\n", NULL},
    {"{}", "\r\nAccept: application/json\r\n", NULL},
    {"{auth-provider: {name: oidc, config: {id-token: h.eyJleHAiOjk5OTk5OTk5OTl9.s}}}",
     "\r\nAuthorization: Bearer h.eyJleHAiOjk5OTk5OTk5OTl9.s\r\n", NULL},
    {"{auth-provider: {name: oidc, config: {id-token: h.eyJleHAiOjEwMDB9.s}}}", NULL,
     "has expired"},
    {"{auth-provider: {name: oidc, config: {id-token: nonsense}}}", NULL, "has expired"},
};

START_TEST(cred_row)
{
    const struct cred_row *r = &cred_rows[_i];
    begin_as(r->user);
    ask_and_wait();
    if (r->line) {
        ck_assert_msg(got.err.kind == ERR_NONE, "%s: %s", r->user, got.err.msg);
        ck_assert_msg(raw_has(&server, r->line), "%s: %s", r->user, server.last.p);
    } else {
        ck_assert_int_eq(got.err.kind, ERR_UNAUTHENTICATED);
        ck_assert_msg(str_contains(got.err.msg, r->fault), "%s: %s", r->user, got.err.msg);
        ck_assert_uint_eq(server.n_requests, 0);
    }
    end();
}
END_TEST

/* ---- exec plugins ---------------------------------------------------------------------------- */

#define EXEC(rest)                                                                                 \
    "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: "    \
    "Never, provideClusterInfo: true, env: [{name: WHO, value: me}], args: [one, 'two "            \
    "three'] " rest "}}"

#define CRED(status)                                                                               \
    "printf '%s' '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":"                   \
    "\"ExecCredential\",\"status\":{" status "}}'\n"

struct exec_row {
    const char *name, *script; /* NULL = there is no plugin */
    const char *token;         /* that is used, or NULL */
    const char *fault;
};

static const struct exec_row exec_rows[] = {
    {"token", CRED("\"token\":\"good\""), "good", NULL},
    {"expires later", CRED("\"token\":\"good\",\"expirationTimestamp\":\"2200-01-01T00:00:00Z\""),
     "good", NULL},
    {"arguments and environment",
     "test \"$1/$2/$#/$WHO\" = 'one/two three/2/me' || exit 9\n" CRED("\"token\":\"good\""), "good",
     NULL},
    {"is told about the cluster",
     "case \"$KUBERNETES_EXEC_INFO\" in *'\"interactive\":false'*"
     "'\"server\":\"http://127.0.0.1'*) ;; *) exit 9;; esac\n" CRED("\"token\":\"good\""),
     "good", NULL},
    {"stdin is empty", "test -z \"$(cat)\" || exit 9\n" CRED("\"token\":\"good\""), "good", NULL},
    {"closes its output early", CRED("\"token\":\"good\"") "exec >&-\nsleep 0.1\n", "good", NULL},
    {"exit code", "exit 3\n", NULL, "failed with exit code 3"},
    {"killed", "kill -9 $$\n", NULL, "killed by signal 9"},
    {"no JSON", "echo hello\n", NULL, "exec plugin"},
    {"no output", "true\n", NULL, "exec plugin"},
    {"no credential", CRED(""), NULL, "neither a token nor a certificate"},
    {"half a certificate", CRED("\"clientCertificateData\":\"x\""), NULL, "neither a token"},
    {"another version",
     "printf '%s' '{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\","
     "\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\"}}'\n",
     NULL, "instead of"},
    {"bad time", CRED("\"token\":\"t\",\"expirationTimestamp\":\"soon\""), NULL, "is no time"},
    {"too much", "head -c 1100000 /dev/zero\n", NULL, "answered too much"},
    {"not there", NULL, NULL, "No such file or directory. get it from x"},
};

static void put_plugin(const char *script)
{
    AUTO_FREE char *text =
        xasprintf("#!/bin/sh\necho run >> \"$(dirname \"$0\")/runs\"\n%s", script);
    put_file("plugin", text, 0700);
}

static unsigned plugin_runs(void)
{
    AUTO_FREE char *path = xasprintf("%s/runs", dir);
    FILE *f = fopen(path, "r");
    unsigned n = 0;
    for (int c; f && (c = fgetc(f)) != EOF;) {
        n += c == '\n';
    }
    if (f) {
        ck_assert_int_eq(fclose(f), 0);
    }
    return n;
}

START_TEST(exec_row)
{
    const struct exec_row *r = &exec_rows[_i];
    begin_as(EXEC(", installHint: get it from x"));
    if (r->script) {
        put_plugin(r->script);
    }
    say.good_token = "good";
    ask_and_wait();
    if (r->token) {
        ck_assert_msg(got.err.kind == ERR_NONE, "%s: %s", r->name, got.err.msg);
        ask_and_wait();
        ck_assert_uint_eq(plugin_runs(), 1); /* kept */
    } else {
        ck_assert_msg(got.err.kind == ERR_UNAUTHENTICATED, "%s: %s", r->name, got.err.msg);
        ck_assert_msg(str_contains(got.err.msg, r->fault), "%s: %s", r->name, got.err.msg);
        ask_and_wait(); /* rests: not run again at once */
        ck_assert_uint_le(plugin_runs(), 1);
    }
    end();
}
END_TEST

START_TEST(exec_shared_by_all)
{
    begin_as(EXEC(""));
    put_plugin("sleep 0.1\n" CRED("\"token\":\"good\""));
    say.good_token = "good";
    for (int i = 0; i < 3; i++) {
        ask();
    }
    uint64_t cancelled = got.handle;
    port->cancel(port->ctx, cancelled);
    raw_run_for(loop, 400 * NS_PER_MS);
    ck_assert_uint_eq(got.n_done, 2);
    ck_assert_int_eq(got.err.kind, ERR_NONE);
    ck_assert_uint_eq(plugin_runs(), 1);
    end();
}
END_TEST

START_TEST(exec_killed_with_port)
{
    begin_as(EXEC(""));
    put_plugin("exec sleep 100\n");
    ask();
    raw_run_for(loop, 100 * NS_PER_MS);
    ck_assert_uint_eq(plugin_runs(), 1);
    ck_assert(!got.done);
    end(); /* would wait for the plugin if it were not killed */
}
END_TEST

START_TEST(exec_fresh_answer_refused)
{
    begin_as(EXEC(""));
    put_plugin(CRED("\"token\":\"bad\""));
    say.good_token = "good";
    ask_and_wait();
    ck_assert_int_eq(got.err.kind, ERR_UNAUTHENTICATED);
    ck_assert_uint_eq(plugin_runs(), 1); /* its answer is seconds old: another would be the same */
    end();
}
END_TEST

UNIT_MAIN("http_port", UNIT_CASES(status_row, status_rows), UNIT_TEST(request_bytes),
          UNIT_TEST(bad_requests), UNIT_TEST(times_out), UNIT_TEST(cancel_and_close),
          UNIT_TEST(skew_and_trace), UNIT_CASES(watch_row, watch_rows),
          UNIT_TEST(watch_cancelled_in_event), UNIT_TEST(token_file_read_again),
          UNIT_TEST(tried_again_only_once), UNIT_TEST(watch_reads_token_again),
          UNIT_CASES(cred_row, cred_rows), UNIT_CASES(exec_row, exec_rows),
          UNIT_TEST(exec_shared_by_all), UNIT_TEST(exec_killed_with_port),
          UNIT_TEST(exec_fresh_answer_refused))
