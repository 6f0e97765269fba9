/*
 * refresh.c - offerings, spot prices and on-demand prices, asked of AWS page by page.
 *
 * Each is collected whole before it replaces what was known; a page that fails keeps the old facts
 * and is tried again later. New prices are merged over old ones (as Karpenter): one that is missing
 * this time is not lost. On-demand prices that move too far are suspect (commit_prices).
 */
#include "cloud_int.h"
#include "common/aws/services.h"
#include "common/base/alloc.h"
#include "common/base/str.h"

#define PAGES_MAX 1000
#define PRICE_FAR_PERCENT 50
#define PRICE_MANY 5 /* one in so many */
#define PRICING_TIMEOUT_NS (30 * NS_PER_S)

struct refresh {
    struct job j;
    const char *what;
    job_fn ask;
    unsigned failures, pages;
    char *token;
    /* offerings */
    char *zones[ZONES_MAX];
    uint32_t n_zones;
    uint64_t *offered;
    /* spot: as facts->spot, and when each price was made */
    int64_t *price, *made_ns;
    /* on-demand */
    bool metal;
    size_t n_prices;
};

static void collected_free(struct refresh *r)
{
    for (uint32_t i = 0; i < r->n_zones; i++) {
        free(r->zones[i]);
    }
    free(r->offered);
    free(r->price);
    free(r->made_ns);
    free(r->token);
    r->n_zones = 0;
    r->offered = NULL;
    r->price = r->made_ns = NULL;
    r->token = NULL;
}

static void refresh_drop(struct job *j)
{
    collected_free((struct refresh *)j);
}

static void refresh_begin(struct refresh *r)
{
    collected_free(r);
    r->pages = 0;
    r->metal = false;
    r->n_prices = 0;
    r->ask(&r->j);
}

static void refresh_again(struct job *j)
{
    refresh_begin((struct refresh *)j);
}

static void refresh_failed(struct refresh *r, const struct err *err)
{
    log_error(r->j.c->rt->log, "cannot refresh facts of EC2", "what", r->what, "error", err->msg);
    job_later(&r->j, cloud_backoff(r->j.c, ++r->failures, FACTS_RETRY_MAX_NS), refresh_again);
}

static void refresh_complete(struct refresh *r)
{
    r->failures = 0;
    collected_free(r);
    arena_done(&r->j.mem); /* half a day is long for a page's memory */
    r->j.c->facts.version++;
    job_later(&r->j, FACTS_REFRESH_NS, refresh_again);
}

/* True if another page has been asked for. */
static bool next_page(struct refresh *r, const char *token)
{
    free(r->token);
    r->token = xstrdup(token);
    if (!token || ++r->pages >= PAGES_MAX) {
        return false;
    }
    r->ask(&r->j);
    return true;
}

/* ---- where types are offered -------------------------------------------------------------------
 */

static int zone_no(struct refresh *r, const char *zone)
{
    for (uint32_t i = 0; i < r->n_zones; i++) {
        if (str_eq(r->zones[i], zone)) {
            return (int)i;
        }
    }
    if (r->n_zones == ZONES_MAX) {
        return -1;
    }
    r->zones[r->n_zones] = xstrdup(zone);
    return (int)r->n_zones++;
}

static void add_offerings(struct refresh *r, const struct ec2_offerings *page)
{
    if (!r->offered) {
        r->offered = NEW_N(uint64_t, ec2_facts_n);
    }
    for (size_t i = 0; i < page->n; i++) {
        int type = ec2_find_fact(page->v[i].instance_type);
        int zone = type >= 0 ? zone_no(r, page->v[i].location) : -1;
        if (zone >= 0) {
            r->offered[type] |= UINT64_C(1) << zone;
        }
    }
}

/* In the order of their names, whatever order EC2 has. */
static void commit_offerings(struct refresh *r)
{
    char *sorted[ZONES_MAX];
    memcpy(sorted, r->zones, sizeof(sorted));
    qsort(sorted, r->n_zones, sizeof(*sorted), str_qsort_cmp);
    uint64_t *offered = NEW_N(uint64_t, ec2_facts_n);
    for (uint32_t to = 0; to < r->n_zones; to++) {
        uint32_t from = 0;
        while (r->zones[from] != sorted[to]) {
            from++;
        }
        for (uint32_t t = 0; t < ec2_facts_n; t++) {
            offered[t] |= ((r->offered[t] >> from) & 1) << to;
        }
    }
    facts_set_offered(&r->j.c->facts, sorted, r->n_zones, offered);
    r->n_zones = 0; /* the names went along */
}

static void on_offerings(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct refresh *r = (struct refresh *)j;
    struct err err = res->err;
    struct ec2_offerings page;
    if (err.kind != ERR_NONE ||
        ec2_parse_describe_offerings(&j->mem, res->body, res->body_n, &page, &err) < 0) {
        refresh_failed(r, &err);
        return;
    }
    add_offerings(r, &page);
    if (next_page(r, page.next_token)) {
        return;
    }
    if (r->n_zones == 0) {
        err_set(&err, ERR_INVALID, "EC2 names no offering of a type that is known");
        refresh_failed(r, &err);
        return;
    }
    commit_offerings(r);
    refresh_complete(r);
}

static void ask_offerings(struct job *j)
{
    struct refresh *r = (struct refresh *)j;
    AUTO_FORM struct form f = {0};
    arena_reset(&j->mem);
    ec2_encode_describe_offerings(&f, NULL, EC2_PAGE_OFFERINGS, r->token);
    job_aws_form(j, "ec2", &f, true, on_offerings, NULL);
}

/* ---- spot --------------------------------------------------------------------------------------
 */

static void add_spot(struct refresh *r, const struct ec2_spot_prices *page)
{
    size_t n = (size_t)ec2_facts_n * ZONES_MAX;
    if (!r->price) {
        r->price = NEW_N(int64_t, n);
        r->made_ns = NEW_N(int64_t, n);
    }
    for (size_t i = 0; i < page->n; i++) {
        const struct ec2_spot_price *p = &page->v[i];
        int type = p->instance_type ? ec2_find_fact(p->instance_type) : -1;
        int zone = type >= 0 && p->zone ? zone_no(r, p->zone) : -1;
        size_t at = zone >= 0 ? facts_place((uint32_t)type, (uint32_t)zone) : 0;
        if (zone >= 0 && (r->price[at] == 0 || p->wall_ns > r->made_ns[at])) {
            r->price[at] = p->price_pusd_h;
            r->made_ns[at] = p->wall_ns;
        }
    }
}

static void commit_spot(struct refresh *r)
{
    struct facts *f = &r->j.c->facts;
    for (uint32_t z = 0; z < r->n_zones; z++) {
        int to = facts_zone(f, r->zones[z]);
        for (uint32_t t = 0; to >= 0 && t < ec2_facts_n; t++) {
            int64_t price = r->price[facts_place(t, z)];
            if (price > 0) {
                f->spot[facts_place(t, (uint32_t)to)] = price;
                f->spot_seen[t] |= UINT64_C(1) << to;
            }
        }
    }
}

static void on_spot(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct refresh *r = (struct refresh *)j;
    struct err err = res->err;
    struct ec2_spot_prices page;
    if (err.kind != ERR_NONE ||
        ec2_parse_describe_spot_prices(&j->mem, res->body, res->body_n, &page, &err) < 0) {
        j->c->facts.spot_tried = true;
        refresh_failed(r, &err);
        return;
    }
    add_spot(r, &page);
    if (next_page(r, page.next_token)) {
        return;
    }
    commit_spot(r);
    j->c->facts.spot_tried = true;
    refresh_complete(r);
}

static void ask_spot(struct job *j)
{
    struct refresh *r = (struct refresh *)j;
    AUTO_FORM struct form f = {0};
    arena_reset(&j->mem);
    /* Zones must be known before prices can be filed under them. */
    if (!j->c->facts.offerings_known) {
        job_later(j, RETRY_MIN_NS / 10, ask_spot);
        return;
    }
    const struct ec2_describe_spot_prices req = {.start_wall_ns = cloud_wall(j->c),
                                                 .max_results = EC2_PAGE_SPOT_PRICES,
                                                 .next_token = r->token};
    ec2_encode_describe_spot_prices(&f, &req);
    job_aws_form(j, "ec2", &f, true, on_spot, NULL);
}

/* ---- on-demand ---------------------------------------------------------------------------------
 */

static void add_price(void *arg, const char *instance_type, int64_t price_pusd_h)
{
    struct refresh *r = arg;
    int type = ec2_find_fact(instance_type);
    if (type >= 0 && price_pusd_h > 0) {
        r->price[type] = price_pusd_h;
        r->n_prices++;
    }
}

static bool moved(int64_t from, int64_t to, int64_t percent)
{
    int64_t apart = from > to ? from - to : to - from;
    return apart / percent > from / 100;
}

/* More than three times as much, or less than a third. */
static bool leapt(int64_t from, int64_t to)
{
    return to / 3 > from || from / 3 > to;
}

/* A fifth of what AWS told before has moved by more than half. */
static bool many_moved(const struct refresh *r)
{
    const struct facts *f = &r->j.c->facts;
    uint32_t n = 0, far = 0;
    for (uint32_t t = 0; t < ec2_facts_n; t++) {
        if (r->price[t] > 0 && f->told[t] > 0) {
            n++;
            far += moved(f->told[t], r->price[t], PRICE_FAR_PERCENT);
        }
    }
    return far > n / PRICE_MANY;
}

/* Prices decide what is replaced: one that moves too far is believed when it is told again. */
static void commit_prices(struct refresh *r)
{
    struct facts *f = &r->j.c->facts;
    bool many = many_moved(r), any = false;
    for (uint32_t t = 0; t < ec2_facts_n; t++) {
        int64_t price = r->price[t], told = f->told[t];
        if (price <= 0) {
            continue;
        }
        bool odd =
            told > 0 && (leapt(told, price) || (many && moved(told, price, PRICE_FAR_PERCENT)));
        if (odd && f->suspect[t] != price) {
            f->suspect[t] = price;
            any = true;
            continue;
        }
        f->on_demand[t] = f->told[t] = price;
        f->suspect[t] = 0;
    }
    if (any) {
        log_error(r->j.c->rt->log, "prices moved too far to be believed at once", "what", r->what);
    }
    attention_set(r->j.c->rt, "PriceSuspect", any);
}

static void prices_failed(struct refresh *r, const struct err *err)
{
    r->j.c->facts.prices_tried = true;
    refresh_failed(r, err);
}

static void on_prices(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct refresh *r = (struct refresh *)j;
    struct err err = res->err;
    struct pricing_page page;
    if (!r->price) {
        r->price = NEW_N(int64_t, ec2_facts_n);
    }
    if (err.kind != ERR_NONE ||
        pricing_parse_get_products(&j->mem, j->c->rt->opt->region, res->body, res->body_n,
                                   add_price, r, &page, &err) < 0) {
        prices_failed(r, &err);
        return;
    }
    if (next_page(r, page.next_token)) {
        return;
    }
    if (!r->metal) {
        r->metal = true;
        r->ask(j);
        return;
    }
    if (r->n_prices == 0) {
        err_set(&err, ERR_INVALID, "no on-demand pricing found");
        prices_failed(r, &err);
        return;
    }
    commit_prices(r);
    j->c->facts.prices_tried = true;
    refresh_complete(r);
}

static void ask_prices(struct job *j)
{
    struct refresh *r = (struct refresh *)j;
    AUTO_BUF struct buf b;
    buf_init(&b, AWS_REQUEST_MAX);
    arena_reset(&j->mem);
    const struct pricing_query q = {
        .region = j->c->rt->opt->region, .metal = r->metal, .next_token = r->token};
    pricing_encode_get_products(&b, &q);
    const struct aws_call call = {.service = "pricing",
                                  .action = "GetProducts",
                                  .body = b.p,
                                  .body_n = b.n,
                                  .timeout_ns = PRICING_TIMEOUT_NS,
                                  .repeatable = true};
    job_aws(j, &call, on_prices, NULL);
}

/* ---- life --------------------------------------------------------------------------------------
 */

static void start(struct cloud *c, const char *what, job_fn ask)
{
    struct refresh *r = job_new(c, sizeof(*r), refresh_drop);
    r->what = what;
    r->ask = ask;
    refresh_begin(r);
}

void facts_start(struct cloud *c)
{
    const struct agent_options *o = c->rt->opt;
    c->facts.started_ns = cloud_mono(c);
    start(c, "offerings", ask_offerings);
    start(c, "spot prices", ask_spot);
    if (o->isolated_vpc || str_starts(o->region, "us-gov-")) {
        c->facts.prices_tried = true; /* there is no one to ask */
        return;
    }
    start(c, "on-demand prices", ask_prices);
}
