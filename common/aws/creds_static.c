/* creds_static.c - credentials that were given (creds.h) */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "creds.h"

struct fixed {
    char *id, *secret, *token;
};

static int static_get(void *ctx, struct creds *ret, UNUSED struct err *reterr)
{
    const struct fixed *f = ctx;
    *ret = (struct creds){f->id, f->secret, f->token, NS_NEVER};
    return 0;
}

/* Secrets do not stay behind in freed memory. */
static void wipe_free(char *s)
{
    if (s) {
        explicit_bzero(s, strlen(s));
        free(s);
    }
}

static void static_free(void *ctx)
{
    struct fixed *f = ctx;
    wipe_free(f->id);
    wipe_free(f->secret);
    wipe_free(f->token);
    free(f);
}

int creds_static_new(const char *access_key_id, const char *secret_access_key,
                     const char *session_token, struct creds_provider *ret, struct err *reterr)
{
    struct creds c = {access_key_id, secret_access_key, session_token, NS_NEVER};
    if (creds_check(&c, reterr) < 0) {
        return -1;
    }
    struct fixed *f = NEW(struct fixed);
    f->id = xstrdup(access_key_id);
    f->secret = xstrdup(secret_access_key);
    f->token = xstrdup(session_token);
    *ret = (struct creds_provider){"static", static_get, NULL, NULL, static_free, f};
    return 0;
}
