/*
 * sched_text.h - what is known by a text that says it in full; internal to the scheduler.
 *
 * A text is put together in one buffer of the table and then looked up; the entry of one that is
 * new has no value yet. Everything lives in the arena. The order of entries is nobody's business:
 * texts may contain addresses.
 */
#ifndef KARP_CORE_SCHED_TEXT_H
#define KARP_CORE_SCHED_TEXT_H

#include "common/base/arena.h"

struct text_entry {
    const char *text;
    uint64_t hash;
    uint32_t n;
    void *value;
    struct text_entry *next;
};

/* A text under construction. */
struct text {
    struct arena *a;
    char *p;
    uint32_t n, cap;
};

struct text_table {
    struct text_entry **slots;
    uint32_t n_slots, n;
    struct text text;
};

/* An empty one; the last is gone. */
struct text *text_begin(struct text_table *t);
/* All of them may be followed by any other: bytes, not for reading. */
void text_str(struct text *t, const char *s);
void text_num(struct text *t, uint64_t n);
void text_ptr(struct text *t, const void *p);
struct text_entry *text_entry(struct text_table *t);

#endif
