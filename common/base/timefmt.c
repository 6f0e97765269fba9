#include "timefmt.h"

#include "clock.h"

#include <ctype.h>

#define SECS_PER_DAY INT64_C(86400)
#define TWO_63 (UINT64_C(1) << 63)

/* ---- civil time ------------------------------------------------------------------------------ */

static bool leap_year(int64_t y)
{
    return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
}

int timefmt_month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && leap_year(year) ? 29 : days[month - 1];
}

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b < 0 ? q - 1 : q;
}

/* Leap days in the years 1 .. y. */
static int64_t leap_days_through(int64_t y)
{
    return floor_div(y, 4) - floor_div(y, 100) + floor_div(y, 400);
}

/* Days from 1970-01-01 to the first of January of the year. */
static int64_t year_start_day(int64_t y)
{
    return (y - 1970) * 365 + leap_days_through(y - 1) - leap_days_through(1969);
}

int64_t timefmt_days(int64_t year, int month, int day)
{
    int64_t days = year_start_day(year);
    for (int m = 1; m < month; m++) {
        days += timefmt_month_days(year, m);
    }
    return days + day - 1;
}

void timefmt_split(int64_t wall_ns, struct timefmt_civil *ret)
{
    int64_t secs = floor_div(wall_ns, NS_PER_S);
    int64_t days = floor_div(secs, SECS_PER_DAY);
    int in_day = (int)(secs - days * SECS_PER_DAY);
    /* A guess that is never too late, then forward: a handful of steps. */
    int64_t year = 1970 + floor_div(days, days < 0 ? 365 : 366);
    while (year_start_day(year + 1) <= days) {
        year++;
    }
    int day = (int)(days - year_start_day(year));
    int month = 1;
    while (day >= timefmt_month_days(year, month)) {
        day -= timefmt_month_days(year, month);
        month++;
    }
    ret->year = year;
    ret->month = month;
    ret->day = day + 1;
    ret->hour = in_day / 3600;
    ret->minute = in_day / 60 % 60;
    ret->second = in_day % 60;
    ret->nano = (int)((wall_ns % NS_PER_S + NS_PER_S) % NS_PER_S);
    /* 1970-01-01 was a Thursday. */
    ret->weekday = (int)(((days + 4) % 7 + 7) % 7);
}

/* ---- RFC 3339 -------------------------------------------------------------------------------- */

/* Exactly n digits. */
static bool take_digits(const char **p, int n, int *ret)
{
    int v = 0;
    for (int i = 0; i < n; i++) {
        if ((*p)[i] < '0' || (*p)[i] > '9') {
            return false;
        }
        v = v * 10 + ((*p)[i] - '0');
    }
    *p += n;
    *ret = v;
    return true;
}

static bool take_char(const char **p, char c)
{
    if (**p != c) {
        return false;
    }
    (*p)++;
    return true;
}

/* ".5": digits past the ninth are dropped, as Go does. */
static bool take_fraction(const char **p, int *ret_nano)
{
    *ret_nano = 0;
    if (!take_char(p, '.')) {
        return true;
    }
    if (!isdigit((unsigned char)**p)) {
        return false;
    }
    int scale = 100000000;
    for (; isdigit((unsigned char)**p); (*p)++) {
        *ret_nano += (**p - '0') * scale;
        scale /= 10;
    }
    return true;
}

/* "Z" or "+02:00", in seconds east. */
static bool take_offset(const char **p, int *ret_secs)
{
    *ret_secs = 0;
    if (take_char(p, 'Z')) {
        return true;
    }
    int sign = **p == '-' ? -1 : 1, h, m;
    if (!take_char(p, '+') && !take_char(p, '-')) {
        return false;
    }
    if (!take_digits(p, 2, &h) || !take_char(p, ':') || !take_digits(p, 2, &m) || h > 23 ||
        m > 59) {
        return false;
    }
    *ret_secs = sign * (h * 3600 + m * 60);
    return true;
}

bool timefmt_parse_rfc3339(const char *s, int64_t *ret_wall_ns)
{
    const char *p = s;
    int year, month, day, hour, min, sec, nano, east;
    if (!s || !take_digits(&p, 4, &year) || !take_char(&p, '-') || !take_digits(&p, 2, &month) ||
        !take_char(&p, '-') || !take_digits(&p, 2, &day) || !take_char(&p, 'T') ||
        !take_digits(&p, 2, &hour) || !take_char(&p, ':') || !take_digits(&p, 2, &min) ||
        !take_char(&p, ':') || !take_digits(&p, 2, &sec) || !take_fraction(&p, &nano) ||
        !take_offset(&p, &east) || *p) {
        return false;
    }
    if (year < 1970 || year > 2261 || month < 1 || month > 12 || day < 1 ||
        day > timefmt_month_days(year, month) || hour > 23 || min > 59 || sec > 59) {
        return false;
    }
    int64_t secs = timefmt_days(year, month, day) * SECS_PER_DAY + hour * 3600 + min * 60 + sec;
    secs -= east;
    if (secs < 0) {
        return false;
    }
    *ret_wall_ns = secs * NS_PER_S + nano;
    return true;
}

char *timefmt_rfc3339(int64_t wall_ns, char *dst)
{
    struct timefmt_civil c;
    timefmt_split(wall_ns, &c);
    (void)snprintf(dst, TIMEFMT_TEXT, "%04d-%02d-%02dT%02d:%02d:%02dZ", (int)c.year, c.month, c.day,
                   c.hour, c.minute, c.second);
    return dst;
}

char *timefmt_rfc3339_micro(int64_t wall_ns, char *dst)
{
    struct timefmt_civil c;
    timefmt_split(wall_ns, &c);
    (void)snprintf(dst, TIMEFMT_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", (int)c.year, c.month,
                   c.day, c.hour, c.minute, c.second, c.nano / 1000);
    return dst;
}

char *timefmt_basic(int64_t wall_ns, char *dst)
{
    struct timefmt_civil c;
    timefmt_split(wall_ns, &c);
    (void)snprintf(dst, TIMEFMT_TEXT, "%04d%02d%02dT%02d%02d%02dZ", (int)c.year, c.month, c.day,
                   c.hour, c.minute, c.second);
    return dst;
}

/* ---- durations ------------------------------------------------------------------------------- */

struct unit {
    const char *name;
    uint64_t ns;
};

static const struct unit units[] = {
    {"ns", 1},
    {"us", (uint64_t)NS_PER_US},
    {"\xc2\xb5s", (uint64_t)NS_PER_US}, /* U+00B5, micro sign */
    {"\xce\xbcs", (uint64_t)NS_PER_US}, /* U+03BC, Greek mu */
    {"ms", (uint64_t)NS_PER_MS},
    {"s", (uint64_t)NS_PER_S},
    {"m", (uint64_t)NS_PER_MIN},
    {"h", (uint64_t)NS_PER_H},
};

static uint64_t find_unit(const char *p, size_t n, bool days)
{
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (strlen(units[i].name) == n && memcmp(units[i].name, p, n) == 0) {
            return units[i].ns;
        }
    }
    return days && n == 1 && *p == 'd' ? (uint64_t)(SECS_PER_DAY * NS_PER_S) : 0;
}

/* The integer in front; false if it exceeds 2^63. */
static bool take_integer(const char **p, uint64_t *ret)
{
    uint64_t v = 0;
    for (; isdigit((unsigned char)**p); (*p)++) {
        unsigned digit = (unsigned)(**p - '0');
        if (v > (TWO_63 - digit) / 10) {
            return false;
        }
        v = v * 10 + digit;
    }
    *ret = v;
    return true;
}

/* Digits behind the point as value and power of ten; what does not fit any more is skipped. */
static void take_decimals(const char **p, uint64_t *ret_value, double *ret_scale)
{
    uint64_t v = 0;
    double scale = 1;
    bool full = false;
    for (; isdigit((unsigned char)**p); (*p)++) {
        unsigned digit = (unsigned)(**p - '0');
        if (full || v > (uint64_t)INT64_MAX / 10 || v * 10 + digit > TWO_63) {
            full = true;
            continue;
        }
        v = v * 10 + digit;
        scale *= 10;
    }
    *ret_value = v;
    *ret_scale = scale;
}

/* One "1.5h". */
static bool take_term(const char **p, bool days, uint64_t *ret_ns)
{
    const char *start = *p;
    uint64_t whole, frac = 0;
    double scale = 1;
    if (!take_integer(p, &whole)) {
        return false;
    }
    bool any = *p != start;
    if (take_char(p, '.')) {
        start = *p;
        take_decimals(p, &frac, &scale);
        any = any || *p != start;
    }
    size_t n = strcspn(*p, ".0123456789");
    uint64_t unit = any && n > 0 ? find_unit(*p, n, days) : 0;
    if (unit == 0 || whole > TWO_63 / unit) {
        return false;
    }
    *p += n;
    whole *= unit;
    if (frac > 0) {
        /* In floating point because Go does so: "0.3333333333333333333h" is 20m there. */
        whole += (uint64_t)((double)frac * ((double)unit / scale));
    }
    *ret_ns = whole;
    return whole <= TWO_63;
}

static bool parse_duration(const char *s, bool days, int64_t *ret_ns)
{
    if (!s) {
        return false;
    }
    const char *p = s;
    bool neg = *p == '-';
    if (*p == '-' || *p == '+') {
        p++;
    }
    if (strcmp(p, "0") == 0) {
        *ret_ns = 0;
        return true;
    }
    uint64_t sum = 0;
    if (!*p) {
        return false;
    }
    while (*p) {
        uint64_t term;
        if (!take_term(&p, days, &term)) {
            return false;
        }
        sum += term; /* both were at most 2^63: 2^64 wraps to 0, which is below the term */
        if (sum > TWO_63 || sum < term) {
            return false;
        }
    }
    if (sum == TWO_63 && !neg) {
        return false;
    }
    *ret_ns = neg ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

bool timefmt_parse_duration(const char *s, int64_t *ret_ns)
{
    return parse_duration(s, false, ret_ns);
}

bool timefmt_parse_duration_days(const char *s, int64_t *ret_ns)
{
    return parse_duration(s, true, ret_ns);
}

/* value/unit with as many decimals as it takes; unit is a power of ten up to 10^9. */
static void put_decimal(char *dst, size_t size, uint64_t value, uint64_t unit, const char *suffix)
{
    char frac[12] = ".";
    size_t n = 1;
    uint64_t rest = value % unit;
    for (uint64_t u = unit / 10; rest > 0; u /= 10) {
        frac[n++] = (char)('0' + rest / u);
        rest %= u;
    }
    frac[n > 1 ? n : 0] = '\0';
    (void)snprintf(dst, size, "%llu%s%s", (unsigned long long)(value / unit), frac, suffix);
}

char *timefmt_duration(int64_t ns, char *dst)
{
    uint64_t u = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    const uint64_t s = (uint64_t)NS_PER_S;
    char small[24];
    const char *sign = ns < 0 ? "-" : "";
    if (u == 0) {
        (void)snprintf(dst, TIMEFMT_TEXT, "0s");
        return dst;
    }
    if (u < s) {
        uint64_t unit = u < 1000 ? 1 : u < 1000000 ? 1000 : 1000000;
        put_decimal(small, sizeof(small), u, unit,
                    unit == 1      ? "ns"
                    : unit == 1000 ? "\xc2\xb5s"
                                   : "ms");
        (void)snprintf(dst, TIMEFMT_TEXT, "%s%s", sign, small);
        return dst;
    }
    uint64_t minutes = u / s / 60, hours = minutes / 60;
    put_decimal(small, sizeof(small), u % (60 * s), s, "s");
    if (hours > 0) {
        (void)snprintf(dst, TIMEFMT_TEXT, "%s%lluh%llum%s", sign, (unsigned long long)hours,
                       (unsigned long long)(minutes % 60), small);
    } else if (minutes > 0) {
        (void)snprintf(dst, TIMEFMT_TEXT, "%s%llum%s", sign, (unsigned long long)minutes, small);
    } else {
        (void)snprintf(dst, TIMEFMT_TEXT, "%s%s", sign, small);
    }
    return dst;
}

/* "5d3h", or "5d" if the second part is 0 or not wanted. */
static void put_age(char *dst, int64_t big, char big_unit, int64_t small, char small_unit)
{
    if (small > 0) {
        (void)snprintf(dst, TIMEFMT_TEXT, "%lld%c%lld%c", (long long)big, big_unit,
                       (long long)small, small_unit);
    } else {
        (void)snprintf(dst, TIMEFMT_TEXT, "%lld%c", (long long)big, big_unit);
    }
}

char *timefmt_age(int64_t ns, char *dst)
{
    int64_t secs = ns < 0 ? 0 : ns / NS_PER_S;
    int64_t mins = secs / 60, hours = mins / 60, days = hours / 24;
    if (secs < 120) {
        put_age(dst, secs, 's', 0, 0);
    } else if (mins < 180) {
        put_age(dst, mins, 'm', mins < 10 ? secs % 60 : 0, 's');
    } else if (hours < 48) {
        put_age(dst, hours, 'h', hours < 8 ? mins % 60 : 0, 'm');
    } else if (days < 2 * 365) {
        put_age(dst, days, 'd', days < 8 ? hours % 24 : 0, 'h');
    } else {
        put_age(dst, days / 365, 'y', days < 8 * 365 ? days % 365 : 0, 'd');
    }
    return dst;
}
