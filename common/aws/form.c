/* form.c - see form.h */
#include "form.h"

#include "common/base/err.h"
#include "common/base/timefmt.h"

void form_init(struct form *f, const char *action, const char *version)
{
    *f = (struct form){.action = action};
    buf_init(&f->body, FORM_MAX);
    form_str(f, "Action", action);
    form_str(f, "Version", version);
}

void form_done(struct form *f)
{
    buf_done(&f->body);
    *f = (struct form){0};
}

bool form_over(const struct form *f)
{
    return f->body.over;
}

/* Names are literals of our own: one that does not fit is a mistake in the program. */
static void push_prefix(struct form *f, const char *name, size_t index)
{
    if (f->depth >= FORM_DEPTH_MAX) {
        BUG("form: too deep at %s%s", f->prefix, name);
    }
    f->scopes[f->depth++] = f->prefix_n;
    size_t room = sizeof(f->prefix) - f->prefix_n;
    char *at = f->prefix + f->prefix_n;
    int n =
        index > 0 ? snprintf(at, room, "%s.%zu.", name, index) : snprintf(at, room, "%s.", name);
    if (n < 0 || (size_t)n >= room) {
        BUG("form: too long at %s%s", f->prefix, name);
    }
    f->prefix_n += (size_t)n;
}

void form_begin(struct form *f, const char *name)
{
    push_prefix(f, name, 0);
}

void form_begin_item(struct form *f, const char *name, size_t index)
{
    if (index == 0) {
        BUG("form: %s.0", name);
    }
    push_prefix(f, name, index);
}

void form_end(struct form *f)
{
    if (f->depth == 0) {
        BUG("form: no open scope");
    }
    f->prefix_n = f->scopes[--f->depth];
    f->prefix[f->prefix_n] = '\0';
}

void form_escape(struct buf *b, const char *s)
{
    static const char hex[] = "0123456789ABCDEF";
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     c == '-' || c == '.' || c == '_' || c == '~';
        char code[3] = {'%', hex[c >> 4], hex[c & 15]};
        (void)(plain ? buf_putc(b, *s) : buf_put(b, code, sizeof(code)));
    }
}

static void put_name(struct form *f, const char *name)
{
    if (f->body.n > 0) {
        buf_putc(&f->body, '&');
    }
    buf_put(&f->body, f->prefix, f->prefix_n);
    buf_puts(&f->body, name);
}

void form_str(struct form *f, const char *name, const char *value)
{
    if (!value) {
        return;
    }
    put_name(f, name);
    buf_putc(&f->body, '=');
    form_escape(&f->body, value);
}

void form_item(struct form *f, const char *name, size_t index, const char *value)
{
    if (index == 0) {
        BUG("form: %s.0", name);
    }
    if (!value) {
        return;
    }
    put_name(f, name);
    buf_printf(&f->body, ".%zu=", index);
    form_escape(&f->body, value);
}

void form_bool(struct form *f, const char *name, bool value)
{
    form_str(f, name, value ? "true" : "false");
}

void form_i64(struct form *f, const char *name, int64_t value)
{
    put_name(f, name);
    buf_printf(&f->body, "=%lld", (long long)value);
}

void form_time(struct form *f, const char *name, int64_t wall_ns)
{
    char text[TIMEFMT_TEXT];
    form_str(f, name, timefmt_rfc3339(wall_ns, text));
}
