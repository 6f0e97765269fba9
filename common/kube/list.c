#include "list.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

struct kube_lister {
    struct kube_client client; /* a value: the caller's may go */
    enum kube_kind kind;
    char *ns, *label_selector, *field_selector, *resource_version;
    unsigned limit;
    char *continue_token;
    struct kube_list_cb cb;
    void *arg;
    uint64_t handle; /* 0 = none open */
    unsigned restarts;
    size_t n_objects, n_pages;
    bool begun;
    bool *freed; /* set while callbacks run */
};

static void on_page(void *arg, const struct kube_resp *resp);

static void lister_ask(struct kube_lister *l)
{
    struct kube_list_opts o = {
        .ns = l->ns,
        .label_selector = l->label_selector,
        .field_selector = l->field_selector,
        .limit = l->limit,
        .continue_token = l->continue_token,
        /* A page after the first belongs to the version in its token. */
        .resource_version = l->continue_token ? NULL : l->resource_version,
    };
    l->handle = kube_list(&l->client, l->kind, &o, on_page, l);
}

struct kube_lister *kube_lister_new(const struct kube_client *c, enum kube_kind k,
                                    const struct kube_list_opts *opts,
                                    const struct kube_list_cb *cb, void *arg)
{
    struct kube_lister *l = NEW(struct kube_lister);
    l->client = *c;
    l->kind = k;
    l->ns = xstrdup(opts->ns);
    l->label_selector = xstrdup(opts->label_selector);
    l->field_selector = xstrdup(opts->field_selector);
    l->resource_version = xstrdup(opts->resource_version);
    l->limit = opts->limit ? opts->limit : k == KIND_POD ? KUBE_LIST_PAGE_PODS : KUBE_LIST_PAGE;
    l->cb = *cb;
    l->arg = arg;
    lister_ask(l);
    return l;
}

void kube_lister_free(struct kube_lister *l)
{
    if (!l) {
        return;
    }
    if (l->freed) {
        *l->freed = true;
    }
    kube_cancel(&l->client, l->handle);
    free(l->ns);
    free(l->label_selector);
    free(l->field_selector);
    free(l->resource_version);
    free(l->continue_token);
    free(l);
}

static void lister_end(struct kube_lister *l, const struct err *why, const char *rv)
{
    l->cb.end(l->arg, why, rv);
}

/* Items of a list lack the type that every other object has. */
static void set_type(enum kube_kind k, json_t *object)
{
    const struct kube_kind_info *info = kube_kind(k);
    if (!json_object_get(object, "kind")) {
        json_object_set_new(object, "kind", json_string(info->kind));
    }
    if (!json_object_get(object, "apiVersion")) {
        json_object_set_new(object, "apiVersion", json_string(info->api_version));
    }
}

/* Hands over one page; false if the lister was freed on the way. */
static bool lister_objects(struct kube_lister *l, json_t *items)
{
    bool freed = false;
    l->freed = &freed;
    if (!l->begun) {
        l->begun = true;
        if (l->cb.begin) {
            l->cb.begin(l->arg);
        }
    }
    size_t i;
    json_t *o;
    for (i = 0; !freed && i < json_array_size(items); i++) {
        o = json_array_get(items, i);
        if (!json_is_object(o)) {
            continue;
        }
        set_type(l->kind, o);
        l->n_objects++;
        l->cb.object(l->arg, o);
    }
    if (!freed) {
        l->freed = NULL;
    }
    return !freed;
}

static bool page_expired(const struct kube_lister *l, const struct kube_resp *resp)
{
    return resp->err.kind == ERR_GONE && l->continue_token;
}

static void lister_restart(struct kube_lister *l, const struct err *why)
{
    if (++l->restarts > KUBE_LIST_RESTARTS) {
        lister_end(l, why, NULL);
        return;
    }
    free(l->continue_token);
    l->continue_token = NULL;
    l->begun = false;
    l->n_objects = l->n_pages = 0;
    lister_ask(l);
}

static void on_page(void *arg, const struct kube_resp *resp)
{
    struct kube_lister *l = arg;
    struct err err = ERR_INIT;
    l->handle = 0;
    if (page_expired(l, resp)) {
        lister_restart(l, &resp->err);
        return;
    }
    if (resp->err.kind != ERR_NONE) {
        lister_end(l, &resp->err, NULL);
        return;
    }
    json_t *items = json_object_get(resp->body, "items");
    const char *rv = jsonx_str(resp->body, "metadata.resourceVersion");
    const char *next = jsonx_str(resp->body, "metadata.continue");
    /* An empty list may be null; one without items proves nothing. */
    if (!rv || (!json_is_array(items) && !json_is_null(items))) {
        err_set(&err, ERR_UNAVAILABLE, "the answer to a list of %s is no list",
                kube_kind(l->kind)->plural);
        lister_end(l, &err, NULL);
        return;
    }
    if (!lister_objects(l, items)) {
        return;
    }
    if (l->n_objects > KUBE_LIST_OBJECTS_MAX || ++l->n_pages > KUBE_LIST_PAGES_MAX) {
        err_set(&err, ERR_LIMIT, "more than %u %s", KUBE_LIST_OBJECTS_MAX,
                kube_kind(l->kind)->plural);
        lister_end(l, &err, NULL);
        return;
    }
    if (next && *next) {
        char *token = xstrdup(next);
        free(l->continue_token);
        l->continue_token = token;
        lister_ask(l);
        return;
    }
    lister_end(l, &err, rv);
}
