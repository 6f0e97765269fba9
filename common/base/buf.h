/*
 * buf.h - growable bytes, born with a maximum.
 *
 * p is never NULL after buf_init and always NUL-terminated at p[n], so it can be printed at any
 * time. Past the maximum nothing more is added and `over` stays set: writers may ignore results and
 * test once at the end. Owned by whoever called buf_init; buf_done accepts a zeroed struct.
 */
#ifndef KARP_BASE_BUF_H
#define KARP_BASE_BUF_H

#include "compat.h"

#include <stdbool.h>

struct buf {
    char *p;
    size_t n;
    size_t cap;
    size_t max;
    bool over;
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b); /* also for CLEANUP(buf_done) */
void buf_reset(struct buf *b);
int buf_put(struct buf *b, const void *p, size_t n); /* -1 when over */
int buf_puts(struct buf *b, const char *s);
int buf_putc(struct buf *b, char c);
int buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
/* Drops the first n bytes. */
void buf_consume(struct buf *b, size_t n);
/* Hands the heap string over; the buffer is empty and usable again. */
char *buf_take(struct buf *b) MUST_CHECK;

#define AUTO_BUF CLEANUP(buf_done)

#endif
