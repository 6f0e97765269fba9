/*
 * cmd.h - what every command gets, and the commands.
 *
 * A command returns 0, or -1 with *reterr, which main prints as "error: …" with exit code 1; other
 * codes come from the command itself through `code`. Data goes to `out`, everything else to `err`.
 * Nothing is global: main fills a struct cmd, tests their own.
 */
#ifndef KARP_CMD_CMD_H
#define KARP_CMD_CMD_H

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/kube/config.h"
#include "opts.h"
#include "term.h"

enum cmd_code { CMD_OK = 0, CMD_FAILED = 1, CMD_FINDINGS = 2, CMD_REFUSED = 3 };

struct cmd {
    const char *prog; /* "kubectl karp", or "kubectl-karp" when run by its own name */
    const struct cmd_opts *o;
    const struct kube_env *env;
    const struct clock *clock;
    struct term term;
    FILE *out, *err;
    FILE *in; /* a person who can be asked; NULL = there is none */
    int code; /* exit code if the command succeeds */
};

struct cmd_info {
    const char *name, *summary, *usage; /* usage: what follows the name */
    const char *detail;                 /* paragraphs of the help, ends with a newline */
    int (*run)(struct cmd *c, struct err *reterr);
    const struct opt_group *const *groups; /* NULL-terminated */
};

extern const struct cmd_info cmd_status_info;
extern const struct cmd_info cmd_explain_info;
extern const struct cmd_info cmd_simulate_info;
extern const struct cmd_info cmd_consolidate_info;
extern const struct cmd_info cmd_history_info;
extern const struct cmd_info cmd_replace_info;
extern const struct cmd_info cmd_cordon_info;
extern const struct cmd_info cmd_uncordon_info;
extern const struct cmd_info cmd_pause_info;
extern const struct cmd_info cmd_resume_info;
extern const struct cmd_info cmd_hold_info;
extern const struct cmd_info cmd_unhold_info;
extern const struct cmd_info cmd_approve_info;
extern const struct cmd_info cmd_deny_info;
extern const struct cmd_info cmd_grant_info;
extern const struct cmd_info cmd_snapshot_info;
extern const struct cmd_info cmd_completion_info;
extern const struct cmd_info cmd_version_info;

/* "warning: …" on err. */
void cmd_warn(const struct cmd *c, const char *fmt, ...) PRINTF(2, 3);

#endif
