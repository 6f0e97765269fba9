/* creds.c - see creds.h: what all providers share, and the chain */
#include "creds.h"

#include "common/base/alloc.h"

struct chain {
    struct creds_provider providers[CREDS_CHAIN_MAX];
    size_t n;
    size_t answered; /* whose answer was the last one given out */
};

const char *creds_process_env(UNUSED void *ctx, const char *name)
{
    return getenv(name);
}

int creds_get(const struct creds_provider *p, struct creds *ret, struct err *reterr)
{
    return p->get(p->ctx, ret, reterr);
}

static int check_text(const char *s, const char *what, struct err *reterr)
{
    size_t n = s ? strlen(s) : 0;
    if (n == 0 || n > CREDS_TEXT_MAX) {
        return err_set(reterr, ERR_INVALID, "the %s is %s", what, n ? "too long" : "empty");
    }
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)s[i] <= ' ' || (unsigned char)s[i] > '~') {
            return err_set(reterr, ERR_INVALID, "the %s has a blank or control character", what);
        }
    }
    return 0;
}

int creds_check(const struct creds *c, struct err *reterr)
{
    if (check_text(c->access_key_id, "access key id", reterr) < 0 ||
        check_text(c->secret_access_key, "secret access key", reterr) < 0) {
        return -1;
    }
    return c->session_token ? check_text(c->session_token, "session token", reterr) : 0;
}

bool creds_stale(const struct creds *c, int64_t now_wall_ns)
{
    /* Both are times of this era, so the difference does not overflow. */
    return c->expires_wall_ns != INT64_MAX &&
           c->expires_wall_ns - CREDS_REFRESH_WINDOW_NS <= now_wall_ns;
}

void creds_done(struct creds_provider *p)
{
    if (p && p->free) {
        p->free(p->ctx);
    }
    if (p) {
        *p = (struct creds_provider){0};
    }
}

static int chain_get(void *ctx, struct creds *ret, struct err *reterr)
{
    struct chain *c = ctx;
    for (size_t i = 0; i < c->n; i++) {
        struct err e = ERR_INIT;
        if (creds_get(&c->providers[i], ret, &e) == 0) {
            c->answered = i;
            return 0;
        }
        if (e.kind != ERR_NOT_FOUND) {
            c->answered = i;
            err_wrap(&e, "AWS credentials (%s)", c->providers[i].name);
            if (reterr) {
                *reterr = e;
            }
            return -1;
        }
    }
    c->answered = c->n;
    return err_set(reterr, ERR_UNAUTHENTICATED, "no AWS credentials found (tried %zu providers)",
                   c->n);
}

/* A chain's handle is its provider's, with the provider's number in the low digit. */
static uint64_t chain_refresh(void *ctx, creds_done_fn done, void *arg)
{
    struct chain *c = ctx;
    if (c->answered >= c->n || !c->providers[c->answered].refresh) {
        return 0;
    }
    const struct creds_provider *p = &c->providers[c->answered];
    uint64_t handle = p->refresh(p->ctx, done, arg);
    return handle ? handle * CREDS_CHAIN_MAX + c->answered : 0;
}

static void chain_cancel(void *ctx, uint64_t handle)
{
    struct chain *c = ctx;
    size_t i = handle % CREDS_CHAIN_MAX;
    if (i < c->n && c->providers[i].cancel) {
        c->providers[i].cancel(c->providers[i].ctx, handle / CREDS_CHAIN_MAX);
    }
}

static void chain_free(void *ctx)
{
    struct chain *c = ctx;
    for (size_t i = 0; i < c->n; i++) {
        creds_done(&c->providers[i]);
    }
    free(c);
}

void creds_chain_new(const struct creds_provider *providers, size_t n, struct creds_provider *ret)
{
    if (n > CREDS_CHAIN_MAX) {
        BUG("creds: chain of %zu", n);
    }
    struct chain *c = NEW(struct chain);
    memcpy(c->providers, providers, n * sizeof(*providers));
    c->n = n;
    c->answered = n;
    *ret = (struct creds_provider){
        "chain", chain_get, chain_refresh, chain_cancel, chain_free, c,
    };
}
