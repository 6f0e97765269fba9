/*
 * term.h - what the output goes to: how wide it is, and whether it takes colours and UTF-8.
 *
 *  - Colours with --color=always, or auto on a terminal unless NO_COLOR is set to anything or TERM
 *    is "dumb". A colour never stands alone: the word or sign is there too.
 *  - Width: $COLUMNS, else the terminal's, else 0 = as wide as it gets.
 *  - Characters beyond ASCII only in a UTF-8 locale (LC_ALL, LC_CTYPE, LANG: the first that is set)
 *    and without --ascii.
 */
#ifndef KARP_CMD_TERM_H
#define KARP_CMD_TERM_H

#include "common/base/buf.h"

#include <stdbool.h>

/* What is looked at, so that tests have their own. NULL = unset. */
struct term_env {
    bool tty;
    int tty_columns; /* 0 = unknown */
    const char *columns, *no_color, *term, *lc_all, *lc_ctype, *lang;
};

struct term {
    bool tty, color, utf8;
    unsigned width; /* 0 = unlimited */
};

enum term_color { COLOR_NONE, COLOR_RED, COLOR_GREEN, COLOR_YELLOW, COLOR_BLUE, COLOR_BOLD };

struct term_env term_env_system(int fd);
/* when: "auto", "always" or "never". */
void term_init(struct term *t, const struct term_env *env, const char *when, bool ascii);

/* Appends s in that colour, plain if there are none. */
void term_put(const struct term *t, enum term_color c, const char *s, struct buf *out);
/* Columns that a UTF-8 text takes: its characters. */
size_t term_text_width(const char *s);
/* "######...." of so many cells: share of part in whole, which is 0 when whole is. */
void term_bar(const struct term *t, int64_t part, int64_t whole, unsigned cells, struct buf *out);

#endif
