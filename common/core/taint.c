/* taint.c - see taint.h */
#include "taint.h"

#include "labels.h"
#include "model.h"

#include "common/base/str.h"

static const char *const effect_names[] = {
    [EFFECT_ANY] = "",
    [EFFECT_NO_SCHEDULE] = "NoSchedule",
    [EFFECT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
    [EFFECT_NO_EXECUTE] = "NoExecute",
};

bool taint_effect_parse(const char *s, enum taint_effect *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(effect_names); i++) {
        if (str_eq(s, effect_names[i])) {
            *ret = (enum taint_effect)i;
            return true;
        }
    }
    return false;
}

const char *taint_effect_name(enum taint_effect e)
{
    return (size_t)e < ARRAY_LEN(effect_names) ? effect_names[e] : "";
}

static sym value_of(sym value)
{
    return value == SYM_NONE ? (sym)V_EMPTY : value;
}

static bool tolerates(const struct toleration *by, const struct taint *taint)
{
    if (by->effect != EFFECT_ANY && by->effect != taint->effect) {
        return false;
    }
    if (by->key == SYM_NONE) {
        return by->exists; /* Equal without a key is no valid toleration */
    }
    return by->key == taint->key && (by->exists || value_of(by->value) == value_of(taint->value));
}

bool taint_tolerated(const struct taint *taint, const struct tolerations *by)
{
    for (uint32_t i = 0; i < by->n; i++) {
        if (tolerates(&by->v[i], taint)) {
            return true;
        }
    }
    return false;
}

const struct taint *taints_refuse(const struct taints *taints, const struct tolerations *by,
                                  bool prefer_counts)
{
    for (uint32_t i = 0; i < taints->n; i++) {
        const struct taint *taint = &taints->v[i];
        if (taint->effect == EFFECT_PREFER_NO_SCHEDULE && !prefer_counts) {
            continue;
        }
        if (!taint_tolerated(taint, by)) {
            return taint;
        }
    }
    return NULL;
}

bool taint_equal(const struct taint *a, const struct taint *b)
{
    return taint_matches(a, b) && value_of(a->value) == value_of(b->value);
}

bool taint_matches(const struct taint *a, const struct taint *b)
{
    return a->key == b->key && a->effect == b->effect;
}

static const struct {
    const char *key;
    enum taint_effect effect;
} ephemeral[] = {
    {"node.kubernetes.io/not-ready", EFFECT_NO_SCHEDULE},
    {"node.kubernetes.io/not-ready", EFFECT_NO_EXECUTE},
    {"node.kubernetes.io/unreachable", EFFECT_NO_SCHEDULE},
    {"node.cloudprovider.kubernetes.io/uninitialized", EFFECT_NO_SCHEDULE},
    {TAINT_UNREGISTERED, EFFECT_NO_EXECUTE},
};

bool taint_ephemeral(const struct symtab *t, const struct taint *taint)
{
    const char *key = sym_str(t, taint->key);
    for (size_t i = 0; i < ARRAY_LEN(ephemeral); i++) {
        if (taint->effect == ephemeral[i].effect && str_eq(key, ephemeral[i].key)) {
            return true;
        }
    }
    return str_starts(key, "readiness.k8s.io/");
}

void taint_fmt(const struct symtab *t, const struct taint *taint, struct buf *out)
{
    buf_puts(out, sym_str(t, taint->key));
    if (value_of(taint->value) != V_EMPTY) {
        buf_printf(out, "=%s", sym_str(t, taint->value));
    }
    if (taint->effect != EFFECT_ANY) {
        buf_printf(out, ":%s", taint_effect_name(taint->effect));
    }
}
