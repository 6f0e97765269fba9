/* arena.c - see arena.h */
#include "arena.h"

#include "alloc.h"
#include "err.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifndef WITH_ASAN
#define WITH_ASAN 0
#endif

#if WITH_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#define GAP 16 /* stays poisoned behind each allocation, so that running over its end is seen */
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#define GAP 0
#endif

#define ALIGN 16
#define FIRST_CHUNK_BYTES 4096
#define MAX_CHUNK_BYTES (256 * 1024)

struct arena_chunk {
    struct arena_chunk *prev;
    size_t size; /* bytes of data */
    size_t offset;
    _Alignas(ALIGN) unsigned char data[];
};

void arena_init(struct arena *a, size_t first_chunk_bytes, size_t max_bytes)
{
    *a = (struct arena){.chunk_bytes = first_chunk_bytes ? first_chunk_bytes : FIRST_CHUNK_BYTES,
                        .max_bytes = max_bytes};
}

static void chunk_free(struct arena_chunk *c)
{
    UNPOISON(c->data, c->size);
    free(c);
}

static void chunk_cut(struct arena_chunk *c, size_t offset)
{
    c->offset = offset;
    POISON(c->data + offset, c->size - offset);
}

void arena_done(struct arena *a)
{
    if (!a) {
        return;
    }
    while (a->head) {
        struct arena_chunk *prev = a->head->prev;
        chunk_free(a->head);
        a->head = prev;
    }
    a->used_bytes = 0;
}

/* An ordinary chunk stays, the largest: what one huge object needed is given back. */
void arena_reset(struct arena *a)
{
    size_t ordinary = a->chunk_bytes > MAX_CHUNK_BYTES ? a->chunk_bytes : MAX_CHUNK_BYTES;
    struct arena_chunk *keep = NULL;
    while (a->head) {
        struct arena_chunk *c = a->head;
        a->head = c->prev;
        if (c->size <= ordinary && (!keep || c->size > keep->size)) {
            struct arena_chunk *smaller = keep;
            keep = c;
            c = smaller;
        }
        if (c) {
            chunk_free(c);
        }
    }
    if (keep) {
        keep->prev = NULL;
        chunk_cut(keep, 0);
    }
    a->head = keep;
    a->used_bytes = 0;
}

static size_t next_chunk_bytes(const struct arena *a)
{
    if (!a->head) {
        return a->chunk_bytes ? a->chunk_bytes : FIRST_CHUNK_BYTES;
    }
    if (a->head->size >= MAX_CHUNK_BYTES / 2) {
        return MAX_CHUNK_BYTES;
    }
    return a->head->size * 2;
}

static void add_chunk(struct arena *a, size_t need)
{
    size_t size = next_chunk_bytes(a);
    if (size < need) {
        size = need;
    }
    struct arena_chunk *c = xmalloc(sizeof(*c) + size);
    c->prev = a->head;
    c->size = size;
    a->head = c;
    chunk_cut(c, 0);
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (size > SIZE_MAX / 2) {
        BUG("arena allocation of %zu bytes", size);
    }
    size_t need = ((size ? size : 1) + ALIGN - 1) / ALIGN * ALIGN + GAP;
    if (!a->head || a->head->size - a->head->offset < need) {
        add_chunk(a, need);
    }
    unsigned char *p = a->head->data + a->head->offset;
    a->head->offset += need;
    a->used_bytes += size;
    UNPOISON(p, size);
    memset(p, 0, size);
    return p;
}

void *arena_alloc_n(struct arena *a, size_t count, size_t size)
{
    size_t n;
    if (__builtin_mul_overflow(count, size, &n)) {
        BUG("arena allocation of %zu times %zu bytes", count, size);
    }
    return arena_alloc(a, n);
}

char *arena_strdup(struct arena *a, const char *s)
{
    return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *p = arena_alloc(a, len + 1);
    memcpy(p, s, len);
    return p;
}

void *arena_memdup(struct arena *a, const void *p, size_t size)
{
    if (size == 0) {
        return NULL;
    }
    return memcpy(arena_alloc(a, size), p, size);
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    char small[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(small, sizeof(small), fmt, ap);
    va_end(ap);
    if (n < 0) {
        BUG("arena_printf: format \"%s\"", fmt);
    }
    char *p = arena_alloc(a, (size_t)n + 1);
    if ((size_t)n < sizeof(small)) {
        return memcpy(p, small, (size_t)n + 1);
    }
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}

struct arena_mark arena_mark(const struct arena *a)
{
    return (struct arena_mark){
        .chunk = a->head, .offset = a->head ? a->head->offset : 0, .used_bytes = a->used_bytes};
}

void arena_rewind(struct arena *a, struct arena_mark mark)
{
    if (!mark.chunk) {
        arena_reset(a);
        return;
    }
    while (a->head && a->head != mark.chunk) {
        struct arena_chunk *prev = a->head->prev;
        chunk_free(a->head);
        a->head = prev;
    }
    if (!a->head || mark.offset > a->head->offset) {
        BUG("arena_rewind: the mark is not of this arena, or older than its last reset");
    }
    chunk_cut(a->head, mark.offset);
    a->used_bytes = mark.used_bytes;
}

bool arena_over(const struct arena *a)
{
    return a->used_bytes > a->max_bytes;
}

size_t arena_held_bytes(const struct arena *a)
{
    size_t n = 0;
    for (const struct arena_chunk *c = a->head; c; c = c->prev) {
        n += sizeof(*c) + c->size;
    }
    return n;
}
