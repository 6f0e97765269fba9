/* test_timer.c - order of timers, callbacks that change timers; the system's clock */
#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/timer.h"

#define N_NAMED 8

struct trace {
    struct timers timers;
    struct timer named[N_NAMED];
    struct named_arg {
        struct trace *trace;
        char name;
    } args[N_NAMED];
    char ran[64];
    size_t n;
};

static void ran(void *arg)
{
    struct named_arg *a = arg;
    ck_assert(!timer_pending(&a->trace->named[a->name - 'a']));
    a->trace->ran[a->trace->n++] = a->name;
}

/* "a5 b3 -a .4": set a at 5, b at 3, stop a, run all that is due at 4. */
static const struct {
    const char *script, *want;
    int64_t next;
} rows[] = {
    {"", "", NS_NEVER},
    {".9", "", NS_NEVER},
    {"a5", "", 5},
    {"a5 .4", "", 5},
    {"a5 .5", "a", NS_NEVER},
    {"a5 b3 c4 .9", "bca", NS_NEVER},
    {"a5 b5 c5 .9", "abc", NS_NEVER},
    {"c5 b5 a5 .9", "cba", NS_NEVER},
    {"a5 b5 a5 .9", "ba", NS_NEVER},
    {"a5 b3 a1 .2", "a", 3},
    {"a1 b3 a7 .9", "ba", NS_NEVER},
    {"a5 b3 -b .9", "a", NS_NEVER},
    {"-a a5 -a -a .9", "", NS_NEVER},
    {"a1 b2 c3 d4 e5 f6 g7 -b -f a8 .9", "cdega", NS_NEVER},
    {"g7 f6 e5 d4 c3 b2 a1 -d .5", "abce", 6},
    {"a1 .1 a1 .1", "aa", NS_NEVER},
};

static void step(struct trace *t, const char *word)
{
    int64_t at = word[1] - '0';
    if (word[0] == '.') {
        while (timers_run_one(&t->timers, at)) {
        }
    } else if (word[0] == '-') {
        timer_stop(&t->timers, &t->named[word[1] - 'a']);
    } else {
        int i = word[0] - 'a';
        t->args[i] = (struct named_arg){t, word[0]};
        timer_set(&t->timers, &t->named[i], at, ran, &t->args[i]);
        ck_assert(timer_pending(&t->named[i]));
    }
}

START_TEST(scripts)
{
    struct trace t = {.n = 0};
    timers_init(&t.timers);
    for (const char *s = rows[_i].script; *s; s += 2 + (s[2] == ' ')) {
        step(&t, s);
    }
    ck_assert_str_eq(t.ran, rows[_i].want);
    ck_assert_int_eq(timers_next_ns(&t.timers), rows[_i].next);
    timers_done(&t.timers);
    for (int i = 0; i < N_NAMED; i++) {
        ck_assert(!timer_pending(&t.named[i]));
    }
}
END_TEST

struct owner {
    struct timers *timers;
    struct timer timer;
    struct timer *other;
    int *count;
};

static void free_owner(void *arg)
{
    struct owner *o = arg;
    (*o->count)++;
    timer_stop(o->timers, o->other);
    free(o);
}

static void again(void *arg)
{
    struct owner *o = arg;
    if (++*o->count < 5) {
        timer_set(o->timers, &o->timer, o->timer.at_ns + 10, again, o);
    }
}

START_TEST(callbacks_change_timers)
{
    struct timers t;
    timers_init(&t);
    int freed = 0;
    int repeated = 0;
    struct owner repeats = {.timers = &t, .count = &repeated};
    struct timer stopped = {0};
    struct owner *o = NEW(struct owner);
    *o = (struct owner){.timers = &t, .other = &stopped, .count = &freed};
    timer_set(&t, &repeats.timer, 0, again, &repeats);
    timer_set(&t, &stopped, 30, again, NULL);
    timer_set(&t, &o->timer, 20, free_owner, o);
    while (timers_run_one(&t, 1000)) {
    }
    ck_assert_int_eq(freed, 1);
    ck_assert_int_eq(repeated, 5);
    ck_assert(!timer_pending(&stopped));
    ck_assert_int_eq(timers_next_ns(&t), NS_NEVER);
    timers_done(&t);
}
END_TEST

struct sorted {
    int64_t last_ns;
    int64_t count;
};

struct probe {
    struct timer timer;
    struct sorted *sorted;
};

static void check_sorted(void *arg)
{
    struct probe *p = arg;
    ck_assert_int_ge(p->timer.at_ns, p->sorted->last_ns);
    p->sorted->last_ns = p->timer.at_ns;
    p->sorted->count++;
}

START_TEST(many_in_random_order)
{
    enum { N = 5000 };
    uint64_t state = 1;
    struct entropy e = entropy_seeded(&state);
    struct timers t;
    timers_init(&t);
    struct sorted sorted = {INT64_MIN, 0};
    struct probe *p = NEW_N(struct probe, N);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            p[i].sorted = &sorted;
            timer_set(&t, &p[i].timer, (int64_t)entropy_below(&e, 1000) - 500, check_sorted, &p[i]);
        }
    }
    for (int i = 0; i < N; i += 2) {
        timer_stop(&t, &p[i].timer);
    }
    while (timers_run_one(&t, 500)) {
    }
    ck_assert_int_eq(sorted.count, N / 2);
    timers_done(&t);
    free(p);
}
END_TEST

START_TEST(system_clock)
{
    int64_t before = clock_mono(&clock_real);
    ck_assert_int_ge(clock_mono(&clock_real), before);
    /* Between 2024 and 2200, so the unit is right. */
    ck_assert_int_gt(clock_wall(&clock_real), INT64_C(1704067200) * NS_PER_S);
    ck_assert_int_lt(clock_wall(&clock_real), INT64_C(7258118400) * NS_PER_S);
}
END_TEST

UNIT_MAIN("timer", UNIT_CASES(scripts, rows), UNIT_TEST(callbacks_change_timers),
          UNIT_TEST(many_in_random_order), UNIT_TEST(system_clock))
