/* observation.c - see observation.h. */
#include "observation.h"

#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"

static const struct {
    enum resource res;
    const char *name;
} columns[] = {
#define X(res, name) {res, name},
    OBSERVED(X)
#undef X
};

static json_t *amounts_json(const int64_t *v)
{
    json_t *o = json_object();
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        const char *unit = columns[i].res == RES_CPU ? "m" : "";
        if (v[columns[i].res] >= 0) {
            json_object_set_new(o, columns[i].name,
                                json_sprintf("%lld%s", (long long)v[columns[i].res], unit));
        }
    }
    return o;
}

json_t *observation_json(const struct observation *o)
{
    json_t *ret =
        json_pack("{s:s, s:s, s:s, s:o, s:o}", "nodeClass", o->cls, "nodeClassHash", o->hash,
                  "instanceType", o->type, "capacity", amounts_json(o->seen.capacity),
                  "allocatable", amounts_json(o->seen.allocatable));
    if (o->mismatch) {
        json_object_set_new(ret, "promised", amounts_json(o->promised));
    }
    return ret;
}

static void read_amounts(const json_t *o, int64_t *v)
{
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        enum resource res = columns[i].res;
        const char *text = json_string_value(json_object_get(o, columns[i].name));
        bool ok = text && (res == RES_CPU ? quantity_parse_milli(text, &v[res])
                                          : quantity_parse(text, &v[res]));
        v[res] = ok && v[res] >= 0 ? v[res] : OBSERVED_NONE;
    }
}

bool observation_read(const json_t *row, struct observation *ret)
{
    *ret = (struct observation){.cls = jsonx_str(row, "nodeClass"),
                                .hash = jsonx_str(row, "nodeClassHash"),
                                .type = jsonx_str(row, "instanceType")};
    const json_t *promised = jsonx_obj(row, "promised");
    read_amounts(jsonx_obj(row, "capacity"), ret->seen.capacity);
    read_amounts(jsonx_obj(row, "allocatable"), ret->seen.allocatable);
    read_amounts(promised, ret->promised);
    ret->mismatch = promised != NULL;
    return ret->cls && ret->hash && ret->type;
}
