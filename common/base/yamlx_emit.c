#include "yamlx.h"

#include "jsonx.h"
#include "str.h"
#include "yamlx_scalar.h"

#include <stdbool.h>

/* A YAML reader looks ahead no further than 1024 bytes for the colon of a short key. */
#define SHORT_KEY_MAX 1000
#define STEP 2

static int put_node(struct buf *b, const json_t *v, int indent, bool in_line, int depth);

static void put_indent(struct buf *b, int n)
{
    buf_printf(b, "%*s", n, "");
}

/* ---- strings --------------------------------------------------------------------------------- */

static const char *short_escape(unsigned char c)
{
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        return NULL;
    }
}

/* A double-quoted character that YAML does not count as printable, or breaks lines at. */
static void put_escaped(struct buf *b, const char *s, size_t len)
{
    unsigned c = (unsigned char)s[0];
    if (len == 2) {
        c = (c & 0x1f) << 6 | ((unsigned char)s[1] & 0x3f);
    } else if (len == 3) {
        c = (c & 0x0f) << 12 | ((unsigned char)s[1] & 0x3fu) << 6 | ((unsigned char)s[2] & 0x3fu);
    }
    buf_printf(b, c < 0x100 ? "\\x%02x" : "\\u%04x", c);
}

static void put_double_quoted(struct buf *b, const char *s, size_t n)
{
    buf_putc(b, '"');
    for (size_t i = 0; i < n;) {
        size_t len = str_utf8_len(s + i, n - i);
        len = len ? len : 1;
        const char *esc = short_escape((unsigned char)s[i]);
        if (esc) {
            buf_puts(b, esc);
        } else if (yamlx_printable(s + i, len)) {
            buf_put(b, s + i, len);
        } else {
            put_escaped(b, s + i, len);
        }
        i += len;
    }
    buf_putc(b, '"');
}

static void put_single_quoted(struct buf *b, const char *s, size_t n)
{
    buf_putc(b, '\'');
    for (size_t i = 0; i < n; i++) {
        buf_put(b, "''", s[i] == '\'' ? 2 : 0);
        if (s[i] != '\'') {
            buf_putc(b, s[i]);
        }
    }
    buf_putc(b, '\'');
}

static void put_flow_string(struct buf *b, const char *s, size_t n)
{
    if (yamlx_plain_ok(s, n)) {
        buf_put(b, s, n);
    } else if (strpbrk(s, "\"\\") && yamlx_printable(s, n)) {
        put_single_quoted(b, s, n);
    } else {
        put_double_quoted(b, s, n);
    }
}

/* Lines that can stand under a | as they are. */
static bool literal_ok(const char *s, size_t n)
{
    if (!memchr(s, '\n', n) || s[0] == ' ' || s[0] == '\n' || s[0] == '\t') {
        return false;
    }
    for (size_t i = 0; i < n;) {
        const char *nl = memchr(s + i, '\n', n - i);
        size_t len = nl ? (size_t)(nl - s) - i : n - i;
        if (!yamlx_printable(s + i, len)) {
            return false;
        }
        i += len + 1;
    }
    return true;
}

static void put_literal(struct buf *b, const char *s, size_t n, int indent)
{
    bool one = s[n - 1] == '\n', more = one && n > 1 && s[n - 2] == '\n';
    buf_puts(b, more ? "|+" : one ? "|" : "|-");
    for (size_t i = 0; i < n;) {
        const char *nl = memchr(s + i, '\n', n - i);
        size_t len = nl ? (size_t)(nl - s) - i : n - i;
        buf_putc(b, '\n');
        if (len > 0) {
            put_indent(b, indent > 0 ? indent : STEP);
            buf_put(b, s + i, len);
        }
        i += len + 1;
    }
}

static void put_string(struct buf *b, const json_t *v, int indent)
{
    const char *s = json_string_value(v);
    size_t n = json_string_length(v);
    if (literal_ok(s, n)) {
        put_literal(b, s, n, indent);
    } else {
        put_flow_string(b, s, n);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_block(const json_t *v)
{
    return json_object_size(v) > 0 || json_array_size(v) > 0;
}

/* "1.0e+21" where JSON has "1e+21": YAML 1.1 wants a point in its floats. */
static void put_real(struct buf *b, double v)
{
    char text[JSONX_REAL_TEXT];
    jsonx_fmt_real(v, text);
    const char *e = strchr(text, 'e');
    if (e && !strchr(text, '.')) {
        buf_printf(b, "%.*s.0%s", (int)(e - text), text, e);
    } else {
        buf_puts(b, text);
    }
}

/* Without a newline; indent is for further lines of text. */
static void put_scalar(struct buf *b, const json_t *v, int indent)
{
    switch (v ? json_typeof(v) : JSON_NULL) {
    case JSON_OBJECT:
        buf_puts(b, "{}");
        break;
    case JSON_ARRAY:
        buf_puts(b, "[]");
        break;
    case JSON_STRING:
        put_string(b, v, indent);
        break;
    case JSON_INTEGER:
        buf_printf(b, "%lld", (long long)json_integer_value(v));
        break;
    case JSON_REAL:
        put_real(b, json_real_value(v));
        break;
    case JSON_TRUE:
        buf_puts(b, "true");
        break;
    case JSON_FALSE:
        buf_puts(b, "false");
        break;
    case JSON_NULL:
        buf_puts(b, "null");
        break;
    }
}

static void put_key(struct buf *b, const char *key, int indent)
{
    size_t n = strlen(key);
    if (n > SHORT_KEY_MAX) {
        buf_puts(b, "? ");
        put_double_quoted(b, key, n);
        buf_putc(b, '\n');
        put_indent(b, indent);
    } else {
        put_flow_string(b, key, n);
    }
    buf_putc(b, ':');
}

/* in_line: the first member follows on the line that "- " began. */
static int put_object(struct buf *b, const json_t *v, int indent, bool in_line, int depth)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)v, key, value) {
        if (!in_line) {
            put_indent(b, indent);
        }
        in_line = false;
        put_key(b, key, indent);
        if (is_block(value)) {
            buf_putc(b, '\n');
            /* Sequences stand below their key without a step, as kubectl prints them. */
            int inner = json_is_array(value) ? indent : indent + STEP;
            if (put_node(b, value, inner, false, depth + 1) < 0) {
                return -1;
            }
        } else {
            buf_putc(b, ' ');
            put_scalar(b, value, indent + STEP);
            buf_putc(b, '\n');
        }
    }
    return 0;
}

static int put_array(struct buf *b, const json_t *v, int indent, bool in_line, int depth)
{
    for (size_t i = 0; i < json_array_size(v); i++) {
        if (!in_line || i > 0) {
            put_indent(b, indent);
        }
        buf_puts(b, "- ");
        if (put_node(b, json_array_get(v, i), indent + STEP, true, depth + 1) < 0) {
            return -1;
        }
    }
    return 0;
}

static int put_node(struct buf *b, const json_t *v, int indent, bool in_line, int depth)
{
    if (depth > JSONX_MAX_DEPTH) {
        return -1;
    }
    if (!is_block(v)) {
        put_scalar(b, v, indent);
        buf_putc(b, '\n');
        return 0;
    }
    return json_is_object(v) ? put_object(b, v, indent, in_line, depth)
                             : put_array(b, v, indent, in_line, depth);
}

int yamlx_emit(const json_t *v, struct buf *out, struct err *reterr)
{
    if (put_node(out, v, 0, false, 0) < 0) {
        return err_set(reterr, ERR_LIMIT, "cannot write YAML deeper than %d levels",
                       JSONX_MAX_DEPTH);
    }
    if (out->over) {
        return err_set(reterr, ERR_LIMIT, "YAML text is longer than %zu bytes", out->max);
    }
    return 0;
}
