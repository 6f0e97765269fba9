/*
 * table.h - tables as kubectl prints them: heads in capitals, three blanks between columns, no
 * borders, no blanks at line ends; money and counts to the right.
 *
 * A table and its texts live in the arena given to it. When the terminal is narrower than the table
 * columns are left out from the right (the first one never): names stay whole. Columns marked
 * `wide` are there only with -o wide, which leaves out none. Texts are made safe for a terminal
 * (text_safe).
 */
#ifndef KARP_CMD_TABLE_H
#define KARP_CMD_TABLE_H

#include "common/base/arena.h"
#include "term.h"

#define TABLE_COLUMNS_MAX 32u

struct table_column {
    const char *head;
    bool right; /* aligned to the right */
    bool wide;  /* only with -o wide */
};

struct table_cell {
    const char *text;
    enum term_color color;
};

struct table {
    struct arena *a;
    const struct table_column *columns;
    size_t n_columns;
    struct table_cell *cells; /* rows behind each other */
    size_t n, cap;
};

void table_init(struct table *t, struct arena *a, const struct table_column *columns,
                size_t n_columns);
/* The next cell of the row at hand. NULL or "" prints "<none>", as kubectl; " " leaves it empty. */
void table_cell(struct table *t, const char *text);
void table_cell_color(struct table *t, enum term_color color, const char *text);
void table_cellf(struct table *t, const char *fmt, ...) PRINTF(2, 3);
/* All rows must be full. */
void table_write(const struct table *t, const struct term *term, bool heads, bool wide,
                 struct buf *out);

/* s with every control character (C0, DEL, C1) as a blank, and what is not UTF-8 as '?': texts come
 * from the cluster, and none of them may move the cursor. s itself if nothing is to be done. */
const char *text_safe(struct arena *a, const char *s);

#endif
