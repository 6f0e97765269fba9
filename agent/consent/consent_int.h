/* consent_int.h - what consent*.c share; nobody else includes it. */
#ifndef KARP_AGENT_CONSENT_INT_H
#define KARP_AGENT_CONSENT_INT_H

#include "agent/work/metrics.h"
#include "agent/work/queue.h"
#include "agent/work/render.h"
#include "common/base/map.h"
#include "common/base/timer.h"
#include "consent.h"

#define CONSENT_ASKED_NS (10 * NS_PER_S) /* an answer to a mark is waited for no longer */

/* What this process knows of a request. Times are monotonic. */
struct note {
    char *uid;
    int64_t rest_ns;    /* not proposed before */
    bool asked, begins; /* it is to be marked Executing; that is on its way */
    int64_t asked_ns, begun_ns;
    bool failed;          /* a replacement came to nothing */
    bool judged, valid;   /* the last plan has it, as it was asked for */
    const char *why;      /* not valid: a literal */
    enum dreq_phase told; /* by an Event */
    bool filed;           /* likewise */
};

struct consent {
    struct runtime *rt;
    struct queue *q;
    struct map *notes; /* request → struct note */
    struct timer timer;
    int64_t writes_ns;  /* monotonic: since when this process may write, roughly */
    int64_t grants_ns;  /* until then nobody else begins by a grant */
    int64_t purge_ns;   /* wall: closed ones that ended by then go */
    uint32_t filing;    /* creations without an answer */
    int64_t refused_ns; /* monotonic: none is tried before, for the last was refused */
    struct metric_family *pending, *oldest;
};

void consent_soon(struct consent *c);
/* Never NULL; good until the request goes. */
struct note *consent_note(struct consent *c, const struct dreq *r);

#endif
