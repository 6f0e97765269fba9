/*
 * log.h - one JSON line per record, keys as Karpenter's logs have them (level in capitals, time in
 * ISO 8601, logger, message, then the caller's pairs), so that existing log queries keep working.
 *
 * A logger is an object (two agents may live in one process). Only cmd and agent log; libraries
 * never do. Pairs are alternating const char * key and value, ended by NULL; a NULL value is
 * printed as null. log_n gives a value that is printed as a JSON number, any other is a string.
 *
 * Strings are escaped as zap does; bytes that are not UTF-8 become U+FFFD. A line has at most
 * LOG_LINE_MAX bytes: a value that does not fit is cut and ends with an ellipsis, pairs after it
 * are left out, and the line is valid JSON all the same. Nothing is allocated.
 */
#ifndef KARP_BASE_LOG_H
#define KARP_BASE_LOG_H

#include "clock.h"
#include "compat.h"

#include <stdbool.h>

#define LOG_LINE_MAX 16384

enum log_level { LOG_DEBUG_LEVEL, LOG_INFO_LEVEL, LOG_ERROR_LEVEL };

struct log {
    enum log_level level; /* records below it are dropped */
    const char *name;     /* "logger" */
    const struct clock *clock;
    void (*write)(void *ctx, const char *line, size_t n); /* one line with its newline */
    void *ctx;
};

/* Writes to a FILE *; ctx is the FILE. */
void log_write_file(void *ctx, const char *line, size_t n);

/* NULL for l drops the record. */
void log_event(const struct log *l, enum log_level level, const char *message, ...)
    __attribute__((sentinel));

#define log_debug(l, ...) log_event((l), LOG_DEBUG_LEVEL, __VA_ARGS__, (char *)NULL)
#define log_info(l, ...) log_event((l), LOG_INFO_LEVEL, __VA_ARGS__, (char *)NULL)
#define log_error(l, ...) log_event((l), LOG_ERROR_LEVEL, __VA_ARGS__, (char *)NULL)

/* A number as a value, in one of 8 rotating per-thread slots: good until eight more. */
const char *log_n(int64_t n);

/* "debug", "info", "error". */
bool log_level_parse(const char *s, enum log_level *ret);

#endif
