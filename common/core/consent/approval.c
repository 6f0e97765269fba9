/* approval.c - see approval.h. */
#include "approval.h"

#include "common/base/str.h"

static const struct {
    const char *name;
    enum disruption_reason reason;
} all[] = {
    {"Underutilized", DISRUPT_UNDERUTILIZED},
    {"Empty", DISRUPT_EMPTY},
    {"Drifted", DISRUPT_DRIFTED},
};

static unsigned named(const char *text, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (strlen(all[i].name) == n && memcmp(all[i].name, text, n) == 0) {
            return (unsigned)all[i].reason;
        }
    }
    return 0;
}

const char *approval_reason_name(enum disruption_reason r)
{
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (all[i].reason == r) {
            return all[i].name;
        }
    }
    return "";
}

unsigned approval_reason_named(const char *name)
{
    return name ? named(name, strlen(name)) : 0;
}

bool approval_parse(const char *text, unsigned *ret)
{
    *ret = 0;
    if (str_eq(text, "Off")) {
        return true;
    }
    if (str_eq(text, "Required")) {
        *ret = DISRUPT_UNDERUTILIZED | DISRUPT_DRIFTED;
        return true;
    }
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, ",");
        unsigned bit = named(at, n);
        *ret |= bit;
        at += n;
        if (bit == 0 || *at == '\0') {
            return bit != 0;
        }
    }
}

unsigned approval_of(const struct nodepool *np, unsigned otherwise)
{
    const char *text = np != NULL ? kvs_get(&np->m.annotations, ANN_APPROVAL) : NULL;
    unsigned ret;
    if (text == NULL) {
        return otherwise;
    }
    return approval_parse(text, &ret) ? ret
                                      : DISRUPT_EMPTY | DISRUPT_UNDERUTILIZED | DISRUPT_DRIFTED;
}
