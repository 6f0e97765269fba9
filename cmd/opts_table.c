/* opts_table.c - see opts_table.h. */
#include "opts_table.h"

#define AT(field) offsetof(struct cmd_opts, field)
#define GROUP(name, title, rows) const struct opt_group name = {title, rows, ARRAY_LEN(rows)}

static const struct opt general[] = {
    {"help", 'h', OPT_FLAG, AT(help), NULL, NULL, "Show this text"},
    {"v", 'v', OPT_COUNT, AT(verbosity), "N", NULL, "Log to stderr; 6 shows every request"},
    {"color", 0, OPT_TEXT, AT(color), "WHEN", "auto|always|never", "Colours on the screen"},
    {"ascii", 0, OPT_FLAG, AT(ascii), NULL, NULL, "No characters beyond ASCII"},
};
GROUP(opts_general, "General", general);

static const struct opt connection[] = {
    {"kubeconfig", 0, OPT_TEXT, AT(kube.kubeconfig), "FILE", NULL,
     "The only kubeconfig file to read"},
    {"context", 0, OPT_TEXT, AT(kube.context), "NAME", NULL, "The kubeconfig's context to use"},
    {"cluster", 0, OPT_TEXT, AT(kube.cluster), "NAME", NULL, "The kubeconfig's cluster to use"},
    {"user", 0, OPT_TEXT, AT(kube.user), "NAME", NULL, "The kubeconfig's user to be"},
    {"namespace", 'n', OPT_TEXT, AT(kube.ns), "NAME", NULL, "Namespace of what is named"},
    {"server", 's', OPT_TEXT, AT(kube.server), "URL", NULL, "Address of the API server"},
    {"tls-server-name", 0, OPT_TEXT, AT(kube.tls_server_name), "NAME", NULL,
     "Name in the server's certificate"},
    {"certificate-authority", 0, OPT_TEXT, AT(kube.certificate_authority), "FILE", NULL,
     "Certificates that vouch for the server"},
    {"insecure-skip-tls-verify", 0, OPT_FLAG, AT(kube.insecure), NULL, NULL,
     "Trust any certificate of the server"},
    {"token", 0, OPT_TEXT, AT(kube.token), "TOKEN", NULL, "Bearer token"},
    {"client-certificate", 0, OPT_TEXT, AT(kube.client_certificate), "FILE", NULL,
     "Certificate to authenticate with"},
    {"client-key", 0, OPT_TEXT, AT(kube.client_key), "FILE", NULL, "Its key"},
    {"username", 0, OPT_TEXT, AT(kube.username), "NAME", NULL, "User for basic authentication"},
    {"password", 0, OPT_TEXT, AT(kube.password), "TEXT", NULL, "Its password"},
    {"as", 0, OPT_TEXT, AT(kube.as), "USER", NULL, "User to impersonate"},
    {"as-uid", 0, OPT_TEXT, AT(kube.as_uid), "UID", NULL, "UID to impersonate"},
    {"as-group", 0, OPT_TEXTS, AT(as_groups), "GROUP", NULL,
     "Group to impersonate, may be repeated"},
    {"request-timeout", 0, OPT_DURATION, AT(request_timeout_ns), "TIME", NULL,
     "Longest wait for one answer; 0 is 30s"},
    {"disable-compression", 0, OPT_FLAG, AT(kube.disable_compression), NULL, NULL,
     "Ask for uncompressed answers"},
    {"cache-dir", 0, OPT_TEXT, AT(cache_dir), "DIR", NULL, "As kubectl's; nothing is cached"},
    {"agent-namespace", 0, OPT_TEXT, AT(agent_namespace), "NAME", NULL,
     "Where karp-agent lives (karp)"},
};
GROUP(opts_connection, "Connection", connection);

static const struct opt output[] = {
    {"output", 'o', OPT_TEXT, AT(output), "FORMAT", NULL,
     "json, yaml, name, wide or jsonpath=TEMPLATE"},
    {"no-headers", 0, OPT_FLAG, AT(no_headers), NULL, NULL, "Tables without their heads"},
};
GROUP(opts_output, "Output", output);

static const struct opt watching[] = {
    {"watch", 'w', OPT_FLAG, AT(watch), NULL, NULL,
     "Go on, and show it again when something has changed; q or Ctrl-C ends"},
};
GROUP(opts_watch, "Watching", watching);

static const struct opt status[] = {
    {"observed", 0, OPT_FLAG, AT(observed), NULL, NULL,
     "What an agent in mode observe would have done, beside what was done"},
};
GROUP(opts_status, "Status", status);

static const struct opt input[] = {
    {"snapshot", 0, OPT_TEXTS, AT(snapshots), "PATH", NULL,
     "Read objects from a file or folder instead of a cluster, may be repeated"},
    {"catalog", 0, OPT_TEXT, AT(catalog), "FILE", NULL,
     "Instance types: DescribeInstanceTypes JSON, or types with offerings"},
    {"prices", 0, OPT_TEXT, AT(prices), "FILE", NULL,
     "Prices in place of the built-in ones: {\"region\", \"asOf\", \"onDemand\", \"spot\"}"},
    {"no-prices", 0, OPT_FLAG, AT(no_prices), NULL, NULL, "Show no money"},
    {"types", 0, OPT_TEXTS, AT(types), "GLOB,...", NULL, "Only these instance types"},
    {"region", 0, OPT_TEXT, AT(region), "NAME", NULL, "AWS region of the cluster"},
    {"at", 0, OPT_TEXT, AT(at), "TIME", NULL,
     "Decide as of this time: RFC 3339, or HH:MM for the next such time in UTC"},
};
GROUP(opts_input, "Input", input);

/* Of the agent's, so that its flags can be given as they are. */
#define UNUSED_HERE "Accepted; no answer depends on it"

static const struct opt decision[] = {
    {"feature-gates", 0, OPT_TEXT, AT(feature_gates), "LIST", NULL, "As the agent's"},
    {"preference-policy", 0, OPT_TEXT, AT(preference_policy), "POLICY", "Respect|Ignore|Reasonable",
     "What preferences count for"},
    {"min-values-policy", 0, OPT_TEXT, AT(min_values_policy), "POLICY", "Strict|BestEffort",
     "What minValues count for"},
    {"scheduler-config", 0, OPT_TEXT, AT(scheduler_config), "YAML", NULL,
     "Spread constraints of pods that declare none"},
    {"approval", 0, OPT_TEXT, AT(approval), "WHAT", NULL, "As karp.dev/disruption-approval"},
    {"placement", 0, OPT_TEXT, AT(placement), "HOW", "Compatible|Cheapest",
     "As karp.dev/placement"},
    {"budget-timezone", 0, OPT_TEXT, AT(budget_timezone), "ZONE", NULL,
     "As karp.dev/budget-timezone"},
    {"min-saving", 0, OPT_TEXT, AT(min_saving), "AMOUNT", NULL, "As karp.dev/min-saving"},
    {"min-node-life", 0, OPT_DURATION, AT(min_node_life_ns), "TIME", NULL,
     "As karp.dev/min-node-life"},
    {"ignore-short-pods", 0, OPT_DURATION, AT(ignore_short_pods_ns), "TIME", NULL, UNUSED_HERE},
    {"return-to-weight", 0, OPT_FLAG, AT(return_to_weight), NULL, NULL,
     "As karp.dev/return-to-weight"},
    {"rebalance", 0, OPT_TEXT, AT(rebalance), "HOW", "Ignore|Replace", UNUSED_HERE},
    {"expiration", 0, OPT_TEXT, AT(expiration), "HOW", "Forceful|Budgeted", UNUSED_HERE},
    {"expiration-max-delay", 0, OPT_DURATION, AT(expiration_max_delay_ns), "TIME", NULL,
     UNUSED_HERE},
    {"registration-timeout", 0, OPT_DURATION, AT(registration_timeout_ns), "TIME", NULL,
     "As karp.dev/registration-timeout"},
    {"repair-threshold", 0, OPT_TEXT, AT(repair_threshold), "SHARE", NULL, UNUSED_HERE},
    {"spot-min-types", 0, OPT_COUNT, AT(spot_min_types), "N", NULL,
     "Cheaper types that spot is replaced by spot for (15)"},
    {"max-share", 0, OPT_TEXT, AT(max_share), "SHARE", NULL, "As karp.dev/max-share"},
};
GROUP(opts_decision, "Decisions", decision);

static const struct opt what_if[] = {
    {"filename", 'f', OPT_TEXTS, AT(files), "PATH", NULL,
     "Objects to add or to put in place of those there are; - is standard input"},
    {"scale", 0, OPT_TEXTS, AT(scales), "NS/[KIND/]NAME=N", NULL,
     "Give a workload so many pods, may be repeated"},
    {"set", 0, OPT_TEXTS, AT(sets), "KIND/NAME.PATH=VALUE", NULL,
     "Change one field of an object, may be repeated"},
};
GROUP(opts_what_if, "What if", what_if);

static const struct opt consolidate[] = {
    {"dry-run", 0, OPT_CHOICE, AT(dry_run), NULL, "client|server|none",
     "Only show the plan: needed"},
    {"nodepool", 0, OPT_TEXTS, AT(nodepools), "NAME", NULL,
     "Only nodes of this NodePool may leave, may be repeated"},
    {"selector", 'l', OPT_TEXT, AT(selector), "LABELS", NULL, "Only nodes with these labels"},
    {"reason", 0, OPT_TEXT, AT(reason), "WHY", "Empty|Underutilized|Drifted|All",
     "Default: Empty, Underutilized"},
    {"max-actions", 0, OPT_COUNT, AT(max_actions), "N", NULL, "Show the first N actions only"},
    {"ignore-budgets", 0, OPT_FLAG, AT(ignore_budgets), NULL, NULL,
     "As if no NodePool had a disruption budget"},
    {"show-moves", 0, OPT_FLAG, AT(show_moves), NULL, NULL, "List every pod that would move"},
    {"exit-code", 0, OPT_FLAG, AT(exit_code), NULL, NULL, "Exit with 2 if there is an action"},
};
GROUP(opts_consolidate, "Consolidation", consolidate);

static const struct opt pods[] = {
    {"all-namespaces", 'A', OPT_FLAG, AT(all_namespaces), NULL, NULL, "Pods of every namespace"},
    {"pending", 0, OPT_FLAG, AT(pending), NULL, NULL, "All pods that wait, grouped by cause"},
};
GROUP(opts_pods, "Pods", pods);

static const struct opt writing[] = {
    {"dry-run", 0, OPT_CHOICE, AT(dry_run), NULL, "client|server|none",
     "client: only say what would be written; server: have the server check it too"},
    {"yes", 'y', OPT_FLAG, AT(yes), NULL, NULL, "Do not ask"},
};
GROUP(opts_write, "Writing", writing);

static const struct opt pause[] = {
    {"all", 0, OPT_FLAG, AT(all), NULL, NULL, "Launch no nodes either"},
};
GROUP(opts_pause, "Pause", pause);

static const struct opt hold[] = {
    {"for", 0, OPT_DURATION, AT(for_ns), "TIME", NULL, "Ends by itself after: 30m, 4h, 3d"},
    {"until", 0, OPT_TEXT, AT(until), "TIME", NULL,
     "Ends by itself at: RFC 3339, or HH:MM for the next such time in UTC"},
    {"reason", 0, OPT_TEXT, AT(reason), "TEXT", NULL, "Why, for others"},
};
GROUP(opts_hold, "Hold", hold);

static const struct opt cordon[] = {
    {"hold", 0, OPT_DURATION, AT(hold_ns), "TIME", NULL,
     "Of nodes: hold them, too, for so long: 30m, 4h, 3d"},
};
GROUP(opts_cordon, "Cordon", cordon);

static const struct opt decide[] = {
    {"all", 0, OPT_FLAG, AT(all), NULL, NULL, "Every request that waits"},
    {"max-nodes", 0, OPT_COUNT, AT(max_nodes), "N", NULL,
     "With --all: only as many requests as take no more nodes than this"},
    {"show", 0, OPT_FLAG, AT(show), NULL, NULL, "Only look"},
    {"wait", 0, OPT_FLAG, AT(wait), NULL, NULL, "Follow it until it is over"},
    {"note", 0, OPT_TEXT, AT(note), "TEXT", NULL, "Why, for others"},
    {"on-behalf-of", 0, OPT_TEXT, AT(on_behalf_of), "NAME", NULL,
     "For bots: whose decision it is; shown as a claim"},
};
GROUP(opts_decide, "Decision", decide);

static const struct opt later[] = {
    {"not-before", 0, OPT_TEXT, AT(not_before), "TIME", NULL,
     "Counts from then on: RFC 3339, or HH:MM for the next such time in UTC"},
};
GROUP(opts_later, "Time", later);

static const struct opt grant[] = {
    {"pool", 0, OPT_TEXTS, AT(grant_pools), "NAME,...", NULL,
     "NodePools that it is about, \"*\" for every one; may be repeated"},
    {"reason", 0, OPT_TEXTS, AT(grant_reasons), "WHY,...", NULL,
     "Underutilized, Drifted, Empty; may be repeated"},
    {"schedule", 0, OPT_TEXT, AT(schedule), "CRON", NULL, "Counts only in windows that begin so"},
    {"duration", 0, OPT_DURATION, AT(duration_ns), "TIME", NULL, "How long such a window is: 8h"},
    {"time-zone", 0, OPT_TEXT, AT(time_zone), "ZONE", NULL, "Of the schedule (UTC)"},
    {"max-nodes-per-hour", 0, OPT_COUNT, AT(max_nodes_per_hour), "N", NULL,
     "No more nodes leave by it within an hour"},
    {"for", 0, OPT_DURATION, AT(for_ns), "TIME", NULL, "Ends by itself after: 8h, 30d"},
    {"expires", 0, OPT_TEXT, AT(until), "TIME", NULL,
     "Ends by itself at: RFC 3339, or HH:MM for the next such time in UTC"},
    {"note", 0, OPT_TEXT, AT(note), "TEXT", NULL, "Why, for others"},
    {"delete", 0, OPT_FLAG, AT(delete), NULL, NULL, "Take it back"},
};
GROUP(opts_grant, "Grant", grant);

static const struct opt history[] = {
    {"since", 0, OPT_DURATION, AT(since_ns), "TIME", NULL,
     "Only what left within this time: 30m, 24h, 3d"},
};
GROUP(opts_history, "History", history);

static const struct opt snapshot[] = {
    {"redact", 0, OPT_FLAG, AT(redact), NULL, NULL,
     "Replace names, labels and the like by others; leave out what no decision needs"},
};
GROUP(opts_snapshot, "Snapshot", snapshot);

static const struct opt version[] = {
    {"client", 0, OPT_FLAG, AT(client_only), NULL, NULL, "Only this program's version"},
};
GROUP(opts_version, "Version", version);

static const struct opt completion[] = {
    {"install-dir", 0, OPT_TEXT, AT(install_dir), "DIR", NULL,
     "A folder of PATH: write it there as kubectl_complete-karp"},
};
GROUP(opts_completion, "Completion", completion);
