/* table.c - see table.h. */
#include "table.h"

#include "common/base/err.h"
#include "common/base/str.h"

#include <stdarg.h>

#define PADDING 3u
#define MIN_WIDTH 6u /* of a column with its padding, as kubectl's writer */

void table_init(struct table *t, struct arena *a, const struct table_column *columns,
                size_t n_columns)
{
    if (n_columns == 0 || n_columns > TABLE_COLUMNS_MAX) {
        BUG("a table of %zu columns", n_columns);
    }
    *t = (struct table){.a = a, .columns = columns, .n_columns = n_columns};
}

/* ---- safe texts ------------------------------------------------------------------------------ */

/* Bytes of the character at s, and whether it may go to a terminal. */
static size_t next_char(const char *s, size_t n, bool *ret_safe)
{
    unsigned char c = (unsigned char)s[0];
    size_t len = str_utf8_len(s, n);
    bool c1 = len == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0;
    *ret_safe = len > 0 && c >= 0x20 && c != 0x7f && !c1;
    return len ? len : 1;
}

const char *text_safe(struct arena *a, const char *s)
{
    size_t n = strlen(s), at = 0, out = 0;
    bool safe = true;
    while (at < n && safe) {
        at += next_char(s + at, n - at, &safe);
    }
    if (safe) {
        return s;
    }
    char *copy = arena_alloc(a, n + 1);
    for (at = 0; at < n;) {
        size_t len = next_char(s + at, n - at, &safe);
        if (safe) {
            memcpy(copy + out, s + at, len);
            out += len;
        } else {
            copy[out++] = str_utf8_len(s + at, n - at) ? ' ' : '?';
        }
        at += len;
    }
    copy[out] = '\0';
    return copy;
}

/* ---- cells ----------------------------------------------------------------------------------- */

void table_cell_color(struct table *t, enum term_color color, const char *text)
{
    ARENA_GROW(t->a, t->cells, t->n, t->cap);
    const char *shown = text && *text ? text : "<none>";
    t->cells[t->n++] = (struct table_cell){text_safe(t->a, shown), color};
}

void table_cell(struct table *t, const char *text)
{
    table_cell_color(t, COLOR_NONE, text);
}

void table_cellf(struct table *t, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    table_cell(t, arena_strdup(t->a, text));
}

/* ---- writing --------------------------------------------------------------------------------- */

struct layout {
    size_t shown[TABLE_COLUMNS_MAX]; /* column numbers */
    size_t width[TABLE_COLUMNS_MAX]; /* of the text, by column number */
    size_t n;
};

static void measure(const struct table *t, bool heads, bool wide, struct layout *l)
{
    l->n = 0;
    for (size_t c = 0; c < t->n_columns; c++) {
        size_t width = heads ? term_text_width(t->columns[c].head) : 0;
        for (size_t i = c; i < t->n; i += t->n_columns) {
            size_t w = term_text_width(t->cells[i].text);
            width = w > width ? w : width;
        }
        l->width[c] = width;
        if (wide || !t->columns[c].wide) {
            l->shown[l->n++] = c;
        }
    }
}

/* Up to where column number i of the layout reaches. */
static size_t column_span(const struct layout *l, size_t i)
{
    size_t width = l->width[l->shown[i]];
    if (i + 1 == l->n) {
        return width;
    }
    return width + PADDING < MIN_WIDTH ? MIN_WIDTH : width + PADDING;
}

static void narrow(struct layout *l, unsigned max)
{
    for (;;) {
        size_t total = 0;
        for (size_t i = 0; i < l->n; i++) {
            total += column_span(l, i);
        }
        if (max == 0 || total <= max || l->n <= 1) {
            return;
        }
        l->n--;
    }
}

static void put_blanks(struct buf *out, size_t n)
{
    buf_printf(out, "%*s", (int)n, "");
}

static void put_line(const struct table *t, const struct layout *l, const struct term *term,
                     const struct table_cell *cells, struct buf *out)
{
    size_t start = out->n;
    for (size_t i = 0; i < l->n; i++) {
        size_t c = l->shown[i];
        const char *text = cells ? cells[c].text : t->columns[c].head;
        size_t width = term_text_width(text), room = l->width[c];
        size_t before = t->columns[c].right && room > width ? room - width : 0;
        put_blanks(out, before);
        term_put(term, cells ? cells[c].color : COLOR_NONE, text, out);
        if (i + 1 < l->n) {
            put_blanks(out, column_span(l, i) - before - width);
        }
    }
    while (out->n > start && out->p[out->n - 1] == ' ') {
        out->n--; /* cells that say nothing */
    }
    buf_putc(out, '\n');
}

void table_write(const struct table *t, const struct term *term, bool heads, bool wide,
                 struct buf *out)
{
    struct layout l;
    if (t->n % t->n_columns != 0) {
        BUG("a row of the table is not full");
    }
    measure(t, heads, wide, &l);
    narrow(&l, wide ? 0 : term->width);
    if (heads) {
        put_line(t, &l, term, NULL, out);
    }
    for (size_t i = 0; i < t->n; i += t->n_columns) {
        put_line(t, &l, term, &t->cells[i], out);
    }
}
