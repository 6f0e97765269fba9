/*
 * yamlx.h - YAML in and out, as Kubernetes means it: a way to write JSON.
 *
 * Plain scalars are read by the rules of YAML 1.1 that sigs.k8s.io/yaml applies (null, bool,
 * integer, float; everything else and everything quoted is a string; see yamlx_scalar.h). A float
 * that is whole becomes an integer (1e3 is 1000), as it would on its way through JSON. Keys that
 * are booleans or integers become text ("true", "16"). Errors are: duplicate keys; keys that are no
 * scalars, null or fractions; merge keys (<<); tags other than the JSON types'; .inf and .nan;
 * more than YAMLX_MAX_NODES values with aliases expanded (64 bytes of text weigh as one more) and
 * depth beyond YAMLX_MAX_DEPTH. Messages name line and column:
 * "values.yaml: line 12, column 3: …".
 */
#ifndef KARP_BASE_YAMLX_H
#define KARP_BASE_YAMLX_H

#include "buf.h"
#include "err.h"

#include <jansson.h>

#define YAMLX_MAX_DEPTH 128
#define YAMLX_MAX_NODES 5000000u

/* All documents of the text (JSON is YAML too); empty documents are left out. New reference to an
 * array. If ret_lines is not NULL: an array of the line each document's value begins at (new
 * reference). */
json_t *yamlx_parse_all(const char *p, size_t n, const char *what, json_t **ret_lines,
                        struct err *reterr);
/* Block style, keys in insertion order, strings quoted when a reader would take them for
 * something else. Ends with a newline. */
int yamlx_emit(const json_t *v, struct buf *out, struct err *reterr);

#endif
