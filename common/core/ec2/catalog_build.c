/*
 * catalog_build.c - catalog_new, see catalog.h and catalog_impl.h
 *
 * Types are put in the order of their names first; from then on everything is by number. Columns
 * come from one sorted list of (key, value, type), stairs from one list of (amount, type) per
 * resource.
 */
#include "catalog_impl.h"

#include "common/base/sort.h"
#include "common/base/str.h"

struct builder {
    const struct symtab *t;
    struct catalog *c;
    struct arena scratch;
    const struct catalog_type **types; /* by number */
    struct reqset *labels;             /* likewise, in scratch */
};

/* ---- order and checks
 * ---------------------------------------------------------------------------- */

struct named {
    const char *name;
    const struct catalog_type *type;
};

static int named_cmp(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return str_cmp(x->name, y->name);
}

static int sort_types(struct builder *b, const struct catalog_type *types, struct err *reterr)
{
    uint32_t n = b->c->n_types;
    struct named *v = ARENA_NEW_N(&b->scratch, struct named, n);
    for (uint32_t i = 0; i < n; i++) {
        v[i] = (struct named){sym_str(b->t, types[i].name), &types[i]};
        if (types[i].name == SYM_NONE) {
            return err_set(reterr, ERR_INVALID, "an instance type has no name");
        }
    }
    sort_items(v, n, sizeof(*v), named_cmp);
    b->types = ARENA_NEW_N(&b->scratch, const struct catalog_type *, n);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && str_eq(v[i].name, v[i - 1].name)) {
            return err_set(reterr, ERR_INVALID, "instance type %s is listed twice", v[i].name);
        }
        b->types[i] = v[i].type;
    }
    return 0;
}

static int check_zones(const struct symtab *t, const struct catalog_zones *z, struct err *reterr)
{
    if (z->n > CATALOG_MAX_ZONES) {
        return err_set(reterr, ERR_LIMIT, "%u zones, at most %d are possible", z->n,
                       CATALOG_MAX_ZONES);
    }
    for (uint32_t i = 0; i < z->n; i++) {
        if (z->zones[i] == SYM_NONE) {
            return err_set(reterr, ERR_INVALID, "a zone has no name");
        }
        if (i > 0 && sym_cmp(t, z->zones[i - 1], z->zones[i]) >= 0) {
            return err_set(reterr, ERR_INVALID, "zone %s is listed twice or not in order",
                           sym_str(t, z->zones[i]));
        }
    }
    return 0;
}

static void copy_zones(struct catalog *c, const struct catalog_zones *z)
{
    sym *ids = ARENA_NEW_N(&c->mem, sym, z->n);
    if (z->zone_ids && z->n > 0) {
        memcpy(ids, z->zone_ids, z->n * sizeof(*ids));
    }
    c->n_zones = z->n;
    c->zones = arena_memdup(&c->mem, z->zones, z->n * sizeof(*z->zones));
    c->zone_ids = ids;
}

static int by_name_cmp(const void *a, const void *b)
{
    const struct catalog_name *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

static void index_names(struct builder *b)
{
    struct catalog *c = b->c;
    sym *names = ARENA_NEW_N(&c->mem, sym, c->n_types);
    struct catalog_name *by_name = ARENA_NEW_N(&c->mem, struct catalog_name, c->n_types);
    for (uint32_t i = 0; i < c->n_types; i++) {
        names[i] = b->types[i]->name;
        by_name[i] = (struct catalog_name){names[i], i};
    }
    sort_items(by_name, c->n_types, sizeof(*by_name), by_name_cmp);
    c->names = names;
    c->by_name = by_name;
}

/* ---- labels of types
 * ----------------------------------------------------------------------------- */

static int req_key_cmp(const void *a, const void *b)
{
    const struct req *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static int sym_id_cmp(const void *a, const void *b)
{
    sym x = *(const sym *)a, y = *(const sym *)b;
    return (x > y) - (x < y);
}

/* Sorted, each value once; v has room for all. */
static void copy_values(sym *v, const struct req *from, struct req *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < from->n; i++) {
        v[i] = from->values[i];
    }
    sort_items(v, from->n, sizeof(*v), sym_id_cmp);
    for (uint32_t i = 0; i < from->n; i++) {
        if (n == 0 || v[n - 1] != v[i]) {
            v[n++] = v[i];
        }
    }
    *to = (struct req){.key = from->key, .n = n, .values = n > 0 ? v : NULL};
}

static size_t n_values(const struct catalog_type *t)
{
    size_t n = 0;
    for (uint32_t i = 0; i < t->n_labels; i++) {
        n += t->labels[i].n;
    }
    return n;
}

static bool of_offering(sym key)
{
    return key == L_ZONE || key == L_ZONE_ID || key == L_CAPACITY_TYPE;
}

static int copy_labels(struct builder *b, uint32_t type, struct reqset *ret, struct err *reterr)
{
    const struct catalog_type *from = b->types[type];
    struct arena *a = &b->scratch;
    struct req *v = ARENA_NEW_N(a, struct req, (size_t)from->n_labels + 1);
    sym *values = ARENA_NEW_N(a, sym, n_values(from));
    uint32_t n = 0;
    bool named = false;
    for (uint32_t i = 0; i < from->n_labels; i++) {
        const struct req *label = &from->labels[i];
        if (of_offering(label->key)) {
            continue;
        }
        if (label->complement || label->key == SYM_NONE) {
            return err_set(reterr, ERR_INVALID, "label %s of instance type %s has no fixed values",
                           sym_str(b->t, label->key), sym_str(b->t, from->name));
        }
        named |= label->key == L_INSTANCE_TYPE;
        copy_values(values, label, &v[n++]);
        values += label->n;
    }
    if (!named) {
        struct req name = {.key = L_INSTANCE_TYPE, .n = 1, .values = &b->c->names[type]};
        v[n++] = name;
    }
    sort_items(v, n, sizeof(*v), req_key_cmp);
    for (uint32_t i = 1; i < n; i++) {
        if (v[i].key == v[i - 1].key) {
            return err_set(reterr, ERR_INVALID, "label %s of instance type %s is listed twice",
                           sym_str(b->t, v[i].key), sym_str(b->t, from->name));
        }
    }
    *ret = (struct reqset){.v = v, .n = n};
    return 0;
}

static int copy_types(struct builder *b, struct err *reterr)
{
    struct catalog *c = b->c;
    b->labels = ARENA_NEW_N(&b->scratch, struct reqset, c->n_types);
    struct resources *capacity = ARENA_NEW_N(&c->mem, struct resources, c->n_types);
    struct resources *allocatable = ARENA_NEW_N(&c->mem, struct resources, c->n_types);
    struct resources nothing = {.n_ext = 0};
    for (uint32_t i = 0; i < c->n_types; i++) {
        if (copy_labels(b, i, &b->labels[i], reterr) < 0) {
            return -1;
        }
        capacity[i] = resources_add(&c->mem, &b->types[i]->capacity, &nothing, 1);
        allocatable[i] = resources_add(&c->mem, &b->types[i]->allocatable, &nothing, 1);
    }
    c->capacity = capacity;
    c->allocatable = allocatable;
    return 0;
}

/* ---- columns
 * -------------------------------------------------------------------------------------- */

struct cell {
    sym key, value; /* value SYM_NONE: defined with no value */
    uint32_t type;
};

/* Stable, by key or by value: symbols are small dense numbers, so counting beats comparing. */
static void sort_cells(struct arena *scratch, struct cell *cells, size_t n, bool by_value)
{
    struct arena_mark mark = arena_mark(scratch);
    sym max = 0;
    for (size_t i = 0; i < n; i++) {
        sym s = by_value ? cells[i].value : cells[i].key;
        max = s > max ? s : max;
    }
    size_t *at = ARENA_NEW_N(scratch, size_t, (size_t)max + 2);
    for (size_t i = 0; i < n; i++) {
        at[(by_value ? cells[i].value : cells[i].key) + 1]++;
    }
    for (size_t i = 1; i <= max; i++) {
        at[i] += at[i - 1];
    }
    struct cell *from = arena_memdup(scratch, cells, n * sizeof(*cells));
    for (size_t i = 0; i < n; i++) {
        cells[at[by_value ? from[i].value : from[i].key]++] = from[i];
    }
    arena_rewind(scratch, mark);
}

/* By key, value, type. */
static struct cell *list_cells(struct builder *b, size_t *ret_n)
{
    const struct catalog *c = b->c;
    size_t n = 0;
    for (uint32_t i = 0; i < c->n_types; i++) {
        for (uint32_t k = 0; k < b->labels[i].n; k++) {
            n += b->labels[i].v[k].n ? b->labels[i].v[k].n : 1;
        }
    }
    struct cell *cells = ARENA_NEW_N(&b->scratch, struct cell, n);
    n = 0;
    for (uint32_t i = 0; i < c->n_types; i++) {
        for (uint32_t k = 0; k < b->labels[i].n; k++) {
            const struct req *r = &b->labels[i].v[k];
            if (r->n == 0) {
                cells[n++] = (struct cell){r->key, SYM_NONE, i};
            }
            for (uint32_t j = 0; j < r->n; j++) {
                cells[n++] = (struct cell){r->key, r->values[j], i};
            }
        }
    }
    /* They are in the order of types already. */
    sort_cells(&b->scratch, cells, n, true);
    sort_cells(&b->scratch, cells, n, false);
    *ret_n = n;
    return cells;
}

/* n cells of one key and value. */
static struct catalog_value make_value(struct builder *b, const struct cell *cells, uint32_t n)
{
    struct catalog *c = b->c;
    struct catalog_value v = {.value = cells[0].value};
    v.is_number = sym_int(b->t, v.value, &v.number);
    if (n <= c->words) {
        uint16_t *list = ARENA_NEW_N(&c->mem, uint16_t, n);
        for (uint32_t i = 0; i < n; i++) {
            list[i] = (uint16_t)cells[i].type;
        }
        v.list = list;
        v.n_list = n;
        return v;
    }
    uint64_t *bits = ARENA_NEW_N(&c->mem, uint64_t, c->words);
    for (uint32_t i = 0; i < n; i++) {
        bits_set(bits, cells[i].type);
    }
    v.bits = bits;
    return v;
}

/* How many cells from the first on have its key and, with `value`, its value. */
static uint32_t run_length(const struct cell *cells, size_t n, bool value)
{
    uint32_t i = 1;
    while (i < n && cells[i].key == cells[0].key && (!value || cells[i].value == cells[0].value)) {
        i++;
    }
    return i;
}

/* ---- what each type says of a key
 * ----------------------------------------------------------------- */

struct answer {
    const struct req *req;
    uint32_t type;
};

static int answer_cmp(const void *a, const void *b)
{
    const struct req *x = ((const struct answer *)a)->req, *y = ((const struct answer *)b)->req;
    if (x->n != y->n) {
        return x->n < y->n ? -1 : 1;
    }
    return x->n == 0 ? 0 : memcmp(x->values, y->values, x->n * sizeof(*x->values));
}

/* The answers of all types that have one: at most n. */
static struct answer *list_answers(struct builder *b, sym key, uint32_t n, uint32_t *ret_n)
{
    struct answer *v = ARENA_NEW_N(&b->scratch, struct answer, n);
    uint32_t at = 0;
    for (uint32_t i = 0; i < b->c->n_types; i++) {
        const struct req *r = reqset_get(&b->labels[i], key);
        if (r) {
            v[at++] = (struct answer){r, i};
        }
    }
    *ret_n = at;
    return v;
}

/* n cells of the key. Equal answers are kept once. */
static const struct req *several_each(struct builder *b, sym key, uint32_t n, uint16_t *label_of)
{
    struct catalog *c = b->c;
    struct arena_mark mark = arena_mark(&b->scratch);
    struct answer *v = list_answers(b, key, n, &n);
    uint32_t different = 0, at = 0;
    sort_items(v, n, sizeof(*v), answer_cmp);
    for (uint32_t i = 0; i < n; i++) {
        different += i == 0 || answer_cmp(&v[i], &v[i - 1]) != 0;
    }
    struct req *labels = ARENA_NEW_N(&c->mem, struct req, different);
    for (uint32_t i = 0; i < n; i++) {
        const struct req *r = v[i].req;
        if (i == 0 || answer_cmp(&v[i], &v[i - 1]) != 0) {
            labels[at] = *r;
            labels[at++].values = arena_memdup(&c->mem, r->values, r->n * sizeof(*r->values));
        }
        label_of[v[i].type] = (uint16_t)(at - 1);
    }
    arena_rewind(&b->scratch, mark);
    return labels;
}

/* No type has two cells: the cells of one value are the types of one answer. */
static const struct req *one_each(struct builder *b, const struct cell *cells, uint32_t n,
                                  const struct catalog_column *col, uint16_t *label_of)
{
    struct req *labels = ARENA_NEW_N(&b->c->mem, struct req, (size_t)col->n + 1);
    const struct catalog_value *value = col->values;
    uint32_t at = 0;
    for (uint32_t i = 0, run; i < n; i += run, at++) {
        run = run_length(cells + i, n - i, true);
        labels[at] = (struct req){.key = col->key};
        if (cells[i].value != SYM_NONE) {
            labels[at].n = 1;
            labels[at].values = &(value++)->value;
        }
        for (uint32_t k = i; k < i + run; k++) {
            label_of[cells[k].type] = (uint16_t)at;
        }
    }
    return labels;
}

static void make_labels(struct builder *b, const struct cell *cells, uint32_t n,
                        struct catalog_column *col)
{
    uint16_t *label_of = ARENA_NEW_N(&b->c->mem, uint16_t, b->c->n_types);
    memset(label_of, 0xff, b->c->n_types * sizeof(*label_of));
    col->labels =
        col->single ? one_each(b, cells, n, col, label_of) : several_each(b, col->key, n, label_of);
    col->label_of = label_of;
}

/* n cells of one key. */
static struct catalog_column make_column(struct builder *b, const struct cell *cells, uint32_t n)
{
    struct arena *a = &b->c->mem;
    uint32_t words = b->c->words, n_values = 0;
    uint64_t *defined = ARENA_NEW_N(a, uint64_t, words);
    uint64_t *empty = ARENA_NEW_N(a, uint64_t, words);
    bool single = true;
    for (uint32_t i = 0; i < n; i++) {
        n_values += cells[i].value != SYM_NONE && (i == 0 || cells[i].value != cells[i - 1].value);
        single &= !bits_test(defined, cells[i].type);
        bits_set(defined, cells[i].type);
        if (cells[i].value == SYM_NONE) {
            bits_set(empty, cells[i].type);
        }
    }
    struct catalog_value *values = ARENA_NEW_N(a, struct catalog_value, n_values);
    uint32_t at = 0;
    for (uint32_t i = 0, run; i < n; i += run) {
        run = run_length(cells + i, n - i, true);
        if (cells[i].value != SYM_NONE) {
            values[at++] = make_value(b, cells + i, run);
        }
    }
    struct catalog_column col = {.key = cells[0].key,
                                 .single = single,
                                 .n = n_values,
                                 .values = values,
                                 .defined = defined,
                                 .empty = empty};
    make_labels(b, cells, n, &col);
    return col;
}

static void make_columns(struct builder *b)
{
    struct catalog *c = b->c;
    size_t n;
    struct cell *cells = list_cells(b, &n);
    uint32_t n_columns = 0;
    for (size_t i = 0; i < n; i++) {
        n_columns += i == 0 || cells[i].key != cells[i - 1].key;
    }
    struct catalog_column *columns = ARENA_NEW_N(&c->mem, struct catalog_column, n_columns);
    n_columns = 0;
    for (size_t i = 0, run; i < n; i += run) {
        run = run_length(cells + i, n - i, false);
        columns[n_columns] = make_column(b, cells + i, (uint32_t)run);
        if (cells[i].key < LABELS_END) {
            c->known[cells[i].key] = &columns[n_columns];
        }
        n_columns++;
    }
    c->columns = columns;
    c->n_columns = n_columns;
}

/* ---- stairs
 * --------------------------------------------------------------------------------------- */

struct amount {
    int64_t amount;
    uint32_t type;
};

static int amount_cmp(const void *a, const void *b)
{
    const struct amount *x = a, *y = b;
    if (x->amount != y->amount) {
        return x->amount < y->amount ? -1 : 1;
    }
    return (x->type > y->type) - (x->type < y->type);
}

static struct catalog_stair make_stair(struct builder *b, sym ext, struct amount *v, uint32_t n)
{
    struct arena *a = &b->c->mem;
    uint32_t words = b->c->words, levels_n = 0;
    if (n == 0) {
        return (struct catalog_stair){.ext = ext};
    }
    sort_items(v, n, sizeof(*v), amount_cmp);
    for (uint32_t i = 0; i < n; i++) {
        levels_n += i == 0 || v[i].amount != v[i - 1].amount;
    }
    int64_t *levels = ARENA_NEW_N(a, int64_t, levels_n);
    uint64_t *bits = ARENA_NEW_N(a, uint64_t, (size_t)levels_n * words);
    uint32_t level = levels_n;
    for (uint32_t i = n; i-- > 0;) {
        if (i == n - 1 || v[i].amount != v[i + 1].amount) {
            level--;
            levels[level] = v[i].amount;
            if (level < levels_n - 1) {
                memcpy(bits + (size_t)level * words, bits + (size_t)(level + 1) * words,
                       words * sizeof(*bits));
            }
        }
        bits_set(bits + (size_t)level * words, v[i].type);
    }
    return (struct catalog_stair){.ext = ext, .n = levels_n, .levels = levels, .bits = bits};
}

static struct catalog_stair stair_of(struct builder *b, const struct resources *all, size_t res,
                                     sym ext)
{
    struct arena_mark mark = arena_mark(&b->scratch);
    struct amount *v = ARENA_NEW_N(&b->scratch, struct amount, b->c->n_types);
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->c->n_types; i++) {
        int64_t amount = res < RES_FIXED ? all[i].v[res] : resources_get_ext(&all[i], ext);
        if (amount > 0) {
            v[n++] = (struct amount){amount, i};
        }
    }
    struct catalog_stair ret = make_stair(b, ext, v, n);
    arena_rewind(&b->scratch, mark);
    return ret;
}

/* Names of the extended resources that some type has, sorted by id. */
static sym *list_ext(struct builder *b, const struct resources *all, uint32_t *ret_n)
{
    uint32_t total = 0, n = 0;
    for (uint32_t i = 0; i < b->c->n_types; i++) {
        total += all[i].n_ext;
    }
    sym *v = ARENA_NEW_N(&b->scratch, sym, total);
    total = 0;
    for (uint32_t i = 0; i < b->c->n_types; i++) {
        for (uint32_t k = 0; k < all[i].n_ext; k++) {
            if (all[i].ext[k].amount > 0) {
                v[total++] = all[i].ext[k].name;
            }
        }
    }
    sort_items(v, total, sizeof(*v), sym_id_cmp);
    for (uint32_t i = 0; i < total; i++) {
        if (n == 0 || v[n - 1] != v[i]) {
            v[n++] = v[i];
        }
    }
    *ret_n = n;
    return v;
}

static void make_stairs(struct builder *b, const struct resources *all, struct catalog_stairs *ret)
{
    for (size_t r = 0; r < RES_FIXED; r++) {
        ret->fixed[r] = stair_of(b, all, r, SYM_NONE);
    }
    sym *names = list_ext(b, all, &ret->n_ext);
    struct catalog_stair *ext = ARENA_NEW_N(&b->c->mem, struct catalog_stair, ret->n_ext);
    for (uint32_t i = 0; i < ret->n_ext; i++) {
        ext[i] = stair_of(b, all, RES_FIXED, names[i]);
    }
    ret->ext = ext;
}

static bool any_negative(const struct resources *r)
{
    for (size_t i = 0; i < RES_FIXED; i++) {
        if (r->v[i] < 0) {
            return true;
        }
    }
    for (uint32_t i = 0; i < r->n_ext; i++) {
        if (r->ext[i].amount < 0) {
            return true;
        }
    }
    return false;
}

static void mark_usable(struct catalog *c)
{
    uint64_t *usable = ARENA_NEW_N(&c->mem, uint64_t, c->words);
    for (uint32_t i = 0; i < c->n_types; i++) {
        if (!any_negative(&c->allocatable[i])) {
            bits_set(usable, i);
        }
    }
    c->usable = usable;
}

static bool is_exotic(const struct builder *b, uint32_t type)
{
    static const enum resource devices[] = {RES_NVIDIA_GPU, RES_AMD_GPU, RES_GAUDI, RES_NEURON,
                                            RES_NEURONCORE};
    for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
        if (b->c->capacity[type].v[devices[i]] > 0) {
            return true;
        }
    }
    const char *dot = strchr(sym_str(b->t, b->c->names[type]), '.');
    return dot != NULL && str_contains(dot, "metal");
}

static void mark_exotic(struct builder *b)
{
    uint64_t *exotic = ARENA_NEW_N(&b->c->mem, uint64_t, b->c->words);
    for (uint32_t i = 0; i < b->c->n_types; i++) {
        if (is_exotic(b, i)) {
            bits_set(exotic, i);
        }
    }
    b->c->exotic = exotic;
}

/* ---- all of it
 * ------------------------------------------------------------------------------------ */

static int build(struct builder *b, const struct catalog_type *types, struct err *reterr)
{
    if (sort_types(b, types, reterr) < 0) {
        return -1;
    }
    index_names(b);
    if (copy_types(b, reterr) < 0) {
        return -1;
    }
    make_columns(b);
    make_stairs(b, b->c->capacity, &b->c->capacity_stairs);
    make_stairs(b, b->c->allocatable, &b->c->allocatable_stairs);
    mark_usable(b->c);
    mark_exotic(b);
    return 0;
}

struct catalog *catalog_new(const struct symtab *t, const struct catalog_type *types, uint32_t n,
                            const struct catalog_zones *zones, struct err *reterr)
{
    if (n > CATALOG_MAX_TYPES) {
        err_set(reterr, ERR_LIMIT, "%u instance types, at most %d are possible", n,
                CATALOG_MAX_TYPES);
        return NULL;
    }
    if (check_zones(t, zones, reterr) < 0) {
        return NULL;
    }
    struct arena mem;
    arena_init(&mem, 65536, SIZE_MAX);
    struct catalog *c = ARENA_NEW(&mem, struct catalog);
    c->mem = mem;
    c->n_types = n;
    c->words = (n + 63) / 64;
    copy_zones(c, zones);
    struct builder b = {.t = t, .c = c};
    arena_init(&b.scratch, 65536, SIZE_MAX);
    int rc = build(&b, types, reterr);
    arena_done(&b.scratch);
    if (rc < 0) {
        catalog_free(c);
        return NULL;
    }
    return c;
}
