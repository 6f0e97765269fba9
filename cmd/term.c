/* term.c - see term.h. */
#include "term.h"

#include "common/base/str.h"

#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_MAX 10000

struct term_env term_env_system(int fd)
{
    struct winsize size = {0};
    struct term_env e = {
        .tty = isatty(fd) == 1,
        .columns = getenv("COLUMNS"),
        .no_color = getenv("NO_COLOR"),
        .term = getenv("TERM"),
        .lc_all = getenv("LC_ALL"),
        .lc_ctype = getenv("LC_CTYPE"),
        .lang = getenv("LANG"),
    };
    if (e.tty && ioctl(fd, TIOCGWINSZ, &size) == 0) {
        e.tty_columns = size.ws_col;
    }
    return e;
}

static bool is_set(const char *s)
{
    return s && *s;
}

static bool utf8_locale(const struct term_env *env)
{
    const char *s = is_set(env->lc_all)     ? env->lc_all
                    : is_set(env->lc_ctype) ? env->lc_ctype
                                            : env->lang;
    return s && (strcasestr(s, "utf-8") || strcasestr(s, "utf8"));
}

void term_init(struct term *t, const struct term_env *env, const char *when, bool ascii)
{
    int64_t columns;
    bool fits = env->tty && !is_set(env->no_color) && !str_eq(env->term, "dumb");
    t->tty = env->tty;
    t->color = str_eq(when, "always") || (fits && !str_eq(when, "never"));
    t->utf8 = !ascii && utf8_locale(env);
    t->width = env->tty_columns > 0 ? (unsigned)env->tty_columns : 0;
    if (env->columns && str_parse_i64(env->columns, &columns) && columns > 0 &&
        columns <= WIDTH_MAX) {
        t->width = (unsigned)columns;
    }
}

void term_put(const struct term *t, enum term_color c, const char *s, struct buf *out)
{
    static const char *const codes[] = {
        [COLOR_NONE] = "",           [COLOR_RED] = "\033[31m",  [COLOR_GREEN] = "\033[32m",
        [COLOR_YELLOW] = "\033[33m", [COLOR_BLUE] = "\033[34m", [COLOR_BOLD] = "\033[1m"};
    if (!t->color || c == COLOR_NONE || !*s) {
        buf_puts(out, s);
        return;
    }
    buf_printf(out, "%s%s\033[0m", codes[c], s);
}

size_t term_text_width(const char *s)
{
    size_t n = 0;
    for (; *s; s++) {
        n += ((unsigned char)*s & 0xc0) != 0x80;
    }
    return n;
}

void term_bar(const struct term *t, int64_t part, int64_t whole, unsigned cells, struct buf *out)
{
    const char *full = t->utf8 ? "\u2588" : "#", *empty = t->utf8 ? "\u2591" : ".";
    unsigned filled = 0;
    if (whole > 0 && part > 0) {
        /* Rounded to the nearest cell; 128 bits, since these are bytes. */
        __int128 n = ((__int128)part * cells * 2 + whole) / ((__int128)whole * 2);
        filled = n > cells ? cells : (unsigned)n;
    }
    for (unsigned i = 0; i < cells; i++) {
        buf_puts(out, i < filled ? full : empty);
    }
}
