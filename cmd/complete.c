/* complete.c - see complete.h. */
#include "complete.h"

#include "common/base/str.h"
#include "opts_table.h"

#include <errno.h>
#include <sys/stat.h>

#define WORD_MAX 64
#define SHIM_NAME "kubectl_complete-karp"
#define SHIM "#!/bin/sh\nexec kubectl-karp __complete \"$@\"\n"
#define NO_FILES ":4\n"
#define FILES ":0\n"

/* ---- what fits ------------------------------------------------------------------------------- */

static void offer(const char *typed, const char *choice, const char *what, struct buf *out)
{
    if (str_starts(choice, typed)) {
        buf_printf(out, "%s\t%s\n", choice, what);
    }
}

static void offer_choices(const char *typed, const char *before, const char *choices,
                          struct buf *out)
{
    char text[128];
    for (const char *c = choices; *c;) {
        size_t n = strcspn(c, "|");
        (void)snprintf(text, sizeof(text), "%s%.*s", before, (int)n, c);
        if (str_starts(text, typed)) {
            buf_printf(out, "%s\n", text);
        }
        c += n + (c[n] == '|');
    }
}

static void offer_options(const struct cmd_info *info, const char *typed, struct buf *out)
{
    char text[128];
    for (size_t g = 0; info->groups[g]; g++) {
        for (size_t i = 0; i < info->groups[g]->n; i++) {
            const struct opt *o = &info->groups[g]->v[i];
            (void)snprintf(text, sizeof(text), "--%s", o->name);
            offer(typed, text, o->help, out);
        }
    }
}

static void offer_kinds(const struct cmd_info *info, const char *typed, struct buf *out)
{
    static const char *const kinds[] = {"pod", "node", "nodeclaim", "nodepool"};
    bool explain = str_eq(info->name, "explain");
    for (size_t i = explain ? 0 : 1; i < ARRAY_LEN(kinds); i++) {
        offer(typed, kinds[i], explain ? "explain it" : "why it left", out);
    }
}

/* ---- where the word stands ------------------------------------------------------------------- */

/* The option that "--name" or "-n" is. */
static const struct opt *option(const struct cmd_info *info, const char *word)
{
    for (size_t g = 0; info->groups[g]; g++) {
        for (size_t i = 0; i < info->groups[g]->n; i++) {
            const struct opt *o = &info->groups[g]->v[i];
            bool is_long = str_starts(word, "--") && str_eq(word + 2, o->name);
            bool is_short = word[0] == '-' && o->letter && word[1] == o->letter && !word[2];
            if (is_long || is_short) {
                return o;
            }
        }
    }
    return NULL;
}

/* Its value is the next word. */
static bool takes_word(const struct opt *o)
{
    return o && o->kind != OPT_FLAG && o->kind != OPT_CHOICE;
}

static bool takes_file(const struct opt *o)
{
    return str_eq(o->arg, "FILE") || str_eq(o->arg, "PATH") || str_eq(o->arg, "DIR");
}

/* "--name=": the option, with these letters in dst; NULL if it is no such word. */
static const struct opt *with_value(const struct cmd_info *info, const char *word,
                                    char dst[WORD_MAX])
{
    const char *is = strchr(word, '=');
    if (!is || word[0] != '-' || is - word + 1 >= WORD_MAX) {
        return NULL;
    }
    (void)snprintf(dst, WORD_MAX, "%.*s", (int)(is - word), word);
    const struct opt *o = option(info, dst);
    (void)snprintf(dst, WORD_MAX, "%.*s", (int)(is - word) + 1, word);
    return o;
}

static const char *complete_value(const struct opt *o, const char *typed, const char *before,
                                  struct buf *out)
{
    if (o->choices) {
        offer_choices(typed, before, o->choices, out);
    }
    return takes_file(o) ? FILES : NO_FILES;
}

static const char *complete_in(const struct cmd_info *info, int n, const char *const *words,
                               struct buf *out)
{
    char before[WORD_MAX];
    const char *typed = words[n - 1];
    const struct opt *last = n > 1 ? option(info, words[n - 2]) : NULL;
    const struct opt *here = with_value(info, typed, before);
    if (takes_word(last)) {
        return complete_value(last, typed, "", out);
    }
    if (here) {
        return complete_value(here, typed, before, out);
    }
    if (typed[0] == '-') {
        offer_options(info, typed, out);
    } else if (n == 1 && (str_eq(info->name, "explain") || str_eq(info->name, "history"))) {
        offer_kinds(info, typed, out);
    }
    return NO_FILES;
}

/* The command among the words before the last, and where; NULL if none is there yet. */
static const struct cmd_info *command_of(const struct cmd_info *const *commands, size_t n_commands,
                                         int n, const char *const *words, int *ret_at)
{
    for (int i = 0; i + 1 < n; i++) {
        for (size_t k = 0; k < n_commands; k++) {
            if (str_eq(words[i], commands[k]->name)) {
                *ret_at = i;
                return commands[k];
            }
        }
    }
    return NULL;
}

void complete_words(const struct cmd_info *const *commands, size_t n_commands, int n,
                    const char *const *words, struct buf *out)
{
    int at = 0;
    const char *end = NO_FILES;
    const struct cmd_info *info = n > 0 ? command_of(commands, n_commands, n, words, &at) : NULL;
    if (info) {
        end = complete_in(info, n - at - 1, words + at + 1, out);
    } else if (n == 1 || (n > 1 && words[0][0] == '-')) {
        for (size_t i = 0; i < n_commands; i++) {
            offer(words[n - 1], commands[i]->name, commands[i]->summary, out);
        }
    }
    buf_puts(out, end);
}

/* ---- the line of shell ----------------------------------------------------------------------- */

static int write_shim(const char *path, struct err *reterr)
{
    FILE *f = fopen(path, "w");
    bool fine = f && fputs(SHIM, f) >= 0;
    fine = f && fclose(f) == 0 && fine;
    if (!fine || chmod(path, 0755) != 0) {
        return err_set(reterr, ERR_UNAVAILABLE, "%s: %s", path, strerror(errno));
    }
    return 0;
}

static int run(struct cmd *c, struct err *reterr)
{
    char path[4096];
    if (c->o->words.n > 0) {
        return err_set(reterr, ERR_INVALID, "completion takes no arguments, \"%s\" is one",
                       c->o->words.v[0]);
    }
    if (!c->o->install_dir) {
        (void)fputs(SHIM, c->out);
        return 0;
    }
    int n = snprintf(path, sizeof(path), "%s/" SHIM_NAME, c->o->install_dir);
    if (n < 0 || (size_t)n >= sizeof(path)) {
        return err_set(reterr, ERR_INVALID, "--install-dir is too long");
    }
    if (write_shim(path, reterr) != 0) {
        return -1;
    }
    (void)fprintf(c->out, "wrote %s\n", path);
    return 0;
}

static const struct opt_group *const groups[] = {&opts_completion, &opts_general, NULL};

const struct cmd_info cmd_completion_info = {
    "completion",
    "Has the shell complete kubectl karp",
    "[flags]",
    "kubectl asks a program " SHIM_NAME " on PATH what may stand behind `kubectl karp`. This\n"
    "prints that program, two lines of shell, or writes it into a folder of PATH. The shell's own\n"
    "completion for kubectl has to be set up (kubectl completion --help).\n"
    "\n"
    "Examples:\n"
    "  kubectl karp completion --install-dir ~/.local/bin\n",
    run,
    groups};
