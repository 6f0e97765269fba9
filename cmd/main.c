/*
 * main.c - kubectl-karp: the table of commands, and what surrounds each of them.
 *
 * As a kubectl plugin it is run by kubectl's execve, so exit code, terminal and signals are ours;
 * help then says "kubectl karp". Exit codes: 0, or 1 for any failure; 2 and 3 are the commands'.
 */
#include "cmd.h"
#include "common/base/str.h"
#include "complete.h"
#include "opts_table.h"

#include <signal.h>
#include <unistd.h>

#define GROUPS_MAX 8
#define HELP_MAX (256u << 10)
#define TYPO_DISTANCE 2

static const struct cmd_info *const commands[] = {
    &cmd_status_info,     &cmd_explain_info, &cmd_consolidate_info, &cmd_simulate_info,
    &cmd_history_info,    &cmd_replace_info, &cmd_cordon_info,      &cmd_uncordon_info,
    &cmd_pause_info,      &cmd_resume_info,  &cmd_hold_info,        &cmd_unhold_info,
    &cmd_approve_info,    &cmd_deny_info,    &cmd_grant_info,       &cmd_snapshot_info,
    &cmd_completion_info, &cmd_version_info};

/* kubectl-karp on PATH is typed "kubectl karp". */
static const char *program(const char *argv0)
{
    const char *slash = argv0 ? strrchr(argv0, '/') : NULL;
    const char *base = slash ? slash + 1 : argv0;
    return base && str_starts(base, "kubectl-") ? "kubectl karp" : "kubectl-karp";
}

/* ---- help ------------------------------------------------------------------------------------ */

static size_t copy_groups(const struct opt_group *const *from, struct opt_group dst[GROUPS_MAX])
{
    size_t n = 0;
    for (; from[n]; n++) {
        if (n == GROUPS_MAX) {
            BUG("more than %d groups of options", GROUPS_MAX);
        }
        dst[n] = *from[n];
    }
    return n;
}

static int print_help(struct cmd *c, const struct buf *text)
{
    (void)fwrite(text->p, 1, text->n, c->out);
    return fflush(c->out) == 0 ? CMD_OK : CMD_FAILED;
}

static int help_all(struct cmd *c)
{
    AUTO_BUF struct buf out;
    buf_init(&out, HELP_MAX);
    buf_printf(&out,
               "karp shows what the node autoscaler does and why.\n\n"
               "Usage:\n  %s COMMAND [flags]\n\nCommands:\n",
               c->prog);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        buf_printf(&out, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
    }
    buf_printf(&out,
               "\nFlags stand behind \"karp\": kubectl takes none before a plugin's name.\n"
               "Use \"%s COMMAND --help\" for the flags of a command.\n",
               c->prog);
    return print_help(c, &out);
}

static int help_one(struct cmd *c, const struct cmd_info *info)
{
    struct opt_group groups[GROUPS_MAX];
    size_t n = copy_groups(info->groups, groups);
    AUTO_BUF struct buf out;
    buf_init(&out, HELP_MAX);
    buf_printf(&out, "%s.\n\nUsage:\n  %s %s %s\n\n%s", info->summary, c->prog, info->name,
               info->usage, info->detail);
    opts_help(groups, n, &out);
    return print_help(c, &out);
}

/* ---- failures -------------------------------------------------------------------------------- */

static int usage_error(struct cmd *c, const struct cmd_info *info, const struct err *err)
{
    (void)fprintf(c->err, "error: %s\nSee '%s%s%s --help' for usage.\n", err->msg, c->prog,
                  info ? " " : "", info ? info->name : "");
    return CMD_FAILED;
}

/* Letters to add, drop or change between two names; at most max + 1. */
static unsigned distance(const char *a, const char *b, unsigned max)
{
    if (str_eq(a, b)) {
        return 0;
    }
    if (max == 0) {
        return 1;
    }
    while (*a && *a == *b) {
        a++;
        b++;
    }
    unsigned best = max;
    if (*a) {
        unsigned d = distance(a + 1, b, max - 1);
        best = d < best ? d : best;
    }
    if (*b) {
        unsigned d = distance(a, b + 1, max - 1);
        best = d < best ? d : best;
    }
    if (*a && *b) {
        unsigned d = distance(a + 1, b + 1, max - 1);
        best = d < best ? d : best;
    }
    return best + 1;
}

static int unknown_command(struct cmd *c, const char *word)
{
    (void)fprintf(c->err, "error: unknown command \"%s\" for \"%s\"\n", word, c->prog);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (distance(commands[i]->name, word, TYPO_DISTANCE) <= TYPO_DISTANCE) {
            (void)fprintf(c->err, "\nDid you mean this?\n\t%s\n", commands[i]->name);
        }
    }
    (void)fprintf(c->err, "See '%s --help' for usage.\n", c->prog);
    return CMD_FAILED;
}

/* ---- running --------------------------------------------------------------------------------- */

static const struct cmd_info *find(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (str_eq(commands[i]->name, word)) {
            return commands[i];
        }
    }
    return NULL;
}

static int run_command(struct cmd *c, struct cmd_opts *o, const struct cmd_info *info, int argc,
                       const char *const *argv)
{
    struct opt_group groups[GROUPS_MAX];
    struct err err = ERR_INIT;
    size_t n = copy_groups(info->groups, groups);
    if (opts_parse(o, groups, n, argc, argv, false, &err) < 0) {
        return usage_error(c, info, &err);
    }
    struct term_env env = term_env_system(STDOUT_FILENO);
    term_init(&c->term, &env, o->color, o->ascii);
    if (o->help) {
        return help_one(c, info);
    }
    if (info->run(c, &err) != 0) {
        (void)fprintf(c->err, "error: %s\n", err.msg);
        return CMD_FAILED;
    }
    return c->code;
}

static int help_words(struct cmd *c, int argc, const char *const *argv)
{
    const struct cmd_info *info = argc > 0 ? find(argv[0]) : NULL;
    if (argc > 0 && !info) {
        return unknown_command(c, argv[0]);
    }
    return info ? help_one(c, info) : help_all(c);
}

static int complete(struct cmd *c, int n, const char *const *words)
{
    AUTO_BUF struct buf out;
    buf_init(&out, HELP_MAX);
    complete_words(commands, ARRAY_LEN(commands), n, words, &out);
    return print_help(c, &out);
}

/* Options may stand before the command's name too, those that every command has. */
static int dispatch(struct cmd *c, struct cmd_opts *o, int argc, const char *const *argv)
{
    const struct opt_group common[] = {opts_connection, opts_output, opts_general};
    struct err err = ERR_INIT;
    if (argc > 0 && str_eq(argv[0], "__complete")) {
        return complete(c, argc - 1, argv + 1);
    }
    int at = opts_parse(o, common, ARRAY_LEN(common), argc, argv, true, &err);
    if (at < 0) {
        return usage_error(c, NULL, &err);
    }
    if (at == argc) {
        return help_all(c);
    }
    if (str_eq(argv[at], "help")) {
        return help_words(c, argc - at - 1, argv + at + 1);
    }
    const struct cmd_info *info = find(argv[at]);
    if (!info) {
        return unknown_command(c, argv[at]);
    }
    return run_command(c, o, info, argc - at - 1, argv + at + 1);
}

int main(int argc, char **argv)
{
    struct kube_env env = kube_env_system();
    struct cmd_opts o;
    /* A broken connection is an answer, not the end; so is a reader of stdout that went away. */
    (void)signal(SIGPIPE, SIG_IGN);
    opts_init(&o);
    struct cmd c = {.prog = program(argc > 0 ? argv[0] : NULL),
                    .o = &o,
                    .env = &env,
                    .clock = &clock_real,
                    .in = isatty(STDIN_FILENO) ? stdin : NULL,
                    .out = stdout,
                    .err = stderr};
    int code = dispatch(&c, &o, argc > 0 ? argc - 1 : 0, (const char *const *)argv + (argc > 0));
    opts_done(&o);
    return code;
}
