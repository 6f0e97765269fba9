/*
 * port.h - how anything reaches AWS: one of the agent's four ports.
 *
 * Signing, endpoints and sockets lie below it (http_port.h), all knowledge of EC2 above. `done`
 * follows the rules of kube/port.h: exactly once, never before request() returns, never after
 * cancel or close. resp->err is set only when no HTTP answer was received; an answer with any
 * status, also 4xx, is an answer. The body is borrowed for the call.
 */
#ifndef KARP_AWS_PORT_H
#define KARP_AWS_PORT_H

#include "common/base/err.h"

#define AWS_BODY_MAX (64u << 20)
#define AWS_TIMEOUT_NS (INT64_C(60) * 1000000000)

struct aws_req {
    const char *service; /* "ec2", "ssm", "eks", "sqs", "iam", "pricing", "sts" */
    const char *action;  /* "CreateFleet", "GetParameter", …: for tracing, and X-Amz-Target */
    const char *method;  /* POST, or GET for REST services */
    const char *path;    /* "/" or unreserved characters only; never a query */
    const char *body;    /* form for Query services, JSON for the others; NULL with GET */
    size_t body_n;
    int64_t timeout_ns; /* 0 = AWS_TIMEOUT_NS */
};

struct aws_resp {
    struct err err;
    int status;
    const char *body;
    size_t body_n;
    int64_t date_ns; /* wall time of the Date header, 0 if there was none */
};

typedef void (*aws_done_fn)(void *arg, const struct aws_resp *resp);

struct aws_port {
    uint64_t (*request)(void *ctx, const struct aws_req *req, aws_done_fn done, void *arg);
    void (*cancel)(void *ctx, uint64_t handle);
    void (*close)(void *ctx);
    void *ctx;
};

#endif
