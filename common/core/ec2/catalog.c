/* catalog.c - see catalog.h */
#include "catalog_impl.h"

#include "common/base/str.h"

void catalog_free(struct catalog *c)
{
    if (c) {
        struct arena mem = c->mem; /* c itself lies in it */
        arena_done(&mem);
    }
}

uint32_t catalog_n_types(const struct catalog *c)
{
    return c->n_types;
}

uint32_t catalog_words(const struct catalog *c)
{
    return c->words;
}

uint32_t catalog_n_zones(const struct catalog *c)
{
    return c->n_zones;
}

sym catalog_zone(const struct catalog *c, uint32_t zone)
{
    return c->zones[zone];
}

sym catalog_zone_id(const struct catalog *c, uint32_t zone)
{
    return c->zone_ids[zone];
}

int catalog_find_zone(const struct catalog *c, sym zone)
{
    for (uint32_t i = 0; i < c->n_zones; i++) {
        if (c->zones[i] == zone) {
            return (int)i;
        }
    }
    return -1;
}

sym catalog_type_name(const struct catalog *c, uint32_t type)
{
    return c->names[type];
}

int catalog_find_type(const struct catalog *c, sym name)
{
    uint32_t lo = 0, hi = c->n_types;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->by_name[mid].name < name) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < c->n_types && c->by_name[lo].name == name ? (int)c->by_name[lo].type : -1;
}

const struct resources *catalog_capacity(const struct catalog *c, uint32_t type)
{
    return &c->capacity[type];
}

const uint64_t *catalog_exotic(const struct catalog *c)
{
    return c->exotic;
}

const struct resources *catalog_allocatable(const struct catalog *c, uint32_t type)
{
    return &c->allocatable[type];
}

/* ---- labels ------------------------------------------------------------------------------------
 */

static const struct catalog_column *find_column(const struct catalog *c, sym key)
{
    if (key < LABELS_END) {
        return c->known[key];
    }
    uint32_t lo = 0, hi = c->n_columns;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->columns[mid].key < key) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < c->n_columns && c->columns[lo].key == key ? &c->columns[lo] : NULL;
}

static const struct req *label_in(const struct catalog_column *col, uint32_t type)
{
    uint16_t at = col->label_of[type];
    return at == CATALOG_NO_LABEL ? NULL : &col->labels[at];
}

const struct req *catalog_label(const struct catalog *c, uint32_t type, sym key)
{
    const struct catalog_column *col = find_column(c, key);
    return col ? label_in(col, type) : NULL;
}

struct reqset catalog_labels(const struct catalog *c, struct arena *a, uint32_t type)
{
    struct req *v = ARENA_NEW_N(a, struct req, c->n_columns);
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_columns; i++) {
        const struct req *r = label_in(&c->columns[i], type);
        if (r) {
            v[n++] = *r;
        }
    }
    return (struct reqset){.v = v, .n = n};
}

static bool offering_key(sym key)
{
    return key == L_ZONE || key == L_ZONE_ID || key == L_CAPACITY_TYPE;
}

bool catalog_knows_key(const struct catalog *c, sym key)
{
    return offering_key(key) || key == L_REGION || find_column(c, key) != NULL;
}

/* The first place in the column, from `from` on, whose value is not below value. */
static uint32_t value_place(const struct catalog_column *col, uint32_t from, sym value)
{
    uint32_t hi = col->n;
    while (from < hi) {
        uint32_t mid = from + (hi - from) / 2;
        if (col->values[mid].value < value) {
            from = mid + 1;
        } else {
            hi = mid;
        }
    }
    return from;
}

static void types_set(const struct catalog_value *v, uint32_t words, uint64_t *bits)
{
    if (v->bits) {
        for (uint32_t i = 0; i < words; i++) {
            bits[i] |= v->bits[i];
        }
        return;
    }
    for (uint32_t i = 0; i < v->n_list; i++) {
        bits_set(bits, v->list[i]);
    }
}

static void types_clear(const struct catalog_value *v, uint32_t words, uint64_t *bits)
{
    if (v->bits) {
        for (uint32_t i = 0; i < words; i++) {
            bits[i] &= ~v->bits[i];
        }
        return;
    }
    for (uint32_t i = 0; i < v->n_list; i++) {
        bits_clear(bits, v->list[i]);
    }
}

/* For the values that r lists: sets or clears their types. */
static void each_listed(const struct catalog_column *col, const struct req *r, uint32_t words,
                        void (*apply)(const struct catalog_value *, uint32_t, uint64_t *),
                        uint64_t *bits)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < r->n && at < col->n; i++) {
        at = value_place(col, at, r->values[i]);
        if (at < col->n && col->values[at].value == r->values[i]) {
            apply(&col->values[at], words, bits);
        }
    }
}

/* r is a complement with bounds, or the column has types with several values: one value that is
 * neither excluded nor out of bounds is enough. */
static void each_admitted(const struct catalog_column *col, const struct req *r, uint32_t words,
                          uint64_t *bits)
{
    bool bounded = r->has_gte || r->has_lte;
    uint32_t j = 0;
    for (uint32_t i = 0; i < col->n; i++) {
        const struct catalog_value *v = &col->values[i];
        while (j < r->n && r->values[j] < v->value) {
            j++;
        }
        bool excluded = j < r->n && r->values[j] == v->value;
        bool outside = bounded && (!v->is_number || (r->has_gte && v->number < r->gte) ||
                                   (r->has_lte && v->number > r->lte));
        if (!excluded && !outside) {
            types_set(v, words, bits);
        }
    }
}

/* The types that have a value which r admits. */
static void admitted(const struct catalog_column *col, const struct req *r, uint32_t words,
                     uint64_t *bits)
{
    if (!r->complement) {
        memset(bits, 0, words * sizeof(*bits));
        each_listed(col, r, words, types_set, bits);
    } else if (r->has_gte || r->has_lte || (r->n > 0 && !col->single)) {
        memset(bits, 0, words * sizeof(*bits));
        each_admitted(col, r, words, bits);
    } else {
        for (uint32_t i = 0; i < words; i++) {
            bits[i] = col->defined[i] & ~col->empty[i];
        }
        each_listed(col, r, words, types_clear, bits);
    }
}

void catalog_narrow(const struct catalog *c, UNUSED const struct symtab *t, const struct req *r,
                    bool strict, uint64_t *bits)
{
    if (offering_key(r->key)) {
        return;
    }
    bool negative = req_negative(r);
    bool keep_undefined = negative || !strict;
    const struct catalog_column *col = find_column(c, r->key);
    if (!col) {
        if (!keep_undefined) {
            memset(bits, 0, c->words * sizeof(*bits));
        }
        return;
    }
    uint64_t ok[CATALOG_WORDS_MAX];
    uint64_t undefined_too = keep_undefined ? UINT64_MAX : 0;
    uint64_t empty_too = negative ? UINT64_MAX : 0;
    admitted(col, r, c->words, ok);
    for (uint32_t i = 0; i < c->words; i++) {
        bits[i] &= ok[i] | (undefined_too & ~col->defined[i]) | (empty_too & col->empty[i]);
    }
}

/* ---- resources ---------------------------------------------------------------------------------
 */

/* The lowest level above or, with `or_equal`, at the amount; stair->n if there is none. */
static uint32_t level_place(const struct catalog_stair *s, int64_t amount, bool or_equal)
{
    uint32_t lo = 0, hi = s->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->levels[mid] < amount || (!or_equal && s->levels[mid] == amount)) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static void keep_at_least(const struct catalog_stair *s, int64_t need, uint32_t words,
                          uint64_t *bits)
{
    uint32_t level = level_place(s, need, true);
    if (level == s->n) {
        memset(bits, 0, words * sizeof(*bits));
        return;
    }
    const uint64_t *have = s->bits + (size_t)level * words;
    for (uint32_t i = 0; i < words; i++) {
        bits[i] &= have[i];
    }
}

static void keep_at_most(const struct catalog_stair *s, int64_t limit, uint32_t words,
                         uint64_t *bits)
{
    uint32_t level = level_place(s, limit, false);
    if (level == s->n) {
        return;
    }
    const uint64_t *above = s->bits + (size_t)level * words;
    for (uint32_t i = 0; i < words; i++) {
        bits[i] &= ~above[i];
    }
}

static const struct catalog_stair *find_ext(const struct catalog_stairs *s, sym ext)
{
    for (uint32_t i = 0; i < s->n_ext; i++) {
        if (s->ext[i].ext == ext) {
            return &s->ext[i];
        }
    }
    return NULL;
}

void catalog_narrow_fit(const struct catalog *c, const struct resources *need, uint64_t *bits)
{
    for (uint32_t i = 0; i < c->words; i++) {
        bits[i] &= c->usable[i];
    }
    for (size_t i = 0; i < RES_FIXED; i++) {
        if (need->v[i] > 0) {
            keep_at_least(&c->allocatable_stairs.fixed[i], need->v[i], c->words, bits);
        }
    }
    for (uint32_t i = 0; i < need->n_ext; i++) {
        if (need->ext[i].amount <= 0) {
            continue;
        }
        const struct catalog_stair *s = find_ext(&c->allocatable_stairs, need->ext[i].name);
        if (!s) {
            memset(bits, 0, c->words * sizeof(*bits));
            return;
        }
        keep_at_least(s, need->ext[i].amount, c->words, bits);
    }
}

void catalog_narrow_limit(const struct catalog *c, const struct resources *limits, uint64_t *bits)
{
    for (size_t i = 0; i < RES_FIXED; i++) {
        if (limits->v[i] >= 0) {
            keep_at_most(&c->capacity_stairs.fixed[i], limits->v[i], c->words, bits);
        }
    }
    for (uint32_t i = 0; i < limits->n_ext; i++) {
        const struct catalog_stair *s = find_ext(&c->capacity_stairs, limits->ext[i].name);
        if (s && limits->ext[i].amount >= 0) {
            keep_at_most(s, limits->ext[i].amount, c->words, bits);
        }
    }
}

static bool any_common(const uint64_t *x, const uint64_t *y, uint32_t words)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < words; i++) {
        any |= x[i] & y[i];
    }
    return any != 0;
}

static bool all_within(const uint64_t *x, const uint64_t *y, uint32_t words)
{
    uint64_t out = 0;
    for (uint32_t i = 0; i < words; i++) {
        out |= x[i] & ~y[i];
    }
    return out == 0;
}

/* How many levels some (or all) of the types reach; higher levels are reached by fewer. */
static uint32_t levels_reached(const struct catalog_stair *s, const uint64_t *bits, uint32_t words,
                               bool all)
{
    uint32_t lo = 0, hi = s->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const uint64_t *level = s->bits + (size_t)mid * words;
        if (all ? all_within(bits, level, words) : any_common(bits, level, words)) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static void reached(const struct catalog *c, const uint64_t *bits, bool all, const int64_t *limits,
                    int64_t *ret)
{
    for (size_t i = 0; i < RES_FIXED; i++) {
        const struct catalog_stair *s = &c->capacity_stairs.fixed[i];
        uint32_t n = limits[i] < 0 ? 0 : levels_reached(s, bits, c->words, all);
        ret[i] = n > 0 ? s->levels[n - 1] : 0;
    }
}

void catalog_most(const struct catalog *c, const uint64_t *bits, const int64_t *limits,
                  int64_t *ret)
{
    reached(c, bits, false, limits, ret);
}

void catalog_least(const struct catalog *c, const uint64_t *bits, const int64_t *limits,
                   int64_t *ret)
{
    reached(c, bits, true, limits, ret);
}

/* ---- bitsets ------------------------------------------------------------------------------------
 */

void catalog_all(const struct catalog *c, uint64_t *bits)
{
    memset(bits, 0, c->words * sizeof(*bits));
    for (uint32_t i = 0; i < c->n_types / 64; i++) {
        bits[i] = UINT64_MAX;
    }
    if (c->n_types % 64) {
        bits[c->n_types / 64] = (UINT64_C(1) << (c->n_types % 64)) - 1;
    }
}

/* By hand: without a popcount instruction the builtin is a call into the compiler's library. Sums
 * of 2, 4 and 8 neighbouring bits, then all bytes into the highest. */
static uint32_t count_64(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(x * UINT64_C(0x0101010101010101) >> 56);
}

uint32_t bits_count(const uint64_t *bits, uint32_t words)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < words; i++) {
        n += count_64(bits[i]);
    }
    return n;
}

int bits_next(const uint64_t *bits, uint32_t words, uint32_t from)
{
    uint32_t word = from / 64;
    if (word >= words) {
        return -1;
    }
    uint64_t left = bits[word] & (UINT64_MAX << (from % 64));
    while (left == 0) {
        if (++word == words) {
            return -1;
        }
        left = bits[word];
    }
    return (int)(word * 64 + (uint32_t)__builtin_ctzll(left));
}
