/* ec2_wire.c - answers: XML and JSON text, and each service's way of saying no. */
#include "ec2_priv.h"

#include <stdarg.h>

/* ---- XML ---------------------------------------------------------------------------------------
 */

/* What stands for a byte that cannot be written as it is; NULL if it can. */
static const char *escaped(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\t':
    case '\n':
    case '\r':
        return NULL;
    default:
        /* XML 1.0 has no way to write other control characters. */
        return (unsigned char)c < 0x20 ? "?" : NULL;
    }
}

static void put_text(struct buf *b, const char *s)
{
    const char *from = s;
    for (; *s; s++) {
        const char *instead = escaped(*s);
        if (instead) {
            buf_put(b, from, (size_t)(s - from));
            buf_puts(b, instead);
            from = s + 1;
        }
    }
    buf_put(b, from, (size_t)(s - from));
}

/* Answers are mostly tags: formatting them is what an answer would cost most. */
static void put_tag(struct buf *b, const char *begin, const char *tag)
{
    char text[64];
    size_t n_begin = strlen(begin), n = strlen(tag);
    if (n_begin + n + 1 > sizeof(text)) {
        BUG("XML tag of %zu bytes", n);
    }
    memcpy(text, begin, n_begin);
    memcpy(text + n_begin, tag, n);
    text[n_begin + n] = '>';
    buf_put(b, text, n_begin + n + 1);
}

void put_open(struct buf *b, const char *tag)
{
    put_tag(b, "<", tag);
}

void put_close(struct buf *b, const char *tag)
{
    put_tag(b, "</", tag);
}

void put_str(struct buf *b, const char *tag, const char *value)
{
    if (value) {
        put_open(b, tag);
        put_text(b, value);
        put_close(b, tag);
    }
}

void put_i64(struct buf *b, const char *tag, int64_t value)
{
    char text[STR_I64_TEXT];
    put_str(b, tag, str_from_i64(value, text));
}

void put_bool(struct buf *b, const char *tag, bool value)
{
    put_str(b, tag, value ? "true" : "false");
}

void put_time(struct buf *b, const char *tag, int64_t wall_ns)
{
    struct timefmt_civil t;
    timefmt_split(wall_ns, &t);
    buf_printf(b, "<%s>%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ</%s>", tag, (long long)t.year, t.month,
               t.day, t.hour, t.minute, t.second, t.nano / 1000000, tag);
}

void put_tags(struct buf *b, const json_t *tags)
{
    if (!tags || json_object_size(tags) == 0) {
        return;
    }
    const char *key;
    json_t *value;
    put_open(b, "tagSet");
    json_object_foreach ((json_t *)tags, key, value) {
        put_open(b, "item");
        put_str(b, "key", key);
        put_str(b, "value", json_string_value(value));
        put_close(b, "item");
    }
    put_close(b, "tagSet");
}

char *simec2_dollars(int64_t pusd, int digits, char dst[40])
{
    int64_t rest = pusd % PUSD_PER_USD;
    for (int i = digits; i < 12; i++) {
        rest /= 10;
    }
    snprintf(dst, 40, "%lld.%0*lld", (long long)(pusd / PUSD_PER_USD), digits, (long long)rest);
    return dst;
}

/* ---- envelopes ----------------------------------------------------------------------------------
 */

static void request_id(struct simec2 *e, char dst[48])
{
    e->ids++;
    snprintf(dst, 48, "00000000-0000-4000-8000-%012llx", (unsigned long long)e->ids);
}

void simec2_xml_begin(struct simec2_call *c)
{
    char id[48];
    request_id(c->e, id);
    buf_printf(&c->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<%sResponse xmlns=\"%s\">",
               c->action->name, XML_EC2);
    put_str(&c->out, "requestId", id);
}

void simec2_xml_end(struct simec2_call *c)
{
    buf_printf(&c->out, "</%sResponse>", c->action->name);
}

void simec2_query_begin(struct simec2_call *c, const char *ns)
{
    buf_printf(&c->out, "<%sResponse xmlns=\"%s\"><%sResult>", c->action->name, ns,
               c->action->name);
}

void simec2_query_end(struct simec2_call *c)
{
    char id[48];
    request_id(c->e, id);
    buf_printf(&c->out, "</%sResult><ResponseMetadata>", c->action->name);
    put_str(&c->out, "RequestId", id);
    buf_printf(&c->out, "</ResponseMetadata></%sResponse>", c->action->name);
}

void simec2_json(struct simec2_call *c, json_t *steal)
{
    AUTO_FREE char *text = jsonx_dump(steal);
    json_decref(steal);
    buf_puts(&c->out, text);
}

/* ---- refusals ------------------------------------------------------------------------------- */

int simec2_status_of(const char *code)
{
    static const struct {
        const char *code;
        int status;
    } table[] = {
        {"AccessDenied", 403},         {"AuthFailure", 401},
        {"DryRunOperation", 412},      {"EntityAlreadyExists", 409},
        {"InternalError", 500},        {"InternalFailure", 500},
        {"InvalidClientTokenId", 403}, {"NoSuchEntity", 404},
        {"OptInRequired", 403},        {"RequestLimitExceeded", 503},
        {"ServiceUnavailable", 503},   {"SignatureDoesNotMatch", 403},
        {"Unavailable", 503},          {"UnauthorizedOperation", 403},
        {"LimitExceeded", 409},        {"ResourceNotFoundException", 404},
        {"ServerException", 500},      {"InternalServerError", 500},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (str_eq(table[i].code, code)) {
            return table[i].status;
        }
    }
    return 400;
}

static void fail_ec2(struct simec2_call *c, const char *message)
{
    char id[48];
    request_id(c->e, id);
    buf_puts(&c->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error>");
    put_str(&c->out, "Code", c->code);
    put_str(&c->out, "Message", message);
    buf_puts(&c->out, "</Error></Errors>");
    put_str(&c->out, "RequestID", id);
    buf_puts(&c->out, "</Response>");
}

static void fail_query(struct simec2_call *c, const char *message)
{
    char id[48];
    request_id(c->e, id);
    buf_puts(&c->out, "<ErrorResponse><Error>");
    put_str(&c->out, "Type", c->status < 500 ? "Sender" : "Receiver");
    put_str(&c->out, "Code", c->code);
    put_str(&c->out, "Message", message);
    buf_puts(&c->out, "</Error>");
    put_str(&c->out, "RequestId", id);
    buf_puts(&c->out, "</ErrorResponse>");
}

void simec2_fail(struct simec2_call *c, const char *code, const char *fmt, ...)
{
    char text[1024], message[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    str_copy(message, sizeof(message), text);
    buf_reset(&c->out);
    c->receive.on = false;
    str_copy(c->code, sizeof(c->code), code);
    c->status = simec2_status_of(code);
    switch (c->action->style) {
    case STYLE_EC2:
        fail_ec2(c, message);
        break;
    case STYLE_QUERY:
        fail_query(c, message);
        break;
    case STYLE_JSON:
    case STYLE_REST:
        simec2_json(c, json_pack("{s:s, s:s}", "__type", code, "message", message));
        break;
    }
}
