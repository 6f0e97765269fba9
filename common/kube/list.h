/*
 * list.h - a whole LIST, page by page.
 *
 * All pages belong to one resourceVersion. If the continue token expires on the way (410) the list
 * starts over, which the owner learns by another begin: what it saw since the last one does not
 * count. After KUBE_LIST_RESTARTS of that it ends with ERR_GONE. Objects are handed over one by one
 * and released with their page.
 *
 * Used by watch.h, by the plugin (which lists each kind once) and for lists taken as proof.
 */
#ifndef KARP_KUBE_LIST_H
#define KARP_KUBE_LIST_H

#include "client.h"

#define KUBE_LIST_PAGE 500u
#define KUBE_LIST_PAGE_PODS 250u
#define KUBE_LIST_RESTARTS 5u
#define KUBE_LIST_OBJECTS_MAX 2000000u
#define KUBE_LIST_PAGES_MAX 100000u /* pages may be empty */

struct kube_list_cb {
    void (*begin)(void *arg);                  /* may be NULL */
    void (*object)(void *arg, json_t *object); /* has kind and apiVersion like any object */
    /* Once. why->kind ERR_NONE: complete, as of resource_version. The lister may be freed here. */
    void (*end)(void *arg, const struct err *why, const char *resource_version);
};

struct kube_lister;

/* Starts at once. opts->limit 0 = the constants above; opts is copied. Callbacks never run before
 * this has returned. */
struct kube_lister *kube_lister_new(const struct kube_client *c, enum kube_kind k,
                                    const struct kube_list_opts *opts,
                                    const struct kube_list_cb *cb, void *arg);
/* Cancels what is open; allowed in every callback and after the end. NULL is fine. */
void kube_lister_free(struct kube_lister *l);

#endif
