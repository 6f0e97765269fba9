/*
 * ec2_sigv4.h - checks AWS signature version 4, from the other end.
 *
 * Written from AWS's description of the algorithm, independent of the client's signer, so that each
 * holds the other in place: canonical request (method, path encoded once more, sorted query, signed
 * headers, hash of the body), string to sign, key derived from date, region and service. Everything
 * is strict: host and every x-amz-* header must be signed, the date of the scope must be the
 * request's, the body must be the hashed one, the clocks must agree within SIGV4_SKEW_NS.
 *
 * Pure: no clock, no state. Query-string signatures and chunked payloads are not taken.
 */
#ifndef KARP_TESTS_SIM_EC2_SIGV4_H
#define KARP_TESTS_SIM_EC2_SIGV4_H

#include "common/base/compat.h"

#include <stdbool.h>

#define SIGV4_SKEW_NS (INT64_C(300) * 1000000000)
#define SIGV4_HEADERS_MAX 100

struct sigv4_header {
    const char *name, *value; /* as received; names in any case */
};

struct sigv4_request {
    const char *method;
    const char *path;  /* of the request line, before any '?', still escaped */
    const char *query; /* after the '?', NULL = none */
    const struct sigv4_header *headers;
    size_t n_headers;
    const void *body;
    size_t body_n;
};

struct sigv4_key {
    const char *access, *secret;
    const char *token; /* NULL = none may be sent */
};

enum sigv4_verdict {
    SIGV4_OK,
    SIGV4_MISSING,   /* no Authorization */
    SIGV4_MALFORMED, /* Authorization or a header it needs cannot be read */
    SIGV4_UNKNOWN_KEY,
    SIGV4_BAD_TOKEN, /* session token missing, unexpected or wrong */
    SIGV4_SKEWED,    /* our clocks differ too much */
    SIGV4_MISMATCH   /* signature, or body hash */
};

struct sigv4_result {
    enum sigv4_verdict verdict;
    char service[32], region[32]; /* of the credential scope, also without success; "" if unread */
    char why[160];                /* for people */
};

/* keys: n of them. Never fails but in *ret. */
void simec2_sigv4_verify(const struct sigv4_request *req, const struct sigv4_key *keys, size_t n,
                         int64_t now_wall_ns, struct sigv4_result *ret);

/* The signature in hex of a request with these signed headers (lower case, sorted, ';' between).
 * date is YYYYMMDDTHHMMSSZ. For tests and for the check itself. False if a header is missing. */
bool simec2_sigv4_sign(const struct sigv4_request *req, const char *signed_headers,
                       const char *date, const char *region, const char *service,
                       const char *secret, char hex[65]);

#endif
