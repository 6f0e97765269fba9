/* daemonset.c - see daemonset.h. */
#include "daemonset.h"

#include "common/base/sort.h"
#include "common/base/str.h"

static int cmp_daemonset(const void *x, const void *y)
{
    const struct daemonset *a = *(const struct daemonset *const *)x;
    const struct daemonset *b = *(const struct daemonset *const *)y;
    int c = str_cmp(a->m.ns, b->m.ns);
    return c != 0 ? c : str_cmp(a->m.name, b->m.name);
}

/* A DaemonSet with the newest pod that was made of its template as it is now. */
struct live {
    struct daemonset ds;
    const struct pod *pod; /* NULL: none */
};

static int cmp_live(const void *x, const void *y)
{
    const struct live *a = *(const struct live *const *)x, *b = *(const struct live *const *)y;
    return str_cmp(a->ds.m.uid, b->ds.m.uid);
}

static struct live *live_of(struct live *const *v, uint32_t n, const char *uid)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (str_cmp(v[mid]->ds.m.uid, uid) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < n && str_eq(v[lo]->ds.m.uid, uid) ? v[lo] : NULL;
}

static bool newer(const struct pod *p, const struct pod *than)
{
    if (than == NULL || p->m.created_ns != than->m.created_ns) {
        return than == NULL || p->m.created_ns > than->m.created_ns;
    }
    return str_cmp(p->m.name, than->m.name) < 0;
}

/* A pod of an older template tells nothing about those of new nodes. */
static bool of_template(const struct pod *p, const struct daemonset *ds)
{
    const char *generation = kvs_get(&p->labels, LABEL_TEMPLATE_GENERATION);
    return ds->generation == NULL || ds->generation[0] == '\0' || generation == NULL ||
           str_eq(generation, ds->generation);
}

static void find_live(const struct snapshot_in *in, struct live *const *v, uint32_t n)
{
    for (uint32_t i = 0; n > 0 && i < in->n_bound; i++) {
        const struct pod *p = in->bound[i];
        struct live *l =
            p->owner == POWNER_DAEMONSET && pod_active(p) ? live_of(v, n, p->owner_uid) : NULL;
        if (l != NULL && of_template(p, &l->ds) && newer(p, l->pod)) {
            l->pod = p;
        }
    }
}

/* What admission and webhooks made of the template. Its node affinity is the template's: that of
 * the pod names its node. */
static const struct pod_class *live_class(struct arena *a, const struct pod_class *template,
                                          const struct pod_class *pod)
{
    struct pod_class *cls = arena_memdup(a, template, sizeof(*template));
    cls->requests = pod->requests;
    cls->host_ports = pod->host_ports;
    cls->n_host_ports = pod->n_host_ports;
    cls->tolerations = pod->tolerations;
    cls->selector = pod->selector;
    return cls;
}

const struct daemonset *const *daemonset_live(struct arena *a, const struct snapshot_in *in)
{
    uint32_t n = in->n_daemonsets, n_uids = 0;
    struct live *all = ARENA_NEW_N(a, struct live, n);
    struct live **by_uid = ARENA_NEW_N(a, struct live *, n);
    const struct daemonset **out = ARENA_NEW_N(a, const struct daemonset *, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct daemonset *ds = in->daemonsets[i];
        all[i].ds = *ds;
        out[i] = &all[i].ds;
        if (ds->m.uid != NULL && ds->m.uid[0] != '\0') {
            by_uid[n_uids++] = &all[i];
        }
    }
    sort_items(by_uid, n_uids, sizeof(struct live *), cmp_live);
    find_live(in, by_uid, n_uids);
    for (uint32_t i = 0; i < n; i++) {
        if (all[i].pod != NULL) {
            all[i].ds.cls = live_class(a, all[i].ds.cls, all[i].pod->cls);
        }
    }
    sort_items(out, n, sizeof(*out), cmp_daemonset);
    return out;
}
