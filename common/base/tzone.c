/* tzone.c - see tzone.h. */
#include "tzone.h"

#include "clock.h"
#include "str.h"
#include "timefmt.h"

#include <stdio.h>

#define HEADER 44
#define DAY_S 86400
#define OFFSET_MAX_S (26 * 3600) /* RFC 8536: -25 h to +26 h */
#define WALL_MAX_S (INT64_MAX / NS_PER_S - 2 * DAY_S)

/* A day of the year on which the clocks change: Mm.w.d, Jn or n. */
struct rule_day {
    char kind;            /* 'M', 'J', '0' */
    int month, week, day; /* of 'M': weekday 0 = Sunday; else day alone */
    int64_t time_s;       /* of local time, may be negative or past midnight */
};

struct tzone {
    const int64_t *at_s;  /* ascending */
    const int32_t *off_s; /* from at_s on */
    uint32_t n;
    int32_t first_off_s; /* before the first */
    bool has_rule, has_dst;
    int32_t std_s, dst_s; /* ahead of UTC */
    struct rule_day begins, ends;
};

/* ---- POSIX TZ ----------------------------------------------------------------------------------
 */

static bool skip_name(const char **p)
{
    const char *s = *p;
    if (*s == '<') {
        s = strchr(s, '>');
        *p = s ? s + 1 : *p;
        return s != NULL;
    }
    while ((*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z')) {
        s++;
    }
    bool ok = s - *p >= 3;
    *p = s;
    return ok;
}

static bool number(const char **p, int max, int *ret)
{
    const char *s = *p;
    int v = 0;
    for (; *s >= '0' && *s <= '9' && v <= max; s++) {
        v = v * 10 + (*s - '0');
    }
    bool ok = s > *p && v <= max;
    *p = s;
    *ret = v;
    return ok;
}

/* [+-]hh[:mm[:ss]] */
static bool hms(const char **p, int64_t *ret_s)
{
    int sign = **p == '-' ? -1 : 1, v[3] = {0, 0, 0};
    *p += **p == '-' || **p == '+';
    for (int i = 0; i < 3; i++) {
        if (i > 0) {
            if (**p != ':') {
                break;
            }
            (*p)++;
        }
        if (!number(p, i == 0 ? 167 : 59, &v[i])) {
            return false;
        }
    }
    *ret_s = sign * (v[0] * INT64_C(3600) + v[1] * 60 + v[2]);
    return true;
}

static bool rule_day(const char **p, struct rule_day *r)
{
    *r = (struct rule_day){.kind = '0', .time_s = 7200};
    if (**p == 'M') {
        r->kind = 'M';
        (*p)++;
        if (!number(p, 12, &r->month) || r->month < 1 || *(*p)++ != '.' ||
            !number(p, 5, &r->week) || r->week < 1 || *(*p)++ != '.' || !number(p, 6, &r->day)) {
            return false;
        }
    } else {
        r->kind = **p == 'J' ? 'J' : '0';
        *p += **p == 'J';
        if (!number(p, 365, &r->day) || (r->kind == 'J' && r->day == 0)) {
            return false;
        }
    }
    if (**p == '/') {
        (*p)++;
        return hms(p, &r->time_s);
    }
    return true;
}

static bool offset_ok(int64_t s)
{
    return s >= -OFFSET_MAX_S && s <= OFFSET_MAX_S;
}

/* "CET-1CEST,M3.5.0,M10.5.0/3": offsets are west of UTC there. */
static bool parse_rule(const char *s, struct tzone *tz)
{
    int64_t std, dst;
    if (!skip_name(&s) || !hms(&s, &std) || !offset_ok(std)) {
        return false;
    }
    tz->std_s = (int32_t)-std;
    if (*s == '\0') {
        return true;
    }
    if (!skip_name(&s)) {
        return false;
    }
    dst = std - 3600;
    if ((*s != ',' && !hms(&s, &dst)) || !offset_ok(dst)) {
        return false;
    }
    tz->dst_s = (int32_t)-dst;
    tz->has_dst = true;
    return *s++ == ',' && rule_day(&s, &tz->begins) && *s++ == ',' && rule_day(&s, &tz->ends) &&
           *s == '\0';
}

/* Seconds since 1970 in local time. */
static int64_t rule_moment(const struct rule_day *r, int64_t year)
{
    int64_t day;
    bool leap = timefmt_month_days(year, 2) == 29;
    if (r->kind == 'M') {
        day = timefmt_days(year, r->month, 1);
        int64_t weekday = ((day + 4) % 7 + 7) % 7; /* 1970 began on a Thursday */
        day += (r->day - weekday + 7) % 7 + 7 * (r->week - 1);
        int64_t end = timefmt_days(year, r->month, timefmt_month_days(year, r->month));
        day -= day > end ? 7 : 0;
    } else if (r->kind == 'J') {
        day = timefmt_days(year, 1, 1) + r->day - 1 + (leap && r->day >= 60);
    } else {
        day = timefmt_days(year, 1, 1) + r->day;
    }
    return day * DAY_S + r->time_s;
}

static int64_t clamp_s(int64_t at_s)
{
    return at_s > WALL_MAX_S ? WALL_MAX_S : at_s < -WALL_MAX_S ? -WALL_MAX_S : at_s;
}

static int64_t year_of(const struct tzone *tz, int64_t at_s)
{
    struct timefmt_civil t;
    timefmt_split((clamp_s(at_s) + tz->std_s) * NS_PER_S, &t);
    return t.year;
}

static int64_t rule_on(const struct tzone *tz, int64_t year)
{
    return rule_moment(&tz->begins, year) - tz->std_s;
}

static int64_t rule_off(const struct tzone *tz, int64_t year)
{
    return rule_moment(&tz->ends, year) - tz->dst_s;
}

static int32_t offset_by_rule(const struct tzone *tz, int64_t at_s)
{
    if (!tz->has_dst) {
        return tz->std_s;
    }
    int64_t year = year_of(tz, at_s), on = rule_on(tz, year), off = rule_off(tz, year);
    bool dst = on < off ? at_s >= on && at_s < off : at_s >= on || at_s < off;
    return dst ? tz->dst_s : tz->std_s;
}

static int64_t change_by_rule(const struct tzone *tz, int64_t after_s)
{
    int64_t ret = INT64_MAX, year = year_of(tz, after_s);
    for (int64_t y = year - 1; tz->has_dst && y <= year + 1; y++) {
        const int64_t both[] = {rule_on(tz, y), rule_off(tz, y)};
        for (size_t i = 0; i < ARRAY_LEN(both); i++) {
            ret = both[i] > after_s && both[i] < ret ? both[i] : ret;
        }
    }
    return ret;
}

/* ---- TZif --------------------------------------------------------------------------------------
 */

static int64_t big(const uint8_t *p, int bytes)
{
    uint64_t v = p[0] & 0x80 && bytes < 8 ? UINT64_MAX : 0;
    for (int i = 0; i < bytes; i++) {
        v = v << 8 | p[i];
    }
    return (int64_t)v;
}

struct counts {
    uint32_t isut, isstd, leap, time, type, chars;
};

static bool read_header(const uint8_t *p, size_t n, struct counts *c)
{
    if (n < HEADER || memcmp(p, "TZif", 4) != 0) {
        return false;
    }
    uint32_t *v[] = {&c->isut, &c->isstd, &c->leap, &c->time, &c->type, &c->chars};
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        int64_t one = big(p + 20 + 4 * i, 4);
        if (one < 0 || one > TZONE_MAX_BYTES) {
            return false;
        }
        *v[i] = (uint32_t)one;
    }
    return c->type > 0;
}

static size_t body_bytes(const struct counts *c, size_t time_bytes)
{
    return c->time * (time_bytes + 1) + c->type * 6u + c->chars + c->leap * (time_bytes + 4) +
           c->isstd + c->isut;
}

/* The footer between two newlines. */
static bool read_footer(struct arena *a, const uint8_t *p, size_t n, struct tzone *tz)
{
    if (n < 2 || p[0] != '\n') {
        return false;
    }
    const uint8_t *end = memchr(p + 1, '\n', n - 1);
    if (end == NULL) {
        return false;
    }
    const char *text = arena_strndup(a, (const char *)p + 1, (size_t)(end - p) - 1);
    tz->has_rule = *text != '\0';
    return !tz->has_rule || parse_rule(text, tz);
}

static bool read_body(struct arena *a, const uint8_t *p, const struct counts *c, struct tzone *tz)
{
    const uint8_t *index = p + c->time * 8u, *types = index + c->time;
    int64_t *at = ARENA_NEW_N(a, int64_t, c->time);
    int32_t *off = ARENA_NEW_N(a, int32_t, c->time);
    for (uint32_t i = 0; i < c->time; i++) {
        at[i] = big(p + 8u * i, 8);
        if (index[i] >= c->type || (i > 0 && at[i] <= at[i - 1])) {
            return false;
        }
        off[i] = (int32_t)big(types + 6u * index[i], 4);
    }
    for (uint32_t i = 0; i < c->type; i++) {
        if (!offset_ok(big(types + 6u * i, 4))) {
            return false;
        }
    }
    tz->first_off_s = (int32_t)big(types, 4);
    tz->at_s = at;
    tz->off_s = off;
    tz->n = c->time;
    return true;
}

const struct tzone *tzone_parse(struct arena *a, const uint8_t *data, size_t n, struct err *reterr)
{
    struct counts c;
    struct tzone *tz = ARENA_NEW(a, struct tzone);
    if (n <= TZONE_MAX_BYTES && read_header(data, n, &c) && data[4] >= '2') {
        size_t first = HEADER + body_bytes(&c, 4);
        if (first < n && read_header(data + first, n - first, &c) &&
            n - first - HEADER >= body_bytes(&c, 8)) {
            const uint8_t *body = data + first + HEADER;
            size_t size = body_bytes(&c, 8);
            if (read_body(a, body, &c, tz) &&
                read_footer(a, body + size, (size_t)(data + n - body) - size, tz)) {
                return tz;
            }
        }
    }
    (void)err_set(reterr, ERR_INVALID, "not a time zone file of version 2 or later");
    return NULL;
}

/* Letters, digits and "/_-+", no part that begins with a dot. */
static bool name_ok(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++) {
        char ch = name[i];
        bool letter = (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z');
        if (!letter && !(ch >= '0' && ch <= '9') && strchr("/_-+", ch) == NULL) {
            return false;
        }
    }
    return n > 0 && n <= TZONE_MAX_NAME && name[0] != '/';
}

const struct tzone *tzone_load(struct arena *a, const char *folder, const char *name,
                               struct err *reterr)
{
    if (str_eq(name, "UTC")) {
        return ARENA_NEW(a, struct tzone);
    }
    if (!name_ok(name)) {
        (void)err_set(reterr, ERR_INVALID, "\"%.80s\" is not the name of a time zone", name);
        return NULL;
    }
    const struct tzone *ret = NULL;
    struct arena tmp;
    arena_init(&tmp, TZONE_MAX_BYTES * 2, SIZE_MAX);
    FILE *f = fopen(arena_printf(&tmp, "%s/%s", folder, name), "re");
    if (f == NULL) {
        (void)err_set(reterr, ERR_INVALID, "time zone %s is not known here", name);
    } else {
        uint8_t *data = arena_alloc(&tmp, TZONE_MAX_BYTES);
        ret = tzone_parse(a, data, fread(data, 1, TZONE_MAX_BYTES, f), reterr);
        (void)fclose(f);
    }
    arena_done(&tmp);
    return ret;
}

/* ---- using it ----------------------------------------------------------------------------------
 */

static int64_t floor_s(int64_t ns)
{
    return ns / NS_PER_S - (ns % NS_PER_S < 0);
}

/* How many changes of the table are at or before the moment. */
static uint32_t changes_until(const struct tzone *tz, int64_t at_s)
{
    uint32_t lo = 0, hi = tz->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (tz->at_s[mid] <= at_s) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

int64_t tzone_offset_ns(const struct tzone *tz, int64_t wall_ns)
{
    if (tz == NULL) {
        return 0;
    }
    int64_t at_s = floor_s(wall_ns);
    uint32_t n = changes_until(tz, at_s);
    if (n == tz->n && tz->has_rule) {
        return offset_by_rule(tz, at_s) * NS_PER_S;
    }
    return (n > 0 ? tz->off_s[n - 1] : tz->first_off_s) * NS_PER_S;
}

int64_t tzone_next_change(const struct tzone *tz, int64_t wall_ns)
{
    if (tz == NULL) {
        return NS_NEVER;
    }
    int64_t at_s = floor_s(wall_ns), next = INT64_MAX;
    uint32_t n = changes_until(tz, at_s);
    if (n < tz->n) {
        next = tz->at_s[n];
    } else if (tz->has_rule) {
        next = change_by_rule(tz, at_s);
    }
    return next > WALL_MAX_S ? NS_NEVER : next * NS_PER_S;
}
