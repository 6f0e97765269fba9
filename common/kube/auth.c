#include "auth.h"

#include "auth_exec.h"
#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#define EXPIRY_MARGIN_NS NS_PER_MIN     /* a credential is renewed this long before its end */
#define EXEC_HOLD_NS (5 * NS_PER_S)     /* a plugin that failed is not run again sooner */
#define REFUSED_HOLD_NS (10 * NS_PER_S) /* nor is one whose fresh answer was refused */

struct kube_auth {
    struct loop *loop;
    const struct kube_config *cfg;
    uint64_t generation;
    struct kube_auth_waiter *waiters, **waiters_tail;
    /* token file */
    char *file_token; /* the last good one */
    int64_t file_read_ns;
    struct err file_err;
    /* certificate files, once they were read again */
    struct arena cert_mem;
    const char *cert_pem, *key_pem;
    size_t cert_n, key_n;
    /* exec */
    struct auth_exec *run;
    struct auth_exec_cred cred;
    bool have_cred;
    int64_t cred_ns;   /* when it came */
    int64_t failed_ns; /* when the last run failed, 0 = did not */
    struct err exec_err;
};

static int64_t mono(const struct kube_auth *a)
{
    return clock_mono(loop_clock(a->loop));
}

/* ---- token files ----------------------------------------------------------------------------- */

/* The file's only line. Heap string. */
static char *read_token(const char *path, struct err *reterr)
{
    struct arena mem;
    const char *p;
    size_t n;
    char *token = NULL;
    arena_init(&mem, 0, KUBE_TOKEN_MAX * 2);
    if (kube_read_file(&mem, path, KUBE_TOKEN_MAX, &p, &n, reterr) == 0) {
        p += strspn(p, " \t\r\n");
        n = strcspn(p, " \t\r\n");
        if (n == 0) {
            err_set(reterr, ERR_UNAUTHENTICATED, "%s is empty", path);
        } else {
            token = xstrndup(p, n);
        }
    }
    arena_done(&mem);
    return token;
}

/* True if the token is another one now. */
static bool reread_token(struct kube_auth *a)
{
    a->file_read_ns = mono(a);
    err_clear(&a->file_err);
    char *token = read_token(a->cfg->token_file, &a->file_err);
    if (!token || str_eq(token, a->file_token)) {
        free(token);
        return false;
    }
    free(a->file_token);
    a->file_token = token;
    a->generation++;
    return true;
}

static int get_file_token(struct kube_auth *a, struct kube_cred *ret, struct err *reterr)
{
    if (!a->file_token || mono(a) - a->file_read_ns >= KUBE_TOKEN_REREAD_NS) {
        reread_token(a);
    }
    ret->token = a->file_token ? a->file_token : a->cfg->token;
    if (!ret->token) {
        return err_set(reterr, ERR_UNAUTHENTICATED, "token: %s", a->file_err.msg);
    }
    return 1;
}

/* ---- certificate files ----------------------------------------------------------------------- */

/* True if they are others now. On failure the old ones stay. */
static bool reread_certs(struct kube_auth *a)
{
    const struct kube_config *cfg = a->cfg;
    if (!cfg->cert_file && !cfg->key_file) {
        return false;
    }
    struct arena mem;
    arena_init(&mem, 0, 2 * KUBE_CONFIG_FILE_MAX);
    const char *cert = a->cert_pem, *key = a->key_pem;
    size_t cert_n = a->cert_n, key_n = a->key_n;
    bool bad = (cfg->cert_file &&
                kube_read_file(&mem, cfg->cert_file, KUBE_CONFIG_FILE_MAX, &cert, &cert_n, NULL)) ||
               (cfg->key_file &&
                kube_read_file(&mem, cfg->key_file, KUBE_CONFIG_FILE_MAX, &key, &key_n, NULL));
    bool same = cert_n == a->cert_n && key_n == a->key_n &&
                memcmp(cert, a->cert_pem, cert_n) == 0 && memcmp(key, a->key_pem, key_n) == 0;
    if (bad || same) {
        arena_done(&mem);
        return false;
    }
    /* What came from data is the config's and stays there. */
    arena_done(&a->cert_mem);
    a->cert_mem = mem;
    a->cert_pem = cert;
    a->key_pem = key;
    a->cert_n = cert_n;
    a->key_n = key_n;
    a->generation++;
    return true;
}

/* ---- the old oidc provider ------------------------------------------------------------------- */

/* The exp claim of a JWT, 0 if it cannot be read. */
static int64_t jwt_expiry_ns(const char *token)
{
    const char *begin = strchr(token, '.');
    const char *end = begin ? strchr(begin + 1, '.') : NULL;
    if (!end) {
        return 0;
    }
    size_t n = (size_t)(end - begin - 1);
    AUTO_FREE char *text = xmalloc(n + 4);
    memcpy(text, begin + 1, n);
    for (size_t i = 0; i < n; i++) {
        text[i] = text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i];
    }
    for (; n % 4; n++) {
        text[n] = '=';
    }
    text[n] = '\0';
    size_t raw_n;
    AUTO_FREE uint8_t *raw = base64_decode(text, &raw_n);
    AUTO_JSON json_t *claims = raw ? jsonx_parse((char *)raw, raw_n, "id-token", NULL) : NULL;
    int64_t s = jsonx_int(claims, "exp", 0);
    return s <= 0 ? 0 : s < INT64_MAX / NS_PER_S ? s * NS_PER_S : NS_NEVER;
}

static int get_id_token(struct kube_auth *a, struct kube_cred *ret, struct err *reterr)
{
    if (jwt_expiry_ns(a->cfg->id_token) <= clock_wall(loop_clock(a->loop))) {
        return err_set(reterr, ERR_UNAUTHENTICATED,
                       "user \"%s\": the id-token of auth-provider oidc has expired: log in again, "
                       "or use an exec credential plugin",
                       a->cfg->user);
    }
    ret->token = a->cfg->id_token;
    return 1;
}

/* ---- exec ------------------------------------------------------------------------------------ */

static void wake_waiters(struct kube_auth *a)
{
    while (a->waiters) {
        struct kube_auth_waiter *w = a->waiters;
        kube_auth_unwait(w);
        w->ready(w);
    }
}

static void on_exec_done(void *arg, struct auth_exec_cred *cred, const struct err *why)
{
    struct kube_auth *a = arg;
    a->run = NULL;
    if (why->kind != ERR_NONE) {
        a->exec_err = *why;
        a->failed_ns = mono(a);
    } else {
        auth_exec_cred_done(&a->cred);
        a->cred = *cred;
        a->have_cred = true;
        a->cred_ns = mono(a);
        a->failed_ns = 0;
        a->generation++;
    }
    wake_waiters(a);
}

static bool cred_good(const struct kube_auth *a)
{
    return a->have_cred &&
           (a->cred.expires_ns == NS_NEVER ||
            a->cred.expires_ns - EXPIRY_MARGIN_NS > clock_wall(loop_clock(a->loop)) ||
            /* Short-lived from the start: use it while it is young. */
            mono(a) - a->cred_ns < EXEC_HOLD_NS);
}

static int get_exec(struct kube_auth *a, struct kube_cred *ret, struct err *reterr)
{
    if (cred_good(a)) {
        ret->token = a->cred.token;
        if (a->cred.cert_pem) {
            ret->cert_pem = a->cred.cert_pem;
            ret->cert_n = strlen(a->cred.cert_pem);
            ret->key_pem = a->cred.key_pem;
            ret->key_n = strlen(a->cred.key_pem);
        }
        return 1;
    }
    if (a->run) {
        return 0;
    }
    if (a->failed_ns && mono(a) - a->failed_ns < EXEC_HOLD_NS) {
        if (reterr) {
            *reterr = a->exec_err;
        }
        return -1;
    }
    a->run = auth_exec_start(a->loop, a->cfg, on_exec_done, a, reterr);
    return a->run ? 0 : -1;
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct kube_auth *kube_auth_new(struct loop *l, const struct kube_config *cfg)
{
    struct kube_auth *a = NEW(struct kube_auth);
    a->loop = l;
    a->cfg = cfg;
    a->generation = 1;
    a->waiters_tail = &a->waiters;
    a->cert_pem = cfg->cert_pem;
    a->cert_n = cfg->cert_n;
    a->key_pem = cfg->key_pem;
    a->key_n = cfg->key_n;
    arena_init(&a->cert_mem, 0, 2 * KUBE_CONFIG_FILE_MAX);
    return a;
}

void kube_auth_free(struct kube_auth *a)
{
    if (!a) {
        return;
    }
    while (a->waiters) {
        kube_auth_unwait(a->waiters);
    }
    auth_exec_abort(a->run);
    auth_exec_cred_done(&a->cred);
    arena_done(&a->cert_mem);
    free(a->file_token);
    free(a);
}

static int get_one(struct kube_auth *a, struct kube_cred *ret, struct err *reterr)
{
    const struct kube_config *cfg = a->cfg;
    if (cfg->token_file) {
        return get_file_token(a, ret, reterr);
    }
    if (cfg->token) {
        ret->token = cfg->token;
        return 1;
    }
    if (cfg->username) {
        ret->username = cfg->username;
        ret->password = cfg->password ? cfg->password : "";
        return 1;
    }
    if (a->cert_pem) {
        return 1;
    }
    if (cfg->exec) {
        return get_exec(a, ret, reterr);
    }
    return cfg->id_token ? get_id_token(a, ret, reterr) : 1;
}

int kube_auth_get(struct kube_auth *a, struct kube_cred *ret, struct err *reterr)
{
    *ret = (struct kube_cred){
        .cert_pem = a->cert_pem, .cert_n = a->cert_n, .key_pem = a->key_pem, .key_n = a->key_n};
    int rc = get_one(a, ret, reterr);
    ret->generation = a->generation;
    return rc;
}

void kube_auth_wait(struct kube_auth *a, struct kube_auth_waiter *w)
{
    w->next = NULL;
    w->prev = a->waiters_tail;
    w->auth = a;
    *a->waiters_tail = w;
    a->waiters_tail = &w->next;
}

void kube_auth_unwait(struct kube_auth_waiter *w)
{
    if (!w->prev) {
        return;
    }
    *w->prev = w->next;
    if (w->next) {
        w->next->prev = w->prev;
    } else {
        w->auth->waiters_tail = w->prev;
    }
    w->next = NULL;
    w->prev = NULL;
}

bool kube_auth_refused(struct kube_auth *a, uint64_t generation)
{
    if (generation != a->generation) {
        return true;
    }
    if (a->cfg->token_file) {
        return reread_token(a);
    }
    if (a->cert_pem && !a->cfg->token && !a->cfg->username) {
        return reread_certs(a);
    }
    if (!a->cfg->exec || a->cfg->token || a->cfg->username) {
        return false;
    }
    if (a->have_cred && mono(a) - a->cred_ns < REFUSED_HOLD_NS) {
        return false;
    }
    a->have_cred = false; /* somebody else may have seen to that already */
    return true;
}
