#include "historylook.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"

#define NAME "karp-history"

static const char *text_of(const struct sim_api *api)
{
    for (size_t i = 0; i < sim_api_count(api, SIM_CONFIGMAP); i++) {
        const json_t *o = sim_api_at(api, SIM_CONFIGMAP, i);
        if (str_eq(jsonx_str(o, "metadata.name"), NAME)) {
            return json_string_value(json_object_get(jsonx_obj(o, "data"), "history.json"));
        }
    }
    return NULL;
}

static bool has(const json_t *entry, const char *key, const json_t *want)
{
    char number[32];
    const json_t *v = json_object_get(entry, key);
    const char *text = json_string_value(v);
    if (json_is_array(v)) {
        snprintf(number, sizeof(number), "%zu", json_array_size(v));
        text = number;
    }
    const char *wanted = json_string_value(want);
    return str_eq(wanted, "absent") ? !v : str_eq(text, wanted);
}

static bool matches(const json_t *entry, const json_t *want)
{
    const char *key;
    json_t *v;
    json_object_foreach ((json_t *)(uintptr_t)want, key, v) {
        if (!has(entry, key, v)) {
            return false;
        }
    }
    return true;
}

size_t historylook_count(const struct sim_api *api, const json_t *want)
{
    const char *text = text_of(api);
    AUTO_JSON json_t *doc = text ? jsonx_parse(text, strlen(text), NAME, NULL) : NULL;
    size_t i, n = 0;
    json_t *entry;
    json_array_foreach (jsonx_arr(doc, "entries"), i, entry) {
        n += matches(entry, want);
    }
    return n;
}

/* By text: it is asked at every node's end. */
size_t historylook_of(const struct sim_api *api, const char *claim_uid)
{
    char part[128];
    const char *text = text_of(api);
    size_t n = 0;
    snprintf(part, sizeof(part), "\"uid\":\"%.80s\"", claim_uid);
    while (text && (text = strstr(text, part)) != NULL) {
        text += strlen(part);
        n++;
    }
    return n;
}
