/* match.c - the patterns of our CRDs as code; see schema.h */
#include "common/base/str.h"
#include "schema.h"

#include <ctype.h>
#include <string.h>

static bool lower_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool alnum(char c)
{
    return isalnum((unsigned char)c) != 0;
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Letters, digits, '-', '_', '.', with a letter or digit at both ends; empty is allowed or not. */
static bool name_ok(const char *s, bool or_empty)
{
    size_t n = strlen(s);
    if (n == 0) {
        return or_empty;
    }
    for (size_t i = 0; i < n; i++) {
        if (!alnum(s[i]) && (i == 0 || i == n - 1 || !strchr("-_.", s[i]))) {
            return false;
        }
    }
    return true;
}

bool sim_match_label_value(const char *s)
{
    return name_ok(s, true);
}

/* Lower-case DNS labels with dots between: s[0..n). */
static bool dns_ok(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool edge = i == 0 || i == n - 1 || s[i - 1] == '.' || s[i + 1] == '.';
        if (!lower_digit(s[i]) && (edge || (s[i] != '-' && s[i] != '.'))) {
            return false;
        }
    }
    return n > 0;
}

bool sim_match_label_key(const char *s)
{
    const char *slash = strchr(s, '/');
    return slash ? dns_ok(s, (size_t)(slash - s)) && name_ok(slash + 1, false) : name_ok(s, false);
}

/* How many digits s begins with. */
static size_t digits(const char *s)
{
    size_t n = 0;
    while (digit(s[n])) {
        n++;
    }
    return n;
}

bool sim_match_duration(const char *s)
{
    do {
        size_t n = digits(s);
        if (n == 0 || !s[n] || !strchr("smh", s[n])) {
            return false;
        }
        s += n + 1;
    } while (*s);
    return true;
}

bool sim_match_duration_or_never(const char *s)
{
    return str_eq(s, "Never") || sim_match_duration(s);
}

bool sim_match_budget_nodes(const char *s)
{
    size_t n = digits(s);
    if (n > 0 && s[n] == '\0') {
        return true;
    }
    return n > 0 && str_eq(s + n, "%") && (n <= 2 || (n == 3 && strncmp(s, "100", 3) == 0));
}

/* The CRD's pattern is not tied to both ends: "@daily" at the start, or five fields somewhere. */
bool sim_match_budget_schedule(const char *s)
{
    static const char *const names[] = {"@annually", "@yearly",   "@monthly", "@weekly",
                                        "@daily",    "@midnight", "@hourly"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_starts(s, names[i])) {
            return true;
        }
    }
    /* (.+)\s(.+)\s(.+)\s(.+)\s(.+): five parts that are not empty, with four blanks between. */
    size_t fields = 0, n = strlen(s), at = 0;
    while (at < n && fields < 5) {
        at++; /* one character of the field */
        fields++;
        while (fields < 5 && at < n && !isspace((unsigned char)s[at])) {
            at++;
        }
        at += fields < 5;
    }
    return fields == 5 && at <= n;
}

bool sim_match_budget_duration(const char *s)
{
    size_t n = digits(s);
    if (n == 0 || (s[n] != 'h' && s[n] != 'm')) {
        return false;
    }
    bool hours = s[n] == 'h';
    s += n + 1;
    n = digits(s);
    if (hours && n > 0 && s[n] == 'm') {
        s += n + 1;
    }
    return *s == '\0' || str_eq(s, "0s");
}

/* A decimal number without sign; how long, 0 = none. */
static size_t decimal(const char *s)
{
    size_t n = digits(s);
    if (n > 0) {
        return s[n] == '.' ? n + 1 + digits(s + n + 1) : n;
    }
    n = s[0] == '.' ? digits(s + 1) : 0;
    return n > 0 ? n + 1 : 0;
}

bool sim_match_quantity(const char *s)
{
    s += *s == '+' || *s == '-';
    size_t n = decimal(s);
    s += n;
    if (n == 0 || *s == '\0') {
        return n > 0;
    }
    if (strchr("KMGTPE", s[0]) && s[1] == 'i') {
        return s[2] == '\0';
    }
    if (strchr("numkMGTPE", s[0]) && s[1] == '\0') {
        return true;
    }
    if (s[0] != 'e' && s[0] != 'E') {
        return false;
    }
    s++;
    s += *s == '+' || *s == '-';
    n = decimal(s);
    return n > 0 && s[n] == '\0';
}

bool sim_match_volume_size(const char *s)
{
    static const struct {
        const char *unit;
        long max;
    } units[] = {{"Gi", 59000}, {"G", 64000}, {"Ti", 58}, {"T", 64}};
    size_t n = digits(s);
    long value = n > 0 && n < 6 && s[0] != '0' ? strtol(s, NULL, 10) : 0;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (str_eq(s + n, units[i].unit)) {
            /* The pattern for Ti has a hole: of the tens only 1 to 5 with 0 to 7 behind, and 58. */
            bool hole = i == 2 && value > 9 && value % 10 > 7 && value != 58;
            return value > 0 && value <= units[i].max && !hole;
        }
    }
    return false;
}

bool sim_match_no_slash(const char *s)
{
    return strchr(s, '/') == NULL;
}

/* "prefix-" and what follows somewhere in s; tied to both ends or not. */
static bool has_id(const char *s, const char *prefix, bool tied)
{
    const char *at = strstr(s, prefix);
    size_t n = at ? strlen(prefix) : 0, tail = 0;
    while (at && lower_digit(at[n + tail])) {
        tail++;
    }
    return at && tail > 0 && (!tied || (at == s && at[n + tail] == '\0'));
}

bool sim_match_subnet(const char *s)
{
    return has_id(s, "subnet-", false);
}

bool sim_match_group(const char *s)
{
    return has_id(s, "sg-", false);
}

bool sim_match_ami(const char *s)
{
    return has_id(s, "ami-", false);
}

bool sim_match_reservation(const char *s)
{
    return has_id(s, "cr-", true);
}

bool sim_match_placement(const char *s)
{
    return has_id(s, "pg-", true);
}

bool sim_match_account(const char *s)
{
    return strlen(s) == 12 && digits(s) == 12;
}
