/*
 * job.h - one piece of work of the cloud that waits for answers.
 *
 * A job owns its memory (arena and whatever `drop` frees), its open calls to AWS and to the API
 * server, and one timer. It lives until job_end, or until the cloud goes: then its calls are
 * cancelled and no answer reaches it. A job embeds struct job as its first member.
 */
#ifndef KARP_AGENT_CLOUD_JOB_H
#define KARP_AGENT_CLOUD_JOB_H

#include "common/aws/client.h"
#include "common/aws/form.h"
#include "common/base/arena.h"
#include "common/base/timer.h"
#include "common/kube/client.h"

#define JOB_MEMORY_MAX (256u << 20) /* soft cap of a job's arena */

struct cloud;
struct job;
struct job_call;

typedef void (*job_fn)(struct job *j);
typedef void (*job_aws_fn)(struct job *j, void *ctx, const struct aws_result *res);
typedef void (*job_kube_fn)(struct job *j, void *ctx, const struct kube_resp *resp);

struct job {
    struct cloud *c;
    struct job *next, **prev;
    struct job_call *calls;
    struct timer timer;
    job_fn due;
    job_fn drop; /* may be NULL */
    struct arena mem;
    int64_t began_ns; /* monotonic */
};

struct jobs {
    struct job *first;
};

/* size bytes, zeroed, that begin with a struct job. */
void *job_new(struct cloud *c, size_t size, job_fn drop);
void job_end(struct job *j);
/* Ends every job. */
void jobs_end(struct jobs *all);

/* The form may go afterwards. ctx is handed to fn. */
void job_aws_form(struct job *j, const char *service, const struct form *f, bool repeatable,
                  job_aws_fn fn, void *ctx);
void job_aws(struct job *j, const struct aws_call *call, job_aws_fn fn, void *ctx);
void job_kube_get(struct job *j, enum kube_kind kind, const char *ns, const char *name,
                  job_kube_fn fn, void *ctx);
void job_kube_raw(struct job *j, const char *path, job_kube_fn fn, void *ctx);
/* Runs fn in a later turn, after delay_ns. */
void job_later(struct job *j, int64_t delay_ns, job_fn fn);

#endif
