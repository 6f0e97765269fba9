/* test_work.c - one write that ends a look: when the next look comes, by the answer. */
#include "unit.h"

#include "agent/work/work.h"
#include "fakeagent.h"

struct probe {
    struct fake *f;
    struct queue *q;
    int looks;
};

/* Wants another look after its success, as steps that are one of several do. */
static enum queue_verdict look(void *ctx, const char *key)
{
    struct probe *p = ctx;
    struct work w = {&p->f->rt, p->q, key, NULL, NULL};
    p->looks++;
    queue_add(p->q, key);
    return work_delete(&w, KIND_NODE_CLAIM, NULL, key, "uid");
}

static const struct {
    int status;
    enum err_kind kind;
    int64_t least_ms, most_ms; /* until the next look */
} rows[] = {
    {200, ERR_NONE, 0, 0},
    {404, ERR_NOT_FOUND, 800, 1200}, /* the watch may be far behind: not in a tight loop */
    {409, ERR_CONFLICT, 50, 50},
    {403, ERR_FORBIDDEN, 30000, 30000},
    {500, ERR_UNAVAILABLE, 800, 1200},
    {0, ERR_UNAVAILABLE, 800, 1200},
    {0, ERR_CANCELLED, 2000, 2000},
};

START_TEST(next_look)
{
    struct probe p = {.f = fake_new()};
    p.q = queue_new(&p.f->rt, "test", STORE_CLAIM, NS_PER_S, 60 * NS_PER_S, look, &p);
    queue_add(p.q, "c");
    fake_run(p.f, 0);
    ck_assert_int_eq(p.looks, 1);
    fake_answer(&p.f->calls[0], rows[_i].status, rows[_i].kind, NULL);
    int64_t wait_ns = timers_next_ns(&p.f->rt.timers) - p.f->now_ns;
    ck_assert_int_ge(wait_ns, rows[_i].least_ms * NS_PER_MS);
    ck_assert_int_le(wait_ns, rows[_i].most_ms * NS_PER_MS);
    fake_run(p.f, wait_ns);
    ck_assert_int_eq(p.looks, 2);
    queue_free(p.q);
    fake_free(p.f);
}
END_TEST

UNIT_MAIN("work", UNIT_CASES(next_look, rows))
