/*
 * auth_exec.h - internal to kube: one run of an exec credential plugin, awaited by the loop.
 */
#ifndef KARP_KUBE_AUTH_EXEC_H
#define KARP_KUBE_AUTH_EXEC_H

#include "auth.h"

/* What a plugin answered; heap strings, NULL = not given. */
struct auth_exec_cred {
    char *token, *cert_pem, *key_pem;
    int64_t expires_ns; /* wall time, NS_NEVER if it did not say */
};
void auth_exec_cred_done(struct auth_exec_cred *c);

struct auth_exec;

/* why->kind ERR_NONE: cred is to be taken over (its strings moved). The run is gone by then. */
typedef void (*auth_exec_fn)(void *arg, struct auth_exec_cred *cred, const struct err *why);

/* Starts it. NULL and *reterr if it cannot even be started. */
struct auth_exec *auth_exec_start(struct loop *l, const struct kube_config *cfg, auth_exec_fn done,
                                  void *arg, struct err *reterr);
/* Kills the plugin; done is not called. */
void auth_exec_abort(struct auth_exec *x);

#endif
