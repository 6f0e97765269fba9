/* alloc.c - see alloc.h */
#include "alloc.h"

#include <stdarg.h>

static NORETURN void out_of_memory(size_t size)
{
    fprintf(stderr, "out of memory (%zu bytes)\n", size);
    abort();
}

static size_t total(size_t count, size_t size)
{
    size_t n;
    if (__builtin_mul_overflow(count, size, &n)) {
        out_of_memory(SIZE_MAX);
    }
    return n;
}

void *xmalloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p) {
        out_of_memory(size);
    }
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    size_t n = total(count, size);
    void *p = calloc(1, n ? n : 1);
    if (!p) {
        out_of_memory(n);
    }
    return p;
}

void *xreallocarray(void *p, size_t count, size_t size)
{
    size_t n = total(count, size);
    void *q = realloc(p, n ? n : 1);
    if (!q) {
        out_of_memory(n);
    }
    return q;
}

char *xstrdup(const char *s)
{
    return s ? xstrndup(s, strlen(s)) : NULL;
}

char *xstrndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *p = xmalloc(len + 1);
    memcpy(p, s, len);
    p[len] = '\0';
    return p;
}

char *xasprintf(const char *fmt, ...)
{
    char *p = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&p, fmt, ap);
    va_end(ap);
    if (n < 0) {
        out_of_memory(0);
    }
    return p;
}

void cleanup_free(void *pp)
{
    /* By way of memcpy: the variable may be a pointer to any type. */
    void *p;
    memcpy(&p, pp, sizeof(p));
    free(p);
    p = NULL;
    memcpy(pp, &p, sizeof(p));
}
