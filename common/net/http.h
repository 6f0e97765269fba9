/*
 * http.h - HTTP requests that answer later, over curl_multi.
 *
 * A struct http is a client: connections, a queue, open requests. It borrows its loop and must be
 * freed before it. Rules for every request:
 *
 *  - done runs exactly once, from within the loop, never before http_request has returned, never
 *    after http_cancel or http_free. Failures to even start arrive there too.
 *  - Everything in struct http_req is borrowed for the call of http_request only.
 *  - HTTP/1.1, no redirects, no signals, no cookies, no .netrc; proxy as given, else as the
 *    environment says. Status ≥ 400 is an answer like any other: err is set only if there was none
 *    or the body broke off, was too long or too slow.
 *  - Without a line callback at most HTTP_MAX_ACTIVE requests of a client run at once, the others
 *    wait their turn in order; the timeout counts from the start of the transfer.
 *  - With a line callback (watches) each complete line of a 2xx body is handed over as it comes,
 *    without its newline, NUL-terminated; such a request does not count against HTTP_MAX_ACTIVE.
 *    Empty lines are skipped. A last line without newline is incomplete and dropped. Other answers
 *    (4xx, 5xx) are collected as a body.
 *
 * Errors: ERR_UNAVAILABLE (could not connect, also in time, or the connection broke), ERR_TIMEOUT
 * (the request went out, no full answer in time), ERR_LIMIT (body, line or headers too long, too
 * many requests), ERR_INVALID (bad URL or certificate material, TLS verification failed).
 */
#ifndef KARP_NET_HTTP_H
#define KARP_NET_HTTP_H

#include "loop.h"

#define HTTP_MAX_ACTIVE 64u
#define HTTP_MAX_OPEN 20000u      /* running and queued */
#define HTTP_BODY_MAX (64u << 20) /* default cap of a response body, unpacked */
#define HTTP_LINE_MAX (8u << 20)  /* default cap of a line */
#define HTTP_HEADERS_MAX (64u << 10)
#define HTTP_CONNECT_TIMEOUT_NS (INT64_C(10) * 1000000000)
#define HTTP_KEEPALIVE_S 30 /* TCP keep-alive idle time and interval */

struct http_tls {
    const char *ca_pem; /* NULL = the system's */
    size_t ca_n;
    const char *cert_pem, *key_pem; /* client certificate, or NULL */
    size_t cert_n, key_n;
    const char *server_name; /* name to verify and send instead of the URL's host; NULL = that */
    bool insecure;           /* verify nothing */
};

/*
 * AWS signature version 4 by libcurl. It is right only under these rules, which http_request checks
 * (ERR_INVALID otherwise): POST with a body, or GET without; no query in the URL; a path of
 * unreserved characters and '/'; no "Name:" header without a value; no Date headers of the
 * caller's. libcurl ≥ 7.86.0 (older ones do not sign X-Amz-Security-Token).
 */
struct http_sigv4 {
    const char *region, *service;
    const char *access_key, *secret_key;
    const char *session_token; /* NULL = none; sent as X-Amz-Security-Token */
};

struct http_req {
    const char *method; /* GET POST PATCH PUT DELETE; NULL = GET */
    const char *url;
    const char *const *headers; /* "Name: value" */
    size_t n_headers;
    const void *body; /* NULL = none */
    size_t body_n;
    int64_t timeout_ns;          /* whole transfer; 0 = none (streams) */
    int64_t connect_timeout_ns;  /* 0 = HTTP_CONNECT_TIMEOUT_NS */
    size_t body_max;             /* 0 = HTTP_BODY_MAX */
    bool gzip;                   /* accept a compressed answer; unpacked before it is counted */
    const char *proxy;           /* NULL = as the environment says, "" = none */
    const char *user, *password; /* basic authentication, or NULL */
    const struct http_tls *tls;
    const struct http_sigv4 *sigv4;
    /* streaming */
    void (*line)(void *arg, const char *line, size_t n);
    size_t line_max; /* 0 = HTTP_LINE_MAX */
};

struct http_resp {
    struct err err;   /* kind ERR_NONE if an answer came in full */
    int status;       /* 0 if none was received */
    const char *body; /* NUL-terminated, borrowed; "" if none */
    size_t body_n;
    const char *headers;    /* raw "Name: value\r\n" lines, borrowed */
    int64_t retry_after_ns; /* Retry-After in seconds or as a date, 0 if absent; at most an hour */
    int64_t date_ns;        /* wall time of the Date header, 0 if absent */
    int64_t took_ns;        /* from the start of the transfer to its end */
};

typedef void (*http_done_fn)(void *arg, const struct http_resp *resp);

struct http;

/* ERR_INVALID if libcurl is too old for what this file promises. user_agent is copied. */
struct http *http_new(struct loop *l, const char *user_agent, struct err *reterr);
/* Cancels everything that is open. NULL is fine. */
void http_free(struct http *h);

/* Never 0. Both callbacks get arg. */
uint64_t http_request(struct http *h, const struct http_req *req, http_done_fn done, void *arg);
/* Unknown or finished handles are ignored. Allowed inside any callback, the request's own too. */
void http_cancel(struct http *h, uint64_t handle);
/* Running and queued requests. */
size_t http_open_count(const struct http *h);

/* The value of a header (name compared without case) copied to dst, cut to fit; false if absent. */
bool http_header(const struct http_resp *r, const char *name, char *dst, size_t size);

#endif
