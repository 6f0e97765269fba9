/* err.c - see err.h */
#include "err.h"

#include "str.h"

#include <stdarg.h>

#define ELLIPSIS "\xe2\x80\xa6"

/* Copies text into the message; what is too long ends with an ellipsis, between two characters. */
static void set_msg(struct err *e, const char *text, size_t n)
{
    const size_t room = sizeof(e->msg) - 1;
    const size_t mark = sizeof(ELLIPSIS) - 1;
    if (n <= room) {
        memcpy(e->msg, text, n);
        e->msg[n] = '\0';
        return;
    }
    size_t cut = str_cut(text, room - mark);
    memcpy(e->msg, text, cut);
    memcpy(e->msg + cut, ELLIPSIS, sizeof(ELLIPSIS));
}

/* Formats into a text one byte longer than any message, so that set_msg notices the overflow. */
static size_t format(char *text, size_t size, const char *fmt, va_list ap)
{
    int n = vsnprintf(text, size, fmt, ap);
    if (n < 0) {
        text[0] = '\0';
        return 0;
    }
    return (size_t)n < size ? (size_t)n : size - 1;
}

int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
    if (!e) {
        return -1;
    }
    /* The arguments may point into *e, so the text is complete before anything is cleared. */
    char text[sizeof(e->msg) + 1];
    va_list ap;
    va_start(ap, fmt);
    size_t n = format(text, sizeof(text), fmt, ap);
    va_end(ap);
    err_clear(e);
    e->kind = kind;
    set_msg(e, text, n);
    return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    if (!e) {
        return -1;
    }
    char text[2 * sizeof(e->msg) + 2];
    va_list ap;
    va_start(ap, fmt);
    size_t n = format(text, sizeof(e->msg), fmt, ap);
    va_end(ap);
    int m = snprintf(text + n, sizeof(text) - n, ": %s", e->msg);
    set_msg(e, text, n + (size_t)m);
    return -1;
}

void err_code(struct err *e, const char *code)
{
    if (e) {
        str_copy(e->code, sizeof(e->code), code);
    }
}

void err_clear(struct err *e)
{
    if (e) {
        *e = (struct err)ERR_INIT;
    }
}

const char *err_kind_name(enum err_kind kind)
{
    static const char *const names[] = {
        [ERR_NONE] = "None",
        [ERR_INVALID] = "Invalid",
        [ERR_NOT_FOUND] = "NotFound",
        [ERR_EXISTS] = "Exists",
        [ERR_CONFLICT] = "Conflict",
        [ERR_FORBIDDEN] = "Forbidden",
        [ERR_UNAUTHENTICATED] = "Unauthenticated",
        [ERR_GONE] = "Gone",
        [ERR_THROTTLED] = "Throttled",
        [ERR_UNAVAILABLE] = "Unavailable",
        [ERR_TIMEOUT] = "Timeout",
        [ERR_CAPACITY] = "Capacity",
        [ERR_LIMIT] = "Limit",
        [ERR_CANCELLED] = "Cancelled",
        [ERR_BUG] = "Bug",
    };
    return (size_t)kind < ARRAY_LEN(names) ? names[kind] : "Unknown";
}

int err_transient(const struct err *e)
{
    return e && (e->kind == ERR_THROTTLED || e->kind == ERR_UNAVAILABLE || e->kind == ERR_TIMEOUT);
}

void bug_at(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "BUG: %s:%d: ", file, line);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}
