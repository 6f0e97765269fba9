/*
 * port.h - how anything reaches an API server: one of the agent's four ports.
 *
 * Production speaks HTTP below the port (http_port.h); the simulator answers from memory. Above it
 * nobody knows which. The rules hold for both:
 *
 *  - `done` runs exactly once per request, never before request() has returned, never after cancel
 *    or close. The response's body is borrowed for the call; json_incref to keep it.
 *  - resp->err.kind is ERR_NONE exactly for status 2xx; otherwise it is classified from the Status
 *    object or from the transport failure (err.h), and err.msg is fit for people.
 *  - A watch delivers `event` for every line and `end` once: with what ended it (ERR_GONE for 410,
 *    also when it comes as an ERROR event; ERR_NONE for an orderly close). No event after cancel.
 *  - Everything runs on the caller's thread, from within the driver's turn.
 */
#ifndef KARP_KUBE_PORT_H
#define KARP_KUBE_PORT_H

#include "common/base/err.h"

#include <jansson.h>

#define KUBE_MERGE_PATCH "application/merge-patch+json"
#define KUBE_BODY_MAX (64u << 20) /* one response */
#define KUBE_WATCH_LINE_MAX (8u << 20)
#define KUBE_TIMEOUT_NS (INT64_C(30) * 1000000000)

struct kube_req {
    const char *method;       /* GET POST PATCH PUT DELETE */
    const char *path;         /* "/api/v1/nodes?limit=500", escaped */
    const json_t *body;       /* NULL = none; read during request() only */
    const char *content_type; /* NULL = application/json */
    int64_t timeout_ns;       /* 0 = KUBE_TIMEOUT_NS */
};

struct kube_resp {
    struct err err;
    int status;   /* HTTP status, 0 if none was received */
    json_t *body; /* NULL if there was none */
    int64_t
        date_ns; /* wall time of the answer's Date header (whole seconds), 0 if there was none */
};

enum kube_event_type { KUBE_ADDED, KUBE_MODIFIED, KUBE_DELETED, KUBE_BOOKMARK };

typedef void (*kube_done_fn)(void *arg, const struct kube_resp *resp);
typedef void (*kube_event_fn)(void *arg, enum kube_event_type type, json_t *object);
typedef void (*kube_end_fn)(void *arg, const struct err *why);

struct kube_port {
    uint64_t (*request)(void *ctx, const struct kube_req *req, kube_done_fn done, void *arg);
    uint64_t (*watch)(void *ctx, const char *path, kube_event_fn event, kube_end_fn end, void *arg);
    void (*cancel)(void *ctx, uint64_t handle); /* unknown or finished handles are ignored */
    void (*close)(void *ctx);                   /* cancels everything that is open */
    void *ctx;
};

#endif
