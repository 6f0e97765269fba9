/* Virtual time, and that a whole world is a function of its seed; see tests/sim/kube/vclock.h,
 * world.h
 */
#include "common/base/buf.h"
#include "common/base/hash.h"
#include "simrig.h"

/* ---- order ------------------------------------------------------------------------------------
 */

struct scribe {
    struct vclock v;
    struct timer a, b;
    struct buf seen;
    int64_t turn_ns; /* when its driver wants a turn */
};

static void write_a(void *arg)
{
    struct scribe *s = arg;
    buf_printf(&s->seen, "a%lld ", (long long)vclock_now(&s->v));
}

static void write_b(void *arg)
{
    struct scribe *s = arg;
    buf_printf(&s->seen, "b%lld ", (long long)vclock_now(&s->v));
    if (vclock_now(&s->v) < 30) {
        vclock_set(&s->v, &s->b, 10, write_b, s);
    }
}

static int64_t next(void *ctx)
{
    return ((struct scribe *)ctx)->turn_ns;
}

static void turn(void *ctx)
{
    struct scribe *s = ctx;
    buf_printf(&s->seen, "t%lld ", (long long)vclock_now(&s->v));
    s->turn_ns = s->turn_ns < 20 ? 20 : NS_NEVER;
}

START_TEST(events_come_in_order)
{
    struct scribe s = {.turn_ns = 10};
    vclock_init(&s.v, RIG_START_NS, 1);
    buf_init(&s.seen, 1024);
    vclock_add_driver(&s.v, (struct vclock_driver){next, turn, &s});
    vclock_set(&s.v, &s.b, 10, write_b, &s);
    vclock_set(&s.v, &s.a, 10, write_a, &s);
    vclock_after(&s.v, 25, write_a, &s);
    vclock_after(&s.v, 900, write_a, &s); /* dropped at the end */
    ck_assert_int_eq(vclock_next(&s.v), 10);
    ck_assert(!vclock_step(&s.v, 9));
    ck_assert_int_eq(vclock_now(&s.v), 0);
    vclock_run_to(&s.v, 100);
    ck_assert_str_eq(s.seen.p, "b10 a10 t10 b20 t20 a25 b30 ");
    ck_assert_int_eq(vclock_now(&s.v), 100);
    ck_assert_int_eq(vclock_wall(&s.v), RIG_START_NS + 100);
    /* A driver that is overdue has its turn now, not in the past. */
    s.turn_ns = 5;
    buf_reset(&s.seen);
    ck_assert(vclock_step(&s.v, 100));
    ck_assert_str_eq(s.seen.p, "t100 ");
    vclock_remove_driver(&s.v, &s);
    ck_assert(!vclock_step(&s.v, 100));
    struct clock port = vclock_port(&s.v);
    ck_assert_int_eq(clock_mono(&port), 100);
    ck_assert_int_eq(clock_wall(&port), RIG_START_NS + 100);
    buf_done(&s.seen);
    vclock_done(&s.v);
}
END_TEST

START_TEST(streams_of_chance_are_independent)
{
    struct vclock a, b, c;
    vclock_init(&a, 0, 1);
    vclock_init(&b, 0, 1);
    vclock_init(&c, 0, 2);
    entropy_below(&b.chance, 10); /* drawing does not shift a fork */
    ck_assert_uint_eq(vclock_fork(&a, "x"), vclock_fork(&b, "x"));
    ck_assert_uint_ne(vclock_fork(&a, "x"), vclock_fork(&a, "y"));
    ck_assert_uint_ne(vclock_fork(&a, "x"), vclock_fork(&c, "x"));
    vclock_done(&a);
    vclock_done(&b);
    vclock_done(&c);
}
END_TEST

/* ---- a world ------------------------------------------------------------------------------------
 */

struct record {
    const struct sim_world *w;
    struct buf text;
};

static void on_change(void *ctx, const struct sim_change *c)
{
    struct record *r = ctx;
    char *after = jsonx_canonical(c->after);
    buf_printf(&r->text, "%lld %d %s %s\n", (long long)vclock_now(&r->w->clock), (int)c->type,
               c->who, after);
    free(after);
}

/* Everything that happens while a Deployment grows, rolls over and shrinks, a node dies. */
static void play(uint64_t seed, char digest[SHA256_HEX])
{
    struct sim_world *w = rig_world(seed);
    struct record r = {.w = w};
    buf_init(&r.text, 64u << 20);
    sim_api_subscribe(w->api, on_change, &r);
    rig_node(w, "a", RIG_BIG, NULL, NULL);
    rig_node(w, "b", RIG_BIG, NULL, NULL);
    rig_deployment(w, "d", 20, "1");
    rig_run(w, 30 * NS_PER_S);
    rig_deployment(w, "d", 20, "1500m");
    rig_run(w, 60 * NS_PER_S);
    rig_deployment(w, "d", 7, "1500m");
    rig_run(w, 60 * NS_PER_S);
    sim_node_gone(w, "aws:///us-west-2a/i-b");
    rig_run(w, 600 * NS_PER_S);
    ck_assert(!r.text.over && r.text.n > 10000);
    hash_sha256_hex(r.text.p, r.text.n, digest);
    buf_done(&r.text);
    sim_world_free(w);
}

START_TEST(a_seed_is_a_world)
{
    char a[SHA256_HEX], b[SHA256_HEX], c[SHA256_HEX];
    play(1, a);
    play(1, b);
    play(2, c);
    ck_assert_str_eq(a, b);
    ck_assert_str_ne(a, c);
}
END_TEST

static void keep_line(void *ctx, const char *line)
{
    buf_printf(ctx, "%s\n", line);
}

START_TEST(notes_and_traces)
{
    struct sim_world *w = rig_world(1);
    struct buf lines;
    buf_init(&lines, 1024);
    sim_trace(w, "nobody listens");
    w->trace = keep_line;
    w->trace_ctx = &lines;
    rig_run(w, 1234567 * NS_PER_US);
    sim_trace(w, "small %d", 1);
    sim_note(w, "great %d", 2);
    ck_assert_str_eq(lines.p, "1.234s small 1\n1.234s great 2\n");
    ck_assert_uint_eq(w->n_notes, 1);
    ck_assert_str_eq(w->notes[0].what, "great 2");
    buf_done(&lines);
    sim_world_free(w);
}
END_TEST

START_TEST(events_expire)
{
    struct sim_world *w = rig_world(1);
    rig_apply(w, "{'apiVersion':'v1','kind':'Event','metadata':{'name':'old'},"
                 "'involvedObject':{'kind':'Pod','namespace':'default','name':'p'}}");
    rig_apply(w, "{'apiVersion':'v1','kind':'Event','metadata':{'name':'seen'},"
                 "'lastTimestamp':'2026-01-05T09:50:00Z',"
                 "'involvedObject':{'kind':'Pod','namespace':'default','name':'p'}}");
    rig_run(w, 59 * NS_PER_MIN);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_EVENT), 2);
    rig_run(w, 12 * NS_PER_MIN);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_EVENT), 1);
    rig_run(w, 60 * NS_PER_MIN);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_EVENT), 0);
    ck_assert_int_eq(vclock_next(&w->clock), NS_NEVER); /* an idle world is idle */
    sim_world_free(w);
}
END_TEST

UNIT_MAIN("sim_clock", UNIT_TEST(events_come_in_order),
          UNIT_TEST(streams_of_chance_are_independent), UNIT_TEST(a_seed_is_a_world),
          UNIT_TEST(notes_and_traces), UNIT_TEST(events_expire))
