/* schema.c - see schema.h */
#include "schema.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "tests/sim/kube/api_store.h"

#define PATH_MAX_BYTES 512

/* ---- defaults ---------------------------------------------------------------------------------
 */

static json_t *parse_fallback(const char *text)
{
    char *copy = xstrdup(text);
    for (char *p = copy; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    json_t *v = json_loads(copy, JSON_DECODE_ANY, NULL);
    free(copy);
    return v;
}

void sim_schema_fill(const struct sim_schema *s, json_t *obj)
{
    size_t i;
    json_t *item;
    if (s->type == SIM_ARRAY && s->items) {
        json_array_foreach (obj, i, item) {
            sim_schema_fill(s->items, item);
        }
    }
    if (s->type != SIM_OBJECT || !json_is_object(obj)) {
        return;
    }
    for (const struct sim_schema *f = s->props; f && f->key; f++) {
        json_t *v = json_object_get(obj, f->key);
        if (!v && f->fallback) {
            v = parse_fallback(f->fallback);
            json_object_set_new(obj, f->key, v);
        }
        if (v) {
            sim_schema_fill(f, v);
        }
    }
}

/* ---- unknown fields ---------------------------------------------------------------------------
 */

static const struct sim_schema *field_of(const struct sim_schema *s, const char *key)
{
    for (const struct sim_schema *f = s->props; f && f->key; f++) {
        if (str_eq(f->key, key)) {
            return f;
        }
    }
    return s->items;
}

bool sim_schema_has_unknown(const struct sim_schema *s, const json_t *obj)
{
    const char *key;
    json_t *v;
    size_t i;
    if (s->type == SIM_ARRAY && s->items) {
        json_array_foreach ((json_t *)obj, i, v) {
            if (sim_schema_has_unknown(s->items, v)) {
                return true;
            }
        }
    }
    if (s->type != SIM_OBJECT || s->flags & SIM_OPEN) {
        return false;
    }
    json_object_foreach ((json_t *)obj, key, v) {
        const struct sim_schema *f = field_of(s, key);
        if (!f || sim_schema_has_unknown(f, v)) {
            return true;
        }
    }
    return false;
}

void sim_schema_prune(const struct sim_schema *s, json_t *obj)
{
    const char *key;
    json_t *v;
    void *next;
    size_t i;
    if (s->type == SIM_ARRAY && s->items) {
        json_array_foreach (obj, i, v) {
            sim_schema_prune(s->items, v);
        }
    }
    if (s->type != SIM_OBJECT || s->flags & SIM_OPEN) {
        return;
    }
    json_object_foreach_safe(obj, next, key, v)
    {
        const struct sim_schema *f = field_of(s, key);
        if (f) {
            sim_schema_prune(f, v);
        } else {
            json_object_del(obj, key);
        }
    }
}

/* ---- checking ---------------------------------------------------------------------------------
 */

static const char *type_name(enum sim_type t)
{
    static const char *const names[] = {"object",  "array",   "string",
                                        "integer", "boolean", "string"};
    return names[t];
}

static const char *json_type_name(const json_t *v)
{
    return json_is_object(v)    ? "object"
           : json_is_array(v)   ? "array"
           : json_is_string(v)  ? "string"
           : json_is_integer(v) ? "integer"
           : json_is_real(v)    ? "number"
           : json_is_boolean(v) ? "boolean"
                                : "null";
}

static bool has_type(const struct sim_schema *s, const json_t *v)
{
    return s->type == SIM_OBJECT    ? json_is_object(v)
           : s->type == SIM_ARRAY   ? json_is_array(v)
           : s->type == SIM_STRING  ? json_is_string(v)
           : s->type == SIM_INTEGER ? json_is_integer(v)
           : s->type == SIM_BOOLEAN ? json_is_boolean(v)
                                    : json_is_string(v) || json_is_integer(v);
}

/* The value as messages print it: texts quoted, numbers plain. */
static void print_value(const json_t *v, char *dst, size_t size)
{
    if (json_is_string(v)) {
        snprintf(dst, size, "\"%s\"", json_string_value(v));
    } else if (json_is_integer(v)) {
        snprintf(dst, size, "%lld", (long long)json_integer_value(v));
    } else {
        snprintf(dst, size, "\"%s\"", json_type_name(v));
    }
}

static void invalid(json_t *causes, const json_t *v, const char *path, const char *what)
{
    char text[160];
    print_value(v, text, sizeof(text));
    sim_cause(causes, "FieldValueInvalid", path, "Invalid value: %s: %s in body %s", text, path,
              what);
}

static void check_oneof(const struct sim_schema *s, const json_t *v, const char *path,
                        json_t *causes)
{
    char all[400] = "";
    size_t at = 0;
    for (const char *const *o = s->oneof; *o; o++) {
        if (str_eq(*o, json_string_value(v))) {
            return;
        }
        at += (size_t)snprintf(all + at, sizeof(all) - at, "%s\"%s\"", at ? ", " : "", *o);
    }
    sim_cause(causes, "FieldValueNotSupported", path,
              "Unsupported value: \"%s\": supported values: %s", json_string_value(v), all);
}

static void check_text(const struct sim_schema *s, const json_t *v, const char *path,
                       json_t *causes)
{
    int64_t at, n = (int64_t)json_string_length(v);
    char what[512];
    if (s->flags & SIM_MAX && n > s->max) {
        sim_cause(causes, "FieldValueTooLong", path, "Too long: may not be more than %lld bytes",
                  (long long)s->max);
    }
    if (s->flags & SIM_MIN && n < s->min) {
        snprintf(what, sizeof(what), "should be at least %lld chars long", (long long)s->min);
        invalid(causes, v, path, what);
    }
    if (s->match && !s->match(json_string_value(v))) {
        snprintf(what, sizeof(what), "should match '%s'", s->pattern);
        invalid(causes, v, path, what);
    }
    if (s->flags & SIM_TIME && !timefmt_parse_rfc3339(json_string_value(v), &at)) {
        snprintf(what, sizeof(what), "must be of type date-time: \"%s\"", json_string_value(v));
        invalid(causes, v, path, what);
    }
    if (s->oneof) {
        check_oneof(s, v, path, causes);
    }
}

static void check_number(const struct sim_schema *s, const json_t *v, const char *path,
                         json_t *causes)
{
    char what[80];
    int64_t n = json_integer_value(v);
    if (s->flags & SIM_MIN && n < s->min) {
        snprintf(what, sizeof(what), "should be greater than or equal to %lld", (long long)s->min);
        invalid(causes, v, path, what);
    }
    if (s->flags & SIM_MAX && n > s->max) {
        snprintf(what, sizeof(what), "should be less than or equal to %lld", (long long)s->max);
        invalid(causes, v, path, what);
    }
}

static void check_size(const struct sim_schema *s, size_t n, const char *path, json_t *causes)
{
    if (s->flags & SIM_MAX && (int64_t)n > s->max) {
        sim_cause(causes, "FieldValueTooMany", path, "Too many: %zu: must have at most %lld items",
                  n, (long long)s->max);
    }
    if (s->flags & SIM_MIN && (int64_t)n < s->min) {
        sim_cause(causes, "FieldValueInvalid", path,
                  "Invalid value: %zu: %s in body should have at least %lld items", n, path,
                  (long long)s->min);
    }
}

static void check_twice(const json_t *v, const char *path, json_t *causes)
{
    for (size_t i = 0; i < json_array_size(v); i++) {
        for (size_t k = 0; k < i; k++) {
            if (json_equal(json_array_get(v, i), json_array_get(v, k))) {
                char field[PATH_MAX_BYTES], text[160];
                print_value(json_array_get(v, i), text, sizeof(text));
                snprintf(field, sizeof(field), "%s[%zu]", path, i);
                sim_cause(causes, "FieldValueDuplicate", field, "Duplicate value: %s", text);
                break;
            }
        }
    }
}

static void check_array(const struct sim_schema *s, const json_t *v, const char *path,
                        json_t *causes)
{
    char field[PATH_MAX_BYTES];
    size_t i;
    json_t *item;
    check_size(s, json_array_size(v), path, causes);
    json_array_foreach ((json_t *)v, i, item) {
        snprintf(field, sizeof(field), "%s[%zu]", path, i);
        sim_schema_check(s->items, item, NULL, field, causes);
    }
    if (s->flags & SIM_SET) {
        check_twice(v, path, causes);
    }
}

static void check_object(const struct sim_schema *s, const json_t *v, const json_t *old,
                         const char *path, json_t *causes)
{
    char field[PATH_MAX_BYTES];
    const char *key;
    json_t *one;
    if (!s->props && s->items) {
        check_size(s, json_object_size(v), path, causes);
    }
    for (const struct sim_schema *f = s->props; f && f->key; f++) {
        if (f->flags & SIM_REQUIRED && !json_object_get(v, f->key)) {
            snprintf(field, sizeof(field), "%s.%s", path, f->key);
            sim_cause(causes, "FieldValueRequired", field, "Required value");
        }
    }
    json_object_foreach ((json_t *)v, key, one) {
        const struct sim_schema *f = field_of(s, key);
        const json_t *was = json_object_get(old, key);
        snprintf(field, sizeof(field), "%s.%s", path, key);
        if (f && one != was) {
            sim_schema_check(f, one, was, field, causes);
        }
    }
}

void sim_schema_check(const struct sim_schema *s, const json_t *obj, const json_t *old,
                      const char *path, json_t *causes)
{
    if (!has_type(s, obj)) {
        const char *got = json_type_name(obj);
        sim_cause(causes, "FieldValueTypeInvalid", path,
                  "Invalid value: \"%s\": %s in body must be of type %s: \"%s\"", got, path,
                  type_name(s->type), got);
        return;
    }
    switch (s->type) {
    case SIM_OBJECT:
        check_object(s, obj, old, path, causes);
        break;
    case SIM_ARRAY:
        check_array(s, obj, path, causes);
        break;
    case SIM_INTEGER:
        check_number(s, obj, path, causes);
        break;
    case SIM_STRING:
    case SIM_AMOUNT:
        if (json_is_string(obj)) {
            check_text(s, obj, path, causes);
        }
        break;
    case SIM_BOOLEAN:
        break;
    }
}

/* ---- rules ------------------------------------------------------------------------------------
 */

bool sim_schema_blocked(json_t *causes)
{
    static const char *const blocking[] = {"FieldValueNotSupported", "FieldValueRequired",
                                           "FieldValueTooLong", "FieldValueTooMany",
                                           "FieldValueTypeInvalid"};
    size_t i;
    json_t *c;
    json_array_foreach (causes, i, c) {
        for (size_t b = 0; b < ARRAY_LEN(blocking); b++) {
            if (str_eq(jsonx_str(c, "reason"), blocking[b])) {
                sim_cause(causes, "FieldValueInvalid", "<nil>",
                          "Invalid value: null: some validation rules were not checked because the "
                          "object was invalid; correct the existing errors to complete validation");
                return true;
            }
        }
    }
    return false;
}

static void ask(const struct sim_schema *s, const json_t *obj, const json_t *old, const char *path,
                json_t *causes)
{
    for (const struct sim_rule *r = s->rules; r && r->message; r++) {
        if ((!r->transition || old) && !r->holds(obj, old)) {
            sim_cause(causes, "FieldValueInvalid", path, "Invalid value: \"%s\": %s",
                      type_name(s->type), r->message);
        }
    }
}

void sim_schema_rules(const struct sim_schema *s, const json_t *obj, const json_t *old,
                      const char *path, json_t *causes)
{
    char field[PATH_MAX_BYTES];
    const char *key;
    size_t i;
    json_t *v;
    ask(s, obj, old, path, causes);
    if (s->type == SIM_ARRAY) {
        json_array_foreach ((json_t *)obj, i, v) {
            snprintf(field, sizeof(field), "%s[%zu]", path, i);
            sim_schema_rules(s->items, v, NULL, field, causes);
        }
    } else if (s->type == SIM_OBJECT) {
        json_object_foreach ((json_t *)obj, key, v) {
            const struct sim_schema *f = field_of(s, key);
            snprintf(field, sizeof(field), s->props ? "%s.%s" : "%s[%s]", path, key);
            if (f) {
                sim_schema_rules(f, v, json_object_get(old, key), field, causes);
            }
        }
    }
}
