/*
 * sym.c - see sym.h
 *
 * Open addressing with linear probing over a power of two of slots, at most half of them used. A
 * slot holds hash and id, so a probe leaves the slot array only when all 32 bits of the hash agree.
 */
#include "sym.h"

#include "alloc.h"
#include "arena.h"
#include "err.h"
#include "str.h"

#define FIRST_SLOTS 1024u
#define BLOCK_BYTES 16384

struct slot {
    uint32_t hash;
    sym id; /* SYM_NONE: empty */
};

struct entry {
    const char *s;
    size_t n;
    int64_t value; /* if is_int */
    bool is_int;
};

struct symtab {
    struct slot *slots;
    size_t n_slots;
    struct entry *entries; /* by id; [SYM_NONE] is "" */
    size_t n, cap;
    struct arena strings;
};

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}

/* Eight bytes a step. Ids do not depend on it, only the places in the table do. */
static uint32_t hash_of(const char *s, size_t n)
{
    uint64_t h = mix(UINT64_C(0x243f6a8885a308d3), n);
    uint64_t word;
    for (; n >= sizeof(word); s += sizeof(word), n -= sizeof(word)) {
        memcpy(&word, s, sizeof(word));
        h = mix(h, word);
    }
    word = 0;
    memcpy(&word, s, n);
    h = mix(h, word);
    /* One more multiplication brings a difference in the last byte down to the bits in use. */
    h = (h ^ (h >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32);
}

/* The slot that holds the string, or the empty one where it belongs. */
static struct slot *probe(const struct symtab *t, const char *s, size_t n, uint32_t hash)
{
    size_t mask = t->n_slots - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct slot *slot = &t->slots[i];
        if (slot->id == SYM_NONE) {
            return slot;
        }
        const struct entry *e = &t->entries[slot->id];
        if (slot->hash == hash && e->n == n && memcmp(e->s, s, n) == 0) {
            return slot;
        }
    }
}

static void grow(struct symtab *t)
{
    struct slot *old = t->slots;
    size_t n_old = t->n_slots;
    t->n_slots = n_old * 2;
    t->slots = NEW_N(struct slot, t->n_slots);
    size_t mask = t->n_slots - 1;
    for (size_t i = 0; i < n_old; i++) {
        if (old[i].id != SYM_NONE) {
            size_t j = old[i].hash & mask;
            while (t->slots[j].id != SYM_NONE) {
                j = (j + 1) & mask;
            }
            t->slots[j] = old[i];
        }
    }
    free(old);
}

/* str_parse_i64 has no plus sign; strconv.Atoi has. */
static bool parse_int(const char *s, int64_t *ret)
{
    if (s[0] == '+') {
        return s[1] != '-' && str_parse_i64(s + 1, ret);
    }
    return str_parse_i64(s, ret);
}

/* s must stay as long as the table. */
static sym add(struct symtab *t, const char *s, size_t n)
{
    if (t->n > SYMTAB_MAX) {
        BUG("more than %u symbols", SYMTAB_MAX);
    }
    ARRAY_GROW(t->entries, t->n, t->cap);
    struct entry *e = &t->entries[t->n];
    *e = (struct entry){.s = s, .n = n};
    e->is_int = parse_int(s, &e->value);
    return (sym)t->n++;
}

struct symtab *symtab_new(const char *const *fixed, size_t n_fixed)
{
    struct symtab *t = NEW(struct symtab);
    t->n_slots = FIRST_SLOTS;
    t->slots = NEW_N(struct slot, t->n_slots);
    arena_init(&t->strings, BLOCK_BYTES, SIZE_MAX);
    (void)add(t, "", 0); /* the entry of SYM_NONE; no slot refers to it */
    for (size_t i = 0; i < n_fixed; i++) {
        size_t n = strlen(fixed[i]);
        uint32_t hash = hash_of(fixed[i], n);
        if (symtab_count(t) >= t->n_slots / 2) {
            grow(t);
        }
        struct slot *slot = probe(t, fixed[i], n, hash);
        if (slot->id != SYM_NONE) {
            BUG("fixed symbol \"%s\" is listed twice", fixed[i]);
        }
        *slot = (struct slot){.hash = hash, .id = add(t, fixed[i], n)};
    }
    return t;
}

void symtab_free(struct symtab *t)
{
    if (t) {
        arena_done(&t->strings);
        free(t->entries);
        free(t->slots);
        free(t);
    }
}

size_t symtab_count(const struct symtab *t)
{
    return t->n - 1;
}

sym sym_intern(struct symtab *t, const char *s)
{
    return s ? sym_intern_n(t, s, SIZE_MAX) : SYM_NONE;
}

sym sym_intern_n(struct symtab *t, const char *s, size_t n)
{
    if (!s) {
        return SYM_NONE;
    }
    n = n == SIZE_MAX ? strlen(s) : strnlen(s, n);
    uint32_t hash = hash_of(s, n);
    struct slot *slot = probe(t, s, n, hash);
    if (slot->id != SYM_NONE) {
        return slot->id;
    }
    if (symtab_count(t) >= t->n_slots / 2) {
        grow(t);
        slot = probe(t, s, n, hash);
    }
    *slot = (struct slot){.hash = hash, .id = add(t, arena_strndup(&t->strings, s, n), n)};
    return slot->id;
}

sym sym_find(const struct symtab *t, const char *s)
{
    if (!s) {
        return SYM_NONE;
    }
    size_t n = strlen(s);
    return probe(t, s, n, hash_of(s, n))->id;
}

const char *sym_str(const struct symtab *t, sym s)
{
    if (s >= t->n) {
        BUG("symbol %u of %zu", s, t->n);
    }
    return t->entries[s].s;
}

bool sym_int(const struct symtab *t, sym s, int64_t *ret)
{
    if (s >= t->n || !t->entries[s].is_int) {
        return false;
    }
    *ret = t->entries[s].value;
    return true;
}

int sym_cmp(const struct symtab *t, sym a, sym b)
{
    if (a == b) {
        return 0;
    }
    if (a == SYM_NONE || b == SYM_NONE) {
        return a == SYM_NONE ? -1 : 1;
    }
    return str_cmp(sym_str(t, a), sym_str(t, b));
}
