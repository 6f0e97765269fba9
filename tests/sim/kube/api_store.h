/*
 * api_store.h - inside the API server: tables, versions, history; shared by api_*.c, nobody else.
 *
 * A table holds one kind's objects in the order of their keys ("ns/name", bytewise, as in etcd) and
 * the last SIM_API_HISTORY_MAX events. Every stored version is a new json_t that shares what did
 * not change with the one before; so nothing in a stored object may be changed, ever.
 *
 * A request becomes a struct sim_op: who asks for which verb on what, and what the answer is. The
 * functions that serve it fill status and out (the object, or a Status) and return the HTTP status.
 */
#ifndef KARP_SIM_API_STORE_H
#define KARP_SIM_API_STORE_H

#include "api.h"
#include "common/base/map.h"

struct sim_entry {
    enum sim_kind_id kind;
    char *key;        /* "ns/name" or "name" */
    const char *name; /* inside key */
    char *uid;
    json_t *obj;
    int64_t version;
};

struct sim_event {
    uint64_t seq; /* 1, 2, … per table */
    int64_t at_ns;
    int64_t version;
    enum kube_event_type type;
    json_t *before, *after; /* before NULL for ADDED; both for DELETED */
};

struct sim_table {
    struct sim_entry **items;
    size_t n, cap;
    struct sim_event *ring;
    size_t ring_cap;
    uint64_t first_seq, next_seq; /* events kept: [first_seq, next_seq) */
    int64_t lost_version;         /* the newest version that history has forgotten */
    int64_t lag_ns, lag_until_ns; /* sim_api_lag_watches */
};

struct sim_subscriber {
    sim_change_fn fn;
    void *ctx;
};

/* Pages of one LIST, kept for those that come back with a continue token. */
struct sim_pages {
    uint64_t id;
    json_t *items;
    int64_t version;
    int64_t until_ns;
};

#define SIM_API_PAGES_MAX 32
#define SIM_API_PAGES_NS (5 * NS_PER_MIN)

struct sim_watch;
struct sim_request;
struct sim_port;

struct sim_api {
    struct vclock *clock;
    uint64_t chance_state;
    struct entropy chance;
    int64_t version;
    struct sim_table tables[SIM_KINDS];
    struct map *by_uid;
    struct sim_subscriber subs[SIM_API_SUBSCRIBERS_MAX];
    size_t n_subs;
    struct sim_pages pages[SIM_API_PAGES_MAX];
    uint64_t next_pages;
    struct map *counts; /* "who\nverb resource" and "\nverb resource" -> uint64_t * */
    struct sim_api_hooks hooks;
    struct sim_api_delays delays;
    struct sim_watch *watches; /* all, in the order they were opened */
    struct sim_request *requests;
    struct sim_port *ports;
    uint64_t next_handle;
};

/* ---- api_path.c ------------------------------------------------------------------------------ */

#define SIM_PATH_TEXT 512

struct sim_path {
    const struct sim_kind *kind;
    char ns[SIM_PATH_TEXT], name[SIM_PATH_TEXT], sub[64];
    char *label_selector, *field_selector, *continue_token, *version,
        *propagation;                  /* heap or NULL */
    int64_t limit, timeout_s, grace_s; /* 0, 0, -1 = not given */
    bool watch, bookmarks, dry_run, initial_events;
};

/* 0, or an HTTP status: 404 for what is not served, 400 for what cannot be read. */
int sim_path_parse(const char *path, struct sim_path *ret, struct err *reterr);
void sim_path_done(struct sim_path *p);
/* Answers /version, /api, /apis and /apis/GROUP/VERSION; NULL if it is none of them. */
json_t *sim_discovery(const char *path);

/* ---- one request ------------------------------------------------------------------------------
 */

struct sim_op {
    struct sim_api *a;
    const char *who, *verb;
    const struct sim_kind *kind;
    const char *ns, *name, *sub; /* "" where there is none */
    json_t *body;                /* owned by the op, never changed once given; NULL = none */
    const struct sim_path *path; /* NULL for typed calls */
    bool dry_run;
    int status;
    json_t *out; /* new reference */
};

/* Logs and serves the op by its verb; frees body. */
void sim_op_run(struct sim_op *op);

/* ---- api_status.c: refusals. Each sets status and out and returns the HTTP status. ------------
 */

int sim_fail(struct sim_op *op, int code, const char *reason, const char *fmt, ...) PRINTF(4, 5);
int sim_fail_not_found(struct sim_op *op);
int sim_fail_conflict(struct sim_op *op, const char *why);
/* causes: array of {reason, message, field}; reference stolen. */
int sim_fail_invalid(struct sim_op *op, json_t *causes);
int sim_fail_version(struct sim_op *op, int64_t wanted); /* 410 */
json_t *sim_status_success(const struct sim_op *op, const char *uid);
json_t *sim_status_new(int code, const char *reason, const char *message);
void sim_cause(json_t *causes, const char *reason, const char *field, const char *fmt, ...)
    PRINTF(4, 5);

/* ---- api.c: the store --------------------------------------------------------------------------
 */

struct sim_entry *sim_store_find(const struct sim_api *a, enum sim_kind_id kind, const char *ns,
                                 const char *name);
/* Stores obj (stolen) as a new object / the entry's next version / takes the entry out with obj as
 * its last state. obj's metadata.resourceVersion is set here; its top and metadata must be obj's
 * own, not shared with a stored version. */
struct sim_entry *sim_store_add(struct sim_op *op, json_t *obj);
void sim_store_put(struct sim_op *op, struct sim_entry *e, json_t *obj);
void sim_store_remove(struct sim_op *op, struct sim_entry *e, json_t *obj);

/* Shallow copy of an object with its own metadata. */
json_t *sim_own(const json_t *obj);
/* RFC 7386 without touching either side; the result shares with both. New reference. */
json_t *sim_merge(json_t *target, json_t *patch);
/* Sets or, with NULL, removes; value's reference is stolen. */
void sim_set(json_t *obj, const char *key, json_t *value);
const char *sim_meta(const json_t *obj, const char *key); /* metadata.key, "" if absent */
bool sim_has_finalizer(const json_t *obj);

/* ---- api_write.c, api_delete.c, evict.c, api_list.c ---------------------------------------------
 */

int sim_op_create(struct sim_op *op);
int sim_op_update(struct sim_op *op); /* PUT */
int sim_op_patch(struct sim_op *op);
/* The common end of both, on an object that is there; next is borrowed. */
int sim_op_update_to(struct sim_op *op, json_t *next);
int sim_op_scale(struct sim_op *op); /* get, update, patch of the scale subresource */
int sim_op_bind(struct sim_op *op);
int sim_op_delete(struct sim_op *op);
int sim_op_delete_collection(struct sim_op *op);
int sim_op_evict(struct sim_op *op);
int sim_op_get(struct sim_op *op);
int sim_op_list(struct sim_op *op);
/* Both selectors of a list or watch; ERR_INVALID also for fields the kind cannot be selected by. */
int sim_path_selectors(const struct sim_path *p, struct jsonsel *ret_labels,
                       struct jsonsel *ret_fields, struct err *reterr);
/* Deletes an entry gracefully; the common end of delete and evict. grace_s < 0: the object's own.
 */
int sim_delete_entry(struct sim_op *op, struct sim_entry *e, int64_t grace_s,
                     const char *propagation);

/* ---- api_rule.c: defaults and validation per kind
 * ------------------------------------------------ */

/* What admission and the schema fill in, on create and update. obj is owned down to what it sets.
 */
void sim_rule_default(struct sim_op *op, json_t *obj, const json_t *old);
/* What admission plug-ins refuse at creation: 0, or the refusal's status. */
int sim_rule_admit(struct sim_op *op, const json_t *obj);
/* The same for a status that was written: drops what the schema does not know. obj's top is owned.
 */
void sim_rule_status(const struct sim_kind *k, json_t *obj);
/* Array of causes, empty if all is well. old is NULL on create. New reference. */
json_t *sim_rule_check(const struct sim_op *op, const json_t *obj, const json_t *old);
/* True if what counts as desired state differs: metadata.generation goes up. */
bool sim_rule_desired_changed(const struct sim_kind *k, const json_t *obj, const json_t *old);

/* ---- api_watch.c, api_port.c
 * ---------------------------------------------------------------------- */

/* A change was stored: whoever watches is woken up. */
void sim_watch_wake(struct sim_api *a, enum sim_kind_id kind);
uint64_t sim_watch_open(struct sim_port *p, const char *path, kube_event_fn event, kube_end_fn end,
                        void *arg);
bool sim_watch_cancel(struct sim_api *a, const struct sim_port *p, uint64_t handle);
void sim_watch_close_port(struct sim_api *a, const struct sim_port *p);
size_t sim_watch_count(const struct sim_api *a, const struct sim_port *p);
void sim_watch_free_all(struct sim_api *a);

struct sim_port {
    struct kube_port port;
    struct sim_api *a;
    char *who;
    int64_t frozen_until_ns;
    struct sim_port *next;
};
void sim_port_free_all(struct sim_api *a);

/* Counts a call and tells the hook `served`. */
void sim_log_call(struct sim_op *op);

#endif
