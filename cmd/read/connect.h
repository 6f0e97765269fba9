/*
 * connect.h - a connection to the cluster that the options name, for as long as a command runs.
 */
#ifndef KARP_CMD_CONNECT_H
#define KARP_CMD_CONNECT_H

#include "cmd/cmd.h"
#include "common/kube/client.h"
#include "common/kube/http_port.h"
#include "common/net/loop.h"

struct connection {
    struct kube_config cfg;
    struct loop *loop;
    struct kube_http *http;
    struct kube_client client;
    bool open;
};

int connect_open(struct cmd *c, struct connection *ret, struct err *reterr);
void connect_close(struct connection *n); /* a zeroed one too */

/* GET of a path, waited for. New reference. */
json_t *connect_get(struct connection *n, const char *path, struct err *reterr);

/* A merge patch, waited for; 0, or -1. */
int connect_patch(struct connection *n, enum kube_kind kind, const char *name, const json_t *patch,
                  struct err *reterr);

/* Likewise a cluster-scoped object, made or deleted (uid is a precondition). */
int connect_create(struct connection *n, enum kube_kind kind, const json_t *object,
                   struct err *reterr);
int connect_delete(struct connection *n, enum kube_kind kind, const char *name, const char *uid,
                   struct err *reterr);

/* Whom the server takes us for, in a; "" if it does not tell. */
const char *connect_whoami(struct connection *n, struct arena *a);

/* Puts into words what keeps the whole command from working; leaves others as they are. */
void connect_explain(const struct connection *n, struct err *e);

#endif
