/*
 * storerig.h - the store against a scripted API server: lists are answered, events given, watches
 * broken by hand; what changed is noted.
 */
#ifndef KARP_TESTS_STORERIG_H
#define KARP_TESTS_STORERIG_H

#include "agent/store/store.h"
#include "common/base/jsonx.h"
#include "fakeagent.h"
#include "storepaths.h"
#include "unit.h"

struct rig {
    struct fake *f;
    struct store *s;
    char changes[2048]; /* "+key", "~key", "-key" */
};

static inline void on_change(void *arg, const char *key, const void *before, const void *now)
{
    struct rig *r = arg;
    char line[128];
    snprintf(line, sizeof(line), "%s%s ", !before ? "+" : !now ? "-" : "~", key);
    strncat(r->changes, line, sizeof(r->changes) - strlen(r->changes) - 1);
}

static inline json_t *list_of(const char *rv, json_t *items)
{
    return json_pack("{s:{s:s}, s:o}", "metadata", "resourceVersion", rv, "items", items);
}

static inline struct fake_call *list_call(struct rig *r, enum store_kind kind)
{
    struct fake_call *c = fake_find(r->f, "GET", store_paths[kind]);
    ck_assert_msg(c != NULL, "no LIST %s", store_paths[kind]);
    return c;
}

static inline void give_list(struct rig *r, enum store_kind kind, const char *rv, json_t *items)
{
    fake_answer(list_call(r, kind), 200, ERR_NONE, list_of(rv, items));
}

static inline struct rig rig_new(void)
{
    struct rig r = {.f = fake_new()};
    r.f->opt.scheduler_config = "{}"; /* whatever it says: Services are wanted */
    r.s = store_new(&r.f->rt);
    r.f->rt.store = r.s;
    return r;
}

/* All kinds listed; these are the pods, nodes and claims of the list. */
static inline void sync(struct rig *r, json_t *pods, json_t *nodes, json_t *claims)
{
    json_t *lists[STORE_KINDS] = {pods, nodes, claims};
    store_start(r->s);
    fake_run(r->f, 0);
    for (int i = 0; i < STORE_KINDS; i++) {
        /* Without PodDisruptionBudgets only what needs them waits. */
        ck_assert(store_synced(r->s) == (i >= STORE_PDB));
        ck_assert(!store_pdbs_known(r->s));
        give_list(r, (enum store_kind)i, "100", lists[i] ? lists[i] : json_array());
        fake_run(r->f, 0);
    }
    ck_assert(store_synced(r->s) && store_pdbs_known(r->s));
    r->changes[0] = '\0';
}

static inline void rig_free(struct rig *r)
{
    store_free(r->s);
    fake_free(r->f);
}

static inline void event(struct rig *r, enum store_kind kind, enum kube_event_type type, json_t *o)
{
    struct fake_call *c = fake_find(r->f, "WATCH", store_paths[kind]);
    ck_assert_msg(c != NULL, "no WATCH %s", store_paths[kind]);
    c->event(c->arg, type, o);
    json_decref(o);
}

static inline void break_watch(struct rig *r, enum store_kind kind, enum err_kind why)
{
    struct fake_call *c = fake_find(r->f, "WATCH", store_paths[kind]);
    struct err err = ERR_INIT;
    err_set(&err, why, "made up");
    c->open = false;
    c->end(c->arg, &err);
}

static inline json_t *claim(const char *name, int rv, const char *provider_id)
{
    char version[16], uid[64];
    snprintf(version, sizeof(version), "%d", rv);
    snprintf(uid, sizeof(uid), "uid-%s", name);
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:[s]}, s:{s:{s:s, s:s, s:s}, s:[]}, s:{s:s}}",
                     "kind", "NodeClaim", "apiVersion", "karpenter.sh/v1", "metadata", "name", name,
                     "uid", uid, "resourceVersion", version, "finalizers",
                     "karpenter.sh/termination", "spec", "nodeClassRef", "group",
                     "karpenter.k8s.aws", "kind", "EC2NodeClass", "name", "default", "requirements",
                     "status", "providerID", provider_id);
}

static inline json_t *node(const char *name, int rv, const char *provider_id)
{
    char version[16];
    snprintf(version, sizeof(version), "%d", rv);
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:{s:s}}", "kind", "Node", "apiVersion", "v1",
                     "metadata", "name", name, "uid", name, "resourceVersion", version, "spec",
                     "providerID", provider_id);
}

/* cpu in whole cores; on "" = pending and unschedulable. */
static inline json_t *pod(const char *name, int rv, const char *on, int cpu, const char *phase)
{
    char version[16], cores[16];
    snprintf(version, sizeof(version), "%d", rv);
    snprintf(cores, sizeof(cores), "%d", cpu);
    json_t *o =
        json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:{s:[{s:s, s:{s:{s:s}}}]}, s:{s:s}}", "kind",
                  "Pod", "apiVersion", "v1", "metadata", "name", name, "namespace", "default",
                  "uid", name, "resourceVersion", version, "spec", "containers", "name", "c",
                  "resources", "requests", "cpu", cores, "status", "phase", phase);
    if (*on) {
        jsonx_set_new(o, "spec.nodeName", json_string(on));
    } else {
        jsonx_set_new(o, "status.conditions",
                      json_pack("[{s:s, s:s, s:s}]", "type", "PodScheduled", "status", "False",
                                "reason", "Unschedulable"));
    }
    return o;
}

#endif
