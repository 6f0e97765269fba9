/* bench_types.c - karp-bench types: the built-in catalog as a file; see bench.h. */
#include "bench.h"

#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/core/labels.h"

static json_t *requirement(const char *key, const char *op)
{
    return json_pack("{s:s,s:s,s:[]}", "key", key, "operator", op, "values");
}

static void add_value(json_t *requirement_, const char *value)
{
    json_array_append_new(json_object_get(requirement_, "values"), json_string(value));
}

static json_t *labels_json(const struct symtab *t, const struct reqset *labels)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < labels->n; i++) {
        const struct req *r = &labels->v[i];
        json_t *o = requirement(sym_str(t, r->key), r->n > 0 ? "In" : "DoesNotExist");
        for (uint32_t k = 0; k < r->n; k++) {
            add_value(o, sym_str(t, r->values[k]));
        }
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *resources_json(const struct symtab *t, const struct resources *r)
{
    json_t *o = json_object();
    char text[QUANTITY_TEXT];
    for (int i = 0; i < RES_FIXED; i++) {
        if (r->v[i] > 0) {
            const char *s = i == RES_CPU ? quantity_fmt_milli(r->v[i], text)
                            : i == RES_MEMORY || i == RES_EPHEMERAL_STORAGE
                                ? quantity_fmt_bytes(r->v[i], text)
                                : quantity_fmt_count(r->v[i], text);
            json_object_set_new(o, resource_name((enum resource)i), json_string(s));
        }
    }
    for (uint32_t i = 0; i < r->n_ext; i++) {
        json_object_set_new(o, sym_str(t, r->ext[i].name),
                            json_string(quantity_fmt_count(r->ext[i].amount, text)));
    }
    return o;
}

static json_t *offerings_json(const struct bench_world *b, uint32_t type)
{
    json_t *list = json_array();
    for (uint32_t z = 0; z < catalog_n_zones(b->catalog); z++) {
        for (int ct = 0; ct < CT_COUNT; ct++) {
            int64_t price = offerings_price(b->offerings, type, z, (enum capacity_type)ct);
            if (price == PRICE_UNKNOWN) {
                continue;
            }
            json_t *zone = requirement(sym_str(b->w.syms, L_ZONE), "In");
            json_t *kind = requirement(sym_str(b->w.syms, L_CAPACITY_TYPE), "In");
            add_value(zone, sym_str(b->w.syms, catalog_zone(b->catalog, z)));
            add_value(kind, sym_str(b->w.syms, capacity_type_sym((enum capacity_type)ct)));
            json_array_append_new(list, json_pack("{s:b,s:f,s:[o,o]}", "available", 1, "price",
                                                  (double)price / PUSD_PER_USD, "requirements",
                                                  kind, zone));
        }
    }
    return list;
}

static json_t *types_json(const struct bench_world *b)
{
    json_t *all = json_array();
    struct arena a;
    arena_init(&a, 0, SIZE_MAX);
    for (uint32_t i = 0; i < catalog_n_types(b->catalog); i++) {
        json_t *offers = offerings_json(b, i);
        if (json_array_size(offers) == 0) {
            json_decref(offers);
            continue;
        }
        arena_reset(&a);
        struct reqset labels = catalog_labels(b->catalog, &a, i);
        json_array_append_new(
            all,
            json_pack("{s:s,s:o,s:o,s:o,s:o}", "name",
                      sym_str(b->w.syms, catalog_type_name(b->catalog, i)), "requirements",
                      labels_json(b->w.syms, &labels), "capacity",
                      resources_json(b->w.syms, catalog_capacity(b->catalog, i)), "allocatable",
                      resources_json(b->w.syms, catalog_allocatable(b->catalog, i)), "offerings",
                      offers));
    }
    arena_done(&a);
    return all;
}

int bench_types(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct bench_world b;
    struct bench_input in = {.name = "types", .types = "builtin", .region = BENCH_REGION};
    const char *out = NULL;
    const struct bench_arg args[] = {
        {.name = "--region", .kind = ARG_TEXT, .to = &in.region},
        {.name = "--out", .kind = ARG_TEXT, .to = &out},
    };
    if (!bench_args(argc, argv, args, ARRAY_LEN(args)) || !out) {
        fprintf(stderr, "karp-bench: types wants --out (karp-bench --help)\n");
        return 2;
    }
    if (bench_read(&in, &b, &err)) {
        fprintf(stderr, "karp-bench: %s\n", err.msg);
        return 1;
    }
    json_t *types = types_json(&b);
    int rc = json_dump_file(types, out, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) ? 1 : 0;
    if (rc) {
        fprintf(stderr, "karp-bench: %s: cannot be written\n", out);
    }
    json_decref(types);
    bench_world_done(&b);
    return rc;
}
