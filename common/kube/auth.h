/*
 * auth.h - the credentials of a kube_config, kept fresh.
 *
 *  - A token in a file (also the pod's own) is read again when a minute has passed and after a 401;
 *    if that fails the last good one stays in use. An empty file counts as a failure.
 *  - Client certificates in files are read again after a 401.
 *  - An exec plugin runs when the first request needs it, again when its credential expires (a
 *    minute ahead) and once after a 401, unless its answer is younger than ten seconds. While it
 *    runs requests wait; they all share its outcome. After a failure it rests for five seconds. It
 *    is started directly, without a shell, with stderr inherited and stdin only if its mode allows
 *    and it is a terminal; it has KUBE_EXEC_TIMEOUT_NS.
 *
 * Reading files is blocking and small; a plugin is awaited by the loop. One auth per config; it
 * borrows loop and config.
 */
#ifndef KARP_KUBE_AUTH_H
#define KARP_KUBE_AUTH_H

#include "common/net/loop.h"
#include "config.h"

#define KUBE_TOKEN_MAX (64u << 10)
#define KUBE_TOKEN_REREAD_NS (INT64_C(60) * 1000000000)
#define KUBE_EXEC_TIMEOUT_NS (INT64_C(60) * 1000000000)
#define KUBE_EXEC_OUTPUT_MAX (1u << 20)

/* All borrowed until the next turn of the loop; NULL = not used. */
struct kube_cred {
    const char *token;
    const char *username, *password;
    const char *cert_pem, *key_pem;
    size_t cert_n, key_n;
    uint64_t generation; /* changes when anything above does */
};

struct kube_auth;

/* Somebody who waits for an exec plugin; embedded in its owner. */
struct kube_auth_waiter {
    struct kube_auth *auth; /* these three are auth's; zeroed at first */
    struct kube_auth_waiter *next, **prev;
    void (*ready)(struct kube_auth_waiter *w); /* ask again: kube_auth_get */
};

struct kube_auth *kube_auth_new(struct loop *l, const struct kube_config *cfg);
/* Waiters are dropped unheard; a running plugin is killed. NULL is fine. */
void kube_auth_free(struct kube_auth *a);

/* 1: *ret is filled. 0: a plugin runs; wait with kube_auth_wait. -1: no credential to be had. */
int kube_auth_get(struct kube_auth *a, struct kube_cred *ret, struct err *reterr);
void kube_auth_wait(struct kube_auth *a, struct kube_auth_waiter *w);
void kube_auth_unwait(struct kube_auth_waiter *w); /* not waiting: ignored */

/* The server refused the credential of that generation. True if trying again makes sense: another
 * one is there already, a file is to be read again, or a plugin will run again. */
bool kube_auth_refused(struct kube_auth *a, uint64_t generation);

#endif
