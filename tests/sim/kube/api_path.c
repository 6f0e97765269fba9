/* api_path.c - what a request's path asks for; see api_store.h */
#include "api_store.h"
#include "common/base/alloc.h"
#include "common/base/str.h"

#include <ctype.h>

#define PARTS_MAX 9

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Percent-decoded copy; a bad escape stays as it is. */
static char *decode(const char *s, size_t n, bool plus_is_blank)
{
    char *out = xmalloc(n + 1);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        bool escape = s[i] == '%' && i + 2 < n && hex(s[i + 1]) >= 0 && hex(s[i + 2]) >= 0;
        if (escape) {
            out[at++] = (char)(hex(s[i + 1]) * 16 + hex(s[i + 2]));
            i += 2;
        } else {
            out[at++] = plus_is_blank && s[i] == '+' ? ' ' : s[i];
        }
    }
    out[at] = '\0';
    return out;
}

/* ---- query ------------------------------------------------------------------------------------
 */

static int take_int(const char *key, const char *value, int64_t *ret, struct err *reterr)
{
    if (!str_parse_i64(value, ret)) {
        return err_set(reterr, ERR_INVALID, "query parameter %s: \"%s\" is no number", key, value);
    }
    return 0;
}

static void take_text(char **slot, char **value)
{
    free(*slot);
    *slot = *value;
    *value = NULL;
}

static bool truth(const char *v)
{
    return str_eq(v, "true") || str_eq(v, "1");
}

/* *value is taken if it is kept. Parameters that make no difference here are accepted. */
static int take_param(struct sim_path *p, const char *key, char **value, struct err *reterr)
{
    struct {
        const char *key;
        char **slot;
    } texts[] = {{"labelSelector", &p->label_selector},
                 {"fieldSelector", &p->field_selector},
                 {"continue", &p->continue_token},
                 {"resourceVersion", &p->version},
                 {"propagationPolicy", &p->propagation}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (str_eq(key, texts[i].key)) {
            take_text(texts[i].slot, value);
            return 0;
        }
    }
    struct {
        const char *key;
        int64_t *slot;
    } ints[] = {{"limit", &p->limit},
                {"timeoutSeconds", &p->timeout_s},
                {"gracePeriodSeconds", &p->grace_s}};
    for (size_t i = 0; i < ARRAY_LEN(ints); i++) {
        if (str_eq(key, ints[i].key)) {
            return take_int(key, *value, ints[i].slot, reterr);
        }
    }
    if (str_eq(key, "watch")) {
        p->watch = truth(*value);
    } else if (str_eq(key, "allowWatchBookmarks")) {
        p->bookmarks = truth(*value);
    } else if (str_eq(key, "sendInitialEvents")) {
        p->initial_events = truth(*value);
    } else if (str_eq(key, "dryRun")) {
        p->dry_run = str_eq(*value, "All");
    }
    return 0;
}

static int parse_query(const char *q, struct sim_path *p, struct err *reterr)
{
    while (*q) {
        size_t n = strcspn(q, "&");
        const char *eq = memchr(q, '=', n);
        size_t key_n = eq ? (size_t)(eq - q) : n;
        AUTO_FREE char *key = decode(q, key_n, true);
        AUTO_FREE char *value = eq ? decode(eq + 1, n - key_n - 1, true) : xstrdup("");
        if (take_param(p, key, &value, reterr)) {
            return -1;
        }
        q += n + (q[n] == '&');
    }
    return 0;
}

/* ---- path -------------------------------------------------------------------------------------
 */

static size_t split(const char *path, size_t n, char *parts[PARTS_MAX])
{
    size_t count = 0, at = 0;
    while (at < n && count < PARTS_MAX) {
        while (at < n && path[at] == '/') {
            at++;
        }
        size_t len = 0;
        while (at + len < n && path[at + len] != '/') {
            len++;
        }
        if (len > 0) {
            parts[count++] = decode(path + at, len, false);
        }
        at += len;
    }
    return count;
}

static const struct sim_kind *served(const char *group, const char *version, const char *plural)
{
    AUTO_FREE char *api_version = group[0] ? xasprintf("%s/%s", group, version) : xstrdup(version);
    for (size_t i = 0; i < SIM_KINDS; i++) {
        const struct sim_kind *k = sim_kind((enum sim_kind_id)i);
        if (str_eq(k->plural, plural) && str_eq(k->api_version, api_version)) {
            return k;
        }
    }
    return NULL;
}

static int unknown(const char *path, struct err *reterr)
{
    err_set(reterr, ERR_NOT_FOUND, "the server could not find the requested resource (%s)", path);
    return 404;
}

/* parts: what follows the version. /namespaces/NS/PLURAL… is namespaced, /namespaces/NS[/status]
 * the Namespace itself. */
static int parse_parts(char **parts, size_t n, const char *group, const char *version,
                       struct sim_path *p)
{
    size_t at = 0;
    bool in_ns = n >= 3 && str_eq(parts[0], "namespaces") && !str_eq(parts[2], "status") &&
                 !str_eq(parts[2], "finalize");
    if (in_ns) {
        str_copy(p->ns, sizeof(p->ns), parts[1]);
        at = 2;
    }
    p->kind = at < n ? served(group, version, parts[at++]) : NULL;
    if (!p->kind || (in_ns && !(p->kind->flags & SIM_KIND_NAMESPACED))) {
        return 404;
    }
    if (at < n) {
        str_copy(p->name, sizeof(p->name), parts[at++]);
    }
    if (at < n) {
        str_copy(p->sub, sizeof(p->sub), parts[at++]);
    }
    bool needs_ns = p->name[0] && p->kind->flags & SIM_KIND_NAMESPACED;
    return at < n || (needs_ns && !in_ns) ? 404 : 0;
}

static int parse_split(char **parts, size_t n, struct sim_path *p)
{
    if (n >= 3 && str_eq(parts[0], "api")) {
        return parse_parts(parts + 2, n - 2, "", parts[1], p);
    }
    if (n >= 4 && str_eq(parts[0], "apis")) {
        return parse_parts(parts + 3, n - 3, parts[1], parts[2], p);
    }
    return 404;
}

int sim_path_parse(const char *path, struct sim_path *ret, struct err *reterr)
{
    *ret = (struct sim_path){.grace_s = -1};
    char *parts[PARTS_MAX];
    size_t path_n = strcspn(path, "?");
    size_t n = split(path, path_n, parts);
    int code = parse_split(parts, n, ret);
    for (size_t i = 0; i < n; i++) {
        free(parts[i]);
    }
    if (code) {
        return unknown(path, reterr);
    }
    if (path[path_n] == '?' && parse_query(path + path_n + 1, ret, reterr)) {
        sim_path_done(ret);
        return 400;
    }
    return 0;
}

void sim_path_done(struct sim_path *p)
{
    free(p->label_selector);
    free(p->field_selector);
    free(p->continue_token);
    free(p->version);
    free(p->propagation);
    p->label_selector = p->field_selector = p->continue_token = p->version = p->propagation = NULL;
}

/* ---- discovery --------------------------------------------------------------------------------
 */

static json_t *group_list(void)
{
    json_t *groups = json_array();
    for (size_t i = 0; i < SIM_KINDS; i++) {
        const struct sim_kind *k = sim_kind((enum sim_kind_id)i);
        json_t *last = json_array_get(groups, json_array_size(groups) - 1);
        const char *name = json_string_value(json_object_get(last, "name"));
        if (!k->group[0]) {
            continue;
        }
        json_t *version = json_pack("{s:s, s:s}", "groupVersion", k->api_version, "version",
                                    strchr(k->api_version, '/') + 1);
        if (!str_eq(name, k->group)) {
            json_array_append_new(groups,
                                  json_pack("{s:s, s:[O], s:O}", "name", k->group, "versions",
                                            version, "preferredVersion", version));
            json_decref(version);
            continue;
        }
        json_t *versions = json_object_get(last, "versions");
        json_t *before = json_array_get(versions, json_array_size(versions) - 1);
        if (json_equal(before, version)) {
            json_decref(version);
        } else {
            json_array_append_new(versions, version);
        }
    }
    return json_pack("{s:s, s:s, s:o}", "kind", "APIGroupList", "apiVersion", "v1", "groups",
                     groups);
}

static json_t *resource_list(const char *api_version)
{
    json_t *list = json_array();
    for (size_t i = 0; i < SIM_KINDS; i++) {
        const struct sim_kind *k = sim_kind((enum sim_kind_id)i);
        if (!str_eq(k->api_version, api_version)) {
            continue;
        }
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:s, s:[s,s,s,s,s,s,s]}", "name",
                                              k->plural, "singularName", "", "namespaced",
                                              (k->flags & SIM_KIND_NAMESPACED) != 0, "kind",
                                              k->kind, "verbs", "create", "delete", "get", "list",
                                              "patch", "update", "watch"));
    }
    if (json_array_size(list) == 0) {
        json_decref(list);
        return NULL;
    }
    return json_pack("{s:s, s:s, s:s, s:o}", "kind", "APIResourceList", "apiVersion", "v1",
                     "groupVersion", api_version, "resources", list);
}

json_t *sim_discovery(const char *path)
{
    size_t n = strcspn(path, "?");
    AUTO_FREE char *p = xstrndup(path, n);
    if (str_eq(p, "/version")) {
        return json_pack("{s:s, s:s, s:s, s:s}", "major", "1", "minor", "34", "gitVersion",
                         "v1.34.4", "platform", "linux/amd64");
    }
    if (str_eq(p, "/api")) {
        return json_pack("{s:s, s:[s]}", "kind", "APIVersions", "versions", "v1");
    }
    if (str_eq(p, "/apis")) {
        return group_list();
    }
    return str_eq(p, "/api/v1")      ? resource_list("v1")
           : str_starts(p, "/apis/") ? resource_list(p + strlen("/apis/"))
                                     : NULL;
}
