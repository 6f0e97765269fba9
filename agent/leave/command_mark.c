/* command_mark.c - taint, mark and read; see command.h. */
#include "agent/claim/claim.h"
#include "agent/store/store.h"
#include "agent/work/cond.h"
#include "agent/work/marker.h"
#include "agent/work/render.h"
#include "command_int.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/kube/decode.h"

#define KEY_MAX 1024

static void list_next(struct command *c);

/* ---- read --------------------------------------------------------------------------------------
 */

/* Independent members fall out one by one, else the first objection is everybody's. */
static void read_done(struct command *c)
{
    for (uint32_t i = 0; i < c->n && !c->undone; i++) {
        struct member *m = &c->members[i];
        if (m->stage != MEMBER_MARKED || !m->objection) {
            continue;
        }
        if (c->independent) {
            member_out(m, m->objection);
        } else {
            command_undo(c, m->objection);
        }
    }
    if (c->undone) {
        command_close(c);
    } else {
        command_go(c);
    }
}

/* Decoding may be the process's end here as well as in the store: the marker tells the next one. */
static struct pod *read_pod(struct runtime *rt, const json_t *object)
{
    char key[KEY_MAX];
    struct pod *p = NULL;
    snprintf(key, sizeof(key), "%s/%s", jsonx_str_or(object, "metadata.namespace", ""),
             jsonx_str_or(object, "metadata.name", ""));
    enum marker_how how = marker_object(rt->marker, STORE_POD, key, object);
    if (how == MARKER_WHOLE) {
        p = decode_pod(rt->decoder, object, NULL);
    }
    if (how != MARKER_LEAVE_OUT) {
        marker_done(rt->marker);
    }
    return p;
}

static void on_pod(void *arg, json_t *object)
{
    struct command *c = arg;
    struct runtime *rt = c->all->rt;
    const char *on = jsonx_str_or(object, "spec.nodeName", "");
    struct member *m = *on ? map_get(c->all->by_node, on) : NULL;
    if (!m || m->c != c || m->objection) {
        return;
    }
    struct pod *p = read_pod(rt, object);
    m->objection = p ? member_objection(m, p) : "it carries a pod that cannot be read";
    decode_pod_free(rt->decoder, p);
}

static void on_listed(void *arg, const struct err *why, const char *resource_version)
{
    struct command *c = arg;
    (void)resource_version;
    kube_lister_free(c->lister);
    c->lister = NULL;
    for (uint32_t i = 0; why->kind != ERR_NONE && i < c->n; i++) {
        c->members[i].objection = "its pods cannot be listed";
    }
    list_next(c);
}

/* One LIST of the whole cluster, or one for each of a few members. */
static void list_next(struct command *c)
{
    static const struct kube_list_cb cb = {NULL, on_pod, on_listed};
    bool few = c->n <= COMMAND_SELECT_MAX;
    while (c->listing < c->n && c->members[c->listing].stage != MEMBER_MARKED) {
        c->listing++;
    }
    if (c->listing >= c->n) {
        read_done(c);
        return;
    }
    char field[512];
    snprintf(field, sizeof(field), "spec.nodeName=%s", c->members[c->listing].node);
    struct kube_list_opts o = {.field_selector = few ? field : NULL};
    c->listing = few ? c->listing + 1 : c->n;
    c->lister = kube_lister_new(&c->all->rt->client, KIND_POD, &o, &cb, c);
}

/* ---- taint and mark ----------------------------------------------------------------------------
 */

static void answered(struct member *m)
{
    struct command *c = m->c;
    if (--c->open > 0) {
        return;
    }
    if (c->undone) {
        command_close(c);
        return;
    }
    c->stage = COMMAND_READING;
    list_next(c);
}

static void falls_out(struct member *m, const char *why)
{
    if (m->c->independent) {
        member_out(m, why);
    } else {
        m->stage = MEMBER_OUT;
        command_undo(m->c, why);
    }
}

static void on_marked(void *arg, const struct kube_resp *resp)
{
    struct member *m = arg;
    if (resp->err.kind != ERR_NONE) {
        falls_out(m, resp->err.msg);
    } else if (!m->c->undone) {
        m->stage = MEMBER_MARKED;
    }
    answered(m);
}

static void mark(struct member *m)
{
    struct command *c = m->c;
    struct runtime *rt = c->all->rt;
    const struct nodeclaim *nc = store_claim(rt->store, m->claim);
    char message[COMMAND_MESSAGE] = "";
    if (!nc || !str_eq(nc->m.uid, m->claim_uid) || nc->m.deleted_ns) {
        falls_out(m, "the NodeClaim changed");
        answered(m);
        return;
    }
    command_message(c, message);
    struct cond_edit e;
    cond_begin(&e, &nc->conditions, &nc->m, clock_wall(rt->clock));
    cond_set(&e, COMMAND_MARK, STATUS_TRUE, command_reason_of(c->reason)->mark, message);
    json_t *patch = json_pack("{s:{s:o}}", "status", "conditions", cond_json(&e));
    kube_patch(&rt->client, KIND_NODE_CLAIM, NULL, m->claim, "status", patch,
               nc->m.resource_version, on_marked, m);
    json_decref(patch);
}

static void on_tainted(void *arg, const struct kube_resp *resp)
{
    struct member *m = arg;
    if (resp->err.kind != ERR_NONE) {
        falls_out(m, resp->err.msg);
        answered(m);
        return;
    }
    log_info(m->c->all->rt->log, "tainted node", "Node", m->node, "taint.Key", TAINT_DISRUPTED,
             "taint.Effect", "NoSchedule");
    if (m->c->undone) {
        answered(m);
    } else {
        mark(m);
    }
}

static void taint(struct member *m, const struct node *n)
{
    struct runtime *rt = m->c->all->rt;
    json_t *taints = json_array();
    for (uint32_t i = 0; i < n->taints.n; i++) {
        if (!str_eq(sym_str(rt->syms, n->taints.v[i].key), TAINT_DISRUPTED)) {
            json_array_append_new(taints, render_taint(rt->syms, &n->taints.v[i]));
        }
    }
    json_array_append_new(taints,
                          json_pack("{s:s, s:s}", "key", TAINT_DISRUPTED, "effect", "NoSchedule"));
    json_t *patch = json_pack("{s:{s:o}}", "spec", "taints", taints);
    kube_patch(&rt->client, KIND_NODE, NULL, m->node, NULL, patch, n->m.resource_version,
               on_tainted, m);
    json_decref(patch);
}

void command_mark(struct command *c, const struct snapshot_node *const *out)
{
    c->stage = COMMAND_MARKING;
    c->open = c->n;
    for (uint32_t i = 0; i < c->n; i++) {
        taint(&c->members[i], out[i]->node);
    }
}
