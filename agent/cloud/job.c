/* job.c - see job.h. */
#include "job.h"

#include "cloud_int.h"
#include "common/base/alloc.h"

struct job_call {
    struct job *j;
    struct job_call *next, **prev;
    uint64_t handle;
    int64_t began_ns; /* monotonic */
    bool kube;
    job_aws_fn aws_fn;
    job_kube_fn kube_fn;
    void *ctx;
};

void *job_new(struct cloud *c, size_t size, job_fn drop)
{
    struct job *j = xcalloc(1, size);
    j->c = c;
    j->drop = drop;
    j->began_ns = cloud_mono(c);
    arena_init(&j->mem, 0, JOB_MEMORY_MAX);
    j->next = c->jobs.first;
    j->prev = &c->jobs.first;
    if (j->next) {
        j->next->prev = &j->next;
    }
    c->jobs.first = j;
    return j;
}

static void call_free(struct job_call *k)
{
    *k->prev = k->next;
    if (k->next) {
        k->next->prev = k->prev;
    }
    free(k);
}

void job_end(struct job *j)
{
    struct runtime *rt = j->c->rt;
    while (j->calls) {
        struct job_call *k = j->calls;
        if (k->kube) {
            kube_cancel(&rt->client, k->handle);
        } else {
            aws_cancel(rt->awsc, k->handle);
        }
        call_free(k);
    }
    timer_stop(&rt->timers, &j->timer);
    *j->prev = j->next;
    if (j->next) {
        j->next->prev = j->prev;
    }
    if (j->drop) {
        j->drop(j);
    }
    arena_done(&j->mem);
    free(j);
}

void jobs_end(struct jobs *all)
{
    while (all->first) {
        job_end(all->first);
    }
}

static struct job_call *call_new(struct job *j, void *ctx)
{
    struct job_call *k = NEW(struct job_call);
    k->j = j;
    k->ctx = ctx;
    k->began_ns = cloud_mono(j->c);
    k->next = j->calls;
    k->prev = &j->calls;
    if (k->next) {
        k->next->prev = &k->next;
    }
    j->calls = k;
    return k;
}

static void on_aws(void *arg, const struct aws_result *res)
{
    struct job_call k = *(struct job_call *)arg;
    call_free(arg);
    instance_note_date(k.j->c, res->date_ns, cloud_mono(k.j->c) - k.began_ns);
    k.aws_fn(k.j, k.ctx, res);
}

static void on_kube(void *arg, const struct kube_resp *resp)
{
    struct job_call k = *(struct job_call *)arg;
    call_free(arg);
    k.kube_fn(k.j, k.ctx, resp);
}

void job_aws_form(struct job *j, const char *service, const struct form *f, bool repeatable,
                  job_aws_fn fn, void *ctx)
{
    struct job_call *k = call_new(j, ctx);
    k->aws_fn = fn;
    k->handle = aws_call_form(j->c->rt->awsc, service, f, repeatable, on_aws, k);
}

void job_aws(struct job *j, const struct aws_call *call, job_aws_fn fn, void *ctx)
{
    struct job_call *k = call_new(j, ctx);
    k->aws_fn = fn;
    k->handle = aws_call(j->c->rt->awsc, call, on_aws, k);
}

void job_kube_get(struct job *j, enum kube_kind kind, const char *ns, const char *name,
                  job_kube_fn fn, void *ctx)
{
    struct job_call *k = call_new(j, ctx);
    k->kube = true;
    k->kube_fn = fn;
    k->handle = kube_get(&j->c->rt->client, kind, ns, name, on_kube, k);
}

void job_kube_raw(struct job *j, const char *path, job_kube_fn fn, void *ctx)
{
    struct job_call *k = call_new(j, ctx);
    k->kube = true;
    k->kube_fn = fn;
    k->handle = kube_get_raw(&j->c->rt->client, path, on_kube, k);
}

static void on_due(void *arg)
{
    struct job *j = arg;
    j->due(j);
}

void job_later(struct job *j, int64_t delay_ns, job_fn fn)
{
    struct runtime *rt = j->c->rt;
    j->due = fn;
    timer_set(&rt->timers, &j->timer, clock_mono(rt->clock) + delay_ns, on_due, j);
}
