/*
 * jsonx.h - jansson, with paths, caps and canonical text.
 *
 * Getters borrow and answer NULL / a default for anything that is absent or of another type: a
 * decoder that must tell the difference uses jsonx_at and looks at the type itself.
 * A path is dotted object keys: jsonx_at(o, "spec.template.spec"); keys with dots are reached with
 * jansson directly.
 */
#ifndef KARP_BASE_JSONX_H
#define KARP_BASE_JSONX_H

#include "err.h"

#include <jansson.h>
#include <stdbool.h>

#define JSONX_MAX_DEPTH 256

json_t *jsonx_at(const json_t *o, const char *path);
const char *jsonx_str(const json_t *o, const char *path);                   /* NULL */
const char *jsonx_str_or(const json_t *o, const char *path, const char *d); /* d */
int64_t jsonx_int(const json_t *o, const char *path, int64_t d);
bool jsonx_bool(const json_t *o, const char *path, bool d);
json_t *jsonx_obj(const json_t *o, const char *path); /* NULL unless an object */
json_t *jsonx_arr(const json_t *o, const char *path); /* NULL unless an array */

/* Parses one document; what names the input in messages ("pods page 2"). New reference. Of two
 * equal keys the last counts, as in encoding/json; \u0000 is allowed in values, since one odd
 * annotation must not hide a page of pods. For the same reason an integer past 64 bits becomes a
 * real (and the others of that text are then exact up to 2^53 only). Deeper than JSONX_MAX_DEPTH:
 * ERR_LIMIT. */
json_t *jsonx_parse(const char *p, size_t n, const char *what, struct err *reterr);
/* The deepest nesting of brackets outside of strings, without parsing. */
unsigned jsonx_text_depth(const char *p, size_t n);

/* RFC 8785, but integers keep all their 64 bits: sorted keys (UTF-16 order), shortest numbers, no
 * blanks. Heap string. */
char *jsonx_canonical(const json_t *v) MUST_CHECK;
/* Compact, keys in insertion order. Heap string. */
char *jsonx_dump(const json_t *v) MUST_CHECK;

#define JSONX_REAL_TEXT 48
/* As ECMAScript prints it (shortest form: "0.1", "1e+21", "2"). dst[JSONX_REAL_TEXT]; returned. */
char *jsonx_fmt_real(double v, char *dst);

/* RFC 7386 merge patch: changes target in place (deep copies from patch). Both are objects; nothing
 * happens otherwise. */
void jsonx_merge_patch(json_t *target, const json_t *patch);
/* Sets o.a.b.c = value (stealing the reference), making objects on the way; what stood in the way
 * and is no object is replaced. */
void jsonx_set_new(json_t *o, const char *path, json_t *value);

void jsonx_cleanup(json_t **v);
#define AUTO_JSON CLEANUP(jsonx_cleanup)

#endif
