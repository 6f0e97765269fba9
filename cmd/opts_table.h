/*
 * opts_table.h - the groups of options that commands share: kubectl's own, those for offline
 * input, and those that the agent has too. No name has two meanings.
 */
#ifndef KARP_CMD_OPTS_TABLE_H
#define KARP_CMD_OPTS_TABLE_H

#include "opts.h"

extern const struct opt_group opts_general;    /* -h, -v, --color, --ascii */
extern const struct opt_group opts_connection; /* which cluster, as whom, how long */
extern const struct opt_group opts_output;     /* -o, --no-headers */
extern const struct opt_group opts_watch;      /* -w */
extern const struct opt_group opts_status;     /* --observed */
extern const struct opt_group opts_input;      /* --snapshot, prices, catalog, time */
extern const struct opt_group opts_decision;   /* how the core decides */
extern const struct opt_group opts_what_if;    /* -f, --scale, --set */
extern const struct opt_group opts_consolidate;
extern const struct opt_group opts_pods;     /* -A, --pending */
extern const struct opt_group opts_write;    /* --dry-run, --yes */
extern const struct opt_group opts_pause;    /* --all */
extern const struct opt_group opts_hold;     /* --for, --until, --reason */
extern const struct opt_group opts_cordon;   /* --hold */
extern const struct opt_group opts_decide;   /* --all, --show, --wait, --note, … */
extern const struct opt_group opts_later;    /* --not-before */
extern const struct opt_group opts_grant;    /* --pool, --reason, --schedule, … */
extern const struct opt_group opts_history;  /* --since */
extern const struct opt_group opts_snapshot; /* --redact */
extern const struct opt_group opts_version;
extern const struct opt_group opts_completion; /* --install-dir */

#endif
