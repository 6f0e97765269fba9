/*
 * timefmt.h - the time formats of the field: RFC 3339, Go durations, kubectl's ages.
 */
#ifndef KARP_BASE_TIMEFMT_H
#define KARP_BASE_TIMEFMT_H

#include "compat.h"

#include <stdbool.h>

#define TIMEFMT_TEXT 40

/* "2026-01-05T09:00:00Z", with fraction and numeric offset allowed. Years 1970 to 2261. */
bool timefmt_parse_rfc3339(const char *s, int64_t *ret_wall_ns);
/* Whole seconds ("…:00Z"), as metav1.Time. Returns dst[TIMEFMT_TEXT]. */
char *timefmt_rfc3339(int64_t wall_ns, char *dst);
/* Six decimals, as metav1.MicroTime (Leases). */
char *timefmt_rfc3339_micro(int64_t wall_ns, char *dst);
/* "20260105T090000Z", the basic form of AWS signatures. */
char *timefmt_basic(int64_t wall_ns, char *dst);

/* time.ParseDuration: sign, numbers with fraction, units ns us µs ms s m h; "0". No overflow. */
bool timefmt_parse_duration(const char *s, int64_t *ret_ns);
/* Also d for days (scenario files and our own flags). */
bool timefmt_parse_duration_days(const char *s, int64_t *ret_ns);
/* time.Duration.String: "1h30m0s", "1.5s", "0s". */
char *timefmt_duration(int64_t ns, char *dst);
/* duration.HumanDuration of apimachinery: "45s", "7m", "3h12m", "5d3h", "2y". Negative: "0s". */
char *timefmt_age(int64_t ns, char *dst);

/* A wall time's parts in UTC, proleptic Gregorian. */
struct timefmt_civil {
    int64_t year;
    int month, day;           /* 1 .. 12, 1 .. 31 */
    int hour, minute, second; /* no leap seconds */
    int nano;
    int weekday; /* 0 = Sunday */
};
void timefmt_split(int64_t wall_ns, struct timefmt_civil *ret);
/* Days from 1970-01-01 to that date. */
int64_t timefmt_days(int64_t year, int month, int day);
int timefmt_month_days(int64_t year, int month);

#endif
