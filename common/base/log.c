/* log.c - see log.h */
#include "log.h"

#include "str.h"
#include "timefmt.h"

#include <stdarg.h>

/* Kept free for what closes a line: ellipsis, quote, brace, newline. */
#define TAIL_ROOM 8
#define ELLIPSIS "\xe2\x80\xa6"

#define NUMBER_SLOTS 8
#define NUMBER_TEXT 24

/* Per thread, so two agents cannot meet in it; nothing reads it but the thread's next log_event. */
static _Thread_local char number_text[NUMBER_SLOTS][NUMBER_TEXT];
static _Thread_local unsigned number_next;

struct line {
    char text[LOG_LINE_MAX];
    size_t n;
    bool full; /* something did not fit: nothing more is added */
};

static bool add(struct line *l, const char *s, size_t n)
{
    if (l->full || l->n + n > sizeof(l->text) - TAIL_ROOM) {
        l->full = true;
        return false;
    }
    memcpy(l->text + l->n, s, n);
    l->n += n;
    return true;
}

/* For the room that add() leaves. */
static void add_tail(struct line *l, const char *s)
{
    size_t n = strlen(s);
    memcpy(l->text + l->n, s, n);
    l->n += n;
}

static bool add_escaped_byte(struct line *l, unsigned char c)
{
    static const char short_form[] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
                                      ['\t'] = 't', ['"'] = '"',  ['\\'] = '\\'};
    char esc[8];
    if (c < sizeof(short_form) && short_form[c]) {
        esc[0] = '\\';
        esc[1] = short_form[c];
        return add(l, esc, 2);
    }
    int n = snprintf(esc, sizeof(esc), "\\u%04x", c);
    return add(l, esc, (size_t)n);
}

/* The inside of a JSON string. False if it was cut (after a whole character or escape). */
static bool add_escaped(struct line *l, const char *s)
{
    size_t left = strlen(s);
    bool ok = true;
    while (left > 0 && ok) {
        unsigned char c = (unsigned char)*s;
        size_t n = str_utf8_len(s, left);
        if (n == 0) {
            ok = add(l, "\\ufffd", 6);
            n = 1;
        } else if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) {
            ok = add_escaped_byte(l, c);
        } else {
            ok = add(l, s, n);
        }
        s += n;
        left -= n;
    }
    return ok;
}

static bool is_number(const char *value)
{
    for (size_t i = 0; i < NUMBER_SLOTS; i++) {
        if (value == number_text[i]) {
            return true;
        }
    }
    return false;
}

static void add_string(struct line *l, const char *value)
{
    if (!add(l, "\"", 1)) {
        add_tail(l, "\"");
    } else if (!add_escaped(l, value)) {
        add_tail(l, ELLIPSIS);
    }
    add_tail(l, "\"");
}

/* A pair is left out as a whole when its key has no room. */
static void add_pair(struct line *l, const char *key, const char *value)
{
    size_t before = l->n;
    bool ok = before == 1 || add(l, ",", 1);
    ok = ok && add(l, "\"", 1) && add_escaped(l, key) && add(l, "\":", 2);
    if (ok && value && !is_number(value)) {
        add_string(l, value);
        return;
    }
    const char *plain = value ? value : "null";
    if (!ok || !add(l, plain, strlen(plain))) {
        l->n = before;
    }
}

/* "2026-01-05T09:00:00.000Z": timefmt's whole seconds with thousandths put in. */
static void add_time(struct line *l, int64_t wall_ns)
{
    char text[TIMEFMT_TEXT + 8];
    timefmt_rfc3339(wall_ns, text);
    int64_t ms = wall_ns % NS_PER_S / NS_PER_MS;
    char *end = strchr(text, 'Z');
    if (end) {
        snprintf(end, (size_t)(text + sizeof(text) - end), ".%03dZ", (int)(ms < 0 ? 0 : ms));
    }
    add_pair(l, "time", text);
}

void log_write_file(void *ctx, const char *line, size_t n)
{
    FILE *f = ctx;
    /* Whoever cannot be written to cannot be told so. */
    (void)fwrite(line, 1, n, f);
    (void)fflush(f);
}

void log_event(const struct log *l, enum log_level level, const char *message, ...)
{
    static const char *const names[] = {"DEBUG", "INFO", "ERROR"};
    if (!l || level < l->level) {
        return;
    }
    struct line line;
    line.n = 0;
    line.full = false;
    add(&line, "{", 1);
    add_pair(&line, "level", names[level]);
    add_time(&line, clock_wall(l->clock));
    add_pair(&line, "logger", l->name ? l->name : "");
    add_pair(&line, "message", message);
    va_list ap;
    va_start(ap, message);
    const char *key;
    while (!line.full && (key = va_arg(ap, const char *)) != NULL) {
        add_pair(&line, key, va_arg(ap, const char *));
    }
    va_end(ap);
    add_tail(&line, "}\n");
    l->write(l->ctx, line.text, line.n);
}

const char *log_n(int64_t n)
{
    char *text = number_text[number_next++ % NUMBER_SLOTS];
    snprintf(text, NUMBER_TEXT, "%lld", (long long)n);
    return text;
}

bool log_level_parse(const char *s, enum log_level *ret)
{
    static const char *const names[] = {"debug", "info", "error"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(s, names[i])) {
            *ret = (enum log_level)i;
            return true;
        }
    }
    return false;
}
