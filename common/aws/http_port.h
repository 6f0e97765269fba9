/*
 * http_port.h - struct aws_port over HTTP: endpoints, credentials and SigV4 (production).
 *
 * net/http.h signs, by libcurl; its rules for that hold here: POST with a body, or GET of a path of
 * unreserved characters, and never a query. This file adds what makes a request one of AWS's: the
 * endpoint (endpoint.h), Content-Type, X-Amz-Target for the JSON services.
 *
 * Credentials are asked for each request. Those about to end are renewed beside it; those that have
 * ended, or are not there yet, park it until the provider's refresh is over. Without any the
 * request ends with ERR_UNAUTHENTICATED and the provider's reason, asynchronously like every other
 * end.
 *
 * An answer of any status is an answer; no answer is an error of net/http.h. A broken or missing
 * service ends with ERR_INVALID. More than AWS_HTTP_OPEN_MAX open requests end with ERR_LIMIT.
 *
 * Owned by whoever made it; borrows the http client, timers, clock and credentials, which outlive
 * it. close() of its port cancels everything that is open; the port may be used again afterwards.
 */
#ifndef KARP_AWS_HTTP_PORT_H
#define KARP_AWS_HTTP_PORT_H

#include "common/base/clock.h"
#include "common/base/timer.h"
#include "common/net/http.h"
#include "creds.h"
#include "port.h"

#define AWS_HTTP_OPEN_MAX 8192u

struct aws_http;

struct aws_http_config {
    const char *region;  /* copied */
    creds_getenv_fn env; /* where endpoint overrides stand; NULL = there are none */
    void *env_ctx;
    const char *ca_pem; /* copied; NULL = the system's */
    size_t ca_n;
};

/* ERR_INVALID for a bad region or override, of any service: a typing error shows at start and not
 * at the first launch. */
struct aws_http *aws_http_new(struct http *http, struct timers *timers, const struct clock *clock,
                              const struct aws_http_config *config,
                              const struct creds_provider *creds, struct err *reterr);
/* Closes first; NULL is fine. */
void aws_http_free(struct aws_http *h);
const struct aws_port *aws_http_port(struct aws_http *h);

#endif
