/* follow.c - see follow.h. */
#include "follow.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define SCREEN_ENTER "\033[?1049h"
#define SCREEN_LEAVE "\033[?1049l"
#define SCREEN_CLEAR "\033[H\033[2J"
#define INTERRUPTED 130

/* ---- what has changed ------------------------------------------------------------------------ */

static bool is_word(char ch)
{
    return (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

/* "3d4h": the bytes of an age that stands here as a word of its own, 0 if none does. */
static size_t age_at(const char *s)
{
    size_t n = 0;
    while (s[n] >= '0' && s[n] <= '9') {
        size_t digits = strspn(s + n, "0123456789");
        if (s[n + digits] == '\0' || !strchr("smhdy", s[n + digits])) {
            return 0;
        }
        n += digits + 1;
    }
    return n > 0 && !is_word(s[n]) ? n : 0;
}

/* Past an age and the blanks behind it, which depend on how wide it is. */
static const char *pass_age(const char *s, const char *from)
{
    bool begins = s == from || !is_word(s[-1]);
    size_t n = begins ? age_at(s) : 0;
    return n ? s + n + strspn(s + n, " ") : s;
}

bool follow_differs(const char *a, const char *b)
{
    const char *x = a, *y = b;
    for (;;) {
        x = pass_age(x, a);
        y = pass_age(y, b);
        if (*x != *y) {
            return true;
        }
        if (*x == '\0') {
            return false;
        }
        x++;
        y++;
    }
}

/* ---- terminal -------------------------------------------------------------------------------- */

/* What a signal handler has to put back. */
static struct {
    int fd;
    bool screen, keys;
    struct termios before;
} held;

static void leave(void)
{
    if (held.keys) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &held.before);
    }
    if (held.screen) {
        ssize_t n = write(held.fd, SCREEN_LEAVE, strlen(SCREEN_LEAVE));
        (void)n; /* there is nobody to tell */
    }
    held.keys = held.screen = false;
}

static void on_signal(UNUSED int number)
{
    leave();
    _exit(INTERRUPTED);
}

static void enter(const struct cmd *c)
{
    struct sigaction act = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &act, NULL);
    (void)sigaction(SIGTERM, &act, NULL);
    if (!c->term.tty) {
        return;
    }
    held.fd = fileno(c->out);
    held.screen = write(held.fd, SCREEN_ENTER, strlen(SCREEN_ENTER)) > 0;
    if (isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &held.before) == 0) {
        struct termios raw = held.before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        held.keys = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
}

/* True if q was pressed, or nobody can press it any more. */
static bool wait_for(int ms)
{
    struct pollfd in = {.fd = held.keys ? STDIN_FILENO : -1, .events = POLLIN};
    char key;
    if (poll(&in, 1, ms) <= 0) {
        return false;
    }
    return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q';
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* One round's answer, on the heap; NULL and *reterr if it failed. */
static char *ask(struct cmd *c, int (*once)(struct cmd *, struct err *), struct err *reterr)
{
    char *text = NULL;
    size_t n;
    FILE *out = c->out;
    c->out = open_memstream(&text, &n);
    if (!c->out) {
        BUG("out of memory");
    }
    int rc = once(c, reterr);
    (void)fclose(c->out);
    c->out = out;
    if (rc != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static bool put(const struct cmd *c, const char *text, bool first)
{
    const char *before = c->term.tty ? SCREEN_CLEAR : first ? "" : "\n";
    return fputs(before, c->out) >= 0 && fputs(text, c->out) >= 0 && fflush(c->out) == 0;
}

int follow_run(struct cmd *c, int (*once)(struct cmd *c, struct err *reterr), unsigned rounds,
               int interval_ms, struct err *reterr)
{
    char *last = ask(c, once, reterr);
    if (!last) {
        return -1;
    }
    enter(c);
    bool reads = put(c, last, true);
    for (unsigned i = 1; reads && (rounds == 0 || i < rounds) && !wait_for(interval_ms); i++) {
        struct err err = ERR_INIT;
        char *text = ask(c, once, &err);
        if (!text) {
            cmd_warn(c, "%s", err.msg);
            continue;
        }
        if (c->term.tty || follow_differs(last, text)) {
            reads = put(c, text, false);
            free(last);
            last = text;
        } else {
            free(text);
        }
    }
    leave();
    free(last);
    return 0;
}
