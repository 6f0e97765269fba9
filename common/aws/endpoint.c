/* endpoint.c - see endpoint.h */
#include "endpoint.h"

#include "common/base/str.h"

static const struct aws_service services[] = {
    {"ec2", "EC2", "ec2", NULL, "2016-11-15", AWS_EC2_QUERY},
    {"eks", "EKS", "eks", NULL, "2017-11-01", AWS_REST_JSON},
    {"iam", "IAM", "iam", NULL, "2010-05-08", AWS_QUERY},
    {"pricing", "PRICING", "api.pricing", "AWSPriceListService", "2017-10-15", AWS_JSON_1_1},
    {"sqs", "SQS", "sqs", "AmazonSQS", "2012-11-05", AWS_JSON_1_0},
    {"ssm", "SSM", "ssm", "AmazonSSM", "2014-11-06", AWS_JSON_1_1},
    {"sts", "STS", "sts", NULL, "2011-06-15", AWS_QUERY},
};

/* The first row whose prefix fits counts. Where IAM lives, and the signing region it wants. */
static const struct partition {
    const char *prefix, *suffix;
    const char *iam_host, *iam_region;
    const char *pricing_region; /* NULL: none there */
} partitions[] = {
    {"cn-", "amazonaws.com.cn", "iam.cn-north-1", "cn-north-1", "cn-northwest-1"},
    {"us-gov-", "amazonaws.com", "iam.us-gov", "us-gov-west-1", NULL},
    {"us-iso-", "c2s.ic.gov", "iam.us-iso-east-1", "us-iso-east-1", "us-iso-east-1"},
    {"us-isob-", "sc2s.sgov.gov", "iam.us-isob-east-1", "us-isob-east-1", "us-isob-east-1"},
    {"us-isof-", "csp.hci.ic.gov", "iam.us-isof-south-1", "us-isof-south-1", NULL},
    {"eu-isoe-", "cloud.adc-e.uk", "iam.eu-isoe-west-1", "eu-isoe-west-1", "eu-isoe-west-1"},
    {"eusc-", "amazonaws.eu", "iam.eusc-de-east-1", "eusc-de-east-1", "eusc-de-east-1"},
    {"ap-", "amazonaws.com", "iam", "us-east-1", "ap-south-1"},
    {"eu-", "amazonaws.com", "iam", "us-east-1", "eu-central-1"},
    {"", "amazonaws.com", "iam", "us-east-1", "us-east-1"},
};

const struct aws_service *endpoint_service(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        if (str_eq(services[i].name, name)) {
            return &services[i];
        }
    }
    return NULL;
}

const struct aws_service *endpoint_services(size_t *ret_n)
{
    *ret_n = ARRAY_LEN(services);
    return services;
}

static const struct partition *find_partition(const char *region)
{
    const struct partition *p = partitions;
    while (!str_starts(region, p->prefix)) {
        p++;
    }
    return p;
}

static size_t span_letters(const char *s, const char *also)
{
    size_t n = 0;
    while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') ||
           (s[n] >= '0' && s[n] <= '9') || (s[n] && strchr(also, s[n]))) {
        n++;
    }
    return n;
}

static bool region_ok(const char *region)
{
    size_t n = region ? strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;
    return n > 0 && n < ENDPOINT_REGION_MAX && !region[n];
}

/* Length of a host as URLs write it ("[::1]" too); 0 if there is none. */
static size_t span_host(const char *s)
{
    if (*s != '[') {
        return span_letters(s, ".-_");
    }
    size_t n = 1 + strspn(s + 1, "0123456789abcdefABCDEF:.");
    return n > 1 && s[n] == ']' ? n + 1 : 0;
}

/* scheme://host[:port][/path]; no user, query, fragment or escape. */
static bool url_ok(const char *url)
{
    const char *s = url;
    if (str_starts(s, "https://")) {
        s += 8;
    } else if (str_starts(s, "http://")) {
        s += 7;
    } else {
        return false;
    }
    size_t host = span_host(s);
    s += host;
    if (host > 0 && *s == ':') {
        size_t port = strspn(s + 1, "0123456789");
        if (port == 0 || port > 5) {
            return false;
        }
        s += 1 + port;
    }
    if (host > 0 && *s == '/') {
        s += span_letters(s, "/-._~");
    }
    return host > 0 && !*s;
}

static int put_override(const char *name, const char *value, struct endpoint *e, struct err *reterr)
{
    size_t n = strlen(value);
    if (n >= sizeof(e->url) || !url_ok(value)) {
        return err_set(reterr, ERR_INVALID, "%s: not a URL of scheme, host, port and path: \"%s\"",
                       name, value);
    }
    str_copy(e->url, sizeof(e->url), value);
    while (n > 0 && e->url[n - 1] == '/') {
        e->url[--n] = '\0';
    }
    e->overridden = true;
    return 0;
}

static int find_override(const struct aws_service *service, creds_getenv_fn env, void *env_ctx,
                         struct endpoint *e, struct err *reterr)
{
    char own[64];
    snprintf(own, sizeof(own), "AWS_ENDPOINT_URL_%s", service->env);
    const char *const names[] = {own, "AWS_ENDPOINT_URL"};
    for (size_t i = 0; env && i < ARRAY_LEN(names); i++) {
        const char *value = env(env_ctx, names[i]);
        if (value && *value) {
            return put_override(names[i], value, e, reterr);
        }
    }
    return 0;
}

int endpoint_resolve(const struct aws_service *service, const char *region, creds_getenv_fn env,
                     void *env_ctx, struct endpoint *ret, struct err *reterr)
{
    if (!region_ok(region)) {
        return err_set(reterr, ERR_INVALID, "not an AWS region: \"%s\"", region ? region : "");
    }
    const struct partition *p = find_partition(region);
    bool iam = str_eq(service->name, "iam");
    bool pricing = str_eq(service->name, "pricing");
    struct endpoint e = {.overridden = false};
    if (find_override(service, env, env_ctx, &e, reterr) < 0) {
        return -1;
    }
    if (pricing && !p->pricing_region && !e.overridden) {
        return err_set(reterr, ERR_NOT_FOUND, "there is no price list for region %s", region);
    }
    const char *at = iam                            ? p->iam_region
                     : pricing && p->pricing_region ? p->pricing_region
                                                    : region;
    str_copy(e.region, sizeof(e.region), at);
    if (iam && !e.overridden) {
        snprintf(e.url, sizeof(e.url), "https://%s.%s", p->iam_host, p->suffix);
    } else if (!e.overridden) {
        snprintf(e.url, sizeof(e.url), "https://%s.%s.%s", service->host_prefix, at, p->suffix);
    }
    *ret = e;
    return 0;
}
