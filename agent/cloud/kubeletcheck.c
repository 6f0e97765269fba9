/* kubeletcheck.c - EC2NodeClass.spec.kubelet held to the rules of EC2's documentation */
#include "cloud_int.h"
#include "common/base/jsonx.h"
#include "common/base/quantity.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

static const char *const signals[] = {"memory.available",
                                      "nodefs.available",
                                      "nodefs.inodesFree",
                                      "imagefs.available",
                                      "imagefs.inodesFree",
                                      "pid.available",
                                      NULL};
static const char *const reservable[] = {"cpu", "memory", "ephemeral-storage", "pid", NULL};

static void say(struct buf *why, const char *field, const char *key, const char *what)
{
    buf_printf(why, "%skubelet.%s%s%s %s", why->n ? "; " : "", field, key ? "." : "",
               key ? key : "", what);
}

static bool listed(const char *const *list, const char *s)
{
    for (; *list; list++) {
        if (str_eq(*list, s)) {
            return true;
        }
    }
    return false;
}

static bool percentage(const char *text)
{
    char number[32];
    size_t n = strlen(text);
    double v;
    if (n < 2 || n > sizeof(number) || text[n - 1] != '%') {
        return false;
    }
    snprintf(number, sizeof(number), "%.*s", (int)(n - 1), text);
    return str_parse_f64(number, &v) && v >= 0 && v <= 100;
}

static bool quantity(const char *text)
{
    int64_t v;
    return quantity_parse_milli(text, &v) && v >= 0;
}

static bool threshold(const char *text)
{
    return percentage(text) || quantity(text);
}

static bool grace(const char *text)
{
    int64_t ns;
    return timefmt_parse_duration(text, &ns) && ns >= 0;
}

/* A map whose keys are listed and whose values satisfy ok. */
static void check_map(const json_t *kubelet, const char *field, const char *const *keys,
                      bool (*ok)(const char *), const char *what, struct buf *why)
{
    const json_t *o = json_object_get(kubelet, field);
    const char *key;
    json_t *v;
    if (o && !json_is_null(o) && !json_is_object(o)) {
        say(why, field, NULL, "is no map");
        return;
    }
    json_object_foreach ((json_t *)(uintptr_t)o, key, v) {
        if (!listed(keys, key)) {
            say(why, field, key, "is unknown");
        } else if (!json_is_string(v) || !ok(json_string_value(v))) {
            say(why, field, key, what);
        }
    }
}

/* -1 if absent or no integer from 0 on; the latter is said. */
static int64_t check_int(const json_t *kubelet, const char *field, struct buf *why)
{
    const json_t *v = json_object_get(kubelet, field);
    if (!v || json_is_null(v)) {
        return -1;
    }
    if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > INT32_MAX) {
        say(why, field, NULL, "is no integer from 0 on");
        return -1;
    }
    return json_integer_value(v);
}

static void check_same_keys(const json_t *kubelet, struct buf *why)
{
    const json_t *soft = jsonx_obj(kubelet, "evictionSoft");
    const json_t *period = jsonx_obj(kubelet, "evictionSoftGracePeriod");
    const char *key;
    json_t *v;
    json_object_foreach ((json_t *)(uintptr_t)soft, key, v) {
        if (!json_object_get(period, key)) {
            say(why, "evictionSoft", key, "has no evictionSoftGracePeriod");
        }
    }
    json_object_foreach ((json_t *)(uintptr_t)period, key, v) {
        if (!json_object_get(soft, key)) {
            say(why, "evictionSoftGracePeriod", key, "has no evictionSoft");
        }
    }
}

static void check_image_gc(const json_t *kubelet, struct buf *why)
{
    int64_t high = check_int(kubelet, "imageGCHighThresholdPercent", why);
    int64_t low = check_int(kubelet, "imageGCLowThresholdPercent", why);
    if (high > 100 || low > 100) {
        say(why, high > 100 ? "imageGCHighThresholdPercent" : "imageGCLowThresholdPercent", NULL,
            "is above 100");
    } else if (high >= 0 && low >= 0 && high <= low) {
        say(why, "imageGCHighThresholdPercent", NULL,
            "must be greater than imageGCLowThresholdPercent");
    }
}

bool spec_kubelet_errors(const json_t *kubelet, struct buf *why)
{
    const json_t *taints = json_object_get(kubelet, "registerWithTaints");
    if (taints && !json_is_null(taints)) {
        say(why, "registerWithTaints", NULL, "is karp's to set; use spec.template.spec.taints");
    }
    check_map(kubelet, "evictionHard", signals, threshold, "is no threshold", why);
    check_map(kubelet, "evictionSoft", signals, threshold, "is no threshold", why);
    check_map(kubelet, "evictionMinimumReclaim", signals, threshold, "is no threshold", why);
    check_map(kubelet, "evictionSoftGracePeriod", signals, grace, "is no duration", why);
    check_map(kubelet, "kubeReserved", reservable, quantity, "is no quantity", why);
    check_map(kubelet, "systemReserved", reservable, quantity, "is no quantity", why);
    check_same_keys(kubelet, why);
    check_image_gc(kubelet, why);
    check_int(kubelet, "maxPods", why);
    check_int(kubelet, "podsPerCore", why);
    check_int(kubelet, "evictionMaxPodGracePeriod", why);
    return why->n > 0;
}
