/*
 * byid.c - instances by id: what they are, and their end; many questions in one call.
 *
 * Questions of the same 100 ms share a call (as Karpenter; AWS counts calls, not ids). Describing
 * goes by filter, since an id that EC2 does not know would fail the whole call; terminating has no
 * filter, so a call that fails for what may be one of them is repeated one by one. Looking for the
 * instances of claims by tag is a filter, too: a restart in the middle of a scale-out looks for all
 * at once.
 */
#include "cloud_int.h"
#include "common/base/alloc.h"
#include "common/base/str.h"

#define PAGES_MAX 100

/* One asker's. */
struct by_id {
    struct job j;
    const char *id; /* with BY_CLAIM the claim's UID */
    cloud_list_fn list;
    cloud_done_fn done;
    void *arg;
};

/* One call for some of them. */
struct call {
    struct job j;
    enum by_kind kind;
    struct by_id **v;
    size_t n;
    const char **ids;
    struct ec2_instance *found;
    size_t n_found, cap_found, pages;
    const char *token;
};

/* ---- answers -----------------------------------------------------------------------------------
 */

static void answer_list(struct by_id *q, const struct err *err, const struct instance *i)
{
    struct err e = *err;
    if (e.kind == ERR_NONE && !i && instance_is_young(q->j.c, q->id)) {
        instance_not_visible(&e, q->id);
    }
    bool there = e.kind == ERR_NONE && i && !str_eq(i->state, "terminated");
    calls_note(q->j.c, "Get", q->j.began_ns, !there,
               e.kind == ERR_NONE ? "NodeClaimNotFoundError" : "");
    q->list(q->arg, &e, there ? i : NULL, there ? 1 : 0);
    job_end(&q->j);
}

/* All that are tagged for the claim. */
static void answer_claim(const struct call *k, struct by_id *q, const struct err *err)
{
    struct instance *v = ARENA_NEW_N(&q->j.mem, struct instance, k->n_found);
    uint32_t n = 0;
    for (size_t i = 0; err->kind == ERR_NONE && i < k->n_found; i++) {
        v[n] = instance_of(&k->found[i]);
        n += str_eq(v[n].claim_uid, q->id) && instance_is_ours(q->j.c, &v[n]);
    }
    q->list(q->arg, err, n ? v : NULL, n);
    job_end(&q->j);
}

static void answer_done(struct by_id *q, const struct err *err)
{
    struct err e = *err;
    if (e.kind == ERR_NOT_FOUND && instance_is_young(q->j.c, q->id)) {
        instance_not_visible(&e, q->id);
    }
    calls_note(q->j.c, "Delete", q->j.began_ns, e.kind != ERR_NONE,
               e.kind == ERR_NOT_FOUND ? "NodeClaimNotFoundError" : "");
    q->done(q->arg, &e);
    job_end(&q->j);
}

static const struct ec2_instance *found(const struct call *k, const char *id)
{
    for (size_t i = 0; i < k->n_found; i++) {
        if (str_eq(k->found[i].id, id)) {
            return &k->found[i];
        }
    }
    return NULL;
}

static void answer_all(struct call *k, const struct err *err)
{
    for (size_t i = 0; i < k->n; i++) {
        struct by_id *q = k->v[i];
        if (k->kind == BY_END) {
            answer_done(q, err);
            continue;
        }
        if (k->kind == BY_CLAIM) {
            answer_claim(k, q, err);
            continue;
        }
        const struct ec2_instance *e = err->kind == ERR_NONE ? found(k, q->id) : NULL;
        struct instance in = {.id = NULL};
        if (e) {
            in = instance_of(e);
        }
        answer_list(q, err, e ? &in : NULL);
    }
    job_end(&k->j);
}

/* ---- calls -------------------------------------------------------------------------------------
 */

static void describe(struct call *k);

static void on_described(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct call *k = (struct call *)j;
    struct ec2_instances page;
    struct err err = res->err;
    if (err.kind != ERR_NONE ||
        ec2_parse_describe_instances(&j->mem, res->body, res->body_n, &page, &err) < 0) {
        answer_all(k, &err);
        return;
    }
    for (size_t i = 0; i < page.n; i++) {
        ARENA_GROW(&j->mem, k->found, k->n_found, k->cap_found);
        k->found[k->n_found++] = page.v[i];
    }
    k->token = page.next_token;
    if (k->token && ++k->pages < PAGES_MAX) {
        describe(k);
        return;
    }
    if (k->token) { /* what was not shown is not absent */
        err_set(&err, ERR_LIMIT, "EC2's answer about %zu instances does not end", k->n);
    }
    answer_all(k, &err);
}

static void describe(struct call *k)
{
    AUTO_FORM struct form form = {0};
    const struct ec2_filter by_id = {"instance-id", {k->ids, k->n}};
    const struct ec2_filter by_claim[] = {instance_alive(), {"tag:" TAG_CLAIM_UID, {k->ids, k->n}}};
    const struct ec2_describe_instances req = {
        .filters = k->kind == BY_CLAIM ? (struct ec2_filters){by_claim, ARRAY_LEN(by_claim)}
                                       : (struct ec2_filters){&by_id, 1},
        .next_token = k->token};
    ec2_encode_describe_instances(&form, &req);
    job_aws_form(&k->j, "ec2", &form, true, on_described, NULL);
}

static void terminate(struct call *k);

/* k's questions, each in a call of its own. */
static void one_by_one(struct call *k)
{
    for (size_t i = 0; i < k->n; i++) {
        struct call *one = job_new(k->j.c, sizeof(*one), NULL);
        one->kind = BY_END;
        one->v = arena_memdup(&one->j.mem, &k->v[i], sizeof(*one->v));
        one->ids = ARENA_NEW(&one->j.mem, const char *);
        one->ids[0] = one->v[0]->id;
        one->n = 1;
        terminate(one);
    }
    job_end(&k->j);
}

/* Unknown, malformed, protected or not ours to end: one such id fails the call for all. */
static bool one_may_be_to_blame(const struct err *err)
{
    switch (err->kind) {
    case ERR_NOT_FOUND:
    case ERR_INVALID:
    case ERR_CONFLICT:
    case ERR_FORBIDDEN:
        return true;
    default:
        return false;
    }
}

static void on_terminated(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct call *k = (struct call *)j;
    if (res->err.kind != ERR_CANCELLED) {
        instance_note_call(j->c, false, &res->err);
    }
    if (k->n > 1 && one_may_be_to_blame(&res->err)) {
        one_by_one(k);
        return;
    }
    answer_all(k, &res->err);
}

static void terminate(struct call *k)
{
    AUTO_FORM struct form f = {0};
    const struct ec2_strings ids = {k->ids, k->n};
    ec2_encode_terminate_instances(&f, &ids);
    job_aws_form(&k->j, "ec2", &f, true, on_terminated, NULL);
}

/* ---- batches -----------------------------------------------------------------------------------
 */

static void flush(struct job *j)
{
    struct call *k = (struct call *)j;
    struct by_ids *b = &j->c->instances.waiting[k->kind];
    size_t most = k->kind == BY_END ? BATCH_END_IDS : BATCH_GET_IDS;
    k->n = b->n < most ? b->n : most;
    k->v = arena_memdup(&j->mem, b->v, k->n * sizeof(*k->v));
    b->n -= k->n;
    memmove(b->v, b->v + k->n, b->n * sizeof(struct by_id *));
    k->ids = ARENA_NEW_N(&j->mem, const char *, k->n);
    for (size_t i = 0; i < k->n; i++) {
        k->ids[i] = k->v[i]->id;
    }
    b->due = b->n > 0;
    if (b->due) {
        struct call *rest = job_new(j->c, sizeof(*rest), NULL);
        rest->kind = k->kind;
        job_later(&rest->j, 0, flush);
    }
    if (k->kind == BY_END) {
        terminate(k);
    } else if (k->kind == BY_CLAIM && !j->c->rt->cluster_uid) {
        struct err err = ERR_INIT;
        err_set(&err, ERR_UNAVAILABLE, "the cluster's UID is not known yet");
        answer_all(k, &err);
    } else {
        describe(k);
    }
}

static struct by_id *ask(struct cloud *c, enum by_kind kind, const char *id, void *arg)
{
    struct by_ids *b = &c->instances.waiting[kind];
    struct by_id *q = job_new(c, sizeof(*q), NULL);
    q->id = arena_strdup(&q->j.mem, id);
    q->arg = arg;
    ARRAY_GROW(b->v, b->n, b->cap);
    b->v[b->n++] = q;
    if (!b->due) {
        b->due = true;
        struct call *k = job_new(c, sizeof(*k), NULL);
        k->kind = kind;
        job_later(&k->j, BATCH_IDLE_NS, flush);
    }
    return q;
}

void cloud_get(struct cloud *c, const char *instance_id, cloud_list_fn done, void *arg)
{
    ask(c, BY_ID, instance_id, arg)->list = done;
}

void cloud_find(struct cloud *c, const char *claim_uid, cloud_list_fn done, void *arg)
{
    ask(c, BY_CLAIM, claim_uid, arg)->list = done;
}

void cloud_terminate(struct cloud *c, const char *instance_id, cloud_done_fn done, void *arg)
{
    ask(c, BY_END, instance_id, arg)->done = done;
}
