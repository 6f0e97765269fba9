/* map.c - see map.h */
#include "map.h"

#include "alloc.h"
#include "err.h"

#define uthash_malloc(size) xmalloc(size)
#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

struct map_entry {
    void *value;
    UT_hash_handle hh;
    char key[];
};

struct map {
    struct map_entry *entries; /* uthash's head; its list is in insertion order */
    size_t max;
};

struct map *map_new(size_t max_entries)
{
    struct map *m = NEW(struct map);
    m->max = max_entries;
    return m;
}

void map_free(struct map *m)
{
    if (m) {
        map_clear(m);
        free(m);
    }
}

size_t map_count(const struct map *m)
{
    return HASH_COUNT(m->entries);
}

static struct map_entry *find(const struct map *m, const char *key)
{
    struct map_entry *e = NULL;
    if (key) {
        HASH_FIND_STR(m->entries, key, e);
    }
    return e;
}

void *map_get(const struct map *m, const char *key)
{
    struct map_entry *e = find(m, key);
    return e ? e->value : NULL;
}

bool map_has(const struct map *m, const char *key)
{
    return find(m, key) != NULL;
}

static void add(struct map *m, const char *key, void *value)
{
    size_t n = strlen(key);
    struct map_entry *e = xcalloc(1, sizeof(*e) + n + 1);
    memcpy(e->key, key, n + 1);
    e->value = value;
    HASH_ADD_KEYPTR(hh, m->entries, e->key, n, e);
}

void *map_put(struct map *m, const char *key, void *value, bool *ret_full)
{
    struct map_entry *e = find(m, key);
    void *before = NULL;
    bool full = false;
    if (e) {
        before = e->value;
        e->value = value;
    } else if (map_count(m) >= m->max) {
        full = true;
    } else {
        add(m, key, value);
    }
    if (ret_full) {
        *ret_full = full;
    }
    return before;
}

void *map_del(struct map *m, const char *key)
{
    struct map_entry *e = find(m, key);
    if (!e) {
        return NULL;
    }
    void *value = e->value;
    HASH_DEL(m->entries, e);
    free(e);
    return value;
}

void map_clear(struct map *m)
{
    struct map_entry *e = m->entries;
    /* HASH_CLEAR frees the table only; the list among the entries stays readable. */
    HASH_CLEAR(hh, m->entries);
    while (e) {
        struct map_entry *next = e->hh.next;
        free(e);
        e = next;
    }
}

const struct map_entry *map_first(const struct map *m)
{
    return m->entries;
}

const struct map_entry *map_next(const struct map_entry *e)
{
    return e->hh.next;
}

const char *map_key(const struct map_entry *e)
{
    return e->key;
}

void *map_value(const struct map_entry *e)
{
    return e->value;
}
