/* sched_text.c - see sched_text.h */
#include "sched_text.h"

#include "common/base/str.h"

#include <string.h>

struct text *text_begin(struct text_table *t)
{
    t->text.n = 0;
    return &t->text;
}

static void text_room(struct text *t, uint32_t n)
{
    if (n < t->cap - t->n) {
        return;
    }
    uint32_t cap = (t->cap + n) * 2 + 256;
    char *p = arena_alloc(t->a, cap);
    if (t->n > 0) {
        memcpy(p, t->p, t->n);
    }
    t->p = p;
    t->cap = cap;
}

void text_str(struct text *t, const char *s)
{
    uint32_t n = (uint32_t)strlen(s);
    text_room(t, n + 1);
    memcpy(t->p + t->n, s, n);
    t->p[t->n + n] = ' ';
    t->p[t->n + n + 1] = '\0';
    t->n += n + 1;
}

void text_num(struct text *t, uint64_t n)
{
    char hex[2 * sizeof(n) + 1], *at = hex + sizeof(hex) - 1;
    *at = '\0';
    do {
        *--at = "0123456789abcdef"[n & 15];
        n >>= 4;
    } while (n != 0);
    text_str(t, at);
}

void text_ptr(struct text *t, const void *p)
{
    text_num(t, (uintptr_t)p);
}

static uint64_t hash_of(const struct text *t)
{
    uint64_t h = UINT64_C(1469598103934665603);
    for (uint32_t i = 0; i < t->n; i++) {
        h = (h ^ (unsigned char)t->p[i]) * UINT64_C(1099511628211);
    }
    return h;
}

static void table_grow(struct text_table *t)
{
    uint32_t n = t->n_slots ? t->n_slots * 2 : 64;
    struct text_entry **slots = ARENA_NEW_N(t->text.a, struct text_entry *, n);
    for (uint32_t i = 0; i < t->n_slots; i++) {
        for (struct text_entry *e = t->slots[i], *next; e != NULL; e = next) {
            next = e->next;
            e->next = slots[e->hash & (n - 1)];
            slots[e->hash & (n - 1)] = e;
        }
    }
    t->slots = slots;
    t->n_slots = n;
}

struct text_entry *text_entry(struct text_table *t)
{
    uint64_t h = hash_of(&t->text);
    if (t->n >= t->n_slots) {
        table_grow(t);
    }
    struct text_entry **slot = &t->slots[h & (t->n_slots - 1)];
    for (struct text_entry *e = *slot; e != NULL; e = e->next) {
        if (e->hash == h && str_eq(e->text, t->text.p)) {
            return e;
        }
    }
    struct text_entry *e = ARENA_NEW(t->text.a, struct text_entry);
    *e = (struct text_entry){arena_strdup(t->text.a, t->text.p), h, NULL, *slot};
    *slot = e;
    t->n++;
    return e;
}
