/*
 * creds.h - AWS credentials: providers behind one small vtable, and the chain that asks them.
 *
 * A provider answers from what it holds (get: never blocks) and, if its credentials can change, it
 * can be told to fetch new ones (refresh: asynchronous, as the ports). Each provider is one file:
 *
 *   creds_static.c  given keys; never change
 *   creds_env.c     AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; read at every get
 *
 * What get says decides how a chain goes on:
 *   0              usable credentials
 *   ERR_NOT_FOUND  this provider is not configured: the next one is asked
 *   anything else  it is configured and broken, or has to refresh first: the chain stops there. A
 *                  typing error must not make another identity act.
 *
 * The strings in *ret are borrowed until the next call into the same provider. They are secrets:
 * no message, log or error contains more than the access key id.
 */
#ifndef KARP_AWS_CREDS_H
#define KARP_AWS_CREDS_H

#include "common/base/err.h"

#include <stdbool.h>

#define CREDS_CHAIN_MAX 8
#define CREDS_TEXT_MAX 8192 /* bytes of one key or token */
/* Credentials are renewed this long before they end, beside the requests that still use them. */
#define CREDS_REFRESH_WINDOW_NS (INT64_C(300) * 1000000000)

struct creds {
    const char *access_key_id;
    const char *secret_access_key;
    const char *session_token; /* NULL if there is none */
    int64_t expires_wall_ns;   /* NS_NEVER: no end */
};

typedef void (*creds_done_fn)(void *arg, const struct err *err);

struct creds_provider {
    const char *name; /* for messages: "environment" */
    int (*get)(void *ctx, struct creds *ret, struct err *reterr);
    /* Fetches anew; done runs once, not before refresh has returned, never after cancel or free.
     * Several refreshes may wait at once (the provider joins them). Returns a handle; 0 and no done
     * if the provider has nothing to fetch. NULL for providers that never change. */
    uint64_t (*refresh)(void *ctx, creds_done_fn done, void *arg);
    void (*cancel)(void *ctx, uint64_t handle); /* NULL if refresh is NULL */
    void (*free)(void *ctx);                    /* NULL: nothing to free */
    void *ctx;
};

/* Where environment variables come from; NULL result = not set. */
typedef const char *(*creds_getenv_fn)(void *ctx, const char *name);

/* The process's environment, for whoever wants a creds_getenv_fn. */
const char *creds_process_env(void *ctx, const char *name);

/* Copies the keys. session_token may be NULL. ERR_INVALID for an empty or overlong key. */
int creds_static_new(const char *access_key_id, const char *secret_access_key,
                     const char *session_token, struct creds_provider *ret, struct err *reterr);
/* Not configured when neither key is set; broken when only one is. Empty counts as not set. */
void creds_env_new(creds_getenv_fn env, void *env_ctx, struct creds_provider *ret);

/* Asks the providers in order. Owns them from the call on. n ≤ CREDS_CHAIN_MAX. refresh renews the
 * provider that answered last. None configured is ERR_UNAUTHENTICATED. */
void creds_chain_new(const struct creds_provider *providers, size_t n, struct creds_provider *ret);

/* get of any provider. */
int creds_get(const struct creds_provider *p, struct creds *ret, struct err *reterr);
/* For providers: ERR_INVALID for a key that is missing or empty, longer than CREDS_TEXT_MAX, or has
 * bytes that no header can carry (a newline pasted along is the usual mistake). */
int creds_check(const struct creds *c, struct err *reterr);
/* True if c ends within the refresh window. */
bool creds_stale(const struct creds *c, int64_t now_wall_ns);
/* Frees the provider; safe on a zeroed struct, which it leaves behind. */
void creds_done(struct creds_provider *p);

#endif
