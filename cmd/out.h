/*
 * out.h - the formats of -o, and the way to stdout.
 *
 * JSON is indented by four, as kubectl; keys stand in the order the command gives them.
 */
#ifndef KARP_CMD_OUT_H
#define KARP_CMD_OUT_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <jansson.h>

#define OUT_MAX (512u << 20) /* bytes of one output */

enum out_format {
    OUT_TABLE = 1 << 0,
    OUT_WIDE = 1 << 1,
    OUT_JSON = 1 << 2,
    OUT_YAML = 1 << 3,
    OUT_NAME = 1 << 4,
    OUT_JSONPATH = 1 << 5,
};

struct out_spec {
    enum out_format format;
    const char *template; /* of jsonpath, borrowed */
};

/* NULL or "" is the table. allowed: the formats that the command has, as bits. */
int out_parse(const char *text, unsigned allowed, struct out_spec *ret, struct err *reterr);
/* json, yaml and jsonpath of the whole report. */
int out_report(const struct out_spec *spec, const json_t *report, struct buf *out,
               struct err *reterr);
/* Writes and flushes. A reader that has gone away is no error. */
int out_flush(FILE *f, const struct buf *b, struct err *reterr);

#endif
