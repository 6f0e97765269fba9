/* test_follow.c - `-w`: blocks where something has changed, errors that pass (cmd/status/follow.h).
 */
#include "cmd/status/follow.h"
#include "common/base/str.h"
#include "unit.h"

static const struct {
    const char *a, *b;
    bool differs;
} rows[] = {
    {"", "", false},
    {"3 nodes", "4 nodes", true},
    {"synced 2s ago", "synced 7s ago", false},
    {"synced 59s ago", "synced 1m2s ago", false},
    {"AGE\n3d4h   x", "AGE\n12m    x", false},
    {"AGE\n3d4h   x", "AGE\n12m    y", true},
    {"i-3d 1", "i-4d 1", false}, /* a word of its own, as far as can be seen */
    {"m5d4x", "m5d5x", true},
    {"node3d", "node4d", true},
    {"3dx", "4dx", true},
    {"1 pod", "1 pod waits", true},
    {"in 4h12m", "in 4h12m more", true},
    {"$0.123/h", "$0.124/h", true},
};

START_TEST(differs)
{
    ck_assert_msg(follow_differs(rows[_i].a, rows[_i].b) == rows[_i].differs, "%s, %s", rows[_i].a,
                  rows[_i].b);
    ck_assert(follow_differs(rows[_i].b, rows[_i].a) == rows[_i].differs);
}
END_TEST

static const char *const *script;

/* The next line of the script; "!x" fails with x. */
static int once(struct cmd *c, struct err *reterr)
{
    const char *line = *script++;
    if (*line == '!') {
        return err_set(reterr, ERR_UNAVAILABLE, "%s", line + 1);
    }
    return fputs(line, c->out) < 0;
}

static const struct {
    const char *lines[8];
    unsigned rounds;
    bool tty;
    int rc;
    const char *out, *said;
} plays[] = {
    {{"a\n"}, 1, false, 0, "a\n", ""},
    {{"a\n", "a\n", "b\n"}, 3, false, 0, "a\n\nb\n", ""},
    {{"a 1s\n", "a 9s\n"}, 2, false, 0, "a 1s\n", ""},
    {{"a 1s\n", "a 9s\n"}, 2, true, 0, "\033[H\033[2Ja 1s\n\033[H\033[2Ja 9s\n", ""},
    {{"a\n", "!gone", "a\n", "b\n"}, 4, false, 0, "a\n\nb\n", "warning: gone\n"},
    {{"!gone"}, 3, false, -1, "", ""},
};

START_TEST(rounds)
{
    char *out = NULL, *said = NULL;
    size_t n_out, n_said;
    struct err err = ERR_INIT;
    struct cmd c = {.out = open_memstream(&out, &n_out), .err = open_memstream(&said, &n_said)};
    c.term.tty = plays[_i].tty;
    script = plays[_i].lines;
    ck_assert_int_eq(follow_run(&c, once, plays[_i].rounds, 0, &err), plays[_i].rc);
    fclose(c.out);
    fclose(c.err);
    ck_assert_str_eq(out, plays[_i].out);
    ck_assert_str_eq(said, plays[_i].said);
    ck_assert_msg(plays[_i].rc == 0 || str_eq(err.msg, "gone"), "%s", err.msg);
    free(out);
    free(said);
}
END_TEST

/* A reader that has gone away ends it without a word. */
START_TEST(no_reader)
{
    static const char *const lines[] = {"a\n", "b\n", "c\n", NULL};
    FILE *full = fopen("/dev/full", "w");
    struct err err = ERR_INIT;
    struct cmd c = {.out = full, .err = stderr};
    script = lines;
    ck_assert_ptr_nonnull(full);
    ck_assert_int_eq(follow_run(&c, once, 3, 0, &err), 0);
    ck_assert_ptr_eq(script, lines + 1);
    fclose(full);
}
END_TEST

UNIT_MAIN("follow", UNIT_CASES(differs, rows), UNIT_CASES(rounds, plays), UNIT_TEST(no_reader))
