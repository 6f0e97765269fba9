/*
 * endpoint.h - which protocol a service speaks, and which URL, region and name it is signed for.
 *
 * The table of services is from the public API models; whoever adds a service adds
 * a row. Overrides are those of the AWS SDKs: AWS_ENDPOINT_URL_<SERVICE> ("EC2", "SSM", …) before
 * AWS_ENDPOINT_URL, an empty value counting as not set. An overridden endpoint changes only the
 * address: region and service of the signature stay as they are. An override is scheme, host,
 * optional port and path prefix ("http://127.0.0.1:4566"): no query, no user, no fragment; a
 * trailing "/" is dropped.
 *
 * Partitions are told by the region's prefix: cn-* (amazonaws.com.cn), us-iso*, us-isob*, us-isof*,
 * eu-isoe*, eusc-*, us-gov-*, all others amazonaws.com. IAM is global, and Pricing exists only in a
 * few regions: both are sent and signed where they live.
 */
#ifndef KARP_AWS_ENDPOINT_H
#define KARP_AWS_ENDPOINT_H

#include "creds.h"

#define ENDPOINT_URL_MAX 512
#define ENDPOINT_REGION_MAX 32

enum aws_protocol {
    AWS_EC2_QUERY, /* form in, XML out, errors Response/Errors/Error */
    AWS_QUERY,     /* form in, XML out, errors ErrorResponse/Error */
    AWS_JSON_1_0,  /* X-Amz-Target and application/x-amz-json-1.0 */
    AWS_JSON_1_1,
    AWS_REST_JSON /* method and path say the action */
};

struct aws_service {
    const char *name;        /* "ec2": of struct aws_req, and the name in signatures */
    const char *env;         /* "EC2": suffix of AWS_ENDPOINT_URL_ */
    const char *host_prefix; /* "ec2", "api.pricing" */
    const char *target;      /* prefix of X-Amz-Target, NULL unless JSON 1.x */
    const char *version;     /* of the API, "2016-11-15" */
    enum aws_protocol protocol;
};

struct endpoint {
    char url[ENDPOINT_URL_MAX];       /* "https://ec2.eu-west-1.amazonaws.com", no "/" at the end */
    char region[ENDPOINT_REGION_MAX]; /* of the signature */
    bool overridden;
};

/* NULL if the service is not in the table. */
const struct aws_service *endpoint_service(const char *name);

/* All rows, by name. */
const struct aws_service *endpoint_services(size_t *ret_n);

/* ERR_NOT_FOUND if the partition has no such service (prices in us-gov-*) and no override names
 * one. ERR_INVALID for a region that is not [a-z0-9-]{1,31} or an override that is no such URL. */
int endpoint_resolve(const struct aws_service *service, const char *region, creds_getenv_fn env,
                     void *env_ctx, struct endpoint *ret, struct err *reterr);

#endif
