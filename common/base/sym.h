/*
 * sym.h - interned strings: label keys, values and other names compare as 32-bit integers.
 *
 * One symtab per agent (in the plugin: per command). SYM_NONE (0) is no string; ids are dense and
 * given in order of first appearance, so they differ between runs: nothing visible may be ordered
 * by id (sym_cmp orders by string). Symbols are never freed; the table has a maximum, and past it
 * sym_intern aborts: symtab_count lets the owner stop in good order long before.
 *
 * A table starts with a fixed list (core/labels.h), whose ids are therefore constants.
 * The core gets the table const: it looks up, it never interns.
 */
#ifndef KARP_BASE_SYM_H
#define KARP_BASE_SYM_H

#include "compat.h"

#include <stdbool.h>

typedef uint32_t sym;

#define SYM_NONE ((sym)0)
#define SYMTAB_MAX 4000000u

struct symtab;

/* fixed[i] gets id i+1. The strings are borrowed for the table's life. */
struct symtab *symtab_new(const char *const *fixed, size_t n_fixed);
void symtab_free(struct symtab *t);
size_t symtab_count(const struct symtab *t);

/* NULL gives SYM_NONE; "" is an ordinary string. */
sym sym_intern(struct symtab *t, const char *s);
/* At most n bytes; a NUL ends the string earlier. */
sym sym_intern_n(struct symtab *t, const char *s, size_t n);
/* SYM_NONE if the string was never interned. */
sym sym_find(const struct symtab *t, const char *s);
/* "" for SYM_NONE. Valid for the table's life. */
const char *sym_str(const struct symtab *t, sym s);
/* The value as a decimal integer, read as strconv.Atoi does for Gt and Lt ([+-]?[0-9]+ within 64
 * bits); false if it is none. Parsed once, when the string is interned. */
bool sym_int(const struct symtab *t, sym s, int64_t *ret);
/* By string, SYM_NONE first. */
int sym_cmp(const struct symtab *t, sym a, sym b);

#endif
