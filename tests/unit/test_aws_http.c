/*
 * test_aws_http.c - requests as AWS sees them: a server on the loopback checks every signature
 * (aws/http_port.h, sigv4_verify.h).
 */
#include "common/aws/http_port.h"
#include "common/base/alloc.h"
#include "common/base/str.h"
#include "sigv4_verify.h"
#include "unit.h"

#include <errno.h>
#include <microhttpd.h>

#define KEY_ID "AKIDEXAMPLE"
#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define TOKEN "IQoJb3JpZ2luX2VjE/+=="

/* ---- the verifier against the specification's own example ------------------------------------ */

/* "Example: a GET request", from the documentation of Signature Version 4 (iam ListUsers): the
 * canonical request's hash and the signature are given there. */
START_TEST(verifier_computes_the_published_signature)
{
    char sig[65];
    signature("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20150830/us-east-1/iam/aws4_request",
              "20150830T123600Z",
              "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59", sig);
    ck_assert_str_eq(sig, "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
}
END_TEST

/* ---- the server ------------------------------------------------------------------------------ */

static struct rig {
    struct loop *loop;
    struct http *http;
    struct MHD_Daemon *daemon;
    int epoll_fd;
    unsigned port;
    struct seen seen;
    int n_seen;
    int status; /* what the server answers if the signature fits */
    const char *reply;
    char env_url[2][100];
    struct aws_http *aws;
    const struct aws_port *face;
    /* outcomes, in order of arrival */
    int n_done;
    struct err err;
    int got_status;
    char got_body[200];
    char order[20];
} r;

static enum MHD_Result add_header(UNUSED void *cls, UNUSED enum MHD_ValueKind kind,
                                  const char *name, const char *value)
{
    ck_assert_uint_lt(r.seen.n_headers, HEADERS_MAX);
    struct header *h = &r.seen.headers[r.seen.n_headers++];
    str_copy(h->name, sizeof(h->name), name);
    str_copy(h->value, sizeof(h->value), value);
    return MHD_YES;
}

static enum MHD_Result reply(struct MHD_Connection *c, int status, const char *text)
{
    struct MHD_Response *resp = MHD_create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result rc = MHD_queue_response(c, (unsigned)status, resp);
    MHD_destroy_response(resp);
    return rc;
}

static enum MHD_Result on_request(UNUSED void *cls, struct MHD_Connection *c, const char *url,
                                  const char *method, UNUSED const char *version,
                                  const char *upload, size_t *upload_n, void **per_request)
{
    if (!*per_request) {
        *per_request = &r;
        buf_done(&r.seen.body);
        buf_init(&r.seen.body, 16u << 20);
        return MHD_YES;
    }
    if (*upload_n > 0) {
        buf_put(&r.seen.body, upload, *upload_n);
        *upload_n = 0;
        return MHD_YES;
    }
    r.n_seen++;
    r.seen.n_headers = 0;
    MHD_get_connection_values(c, MHD_HEADER_KIND, add_header, NULL);
    snprintf(r.seen.method, sizeof(r.seen.method), "%s", method);
    snprintf(r.seen.path, sizeof(r.seen.path), "%s", url);
    verify(&r.seen, KEY_ID, SECRET);
    if (!str_starts(r.seen.verdict, "ok ")) {
        return reply(c, 403, r.seen.verdict);
    }
    return reply(c, r.status, r.reply);
}

static void on_readable(UNUSED void *arg, UNUSED int fd, UNUSED unsigned events)
{
    /* Its descriptor is edge-triggered: what is left to do shows only as a timeout of 0. */
    MHD_UNSIGNED_LONG_LONG left_ms;
    do {
        MHD_run(r.daemon);
    } while (MHD_get_timeout(r.daemon, &left_ms) == MHD_YES && left_ms == 0);
}

static const char *rig_env(UNUSED void *ctx, const char *name)
{
    const char *urls[2] = {r.env_url[0], r.env_url[1]};
    const char *names[2] = {"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_EKS"};
    for (int i = 0; i < 2; i++) {
        if (strcmp(name, names[i]) == 0) {
            return urls[i];
        }
    }
    return NULL;
}

static void connect_port(const struct creds_provider *creds)
{
    const struct aws_http_config config = {.region = "eu-west-1", .env = rig_env};
    r.aws = aws_http_new(r.http, loop_timers(r.loop), &clock_real, &config, creds, NULL);
    ck_assert_ptr_nonnull(r.aws);
    r.face = aws_http_port(r.aws);
}

static void begin(void)
{
    r = (struct rig){.status = 200, .reply = "<ok/>"};
    r.loop = loop_new(NULL, NULL);
    r.http = http_new(r.loop, "karp-test/1", NULL);
    r.daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, NULL, MHD_OPTION_END);
    ck_assert_ptr_nonnull(r.daemon);
    r.epoll_fd = MHD_get_daemon_info(r.daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    r.port = MHD_get_daemon_info(r.daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    ck_assert_int_eq(loop_fd_add(r.loop, r.epoll_fd, LOOP_IN, on_readable, NULL, NULL), 0);
    snprintf(r.env_url[0], sizeof(r.env_url[0]), "http://127.0.0.1:%u", r.port);
}

static void end(void)
{
    aws_http_free(r.aws);
    http_free(r.http);
    loop_fd_del(r.loop, r.epoll_fd);
    MHD_stop_daemon(r.daemon);
    loop_free(r.loop);
    buf_done(&r.seen.body);
}

static void on_done(void *arg, const struct aws_resp *resp)
{
    r.order[r.n_done++] = *(const char *)arg;
    r.err = resp->err;
    r.got_status = resp->status;
    snprintf(r.got_body, sizeof(r.got_body), "%.*s", (int)resp->body_n, resp->body);
}

/* Turns the loop until n requests have ended. */
static void wait_for(int n)
{
    for (int i = 0; i < 2000 && r.n_done < n; i++) {
        ck_assert_int_eq(loop_turn(r.loop, 10 * NS_PER_MS, NULL), 0);
    }
    ck_assert_int_eq(r.n_done, n);
}

static void turns(int n)
{
    for (int i = 0; i < n; i++) {
        loop_turn(r.loop, NS_PER_MS, NULL);
    }
}

static uint64_t ask(const struct aws_req *req, aws_done_fn done, const char *name)
{
    return r.face->request(r.face->ctx, req, done, (void *)(uintptr_t)name);
}

static uint64_t send_to(const char *service, const char *name)
{
    const struct aws_req req = {service,           "GetThing", "POST",       "/",
                                "Action=GetThing", 15,         10 * NS_PER_S};
    return ask(&req, on_done, name);
}

static uint64_t send_req(const char *name)
{
    return send_to("ec2", name);
}

static struct creds_provider given(const char *token)
{
    struct creds_provider p;
    ck_assert_int_eq(creds_static_new(KEY_ID, SECRET, token, &p, NULL), 0);
    return p;
}

/* ---- signatures ------------------------------------------------------------------------------ */

#define FORM_TYPE "application/x-www-form-urlencoded; charset=utf-8"

static const struct {
    struct aws_req req;
    const char *token;
    const char *verdict, *type, *target;
} signatures[] = {
    {{"ec2", "DescribeInstances", "POST", "/", "Action=A&Version=2016-11-15", 27, 0},
     NULL,
     "ok eu-west-1/ec2",
     FORM_TYPE,
     NULL},
    {{"ec2", "CreateFleet", "POST", "/", "Action=A&X=%2F%3D%20", 20, 0},
     TOKEN,
     "ok eu-west-1/ec2",
     FORM_TYPE,
     NULL},
    {{"ec2", "Empty", "POST", "/", "", 0, 0}, TOKEN, "ok eu-west-1/ec2", FORM_TYPE, NULL},
    {{"ec2", "NoBody", "POST", "/", NULL, 0, 0}, NULL, "ok eu-west-1/ec2", FORM_TYPE, NULL},
    {{"sts", "GetCallerIdentity", "POST", "/", "Action=B", 8, 0},
     TOKEN,
     "ok eu-west-1/sts",
     FORM_TYPE,
     NULL},
    {{"iam", "GetInstanceProfile", "POST", "/", "Action=C", 8, 0},
     NULL,
     "ok us-east-1/iam",
     FORM_TYPE,
     NULL},
    {{"ssm", "GetParameter", "POST", "/", "{\"Name\":\"\xc3\xa9\"}", 13, 0},
     TOKEN,
     "ok eu-west-1/ssm",
     "application/x-amz-json-1.1",
     "AmazonSSM.GetParameter"},
    {{"pricing", "GetProducts", "POST", "/", "{}", 2, 0},
     NULL,
     "ok eu-central-1/pricing",
     "application/x-amz-json-1.1",
     "AWSPriceListService.GetProducts"},
    {{"sqs", "ReceiveMessage", "POST", "/", "{\"a\":\"\\u0000\"}", 14, 0},
     TOKEN,
     "ok eu-west-1/sqs",
     "application/x-amz-json-1.0",
     "AmazonSQS.ReceiveMessage"},
    {{"eks", "DescribeCluster", "GET", "/clusters/de_mo-1.~", NULL, 0, 0},
     TOKEN,
     "ok eu-west-1/eks",
     NULL,
     NULL},
    {{"eks", "DescribeCluster", "GET", "/clusters/demo", NULL, 0, 0},
     NULL,
     "ok eu-west-1/eks",
     NULL,
     NULL},
    {{"ec2", "Binary", "POST", "/", "a\0b\xff\r\n", 6, 0},
     NULL,
     "ok eu-west-1/ec2",
     FORM_TYPE,
     NULL},
};

START_TEST(signatures_fit)
{
    begin();
    struct creds_provider creds = given(signatures[_i].token);
    const struct aws_req *req = &signatures[_i].req;
    connect_port(&creds);
    ck_assert_uint_ne(ask(req, on_done, "a"), 0);
    ck_assert_int_eq(r.n_done, 0);
    wait_for(1);
    ck_assert_str_eq(r.err.msg, "");
    ck_assert_str_eq(r.seen.verdict, signatures[_i].verdict);
    ck_assert_int_eq(r.got_status, 200);
    ck_assert_str_eq(r.got_body, "<ok/>");
    ck_assert_str_eq(r.seen.method, req->method);
    ck_assert_str_eq(r.seen.path, req->path);
    ck_assert_uint_eq(r.seen.body.n, req->body_n);
    ck_assert(req->body_n == 0 || memcmp(r.seen.body.p, req->body, req->body_n) == 0);
    ck_assert_pstr_eq(seen_header(&r.seen, "Content-Type"), signatures[_i].type);
    ck_assert_pstr_eq(seen_header(&r.seen, "X-Amz-Target"), signatures[_i].target);
    ck_assert_pstr_eq(seen_header(&r.seen, "X-Amz-Security-Token"), signatures[_i].token);
    end();
    creds_done(&creds);
}
END_TEST

START_TEST(large_bodies_are_signed)
{
    begin();
    struct creds_provider creds = given(TOKEN);
    connect_port(&creds);
    size_t n = 2u << 20;
    char *body = xmalloc(n);
    memset(body, 'x', n);
    const struct aws_req req = {"ec2", "Large", "POST", "/", body, n, 0};
    ask(&req, on_done, "a");
    free(body); /* it was copied */
    wait_for(1);
    ck_assert_str_eq(r.seen.verdict, "ok eu-west-1/ec2");
    ck_assert_uint_eq(r.seen.body.n, n);
    end();
    creds_done(&creds);
}
END_TEST

static const struct {
    const char *id, *secret, *verdict;
} wrong_keys[] = {
    {KEY_ID, "another/secret", "mismatch"},
    {"AKIDOTHER", SECRET, "another key"},
};

START_TEST(wrong_keys_are_seen)
{
    begin();
    struct creds_provider creds;
    ck_assert_int_eq(creds_static_new(wrong_keys[_i].id, wrong_keys[_i].secret, NULL, &creds, NULL),
                     0);
    connect_port(&creds);
    send_req("a");
    wait_for(1);
    ck_assert_str_eq(r.seen.verdict, wrong_keys[_i].verdict);
    ck_assert_int_eq(r.err.kind, ERR_NONE);
    ck_assert_int_eq(r.got_status, 403);
    ck_assert_str_eq(r.got_body, wrong_keys[_i].verdict);
    end();
    creds_done(&creds);
}
END_TEST

/* ---- answers and failures -------------------------------------------------------------------- */

static const int statuses[] = {200, 302, 400, 404, 429, 500, 503};

START_TEST(every_status_is_an_answer)
{
    begin();
    struct creds_provider creds = given(NULL);
    connect_port(&creds);
    r.status = statuses[_i];
    r.reply = "text";
    send_req("a");
    wait_for(1);
    ck_assert_int_eq(r.err.kind, ERR_NONE);
    ck_assert_int_eq(r.got_status, statuses[_i]);
    ck_assert_str_eq(r.got_body, "text");
    ck_assert_int_eq(r.n_seen, 1);
    end();
    creds_done(&creds);
}
END_TEST

START_TEST(overrides_may_have_a_path)
{
    begin();
    struct creds_provider creds = given(NULL);
    snprintf(r.env_url[1], sizeof(r.env_url[1]), "http://127.0.0.1:%u/pre/fix/", r.port);
    connect_port(&creds);
    const struct aws_req req = {"eks", "DescribeCluster", "GET", "/clusters/demo", NULL, 0, 0};
    ask(&req, on_done, "a");
    wait_for(1);
    ck_assert_str_eq(r.seen.path, "/pre/fix/clusters/demo");
    ck_assert_str_eq(r.seen.verdict, "ok eu-west-1/eks");
    end();
    creds_done(&creds);
}
END_TEST

START_TEST(nobody_listens)
{
    begin();
    struct creds_provider creds = given(NULL);
    snprintf(r.env_url[0], sizeof(r.env_url[0]), "http://127.0.0.1:1");
    connect_port(&creds);
    send_req("a");
    wait_for(1);
    ck_assert_int_eq(r.err.kind, ERR_UNAVAILABLE);
    ck_assert_int_eq(r.err.os, ECONNREFUSED);
    ck_assert_int_eq(r.got_status, 0);
    end();
    creds_done(&creds);
}
END_TEST

static const struct {
    struct aws_req req;
} unsound[] = {
    {{"ec2", "A", "POST", "/?a=b", "x", 1, 0}},
    {{"eks", "A", "GET", "/clusters/a%20b", NULL, 0, 0}},
    {{"eks", "A", "GET", "clusters", NULL, 0, 0}},
    {{"lambda", "A", "POST", "/", "x", 1, 0}},
    {{"eks", "A", "DELETE", "/a", NULL, 0, 0}},
};

START_TEST(what_cannot_be_signed_is_not_sent)
{
    begin();
    struct creds_provider creds = given(NULL);
    connect_port(&creds);
    ck_assert_uint_ne(ask(&unsound[_i].req, on_done, "a"), 0);
    ck_assert_int_eq(r.n_done, 0);
    wait_for(1);
    ck_assert_int_eq(r.err.kind, ERR_INVALID);
    ck_assert_int_eq(r.n_seen, 0);
    end();
    creds_done(&creds);
}
END_TEST

static const struct {
    const char *region, *url;
} bad_configs[] = {{"eu west", ""}, {"", ""}, {NULL, ""}, {"eu-west-1", "no-url"}};

START_TEST(bad_configuration_shows_at_start)
{
    begin();
    struct creds_provider creds = given(NULL);
    struct err e = ERR_INIT;
    const struct aws_http_config config = {.region = bad_configs[_i].region, .env = rig_env};
    snprintf(r.env_url[0], sizeof(r.env_url[0]), "%s", bad_configs[_i].url);
    ck_assert_ptr_null(aws_http_new(r.http, loop_timers(r.loop), &clock_real, &config, &creds, &e));
    ck_assert_int_eq(e.kind, ERR_INVALID);
    end();
    creds_done(&creds);
}
END_TEST

/* ---- credentials that change ----------------------------------------------------------------- */

static struct source {
    const char *id, *secret;
    int64_t expires_wall_ns;
    creds_done_fn done;
    void *arg;
    int n_refresh, n_cancel;
} source;

static int source_get(UNUSED void *ctx, struct creds *ret, struct err *reterr)
{
    if (!source.id) {
        return err_set(reterr, ERR_NOT_FOUND, "nothing fetched yet");
    }
    *ret = (struct creds){source.id, source.secret, TOKEN, source.expires_wall_ns};
    return 0;
}

static uint64_t source_refresh(UNUSED void *ctx, creds_done_fn done, void *arg)
{
    source.done = done;
    source.arg = arg;
    return (uint64_t)++source.n_refresh;
}

static void source_cancel(UNUSED void *ctx, UNUSED uint64_t handle)
{
    source.n_cancel++;
    source.done = NULL;
}

static struct creds_provider fetched(const char *id, int64_t left_ns)
{
    source = (struct source){
        .id = id, .secret = SECRET, .expires_wall_ns = clock_wall(&clock_real) + left_ns};
    return (struct creds_provider){
        "fake", source_get, source_refresh, source_cancel, NULL, NULL,
    };
}

static void refreshed(const char *id, const struct err *e)
{
    source.id = id;
    source.expires_wall_ns = clock_wall(&clock_real) + NS_PER_H;
    creds_done_fn done = source.done;
    source.done = NULL;
    done(source.arg, e);
}

/* No credentials yet, or ended ones: requests wait for the one refresh, then go in order. */
static const struct {
    const char *id;
    int64_t left_ns;
} unusable[] = {{NULL, 0}, {"OLD", -1}};

START_TEST(requests_wait_for_credentials)
{
    begin();
    struct creds_provider creds = fetched(unusable[_i].id, unusable[_i].left_ns);
    const struct err fine = ERR_INIT;
    connect_port(&creds);
    send_req("a");
    send_to("ssm", "b");
    uint64_t c = send_req("c");
    turns(3);
    ck_assert_int_eq(r.n_done, 0);
    ck_assert_int_eq(source.n_refresh, 1);
    r.face->cancel(r.face->ctx, c);
    refreshed(KEY_ID, &fine);
    ck_assert_int_eq(r.n_done, 0);
    wait_for(2);
    ck_assert(str_starts(r.seen.verdict, "ok "));
    ck_assert_int_eq(r.n_seen, 2);
    ck_assert(strchr(r.order, 'a') && strchr(r.order, 'b') && !strchr(r.order, 'c'));
    end();
}
END_TEST

START_TEST(failed_refresh_ends_what_waits)
{
    begin();
    struct creds_provider creds = fetched(NULL, 0);
    struct err e = ERR_INIT;
    connect_port(&creds);
    send_req("a");
    send_req("b");
    err_set(&e, ERR_UNAVAILABLE, "the token service is away");
    refreshed(NULL, &e);
    ck_assert_int_eq(r.n_done, 0);
    wait_for(2);
    ck_assert_str_eq(r.order, "ab");
    ck_assert_int_eq(r.err.kind, ERR_UNAUTHENTICATED);
    ck_assert_str_eq(r.err.msg, "the token service is away");
    ck_assert_int_eq(r.n_seen, 0);
    end();
}
END_TEST

START_TEST(renewal_beside_requests)
{
    begin();
    struct creds_provider creds = fetched(KEY_ID, NS_PER_MIN);
    const struct err fine = ERR_INIT;
    connect_port(&creds);
    send_req("a");
    send_req("b");
    wait_for(2);
    ck_assert_int_eq(source.n_refresh, 1);
    ck_assert(str_starts(r.seen.verdict, "ok "));
    refreshed(KEY_ID, &fine);
    send_req("c");
    wait_for(3);
    ck_assert_int_eq(source.n_refresh, 1);
    end();
}
END_TEST

START_TEST(no_credentials_at_all)
{
    begin();
    static const char *const none[] = {NULL};
    struct creds_provider env, creds;
    creds_env_new(rig_env, (void *)(uintptr_t)none, &env);
    creds_chain_new(&env, 1, &creds);
    connect_port(&creds);
    send_req("a");
    ck_assert_int_eq(r.n_done, 0);
    wait_for(1);
    ck_assert_int_eq(r.err.kind, ERR_UNAUTHENTICATED);
    ck_assert(str_contains(r.err.msg, "no AWS credentials found"));
    ck_assert_int_eq(r.n_seen, 0);
    end();
    creds_done(&creds);
}
END_TEST

/* ---- cancelling ------------------------------------------------------------------------------ */

START_TEST(nothing_after_cancel)
{
    begin();
    struct creds_provider creds = given(NULL);
    connect_port(&creds);
    uint64_t a = send_req("a");
    uint64_t b = send_to("lambda", "b"); /* about to fail */
    send_req("c");
    r.face->cancel(r.face->ctx, a);
    r.face->cancel(r.face->ctx, b);
    r.face->cancel(r.face->ctx, a);
    r.face->cancel(r.face->ctx, 12345);
    wait_for(1);
    turns(5);
    ck_assert_str_eq(r.order, "c");
    end();
    creds_done(&creds);
}
END_TEST

START_TEST(nothing_after_close)
{
    begin();
    struct creds_provider creds = fetched(NULL, 0);
    connect_port(&creds);
    send_req("a"); /* parked */
    send_to("lambda", "b");
    r.face->close(r.face->ctx);
    ck_assert_int_eq(source.n_cancel, 1);
    turns(5);
    ck_assert_int_eq(r.n_done, 0);
    source.id = KEY_ID;
    source.expires_wall_ns = NS_NEVER;
    send_req("c"); /* the port still works */
    wait_for(1);
    ck_assert_str_eq(r.order, "c");
    send_req("d"); /* under way when the port goes */
    end();
    ck_assert_int_eq(r.n_done, 1);
}
END_TEST

static void on_done_free(void *arg, const struct aws_resp *resp)
{
    aws_http_free(r.aws);
    r.aws = NULL;
    on_done(arg, resp);
}

START_TEST(done_may_free_the_port)
{
    begin();
    struct creds_provider creds = given(NULL);
    connect_port(&creds);
    const struct aws_req req = {"ec2", "A", "POST", "/", "x", 1, 0};
    ask(&req, on_done_free, "a");
    send_to("lambda", "b");
    const struct aws_req bad = {"lambda", "A", "POST", "/", "x", 1, 0};
    ask(&bad, on_done_free, "c");
    for (int i = 0; i < 2000 && r.aws; i++) {
        loop_turn(r.loop, 10 * NS_PER_MS, NULL);
    }
    turns(5);
    ck_assert_str_eq(r.order, "bc");
    ck_assert_str_eq(r.got_body, "");
    end();
    creds_done(&creds);
}
END_TEST

UNIT_MAIN("aws_http", UNIT_TEST(verifier_computes_the_published_signature),
          UNIT_CASES(signatures_fit, signatures), UNIT_TEST(large_bodies_are_signed),
          UNIT_CASES(wrong_keys_are_seen, wrong_keys),
          UNIT_CASES(every_status_is_an_answer, statuses), UNIT_TEST(overrides_may_have_a_path),
          UNIT_TEST(nobody_listens), UNIT_CASES(what_cannot_be_signed_is_not_sent, unsound),
          UNIT_CASES(bad_configuration_shows_at_start, bad_configs),
          UNIT_CASES(requests_wait_for_credentials, unusable),
          UNIT_TEST(failed_refresh_ends_what_waits), UNIT_TEST(renewal_beside_requests),
          UNIT_TEST(no_credentials_at_all), UNIT_TEST(nothing_after_cancel),
          UNIT_TEST(nothing_after_close), UNIT_TEST(done_may_free_the_port))
