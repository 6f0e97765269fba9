/* command_int.h - what command*.c share; nobody else includes it. */
#ifndef KARP_AGENT_COMMAND_INT_H
#define KARP_AGENT_COMMAND_INT_H

#include "agent/work/metrics.h"
#include "command.h"
#include "common/base/map.h"
#include "common/kube/list.h"

#define COMMAND_MARK "DisruptionReason"
#define COMMAND_PODS_MAX 100000
#define COMMAND_UNDONE_MAX 10000

struct command;
struct depart;
struct taint_sweep;

enum member_stage {
    MEMBER_TAINTING,
    MEMBER_MARKED,
    MEMBER_OUT,  /* stays */
    MEMBER_GOING /* its deletion is ordered */
};

struct member {
    struct command *c;
    enum member_stage stage;
    const char *objection; /* of the reading, a literal; NULL = none */
    bool doubtful;
    char *node, *node_uid, *claim, *claim_uid, *pool;
    int64_t pool_generation; /* 0 = not asked for: the command was found after a start */
};

enum command_stage {
    COMMAND_MARKING,
    COMMAND_READING,
    COMMAND_LAUNCHING,
    COMMAND_WAITING,
    COMMAND_DELETING
};

/* A NodeClaim that was created; an order that is still out has no name. */
struct replacement {
    struct command *c;
    char *claim;
    bool ready;      /* counted as Initialized */
    bool registered; /* counted as progress */
};

struct command {
    struct commands *all;
    struct command *next, **prev;
    char id[COMMAND_ID + 1];
    enum disruption_reason reason;
    const char *type;
    char plan[COMMAND_PLAN + 1]; /* "" = none */
    bool independent, undone;
    bool in_vain;                  /* undone for a replacement's sake */
    char trouble[COMMAND_TROUBLE]; /* what was last seen to keep a replacement from being ready */
    enum command_stage stage;
    command_fn end;
    void *ctx;
    struct member *members;
    uint32_t n, open; /* open: answers still to come */
    uint32_t listing; /* member whose pods are being listed, when one by one */
    struct kube_lister *lister;
    struct order **orders; /* not sent yet */
    struct replacement *in;
    uint32_t n_in;
    struct map *planned; /* UIDs of the pods that were planned for */
    struct intent_note {
        char *target, *key, *uid;
    } * moves; /* pods that go to nodes which are there */
    uint32_t n_moves;
    int64_t progress_ns; /* monotonic: when something last went on */
    struct timer look;
};

struct commands {
    struct runtime *rt;
    const struct command *closing; /* whose ends are being told */
    struct command *first;
    struct map *claims;   /* → struct member */
    struct map *by_node;  /* → struct member */
    struct map *incoming; /* claim → struct replacement */
    struct map *undone;   /* IDs that are not gone on with though their marks may still be there */
    struct depart *depart;
    struct taint_sweep *sweep;
    struct timer period;
    struct metric_family *decisions, *failures;
};

struct command_reason {
    enum disruption_reason reason;
    const char *mark;   /* of the condition */
    const char *metric; /* and of logs */
};
const struct command_reason *command_reason_of(enum disruption_reason reason);
const struct command_reason *command_reason_named(const char *mark); /* NULL */

/* command.c */
struct command *command_new(struct commands *all, uint32_t n, uint32_t n_in);
/* Registers the member under its names; false: it has a command already. */
bool command_add(struct command *c, uint32_t i, const char *node, const char *node_uid,
                 const struct nodeclaim *nc, int64_t pool_generation);
void command_undo(struct command *c, const char *why);
/* All members are marked and read: launches, or deletes. */
void command_go(struct command *c);
void command_wait(struct command *c);
void command_put_in(struct command *c, uint32_t i, const char *claim);
void command_close(struct command *c); /* over once no answer is open */
void member_out(struct member *m, const char *why);
/* The pod is an objection to its node leaving by this command; NULL if not. */
const char *member_objection(const struct member *m, const struct pod *p);

/* command_mark.c */
void command_mark(struct command *c, const struct snapshot_node *const *out);

/* command_limit.c */
void commands_keep_limits(struct commands *all);

/* command_recover.c */
#define COMMAND_MESSAGE 192
/* What the mark says beside its reason. */
void command_message(const struct command *c, char dst[COMMAND_MESSAGE]);
void commands_recover(struct commands *all);
/* What the replacement's annotation says; a new reference. */
json_t *command_annotation(const struct command *c);

#endif
