/*
 * xml.h - AWS's XML answers as a small tree in an arena (over expat).
 *
 * AWS uses elements and text only: attributes, comments and processing instructions are skipped, a
 * document type declaration is refused (so no entities of its own, no external ones), namespaces
 * are not interpreted. A node has children or text; text between children is dropped. Everything
 * is capped; a document that ends early, has bytes behind its end or is not well formed is an
 * error, never half a tree. expat's own amplification limits stay on.
 *
 * Nodes and strings live as long as the arena. Nodes are never changed after parsing.
 */
#ifndef KARP_AWS_XML_H
#define KARP_AWS_XML_H

#include "common/base/arena.h"
#include "common/base/err.h"

#define XML_BODY_MAX (64u << 20)
#define XML_DEPTH_MAX 32
#define XML_NODES_MAX 2000000u
#define XML_TEXT_MAX (1u << 20) /* of one element */
#define XML_NAME_MAX 256

struct xml {
    const char *name;
    const char *text; /* NULL if the element has children; "" if it is empty */
    struct xml *child, *next;
};

/* NULL and ERR_INVALID for malformed, ERR_LIMIT for too large. */
const struct xml *xml_parse(struct arena *a, const char *p, size_t n, struct err *reterr);

/* The first child of that name; NULL if x is NULL or has none. */
const struct xml *xml_child(const struct xml *x, const char *name);
/* Follows "a/b/c". */
const struct xml *xml_at(const struct xml *x, const char *path);
/* Text at the path; NULL if absent or not a leaf. */
const char *xml_text(const struct xml *x, const char *path);
const char *xml_text_or(const struct xml *x, const char *path, const char *d);
/* d if absent or not a whole number. */
int64_t xml_int(const struct xml *x, const char *path, int64_t d);
bool xml_bool(const struct xml *x, const char *path, bool d);
/* RFC 3339 as wall_ns; d if absent or malformed. */
int64_t xml_time(const struct xml *x, const char *path, int64_t d);
/* Children of that name under the node at path ("tagSet" for tagSet/item). */
size_t xml_count(const struct xml *x, const char *path, const char *name);

/* for (XML_EACH(xml_at(root, "tagSet"), "item", it)) */
const struct xml *xml_first(const struct xml *parent, const char *name);
const struct xml *xml_again(const struct xml *x, const char *name);
#define XML_EACH(parent, tag, it)                                                                  \
    const struct xml *it = xml_first((parent), (tag));                                             \
    it;                                                                                            \
    it = xml_again(it, (tag))

#endif
