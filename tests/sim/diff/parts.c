/* parts.c - see parts.h */
#include "parts.h"

unsigned parts_below(struct entropy *dice, unsigned n)
{
    return (unsigned)entropy_below(dice, n);
}

bool parts_maybe(struct entropy *dice, unsigned percent)
{
    return parts_below(dice, 100) < percent;
}

json_t *parts_some(struct entropy *dice, const char *const *v, unsigned n, unsigned percent)
{
    json_t *out = json_array();
    for (unsigned i = 0; i < n; i++) {
        if (parts_maybe(dice, percent)) {
            json_array_append_new(out, json_string(v[i]));
        }
    }
    if (json_array_size(out) == 0) {
        json_array_append_new(out, json_string(v[parts_below(dice, n)]));
    }
    return out;
}

void parts_put(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

json_t *parts_texts(const char *a, const char *b)
{
    return b ? json_pack("[s, s]", a, b) : json_pack("[s]", a);
}

json_t *parts_expr(const char *key, const char *op, json_t *values)
{
    json_t *e = json_pack("{s:s, s:s}", "key", key, "operator", op);
    if (values) {
        parts_put(e, "values", values);
    }
    return e;
}

json_t *parts_amounts(int cpu_milli, int mem_mib, int pods)
{
    json_t *r = json_pack("{s:o, s:o}", "cpu", json_sprintf("%dm", cpu_milli), "memory",
                          json_sprintf("%dMi", mem_mib));
    if (pods > 0) {
        parts_put(r, "pods", json_sprintf("%d", pods));
    }
    return r;
}

json_t *parts_type_names(struct entropy *dice)
{
    json_t *out = json_array();
    for (unsigned n = 2 + parts_below(dice, 3), i = parts_below(dice, ARRAY_LEN(parts_types));
         n > 0; n--, i++) {
        json_array_append_new(out, json_string(parts_types[i % ARRAY_LEN(parts_types)].name));
    }
    return out;
}

json_t *parts_container(int cpu_milli, int mem_mib)
{
    return json_pack("{s:s, s:s, s:{s:o}}", "name", "c", "image", "x:1", "resources", "requests",
                     parts_amounts(cpu_milli, mem_mib, 0));
}
