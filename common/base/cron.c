#include "cron.h"

#include "clock.h"
#include "str.h"
#include "timefmt.h"
#include "tzone.h"

#include <ctype.h>
#include <strings.h>

#define YEARS_AHEAD 5
#define NS_PER_DAY (24 * NS_PER_H)
#define FIELDS 5

struct field {
    const char *name;
    unsigned min, max;
    const char *const *names; /* of min, min+1, ...; NULL if numbers only */
};

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                          "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const day_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static const struct field fields[FIELDS] = {
    {"minute", 0, 59, NULL},          {"hour", 0, 23, NULL},
    {"day of month", 1, 31, NULL},    {"month", 1, 12, month_names},
    {"day of week", 0, 6, day_names},
};

static const struct {
    const char *name;
    const char *meaning;
} macros[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

/* ---- parsing --------------------------------------------------------------------------------- */

/* A piece of the input, not terminated. */
struct piece {
    const char *p;
    size_t n;
};

/* Cuts off what stands before the next c; false when nothing is left. */
static bool next_piece(struct piece *rest, char c, struct piece *ret)
{
    if (!rest->p) {
        return false;
    }
    const char *hit = memchr(rest->p, c, rest->n);
    ret->p = rest->p;
    ret->n = hit ? (size_t)(hit - rest->p) : rest->n;
    rest->n -= hit ? ret->n + 1 : ret->n;
    rest->p = hit ? hit + 1 : NULL;
    return true;
}

/* At most cap pieces; returns how many there are. */
static size_t split(struct piece s, char c, struct piece *ret, size_t cap)
{
    size_t n = 0;
    struct piece one;
    while (next_piece(&s, c, &one)) {
        if (n < cap) {
            ret[n] = one;
        }
        n++;
    }
    return n;
}

/* As strconv.Atoi, a plus sign allowed; nothing in cron needs more than a few digits. */
static bool parse_number(struct piece s, unsigned *ret)
{
    unsigned v = 0;
    if (s.n > 1 && *s.p == '+') {
        s.p++;
        s.n--;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (!isdigit((unsigned char)s.p[i])) {
            return false;
        }
        v = v > 100000 ? v : v * 10 + (unsigned)(s.p[i] - '0');
    }
    *ret = v;
    return s.n > 0;
}

static bool parse_value(const struct field *f, struct piece s, unsigned *ret)
{
    for (unsigned i = 0; f->names && f->names[i]; i++) {
        if (s.n == 3 && strncasecmp(s.p, f->names[i], 3) == 0) {
            *ret = f->min + i;
            return true;
        }
    }
    return parse_number(s, ret);
}

static int bad(struct err *e, const struct field *f, struct piece s, const char *why)
{
    return err_set(e, ERR_INVALID, "%s \"%.*s\": %s", f->name, (int)(s.n > 40 ? 40 : s.n), s.p,
                   why);
}

/* "*", "?", "5", "1-5", "mon-fri" */
static int parse_bounds(const struct field *f, struct piece s, struct piece whole, unsigned *lo,
                        unsigned *hi, bool *star, struct err *e)
{
    struct piece ends[2];
    size_t n = split(s, '-', ends, 2);
    if (ends[0].n == 1 && (*ends[0].p == '*' || *ends[0].p == '?')) {
        /* As in robfig's parser a hyphen behind the star is not looked at. */
        *lo = f->min;
        *hi = f->max;
        *star = true;
        return 0;
    }
    if (n > 2) {
        return bad(e, f, whole, "too many hyphens");
    }
    if (!parse_value(f, ends[0], lo) || (n == 2 && !parse_value(f, ends[1], hi))) {
        return bad(e, f, whole, "neither a number nor a name");
    }
    *hi = n == 2 ? *hi : *lo;
    return 0;
}

/* One item of a list: bounds and an optional step. */
static int parse_item(const struct field *f, struct piece s, uint64_t *bits, bool *star,
                      struct err *e)
{
    struct piece parts[2];
    unsigned lo = 0, hi = 0, step = 1;
    bool item_star = false;
    size_t n = split(s, '/', parts, 2);
    if (parse_bounds(f, parts[0], s, &lo, &hi, &item_star, e) < 0) {
        return -1;
    }
    if (n > 2) {
        return bad(e, f, s, "too many slashes");
    }
    if (n == 2) {
        if (!parse_number(parts[1], &step)) {
            return bad(e, f, s, "step is not a number");
        }
        /* "5/10" is "5-59/10". */
        hi = memchr(parts[0].p, '-', parts[0].n) ? hi : f->max;
        item_star = item_star && step <= 1;
    }
    if (lo < f->min || hi > f->max || lo > hi || step == 0) {
        return bad(e, f, s, "out of range");
    }
    for (unsigned v = lo; v <= hi; v += step) {
        *bits |= UINT64_C(1) << v;
    }
    *star = *star || item_star;
    return 0;
}

static int parse_field(const struct field *f, struct piece s, uint64_t *bits, bool *star,
                       struct err *e)
{
    struct piece item;
    *bits = 0;
    *star = false;
    while (next_piece(&s, ',', &item)) {
        /* Empty items count for nothing in robfig's parser. */
        if (item.n > 0 && parse_item(f, item, bits, star, e) < 0) {
            return -1;
        }
    }
    return 0;
}

static bool next_word(const char **p, struct piece *ret)
{
    while (isspace((unsigned char)**p)) {
        (*p)++;
    }
    ret->p = *p;
    while (**p && !isspace((unsigned char)**p)) {
        (*p)++;
    }
    ret->n = (size_t)(*p - ret->p);
    return ret->n > 0;
}

static int parse_fields(const char *s, struct cron *ret, struct err *e)
{
    struct piece words[FIELDS], word;
    size_t n = 0;
    while (next_word(&s, &word)) {
        if (n < FIELDS) {
            words[n] = word;
        }
        n++;
    }
    if (n != FIELDS) {
        return err_set(e, ERR_INVALID, "%zu fields instead of 5", n);
    }
    uint64_t *bits[FIELDS] = {&ret->minute, &ret->hour, &ret->dom, &ret->month, &ret->dow};
    bool star[FIELDS];
    for (size_t i = 0; i < FIELDS; i++) {
        if (parse_field(&fields[i], words[i], bits[i], &star[i], e) < 0) {
            return -1;
        }
    }
    ret->dom_star = star[2];
    ret->dow_star = star[4];
    return 0;
}

int cron_parse(const char *s, struct cron *ret, struct err *reterr)
{
    struct cron c = {0};
    const char *meaning = s, *rest = s;
    struct piece first;
    if (strlen(s) > CRON_TEXT_MAX) {
        return err_set(reterr, ERR_INVALID, "cron: longer than %d bytes", CRON_TEXT_MAX);
    }
    if (next_word(&rest, &first) && *first.p == '@') {
        struct piece more;
        meaning = NULL;
        for (size_t i = 0; i < ARRAY_LEN(macros) && !next_word(&rest, &more); i++) {
            if (strlen(macros[i].name) == first.n &&
                memcmp(macros[i].name, first.p, first.n) == 0) {
                meaning = macros[i].meaning;
            }
        }
    }
    if (!meaning) {
        return err_set(reterr, ERR_INVALID, "cron \"%.80s\": unknown name", s);
    }
    if (parse_fields(meaning, &c, reterr) < 0) {
        return err_wrap(reterr, "cron \"%.80s\"", s);
    }
    *ret = c;
    return 0;
}

/* ---- hits ------------------------------------------------------------------------------------ */

static bool has(uint64_t bits, int value)
{
    return bits >> value & 1;
}

/* Both days must match, but if both are restricted either is enough. */
static bool day_matches(const struct cron *c, const struct timefmt_civil *t)
{
    bool dom = has(c->dom, t->day), dow = has(c->dow, t->weekday);
    if (!has(c->month, t->month)) {
        return false;
    }
    return c->dom_star || c->dow_star ? dom && dow : dom || dow;
}

/* First hit of a day at or after the minute (of the day); -1 if there is none. */
static int next_minute(const struct cron *c, int from)
{
    for (int hour = from / 60, minute = from % 60; hour < 24; hour++, minute = 0) {
        if (!has(c->hour, hour)) {
            continue;
        }
        for (; minute < 60; minute++) {
            if (has(c->minute, minute)) {
                return hour * 60 + minute;
            }
        }
    }
    return -1;
}

/* Local time as if it were UTC. */
static int64_t next_local(const struct cron *c, int64_t wall_ns)
{
    struct timefmt_civil t;
    timefmt_split(wall_ns, &t);
    int64_t last_year = t.year + YEARS_AHEAD;
    int64_t day = timefmt_days(t.year, t.month, t.day);
    int from = t.hour * 60 + t.minute + 1;
    for (;; day++, from = 0) {
        if (day > INT64_MAX / NS_PER_DAY - 1) {
            return NS_NEVER;
        }
        timefmt_split(day * NS_PER_DAY, &t);
        if (t.year > last_year) {
            return NS_NEVER;
        }
        int minute = day_matches(c, &t) ? next_minute(c, from) : -1;
        if (minute >= 0) {
            return day * NS_PER_DAY + minute * NS_PER_MIN;
        }
    }
}

int64_t cron_next(const struct cron *c, const struct tzone *tz, int64_t wall_ns)
{
    if (wall_ns < INT64_MIN + 4 * NS_PER_DAY) {
        wall_ns = INT64_MIN + 4 * NS_PER_DAY; /* any offset fits */
    }
    int64_t offset = tzone_offset_ns(tz, wall_ns), local;
    if (__builtin_add_overflow(wall_ns, offset, &local)) {
        return NS_NEVER;
    }
    for (;;) {
        /* Local time goes on evenly until the clocks change. */
        int64_t change = tzone_next_change(tz, wall_ns), hit = next_local(c, local);
        if (hit >= NS_NEVER - 2 * NS_PER_DAY) {
            return NS_NEVER;
        }
        if (hit - offset < change) {
            return hit - offset;
        }
        wall_ns = change;
        offset = tzone_offset_ns(tz, change);
        if (hit < change + offset) {
            return change; /* they were put forward over it */
        }
        local = change + offset - 1;
    }
}

bool cron_active(const struct cron *c, const struct tzone *tz, int64_t duration_ns,
                 int64_t now_wall_ns)
{
    int64_t since;
    if (__builtin_sub_overflow(now_wall_ns, duration_ns, &since)) {
        since = duration_ns > 0 ? INT64_MIN : INT64_MAX;
    }
    int64_t hit = cron_next(c, tz, since);
    return hit != NS_NEVER && hit <= now_wall_ns;
}
