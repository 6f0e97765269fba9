/* test_aws_services.c - SSM, EKS, Pricing, STS, IAM; endpoints; credentials (aws/services.h,
 * endpoint.h, creds.h) */
#include "common/aws/creds.h"
#include "common/aws/endpoint.h"
#include "common/aws/services.h"
#include "common/base/clock.h"
#include "common/base/str.h"
#include "unit.h"

static struct arena arena;

static void begin(void)
{
    arena_init(&arena, 0, 16u << 20);
}

static void end(void)
{
    arena_done(&arena);
}

/* ---- SSM ------------------------------------------------------------------------------------- */

START_TEST(ssm)
{
    static const char body[] = "{\"Parameter\":{\"Name\":\"/aws/x\",\"Type\":\"String\","
                               "\"Value\":\"ami-1\",\"Version\":7,\"DataType\":\"text\"}}";
    AUTO_BUF struct buf b = {0};
    buf_init(&b, 1000);
    ssm_encode_get_parameter(&b, "/aws/\"x\"");
    ck_assert_str_eq(b.p, "{\"Name\":\"/aws/\\\"x\\\"\"}");
    begin();
    struct ssm_parameter p;
    ck_assert_int_eq(ssm_parse_get_parameter(&arena, body, sizeof(body) - 1, &p, NULL), 0);
    ck_assert_str_eq(p.name, "/aws/x");
    ck_assert_str_eq(p.value, "ami-1");
    ck_assert_str_eq(p.type, "String");
    ck_assert_int_eq(p.version, 7);
    for (size_t n = 0; n < sizeof(body) - 1; n++) {
        ck_assert_int_eq(ssm_parse_get_parameter(&arena, body, n, &p, NULL), -1);
    }
    ck_assert_int_eq(ssm_parse_get_parameter(&arena, "{}", 2, &p, NULL), -1);
    end();
}
END_TEST

/* ---- EKS ------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *path; /* NULL = refused */
} clusters[] = {
    {"demo", "/clusters/demo"},
    {"A-b_9", "/clusters/A-b_9"},
    {"", NULL},
    {"-a", NULL},
    {"a/../b", NULL},
    {"a b", NULL},
    {"a%2F", NULL},
    {"a?x", NULL},
    {"d\xc3\xa9j\xc3\xa0", NULL},
    {"_a", NULL},
};

START_TEST(eks_paths)
{
    char path[SERVICES_PATH_MAX] = "kept";
    struct err e = ERR_INIT;
    int rc = eks_path_cluster(clusters[_i].name, path, &e);
    ck_assert_int_eq(rc, clusters[_i].path ? 0 : -1);
    ck_assert_str_eq(path, clusters[_i].path ? clusters[_i].path : "kept");
    ck_assert_int_eq(e.kind, rc ? ERR_INVALID : ERR_NONE);
}
END_TEST

START_TEST(eks)
{
    static const char v4[] =
        "{\"cluster\":{\"name\":\"demo\",\"arn\":\"arn:aws:eks:eu-west-1:1:cluster/demo\","
        "\"version\":\"1.33\",\"endpoint\":\"https://x.eks\",\"status\":\"ACTIVE\","
        "\"kubernetesNetworkConfig\":{\"serviceIpv4Cidr\":\"172.20.0.0/16\",\"ipFamily\":\"ipv4\"},"
        "\"certificateAuthority\":{\"data\":\"LS0t\"}}}";
    static const char v6[] = "{\"cluster\":{\"name\":\"six\",\"kubernetesNetworkConfig\":"
                             "{\"serviceIpv6Cidr\":\"fd30::/108\",\"ipFamily\":\"ipv6\"}}}";
    begin();
    struct eks_cluster c;
    ck_assert_int_eq(eks_parse_cluster(&arena, v4, sizeof(v4) - 1, &c, NULL), 0);
    ck_assert_str_eq(c.name, "demo");
    ck_assert_str_eq(c.version, "1.33");
    ck_assert_str_eq(c.endpoint, "https://x.eks");
    ck_assert_str_eq(c.status, "ACTIVE");
    ck_assert_str_eq(c.ca_b64, "LS0t");
    ck_assert_str_eq(c.service_cidr_v4, "172.20.0.0/16");
    ck_assert_ptr_null(c.service_cidr_v6);
    ck_assert_int_eq(eks_parse_cluster(&arena, v6, sizeof(v6) - 1, &c, NULL), 0);
    ck_assert_str_eq(c.service_cidr_v6, "fd30::/108");
    ck_assert_str_eq(c.ip_family, "ipv6");
    ck_assert_ptr_null(c.service_cidr_v4);
    ck_assert_int_eq(eks_parse_cluster(&arena, "{\"cluster\":[]}", 14, &c, NULL), -1);
    ck_assert_int_eq(eks_parse_cluster(&arena, "<html>", 6, &c, NULL), -1);
    end();
}
END_TEST

/* ---- Pricing --------------------------------------------------------------------------------- */

static const struct {
    struct pricing_query q;
    const char *tenancy, *family, *rest;
} queries[] = {
    {{"eu-west-1", false, NULL}, "Shared", "Compute Instance", "}"},
    {{"eu-west-1", true, "n\"1"},
     "Dedicated",
     "Compute Instance (bare metal)",
     ",\"NextToken\":\"n\\\"1\"}"},
};

START_TEST(pricing_requests)
{
    const char *const terms[][2] = {
        {"regionCode", "eu-west-1"},      {"serviceCode", "AmazonEC2"},
        {"preInstalledSw", "NA"},         {"operatingSystem", "Linux"},
        {"capacitystatus", "Used"},       {"marketoption", "OnDemand"},
        {"tenancy", queries[_i].tenancy}, {"productFamily", queries[_i].family},
    };
    AUTO_BUF struct buf b = {0};
    AUTO_BUF struct buf want = {0};
    buf_init(&b, 10000);
    buf_init(&want, 10000);
    buf_puts(&want, "{\"ServiceCode\":\"AmazonEC2\",\"Filters\":[");
    for (size_t i = 0; i < ARRAY_LEN(terms); i++) {
        buf_printf(&want, "%s{\"Type\":\"TERM_MATCH\",\"Field\":\"%s\",\"Value\":\"%s\"}",
                   i ? "," : "", terms[i][0], terms[i][1]);
    }
    buf_printf(&want, "],\"MaxResults\":100%s", queries[_i].rest);
    pricing_encode_get_products(&b, &queries[_i].q);
    ck_assert_str_eq(b.p, want.p);
}
END_TEST

#define PRODUCT(type, unit, currency, price)                                                       \
    "\"{\\\"product\\\":{\\\"attributes\\\":{\\\"instanceType\\\":\\\"" type                       \
    "\\\"}},\\\"terms\\\":{\\\"OnDemand\\\":{\\\"A.B\\\":{\\\"priceDimensions\\\":{"               \
    "\\\"A.B.C\\\":{\\\"unit\\\":\\\"" unit "\\\",\\\"pricePerUnit\\\":{\\\"" currency             \
    "\\\":\\\"" price "\\\"}}}}}}}\""

static void add_row(void *arg, const char *type, int64_t price)
{
    buf_printf(arg, "%s=%lld ", type, (long long)price);
}

static const struct {
    const char *region, *body, *rows;
    size_t skipped;
    const char *token;
} pages[] = {
    {"us-east-1",
     "{\"FormatVersion\":\"aws_v1\",\"PriceList\":[" PRODUCT(
         "m5.large", "Hrs", "USD", "0.0960000000") "," PRODUCT("p5.48xlarge", "Hrs", "USD",
                                                               "55.04") "],\"NextToken\":\"n\"}",
     "m5.large=96000000000 p5.48xlarge=55040000000000 ", 0, "n"},
    {"cn-north-1", "{\"PriceList\":[" PRODUCT("m5.large", "Hrs", "CNY", "1.405") "]}",
     "m5.large=1405000000000 ", 0, NULL},
    {"us-east-1", "{\"PriceList\":[" PRODUCT("m5.large", "Hrs", "CNY", "1.405") "]}", "", 1, NULL},
    {"us-east-1", "{\"PriceList\":[" PRODUCT("m5.large", "Hrs", "USD", "0.0000000000") "]}", "", 1,
     NULL},
    {"us-east-1", "{\"PriceList\":[" PRODUCT("m5.large", "Quantity", "USD", "5") "]}", "", 1, NULL},
    {"us-east-1", "{\"PriceList\":[" PRODUCT("", "Hrs", "USD", "5") "]}", "", 1, NULL},
    {"us-east-1", "{\"PriceList\":[" PRODUCT("m5.large", "Hrs", "USD", "1e3") "]}", "", 1, NULL},
    {"us-east-1",
     "{\"PriceList\":[7,\"not json\",\"{}\",\"[]\"," PRODUCT("c5.large", "Hrs", "USD",
                                                             "0.085") "]}",
     "c5.large=85000000000 ", 4, NULL},
    {"us-east-1", "{\"PriceList\":[],\"NextToken\":\"\"}", "", 0, NULL},
};

START_TEST(pricing_pages)
{
    begin();
    AUTO_BUF struct buf rows = {0};
    buf_init(&rows, 1000);
    struct pricing_page page;
    ck_assert_int_eq(pricing_parse_get_products(&arena, pages[_i].region, pages[_i].body,
                                                strlen(pages[_i].body), add_row, &rows, &page,
                                                NULL),
                     0);
    ck_assert_str_eq(rows.p, pages[_i].rows);
    ck_assert_uint_eq(page.n_skipped, pages[_i].skipped);
    ck_assert_pstr_eq(page.next_token, pages[_i].token);
    end();
}
END_TEST

START_TEST(pricing_no_answer)
{
    static const char *const bodies[] = {"", "{}", "[]", "{\"PriceList\":{}}", "{\"PriceList\":["};
    begin();
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct pricing_page page;
        struct err e = ERR_INIT;
        ck_assert_int_eq(pricing_parse_get_products(&arena, "us-east-1", bodies[i],
                                                    strlen(bodies[i]), add_row, NULL, &page, &e),
                         -1);
        ck_assert_int_eq(e.kind, ERR_INVALID);
    }
    end();
}
END_TEST

/* ---- STS and IAM ----------------------------------------------------------------------------- */

START_TEST(sts)
{
    static const char body[] =
        "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
        "<GetCallerIdentityResult><Arn>arn:aws:sts::111122223333:assumed-role/r/s</Arn>"
        "<UserId>AROA:s</UserId><Account>111122223333</Account></GetCallerIdentityResult>"
        "<ResponseMetadata><RequestId>r</RequestId></ResponseMetadata>"
        "</GetCallerIdentityResponse>";
    AUTO_FORM struct form f = {0};
    sts_encode_get_caller_identity(&f);
    ck_assert_str_eq(f.body.p, "Action=GetCallerIdentity&Version=2011-06-15");
    begin();
    struct sts_identity id;
    ck_assert_int_eq(sts_parse_get_caller_identity(&arena, body, sizeof(body) - 1, &id, NULL), 0);
    ck_assert_str_eq(id.account, "111122223333");
    ck_assert_str_eq(id.arn, "arn:aws:sts::111122223333:assumed-role/r/s");
    ck_assert_str_eq(id.user_id, "AROA:s");
    ck_assert_int_eq(
        sts_parse_get_caller_identity(&arena, "<GetCallerIdentityResponse/>", 28, &id, NULL), -1);
    end();
}
END_TEST

START_TEST(iam)
{
    static const char body[] =
        "<GetInstanceProfileResponse><GetInstanceProfileResult><InstanceProfile>"
        "<InstanceProfileId>AIPA</InstanceProfileId><Roles><member><Path>/</Path>"
        "<RoleName>KarpenterNode</RoleName></member></Roles>"
        "<InstanceProfileName>p</InstanceProfileName><Path>/karpenter/</Path>"
        "<Arn>arn:aws:iam::1:instance-profile/p</Arn></InstanceProfile>"
        "</GetInstanceProfileResult></GetInstanceProfileResponse>";
    AUTO_FORM struct form f = {0};
    iam_encode_get_instance_profile(&f, "a/b");
    ck_assert_str_eq(f.body.p,
                     "Action=GetInstanceProfile&Version=2010-05-08&InstanceProfileName=a%2Fb");
    begin();
    struct iam_instance_profile p;
    ck_assert_int_eq(iam_parse_get_instance_profile(&arena, body, sizeof(body) - 1, &p, NULL), 0);
    ck_assert_str_eq(p.name, "p");
    ck_assert_str_eq(p.path, "/karpenter/");
    ck_assert_str_eq(p.arn, "arn:aws:iam::1:instance-profile/p");
    ck_assert_str_eq(p.id, "AIPA");
    ck_assert_str_eq(p.role_name, "KarpenterNode");
    end();
}
END_TEST

/* ---- endpoints ------------------------------------------------------------------------------- */

/* "NAME=value", as the environment holds them. */
static const char *fake_env(void *ctx, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *v = ctx; *v; v++) {
        if (strncmp(*v, name, n) == 0 && (*v)[n] == '=') {
            return *v + n + 1;
        }
    }
    return NULL;
}

static const struct {
    const char *service, *region;
    const char *env[3];
    const char *url, *signed_region; /* NULL = refused */
    enum err_kind kind;
} endpoints[] = {
    {"ec2", "eu-west-1", {0}, "https://ec2.eu-west-1.amazonaws.com", "eu-west-1", ERR_NONE},
    {"sts", "us-east-1", {0}, "https://sts.us-east-1.amazonaws.com", "us-east-1", ERR_NONE},
    {"ssm", "ap-south-2", {0}, "https://ssm.ap-south-2.amazonaws.com", "ap-south-2", ERR_NONE},
    {"eks", "cn-north-1", {0}, "https://eks.cn-north-1.amazonaws.com.cn", "cn-north-1", ERR_NONE},
    {"sqs",
     "us-gov-west-1",
     {0},
     "https://sqs.us-gov-west-1.amazonaws.com",
     "us-gov-west-1",
     ERR_NONE},
    {"ec2",
     "us-iso-east-1",
     {0},
     "https://ec2.us-iso-east-1.c2s.ic.gov",
     "us-iso-east-1",
     ERR_NONE},
    {"ec2",
     "us-isob-east-1",
     {0},
     "https://ec2.us-isob-east-1.sc2s.sgov.gov",
     "us-isob-east-1",
     ERR_NONE},
    {"ec2",
     "eusc-de-east-1",
     {0},
     "https://ec2.eusc-de-east-1.amazonaws.eu",
     "eusc-de-east-1",
     ERR_NONE},
    {"iam", "eu-west-1", {0}, "https://iam.amazonaws.com", "us-east-1", ERR_NONE},
    {"iam",
     "cn-northwest-1",
     {0},
     "https://iam.cn-north-1.amazonaws.com.cn",
     "cn-north-1",
     ERR_NONE},
    {"iam", "us-gov-east-1", {0}, "https://iam.us-gov.amazonaws.com", "us-gov-west-1", ERR_NONE},
    {"pricing",
     "us-west-2",
     {0},
     "https://api.pricing.us-east-1.amazonaws.com",
     "us-east-1",
     ERR_NONE},
    {"pricing",
     "eu-north-1",
     {0},
     "https://api.pricing.eu-central-1.amazonaws.com",
     "eu-central-1",
     ERR_NONE},
    {"pricing",
     "ap-east-1",
     {0},
     "https://api.pricing.ap-south-1.amazonaws.com",
     "ap-south-1",
     ERR_NONE},
    {"pricing",
     "sa-east-1",
     {0},
     "https://api.pricing.us-east-1.amazonaws.com",
     "us-east-1",
     ERR_NONE},
    {"pricing",
     "cn-north-1",
     {0},
     "https://api.pricing.cn-northwest-1.amazonaws.com.cn",
     "cn-northwest-1",
     ERR_NONE},
    {"pricing", "us-gov-west-1", {0}, NULL, NULL, ERR_NOT_FOUND},
    {"pricing",
     "us-gov-west-1",
     {"AWS_ENDPOINT_URL=http://h"},
     "http://h",
     "us-gov-west-1",
     ERR_NONE},
    {"ec2",
     "eu-west-1",
     {"AWS_ENDPOINT_URL=http://127.0.0.1:4566/"},
     "http://127.0.0.1:4566",
     "eu-west-1",
     ERR_NONE},
    {"ec2",
     "eu-west-1",
     {"AWS_ENDPOINT_URL=http://a", "AWS_ENDPOINT_URL_EC2=https://b:1/c/d//"},
     "https://b:1/c/d",
     "eu-west-1",
     ERR_NONE},
    {"ssm",
     "eu-west-1",
     {"AWS_ENDPOINT_URL=http://a", "AWS_ENDPOINT_URL_EC2=http://b"},
     "http://a",
     "eu-west-1",
     ERR_NONE},
    {"ssm",
     "eu-west-1",
     {"AWS_ENDPOINT_URL_EC2=http://b"},
     "https://ssm.eu-west-1.amazonaws.com",
     "eu-west-1",
     ERR_NONE},
    {"ec2",
     "eu-west-1",
     {"AWS_ENDPOINT_URL=http://a", "AWS_ENDPOINT_URL_EC2="},
     "http://a",
     "eu-west-1",
     ERR_NONE},
    {"iam", "eu-west-1", {"AWS_ENDPOINT_URL=http://a"}, "http://a", "us-east-1", ERR_NONE},
    {"pricing",
     "eu-west-1",
     {"AWS_ENDPOINT_URL_PRICING=http://p"},
     "http://p",
     "eu-central-1",
     ERR_NONE},
    {"ec2",
     "eu-west-1",
     {"AWS_ENDPOINT_URL=http://[::1]:80"},
     "http://[::1]:80",
     "eu-west-1",
     ERR_NONE},
    {"ec2", "eu-west-1", {"AWS_ENDPOINT_URL=127.0.0.1"}, NULL, NULL, ERR_INVALID},
    {"ec2", "eu-west-1", {"AWS_ENDPOINT_URL=ftp://a"}, NULL, NULL, ERR_INVALID},
    {"ec2", "eu-west-1", {"AWS_ENDPOINT_URL=http://"}, NULL, NULL, ERR_INVALID},
    {"ec2", "eu-west-1", {"AWS_ENDPOINT_URL=http://u:p@a"}, NULL, NULL, ERR_INVALID},
    {"ec2", "eu-west-1", {"AWS_ENDPOINT_URL=http://a?b=c"}, NULL, NULL, ERR_INVALID},
    {"ec2", "eu-west-1", {"AWS_ENDPOINT_URL=http://a/%20"}, NULL, NULL, ERR_INVALID},
    {"ec2", "eu-west-1", {"AWS_ENDPOINT_URL=http://a:123456"}, NULL, NULL, ERR_INVALID},
    {"ec2", "eu-west-1", {"AWS_ENDPOINT_URL=http://a b"}, NULL, NULL, ERR_INVALID},
    {"ec2", "eu west", {0}, NULL, NULL, ERR_INVALID},
    {"ec2", "", {0}, NULL, NULL, ERR_INVALID},
    {"ec2", NULL, {0}, NULL, NULL, ERR_INVALID},
    {"ec2", "x.evil.example/", {0}, NULL, NULL, ERR_INVALID},
    {"ec2", "abcdefghijklmnopqrstuvwxyz-0123456789", {0}, NULL, NULL, ERR_INVALID},
};

START_TEST(resolves_endpoints)
{
    struct endpoint e;
    struct err err = ERR_INIT;
    const struct aws_service *s = endpoint_service(endpoints[_i].service);
    ck_assert_ptr_nonnull(s);
    int rc = endpoint_resolve(s, endpoints[_i].region, fake_env,
                              (void *)(uintptr_t)endpoints[_i].env, &e, &err);
    ck_assert_str_eq(err_kind_name(err.kind), err_kind_name(endpoints[_i].kind));
    ck_assert_int_eq(rc, endpoints[_i].url ? 0 : -1);
    if (rc == 0) {
        ck_assert_str_eq(e.url, endpoints[_i].url);
        ck_assert_str_eq(e.region, endpoints[_i].signed_region);
        ck_assert_int_eq(e.overridden,
                         !str_contains(e.url, ".amazonaws.") && !str_contains(e.url, ".gov"));
    }
}
END_TEST

START_TEST(services_are_known)
{
    size_t n;
    const struct aws_service *all = endpoint_services(&n);
    for (size_t i = 0; i < n; i++) {
        ck_assert_ptr_eq(endpoint_service(all[i].name), &all[i]);
        ck_assert(i == 0 || str_cmp(all[i - 1].name, all[i].name) < 0);
        bool json1 = all[i].protocol == AWS_JSON_1_0 || all[i].protocol == AWS_JSON_1_1;
        ck_assert_int_eq(all[i].target != NULL, json1);
    }
    ck_assert_ptr_null(endpoint_service("s3"));
    ck_assert_ptr_null(endpoint_service(NULL));
}
END_TEST

/* ---- credentials ----------------------------------------------------------------------------- */

static const struct {
    const char *env[4];
    enum err_kind kind;
    const char *id, *secret, *token;
} environments[] = {
    {{"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=s/+"}, ERR_NONE, "AKID", "s/+", NULL},
    {{"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=s", "AWS_SESSION_TOKEN=t=="},
     ERR_NONE,
     "AKID",
     "s",
     "t=="},
    {{"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=s", "AWS_SESSION_TOKEN="},
     ERR_NONE,
     "AKID",
     "s",
     NULL},
    {{NULL}, ERR_NOT_FOUND, NULL, NULL, NULL},
    {{"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="}, ERR_NOT_FOUND, NULL, NULL, NULL},
    {{"AWS_SESSION_TOKEN=t"}, ERR_NOT_FOUND, NULL, NULL, NULL},
    {{"AWS_ACCESS_KEY_ID=AKID"}, ERR_INVALID, NULL, NULL, NULL},
    {{"AWS_SECRET_ACCESS_KEY=s"}, ERR_INVALID, NULL, NULL, NULL},
    {{"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=s\n"}, ERR_INVALID, NULL, NULL, NULL},
    {{"AWS_ACCESS_KEY_ID=A KID", "AWS_SECRET_ACCESS_KEY=s"}, ERR_INVALID, NULL, NULL, NULL},
};

START_TEST(environment_provider)
{
    struct creds_provider p;
    struct creds c = {0};
    struct err e = ERR_INIT;
    creds_env_new(fake_env, (void *)(uintptr_t)environments[_i].env, &p);
    ck_assert_int_eq(creds_get(&p, &c, &e), environments[_i].kind == ERR_NONE ? 0 : -1);
    ck_assert_int_eq(e.kind, environments[_i].kind);
    ck_assert_pstr_eq(c.access_key_id, environments[_i].id);
    ck_assert_pstr_eq(c.secret_access_key, environments[_i].secret);
    ck_assert_pstr_eq(c.session_token, environments[_i].token);
    creds_done(&p);
    creds_done(&p);
}
END_TEST

static const struct {
    const char *id, *secret, *token;
    bool ok;
} statics[] = {
    {"AKID", "s3cr3t", NULL, true}, {"AKID", "s3cr3t", "token", true},
    {"", "s3cr3t", NULL, false},    {"AKID", "", NULL, false},
    {NULL, "s3cr3t", NULL, false},  {"AKID", NULL, NULL, false},
    {"AKID", "s3cr3t", "", false},  {"AKID\r\nX: y", "s3cr3t", NULL, false},
};

START_TEST(static_provider)
{
    struct creds_provider p = {0};
    struct creds c;
    struct err e = ERR_INIT;
    int rc = creds_static_new(statics[_i].id, statics[_i].secret, statics[_i].token, &p, &e);
    ck_assert_int_eq(rc, statics[_i].ok ? 0 : -1);
    ck_assert_int_eq(e.kind, statics[_i].ok ? ERR_NONE : ERR_INVALID);
    ck_assert(!str_contains(e.msg, "s3cr3t"));
    if (statics[_i].ok) {
        ck_assert_int_eq(creds_get(&p, &c, NULL), 0);
        ck_assert_str_eq(c.secret_access_key, "s3cr3t");
        ck_assert_pstr_eq(c.session_token, statics[_i].token);
        ck_assert_int_eq(c.expires_wall_ns, NS_NEVER);
        ck_assert(!creds_stale(&c, INT64_C(4000000000) * NS_PER_S));
    }
    creds_done(&p);
}
END_TEST

static const struct {
    int64_t left_ns;
    bool stale;
} staleness[] = {
    {CREDS_REFRESH_WINDOW_NS + 1, false},
    {CREDS_REFRESH_WINDOW_NS, true},
    {0, true},
    {-NS_PER_H, true},
};

START_TEST(stale_within_the_window)
{
    const int64_t now = INT64_C(1767603600) * NS_PER_S;
    const struct creds c = {"a", "b", NULL, now + staleness[_i].left_ns};
    ck_assert_int_eq(creds_stale(&c, now), staleness[_i].stale);
}
END_TEST

static const struct {
    const char *env[2]; /* of the first provider */
    bool second;        /* static keys behind it */
    enum err_kind kind;
    const char *id, *part;
} chains[] = {
    {{NULL}, true, ERR_NONE, "STATIC", NULL},
    {{NULL}, false, ERR_UNAUTHENTICATED, NULL, "no AWS credentials found"},
    {{"AWS_ACCESS_KEY_ID=A"}, true, ERR_INVALID, NULL, "environment"},
};

START_TEST(chain_goes_on_only_past_what_is_not_configured)
{
    struct creds_provider p[2], chain;
    struct creds c = {0};
    struct err e = ERR_INIT;
    creds_env_new(fake_env, (void *)(uintptr_t)chains[_i].env, &p[0]);
    ck_assert_int_eq(creds_static_new("STATIC", "s", NULL, &p[1], NULL), 0);
    if (!chains[_i].second) {
        creds_done(&p[1]);
    }
    creds_chain_new(p, chains[_i].second ? 2 : 1, &chain);
    ck_assert_int_eq(creds_get(&chain, &c, &e), chains[_i].kind == ERR_NONE ? 0 : -1);
    ck_assert_int_eq(e.kind, chains[_i].kind);
    ck_assert_pstr_eq(c.access_key_id, chains[_i].id);
    ck_assert(!chains[_i].part || str_contains(e.msg, chains[_i].part));
    ck_assert_uint_eq(chain.refresh(chain.ctx, NULL, NULL), 0);
    creds_done(&chain);
}
END_TEST

UNIT_MAIN("aws_services", UNIT_TEST(ssm), UNIT_CASES(eks_paths, clusters), UNIT_TEST(eks),
          UNIT_CASES(pricing_requests, queries), UNIT_CASES(pricing_pages, pages),
          UNIT_TEST(pricing_no_answer), UNIT_TEST(sts), UNIT_TEST(iam),
          UNIT_CASES(resolves_endpoints, endpoints), UNIT_TEST(services_are_known),
          UNIT_CASES(environment_provider, environments), UNIT_CASES(static_provider, statics),
          UNIT_CASES(stale_within_the_window, staleness),
          UNIT_CASES(chain_goes_on_only_past_what_is_not_configured, chains))
