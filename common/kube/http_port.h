/*
 * http_port.h - the kube_port of production: net/http with a kube_config's address and credentials.
 *
 *  - Sends Accept: application/json, the credential of auth.h, and Impersonate-* headers if the
 *    config asks for them.
 *  - A status outside 2xx becomes a struct err: from the body if it is a Status object (message,
 *    reason as code, details.retryAfterSeconds), else from the status and the body's first line.
 *    409 is ERR_EXISTS for reason AlreadyExists and ERR_CONFLICT otherwise; 410 is ERR_GONE; 422
 * and 400 are ERR_INVALID; 429, and 5xx with Retry-After, carry retry_after_ns. A 429 because of a
 *    PodDisruptionBudget has code "DisruptionBudget".
 *  - On 401 the credentials are read anew once and the request is sent again.
 *  - Answers are capped by KUBE_BODY_MAX, watch lines by KUBE_WATCH_LINE_MAX; lists come packed
 *    unless the config says not to. A body that is not JSON under 2xx is ERR_UNAVAILABLE.
 *  - A watch line that is no event object ends the watch with ERR_UNAVAILABLE, a too long one with
 *    ERR_LIMIT; an ERROR event ends it with the error its Status says.
 *
 * Owned by whoever made it; borrows the loop, copies what it needs of the config except that auth
 * borrows it: config and loop outlive the port.
 */
#ifndef KARP_KUBE_HTTP_PORT_H
#define KARP_KUBE_HTTP_PORT_H

#include "common/net/loop.h"
#include "config.h"
#include "port.h"
#include "status.h"

#define KUBE_HTTP_OPEN_MAX 20000u /* requests and watches */

struct kube_http;

/* user_agent as "karp-agent/0.1.0". */
struct kube_http *kube_http_new(struct loop *l, const struct kube_config *cfg,
                                const char *user_agent, struct err *reterr);
void kube_http_free(struct kube_http *k); /* closes first; NULL is fine */
const struct kube_port *kube_http_port(struct kube_http *k);

/* One line per finished request for -v 6: method, path, status (0 = none), duration. */
typedef void (*kube_trace_fn)(void *arg, const char *method, const char *path, int status,
                              int64_t took_ns);
void kube_http_trace(struct kube_http *k, kube_trace_fn fn, void *arg);

/* Server's wall clock minus ours, from the last Date header (resolution a second); false before
 * the first answer. */
bool kube_http_skew_ns(const struct kube_http *k, int64_t *ret);

#endif
