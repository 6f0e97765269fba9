#include "historylook.h"

#include "common/base/jsonx.h"
#include "common/base/str.h"

#define HISTORY "karp-history", "history.json"
#define OBSERVED "karp-observed", "observed.json"
#define FACTS "karp-offerings", "facts.json"

static const char *text_of(const struct sim_api *api, const char *name, const char *key)
{
    for (size_t i = 0; i < sim_api_count(api, SIM_CONFIGMAP); i++) {
        const json_t *o = sim_api_at(api, SIM_CONFIGMAP, i);
        if (str_eq(jsonx_str(o, "metadata.name"), name)) {
            return json_string_value(json_object_get(jsonx_obj(o, "data"), key));
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
    if (json_is_integer(v)) {
        snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(v));
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

static json_t *doc_of(const struct sim_api *api, const char *name, const char *key)
{
    const char *text = text_of(api, name, key);
    return text ? jsonx_parse(text, strlen(text), name, NULL) : NULL;
}

static size_t count(const json_t *doc, const char *list, const json_t *want)
{
    size_t i, n = 0;
    json_t *entry;
    json_array_foreach (jsonx_arr(doc, list), i, entry) {
        n += matches(entry, want);
    }
    return n;
}

size_t historylook_count(const struct sim_api *api, const json_t *want)
{
    AUTO_JSON json_t *doc = doc_of(api, HISTORY);
    return count(doc, "entries", want);
}

size_t historylook_observed(const struct sim_api *api, const json_t *want)
{
    AUTO_JSON json_t *doc = doc_of(api, OBSERVED);
    return count(doc, "entries", want);
}

size_t historylook_attention(const struct sim_api *api, const json_t *want)
{
    AUTO_JSON json_t *doc = doc_of(api, FACTS);
    return count(doc, "attention", want);
}

double historylook_sum(const struct sim_api *api, const char *path)
{
    AUTO_JSON json_t *doc = doc_of(api, OBSERVED);
    double sum = 0, usd;
    size_t i;
    json_t *day;
    json_array_foreach (jsonx_arr(doc, "days"), i, day) {
        const json_t *v = jsonx_at(day, path);
        bool money = json_is_string(v) && str_parse_f64(json_string_value(v), &usd);
        sum += money ? usd : (double)json_integer_value(v);
    }
    return doc ? sum : -1;
}

/* By text: it is asked at every node's end. */
size_t historylook_of(const struct sim_api *api, const char *claim_uid)
{
    char part[128];
    const char *text = text_of(api, HISTORY);
    size_t n = 0;
    snprintf(part, sizeof(part), "\"uid\":\"%.80s\"", claim_uid);
    while (text && (text = strstr(text, part)) != NULL) {
        text += strlen(part);
        n++;
    }
    return n;
}
