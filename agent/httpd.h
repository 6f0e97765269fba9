/*
 * httpd.h - /metrics, /healthz and /readyz over libmicrohttpd, in the agent's own loop.
 *
 * No thread: the daemon's epoll descriptor is one of the loop's, answers are made in one go from
 * memory. Only GET and HEAD of the paths that agent_http knows; anything else is 404 or 405. At
 * most HTTPD_MAX_CONNECTIONS at once, idle ones are closed.
 */
#ifndef KARP_AGENT_HTTPD_H
#define KARP_AGENT_HTTPD_H

#include "agent.h"
#include "common/net/loop.h"

#define HTTPD_MAX_CONNECTIONS 64
#define HTTPD_IDLE_S 30
#define HTTPD_BODY_MAX (16u << 20)

struct httpd;

/* Listens on address (NULL or "": all, IPv6 and IPv4 where there is) and port, and serves the agent
 * that *agent points to at the time of the request (it may be NULL: 503). */
struct httpd *httpd_new(struct loop *loop, const char *address, int port,
                        struct agent *const *agent, struct err *reterr);
void httpd_free(struct httpd *h); /* NULL is fine */

#endif
