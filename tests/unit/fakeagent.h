/*
 * fakeagent.h - a runtime without an agent: clock, chance and ports that a test plays by hand.
 *
 * The API server's port records every request and watch; the test answers them one by one. Time
 * moves only by fake_run, which runs the timers that come due on the way.
 */
#ifndef KARP_TESTS_FAKEAGENT_H
#define KARP_TESTS_FAKEAGENT_H

#include "agent/runtime.h"
#include "agent/work/metrics.h"
#include "common/base/alloc.h"
#include "common/base/str.h"
#include "common/kube/decode.h"
#include "unit.h"

#define FAKE_CALLS_MAX 256
#define FAKE_WALL_NS (INT64_C(1767603600) * NS_PER_S) /* 2026-01-05T09:00:00Z */

struct fake_call {
    bool watch, open;
    char method[8];
    char path[512];
    json_t *body;
    kube_done_fn done;
    kube_event_fn event;
    kube_end_fn end;
    aws_done_fn aws_done;
    void *arg;
};

struct fake {
    struct runtime rt;
    struct agent_options opt;
    struct clock clock;
    struct entropy entropy;
    uint64_t seed;
    int64_t now_ns, wall_shift_ns;
    struct kube_port kube;
    struct aws_port aws;
    struct fake_call calls[FAKE_CALLS_MAX];
    size_t n;
    bool closed, aws_closed;
};

static inline int64_t fake_mono(void *ctx)
{
    return ((struct fake *)ctx)->now_ns;
}

static inline int64_t fake_wall(void *ctx)
{
    struct fake *f = ctx;
    return FAKE_WALL_NS + f->now_ns + f->wall_shift_ns;
}

static inline struct fake_call *fake_new_call(struct fake *f, const char *method, const char *path)
{
    ck_assert_uint_lt(f->n, FAKE_CALLS_MAX);
    struct fake_call *c = &f->calls[f->n++];
    *c = (struct fake_call){.open = true};
    str_copy(c->method, sizeof(c->method), method);
    str_copy(c->path, sizeof(c->path), path);
    return c;
}

static inline uint64_t fake_request(void *ctx, const struct kube_req *req, kube_done_fn done,
                                    void *arg)
{
    struct fake *f = ctx;
    struct fake_call *c = fake_new_call(f, req->method, req->path);
    c->body = req->body ? json_deep_copy(req->body) : NULL;
    c->done = done;
    c->arg = arg;
    return f->n;
}

static inline uint64_t fake_watch(void *ctx, const char *path, kube_event_fn event, kube_end_fn end,
                                  void *arg)
{
    struct fake *f = ctx;
    struct fake_call *c = fake_new_call(f, "WATCH", path);
    c->watch = true;
    c->event = event;
    c->end = end;
    c->arg = arg;
    return f->n;
}

static inline void fake_cancel(void *ctx, uint64_t handle)
{
    struct fake *f = ctx;
    if (handle > 0 && handle <= f->n) {
        f->calls[handle - 1].open = false;
    }
}

static inline void fake_close(void *ctx)
{
    ((struct fake *)ctx)->closed = true;
}

static inline uint64_t fake_aws(void *ctx, const struct aws_req *req, aws_done_fn done, void *arg)
{
    struct fake *f = ctx;
    struct fake_call *c = fake_new_call(f, "AWS", req->action);
    c->aws_done = done;
    c->arg = arg;
    return f->n;
}

static inline void fake_aws_close(void *ctx)
{
    ((struct fake *)ctx)->aws_closed = true;
}

static inline struct fake *fake_new(void)
{
    struct fake *f = NEW(struct fake);
    f->seed = 42;
    f->now_ns = 1000 * NS_PER_S;
    f->clock = (struct clock){fake_wall, fake_mono, f};
    f->entropy = entropy_seeded(&f->seed);
    f->kube = (struct kube_port){fake_request, fake_watch, fake_cancel, fake_close, f};
    f->aws = (struct aws_port){fake_aws, fake_cancel, fake_aws_close, f};
    f->opt = (struct agent_options){.mode = MODE_FULL,
                                    .leader_election = true,
                                    .lease_name = "karpenter-leader-election",
                                    .lease_ns = "kube-system",
                                    .batch_max_ns = 10 * NS_PER_S,
                                    .pod_name = "pod-0"};
    f->rt.opt = &f->opt;
    f->rt.clock = &f->clock;
    f->rt.entropy = &f->entropy;
    str_copy(f->rt.identity, sizeof(f->rt.identity), "karp-agent-pod-0-abcde");
    timers_init(&f->rt.timers);
    f->rt.syms = labels_symtab_new();
    f->rt.decoder = decoder_new(f->rt.syms);
    f->rt.metrics = metrics_new();
    f->rt.kube = f->kube;
    f->rt.client = (struct kube_client){.port = &f->rt.kube, .field_manager = "karp-agent"};
    return f;
}

static inline void fake_free(struct fake *f)
{
    for (size_t i = 0; i < f->n; i++) {
        json_decref(f->calls[i].body);
    }
    metrics_free(f->rt.metrics);
    decoder_free(f->rt.decoder);
    symtab_free(f->rt.syms);
    timers_done(&f->rt.timers);
    free(f);
}

/* Moves time, running what comes due. */
static inline void fake_run(struct fake *f, int64_t ns)
{
    int64_t until_ns = f->now_ns + ns;
    for (;;) {
        int64_t next_ns = timers_next_ns(&f->rt.timers);
        if (next_ns > until_ns) {
            break;
        }
        f->now_ns = next_ns > f->now_ns ? next_ns : f->now_ns;
        timers_run_one(&f->rt.timers, f->now_ns);
    }
    f->now_ns = until_ns;
}

/* The last open request whose method is that and whose path begins so; NULL if none. */
static inline struct fake_call *fake_find(struct fake *f, const char *method, const char *path)
{
    for (size_t i = f->n; i > 0; i--) {
        struct fake_call *c = &f->calls[i - 1];
        if (c->open && str_eq(c->method, method) && str_starts(c->path, path)) {
            return c;
        }
    }
    return NULL;
}

/* Answers a request of the API server; the body's reference is taken. */
static inline void fake_answer(struct fake_call *c, int status, enum err_kind kind, json_t *body)
{
    struct kube_resp resp = {.err = ERR_INIT, .status = status, .body = body};
    if (kind != ERR_NONE) {
        err_set(&resp.err, kind, "made up");
        resp.err.http = status;
    }
    c->open = false;
    c->done(c->arg, &resp);
    json_decref(body);
}

static inline json_t *fake_json(const char *text)
{
    json_t *o = json_loads(text, 0, NULL);
    ck_assert_msg(o != NULL, "not JSON: %s", text);
    return o;
}

#endif
