/* sched_text.c - see sched_text.h */
#include "sched_text.h"

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

static void text_bytes(struct text *t, const void *p, uint32_t n)
{
    text_room(t, n);
    memcpy(t->p + t->n, p, n);
    t->n += n;
}

void text_str(struct text *t, const char *s)
{
    text_bytes(t, s, (uint32_t)strlen(s) + 1);
}

void text_num(struct text *t, uint64_t n)
{
    text_bytes(t, &n, sizeof(n));
}

void text_ptr(struct text *t, const void *p)
{
    text_bytes(t, &p, sizeof(p));
}

/* Eight bytes at a time: it finds entries and orders nothing. */
static uint64_t hash_of(const struct text *t)
{
    uint64_t h = t->n;
    for (uint32_t i = 0; i < t->n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, t->p + i, t->n - i < 8 ? t->n - i : 8);
        h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 32;
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
        if (e->hash == h && e->n == t->text.n && memcmp(e->text, t->text.p, e->n) == 0) {
            return e;
        }
    }
    struct text_entry *e = ARENA_NEW(t->text.a, struct text_entry);
    *e = (struct text_entry){.text = arena_memdup(t->text.a, t->text.p, t->text.n),
                             .hash = h,
                             .n = t->text.n,
                             .next = *slot};
    *slot = e;
    t->n++;
    return e;
}
