/* gather_live.c - see gather.h; one LIST per kind, all at once. */
#include "gather.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/kube/list.h"
#include "connect.h"

#define KARP_DISCOVERY "/apis/karp.dev/v1alpha1"
#define SKEW_MIN_NS NS_PER_S /* the server tells whole seconds */

struct live;

/* One LIST, or the GET of one object. */
struct fetch {
    struct live *live;
    enum kube_kind kind;
    struct kube_lister *lister;
};

struct live {
    struct connection *conn;
    struct world *w;
    struct fetch fetches[KIND_COUNT];
    size_t open;
    struct err err; /* the first that ends the command */
};

static void finished(struct live *l)
{
    if (--l->open == 0) {
        loop_stop(l->conn->loop);
    }
}

static void fail(struct live *l, const struct err *why, const char *what)
{
    if (l->err.kind == ERR_NONE) {
        l->err = *why;
        connect_explain(l->conn, &l->err);
        if (why->http != 0 && why->kind != ERR_UNAUTHENTICATED) {
            (void)err_wrap(&l->err, "%s", what);
        }
        loop_stop(l->conn->loop);
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void on_begin(void *arg)
{
    struct fetch *f = arg;
    world_forget(f->live->w, f->kind);
}

static void on_object(void *arg, json_t *object)
{
    struct fetch *f = arg;
    (void)world_add(f->live->w, object, NULL, NULL);
}

static void on_end(void *arg, const struct err *why, UNUSED const char *resource_version)
{
    struct fetch *f = arg;
    struct live *l = f->live;
    const char *plural = kube_kind(f->kind)->plural;
    if (why->kind == ERR_FORBIDDEN) {
        l->w->hidden[f->kind] = true;
        world_note(l->w, "not allowed to list %s; the answer may be incomplete (%s)", plural,
                   why->msg);
    } else if (why->kind == ERR_NOT_FOUND) {
        l->w->absent[f->kind] = true;
    } else if (why->kind != ERR_NONE) {
        char what[64];
        (void)snprintf(what, sizeof(what), "listing %s", plural);
        fail(l, why, what);
    }
    finished(l);
}

static void list(struct live *l, enum kube_kind k)
{
    static const struct kube_list_cb cb = {on_begin, on_object, on_end};
    struct kube_list_opts opts = {.ns = NULL};
    if (k == KIND_LEASE) {
        opts.field_selector = "metadata.name=" WORLD_LEASE;
    } else if (k == KIND_POD) {
        /* What is over holds no node. */
        opts.field_selector = "status.phase!=Succeeded,status.phase!=Failed";
    }
    if (k == KIND_EVENT) {
        opts.field_selector = l->w->event_fields ? l->w->event_fields : "involvedObject.kind=Pod";
    }
    struct fetch *f = &l->fetches[k];
    *f = (struct fetch){.live = l, .kind = k};
    l->open++;
    f->lister = kube_lister_new(&l->conn->client, k, &opts, &cb, f);
}

/* ---- single objects -------------------------------------------------------------------------- */

static void on_published(struct live *l, const struct kube_resp *resp, const char *name,
                         const char *what)
{
    if (resp->err.kind == ERR_NONE) {
        (void)world_add(l->w, resp->body, "ConfigMap", "v1");
    } else if (resp->err.kind == ERR_FORBIDDEN) {
        world_note(l->w, "not allowed to read the agent's %s; the answer may be incomplete (%s)",
                   what, resp->err.msg);
    } else if (resp->err.kind != ERR_NOT_FOUND) {
        fail(l, &resp->err, name);
    }
    finished(l);
}

static void on_facts(void *arg, const struct kube_resp *resp)
{
    on_published(arg, resp, "reading ConfigMap " WORLD_FACTS, "facts");
}

static void on_history(void *arg, const struct kube_resp *resp)
{
    on_published(arg, resp, "reading ConfigMap " WORLD_HISTORY, "history");
}

static void on_observed(void *arg, const struct kube_resp *resp)
{
    on_published(arg, resp, "reading ConfigMap " WORLD_OBSERVED, "record");
}

static void on_version(void *arg, const struct kube_resp *resp)
{
    struct live *l = arg;
    if (resp->err.kind == ERR_NONE) {
        l->w->version = arena_strdup(&l->w->mem, jsonx_str(resp->body, "gitVersion"));
    } else if (resp->err.kind != ERR_FORBIDDEN && resp->err.kind != ERR_NOT_FOUND) {
        fail(l, &resp->err, "reading the server's version");
    }
    finished(l);
}

static bool discovered(const json_t *resources, enum kube_kind k)
{
    size_t i;
    json_t *r;
    json_array_foreach (jsonx_arr(resources, "resources"), i, r) {
        if (str_eq(jsonx_str(r, "name"), kube_kind(k)->plural)) {
            return true;
        }
    }
    return false;
}

/* Our own kinds are listed only where the server has them: without them a viewer gets 403, which
 * would say that something is hidden. */
static void on_karp(void *arg, const struct kube_resp *resp)
{
    static const enum kube_kind ours[] = {KIND_DISRUPTION_REQUEST, KIND_DISRUPTION_GRANT,
                                          KIND_HOLD};
    struct live *l = arg;
    for (size_t i = 0; resp->err.kind == ERR_NONE && i < ARRAY_LEN(ours); i++) {
        if (discovered(resp->body, ours[i])) {
            list(l, ours[i]);
        } else {
            l->w->absent[ours[i]] = true;
        }
    }
    for (size_t i = 0; resp->err.kind == ERR_NOT_FOUND && i < ARRAY_LEN(ours); i++) {
        l->w->absent[ours[i]] = true;
    }
    bool lost = resp->err.kind != ERR_NONE && resp->err.http == 0;
    if (lost || resp->err.kind == ERR_UNAUTHENTICATED) {
        fail(l, &resp->err, "reading " KARP_DISCOVERY);
    }
    finished(l);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void start(struct live *l, uint64_t kinds)
{
    const struct kube_client *c = &l->conn->client;
    l->open = 2;
    (void)kube_get_raw(c, "/version", on_version, l);
    (void)kube_get_raw(c, KARP_DISCOVERY, on_karp, l);
    if (kinds & GATHER(KIND_CONFIG_MAP)) {
        l->open++;
        (void)kube_get(c, KIND_CONFIG_MAP, l->w->agent_ns, WORLD_FACTS, on_facts, l);
    }
    if (kinds & GATHER_HISTORY) {
        l->open++;
        (void)kube_get(c, KIND_CONFIG_MAP, l->w->agent_ns, WORLD_HISTORY, on_history, l);
    }
    if (kinds & GATHER_OBSERVED) {
        l->open++;
        (void)kube_get(c, KIND_CONFIG_MAP, l->w->agent_ns, WORLD_OBSERVED, on_observed, l);
    }
    uint64_t skip = GATHER(KIND_CONFIG_MAP) | GATHER(KIND_DISRUPTION_REQUEST) |
                    GATHER(KIND_DISRUPTION_GRANT) | GATHER(KIND_HOLD);
    for (int k = 0; k < KIND_COUNT; k++) {
        if ((kinds & ~skip) & GATHER(k)) {
            list(l, (enum kube_kind)k);
        }
    }
}

static int run(struct live *l, uint64_t kinds, struct err *reterr)
{
    start(l, kinds);
    int rc = loop_run(l->conn->loop, reterr);
    for (int k = 0; k < KIND_COUNT; k++) {
        kube_lister_free(l->fetches[k].lister);
    }
    l->conn->client.port->close(l->conn->client.port->ctx);
    if (rc == 0 && l->err.kind != ERR_NONE) {
        if (reterr) {
            *reterr = l->err;
        }
        rc = -1;
    }
    return rc;
}

static void remember(struct live *l)
{
    const struct kube_config *cfg = &l->conn->cfg;
    int64_t skew;
    const char *name = *cfg->cluster ? cfg->cluster : cfg->server;
    l->w->name = arena_strdup(&l->w->mem, name);
    l->w->ns = arena_strdup(&l->w->mem, cfg->ns);
    if (kube_http_skew_ns(l->conn->http, &skew) && (skew > SKEW_MIN_NS || skew < -SKEW_MIN_NS)) {
        l->w->skew_ns = skew;
    }
}

int gather_live(struct cmd *c, uint64_t kinds, struct world *w, struct err *reterr)
{
    CLEANUP(connect_close) struct connection conn = {.open = false};
    if (connect_open(c, &conn, reterr) != 0) {
        return -1;
    }
    struct live l = {.conn = &conn, .w = w};
    if (run(&l, kinds, reterr) != 0) {
        return -1;
    }
    remember(&l);
    return 0;
}
