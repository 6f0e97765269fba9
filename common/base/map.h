/*
 * map.h - a map from string to pointer (the only user of uthash).
 *
 * Keys are copied. Values are borrowed: the map never frees them. Iteration follows insertion
 * order, so it is deterministic; removing the entry at hand while iterating is allowed, adding is
 * not. A map has a maximum number of entries, given at birth.
 */
#ifndef KARP_BASE_MAP_H
#define KARP_BASE_MAP_H

#include "compat.h"

#include <stdbool.h>

struct map;
struct map_entry;

struct map *map_new(size_t max_entries);
void map_free(struct map *m);
size_t map_count(const struct map *m);
void *map_get(const struct map *m, const char *key); /* NULL if absent */
bool map_has(const struct map *m, const char *key);
/* Adds or replaces; returns the value that stood there before or NULL. A new key that finds
 * the map full changes nothing, gives NULL and sets *ret_full (may be NULL) to true. */
void *map_put(struct map *m, const char *key, void *value, bool *ret_full);
void *map_del(struct map *m, const char *key); /* the value that was removed, or NULL */
void map_clear(struct map *m);

const struct map_entry *map_first(const struct map *m);
const struct map_entry *map_next(const struct map_entry *e); /* fetch before removing e */
const char *map_key(const struct map_entry *e);
void *map_value(const struct map_entry *e);

/* for (MAP_EACH(m, e)) { ... } ; the entry at hand may be deleted */
#define MAP_EACH(m, e)                                                                             \
    const struct map_entry *e = map_first(m), *e##_next = e ? map_next(e) : NULL;                  \
    e;                                                                                             \
    e = e##_next, e##_next = e ? map_next(e) : NULL

#endif
