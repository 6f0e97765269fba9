/*
 * jsonpath.h - kubectl's JSONPath, the part people use.
 *
 * .a.b  ['a.b']  [0] [-1] [1:3]  [*]  .*  ..name  [?(@.type=="Ready")] with == != < <= > >= on
 * strings and numbers; in templates: {…} around a path, text between, "quoted text", range/end.
 * Braces and the leading dot are optional for a bare path. \. escapes a dot in a key.
 *
 * As in kubectl: @ and $ both mean the value at hand, within a range too; several matches are
 * printed with a blank between, objects as compact JSON with sorted keys. Kinder than kubectl: an
 * index out of range and a step into the wrong type match nothing, ["key"] takes either quotes,
 * filters compare 1 with 1.0 and find values of different types unequal; a template without any
 * brace is a bare path. Stricter: a range needs its {end}. A filter that would compare several
 * values is an error. Members come in the object's own order.
 */
#ifndef KARP_BASE_JSONPATH_H
#define KARP_BASE_JSONPATH_H

#include "buf.h"
#include "err.h"

#include <jansson.h>

#define JSONPATH_MAX_TEXT 16384
#define JSONPATH_MAX_NESTING 16       /* ranges and filters within each other */
#define JSONPATH_MAX_MATCHES 1000000u /* of one path */
#define JSONPATH_MAX_STEPS 20000000u  /* values looked at by one call */

/* A bare path: the matches, as a new array of borrowed-then-increfed values (new reference).
 * No match is an empty array, not an error. */
json_t *jsonpath_find(const json_t *root, const char *path, struct err *reterr);
/* A template as -o jsonpath= takes it. Missing keys print nothing. */
int jsonpath_render(const json_t *root, const char *tmpl, struct buf *out, struct err *reterr);

#endif
