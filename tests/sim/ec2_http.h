/*
 * ec2_http.h - the simulated AWS behind HTTP, on loopback, single-threaded in its caller's loop.
 *
 * All services share one port; the service a request is for stands in the credential scope of its
 * Authorization header. Every signature is checked (ec2/ec2_sigv4.h). Refusals:
 *   no or unreadable Authorization   MissingAuthenticationToken / IncompleteSignature 400 (403)
 *   unknown access key               AuthFailure 401 (ec2), InvalidClientTokenId 403
 *   wrong session token              AuthFailure 401 (ec2), InvalidClientTokenId 403
 *   clocks more than 5 minutes apart RequestExpired 400 (ec2), SignatureDoesNotMatch 403
 *   wrong signature or region        SignatureDoesNotMatch 403
 *
 * For tests there is /_control, without signature:
 *   POST /_control            an `ec2` step as JSON (ec2.h, simec2_step); {} or 400 {"error": …}
 *   GET  /_control/instances  simec2_list
 *   GET  /_control/calls      simec2_call_counts
 *   GET  /_control/queue      {"messages": n}
 *   POST /_control/send       the body goes into the queue
 *
 * A port is 127.0.0.1 or [::1] only. A request has at most EC2_HTTP_BODY_MAX bytes.
 */
#ifndef KARP_TESTS_SIM_EC2_HTTP_H
#define KARP_TESTS_SIM_EC2_HTTP_H

#include "common/net/loop.h"
#include "tests/sim/ec2/ec2.h"
#include "tests/sim/ec2/ec2_sigv4.h"

#define EC2_HTTP_BODY_MAX (16u << 20)
#define EC2_HTTP_CONNECTIONS 1000u
#define EC2_HTTP_KEYS_MAX 8u

struct ec2_http;

struct ec2_http_opts {
    const char *listen;           /* "127.0.0.1:8080"; port 0 = any free one */
    const char *region;           /* of the scope; NULL = any */
    const struct sigv4_key *keys; /* borrowed */
    size_t n_keys;
};

/* loop and cloud are borrowed and outlive the server. */
struct ec2_http *ec2_http_new(struct loop *l, struct simec2 *cloud, const struct ec2_http_opts *o,
                              struct err *reterr);
void ec2_http_free(struct ec2_http *h); /* NULL is fine */
uint16_t ec2_http_tcp_port(const struct ec2_http *h);

#endif
