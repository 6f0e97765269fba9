/* xml.c - see xml.h */
#include "xml.h"

#include "common/base/buf.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#include <expat.h>

/* An open element: the node, and the end of its list of children. */
struct level {
    struct xml *node;
    struct xml *last;
};

struct parse {
    XML_Parser parser;
    struct arena *arena;
    struct xml *root;
    struct level levels[XML_DEPTH_MAX];
    size_t depth;
    size_t nodes;
    struct buf text; /* of the innermost open element */
    struct err err;  /* why we stopped the parser; ERR_NONE if it stopped by itself */
};

static void give_up(struct parse *p, enum err_kind kind, const char *what, unsigned max)
{
    if (p->err.kind == ERR_NONE) {
        if (max > 0) {
            err_set(&p->err, kind, "XML: %s (maximum %u)", what, max);
        } else {
            err_set(&p->err, kind, "XML: %s", what);
        }
        XML_StopParser(p->parser, XML_FALSE);
    }
}

static void append(struct parse *p, struct xml *x)
{
    if (p->depth == 0) {
        p->root = x;
        return;
    }
    struct level *up = &p->levels[p->depth - 1];
    if (up->last) {
        up->last->next = x;
    } else {
        up->node->child = x;
    }
    up->last = x;
}

static void on_start(void *arg, const XML_Char *name, UNUSED const XML_Char **attributes)
{
    struct parse *p = arg;
    if (p->err.kind != ERR_NONE) {
        return;
    }
    if (p->depth >= XML_DEPTH_MAX) {
        give_up(p, ERR_LIMIT, "too deep", XML_DEPTH_MAX);
    } else if (arena_over(p->arena)) {
        give_up(p, ERR_LIMIT, "larger than the memory set aside for it", 0);
    } else if (p->nodes >= XML_NODES_MAX) {
        give_up(p, ERR_LIMIT, "too many elements", XML_NODES_MAX);
    } else if (strlen(name) > XML_NAME_MAX) {
        give_up(p, ERR_LIMIT, "element name too long", XML_NAME_MAX);
    } else {
        struct xml *x = ARENA_NEW(p->arena, struct xml);
        x->name = arena_strdup(p->arena, name);
        append(p, x);
        p->levels[p->depth++] = (struct level){x, NULL};
        p->nodes++;
        buf_reset(&p->text);
    }
}

static void on_end(void *arg, UNUSED const XML_Char *name)
{
    struct parse *p = arg;
    if (p->err.kind != ERR_NONE) {
        return;
    }
    struct xml *x = p->levels[--p->depth].node;
    if (!x->child) {
        x->text = p->text.n ? arena_strndup(p->arena, p->text.p, p->text.n) : "";
    }
    buf_reset(&p->text);
}

static void on_text(void *arg, const XML_Char *s, int n)
{
    struct parse *p = arg;
    if (p->err.kind == ERR_NONE && buf_put(&p->text, s, (size_t)n) < 0) {
        give_up(p, ERR_LIMIT, "text too long", XML_TEXT_MAX);
    }
}

static void on_doctype(void *arg, UNUSED const XML_Char *name, UNUSED const XML_Char *system,
                       UNUSED const XML_Char *public, UNUSED int internal)
{
    give_up(arg, ERR_INVALID, "document types are not allowed", 0);
}

static int run(struct parse *p, const char *s, size_t n, struct err *reterr)
{
    if (XML_Parse(p->parser, s, (int)n, 1) == XML_STATUS_OK && p->err.kind == ERR_NONE) {
        return 0;
    }
    if (p->err.kind != ERR_NONE) {
        if (reterr) {
            *reterr = p->err;
        }
        return -1;
    }
    return err_set(reterr, ERR_INVALID, "XML: %s at line %lu, column %lu",
                   XML_ErrorString(XML_GetErrorCode(p->parser)),
                   (unsigned long)XML_GetCurrentLineNumber(p->parser),
                   (unsigned long)XML_GetCurrentColumnNumber(p->parser));
}

const struct xml *xml_parse(struct arena *a, const char *p, size_t n, struct err *reterr)
{
    if (n > XML_BODY_MAX) {
        err_set(reterr, ERR_LIMIT, "XML: too large (maximum %u bytes)", XML_BODY_MAX);
        return NULL;
    }
    struct parse st = {.arena = a, .err = ERR_INIT};
    st.parser = XML_ParserCreate("UTF-8");
    if (!st.parser) {
        BUG("XML_ParserCreate: out of memory");
    }
    buf_init(&st.text, XML_TEXT_MAX);
    XML_SetUserData(st.parser, &st);
    XML_SetElementHandler(st.parser, on_start, on_end);
    XML_SetCharacterDataHandler(st.parser, on_text);
    XML_SetStartDoctypeDeclHandler(st.parser, on_doctype);
    int rc = run(&st, p, n, reterr);
    XML_ParserFree(st.parser);
    buf_done(&st.text);
    return rc < 0 ? NULL : st.root;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const struct xml *named(const struct xml *x, const char *name, size_t n)
{
    while (x && (strncmp(x->name, name, n) != 0 || x->name[n])) {
        x = x->next;
    }
    return x;
}

const struct xml *xml_first(const struct xml *parent, const char *name)
{
    return parent ? named(parent->child, name, strlen(name)) : NULL;
}

const struct xml *xml_again(const struct xml *x, const char *name)
{
    return named(x->next, name, strlen(name));
}

const struct xml *xml_child(const struct xml *x, const char *name)
{
    return xml_first(x, name);
}

const struct xml *xml_at(const struct xml *x, const char *path)
{
    while (x && *path) {
        size_t n = strcspn(path, "/");
        x = named(x->child, path, n);
        path += n + (path[n] == '/');
    }
    return x;
}

const char *xml_text(const struct xml *x, const char *path)
{
    const struct xml *at = xml_at(x, path);
    return at ? at->text : NULL;
}

const char *xml_text_or(const struct xml *x, const char *path, const char *d)
{
    const char *s = xml_text(x, path);
    return s ? s : d;
}

int64_t xml_int(const struct xml *x, const char *path, int64_t d)
{
    int64_t v;
    const char *s = xml_text(x, path);
    return s && str_parse_i64(s, &v) ? v : d;
}

bool xml_bool(const struct xml *x, const char *path, bool d)
{
    const char *s = xml_text(x, path);
    if (str_eq(s, "true")) {
        return true;
    }
    return str_eq(s, "false") ? false : d;
}

int64_t xml_time(const struct xml *x, const char *path, int64_t d)
{
    int64_t v;
    const char *s = xml_text(x, path);
    return s && timefmt_parse_rfc3339(s, &v) ? v : d;
}

size_t xml_count(const struct xml *x, const char *path, const char *name)
{
    size_t n = 0;
    for (XML_EACH(xml_at(x, path), name, it)) {
        n++;
    }
    return n;
}
