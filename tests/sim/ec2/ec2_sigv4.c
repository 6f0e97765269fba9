/* ec2_sigv4.c - see ec2_sigv4.h. */
#include "ec2_sigv4.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#include <ctype.h>
#include <stdarg.h>
#include <strings.h>

#define ALGORITHM "AWS4-HMAC-SHA256"
#define CANONICAL_MAX (1u << 20)
#define QUERY_MAX 256

/* ---- canonical request ---------------------------------------------------------------------- */

static bool unreserved(int c)
{
    return isalnum(c) || c == '-' || c == '_' || c == '.' || c == '~';
}

/* Percent-encodes every byte that is not unreserved; keep_slash is for paths. */
static void encode(struct buf *b, const char *s, size_t n, bool keep_slash)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (unreserved(c) || (keep_slash && c == '/')) {
            buf_putc(b, (char)c);
        } else {
            buf_printf(b, "%%%02X", c);
        }
    }
}

/* One side of a query pair: unescaped, then escaped the canonical way. */
static void recode(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (c == '%' && i + 2 < n && isxdigit((unsigned char)s[i + 1]) &&
            isxdigit((unsigned char)s[i + 2])) {
            const char hex[3] = {s[i + 1], s[i + 2], 0};
            c = (char)strtol(hex, NULL, 16);
            i += 2;
        }
        encode(b, &c, 1, false);
    }
}

static void put_query(struct buf *b, const char *query)
{
    char *pairs[QUERY_MAX];
    size_t n = 0;
    while (query && *query && n < QUERY_MAX) {
        size_t len = strcspn(query, "&"), key_n = strcspn(query, "=&");
        struct buf pair;
        buf_init(&pair, CANONICAL_MAX);
        recode(&pair, query, key_n);
        buf_putc(&pair, '=');
        if (key_n < len) {
            recode(&pair, query + key_n + 1, len - key_n - 1);
        }
        pairs[n++] = buf_take(&pair);
        buf_done(&pair);
        query += len + (query[len] == '&');
    }
    qsort(pairs, n, sizeof(*pairs), str_qsort_cmp);
    for (size_t i = 0; i < n; i++) {
        buf_puts(b, i > 0 ? "&" : "");
        buf_puts(b, pairs[i]);
        free(pairs[i]);
    }
}

/* Trimmed, runs of blanks inside made one. */
static void put_value(struct buf *b, const char *v)
{
    bool gap = false;
    v += strspn(v, " \t");
    for (; *v; v++) {
        if (*v == ' ' || *v == '\t') {
            gap = true;
            continue;
        }
        if (gap) {
            buf_putc(b, ' ');
        }
        gap = false;
        buf_putc(b, *v);
    }
}

/* "name:value,value\n"; false if the request has no such header. */
static bool put_header(struct buf *b, const struct sigv4_request *req, const char *name, size_t n)
{
    bool found = false;
    buf_put(b, name, n);
    buf_putc(b, ':');
    for (size_t i = 0; i < req->n_headers; i++) {
        const struct sigv4_header *h = &req->headers[i];
        if (strlen(h->name) == n && strncasecmp(h->name, name, n) == 0) {
            buf_puts(b, found ? "," : "");
            put_value(b, h->value);
            found = true;
        }
    }
    buf_putc(b, '\n');
    return found;
}

static bool put_canonical(struct buf *b, const struct sigv4_request *req,
                          const char *signed_headers)
{
    char body_hash[SHA256_HEX];
    buf_printf(b, "%s\n", req->method);
    encode(b, *req->path ? req->path : "/", *req->path ? strlen(req->path) : 1, true);
    buf_putc(b, '\n');
    put_query(b, req->query);
    buf_putc(b, '\n');
    for (const char *p = signed_headers; *p;) {
        size_t n = strcspn(p, ";");
        if (!put_header(b, req, p, n)) {
            return false;
        }
        p += n + (p[n] == ';');
    }
    hash_sha256_hex(req->body_n ? req->body : "", req->body_n, body_hash);
    buf_printf(b, "\n%s\n%s", signed_headers, body_hash);
    return !b->over;
}

/* ---- signature ------------------------------------------------------------------------------ */

static void derive_key(const char *secret, const char *day, const char *region, const char *service,
                       uint8_t key[SHA256_BYTES])
{
    AUTO_FREE char *start = xasprintf("AWS4%s", secret);
    hash_hmac_sha256(start, strlen(start), day, 8, key);
    uint8_t next[SHA256_BYTES];
    const char *const parts[] = {region, service, "aws4_request"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        hash_hmac_sha256(key, SHA256_BYTES, parts[i], strlen(parts[i]), next);
        memcpy(key, next, SHA256_BYTES);
    }
}

bool simec2_sigv4_sign(const struct sigv4_request *req, const char *signed_headers,
                       const char *date, const char *region, const char *service,
                       const char *secret, char hex[65])
{
    AUTO_BUF struct buf canonical;
    char hash[SHA256_HEX];
    uint8_t key[SHA256_BYTES], mac[SHA256_BYTES];
    buf_init(&canonical, CANONICAL_MAX);
    if (!put_canonical(&canonical, req, signed_headers)) {
        return false;
    }
    hash_sha256_hex(canonical.p, canonical.n, hash);
    AUTO_FREE char *to_sign = xasprintf("%s\n%s\n%.8s/%s/%s/aws4_request\n%s", ALGORITHM, date,
                                        date, region, service, hash);
    derive_key(secret, date, region, service, key);
    hash_hmac_sha256(key, sizeof(key), to_sign, strlen(to_sign), mac);
    hash_hex(mac, sizeof(mac), hex);
    return true;
}

/* ---- reading a request ---------------------------------------------------------------------- */

struct authorization {
    char access[128], day[9], region[32], service[32];
    char signed_headers[2048], signature[65];
};

static const char *header(const struct sigv4_request *req, const char *name)
{
    for (size_t i = 0; i < req->n_headers; i++) {
        if (strcasecmp(req->headers[i].name, name) == 0) {
            return req->headers[i].value;
        }
    }
    return NULL;
}

/* NAME=value up to a comma or blank, from anywhere in the header. */
static bool part(const char *text, const char *name, char *dst, size_t size)
{
    const char *p = strstr(text, name);
    if (!p) {
        return false;
    }
    p += strlen(name);
    size_t n = strcspn(p, ", \t");
    if (n == 0 || n >= size) {
        return false;
    }
    memcpy(dst, p, n);
    dst[n] = 0;
    return true;
}

/* The next '/'-separated element. */
static bool element(const char **p, char *dst, size_t size)
{
    size_t n = strcspn(*p, "/");
    if (n == 0 || n >= size) {
        return false;
    }
    memcpy(dst, *p, n);
    dst[n] = 0;
    *p += n + ((*p)[n] == '/');
    return true;
}

static bool read_authorization(const char *text, struct authorization *a)
{
    char credential[256], end[16];
    *a = (struct authorization){0};
    if (!str_starts(text, ALGORITHM " ") ||
        !part(text, "Credential=", credential, sizeof(credential))) {
        return false;
    }
    const char *p = credential;
    return element(&p, a->access, sizeof(a->access)) && element(&p, a->day, sizeof(a->day)) &&
           strlen(a->day) == 8 && element(&p, a->region, sizeof(a->region)) &&
           element(&p, a->service, sizeof(a->service)) && element(&p, end, sizeof(end)) && !*p &&
           str_eq(end, "aws4_request") &&
           part(text, "SignedHeaders=", a->signed_headers, sizeof(a->signed_headers)) &&
           part(text, "Signature=", a->signature, sizeof(a->signature)) &&
           strlen(a->signature) == 64;
}

static bool is_signed(const char *list, const char *name)
{
    size_t n = strlen(name);
    while (*list) {
        size_t len = strcspn(list, ";");
        if (len == n && strncasecmp(list, name, n) == 0) {
            return true;
        }
        list += len + (list[len] == ';');
    }
    return false;
}

/* Lower case, sorted, no name twice. */
static bool list_in_order(const char *list)
{
    char last[128] = "";
    while (*list) {
        char name[128];
        size_t n = strcspn(list, ";");
        if (n == 0 || n >= sizeof(name)) {
            return false;
        }
        memcpy(name, list, n);
        name[n] = 0;
        for (size_t i = 0; i < n; i++) {
            if (isupper((unsigned char)name[i])) {
                return false;
            }
        }
        if (strcmp(last, name) >= 0) {
            return false;
        }
        memcpy(last, name, n + 1);
        list += n + (list[n] == ';');
    }
    return true;
}

/* The header that must be signed and is not, or NULL. */
static const char *unsigned_header(const struct sigv4_request *req, const char *list)
{
    if (!is_signed(list, "host")) {
        return "host";
    }
    for (size_t i = 0; i < req->n_headers; i++) {
        const char *name = req->headers[i].name;
        if (strncasecmp(name, "x-amz-", 6) == 0 && !is_signed(list, name)) {
            return name;
        }
    }
    return NULL;
}

static int digits(const char *s, size_t n)
{
    int v = 0;
    for (size_t i = 0; i < n; i++) {
        v = v * 10 + (s[i] - '0');
    }
    return v;
}

/* YYYYMMDDTHHMMSSZ */
static bool read_date(const char *s, int64_t *ret_wall_ns)
{
    if (strlen(s) != 16 || s[8] != 'T' || s[15] != 'Z' || strspn(s, "0123456789") != 8 ||
        strspn(s + 9, "0123456789") != 6) {
        return false;
    }
    int64_t days = timefmt_days(digits(s, 4), digits(s + 4, 2), digits(s + 6, 2));
    int64_t seconds = digits(s + 9, 2) * 3600 + digits(s + 11, 2) * 60 + digits(s + 13, 2);
    *ret_wall_ns = (days * 86400 + seconds) * NS_PER_S;
    return true;
}

/* ---- the verdict ---------------------------------------------------------------------------- */

static void verdict(struct sigv4_result *ret, enum sigv4_verdict v, const char *fmt, ...)
    PRINTF(3, 4);
static void verdict(struct sigv4_result *ret, enum sigv4_verdict v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(ret->why, sizeof(ret->why), fmt, ap);
    va_end(ap);
    ret->verdict = v;
}

static const struct sigv4_key *find_key(const struct sigv4_key *keys, size_t n, const char *access)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(keys[i].access, access)) {
            return &keys[i];
        }
    }
    return NULL;
}

/* Everything but the signature itself. False: *ret says what is wrong. */
static bool check_around(const struct sigv4_request *req, const struct authorization *a,
                         const struct sigv4_key *key, const char *date, int64_t now_wall_ns,
                         struct sigv4_result *ret)
{
    const char *left_out = unsigned_header(req, a->signed_headers);
    const char *hash = header(req, "x-amz-content-sha256");
    char body_hash[SHA256_HEX];
    int64_t wall_ns = 0;
    hash_sha256_hex(req->body_n ? req->body : "", req->body_n, body_hash);
    if (!date || !read_date(date, &wall_ns) || strncmp(date, a->day, 8) != 0) {
        verdict(ret, SIGV4_MALFORMED, "X-Amz-Date is missing or not of the credential's day");
    } else if (!list_in_order(a->signed_headers) || left_out) {
        verdict(ret, SIGV4_MALFORMED, "header %.64s must be signed, the list sorted",
                left_out ? left_out : "names");
    } else if (!str_eq(header(req, "x-amz-security-token"), key->token)) {
        verdict(ret, SIGV4_BAD_TOKEN, "The security token included in the request is invalid.");
    } else if (wall_ns > now_wall_ns + SIGV4_SKEW_NS || wall_ns < now_wall_ns - SIGV4_SKEW_NS) {
        verdict(ret, SIGV4_SKEWED, "Signature is of %s: more than 5 minutes away", date);
    } else if (hash && !str_eq(hash, body_hash)) {
        verdict(ret, SIGV4_MISMATCH, "X-Amz-Content-Sha256 is not the hash of the body");
    } else {
        return true;
    }
    return false;
}

void simec2_sigv4_verify(const struct sigv4_request *req, const struct sigv4_key *keys, size_t n,
                         int64_t now_wall_ns, struct sigv4_result *ret)
{
    struct authorization a;
    const char *text = header(req, "authorization");
    char hex[65];
    *ret = (struct sigv4_result){0};
    if (!text) {
        verdict(ret, SIGV4_MISSING, "Request is missing Authentication Token");
        return;
    }
    bool read = read_authorization(text, &a);
    str_copy(ret->service, sizeof(ret->service), a.service);
    str_copy(ret->region, sizeof(ret->region), a.region);
    if (!read) {
        verdict(ret, SIGV4_MALFORMED, "Authorization cannot be read");
        return;
    }
    const struct sigv4_key *key = find_key(keys, n, a.access);
    const char *date = header(req, "x-amz-date");
    if (!key) {
        verdict(ret, SIGV4_UNKNOWN_KEY,
                "AWS was not able to validate the provided access credentials");
    } else if (!check_around(req, &a, key, date, now_wall_ns, ret)) {
        return;
    } else if (!simec2_sigv4_sign(req, a.signed_headers, date, a.region, a.service, key->secret,
                                  hex)) {
        verdict(ret, SIGV4_MALFORMED, "A signed header is missing");
    } else if (!str_eq(hex, a.signature)) {
        verdict(ret, SIGV4_MISMATCH,
                "The request signature we calculated does not match the signature you provided.");
    } else {
        verdict(ret, SIGV4_OK, "fine");
    }
}
