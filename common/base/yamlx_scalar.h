/*
 * yamlx_scalar.h - what a plain YAML scalar means (inner part of yamlx).
 *
 * The rules are those of sigs.k8s.io/yaml, which reads manifests for kubectl: YAML 1.1 booleans (y,
 * yes, on ... in three spellings), integers in Go's notations (0x, 0o, 0b, leading 0 = octal, _
 * between digits), decimal floats. Dates stay strings. A number too big for any type is a string.
 */
#ifndef KARP_BASE_YAMLX_SCALAR_H
#define KARP_BASE_YAMLX_SCALAR_H

#include "compat.h"

#include <stdbool.h>

enum yamlx_kind {
    YAMLX_STRING,
    YAMLX_NULL,
    YAMLX_BOOL,
    YAMLX_INT,
    YAMLX_REAL,     /* also integers past 2^63-1 */
    YAMLX_NOT_JSON, /* .inf, .nan */
    YAMLX_MERGE     /* << */
};

struct yamlx_scalar {
    enum yamlx_kind kind;
    bool b;
    int64_t i;
    double r;
};

void yamlx_resolve(const char *s, size_t n, struct yamlx_scalar *ret);
/* True if every reader, of YAML 1.1 or 1.2, takes the plain text for this very string. */
bool yamlx_plain_ok(const char *s, size_t n);
/* Only characters YAML calls printable, and none of tab, line breaks (U+2028 and such too), BOM. */
bool yamlx_printable(const char *s, size_t n);

#endif
