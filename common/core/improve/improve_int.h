/*
 * improve_int.h - what the files of the improver share; nobody else includes it.
 *
 *   improve.c        from the claims of a pass to bins and back; whose turn is next
 *   improve_menu.c   types by price, and which is the cheapest that holds so much
 *   improve_host.c   rules between pods of one host
 *   improve_search.c which pods go where
 *   improve_split.c  one node more
 *   improve_safe.c   what kube-scheduler will make of it (improve_play.h)
 *   improve_sieve.c  places that may still take a pod then
 *
 * A kind is a class taken one way; pods of a kind are alike but for their turn. A bin is a claim as
 * it would be. A bay is a set of claims that differ in nothing but their pods: a pod of one can go
 * to another unless room or a rule about hosts is against it, and nothing else changes by that.
 */
#ifndef KARP_CORE_IMPROVE_INT_H
#define KARP_CORE_IMPROVE_INT_H

#include "common/core/sched/sched_int.h"
#include "improve.h"

#define IMPROVE_NONE UINT32_MAX
/* Looks at a pair of pods, or the like, that are one unit. */
#define IMPROVE_LOOKS_PER_UNIT 512u
#define IMPROVE_PARTNERS 32u /* other bins that one is compared with */
/* Amounts of a pod or bin are compared so many dimensions at a time; unused ones are 0. */
#define IMPROVE_LANES 4u
_Static_assert(RES_FIXED % IMPROVE_LANES == 0, "amounts end with a whole number of lanes");

struct improve_kind {
    struct sched_class *k;
    const struct sched_ask *ask;
    uint32_t way, next; /* the next kind of the class */
    int64_t need[RES_FIXED];
    uint64_t coarse, coarse_up; /* the same, packed as a need and as room */
    bool fixed;                 /* stays where it is */
    bool hosts;                 /* rules about hosts concern it */
    bool zonal;                 /* hard rules about other places do */
    /* Rules about hosts by number: bits of the first 64, or they must be looked for. */
    uint64_t owns, counts;
};

/* Pods of one kind in one bin, by turn. */
struct improve_lot {
    uint32_t kind, n, cap;
    uint32_t *pods;
    uint64_t coarse, coarse_up; /* the kind's */
};

struct improve_bin {
    struct sched_open *c;
    uint32_t bay;
    uint32_t rank; /* of its type on the bay's menu; IMPROVE_NONE: empty */
    uint32_t was;  /* the rank before anything moved */
    int64_t used[RES_FIXED];
    int64_t size[RES_FIXED]; /* what its type must hold: no less than used */
    int64_t most[RES_FIXED]; /* capacity that its type may have, where the pool has limits */
    int64_t *slack;          /* its type's room that is not used, among its bay's; once loaded */
    uint64_t *coarse;        /* the same, packed */
    struct improve_lot *lots;
    uint32_t n_lots, cap_lots;
    bool changed;
};

/* Types by price, without those that another one beats in everything. */
struct improve_menu {
    uint32_t n;
    uint32_t *types;
    int64_t *price;
    int64_t (*room)[RES_FIXED]; /* for pods, per dimension */
};

struct improve_bay {
    struct sched_pool *pool;
    const struct sched_open *like; /* one of them */
    uint64_t *bits;                /* types that they may have */
    struct improve_menu menu;
    /* Compared with each other are bins that stand together here. Claims that were opened together
     * are full of like pods, so they are put apart. */
    uint32_t *bins;
    int64_t *slack;   /* per bin so many lanes, less than anything for one that is empty */
    uint64_t *coarse; /* per bin the same, packed */
    uint32_t n_bins, cap_bins, n_pods;
    uint32_t cap_lined; /* bins that there is room for once all are known */
    uint64_t budget;    /* looks left */
};

struct improve {
    struct sched *s;
    uint32_t n_dims;              /* resources that pods ask for */
    uint32_t lanes;               /* n_dims and what pads them */
    uint8_t shift[IMPROVE_LANES]; /* of packed amounts */
    enum resource dims[RES_FIXED];
    struct improve_kind *kinds;
    uint32_t n_kinds, cap_kinds;
    uint32_t *kind_of_class; /* the first one's number plus 1 */
    struct improve_bin *bins;
    uint32_t n_bins, cap_bins, n_pods;
    const struct sched_open **alone; /* claims with pods that are left as they are */
    uint32_t n_alone;
    struct improve_bay *bays;
    uint32_t n_bays, cap_bays;
    uint32_t *slots; /* bays by hash, number plus 1 */
    uint32_t n_slots;
    uint64_t looks;
    /* where the search is */
    uint32_t at, bay, bin, way;
    bool found, found_any;
    uint32_t stage;
    int64_t baseline_pusd_h, tight_pusd_h, safe_pusd_h; /* of the bins */
    uint32_t n_groups;                                  /* rules about hosts */
    uint32_t stranded; /* pods of the tight plan that found no node */
    struct improve_safe *safe;
};

/* ---- improve_menu.c -------------------------------------------------------------------------- */

void improve_menu_make(struct improve *m, struct improve_bay *bay);
/* The cheapest of those from that rank on that holds so much, within `most` if that is not NULL;
 * IMPROVE_NONE if none. */
uint32_t improve_menu_find(struct improve *m, const struct improve_bay *bay, uint32_t from,
                           const int64_t *used, const int64_t *most);
bool improve_menu_allows(const struct improve *m, const struct improve_bay *bay, uint32_t rank,
                         const int64_t *most);
static inline int64_t improve_price(const struct improve_bay *bay, uint32_t rank)
{
    return rank == IMPROVE_NONE ? 0 : bay->menu.price[rank];
}

/* Lane for lane no more than there is. */
static inline bool improve_fits(uint32_t lanes, const int64_t *room, const int64_t *need)
{
    int64_t lacking = 0;
    for (uint32_t d = 0; d < lanes; d += IMPROVE_LANES) {
        lacking |= (room[d] - need[d]) | (room[d + 1] - need[d + 1]) | (room[d + 2] - need[d + 2]) |
                   (room[d + 3] - need[d + 3]);
    }
    return lacking >= 0;
}

/*
 * The first few amounts in one word, 15 bits each and one that catches the borrow: most bins are
 * passed over by one subtraction. What there is is rounded up and what is needed down, so that only
 * what is passed over is sure.
 */
#define IMPROVE_GUARDS UINT64_C(0x8000800080008000)
uint64_t improve_pack_room(const struct improve *m, const int64_t *v);
uint64_t improve_pack_need(const struct improve *m, const int64_t *v);
static inline bool improve_may_fit(uint64_t room, uint64_t need)
{
    return ((room - need) & IMPROVE_GUARDS) == IMPROVE_GUARDS;
}

/* ---- improve_host.c -------------------------------------------------------------------------- */

/* Finds out whether rules about hosts concern the kind, and whether they tie it down. */
void improve_host_kind(struct improve *m, struct improve_kind *k);
/* May the pod go to the bin once `out` (IMPROVE_NONE: nobody) of kind out_kind has left it? */
bool improve_host_ok(struct improve *m, const struct improve_bin *b, uint32_t kind, uint32_t pod,
                     uint32_t out_kind, uint32_t out);
/* Counts follow a pod that moves. */
void improve_host_moved(struct improve *m, uint32_t kind, const struct sched_open *from,
                        const struct sched_open *to);

/* ---- improve.c ------------------------------------------------------------------------------- */

/* The number of the class's kind for the way. */
uint32_t improve_kind(struct improve *m, uint32_t class_at, uint32_t way);
bool improve_stays(const struct sched_class *k);
/* Room for pods, per dimension, of the cheapest type that the claim has left; false: none. */
bool improve_least_room(const struct improve *m, const struct sched_open *c, int64_t *ret);
const int64_t *improve_most(const struct improve_bay *bay, const struct improve_bin *b);
void improve_move(struct improve *m, struct improve_bin *from, struct improve_bin *to,
                  uint32_t kind, uint32_t pod);
/* The type follows what is in the bin. */
void improve_rerank(struct improve *m, struct improve_bin *b);

/* The bin at that place of the bay is a new one. */
void improve_line_up_one(struct improve *m, struct improve_bay *bay, uint32_t at);
int64_t improve_total(const struct improve *m); /* price of all bins */

/* ---- improve_safe.c -------------------------------------------------------------------------- */

struct improve_safe *improve_safe_begin(struct improve *m);
/* True at the end. */
bool improve_safe_step(struct improve *m, struct improve_safe *r);
/* The plan is no good: more pods go on waiting than with the claims as they were. */
bool improve_safe_failed(const struct improve_safe *r);

/* ---- improve_sieve.c ------------------------------------------------------------------------- */

/*
 * In a round of the replay places only fill up: one that was too full for a pod is so for all of
 * the size, and one that refused a pod does so for all of its troop, like kinds of one bay. Such
 * places are not looked at again, and none is for a size and troop of which a pod found no place,
 * until more are there. What would take too much memory is not kept.
 */
struct improve_sieve {
    uint32_t n_places, n_words;
    int64_t (*sizes)[RES_FIXED];
    uint32_t n_sizes, cap_sizes;
    uint32_t *size_of; /* per kind */
    uint32_t *troops;  /* per kind: the first one plus 1 */
    struct improve_troop *troop;
    uint32_t n_troops, cap_troops;
    uint64_t *open; /* per size, words: places with room for it, as far as is known */
    uint64_t *take; /* per troop likewise */
    uint64_t *base; /* per troop places that take it whoever else is there, as far as is known */
    uint64_t *all;  /* words of ones */
    uint64_t *fresh;
    uint32_t *lost; /* per size and troop: the time when one found no place; NULL: not kept */
    uint32_t time;  /* moves on when there are more or larger places */
};

struct improve_troop {
    uint32_t kind, bay, next;
};

void improve_sieve_begin(struct improve *m, struct improve_sieve *v, uint32_t n_places);
uint32_t improve_sieve_troop(struct improve *m, struct improve_sieve *v, uint32_t kind,
                             uint32_t bay);
/* All troops are known; then `base` may lose places, before the first round. */
void improve_sieve_ready(struct improve *m, struct improve_sieve *v);
void improve_sieve_round(const struct improve *m, struct improve_sieve *v, bool first);
/* Places that are there from now on, one by one, then that these are all. */
void improve_sieve_open(struct improve_sieve *v, uint32_t place);
void improve_sieve_opened(struct improve_sieve *v);
void improve_sieve_larger(struct improve_sieve *v, uint32_t place);
void improve_sieve_full(const struct improve *m, struct improve_sieve *v, uint32_t kind,
                        uint32_t place, const int64_t *left);
void improve_sieve_refused(struct improve_sieve *v, uint32_t troop, uint32_t place);
/* A pod found no place, neither its own nor another; the next of its size and troop need only look
 * at its own. */
void improve_sieve_lost(struct improve_sieve *v, uint32_t kind, uint32_t troop);
bool improve_sieve_hopeless(const struct improve_sieve *v, uint32_t kind, uint32_t troop);
/* Places that may take a pod, as far as room and its troop are concerned; its own it always may. */
static inline const uint64_t *improve_sieve_by_size(const struct improve_sieve *v, uint32_t kind)
{
    return v->open + (size_t)v->size_of[kind] * v->n_words;
}
static inline const uint64_t *improve_sieve_by_troop(const struct improve_sieve *v, uint32_t troop)
{
    return troop == IMPROVE_NONE ? v->all : v->take + (size_t)troop * v->n_words;
}

/* ---- improve_search.c ------------------------------------------------------------------------ */

#define IMPROVE_WAYS 5u
/* Makes the bin cheaper if it can, the given way; true if it did. */
bool improve_one(struct improve *m, struct improve_bay *bay, struct improve_bin *b, uint32_t way);

/* ---- improve_split.c ------------------------------------------------------------------------- */

/* Makes two of the bin if that is worth it and the pool wants it. */
bool improve_split(struct improve *m, struct improve_bay *bay, struct improve_bin *b);

#endif
