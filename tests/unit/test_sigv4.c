/*
 * test_sigv4 - the verifier of the simulated AWS (tests/sim/ec2/ec2_sigv4.h).
 *
 * The first vector is the worked example of AWS's own description of the algorithm; the others were
 * computed once with a second implementation. Tampering rows change one thing of a good request.
 */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/sim/ec2/ec2_sigv4.h"
#include "unit.h"

#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define NOW_NS (INT64_C(1767603600) * NS_PER_S) /* 2026-01-05T09:00:00Z */
#define FORM "application/x-www-form-urlencoded; charset=utf-8"
#define BODY                                                                                       \
    "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=tag%3AName&Filter.1.Value.1=a%20b"

static const struct vector {
    const char *method, *path, *query, *body;
    struct sigv4_header headers[6];
    const char *signed_headers, *date, *region, *service, *signature;
} vectors[] = {
    {"GET",
     "/",
     "Action=ListUsers&Version=2010-05-08",
     "",
     {{"Host", "iam.amazonaws.com"}, {"Content-Type", FORM}, {"X-Amz-Date", "20150830T123600Z"}},
     "content-type;host;x-amz-date",
     "20150830T123600Z",
     "us-east-1",
     "iam",
     "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"},
    {"POST",
     "/",
     NULL,
     BODY,
     {{"Host", "127.0.0.1:8080"}, {"Content-Type", FORM}, {"X-Amz-Date", "20260105T090000Z"}},
     "content-type;host;x-amz-date",
     "20260105T090000Z",
     "us-west-2",
     "ec2",
     "474d8704eb923c21f44ccb7e57af54a2c7fad24298bff03fe8f06ce104ce7f7d"},
    {"POST",
     "/",
     NULL,
     "{\"Name\":\"/a/b\"}",
     {{"Host", "127.0.0.1:8080"},
      {"Content-Type", "application/x-amz-json-1.1"},
      {"X-Amz-Target", "AmazonSSM.GetParameter"},
      {"X-Amz-Date", "20260105T090000Z"},
      {"X-Amz-Security-Token", "TOKEN"}},
     "content-type;host;x-amz-date;x-amz-security-token;x-amz-target",
     "20260105T090000Z",
     "us-west-2",
     "ssm",
     "f9eb26c1987ace14c78e5632d59b189f6b4c86afee89d11c37da66d8b7a997bf"},
    {"GET",
     "/clusters/sim",
     NULL,
     "",
     {{"Host", "127.0.0.1:8080"}, {"X-Amz-Date", "20260105T090000Z"}},
     "host;x-amz-date",
     "20260105T090000Z",
     "us-west-2",
     "eks",
     "57eb4caf1a18e16600092a904ab5efaf02dca372dc2790c2a28f9c4c315460aa"},
    {"GET",
     "/a%20b/c:d",
     "b=2&a=x%20y&a=1&empty",
     "",
     {{"Host", "example.amazonaws.com"},
      {"My-Header", "  a   b  "},
      {"X-Amz-Date", "20260105T090000Z"}},
     "host;my-header;x-amz-date",
     "20260105T090000Z",
     "us-east-1",
     "service",
     "7094c57cf5b67c58ccb04e74f399f7eb2301b69c4f20bd5b32a6e1a6a08ff477"},
};

static size_t count_headers(const struct sigv4_header *h)
{
    size_t n = 0;
    while (n < 6 && h[n].name) {
        n++;
    }
    return n;
}

START_TEST(sigv4_vector)
{
    const struct vector *v = &vectors[_i];
    const struct sigv4_request req = {
        v->method, v->path,        v->query, v->headers, count_headers(v->headers),
        v->body,   strlen(v->body)};
    char hex[65];
    ck_assert(
        simec2_sigv4_sign(&req, v->signed_headers, v->date, v->region, v->service, SECRET, hex));
    ck_assert_str_eq(hex, v->signature);
}
END_TEST

/* ---- one thing changed --------------------------------------------------------------------------
 */

#define AUTH_HEAD "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260105/us-west-2/ec2/aws4_request, "
#define AUTH_LIST "SignedHeaders=content-type;host;x-amz-date, "
#define AUTH_SIG "Signature=474d8704eb923c21f44ccb7e57af54a2c7fad24298bff03fe8f06ce104ce7f7d"

enum change {
    NOTHING,
    METHOD,
    PATH,
    QUERY,
    BODY_TEXT,
    ADD,
    REPLACE,
    DROP,
    CLOCK,
    KEY_SECRET,
    KEY_TOKEN
};

static const struct tamper {
    const char *name;
    enum change change;
    const char *header, *value;
    int64_t seconds;
    enum sigv4_verdict verdict;
} tampers[] = {
    {"untouched", NOTHING, NULL, NULL, 0, SIGV4_OK},
    {"header case does not matter", REPLACE, "host", "127.0.0.1:8080", 0, SIGV4_OK},
    {"blanks around values do not matter", REPLACE, "Host", "  127.0.0.1:8080 ", 0, SIGV4_OK},
    {"an unsigned header may come along", ADD, "User-Agent", "x", 0, SIGV4_OK},
    {"five minutes late", CLOCK, NULL, NULL, 300, SIGV4_OK},
    {"more than five minutes late", CLOCK, NULL, NULL, 301, SIGV4_SKEWED},
    {"more than five minutes early", CLOCK, NULL, NULL, -301, SIGV4_SKEWED},
    {"other method", METHOD, NULL, "PUT", 0, SIGV4_MISMATCH},
    {"other path", PATH, NULL, "/x", 0, SIGV4_MISMATCH},
    {"a query", QUERY, NULL, "a=b", 0, SIGV4_MISMATCH},
    {"other body", BODY_TEXT, NULL, BODY "&x=y", 0, SIGV4_MISMATCH},
    {"no body", BODY_TEXT, NULL, "", 0, SIGV4_MISMATCH},
    {"other host", REPLACE, "Host", "127.0.0.1:8081", 0, SIGV4_MISMATCH},
    {"other content type", REPLACE, "Content-Type", "text/plain", 0, SIGV4_MISMATCH},
    {"other time of the day", REPLACE, "X-Amz-Date", "20260105T090001Z", 0, SIGV4_MISMATCH},
    {"other day", REPLACE, "X-Amz-Date", "20260106T090000Z", 0, SIGV4_MALFORMED},
    {"no date", DROP, "X-Amz-Date", NULL, 0, SIGV4_MALFORMED},
    {"unreadable date", REPLACE, "X-Amz-Date", "2026-01-05T09:00", 0, SIGV4_MALFORMED},
    {"signed header gone", DROP, "Content-Type", NULL, 0, SIGV4_MALFORMED},
    {"unsigned x-amz header", ADD, "X-Amz-Target", "Foo.Bar", 0, SIGV4_MALFORMED},
    {"host is not signed", REPLACE, "Authorization",
     AUTH_HEAD "SignedHeaders=content-type;x-amz-date, " AUTH_SIG, 0, SIGV4_MALFORMED},
    {"list out of order", REPLACE, "Authorization",
     AUTH_HEAD "SignedHeaders=host;content-type;x-amz-date, " AUTH_SIG, 0, SIGV4_MALFORMED},
    {"no Authorization", DROP, "Authorization", NULL, 0, SIGV4_MISSING},
    {"other scheme", REPLACE, "Authorization", "Bearer abc", 0, SIGV4_MALFORMED},
    {"short signature", REPLACE, "Authorization", AUTH_HEAD AUTH_LIST "Signature=474d", 0,
     SIGV4_MALFORMED},
    {"one digit of the signature", REPLACE, "Authorization",
     AUTH_HEAD AUTH_LIST
     "Signature=474d8704eb923c21f44ccb7e57af54a2c7fad24298bff03fe8f06ce104ce7f7e",
     0, SIGV4_MISMATCH},
    {"other key id", REPLACE, "Authorization",
     "AWS4-HMAC-SHA256 Credential=AKIDOTHER/20260105/us-west-2/ec2/aws4_request, " AUTH_LIST
         AUTH_SIG,
     0, SIGV4_UNKNOWN_KEY},
    {"other region", REPLACE, "Authorization",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260105/us-east-1/ec2/aws4_request, " AUTH_LIST
         AUTH_SIG,
     0, SIGV4_MISMATCH},
    {"other service", REPLACE, "Authorization",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260105/us-west-2/ssm/aws4_request, " AUTH_LIST
         AUTH_SIG,
     0, SIGV4_MISMATCH},
    {"scope does not end in aws4_request", REPLACE, "Authorization",
     "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260105/us-west-2/ec2/aws3, " AUTH_LIST AUTH_SIG, 0,
     SIGV4_MALFORMED},
    {"body hash header that lies", ADD, "X-Amz-Content-Sha256", "0000", 0, SIGV4_MALFORMED},
    {"other secret", KEY_SECRET, NULL, "other", 0, SIGV4_MISMATCH},
    {"token missing", KEY_TOKEN, NULL, "TOKEN", 0, SIGV4_BAD_TOKEN},
};

struct attempt {
    struct sigv4_header headers[8];
    struct sigv4_request req;
    struct sigv4_key key;
    int64_t now_ns;
};

static void change_header(struct attempt *a, const struct tamper *t)
{
    size_t n = a->req.n_headers, w = 0;
    if (t->change == ADD) {
        a->headers[n] = (struct sigv4_header){t->header, t->value};
        a->req.n_headers++;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        bool hit = strcasecmp(a->headers[i].name, t->header) == 0;
        if (hit && t->change == DROP) {
            continue;
        }
        a->headers[w] = a->headers[i];
        if (hit) {
            a->headers[w] = (struct sigv4_header){t->header, t->value};
        }
        w++;
    }
    a->req.n_headers = w;
}

static void apply(struct attempt *a, const struct tamper *t)
{
    switch (t->change) {
    case NOTHING:
        break;
    case METHOD:
        a->req.method = t->value;
        break;
    case PATH:
        a->req.path = t->value;
        break;
    case QUERY:
        a->req.query = t->value;
        break;
    case BODY_TEXT:
        a->req.body = t->value;
        a->req.body_n = strlen(t->value);
        break;
    case ADD:
    case REPLACE:
    case DROP:
        change_header(a, t);
        break;
    case CLOCK:
        a->now_ns += t->seconds * NS_PER_S;
        break;
    case KEY_SECRET:
        a->key.secret = t->value;
        break;
    case KEY_TOKEN:
        a->key.token = t->value;
        break;
    }
}

START_TEST(sigv4_tamper)
{
    const struct tamper *t = &tampers[_i];
    struct attempt a = {.key = {"AKIDEXAMPLE", SECRET, NULL}, .now_ns = NOW_NS};
    a.headers[0] = (struct sigv4_header){"Host", "127.0.0.1:8080"};
    a.headers[1] = (struct sigv4_header){"Content-Type", FORM};
    a.headers[2] = (struct sigv4_header){"X-Amz-Date", "20260105T090000Z"};
    a.headers[3] = (struct sigv4_header){"Authorization", AUTH_HEAD AUTH_LIST AUTH_SIG};
    a.req = (struct sigv4_request){"POST", "/", NULL, a.headers, 4, BODY, strlen(BODY)};
    apply(&a, t);
    struct sigv4_result r;
    simec2_sigv4_verify(&a.req, &a.key, 1, a.now_ns, &r);
    ck_assert_msg(r.verdict == t->verdict, "%s: verdict %d, not %d: %s", t->name, (int)r.verdict,
                  (int)t->verdict, r.why);
    if (t->verdict == SIGV4_OK) {
        ck_assert_str_eq(r.service, "ec2");
        ck_assert_str_eq(r.region, "us-west-2");
    }
}
END_TEST

/* The body's hash as a header, signed with the rest. */
START_TEST(sigv4_body_hash)
{
    struct sigv4_header h[] = {{"host", "x"},
                               {"x-amz-date", "20260105T090000Z"},
                               {"x-amz-content-sha256",
                                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                               {"authorization", NULL}};
    const struct sigv4_key key = {"K", "S", NULL};
    struct sigv4_request req = {"POST", "/", NULL, h, 3, "abc", 3};
    char hex[65];
    ck_assert(simec2_sigv4_sign(&req, "host;x-amz-content-sha256;x-amz-date", "20260105T090000Z",
                                "r", "ec2", "S", hex));
    AUTO_FREE char *auth =
        xasprintf("AWS4-HMAC-SHA256 Credential=K/20260105/r/ec2/aws4_request,SignedHeaders="
                  "host;x-amz-content-sha256;x-amz-date,Signature=%s",
                  hex);
    h[3].value = auth;
    req.n_headers = 4;
    struct sigv4_result r;
    simec2_sigv4_verify(&req, &key, 1, NOW_NS, &r);
    ck_assert_int_eq(r.verdict, SIGV4_OK);
    req.body = "abd";
    simec2_sigv4_verify(&req, &key, 1, NOW_NS, &r);
    ck_assert_int_eq(r.verdict, SIGV4_MISMATCH);
}
END_TEST

UNIT_MAIN("sigv4", UNIT_CASES(sigv4_vector, vectors), UNIT_CASES(sigv4_tamper, tampers),
          UNIT_TEST(sigv4_body_hash))
