/* approve_wait.c - `--wait`: a request, followed to its end. See approve_int.h. */
#include "approve_int.h"
#include "cmd/screen.h"
#include "cmd/status/money.h"
#include "cmd/table.h"
#include "common/base/clock.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#include <time.h>

#define PATH "/apis/karp.dev/v1alpha1/disruptionrequests/"

static struct dreq *look(struct approver *x, const char *name, struct err *reterr)
{
    const char *path = arena_printf(x->a, PATH "%s", name);
    AUTO_JSON json_t *o = connect_get(&x->n, path, reterr);
    return o ? decode_dreq(x->w->decoder, o, reterr) : NULL;
}

static int64_t now_ns(const struct approver *x)
{
    return clock_wall(x->c->clock) + x->w->skew_ns;
}

static void nap(int ms)
{
    const struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

/* "Approved" once it is decided, also before the agent has looked. */
static const char *stage(const struct dreq *r)
{
    bool decided = r->phase == DREQ_PENDING && r->decision != DREQ_UNDECIDED;
    return !decided ? dreq_phase_name(r->phase) : r->decision == DREQ_YES ? "Approved" : "Denied";
}

static void put_end(struct approver *x, const struct dreq *r)
{
    if (r->phase == DREQ_SUCCEEDED && r->saving_pusd_h != PRICE_UNKNOWN) {
        (void)fprintf(x->c->out, "   saved %s", screen_hour(x->a, r->saving_pusd_h, false, ""));
    } else if (*r->superseded_by) {
        (void)fprintf(x->c->out, "   by %s", text_safe(x->a, r->superseded_by));
    }
    (void)fprintf(x->c->out, "\n");
    (void)fflush(x->c->out);
}

/* Whether that was the last that there is to say. */
static bool is_end(const struct approver *x, const struct dreq *r)
{
    return r->phase > DREQ_EXECUTING || (x->deny && r->decision == DREQ_NO) ||
           dreq_expired(r, now_ns(x));
}

static int ended(struct approver *x, const struct dreq *r, struct err *reterr)
{
    bool fine = x->deny ? r->decision == DREQ_NO : r->phase == DREQ_SUCCEEDED;
    put_end(x, r);
    return fine ? 0
                : err_set(reterr, ERR_INVALID, "%s: %s", r->m.name,
                          r->phase > DREQ_EXECUTING ? dreq_phase_name(r->phase)
                                                    : "expired before it was carried out");
}

int approve_wait(struct approver *x, const char *name, int interval_ms, struct err *reterr)
{
    const char *was = NULL;
    int64_t since_ns = now_ns(x);
    for (;;) {
        struct dreq *r = look(x, name, reterr);
        if (!r) {
            (void)fputs(was ? "\n" : "", x->c->out);
            return -1;
        }
        const char *is = stage(r);
        if (!was) {
            (void)fprintf(x->c->out, "%s  %s", text_safe(x->a, name), is);
        } else if (!str_eq(was, is)) {
            (void)fprintf(x->c->out, " (%s) > %s", screen_age(x->a, now_ns(x) - since_ns), is);
            since_ns = now_ns(x);
        }
        (void)fflush(x->c->out);
        was = arena_strdup(x->a, is);
        bool end = is_end(x, r);
        int rc = end ? ended(x, r, reterr) : 0;
        decode_dreq_free(r);
        if (end) {
            return rc;
        }
        nap(interval_ms);
    }
}
