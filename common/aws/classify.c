/* classify.c - what an answer of AWS means (client.h: kinds) */
#include "client.h"
#include "common/base/arena.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "xml.h"

/* Error bodies are small; what does not fit is classified by its status. */
#define ERROR_BODY_MAX (256u << 10)

/* In byte order. Source: the public list of EC2's error codes. */
static const struct code_kind {
    const char *code;
    enum err_kind kind;
} codes[] = {
    {"AccessDenied", ERR_FORBIDDEN},
    {"AccessDeniedException", ERR_FORBIDDEN},
    {"AuthFailure", ERR_FORBIDDEN},
    {"AuthFailure.ServiceLinkedRoleCreationNotPermitted", ERR_CAPACITY},
    {"Blocked", ERR_FORBIDDEN},
    {"DryRunOperation", ERR_NONE},
    {"EC2ThrottledException", ERR_THROTTLED},
    {"EntityAlreadyExists", ERR_EXISTS},
    {"ExpiredToken", ERR_UNAUTHENTICATED},
    {"ExpiredTokenException", ERR_UNAUTHENTICATED},
    {"IdempotentParameterMismatch", ERR_CONFLICT},
    {"IncompleteSignature", ERR_UNAUTHENTICATED},
    {"InsufficientCapacity", ERR_CAPACITY},
    {"InsufficientFreeAddressesInSubnet", ERR_CAPACITY},
    {"InsufficientHostCapacity", ERR_CAPACITY},
    {"InsufficientInstanceCapacity", ERR_CAPACITY},
    {"InsufficientReservedInstanceCapacity", ERR_CAPACITY},
    {"InternalError", ERR_UNAVAILABLE},
    {"InternalFailure", ERR_UNAVAILABLE},
    {"InternalServerError", ERR_UNAVAILABLE},
    {"InvalidClientTokenId", ERR_UNAUTHENTICATED},
    {"InvalidSignatureException", ERR_UNAUTHENTICATED},
    {"MaxFleetCountExceeded", ERR_CAPACITY},
    {"MaxSpotInstanceCountExceeded", ERR_CAPACITY},
    {"MissingAuthenticationToken", ERR_UNAUTHENTICATED},
    {"NoSuchEntity", ERR_NOT_FOUND},
    {"OptInRequired", ERR_FORBIDDEN},
    {"ParameterNotFound", ERR_NOT_FOUND},
    {"PendingVerification", ERR_FORBIDDEN},
    {"PriorRequestNotComplete", ERR_THROTTLED},
    {"QueueDoesNotExist", ERR_NOT_FOUND},
    {"RequestExpired", ERR_UNAUTHENTICATED},
    {"RequestLimitExceeded", ERR_THROTTLED},
    {"RequestThrottled", ERR_THROTTLED},
    {"RequestThrottledException", ERR_THROTTLED},
    {"ReservationCapacityExceeded", ERR_CAPACITY},
    {"ResourceInUseException", ERR_CONFLICT},
    {"ResourceNotFoundException", ERR_NOT_FOUND},
    {"ServiceUnavailable", ERR_UNAVAILABLE},
    {"SignatureDoesNotMatch", ERR_UNAUTHENTICATED},
    {"SlowDown", ERR_THROTTLED},
    {"Throttled", ERR_THROTTLED},
    {"ThrottledException", ERR_THROTTLED},
    {"Throttling", ERR_THROTTLED},
    {"ThrottlingException", ERR_THROTTLED},
    {"TooManyRequestsException", ERR_THROTTLED},
    {"Unavailable", ERR_UNAVAILABLE},
    {"UnauthorizedAccess", ERR_FORBIDDEN},
    {"UnauthorizedOperation", ERR_FORBIDDEN},
    {"UnfulfillableCapacity", ERR_CAPACITY},
    {"UnrecognizedClientException", ERR_UNAUTHENTICATED},
    {"Unsupported", ERR_CAPACITY},
    {"VcpuLimitExceeded", ERR_CAPACITY},
};

static enum err_kind status_kind(int status)
{
    switch (status) {
    case 401:
        return ERR_UNAUTHENTICATED;
    case 403:
        return ERR_FORBIDDEN;
    case 404:
        return ERR_NOT_FOUND;
    case 409:
    case 412:
        return ERR_CONFLICT;
    case 429:
        return ERR_THROTTLED;
    default:
        return status >= 500 ? ERR_UNAVAILABLE : ERR_INVALID;
    }
}

enum err_kind aws_code_kind(const char *code, int status)
{
    for (size_t i = 0; code && i < ARRAY_LEN(codes); i++) {
        if (strcmp(codes[i].code, code) == 0) {
            return codes[i].kind;
        }
    }
    if (code && (str_ends(code, ".NotFound") || str_ends(code, ".NotFoundException") ||
                 str_ends(code, ".NonExistentQueue"))) {
        return ERR_NOT_FOUND;
    }
    if (code && (str_ends(code, ".AlreadyExists") || str_ends(code, ".AlreadyExistsException"))) {
        return ERR_EXISTS;
    }
    return status_kind(status);
}

static void fill(struct err *e, int status, const char *code, const char *message)
{
    enum err_kind kind = aws_code_kind(code, status);
    bool has_code = code && *code, has_message = message && *message;
    err_set(e, kind, "%s%s%s", has_code ? code : "", has_code && has_message ? ": " : "",
            has_message ? message : "");
    err_code(e, code);
    e->http = status;
    if (!has_code && !has_message) {
        snprintf(e->msg, sizeof(e->msg), "HTTP status %d", status);
    }
}

static void from_xml(enum aws_protocol protocol, int status, const char *body, size_t n,
                     struct err *e)
{
    struct arena a;
    arena_init(&a, 0, 4 * ERROR_BODY_MAX);
    const struct xml *root = xml_parse(&a, body, n, NULL);
    const struct xml *error = xml_at(root, protocol == AWS_EC2_QUERY ? "Errors/Error" : "Error");
    fill(e, status, xml_text(error, "Code"), xml_text(error, "Message"));
    arena_done(&a);
}

/* "com.amazonaws.ssm#ParameterNotFound" and "ParameterNotFound:http://…" are ParameterNotFound. */
static void bare_code(const char *type, char *dst, size_t size)
{
    const char *mark = strchr(type, '#');
    str_copy(dst, size, mark ? mark + 1 : type);
    dst[strcspn(dst, ":")] = '\0';
}

static void from_json(int status, const char *body, size_t n, struct err *e)
{
    AUTO_JSON json_t *o = jsonx_parse(body, n, "error", NULL);
    const char *type = jsonx_str(o, "__type");
    const char *message = jsonx_str(o, "message");
    char code[sizeof(e->code)] = "";
    bare_code(type ? type : jsonx_str_or(o, "code", ""), code, sizeof(code));
    fill(e, status, code, message ? message : jsonx_str(o, "Message"));
}

void aws_classify(enum aws_protocol protocol, int status, const char *body, size_t body_n,
                  struct err *ret)
{
    err_clear(ret);
    if (status >= 200 && status <= 299) {
        ret->http = status;
        return;
    }
    if (!body || body_n > ERROR_BODY_MAX) {
        fill(ret, status, NULL, NULL);
    } else if (protocol == AWS_EC2_QUERY || protocol == AWS_QUERY) {
        from_xml(protocol, status, body, body_n, ret);
    } else {
        from_json(status, body, body_n, ret);
    }
}
