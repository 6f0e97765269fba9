/*
 * status.c - what EC2 finds fault with: three sweeps of DescribeInstanceStatus, as Karpenter's.
 *
 * A filter asks for one thing only, hence three calls: impaired instance checks, impaired system
 * checks, events to come. They are of the whole account and region; whose instances are ours the
 * asker knows.
 */
#include "cloud_int.h"
#include "common/base/alloc.h"

#define PAGES_MAX 100
#define SWEEPS 3

struct sweep {
    struct job j;
    cloud_statuses_fn done;
    void *arg;
    unsigned number, pages;
    const char *token;
    struct cloud_status *v;
    uint32_t n, cap;
};

static const char *const impaired[] = {"impaired"};
static const char *const codes[] = {"instance-reboot", "system-reboot", "system-maintenance",
                                    "instance-retirement", "instance-stop"};

static const struct {
    enum cloud_fault fault;
    struct ec2_filter filter;
} sweeps[SWEEPS] = {
    {FAULT_INSTANCE_STATUS, {"instance-status.status", {impaired, 1}}},
    {FAULT_SYSTEM_STATUS, {"system-status.status", {impaired, 1}}},
    {FAULT_EVENT, {"event.code", {codes, ARRAY_LEN(codes)}}},
};

static void ask(struct sweep *s);

static void add(struct sweep *s, const struct ec2_instance_status *i)
{
    enum cloud_fault fault = sweeps[s->number].fault;
    bool bad = fault == FAULT_INSTANCE_STATUS ? i->instance_bad
               : fault == FAULT_SYSTEM_STATUS ? i->system_bad
                                              : i->events.n > 0;
    if (bad) {
        ARENA_GROW(&s->j.mem, s->v, s->n, s->cap);
        s->v[s->n++] = (struct cloud_status){i->id, fault,
                                             fault == FAULT_INSTANCE_STATUS ? i->instance_since_ns
                                             : fault == FAULT_SYSTEM_STATUS ? i->system_since_ns
                                                                            : 0};
    }
}

static void on_page(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct sweep *s = (struct sweep *)j;
    struct ec2_instance_statuses page = {.n = 0};
    struct err err = res->err;
    if (err.kind != ERR_NONE ||
        ec2_parse_describe_status(&j->mem, res->body, res->body_n, &page, &err) < 0) {
        s->done(s->arg, &err, NULL, 0);
        job_end(j);
        return;
    }
    for (size_t i = 0; i < page.n; i++) {
        add(s, &page.v[i]);
    }
    s->token = page.next_token;
    if (!s->token || ++s->pages >= PAGES_MAX) {
        s->token = NULL;
        s->pages = 0;
        s->number++;
    }
    if (s->number < SWEEPS) {
        ask(s);
        return;
    }
    s->done(s->arg, &err, s->v, s->n);
    job_end(j);
}

static void ask(struct sweep *s)
{
    AUTO_FORM struct form f = {0};
    const struct ec2_describe_status req = {.filters = {&sweeps[s->number].filter, 1},
                                            .max_results = EC2_PAGE_STATUSES,
                                            .next_token = s->token};
    ec2_encode_describe_status(&f, &req);
    job_aws_form(&s->j, "ec2", &f, true, on_page, NULL);
}

void cloud_statuses(struct cloud *c, cloud_statuses_fn done, void *arg)
{
    struct sweep *s = job_new(c, sizeof(*s), NULL);
    s->done = done;
    s->arg = arg;
    ask(s);
}
