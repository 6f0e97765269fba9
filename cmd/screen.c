/* screen.c - see screen.h. */
#include "screen.h"

#include "cmd/status/money.h"
#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/core/ec2/catalog.h"
#include "table.h"

#define GIB (INT64_C(1) << 30)

void screen_wrap(const struct term *t, struct arena *a, unsigned indent, const char *text,
                 struct buf *out)
{
    unsigned screen = t->width ? t->width : SCREEN_COLUMNS;
    screen = screen < SCREEN_COLUMNS_MIN ? SCREEN_COLUMNS_MIN : screen;
    size_t max = screen > indent + 20 ? screen - indent : 20, at = 0;
    text = text_safe(a, text);
    while (*text) {
        size_t n = strcspn(text, " ");
        size_t width = term_text_width(arena_strndup(a, text, n));
        if (at > 0 && at + 1 + width > max) {
            buf_printf(out, "\n%*s", (int)indent, "");
            at = 0;
        }
        buf_printf(out, "%s%.*s", at > 0 ? " " : "", (int)n, text);
        at += (at > 0) + width;
        text += n + strspn(text + n, " ");
    }
}

const char *screen_zones(struct arena *a, const char *const *zones, size_t n)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 4096);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(zones[i]);
        bool same = i > 0 && len > 1 && strlen(zones[0]) == len &&
                    strncmp(zones[i], zones[0], len - 1) == 0;
        buf_printf(&out, "%s%s", i ? "," : "", same ? zones[i] + len - 1 : zones[i]);
    }
    return n ? arena_strdup(a, out.p) : "-";
}

const char *screen_hour(struct arena *a, int64_t pusd_h, bool estimated, const char *sign)
{
    char text[MONEY_TEXT];
    if (pusd_h == PRICE_UNKNOWN) {
        return "?";
    }
    return arena_printf(a, "%s%s$%s/h", estimated ? "~" : "", sign, money_hour(pusd_h, text));
}

void screen_tenths(struct buf *out, int64_t v, int64_t unit, bool always)
{
    __int128 tenths = ((__int128)v * 10 + unit / 2) / unit;
    long long whole = (long long)(tenths / 10), rest = (long long)(tenths % 10);
    if (rest || always) {
        buf_printf(out, "%lld.%lld", whole, rest);
    } else {
        buf_printf(out, "%lld", whole);
    }
}

void screen_gib(struct buf *out, int64_t bytes)
{
    if (bytes < 10 * GIB) {
        screen_tenths(out, bytes, GIB, false);
    } else {
        buf_printf(out, "%lld", (long long)(bytes / GIB + (bytes % GIB >= GIB / 2)));
    }
}

int screen_percent(int64_t part, int64_t whole)
{
    return whole > 0 ? (int)(((__int128)part * 100 + whole / 2) / whole) : 0;
}

const char *screen_clock(struct arena *a, int64_t t_ns, int64_t now_ns)
{
    char text[TIMEFMT_TEXT];
    (void)timefmt_rfc3339(t_ns, text); /* 2026-01-05T09:00:00Z */
    bool near = t_ns - now_ns < 24 * NS_PER_H;
    return near ? arena_printf(a, "%.5s", text + 11)
                : arena_printf(a, "%.10s %.5s", text, text + 11);
}

const char *screen_age(struct arena *a, int64_t ns)
{
    char text[TIMEFMT_TEXT];
    return arena_strdup(a, timefmt_age(ns, text));
}

const char *screen_count(struct arena *a, int64_t n, const char *what)
{
    return arena_printf(a, "%lld %s%s", (long long)n, what, n == 1 ? "" : "s");
}

void screen_prices(const struct term *t, struct arena *a, const struct prices *p, struct buf *out)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 4096);
    prices_source(p, &text);
    buf_puts(&text, "; reservations and savings plans not counted.");
    buf_puts(out, "Prices: ");
    screen_wrap(t, a, 8, text.p, out);
    buf_putc(out, '\n');
}
