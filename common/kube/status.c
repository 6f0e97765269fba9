#include "status.h"

#include "common/base/clock.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#define RETRY_AFTER_MAX_S 3600
#define TEXT_SHOWN 120u

static enum err_kind conflict_kind(const char *reason)
{
    return str_eq(reason, "AlreadyExists") ? ERR_EXISTS : ERR_CONFLICT;
}

static enum err_kind kind_of(int status, const char *reason)
{
    switch (status) {
    case 401:
        return ERR_UNAUTHENTICATED;
    case 403:
        return ERR_FORBIDDEN;
    case 404:
        return ERR_NOT_FOUND;
    case 408:
        return ERR_TIMEOUT;
    case 409:
        return conflict_kind(reason);
    case 410:
        return ERR_GONE;
    case 413:
        return ERR_LIMIT;
    case 429:
        return ERR_THROTTLED;
    case 504:
        return ERR_TIMEOUT;
    default:
        break;
    }
    if (str_eq(reason, "Expired") || str_eq(reason, "Gone")) {
        return ERR_GONE;
    }
    return status >= 400 && status < 500 ? ERR_INVALID : ERR_UNAVAILABLE;
}

/* The first line of an answer that is no Status, without what a terminal would take amiss. */
static void text_message(char *dst, size_t size, const char *text, size_t n)
{
    size_t k = 0;
    n = n < TEXT_SHOWN ? n : TEXT_SHOWN;
    for (size_t i = 0; text && i < n && k + 1 < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n' || c == '\r') {
            break;
        }
        dst[k++] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
    }
    dst[k] = '\0';
}

static bool has_cause(const json_t *body, const char *reason)
{
    size_t i;
    json_t *v;
    json_array_foreach (jsonx_at(body, "details.causes"), i, v) {
        if (str_eq(jsonx_str(v, "reason"), reason)) {
            return true;
        }
    }
    return false;
}

void kube_status_err(struct err *e, int status, const json_t *body, const char *text, size_t n)
{
    bool is_status = str_eq(jsonx_str(body, "kind"), "Status");
    const char *reason = is_status ? jsonx_str_or(body, "reason", "") : "";
    const char *message = is_status ? jsonx_str_or(body, "message", "") : "";
    int64_t code = is_status ? jsonx_int(body, "code", 0) : 0;
    if (status == 0 && code > 0 && code < 1000) {
        status = (int)code;
    }
    char shown[TEXT_SHOWN + 1];
    text_message(shown, sizeof(shown), text, n);
    if (*message) {
        err_set(e, kind_of(status, reason), "%s", message);
    } else if (is_status && *reason) {
        err_set(e, kind_of(status, reason), "the API server answered %d %s", status, reason);
    } else {
        err_set(e, kind_of(status, reason), "the API server answered %d%s%s", status,
                *shown ? ": " : "", shown);
    }
    e->http = status;
    err_code(e, has_cause(body, "DisruptionBudget") ? "DisruptionBudget" : reason);
    int64_t after_s = is_status ? jsonx_int(body, "details.retryAfterSeconds", 0) : 0;
    after_s = after_s < 0 ? 0 : after_s > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : after_s;
    e->retry_after_ns = after_s * NS_PER_S;
}
