/* connect.c - see connect.h. */
#include "connect.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"

#define VERBOSE_REQUESTS 6

static void trace(void *arg, const char *method, const char *path, int status, int64_t took_ns)
{
    const struct cmd *c = arg;
    (void)fprintf(c->err, "%s %s %d in %lld milliseconds\n", method, path, status,
                  (long long)(took_ns / NS_PER_MS));
}

int connect_open(struct cmd *c, struct connection *ret, struct err *reterr)
{
    memset(ret, 0, sizeof(*ret));
    if (kube_config_load(&c->o->kube, c->env, &ret->cfg, reterr) != 0) {
        return -1;
    }
    ret->open = true;
    if (ret->cfg.warning) {
        cmd_warn(c, "%s", ret->cfg.warning);
    }
    ret->loop = loop_new(c->clock, reterr);
    if (ret->loop) {
        ret->http = kube_http_new(ret->loop, &ret->cfg, "kubectl-karp/" KARP_VERSION, reterr);
    }
    if (!ret->http) {
        connect_close(ret);
        return -1;
    }
    if (c->o->verbosity >= VERBOSE_REQUESTS) {
        kube_http_trace(ret->http, trace, c);
    }
    ret->client = (struct kube_client){.port = kube_http_port(ret->http),
                                       .field_manager = "kubectl-karp",
                                       .timeout_ns = c->o->request_timeout_ns};
    return 0;
}

void connect_close(struct connection *n)
{
    kube_http_free(n->http);
    loop_free(n->loop);
    if (n->open) {
        kube_config_done(&n->cfg);
    }
    memset(n, 0, sizeof(*n));
}

/* ---- one answer ------------------------------------------------------------------------------ */

struct answer {
    struct loop *loop;
    json_t *body;
    struct err err;
};

static void on_answer(void *arg, const struct kube_resp *resp)
{
    struct answer *a = arg;
    a->body = json_incref(resp->body);
    a->err = resp->err;
    loop_stop(a->loop);
}

/* The body, a new reference; NULL if the answer is none. */
static json_t *wait_for(struct connection *n, struct answer *a, struct err *reterr)
{
    if (loop_run(n->loop, reterr) != 0) {
        json_decref(a->body);
        return NULL;
    }
    if (a->err.kind != ERR_NONE) {
        json_decref(a->body);
        connect_explain(n, &a->err);
        if (reterr) {
            *reterr = a->err;
        }
        return NULL;
    }
    return a->body;
}

json_t *connect_get(struct connection *n, const char *path, struct err *reterr)
{
    struct answer a = {n->loop, NULL, ERR_INIT};
    (void)kube_get_raw(&n->client, path, on_answer, &a);
    return wait_for(n, &a, reterr);
}

static int done(struct connection *n, struct answer *a, struct err *reterr)
{
    json_t *body = wait_for(n, a, reterr);
    json_decref(body);
    return body ? 0 : -1;
}

int connect_patch(struct connection *n, enum kube_kind kind, const char *name, const json_t *patch,
                  struct err *reterr)
{
    struct answer a = {n->loop, NULL, ERR_INIT};
    (void)kube_patch(&n->client, kind, NULL, name, NULL, patch, NULL, on_answer, &a);
    return done(n, &a, reterr);
}

int connect_create(struct connection *n, enum kube_kind kind, const json_t *object,
                   struct err *reterr)
{
    struct answer a = {n->loop, NULL, ERR_INIT};
    (void)kube_create(&n->client, kind, NULL, object, on_answer, &a);
    return done(n, &a, reterr);
}

int connect_delete(struct connection *n, enum kube_kind kind, const char *name, const char *uid,
                   struct err *reterr)
{
    struct answer a = {n->loop, NULL, ERR_INIT};
    const struct kube_delete_opts o = {.uid = uid, .grace_s = -1};
    (void)kube_delete(&n->client, kind, NULL, name, &o, on_answer, &a);
    return done(n, &a, reterr);
}

const char *connect_whoami(struct connection *n, struct arena *mem)
{
    struct answer a = {n->loop, NULL, ERR_INIT};
    AUTO_JSON json_t *ask = json_pack("{s:s, s:s}", "apiVersion", "authentication.k8s.io/v1",
                                      "kind", "SelfSubjectReview");
    const struct kube_req req = {.method = "POST",
                                 .path = "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                                 .body = ask,
                                 .timeout_ns = n->client.timeout_ns};
    (void)n->client.port->request(n->client.port->ctx, &req, on_answer, &a);
    AUTO_JSON json_t *body = wait_for(n, &a, NULL);
    return arena_strdup(mem, jsonx_str_or(body, "status.userInfo.username", ""));
}

void connect_explain(const struct connection *n, struct err *e)
{
    if (e->http == 0 && (e->kind == ERR_UNAVAILABLE || e->kind == ERR_TIMEOUT)) {
        bool named = str_starts(e->msg, n->cfg.server);
        (void)err_wrap(e, "cannot reach the API server%s%s", named ? "" : " ",
                       named ? "" : n->cfg.server);
    } else if (e->kind == ERR_UNAUTHENTICATED) {
        const char *user = *n->cfg.user ? n->cfg.user : "";
        (void)err_wrap(e, "the API server %s does not accept the credentials%s%s%s (expired?)",
                       n->cfg.server, *user ? " of user \"" : "", user, *user ? "\"" : "");
    }
}
