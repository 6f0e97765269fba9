/* test_complete.c - what the shell is offered (cmd/complete.h), and the line of shell that asks. */
#include "cmd/complete.h"
#include "cmdrun.h"
#include "common/base/str.h"

#include <sys/stat.h>

static const struct cmd_info *const commands[] = {&cmd_status_info,  &cmd_explain_info,
                                                  &cmd_history_info, &cmd_approve_info,
                                                  &cmd_deny_info,    &cmd_consolidate_info};

static const struct {
    const char *words[4];
    const char *says; /* the whole answer; with "…" in front a part of it */
} rows[] = {
    {{""}, "…approve\tLists plans that wait for a decision, and says yes to them\n"},
    {{"d"}, "deny\tSays no to plans that wait for a decision\n:4\n"},
    {{"x"}, ":4\n"},
    {{NULL}, ":4\n"},
    {{"nothing", ""}, ":4\n"},
    {{"deny", ""}, ":4\n"},
    {{"approve", "--sho"}, "--show\tOnly look\n:4\n"},
    {{"approve", "-"}, "…--note\tWhy, for others\n"},
    {{"deny", "--not-b"}, ":4\n"},
    {{"--context", "prod", "den"}, "deny\tSays no to plans that wait for a decision\n:4\n"},
    {{"explain", "nodep"}, "nodepool\texplain it\n:4\n"},
    {{"history", "p"}, ":4\n"},
    {{"status", "--color", ""}, "auto\nalways\nnever\n:4\n"},
    {{"status", "--color=n"}, "--color=never\n:4\n"},
    {{"status", "--color=x"}, ":4\n"},
    {{"status", "--snapshot", ""}, ":0\n"},
    {{"status", "--snapshot="}, ":0\n"},
    {{"status", "--context", ""}, ":4\n"},
    {{"status", "--ascii", "--colo"}, "--color\tColours on the screen\n:4\n"},
    {{"consolidate", "--dry-run", "--reas"}, "--reason\tDefault: Empty, Underutilized\n:4\n"},
    {{"approve", "--wait", "--nothing=x"}, ":4\n"},
};

START_TEST(offers)
{
    AUTO_BUF struct buf out;
    int n = 0;
    buf_init(&out, 1u << 20);
    while (n < 4 && rows[_i].words[n]) {
        n++;
    }
    complete_words(commands, ARRAY_LEN(commands), n, rows[_i].words, &out);
    buf_putc(&out, '\0');
    const char *says = rows[_i].says;
    if (str_starts(says, "…")) {
        ck_assert_msg(str_contains(out.p, says + strlen("…")), "%s", out.p);
    } else {
        ck_assert_str_eq(out.p, says);
    }
}
END_TEST

/* A word of any length is a word. */
START_TEST(long_word)
{
    AUTO_BUF struct buf out;
    char word[300] = "--";
    buf_init(&out, 1u << 20);
    memset(word + 2, 'x', sizeof(word) - 4);
    word[sizeof(word) - 2] = '=';
    const char *const words[] = {"status", word};
    complete_words(commands, ARRAY_LEN(commands), 2, words, &out);
    buf_putc(&out, '\0');
    ck_assert_str_eq(out.p, ":4\n");
}
END_TEST

START_TEST(installs)
{
    char folder[64], path[128], line[80];
    struct cmdrun r;
    struct stat st;
    unit_path(folder, sizeof(folder), "bin");
    ck_assert_int_eq(mkdir(folder, 0755), 0);
    const char *const args[] = {"--install-dir", folder, NULL};
    cmdrun(&cmd_completion_info, args, NULL, &r);
    ck_assert_msg(r.rc == 0, "%s", r.err.msg);
    cmdrun_done(&r);
    snprintf(path, sizeof(path), "%s/kubectl_complete-karp", folder);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
    ck_assert_str_eq(line, "#!/bin/sh\n");
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
    ck_assert_str_eq(line, "exec kubectl-karp __complete \"$@\"\n");
    fclose(f);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0755);
    const char *const nowhere[] = {"--install-dir", "/nonexistent", NULL};
    cmdrun(&cmd_completion_info, nowhere, NULL, &r);
    ck_assert_int_eq(r.rc, -1);
    ck_assert(str_contains(r.err.msg, "/nonexistent/kubectl_complete-karp: No such file"));
    cmdrun_done(&r);
}
END_TEST

UNIT_MAIN("complete", UNIT_CASES(offers, rows), UNIT_TEST(long_word), UNIT_TEST(installs))
