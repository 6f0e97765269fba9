/*
 * opts.h - the command line as kubectl's users know it, from tables: parsing, help and (later)
 * completion come from the same rows.
 *
 * A command has groups of options (opts_table.h). Each row says where in struct cmd_opts its value
 * goes. Rules, as cobra and pflag have them:
 *  - --name value, --name=value, -o value, -ovalue, -o=value; short booleans may stand together.
 *  - A boolean takes a value only with "=": true, false, 1, 0, t, f (any of pflag's spellings); so
 *    does a choice.
 *  - Names are never abbreviated. Options and words may be mixed; "--" ends the options.
 *  - The last of two equal options counts; OPT_TEXTS collects all.
 * Messages are kubectl's ("unknown flag: --x", "flag needs an argument: --context").
 *
 * Values are borrowed from argv; only lists lie in the arena.
 */
#ifndef KARP_CMD_OPTS_H
#define KARP_CMD_OPTS_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/kube/config.h"

#include <stdbool.h>

#define OPTS_WORDS_MAX 10000u

enum opt_kind {
    OPT_FLAG,     /* bool */
    OPT_TEXT,     /* const char * */
    OPT_CHOICE,   /* const char *, one of `choices`; without "=" the first of them */
    OPT_TEXTS,    /* struct opt_texts, may be given again */
    OPT_COUNT,    /* int64_t, not negative */
    OPT_DURATION, /* int64_t nanoseconds: "30s", "1h"; a bare number is seconds, as kubectl */
};

struct opt_texts {
    const char **v;
    size_t n, cap;
};

struct opt {
    const char *name;
    char letter; /* 0 = none */
    enum opt_kind kind;
    size_t at;           /* offset of the value in struct cmd_opts */
    const char *arg;     /* placeholder in the help, NULL for flags */
    const char *choices; /* "auto|always|never": nothing else is taken; NULL = anything */
    const char *help;
};

struct opt_group {
    const char *title;
    const struct opt *v;
    size_t n;
};

/* Everything a command line can say. Absent texts are NULL. */
struct cmd_opts {
    struct arena mem;
    bool help;
    /* which cluster, who */
    struct kube_flags kube; /* as_groups is filled when parsing ends */
    struct opt_texts as_groups;
    const char *cache_dir;
    int64_t request_timeout_ns; /* 0 = no limit of ours */
    int64_t verbosity;
    const char *agent_namespace;
    /* output */
    const char *output;
    bool no_headers;
    bool watch;        /* status */
    const char *color; /* auto, always, never */
    bool ascii;
    bool client_only;        /* version */
    const char *install_dir; /* completion */
    /* what to change before looking, what to look at */
    struct opt_texts files, scales, sets;
    bool all_namespaces, pending, redact;
    /* what to take away */
    const char *dry_run; /* client, server, none; NULL = not said */
    struct opt_texts nodepools;
    const char *selector, *reason;
    int64_t max_actions; /* 0 = all */
    bool exit_code, ignore_budgets, show_moves;
    int64_t since_ns; /* history; 0 = all */
    bool observed;
    bool yes;          /* of those that write: do not ask */
    const char *until; /* of Holds; NULL = not said */
    int64_t for_ns;    /* likewise; 0 = not said */
    int64_t hold_ns;   /* cordon: of the nodes' Holds; 0 = none */
    bool all;          /* pause: launches too; approve, deny: every request that waits */
    /* decisions and grants; NULL and 0 = not said */
    const char *note, *on_behalf_of, *not_before;
    bool show, wait, delete;
    int64_t max_nodes; /* of --all */
    struct opt_texts grant_pools, grant_reasons;
    const char *schedule, *time_zone;
    int64_t duration_ns, max_nodes_per_hour;
    /* offline input and facts */
    struct opt_texts snapshots;
    const char *catalog, *prices, *region, *at;
    struct opt_texts types;
    bool no_prices;
    /* decisions, as the agent's flags of the same name */
    const char *feature_gates, *preference_policy, *min_values_policy;
    const char *scheduler_config;
    const char *approval, *placement, *budget_timezone, *min_saving, *rebalance, *expiration;
    const char *repair_threshold, *max_share;
    int64_t spot_min_types; /* 0 = the core's */
    bool return_to_weight;
    int64_t min_node_life_ns, ignore_short_pods_ns, expiration_max_delay_ns;
    int64_t registration_timeout_ns;
    /* words that are no options, the command's own name not among them */
    struct opt_texts words;
};

/* Defaults. opts_done releases. */
void opts_init(struct cmd_opts *o);
void opts_done(struct cmd_opts *o);

/*
 * Reads argv[0..argc). With stop_at_word parsing ends before the first word, whose index is the
 * answer; otherwise argc is. -1 with a message fit for "error: …".
 */
int opts_parse(struct cmd_opts *o, const struct opt_group *groups, size_t n_groups, int argc,
               const char *const *argv, bool stop_at_word, struct err *reterr);

/* The options as help shows them: a title and a line for each. */
void opts_help(const struct opt_group *groups, size_t n_groups, struct buf *out);

/* The row of that name or letter, NULL if there is none. */
const struct opt *opts_find(const struct opt_group *groups, size_t n_groups, const char *name,
                            size_t name_n);

#endif
