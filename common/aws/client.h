/*
 * client.h - calling AWS with retries: everything above a port, nothing of any single API.
 *
 * A client owns its open calls: their copied bodies, their timers, their place below the port. It
 * owns neither the port nor the timers: those outlive it. It runs on one thread.
 *
 * Retries: AWS_ATTEMPTS_MAX attempts on throttling, 5xx and transport
 * failures, after a pause uniform in [0, min(AWS_BACKOFF_MAX_NS, AWS_BACKOFF_NS · 2^(n-1))] behind
 * the n-th attempt ("full jitter"). A call that is not `repeatable` is repeated only when the
 * failed attempt certainly had no effect: throttled, or no connection (err.os is ECONNREFUSED,
 * EHOSTUNREACH, ENETUNREACH or EADDRNOTAVAIL). Otherwise it ends at once and `unknown` says that
 * it may have happened.
 *
 * `done` runs exactly once per call, never before aws_call has returned, never after aws_cancel or
 * aws_client_free. It may make calls, cancel others and even end the client. res and its body are
 * borrowed for the call.
 *
 * Kinds (aws_classify), by the service's code and, where that says nothing, the HTTP status:
 *   NOT_FOUND        *.NotFound, *.NotFoundException, NoSuchEntity, ParameterNotFound, 404, …
 *   EXISTS           *.AlreadyExists, *.AlreadyExistsException, EntityAlreadyExists, …
 *   CONFLICT         IdempotentParameterMismatch, 409, 412
 *   FORBIDDEN        UnauthorizedOperation, AccessDenied, AuthFailure, OptInRequired, 403, …
 *   UNAUTHENTICATED  ExpiredToken, RequestExpired, InvalidClientTokenId, SignatureDoesNotMatch, …
 *   THROTTLED        RequestLimitExceeded, Throttling, ThrottlingException, RequestThrottled,
 *                    TooManyRequestsException, …, 429
 *   CAPACITY         what cannot be had now (InsufficientInstanceCapacity, …)
 *   UNAVAILABLE      InternalError, 5xx
 *   INVALID          every other refusal
 *   NONE             2xx; and DryRunOperation, which says that the call would have succeeded: the
 *                    code is set, the body must not be parsed
 */
#ifndef KARP_AWS_CLIENT_H
#define KARP_AWS_CLIENT_H

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/timer.h"
#include "endpoint.h"
#include "port.h"

#define AWS_ATTEMPTS_MAX 3
#define AWS_BACKOFF_NS (INT64_C(1) * 1000000000)
#define AWS_BACKOFF_MAX_NS (INT64_C(20) * 1000000000)
#define AWS_CALLS_MAX 4096 /* open at once; more end with ERR_LIMIT */
#define AWS_REQUEST_MAX (16u << 20)

struct aws_client;

struct aws_call {
    const char *service; /* a row of endpoint.h */
    const char *action;
    const char *method; /* NULL = POST */
    const char *path;   /* NULL = "/" */
    const char *body;   /* copied */
    size_t body_n;
    int64_t timeout_ns; /* of one attempt; 0 = AWS_TIMEOUT_NS */
    /* Doing it twice equals doing it once: reads, deletes by id, whatever has a ClientToken. */
    bool repeatable;
};

struct aws_result {
    struct err err;   /* ERR_NONE: parse the body */
    const char *body; /* "" if there was none */
    size_t body_n;
    int attempts;
    int64_t date_ns; /* the service's clock when it answered, 0 if it did not say */
    bool unknown;    /* with an error: one of the attempts may have taken effect nevertheless */
};

typedef void (*aws_result_fn)(void *arg, const struct aws_result *res);

/* port, timers and clock are borrowed for the client's life. */
struct aws_client *aws_client_new(const struct aws_port *port, struct timers *timers,
                                  const struct clock *clock, struct entropy entropy);
/* Cancels every open call; no done runs any more. NULL is fine. */
void aws_client_free(struct aws_client *c);

/* Returns a handle, never 0. */
uint64_t aws_call(struct aws_client *c, const struct aws_call *call, aws_result_fn done, void *arg);
/* Unknown and finished handles are ignored. */
void aws_cancel(struct aws_client *c, uint64_t handle);
size_t aws_client_open(const struct aws_client *c);

/* Calls a Query or EC2 service with a form (form.h); the form may go afterwards. */
struct form;
uint64_t aws_call_form(struct aws_client *c, const char *service, const struct form *f,
                       bool repeatable, aws_result_fn done, void *arg);

/* The kind for a service's code; status decides what the code leaves open. */
enum err_kind aws_code_kind(const char *code, int status);
/* Fills *ret from an answer: kind, http, code, message. Any bytes are accepted as body. */
void aws_classify(enum aws_protocol protocol, int status, const char *body, size_t body_n,
                  struct err *ret);

#endif
