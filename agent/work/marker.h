/*
 * marker.h - which object the agent is working on, kept where the end of the process cannot take it
 * away; and the objects that are set aside because the process ended twice over them.
 *
 * A bug that one object triggers must not keep the agent from all others. So the object that is
 * being decoded (store.c) or looked at by a controller (queue.c) stands in a page of memory that
 * outlives the process (struct marker_port). A process that finds an open mark there at its start
 * knows over what the one before it died, whatever the way: a signal, abort, no memory left, a loop
 * without end that a probe cut short. A message of the queue is not marked.
 *
 *   once    the object is worked on as ever
 *   twice   it is set aside: only its identity is kept (bare.h), so that nothing is launched for it
 *           and nothing removed because of what it no longer says; no controller looks at it. The
 *           pool of a claim or node that is set aside launches nothing (poolgate.h): what it holds
 *           of the limits is not known.
 *   bare, and again: it is left out altogether
 *
 * A decision about the whole cluster is marked as such, turn by turn (kind "Decision"). Where the
 * process ended twice in one, consolidation and replacements rest, and the pods to be placed are
 * planned one workload after the other, each marked as that pod, so that the one over which it ends
 * is found and set aside like any other. Before that a plan for no pods is made: what ends over
 * that is no pod's fault. After MARKER_LIVED_NS without an end all goes on as ever.
 *
 * Everything else is served. An object is tried again, once, when it has changed: its generation,
 * or, where it has none (Nodes), its resourceVersion, but those at most MARKER_TRIES times; or when
 * it is another one by UID; or with another version of karp. Pods of one controller count as one
 * object, since one template made them: they are set aside together, until that is another
 * controller. Deleting the file, or the agent's Pod with its emptyDir, forgets everything. A
 * process that has lived for MARKER_LIVED_NS forgets what is not set aside then: two ends that far
 * apart have nothing to do with each other.
 *
 * What is set aside is told: log, Event SetAside once an hour, karp_attention{code=ObjectSetAside},
 * facts.json.
 *
 * Costs nothing without a page; with one, a few hundred bytes are copied per object.
 */
#ifndef KARP_AGENT_MARKER_H
#define KARP_AGENT_MARKER_H

#include "agent/store/store.h"
#include "common/base/buf.h"
#include "common/base/clock.h"

#define MARKER_FILE "karp-agent.marker"
#define MARKER_ATTENTION "ObjectSetAside"
#define MARKER_CRASHES 2
#define MARKER_TRIES 5
#define MARKER_ROWS_MAX 64u /* the oldest that is not set aside goes first */
#define MARKER_LIVED_NS NS_PER_H
#define MARKER_TELL_NS NS_PER_MIN
#define MARKER_EVENT_NS NS_PER_H

struct marker;

/* ---- the page ---------------------------------------------------------------------------------
 */

struct marker_object {
    char kind[48];
    char key[512]; /* "name" or "ns/name" */
    char uid[64];
    char version[32]; /* "g3": generation, "r812": resourceVersion */
    char owner[64];   /* Pods: UID of the controller */
};

struct marker_row {
    struct marker_object of;
    uint32_t crashes;
    uint32_t bare; /* of them, while only its identity was kept */
};

/* Only this module writes it; content that it did not write is taken for none. */
struct marker_page {
    char format[16];
    char program[40]; /* version of karp that wrote it */
    uint32_t open;    /* now is being worked on */
    uint32_t bare;
    uint32_t alone; /* now is what a decision is about, alone */
    struct marker_object now;
    uint32_t n;
    struct marker_row rows[MARKER_ROWS_MAX];
};

struct marker_port {
    struct marker_page *page;
    const char *where; /* for people: the file */
    /* Told of every mark, NULL = nobody. False: the process is over at this very point, so nothing
     * more is done in it. It is a simulator's way to die; a real process is not asked. */
    bool (*on_mark)(void *ctx, const struct marker_page *page);
    void *ctx;
};

/* ---- use --------------------------------------------------------------------------------------
 */

/* NULL or a port without page: marks nothing. Counts a mark that it finds open. The port is
 * borrowed. */
struct marker *marker_new(struct runtime *rt, const struct marker_port *port);
void marker_free(struct marker *m); /* an open mark stays open; NULL is fine */
void marker_start(struct marker *m);

enum marker_how { MARKER_WHOLE, MARKER_BARE, MARKER_LEAVE_OUT };

/* Work on an object as the API server shows it begins, unless it is to be left out. m may be NULL,
 * here and below. */
enum marker_how marker_object(struct marker *m, enum store_kind kind, const char *key,
                              const json_t *object);
/* A controller's look begins; false: leave it alone. */
bool marker_look(struct marker *m, enum store_kind kind, const char *key);
#define MARKER_PROVISION "provisioning"
#define MARKER_PROVISION_NONE "provisioning for no pods"
#define MARKER_REPLACE "replacement"
#define MARKER_CONSOLIDATE "consolidation"

/* A turn of a decision begins: about all there is, or about the workload of this pod ("ns/name")
 * alone. False: leave it; the process is over, or the workload set aside. */
bool marker_decide(struct marker *m, const char *decision, const char *pod);
/* The process ended in it again and again. */
bool marker_rests(const struct marker *m, const char *decision);
/* What of it is known is not enough to write it (a merge patch replaces lists). */
bool marker_is_aside(const struct marker *m, const char *kind, const char *ns, const char *name);
/* The work is done. */
void marker_done(struct marker *m);
/* It is no longer there. */
void marker_gone(struct marker *m, enum store_kind kind, const char *key);

/* NULL, or why nothing is launched in this pool (good until the next call of this module). */
const char *marker_pool_closed(const struct marker *m, const char *pool);
/* What is set aside, by index; false at the end. object is "nodepool/name", "decision/name". */
bool marker_aside(const struct marker *m, size_t i, struct buf *ret_object, struct buf *ret_text);

#endif
