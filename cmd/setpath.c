/* setpath.c - see setpath.h. */
#include "setpath.h"

#include "cmd/read/objects.h"
#include "common/base/str.h"
#include "common/base/yamlx.h"

/* ---- taking it apart ------------------------------------------------------------------------- */

/* Where the path begins (at its dot), or NULL. */
static const char *path_start(const char *s)
{
    static const char *const roots[] = {".spec", ".metadata", ".status"};
    for (; *s; s++) {
        for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
            size_t n = strlen(roots[i]);
            if (strncmp(s, roots[i], n) == 0 && (s[n] == '.' || s[n] == '[')) {
                return s;
            }
        }
    }
    return NULL;
}

/* The "=" behind the path; those inside of ["…"] are part of a key. */
static const char *path_end(const char *s)
{
    bool quoted = false;
    for (; *s; s++) {
        if (quoted ? (s[0] == '"' && s[1] == ']') : (s[0] == '[' && s[1] == '"')) {
            quoted = !quoted;
            s++;
        } else if (!quoted && *s == '=') {
            return s;
        }
    }
    return NULL;
}

static int parse_value(const char *value, struct setpath *ret, struct err *reterr)
{
    json_t *docs = yamlx_parse_all(value, strlen(value), "--set", NULL, reterr);
    if (!docs) {
        return -1;
    }
    json_t *v = json_array_size(docs) == 1 ? json_array_get(docs, 0) : NULL;
    if (json_array_size(docs) > 1 || json_is_object(v) || json_is_array(v)) {
        json_decref(docs);
        return err_set(reterr, ERR_INVALID, "--set %s: the value is not a scalar", ret->text);
    }
    ret->value = v ? json_incref(v) : json_null();
    json_decref(docs);
    return 0;
}

static int parse_object(struct arena *a, const char *object, struct setpath *ret,
                        struct err *reterr)
{
    const char *slash = strchr(object, '/');
    const char *kind = slash ? arena_strndup(a, object, (size_t)(slash - object)) : object;
    if (!slash || !slash[1]) {
        return err_set(reterr, ERR_INVALID, "--set %s: say KIND/NAME.PATH=VALUE", ret->text);
    }
    if (!objects_kind(kind, &ret->kind)) {
        return err_set(reterr, ERR_INVALID, "--set %s: karp knows no kind \"%s\"", ret->text, kind);
    }
    const char *second = strchr(slash + 1, '/');
    if (second) {
        ret->ns = arena_strndup(a, slash + 1, (size_t)(second - slash - 1));
        ret->name = second + 1;
    } else {
        ret->name = slash + 1;
    }
    if (!*ret->name || strchr(ret->name, '/') || (ret->ns && !kube_kind(ret->kind)->namespaced)) {
        return err_set(reterr, ERR_INVALID, "--set %s: \"%s\" names no %s", ret->text, object,
                       kube_kind(ret->kind)->kind);
    }
    return 0;
}

int setpath_parse(struct arena *a, const char *text, struct setpath *ret, struct err *reterr)
{
    *ret = (struct setpath){.text = text};
    const char *start = path_start(text);
    const char *end = start ? path_end(start) : NULL;
    if (!start || !end) {
        return err_set(reterr, ERR_INVALID,
                       "--set %s: say KIND/NAME.PATH=VALUE, PATH beginning with spec, metadata or "
                       "status",
                       text);
    }
    ret->path = arena_strndup(a, start + 1, (size_t)(end - start - 1));
    const char *object = arena_strndup(a, text, (size_t)(start - text));
    if (parse_object(a, object, ret, reterr) != 0) {
        return -1;
    }
    return parse_value(end + 1, ret, reterr);
}

void setpath_done(struct setpath *s)
{
    json_decref(s->value);
    s->value = NULL;
}

/* ---- walking --------------------------------------------------------------------------------- */

/* One step of a path: a key, or a place of a list. */
struct hop {
    const char *key; /* not terminated */
    size_t n;
    bool index;
    size_t at;
};

static bool read_index(const char **s, struct hop *ret)
{
    const char *p = *s + 1;
    ret->index = true;
    for (; *p >= '0' && *p <= '9' && ret->at < 1000000; p++) {
        ret->at = ret->at * 10 + (size_t)(*p - '0');
    }
    bool ok = p > *s + 1 && *p == ']';
    *s = p + 1;
    return ok;
}

/* False at something that is no path. */
static bool next_hop(const char **s, struct hop *ret)
{
    *ret = (struct hop){.n = 0};
    if ((*s)[0] == '[' && (*s)[1] == '"') {
        const char *end = strstr(*s + 2, "\"]");
        ret->key = *s + 2;
        ret->n = end ? (size_t)(end - ret->key) : 0;
        *s = end ? end + 2 : *s;
    } else if (**s == '[') {
        return read_index(s, ret);
    } else {
        *s += **s == '.';
        ret->key = *s;
        ret->n = strcspn(*s, ".[");
        *s += ret->n;
    }
    return ret->n > 0;
}

static json_t *child(const json_t *o, const struct hop *h)
{
    return h->index ? json_array_get(o, h->at) : json_object_getn(o, h->key, h->n);
}

static void put(json_t *o, const struct hop *h, json_t *v)
{
    int rc;
    if (h->index) {
        rc = json_array_set(o, h->at, v);
    } else if (json_is_null(v)) {
        (void)json_object_deln(o, h->key, h->n);
        rc = 0;
    } else {
        rc = json_object_setn(o, h->key, h->n, v);
    }
    if (rc != 0) {
        BUG("an object refuses a value");
    }
}

/* o is what the way up to `upto` leads to; the hop must fit it. */
static int check(const struct setpath *s, const json_t *o, const struct hop *h, const char *upto,
                 struct err *reterr)
{
    int n = (int)(upto - s->path);
    if (h->index && !json_is_array(o)) {
        return err_set(reterr, ERR_INVALID, "--set %s: %.*s is no list", s->text, n, s->path);
    }
    if (h->index && h->at >= json_array_size(o)) {
        return err_set(reterr, ERR_INVALID, "--set %s: %.*s has %zu items", s->text, n, s->path,
                       json_array_size(o));
    }
    if (!h->index && !json_is_object(o)) {
        return err_set(reterr, ERR_INVALID, "--set %s: %.*s is no object", s->text, n, s->path);
    }
    return 0;
}

int setpath_apply(const struct setpath *s, json_t *o, struct err *reterr)
{
    const char *at = s->path;
    for (unsigned depth = 0; depth < SETPATH_DEPTH_MAX; depth++) {
        struct hop h;
        const char *before = at;
        if (!next_hop(&at, &h) || (*at && *at != '.' && *at != '[')) {
            return err_set(reterr, ERR_INVALID, "--set %s: \"%s\" is no path", s->text, s->path);
        }
        if (check(s, o, &h, before, reterr) != 0) {
            return -1;
        }
        if (!*at) {
            put(o, &h, s->value);
            return 0;
        }
        json_t *next = child(o, &h);
        if (!next || json_is_null(next)) {
            json_t *made = json_object();
            put(o, &h, made);
            json_decref(made);
            next = child(o, &h);
        }
        o = next;
    }
    return err_set(reterr, ERR_LIMIT, "--set %s: more than %u steps", s->text, SETPATH_DEPTH_MAX);
}
