/*
 * input.h - files that a person names: plain or gzip, with caps, and what is in a folder.
 *
 * Every message begins with the path. A gzip file that ends early, or has a wrong checksum, is an
 * error, never half a file. "-" is standard input.
 */
#ifndef KARP_CMD_INPUT_H
#define KARP_CMD_INPUT_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/err.h"

#include <jansson.h>
#include <stdbool.h>

#define INPUT_FILE_MAX (512u << 20) /* unpacked */
#define INPUT_FILES_MAX 100000u     /* of one folder with everything below it */
#define INPUT_DEPTH_MAX 16u

/* Appends the file's bytes to out, which has INPUT_FILE_MAX as its maximum. */
int input_read(const char *path, struct buf *out, struct err *reterr);
/* The file as one JSON document. New reference. */
json_t *input_json(const char *path, struct err *reterr);

/* The files of a folder and below, in string order of their paths: .json, .yaml, .yml, each with or
 * without .gz; hidden ones are left out. A file gives itself, whatever its name. */
int input_files(struct arena *a, const char *path, const char *const **ret, size_t *ret_n,
                struct err *reterr);

#endif
