/* buf.c - see buf.h */
#include "buf.h"

#include "alloc.h"

#include <stdarg.h>

#define FIRST_CAP 64

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.p = xmalloc(1), .cap = 1, .max = max};
    b->p[0] = '\0';
}

void buf_done(struct buf *b)
{
    free(b->p);
    *b = (struct buf){0};
}

void buf_reset(struct buf *b)
{
    b->n = 0;
    b->over = false;
    if (b->p) {
        b->p[0] = '\0';
    }
}

/* Makes room for n more bytes and the NUL. */
static int reserve(struct buf *b, size_t n)
{
    if (b->over || n > b->max - b->n) {
        b->over = true;
        return -1;
    }
    size_t need = b->n + n + 1;
    if (need > b->cap) {
        size_t cap = b->cap < FIRST_CAP / 2 ? FIRST_CAP : b->cap * 2;
        cap = cap < need ? need : cap;
        b->p = xreallocarray(b->p, cap, 1);
        b->cap = cap;
    }
    return 0;
}

int buf_put(struct buf *b, const void *p, size_t n)
{
    if (reserve(b, n) < 0) {
        return -1;
    }
    if (n > 0) {
        memcpy(b->p + b->n, p, n);
    }
    b->n += n;
    b->p[b->n] = '\0';
    return 0;
}

int buf_puts(struct buf *b, const char *s)
{
    return buf_put(b, s, strlen(s));
}

int buf_putc(struct buf *b, char c)
{
    if (reserve(b, 1) < 0) {
        return -1;
    }
    b->p[b->n++] = c;
    b->p[b->n] = '\0';
    return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
    size_t room = b->p && !b->over ? b->cap - b->n : 0;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(room ? b->p + b->n : NULL, room, fmt, ap);
    va_end(ap);
    /* vsnprintf may have filled the room with a part: what does not fit must leave no trace. */
    if (n < 0 || reserve(b, (size_t)n) < 0) {
        b->over = true;
        if (room) {
            b->p[b->n] = '\0';
        }
        return -1;
    }
    if ((size_t)n >= room) {
        va_start(ap, fmt);
        vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    b->n += (size_t)n;
    return 0;
}

void buf_consume(struct buf *b, size_t n)
{
    if (n >= b->n) {
        n = b->n;
    }
    if (n > 0) {
        memmove(b->p, b->p + n, b->n - n + 1);
        b->n -= n;
    }
}

char *buf_take(struct buf *b)
{
    char *p = b->p ? b->p : xstrdup("");
    buf_init(b, b->max);
    return p;
}
