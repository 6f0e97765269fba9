#include "yamlx.h"

#include "alloc.h"
#include "jsonx.h"
#include "str.h"
#include "yamlx_scalar.h"

#include <ctype.h>
#include <yaml.h>

/* A text weighs one node more for each so many bytes: aliases cannot multiply long strings. */
#define BYTES_PER_NODE 64

#define TAG_PREFIX "tag:yaml.org,2002:"

/* What a node became: also how deep it is and what it weighs, for aliases to it. */
struct built {
    json_t *v;
    unsigned height;
    uint64_t weight;
};

struct anchor {
    bool open; /* still being read: an alias now would contain itself */
    struct built built;
};

struct loader {
    yaml_parser_t parser;
    const char *what;
    uint64_t weight; /* of all nodes so far, aliases expanded */
    json_t *names;   /* anchor name -> index in anchors */
    struct anchor *anchors;
    size_t n_anchors, cap_anchors;
    struct err *err;
};

static int build(struct loader *l, const yaml_event_t *ev, unsigned depth, struct built *ret);

/* ---- errors and events ----------------------------------------------------------------------- */

static int fail_at(struct loader *l, const yaml_mark_t *m, enum err_kind kind, const char *msg)
{
    return err_set(l->err, kind, "%s: line %zu, column %zu: %s", l->what, m->line + 1,
                   m->column + 1, msg);
}

static int fail_parser(struct loader *l)
{
    const yaml_parser_t *p = &l->parser;
    const char *problem = p->problem ? p->problem : "cannot be read";
    switch (p->error) {
    case YAML_MEMORY_ERROR:
        BUG("libyaml: out of memory");
    case YAML_READER_ERROR:
        return err_set(l->err, ERR_INVALID, "%s: line %zu: byte %zu: %s", l->what, p->mark.line + 1,
                       p->problem_offset, problem);
    default:
        break;
    }
    if (p->context) {
        return err_set(l->err, ERR_INVALID, "%s: line %zu, column %zu: %s, %s (line %zu)", l->what,
                       p->problem_mark.line + 1, p->problem_mark.column + 1, problem, p->context,
                       p->context_mark.line + 1);
    }
    return fail_at(l, &p->problem_mark, ERR_INVALID, problem);
}

static int next_event(struct loader *l, yaml_event_t *ev)
{
    return yaml_parser_parse(&l->parser, ev) ? 0 : fail_parser(l);
}

static int charge(struct loader *l, const yaml_event_t *ev, uint64_t weight)
{
    l->weight += weight;
    if (l->weight > YAMLX_MAX_NODES) {
        return fail_at(l, &ev->start_mark, ERR_LIMIT, "too many values, aliases expanded");
    }
    return 0;
}

static json_t *must(json_t *v)
{
    if (!v) {
        BUG("jansson: out of memory");
    }
    return v;
}

/* ---- anchors --------------------------------------------------------------------------------- */

/* Returns the slot, or SIZE_MAX without an anchor. */
static size_t anchor_open(struct loader *l, const yaml_char_t *name)
{
    if (!name) {
        return SIZE_MAX;
    }
    ARRAY_GROW(l->anchors, l->n_anchors, l->cap_anchors);
    l->anchors[l->n_anchors] = (struct anchor){.open = true};
    if (json_object_set_new(l->names, (const char *)name,
                            must(json_integer((json_int_t)l->n_anchors))) < 0) {
        BUG("jansson: out of memory");
    }
    return l->n_anchors++;
}

static void anchor_close(struct loader *l, size_t slot, const struct built *b)
{
    if (slot != SIZE_MAX) {
        l->anchors[slot].open = false;
        l->anchors[slot].built = *b;
        json_incref(b->v);
    }
}

static void anchors_clear(struct loader *l)
{
    for (size_t i = 0; i < l->n_anchors; i++) {
        json_decref(l->anchors[i].built.v);
    }
    l->n_anchors = 0;
    json_object_clear(l->names);
}

static int build_alias(struct loader *l, const yaml_event_t *ev, unsigned depth, struct built *ret)
{
    const json_t *slot = json_object_get(l->names, (const char *)ev->data.alias.anchor);
    if (!slot) {
        return fail_at(l, &ev->start_mark, ERR_INVALID, "alias to an unknown anchor");
    }
    const struct anchor *a = &l->anchors[json_integer_value(slot)];
    if (a->open) {
        return fail_at(l, &ev->start_mark, ERR_INVALID, "anchor contains itself");
    }
    if (depth + a->built.height > YAMLX_MAX_DEPTH) {
        return fail_at(l, &ev->start_mark, ERR_LIMIT, "nested too deeply, aliases expanded");
    }
    if (charge(l, ev, a->built.weight) < 0) {
        return -1;
    }
    *ret = a->built;
    ret->v = must(json_deep_copy(a->built.v));
    return 0;
}

/* ---- scalars --------------------------------------------------------------------------------- */

/* "str" for "tag:yaml.org,2002:str", NULL without a tag; others as they are. */
static const char *short_tag(const yaml_char_t *tag)
{
    const char *s = (const char *)tag;
    if (!s) {
        return NULL;
    }
    if (strcmp(s, "!") == 0) {
        return "str";
    }
    return str_starts(s, TAG_PREFIX) ? s + strlen(TAG_PREFIX) : s;
}

static const char *kind_tag(enum yamlx_kind kind)
{
    switch (kind) {
    case YAMLX_NULL:
        return "null";
    case YAMLX_BOOL:
        return "bool";
    case YAMLX_INT:
        return "int";
    case YAMLX_REAL:
    case YAMLX_NOT_JSON:
        return "float";
    case YAMLX_STRING:
    case YAMLX_MERGE:
        break;
    }
    return "str";
}

/* What the scalar means, by its tag, its quotes and its text. */
static int read_scalar(struct loader *l, const yaml_event_t *ev, struct yamlx_scalar *ret)
{
    const char *tag = short_tag(ev->data.scalar.tag);
    const char *text = (const char *)ev->data.scalar.value;
    bool plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    ret->kind = YAMLX_STRING;
    if ((!tag && !plain) || (tag && str_eq(tag, "str"))) {
        return 0;
    }
    yamlx_resolve(text, ev->data.scalar.length, ret);
    if (!tag) {
        return 0;
    }
    if (str_eq(tag, "float") && ret->kind == YAMLX_INT) {
        ret->kind = YAMLX_REAL;
        ret->r = (double)ret->i;
    }
    if (!str_eq(tag, kind_tag(ret->kind))) {
        return fail_at(l, &ev->start_mark, ERR_INVALID,
                       "the tag is not one of str, null, bool, int, float, or does not fit");
    }
    return 0;
}

/* As JSON text would carry it: 1e3 and 2.0 are the integers 1000 and 2. */
static json_t *new_real(double r)
{
    if (r >= -9007199254740992.0 && r <= 9007199254740992.0 && r == (double)(int64_t)r) {
        return must(json_integer((json_int_t)r));
    }
    return must(json_real(r));
}

static int new_scalar(struct loader *l, const yaml_event_t *ev, const struct yamlx_scalar *sc,
                      json_t **ret)
{
    switch (sc->kind) {
    case YAMLX_NULL:
        *ret = must(json_null());
        return 0;
    case YAMLX_BOOL:
        *ret = must(json_boolean(sc->b));
        return 0;
    case YAMLX_INT:
        *ret = must(json_integer(sc->i));
        return 0;
    case YAMLX_REAL:
        *ret = new_real(sc->r);
        return 0;
    case YAMLX_NOT_JSON:
        return fail_at(l, &ev->start_mark, ERR_INVALID, ".inf and .nan have no form in JSON");
    case YAMLX_STRING:
    case YAMLX_MERGE:
        break;
    }
    *ret = json_stringn((const char *)ev->data.scalar.value, ev->data.scalar.length);
    return *ret ? 0 : fail_at(l, &ev->start_mark, ERR_INVALID, "text is not UTF-8");
}

static int build_scalar(struct loader *l, const yaml_event_t *ev, struct built *ret)
{
    struct yamlx_scalar sc;
    size_t slot = anchor_open(l, ev->data.scalar.anchor);
    ret->height = 0;
    ret->weight = 1 + ev->data.scalar.length / BYTES_PER_NODE;
    if (charge(l, ev, ret->weight) < 0 || read_scalar(l, ev, &sc) < 0 ||
        new_scalar(l, ev, &sc, &ret->v) < 0) {
        return -1;
    }
    anchor_close(l, slot, ret);
    return 0;
}

/* ---- collections ----------------------------------------------------------------------------- */

static int check_collection(struct loader *l, const yaml_event_t *ev, const yaml_char_t *tag,
                            const char *want, unsigned depth)
{
    const char *have = short_tag(tag);
    if (depth >= YAMLX_MAX_DEPTH) {
        return fail_at(l, &ev->start_mark, ERR_LIMIT, "nested too deeply");
    }
    if (have && !str_eq(have, want) && strcmp((const char *)tag, "!") != 0) {
        return fail_at(l, &ev->start_mark, ERR_INVALID, "tag that is not supported here");
    }
    return charge(l, ev, 1);
}

static void add_child(struct built *b, const struct built *child)
{
    b->weight += child->weight;
    if (child->height + 1 > b->height) {
        b->height = child->height + 1;
    }
}

/* Reads the elements up to the end of the sequence. */
static int build_elements(struct loader *l, unsigned depth, struct built *ret)
{
    for (;;) {
        yaml_event_t ev;
        if (next_event(l, &ev) < 0) {
            return -1;
        }
        bool end = ev.type == YAML_SEQUENCE_END_EVENT;
        struct built child = {NULL, 0, 0};
        int rc = end ? 0 : build(l, &ev, depth + 1, &child);
        yaml_event_delete(&ev);
        if (rc < 0 || end) {
            return rc;
        }
        add_child(ret, &child);
        (void)json_array_append_new(ret->v, child.v);
    }
}

static int build_sequence(struct loader *l, const yaml_event_t *ev, unsigned depth,
                          struct built *ret)
{
    if (check_collection(l, ev, ev->data.sequence_start.tag, "seq", depth) < 0) {
        return -1;
    }
    size_t slot = anchor_open(l, ev->data.sequence_start.anchor);
    *ret = (struct built){must(json_array()), 1, 1};
    if (build_elements(l, depth, ret) < 0) {
        json_decref(ret->v);
        return -1;
    }
    anchor_close(l, slot, ret);
    return 0;
}

/* A scalar's text as JSON key, heap: "on" is the key "true", 0x10 is "16", as sigs.k8s.io/yaml. */
static char *key_text(struct loader *l, const yaml_event_t *ev)
{
    struct yamlx_scalar sc;
    const char *text = (const char *)ev->data.scalar.value;
    const char *problem = NULL;
    if (read_scalar(l, ev, &sc) < 0) {
        return NULL;
    }
    switch (sc.kind) {
    case YAMLX_BOOL:
        return xstrdup(sc.b ? "true" : "false");
    case YAMLX_INT:
        return xasprintf("%lld", (long long)sc.i);
    case YAMLX_STRING:
        if (strlen(text) == ev->data.scalar.length) {
            return xstrdup(text);
        }
        problem = "key contains a NUL byte";
        break;
    case YAMLX_NULL:
        problem = "null cannot be a key";
        break;
    case YAMLX_REAL:
    case YAMLX_NOT_JSON:
        problem = "a number like this cannot be a key: put it in quotes";
        break;
    case YAMLX_MERGE:
        problem = "merge keys (<<) are not supported: write the members out";
        break;
    }
    (void)fail_at(l, &ev->start_mark, ERR_INVALID, problem);
    return NULL;
}

static char *build_key(struct loader *l, const yaml_event_t *ev, const json_t *object)
{
    if (ev->type != YAML_SCALAR_EVENT) {
        (void)fail_at(l, &ev->start_mark, ERR_INVALID, "a key must be a scalar");
        return NULL;
    }
    if (ev->data.scalar.anchor) {
        (void)fail_at(l, &ev->start_mark, ERR_INVALID, "anchors on keys are not supported");
        return NULL;
    }
    char *key = key_text(l, ev);
    if (key && json_object_get(object, key)) {
        (void)err_set(l->err, ERR_INVALID,
                      "%s: line %zu, column %zu: key \"%.100s\" is there twice", l->what,
                      ev->start_mark.line + 1, ev->start_mark.column + 1, key);
        free(key);
        return NULL;
    }
    return key;
}

static int build_value(struct loader *l, const char *key, unsigned depth, struct built *ret)
{
    yaml_event_t ev;
    struct built child = {NULL, 0, 0};
    if (next_event(l, &ev) < 0) {
        return -1;
    }
    uint64_t weight = strlen(key) / BYTES_PER_NODE;
    int rc = charge(l, &ev, weight);
    rc = rc < 0 ? rc : build(l, &ev, depth + 1, &child);
    if (rc == 0) {
        add_child(ret, &child);
        ret->weight += weight;
        if (json_object_set_new(ret->v, key, child.v) < 0) {
            rc = fail_at(l, &ev.start_mark, ERR_INVALID, "key is not UTF-8");
        }
    }
    yaml_event_delete(&ev);
    return rc;
}

/* Reads the members up to the end of the mapping. */
static int build_members(struct loader *l, unsigned depth, struct built *ret)
{
    for (;;) {
        yaml_event_t ev;
        if (next_event(l, &ev) < 0) {
            return -1;
        }
        bool end = ev.type == YAML_MAPPING_END_EVENT;
        char *key = end ? NULL : build_key(l, &ev, ret->v);
        yaml_event_delete(&ev);
        if (!key) {
            return end ? 0 : -1;
        }
        int rc = build_value(l, key, depth, ret);
        free(key);
        if (rc < 0) {
            return -1;
        }
    }
}

static int build_mapping(struct loader *l, const yaml_event_t *ev, unsigned depth,
                         struct built *ret)
{
    if (check_collection(l, ev, ev->data.mapping_start.tag, "map", depth) < 0) {
        return -1;
    }
    size_t slot = anchor_open(l, ev->data.mapping_start.anchor);
    *ret = (struct built){must(json_object()), 1, 1};
    if (build_members(l, depth, ret) < 0) {
        json_decref(ret->v);
        return -1;
    }
    anchor_close(l, slot, ret);
    return 0;
}

/* depth is the number of collections around the node. */
static int build(struct loader *l, const yaml_event_t *ev, unsigned depth, struct built *ret)
{
    switch (ev->type) {
    case YAML_SCALAR_EVENT:
        return build_scalar(l, ev, ret);
    case YAML_SEQUENCE_START_EVENT:
        return build_sequence(l, ev, depth, ret);
    case YAML_MAPPING_START_EVENT:
        return build_mapping(l, ev, depth, ret);
    case YAML_ALIAS_EVENT:
        return build_alias(l, ev, depth, ret);
    default:
        return fail_at(l, &ev->start_mark, ERR_INVALID, "value expected");
    }
}

/* ---- documents ------------------------------------------------------------------------------- */

static int add_document(struct loader *l, json_t *docs, json_t *lines)
{
    yaml_event_t ev;
    struct built b;
    if (next_event(l, &ev) < 0) {
        return -1;
    }
    size_t line = ev.start_mark.line + 1;
    int rc = build(l, &ev, 0, &b);
    yaml_event_delete(&ev);
    anchors_clear(l);
    if (rc < 0) {
        return -1;
    }
    if (json_is_null(b.v)) {
        json_decref(b.v);
        return 0;
    }
    (void)json_array_append_new(docs, b.v);
    (void)json_array_append_new(lines, must(json_integer((json_int_t)line)));
    return 0;
}

static int read_stream(struct loader *l, json_t *docs, json_t *lines)
{
    for (;;) {
        yaml_event_t ev;
        if (next_event(l, &ev) < 0) {
            return -1;
        }
        yaml_event_type_t type = ev.type;
        yaml_event_delete(&ev);
        if (type == YAML_STREAM_END_EVENT) {
            return 0;
        }
        if (type == YAML_DOCUMENT_START_EVENT && add_document(l, docs, lines) < 0) {
            return -1;
        }
    }
}

static int read_yaml(const char *p, size_t n, const char *what, json_t *docs, json_t *lines,
                     struct err *reterr)
{
    struct loader l = {.what = what, .names = must(json_object()), .err = reterr};
    if (!yaml_parser_initialize(&l.parser)) {
        BUG("libyaml: out of memory");
    }
    yaml_parser_set_input_string(&l.parser, (const unsigned char *)p, n);
    int rc = read_stream(&l, docs, lines);
    anchors_clear(&l);
    free(l.anchors);
    json_decref(l.names);
    yaml_parser_delete(&l.parser);
    return rc;
}

/*
 * JSON proper goes to jansson: much faster, and libyaml refuses two things JSON has, surrogate
 * pairs in \u and keys above 1024 bytes. Whatever jansson does not like is left to libyaml, with
 * its messages.
 */
static json_t *read_json(const char *p, size_t n, size_t *ret_line)
{
    size_t i = 0, line = 1;
    for (; i < n && strchr(" \t\r\n", p[i]) && p[i]; i++) {
        line += p[i] == '\n';
    }
    if (i == n || (p[i] != '{' && p[i] != '[') || jsonx_text_depth(p, n) > YAMLX_MAX_DEPTH) {
        return NULL;
    }
    *ret_line = line;
    return json_loadb(p, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
}

json_t *yamlx_parse_all(const char *p, size_t n, const char *what, json_t **ret_lines,
                        struct err *reterr)
{
    json_t *docs = must(json_array()), *lines = must(json_array());
    size_t line;
    json_t *doc = read_json(p, n, &line);
    if (doc) {
        (void)json_array_append_new(docs, doc);
        (void)json_array_append_new(lines, must(json_integer((json_int_t)line)));
    } else if (read_yaml(p, n, what, docs, lines, reterr) < 0) {
        json_decref(docs);
        json_decref(lines);
        return NULL;
    }
    if (ret_lines) {
        *ret_lines = lines;
    } else {
        json_decref(lines);
    }
    return docs;
}
