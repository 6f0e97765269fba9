/*
 * err.h - the error law. One page; CONTRIBUTING links here.
 *
 * An error lives on the caller's stack as a struct err. A function that can fail takes
 * `struct err *reterr` as its last parameter and returns 0, or -1 after filling it (functions that
 * return a pointer return NULL). On success *reterr is not touched. Nothing is allocated and there
 * is nothing to free. reterr may be NULL when the caller needs only the outcome.
 *
 * The kind says what the caller can do about it, not where it came from. "Does not fit" is never
 * an error: the core answers that with reasons (core/reason.h). Running out of memory aborts; all
 * input is capped before it is read. A violated invariant calls BUG().
 *
 * Library code never logs. Whoever owns the decision logs, once.
 */
#ifndef KARP_BASE_ERR_H
#define KARP_BASE_ERR_H

#include "compat.h"

#include <stdarg.h>

enum err_kind {
    ERR_NONE = 0,
    ERR_INVALID,         /* the input is wrong: say so to the person, do not retry */
    ERR_NOT_FOUND,       /* 404, *.NotFound */
    ERR_EXISTS,          /* 409 AlreadyExists */
    ERR_CONFLICT,        /* 409 Conflict: read again, decide again */
    ERR_FORBIDDEN,       /* 403, UnauthorizedOperation: retry rarely, tell the person */
    ERR_UNAUTHENTICATED, /* 401: credentials are to be read anew */
    ERR_GONE,            /* 410: list again */
    ERR_THROTTLED,       /* 429, RequestLimitExceeded: wait retry_after_ns or back off */
    ERR_UNAVAILABLE,     /* 5xx, connection refused or broken: back off */
    ERR_TIMEOUT,         /* no answer in time: whether it happened is unknown */
    ERR_CAPACITY,        /* EC2 has no such capacity now */
    ERR_LIMIT,           /* a limit of ours (body size, objects, depth) */
    ERR_CANCELLED,       /* the asker went away */
    ERR_BUG              /* cannot happen */
};

struct err {
    enum err_kind kind;
    int http;               /* HTTP status, 0 if none was received */
    int os;                 /* errno, 0 if none */
    int64_t retry_after_ns; /* what the server asked for, 0 if nothing */
    char code[64];          /* the service's own code ("InvalidInstanceID.NotFound"), "" if none */
    char msg[480];          /* for people; cut with an ellipsis when too long */
};

#define ERR_INIT                                                                                   \
    {                                                                                              \
        ERR_NONE, 0, 0, 0, "", ""                                                                  \
    }

/* Fills *e (if not NULL), clearing http, os, retry and code first. Always returns -1. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...) PRINTF(3, 4);

/* Puts "context: " before the message. Always returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) PRINTF(2, 3);

/* Sets the service's own code, cut to fit. */
void err_code(struct err *e, const char *code);

void err_clear(struct err *e);

/* "Invalid", "NotFound", … for logs and metrics. */
const char *err_kind_name(enum err_kind kind);

/*
 * True for kinds after which the same call may succeed later without anybody changing anything:
 * throttled, unavailable, timeout. Not for capacity: the answer to that is another offering.
 */
int err_transient(const struct err *e);

/* Prints file, line and message to stderr and aborts. */
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
void bug_at(const char *file, int line, const char *fmt, ...) PRINTF(3, 4) NORETURN;

#endif
