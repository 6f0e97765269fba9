/* test_err.c - filling, wrapping, cutting; BUG aborts */
#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/arena.h"
#include "common/base/err.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(sets_and_wraps)
{
    struct err e = {.kind = ERR_GONE, .http = 410, .os = 5, .retry_after_ns = 9, .code = "X"};
    ck_assert_int_eq(err_set(&e, ERR_INVALID, "field %s", "a"), -1);
    ck_assert_int_eq(e.kind, ERR_INVALID);
    ck_assert(e.http == 0 && e.os == 0 && e.retry_after_ns == 0);
    ck_assert_str_eq(e.code, "");
    ck_assert_str_eq(e.msg, "field a");
    e.http = 422;
    err_code(&e, "Invalid");
    ck_assert_int_eq(err_wrap(&e, "nodepool %d", 7), -1);
    ck_assert_str_eq(e.msg, "nodepool 7: field a");
    ck_assert_int_eq(e.http, 422);
    ck_assert_str_eq(e.code, "Invalid");
    err_set(&e, ERR_LIMIT, "was: %s", e.msg);
    ck_assert_str_eq(e.msg, "was: nodepool 7: field a");
    err_wrap(&e, "%s", e.msg);
    ck_assert_str_eq(e.msg, "was: nodepool 7: field a: was: nodepool 7: field a");
    err_clear(&e);
    ck_assert(e.kind == ERR_NONE && e.msg[0] == '\0');
}
END_TEST

START_TEST(null_is_fine)
{
    ck_assert_int_eq(err_set(NULL, ERR_INVALID, "x"), -1);
    ck_assert_int_eq(err_wrap(NULL, "x"), -1);
    err_code(NULL, "x");
    err_clear(NULL);
    ck_assert(!err_transient(NULL));
}
END_TEST

/* A message of n copies of a character of two bytes, with a prefix that shifts it. */
static const struct {
    const char *prefix;
    int n;
    size_t want_len;
    bool cut;
} cut_rows[] = {
    {"", 239, 478, false}, {"x", 239, 479, false}, {"", 240, 479, true},
    {"x", 240, 478, true}, {"xx", 239, 479, true}, {"", 5000, 479, true},
};

START_TEST(cuts_between_characters)
{
    AUTO_FREE char *text = NEW_N(char, 2 * (size_t)cut_rows[_i].n + 1);
    for (int i = 0; i < cut_rows[_i].n; i++) {
        memcpy(text + 2 * i, "\xc3\xa9", 2);
    }
    struct err e = ERR_INIT;
    err_set(&e, ERR_INVALID, "%s%s", cut_rows[_i].prefix, text);
    ck_assert_uint_eq(strlen(e.msg), cut_rows[_i].want_len);
    const char *end = e.msg + strlen(e.msg) - 3;
    ck_assert_int_eq(strcmp(end, "\xe2\x80\xa6") == 0, cut_rows[_i].cut);
    if (cut_rows[_i].cut) {
        ck_assert_int_eq(memcmp(end - 2, "\xc3\xa9", 2), 0);
    }
    err_wrap(&e, "%s", text);
    ck_assert_uint_ge(strlen(e.msg), 478);
    ck_assert_str_eq(e.msg + strlen(e.msg) - 3, "\xe2\x80\xa6");
}
END_TEST

static const struct {
    enum err_kind kind;
    const char *name;
    bool transient;
} kind_rows[] = {
    {ERR_NONE, "None", false},
    {ERR_INVALID, "Invalid", false},
    {ERR_NOT_FOUND, "NotFound", false},
    {ERR_EXISTS, "Exists", false},
    {ERR_CONFLICT, "Conflict", false},
    {ERR_FORBIDDEN, "Forbidden", false},
    {ERR_UNAUTHENTICATED, "Unauthenticated", false},
    {ERR_GONE, "Gone", false},
    {ERR_THROTTLED, "Throttled", true},
    {ERR_UNAVAILABLE, "Unavailable", true},
    {ERR_TIMEOUT, "Timeout", true},
    {ERR_CAPACITY, "Capacity", false},
    {ERR_LIMIT, "Limit", false},
    {ERR_CANCELLED, "Cancelled", false},
    {ERR_BUG, "Bug", false},
    {(enum err_kind)(ERR_BUG + 1), "Unknown", false},
};

START_TEST(kinds)
{
    struct err e = {.kind = kind_rows[_i].kind};
    ck_assert_str_eq(err_kind_name(e.kind), kind_rows[_i].name);
    ck_assert_int_eq(err_transient(&e), kind_rows[_i].transient);
}
END_TEST

static void plain_bug(void)
{
    BUG("number %d", 5);
}

static void huge_array(void)
{
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    arena_alloc_n(&a, SIZE_MAX / 4, 8);
}

static void foreign_mark(void)
{
    struct arena a;
    struct arena b;
    arena_init(&a, 0, SIZE_MAX);
    arena_init(&b, 0, SIZE_MAX);
    arena_alloc(&a, 1);
    arena_alloc(&b, 1);
    arena_rewind(&a, arena_mark(&b));
}

static void heap_overflow(void)
{
    free(xcalloc(SIZE_MAX / 4, 8));
}

static const struct {
    void (*fn)(void);
    const char *says;
} bug_rows[] = {
    {plain_bug, "number 5\n"},
    {huge_array, "arena allocation of "},
    {foreign_mark, "arena_rewind: "},
    {heap_overflow, "out of memory"},
};

/* In a child whose stderr is a pipe. */
START_TEST(bugs_abort)
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(fds[1], STDERR_FILENO);
        bug_rows[_i].fn();
        _exit(0);
    }
    close(fds[1]);
    char said[512] = "";
    size_t n = 0;
    ssize_t got;
    while (n < sizeof(said) - 1 && (got = read(fds[0], said + n, sizeof(said) - 1 - n)) > 0) {
        n += (size_t)got;
    }
    close(fds[0]);
    int status = 0;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    ck_assert_ptr_nonnull(strstr(said, bug_rows[_i].fn == heap_overflow ? "out of" : "BUG: "));
    ck_assert_ptr_nonnull(strstr(said, bug_rows[_i].says));
}
END_TEST

UNIT_MAIN("err", UNIT_TEST(sets_and_wraps), UNIT_TEST(null_is_fine),
          UNIT_CASES(cuts_between_characters, cut_rows), UNIT_CASES(kinds, kind_rows),
          UNIT_CASES(bugs_abort, bug_rows))
