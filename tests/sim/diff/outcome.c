/* outcome.c - see outcome.h */
#include "outcome.h"

#include "common/base/alloc.h"

const char *const cause_names[CAUSES] = {"displaced", "volume", "spread", "pod affinity",
                                         "ports",     "node",   "room"};
const char *const stage_order_names[STAGE_ORDERS] = {"all at once", "one by one"};

void outcome_each_planned(const struct sched_result *r, pod_fn fn, void *ctx)
{
    for (uint32_t i = 0; i < r->n_existing; i++) {
        fn(ctx, r->existing[i].pod, r->existing[i].node->name);
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        char name[STAGE_NAME];
        stage_name_new(i, name);
        for (uint32_t k = 0; k < r->claims[i].n_pods; k++) {
            fn(ctx, r->claims[i].pods[k], name);
        }
    }
}

/* ---- causes ---------------------------------------------------------------------------------- */

static enum cause cause_of(const char *why)
{
    static const struct {
        const char *text;
        enum cause cause;
    } words[] = {
        {"olume", CAUSE_VOLUME},
        {"spread constraints", CAUSE_SPREAD},
        {"affinity rules", CAUSE_AFFINITY},
        {"free ports", CAUSE_PORTS},
        {"selector", CAUSE_NODE},
        {"untolerated", CAUSE_NODE},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strstr(why, words[i].text)) {
            return words[i].cause;
        }
    }
    return CAUSE_ROOM;
}

/* ---- crowds ---------------------------------------------------------------------------------- */

struct crowd {
    uint64_t class_hash;
    uint32_t planned, run;
    enum cause cause; /* of one that is planned and waits */
};

struct count {
    const struct stage *s;
    struct crowd *crowds;
    uint32_t n;
    bool tell;
};

static struct crowd *crowd_of(struct count *c, const struct pod *p)
{
    uint64_t hash = stage_pod(c->s, p)->class_hash;
    uint32_t i = 0;
    while (i < c->n && c->crowds[i].class_hash != hash) {
        i++;
    }
    if (i == c->n) {
        c->crowds[c->n++] = (struct crowd){.class_hash = hash};
    }
    return &c->crowds[i];
}

static void count_pod(void *ctx, const struct pod *p, const char *node)
{
    struct count *c = ctx;
    const char *why, *where = stage_where(c->s, p, &why);
    bool runs = where[0] != '\0';
    struct crowd *crowd = crowd_of(c, p);
    crowd->planned += node != NULL;
    crowd->run += runs;
    if (node && !runs) {
        crowd->cause = cause_of(why);
    }
    if (c->tell && (node || runs)) {
        printf("  %s/%s %s%s, %s%s\n", p->m.ns, p->m.name, node ? "planned on " : "refused",
               node ? node : "", runs ? "runs on " : "waits: ", runs ? where : why);
    }
}

static void add_lost(struct outcome *o, enum cause cause, uint64_t *usurpers, uint64_t n)
{
    uint64_t displaced = n < *usurpers ? n : *usurpers;
    *usurpers -= displaced; /* pods that run though the plan refuses them */
    o->causes[CAUSE_DISPLACED] += displaced;
    o->causes[cause] += n - displaced;
    o->lost += n;
}

static void count_stage(const struct stage *s, enum stage_order order, bool tell, struct outcome *o)
{
    const struct sched_result *r = s->plan->result;
    AUTO_FREE struct crowd *crowds = NEW_N(struct crowd, s->plan->decision.snap.n_pods + 1);
    struct count c = {.s = s, .crowds = crowds, .tell = tell};
    uint64_t before = o->lost, planned = 0, usurpers = 0;
    outcome_each_planned(r, count_pod, &c);
    for (uint32_t i = 0; i < r->n_refused; i++) {
        count_pod(&c, r->refused[i].pod, NULL);
    }
    for (uint32_t i = 0; i < c.n; i++) {
        usurpers += crowds[i].run > crowds[i].planned ? crowds[i].run - crowds[i].planned : 0;
    }
    for (uint32_t i = 0; i < c.n; i++) {
        const struct crowd *w = &crowds[i];
        planned += w->planned;
        if (w->planned > w->run) {
            add_lost(o, w->cause, &usurpers, w->planned - w->run);
        }
    }
    o->planned = planned;
    o->ran[order] = planned - (o->lost - before);
    o->stranding[order] = o->lost > before;
    if (tell) {
        printf("  STRANDED: %llu\n", (unsigned long long)(o->lost - before));
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

int outcome_play(const struct diff_plan *plan, const struct diff_cluster *settled, bool tell,
                 struct outcome *ret, struct err *reterr)
{
    const struct sched_result *r = plan->result;
    *ret = (struct outcome){.launched = r->n_claims, .price_pusd_h = r->price_pusd_h};
    for (int i = 0; i < STAGE_ORDERS && r->n_claims + r->n_existing > 0; i++) {
        struct stage s;
        if (stage_play(settled, plan, (enum stage_order)i, &s, reterr)) {
            return -1;
        }
        if (tell) {
            printf(" new nodes come %s:\n", stage_order_names[i]);
        }
        count_stage(&s, (enum stage_order)i, tell, ret);
        stage_done(&s);
    }
    ret->ever = ret->lost > 0;
    return 0;
}

void outcome_add(struct outcome *o, const struct outcome *more)
{
    o->planned += more->planned;
    o->launched += more->launched;
    o->price_pusd_h += more->price_pusd_h;
    for (int i = 0; i < STAGE_ORDERS; i++) {
        o->ran[i] += more->ran[i];
        o->stranding[i] += more->stranding[i];
    }
    for (int i = 0; i < CAUSES; i++) {
        o->causes[i] += more->causes[i];
    }
    o->lost += more->lost;
    o->ever += more->ever;
}
