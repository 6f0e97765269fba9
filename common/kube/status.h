/*
 * status.h - the API server's way of saying no, as a struct err.
 */
#ifndef KARP_KUBE_STATUS_H
#define KARP_KUBE_STATUS_H

#include "common/base/err.h"

#include <jansson.h>

/*
 * Fills *e from a failed answer (http_port.h has the table). body is a Status object, or anything
 * else, or NULL; status is the HTTP status, 0 to take the object's own code (ERROR events of a
 * watch). text (n bytes, may be NULL) is what was received if it was no JSON.
 */
void kube_status_err(struct err *e, int status, const json_t *body, const char *text, size_t n);

#endif
