/* creds_env.c - credentials from the environment (creds.h) */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "creds.h"

struct environment {
    creds_getenv_fn env;
    void *ctx;
};

/* NULL for what is not set or empty. */
static const char *lookup(const struct environment *e, const char *name)
{
    const char *v = e->env(e->ctx, name);
    return v && *v ? v : NULL;
}

static int env_get(void *ctx, struct creds *ret, struct err *reterr)
{
    const struct environment *e = ctx;
    struct creds c = {
        lookup(e, "AWS_ACCESS_KEY_ID"),
        lookup(e, "AWS_SECRET_ACCESS_KEY"),
        lookup(e, "AWS_SESSION_TOKEN"),
        NS_NEVER,
    };
    if (!c.access_key_id && !c.secret_access_key) {
        return err_set(reterr, ERR_NOT_FOUND, "AWS_ACCESS_KEY_ID is not set");
    }
    if (!c.access_key_id || !c.secret_access_key) {
        return err_set(reterr, ERR_INVALID, "%s is set, %s is not",
                       c.access_key_id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                       c.access_key_id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    }
    if (creds_check(&c, reterr) < 0) {
        return -1;
    }
    *ret = c;
    return 0;
}

void creds_env_new(creds_getenv_fn env, void *env_ctx, struct creds_provider *ret)
{
    struct environment *e = NEW(struct environment);
    *e = (struct environment){env, env_ctx};
    *ret = (struct creds_provider){"environment", env_get, NULL, NULL, free, e};
}
