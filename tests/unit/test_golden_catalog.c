/*
 * test_golden_catalog.c - our catalog against what Karpenter publishes (AL2023, defaults).
 *
 * tests/golden/golden-instance-types.json.gz holds labels and allocatable per type. Everything has
 * to be equal but what tests/golden/catalog-exceptions.tsv lists, one difference a row: type, label
 * or resource, ours, golden, why; "-" stands for absent. The list may only shrink: a row that is no
 * difference any more fails the test, as does one row more than EXCEPTIONS_MAX. On failure the rows
 * that are missing are printed as they would stand in the file.
 */
#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/map.h"
#include "common/base/quantity.h"
#include "common/core/ec2/ec2type.h"
#include "common/core/labels.h"

#include <jansson.h>
#include <stdbool.h>
#include <zlib.h>

#define GOLDEN "tests/golden/golden-instance-types.json.gz"
#define EXCEPTIONS "tests/golden/catalog-exceptions.tsv"
#define COMMON_TYPES 1358
#define EXCEPTIONS_MAX 230
#define FILE_MAX (16u << 20)

/* Their memory and pods differ because the API's answer has changed since. */
static const char *const changed_types[] = {"i7ie.48xlarge", "i7ie.metal-48xl", "i8ge.48xlarge",
                                            "i8ge.metal-48xl"};
/* Not on the page. */
static const sym unpublished[] = {L_OS, L_TENANCY, L_REGION, L_NITRO_SANDBOX};

struct world {
    struct symtab *syms;
    struct arena scratch;
    struct catalog *catalog;
    json_t *golden;
    struct map *exceptions; /* "type\tlabel\tours\tgolden" to the row, NULL once used */
    struct buf exceptions_text;
    unsigned rows, types, missing;
};

static void read_file(const char *path, struct buf *out)
{
    char chunk[65536];
    int n;
    gzFile in = gzopen(path, "rb");
    ck_assert_msg(in != NULL, "%s is missing", path);
    buf_init(out, FILE_MAX);
    while ((n = gzread(in, chunk, sizeof(chunk))) > 0) {
        buf_put(out, chunk, (size_t)n);
    }
    ck_assert_int_eq(n, 0);
    ck_assert(!out->over);
    gzclose(in);
}

static void read_exceptions(struct world *w)
{
    read_file(EXCEPTIONS, &w->exceptions_text);
    w->exceptions = map_new(20000);
    char *next = w->exceptions_text.p;
    for (char *row; (row = strsep(&next, "\n"));) {
        char *why = row;
        if (row[0] == '\0' || row[0] == '#') {
            continue;
        }
        for (int tabs = 0; why && tabs < 4; tabs++) {
            why = strchr(why + (tabs > 0), '\t');
        }
        ck_assert_msg(why && why[1] != '\0', "row without five columns: %s", row);
        *why = '\0';
        ck_assert_msg(!map_has(w->exceptions, row), "row twice: %s", row);
        map_put(w->exceptions, row, row, NULL);
        w->rows++;
    }
}

static void setup(struct world *w)
{
    struct err e = ERR_INIT;
    struct ec2_class cls;
    struct buf text;
    json_error_t error;
    memset(w, 0, sizeof(*w));
    w->syms = labels_symtab_new();
    arena_init(&w->scratch, 0, SIZE_MAX);
    ec2_class_default(&cls);
    struct ec2_catalog_in in = {.syms = w->syms, .region = "us-east-1", .cls = &cls};
    w->catalog = ec2_catalog(&w->scratch, &in, &e);
    ck_assert_msg(w->catalog != NULL, "%s", e.msg);
    read_file(GOLDEN, &text);
    w->golden = json_loadb(text.p, text.n, 0, &error);
    ck_assert_msg(w->golden != NULL, "%s", error.text);
    buf_done(&text);
    read_exceptions(w);
}

static void teardown(struct world *w)
{
    json_decref(w->golden);
    catalog_free(w->catalog);
    arena_done(&w->scratch);
    symtab_free(w->syms);
    map_free(w->exceptions);
    buf_done(&w->exceptions_text);
}

static bool in_list(const char *type, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(type, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* ours and golden differ: there must be a row for it. */
static void difference(struct world *w, const char *type, const char *what, const char *ours,
                       const char *golden)
{
    char *row = xasprintf("%s\t%s\t%s\t%s", type, what, ours, golden);
    if (!map_del(w->exceptions, row)) {
        fprintf(stderr, "%s\n", row);
        w->missing++;
    }
    free(row);
}

static void compare(struct world *w, const char *type, const char *what, const char *ours,
                    const char *golden)
{
    if (strcmp(ours, golden) != 0) {
        difference(w, type, what, ours, golden);
    }
}

/* ---- labels
 * -------------------------------------------------------------------------------------- */

static bool is_unpublished(sym key)
{
    for (size_t i = 0; i < ARRAY_LEN(unpublished); i++) {
        if (unpublished[i] == key) {
            return true;
        }
    }
    return false;
}

/* "-" where the type has none; the page leaves out empty values too (hypervisor of bare metal). */
static const char *our_label(const struct world *w, int type, sym key)
{
    const struct req *r = catalog_label(w->catalog, (uint32_t)type, key);
    if (!r || r->n == 0 || req_single(r) == V_EMPTY) {
        return "-";
    }
    ck_assert_uint_eq(r->n, 1);
    return sym_str(w->syms, req_single(r));
}

static void compare_labels(struct world *w, const char *name, int type, json_t *labels)
{
    const char *key;
    json_t *value;
    json_object_foreach (labels, key, value) {
        compare(w, name, key, our_label(w, type, sym_find(w->syms, key)), json_string_value(value));
    }
    struct arena_mark mark = arena_mark(&w->scratch);
    struct reqset ours = catalog_labels(w->catalog, &w->scratch, (uint32_t)type);
    for (uint32_t i = 0; i < ours.n; i++) {
        sym label = ours.v[i].key;
        if (!is_unpublished(label) && !json_object_get(labels, sym_str(w->syms, label))) {
            compare(w, name, sym_str(w->syms, label), our_label(w, type, label), "-");
        }
    }
    arena_rewind(&w->scratch, mark);
}

/* ---- resources
 * ------------------------------------------------------------------------------------- */

static int64_t golden_amount(json_t *allocatable, enum resource r)
{
    const char *text = json_string_value(json_object_get(allocatable, resource_name(r)));
    int64_t n = 0;
    if (text) {
        ck_assert(r == RES_CPU ? quantity_parse_milli(text, &n) : quantity_parse(text, &n));
    }
    return n;
}

static void compare_resources(struct world *w, const char *name, int type, json_t *allocatable)
{
    const struct resources *ours = catalog_allocatable(w->catalog, (uint32_t)type);
    bool changed = in_list(name, changed_types, ARRAY_LEN(changed_types));
    const char *key;
    json_t *value;
    json_object_foreach (allocatable, key, value) {
        enum resource known;
        ck_assert_msg(resource_parse(key, &known), "%s: resource %s", name, key);
    }
    for (enum resource r = 0; r < RES_FIXED; r++) {
        int64_t golden = golden_amount(allocatable, r);
        char a[QUANTITY_TEXT], b[QUANTITY_TEXT];
        if (ours->v[r] == golden) {
            continue;
        }
        /* No row can excuse these. */
        ck_assert_msg(r != RES_CPU, "%s: cpu %lld", name, (long long)ours->v[r]);
        ck_assert_msg((r != RES_MEMORY && r != RES_PODS) || changed, "%s: %s is %lld, not %lld",
                      name, resource_name(r), (long long)ours->v[r], (long long)golden);
        difference(w, name, resource_name(r), quantity_fmt_bytes(ours->v[r], a),
                   quantity_fmt_bytes(golden, b));
    }
}

START_TEST(equals_what_karpenter_publishes)
{
    struct world w;
    const char *name;
    json_t *type;
    setup(&w);
    json_object_foreach (w.golden, name, type) {
        int i = catalog_find_type(w.catalog, sym_find(w.syms, name));
        if (i < 0) {
            continue;
        }
        w.types++;
        compare_labels(&w, name, i, json_object_get(type, "labels"));
        compare_resources(&w, name, i, json_object_get(type, "allocatable"));
    }
    ck_assert_uint_eq(w.types, COMMON_TYPES);
    for (MAP_EACH(w.exceptions, e)) {
        fprintf(stderr, "no difference any more: %s\n", map_key(e));
    }
    ck_assert_msg(w.missing == 0, "%u differences are not in " EXCEPTIONS, w.missing);
    ck_assert_msg(map_count(w.exceptions) == 0, "%zu rows of " EXCEPTIONS " are stale",
                  map_count(w.exceptions));
    ck_assert_msg(w.rows <= EXCEPTIONS_MAX, EXCEPTIONS " has %u rows, it must not grow", w.rows);
    teardown(&w);
}
END_TEST

UNIT_MAIN("golden_catalog", UNIT_TEST(equals_what_karpenter_publishes))
