/* plan.c - see plan.h */
#include "plan.h"

#include "common/base/alloc.h"
#include "common/base/entropy.h"
#include "common/base/str.h"

#define TEXT_MAX (4u << 20)
#define STEP_UNITS UINT64_C(1000000)
#define SLICE_MAX 40

/* ---- text ------------------------------------------------------------------------------------ */

static void put_pods(struct buf *b, const struct pod *const *pods, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(b, " %s/%s", pods[i]->m.ns, pods[i]->m.name);
    }
}

static void put_resources(struct buf *b, const struct symtab *t, const struct resources *r)
{
    for (int i = 0; i < RES_FIXED; i++) {
        if (r->v[i]) {
            buf_printf(b, " %s %lld", resource_name((enum resource)i), (long long)r->v[i]);
        }
    }
    for (uint32_t i = 0; i < r->n_ext; i++) {
        buf_printf(b, " %s %lld", sym_str(t, r->ext[i].name), (long long)r->ext[i].amount);
    }
}

/* Requirements are kept in the order of symbols, which is that of first appearance: by text. */
static void put_requirements(struct buf *b, const struct symtab *t, const struct reqset *set)
{
    AUTO_FREE char **lines = NEW_N(char *, (size_t)set->n + 1);
    for (uint32_t i = 0; i < set->n; i++) {
        AUTO_BUF struct buf one;
        buf_init(&one, TEXT_MAX);
        req_fmt(t, &set->v[i], 0, &one);
        buf_printf(&one, " min %u", set->v[i].min_values);
        lines[i] = buf_take(&one);
    }
    qsort(lines, set->n, sizeof(*lines), str_qsort_cmp);
    for (uint32_t i = 0; i < set->n; i++) {
        buf_printf(b, "  %s\n", lines[i]);
        free(lines[i]);
    }
}

static void put_claim(struct buf *b, const struct symtab *t, const struct sched_claim *c)
{
    buf_printf(b, "claim %s price %lld zones %llx capacity types %x relaxed %d\n",
               c->pool->np->m.name, (long long)c->price_pusd_h, (unsigned long long)c->offer.zones,
               c->offer.cts, c->min_values_relaxed);
    put_requirements(b, t, &c->reqs);
    buf_puts(b, "  types");
    for (uint32_t i = 0; i < c->n_types; i++) {
        buf_printf(b, " %s", sym_str(t, catalog_type_name(c->pool->catalog, c->types[i])));
    }
    buf_puts(b, "\n  requests");
    put_resources(b, t, &c->requests);
    buf_puts(b, "\n  daemons");
    put_resources(b, t, &c->daemon_overhead);
    buf_puts(b, "\n  pods");
    put_pods(b, c->pods, c->n_pods);
    buf_puts(b, "\n");
}

static void put_refusal(struct buf *b, const struct symtab *t, const struct sched_refusal *r)
{
    buf_printf(b, "refused %s/%s %s: ", r->pod->m.ns, r->pod->m.name, reason_name(r->reason.code));
    reason_fmt(t, &r->reason, b);
    for (uint32_t i = 0; i < r->n_pools; i++) {
        buf_printf(b, "\n  %s %s: ", r->pools[i].pool->np->m.name,
                   reason_name(r->pools[i].reason.code));
        reason_fmt(t, &r->pools[i].reason, b);
    }
    buf_puts(b, "\n");
}

static char *text_of(const struct symtab *t, const struct sched_result *r)
{
    AUTO_BUF struct buf b;
    buf_init(&b, TEXT_MAX);
    for (uint32_t i = 0; i < r->n_existing; i++) {
        const struct sched_placement *p = &r->existing[i];
        buf_printf(&b, "existing %s:", p->node->name);
        put_pods(&b, &p->pod, 1);
        buf_puts(&b, "\n");
    }
    for (uint32_t i = 0; i < r->n_claims; i++) {
        put_claim(&b, t, &r->claims[i]);
    }
    for (uint32_t i = 0; i < r->n_refused; i++) {
        put_refusal(&b, t, &r->refused[i]);
    }
    buf_printf(&b, "undecided %u truncated %d units %llu\n", r->n_undecided, r->truncated,
               (unsigned long long)r->work_units);
    return buf_take(&b);
}

/* ---- making one ------------------------------------------------------------------------------ */

static void swap(void **a, void **b)
{
    void *x = *a;
    *a = *b;
    *b = x;
}

static void shuffle(void **v, size_t n, struct entropy *chance)
{
    for (size_t i = n; i > 1; i--) {
        swap(&v[i - 1], &v[entropy_below(chance, i)]);
    }
}

/* Both the order in which objects are met and the one in which they are handed to the core. */
static void read_objects(struct diff_plan *p, const json_t *objects, uint64_t seed)
{
    struct entropy chance = entropy_seeded(&seed);
    bool mix = seed != 0;
    size_t n = json_array_size(objects);
    AUTO_FREE void **v = NEW_N(void *, n + 1);
    for (size_t i = 0; i < n; i++) {
        v[i] = json_array_get(objects, i);
    }
    if (mix) {
        shuffle(v, n, &chance);
    }
    for (size_t i = 0; i < n; i++) {
        (void)world_add(&p->world, v[i], NULL, NULL);
    }
    world_finish(&p->world);
    for (int k = 0; mix && k < KIND_COUNT; k++) {
        shuffle(p->world.lists[k].v, p->world.lists[k].n, &chance);
    }
}

static void set_options(struct diff_plan *p, const struct diff_cluster *c, const char *placement)
{
    opts_init(&p->opts);
    if (c->types) {
        ARENA_GROW(&p->opts.mem, p->opts.types.v, p->opts.types.n, p->opts.types.cap);
        p->opts.types.v[p->opts.types.n++] = c->types;
    }
    p->opts.preference_policy = c->policy;
    p->opts.placement = placement;
    p->cmd = (struct cmd){.prog = "karp-sim", .o = &p->opts, .env = &p->env, .clock = &clock_real};
}

static int decode(struct diff_plan *p, const struct diff_cluster *c, uint64_t seed,
                  struct err *reterr)
{
    world_init(&p->world, "kube-system");
    read_objects(p, c->objects, seed);
    p->world.now_ns = p->world.latest_ns;
    if (p->world.n_malformed > 0) {
        const struct world_malformed *m = &p->world.malformed[0];
        return err_set(reterr, ERR_INVALID, "%s %s: %s", m->kind, m->name, m->message);
    }
    struct prices_in in = {.syms = p->world.syms, .region = DIFF_REGION};
    p->prices = prices_new(&in, reterr);
    return p->prices ? 0 : -1;
}

static void step(struct sched *pass, uint64_t slice, uint64_t seed)
{
    struct entropy chance = entropy_seeded(&seed);
    while (!sched_step(pass, slice ? slice : entropy_below(&chance, SLICE_MAX))) {
    }
}

int diff_plan_make(const struct diff_cluster *c, const struct diff_way *way, struct diff_plan *ret,
                   struct err *reterr)
{
    *ret = (struct diff_plan){.text = NULL};
    set_options(ret, c, way->placement);
    if (decode(ret, c, way->shuffle, reterr) ||
        decide_begin(&ret->cmd, &ret->world, ret->prices, NULL, DECIDE_UNBOUND, &ret->decision,
                     reterr)) {
        diff_plan_done(ret);
        return -1;
    }
    step(ret->decision.pass, way->slice, c->seed);
    ret->result = ret->decision.result = sched_result(ret->decision.pass);
    ret->text = text_of(ret->world.syms, ret->result);
    return 0;
}

void diff_plan_done(struct diff_plan *p)
{
    decide_done(&p->decision);
    prices_free(p->prices);
    world_done(&p->world);
    opts_done(&p->opts);
    free(p->text);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The first line that is another one. */
static char *tell(const char *what, const char *a, const char *b)
{
    while (*a && *b) {
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if (n != m || strncmp(a, b, n) != 0) {
            break;
        }
        a += n + (a[n] == '\n');
        b += m + (b[m] == '\n');
    }
    return xasprintf("%s: \"%.*s\", not \"%.*s\"", what, (int)strcspn(b, "\n"), b,
                     (int)strcspn(a, "\n"), a);
}

char *diff_plan_differs(const struct diff_cluster *c, const struct diff_plan *p)
{
    static const struct {
        const char *name;
        uint64_t slice;
        bool mix;
    } ways[] = {
        {"steps of one unit", 1, false},
        {"steps of any size", 0, false},
        {"objects in another order", STEP_UNITS, true},
        {"objects in a third order, in small steps", 3, true},
    };
    char *ret = NULL;
    for (size_t i = 0; i < ARRAY_LEN(ways) && !ret; i++) {
        struct err e = ERR_INIT;
        struct diff_plan other;
        struct diff_way way = {p->opts.placement, ways[i].slice,
                               ways[i].mix ? c->seed * 8 + i + 1 : 0};
        if (diff_plan_make(c, &way, &other, &e)) {
            return xasprintf("%s: %s", ways[i].name, e.msg);
        }
        if (!str_eq(p->text, other.text)) {
            ret = tell(ways[i].name, p->text, other.text);
        }
        diff_plan_done(&other);
    }
    return ret;
}
