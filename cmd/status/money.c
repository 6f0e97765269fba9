/* money.c - see money.h. */
#include "money.h"

#include "common/base/price.h"

#include <math.h>

#define PUSD INT64_C(1000000000000)

/* v / by, rounded half away from zero. */
static __int128 rounded(__int128 v, int64_t by)
{
    __int128 half = by / 2;
    return v < 0 ? -((-v + half) / by) : (v + half) / by;
}

char *money_hour(int64_t pusd_h, char *dst)
{
    long long milli = (long long)rounded(pusd_h, PUSD / 1000);
    long long abs = milli < 0 ? -milli : milli;
    (void)snprintf(dst, MONEY_TEXT, "%s%lld.%03lld", milli < 0 ? "-" : "", abs / 1000, abs % 1000);
    return dst;
}

char *money_month(int64_t pusd_h, char *dst)
{
    long long usd = (long long)rounded((__int128)pusd_h * MONEY_HOURS_PER_MONTH, PUSD);
    char digits[32];
    int n = snprintf(digits, sizeof(digits), "%lld", usd < 0 ? -usd : usd);
    size_t at = 0;
    if (usd < 0) {
        dst[at++] = '-';
    }
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) {
            dst[at++] = ',';
        }
        dst[at++] = digits[i];
    }
    dst[at] = '\0';
    return dst;
}

char *money_exact(int64_t pusd_h, char *dst)
{
    char text[PRICE_TEXT];
    int64_t at_ten = (int64_t)rounded(pusd_h, 100) * 100;
    int64_t abs = at_ten < 0 ? -at_ten : at_ten;
    (void)snprintf(dst, MONEY_TEXT, "%s%s", at_ten < 0 ? "-" : "", price_text(abs, text));
    return dst;
}

bool money_read(const json_t *v, int64_t *ret_pusd_h)
{
    if (json_is_string(v)) {
        int64_t pusd;
        if (!price_parse(json_string_value(v), &pusd) || pusd > (int64_t)MONEY_MAX_USD_H * PUSD) {
            return false;
        }
        *ret_pusd_h = pusd;
        return true;
    }
    if (!json_is_number(v)) {
        return false;
    }
    double usd = json_number_value(v);
    if (!(usd >= 0) || usd > MONEY_MAX_USD_H) {
        return false;
    }
    *ret_pusd_h = llround(usd * (double)PUSD);
    return true;
}
