/* price.c - see price.h */
#include "price.h"

#define DECIMALS 12
#define PUSD_PER_USD INT64_C(1000000000000)

/* value * 10 + digit; false if that leaves int64. */
static bool push_digit(int64_t *value, char c)
{
    return !__builtin_mul_overflow(*value, 10, value) &&
           !__builtin_add_overflow(*value, c - '0', value);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool price_parse(const char *usd, int64_t *ret_pusd)
{
    int64_t v = 0;
    size_t digits = 0;
    const char *s = usd;
    if (!s) {
        return false;
    }
    for (; is_digit(*s); s++, digits++) {
        if (!push_digit(&v, *s)) {
            return false;
        }
    }
    size_t decimals = 0;
    if (*s == '.') {
        for (s++; is_digit(*s); s++, digits++) {
            if (decimals < DECIMALS) {
                decimals++;
                if (!push_digit(&v, *s)) {
                    return false;
                }
            } else if (*s != '0') {
                return false;
            }
        }
    }
    if (*s || digits == 0) {
        return false;
    }
    for (; decimals < DECIMALS; decimals++) {
        if (!push_digit(&v, '0')) {
            return false;
        }
    }
    *ret_pusd = v;
    return true;
}

char *price_text(int64_t pusd, char *dst)
{
    int n = snprintf(dst, PRICE_TEXT, "%lld.%012lld", (long long)(pusd / PUSD_PER_USD),
                     (long long)(pusd % PUSD_PER_USD));
    while (dst[n - 1] == '0') {
        n--;
    }
    if (dst[n - 1] == '.') {
        n--;
    }
    dst[n] = '\0';
    return dst;
}
