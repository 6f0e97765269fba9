/*
 * services.h - the few calls to SSM, EKS, Pricing, STS and IAM, as pure functions (cf. ec2.h).
 *
 * JSON services: the encoder writes the body into a buf the caller has initialized; endpoint.h
 * knows target and content type. EKS: the encoder writes the path of a GET. Results live in the
 * arena. Parsers take the body of an answer without error. Texts given are UTF-8, as everything
 * from the API server is.
 */
#ifndef KARP_AWS_SERVICES_H
#define KARP_AWS_SERVICES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/price.h"
#include "form.h"

#define STS_VERSION "2011-06-15"
#define IAM_VERSION "2010-05-08"
#define PRICING_PAGE 100
#define SERVICES_PATH_MAX 256

/* ---- SSM: GetParameter (call: POST, action "GetParameter") ----------------------------------- */

struct ssm_parameter {
    const char *name, *value, *type;
    int64_t version;
};

void ssm_encode_get_parameter(struct buf *b, const char *name);
int ssm_parse_get_parameter(struct arena *a, const char *body, size_t n, struct ssm_parameter *ret,
                            struct err *reterr);

/* ---- EKS: DescribeCluster (call: GET path, no body) ------------------------------------------ */

struct eks_cluster {
    const char *name, *arn, *status;
    const char *version;                           /* "1.33" */
    const char *endpoint;                          /* https://… */
    const char *ca_b64;                            /* certificateAuthority.data, as it stands */
    const char *service_cidr_v4, *service_cidr_v6; /* NULL if absent */
    const char *ip_family;                         /* "ipv4", "ipv6" */
};

/* "/clusters/NAME". ERR_INVALID unless the name is [0-9A-Za-z][A-Za-z0-9_-]{0,99}, EKS's own rule:
 * so the path needs no escaping. */
int eks_path_cluster(const char *name, char dst[SERVICES_PATH_MAX], struct err *reterr);
int eks_parse_cluster(struct arena *a, const char *body, size_t n, struct eks_cluster *ret,
                      struct err *reterr);

/* ---- Pricing: GetProducts -------------------------------------------------------------------- */

struct pricing_query {
    const char *region; /* regionCode */
    bool metal;         /* dedicated tenancy of bare metal, else shared compute instances */
    const char *next_token;
};

/* One on-demand price; called once per product with a price, in the answer's order. */
typedef void (*pricing_row_fn)(void *arg, const char *instance_type, int64_t price_pusd_h);

struct pricing_page {
    size_t n_rows, n_skipped; /* skipped: no, zero or unreadable price */
    const char *next_token;   /* NULL = last page */
};

/* The filters of EC2's documentation */
void pricing_encode_get_products(struct buf *b, const struct pricing_query *q);
/* PriceList is an array of JSON texts: each is parsed, reported and dropped before the next. The
 * currency is CNY for regions cn-*, else USD. */
int pricing_parse_get_products(struct arena *a, const char *region, const char *body, size_t n,
                               pricing_row_fn row, void *arg, struct pricing_page *ret,
                               struct err *reterr);

/* ---- STS: GetCallerIdentity (aws_call_form, "sts") ------------------------------------------- */

struct sts_identity {
    const char *account, *arn, *user_id;
};

void sts_encode_get_caller_identity(struct form *f);
int sts_parse_get_caller_identity(struct arena *a, const char *body, size_t n,
                                  struct sts_identity *ret, struct err *reterr);

/* ---- IAM: GetInstanceProfile (aws_call_form, "iam") ------------------------------------------ */

struct iam_instance_profile {
    const char *name, *path, *arn, *id;
    const char *role_name; /* of its only role; NULL if it has none */
};

void iam_encode_get_instance_profile(struct form *f, const char *name);
int iam_parse_get_instance_profile(struct arena *a, const char *body, size_t n,
                                   struct iam_instance_profile *ret, struct err *reterr);

#endif
