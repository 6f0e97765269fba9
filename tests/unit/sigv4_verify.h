/*
 * sigv4_verify.h - a verifier of AWS Signature Version 4, for tests.
 *
 * It follows the public specification and shares nothing with the signer under test (libcurl's).
 * Stricter than AWS where that shows mistakes: host, content-type and every x-amz-* header have to
 * be signed, the list of names has to be sorted, the date has to be within five minutes.
 */
#ifndef KARP_TESTS_SIGV4_VERIFY_H
#define KARP_TESTS_SIGV4_VERIFY_H

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#include <strings.h>

#define HEADERS_MAX 32

struct header {
    char name[64], value[512];
};

/* What one request looked like, and what verify said about it. */
struct seen {
    char method[16], path[300], verdict[200];
    struct header headers[HEADERS_MAX];
    size_t n_headers;
    struct buf body;
};

static const char *seen_header(const struct seen *s, const char *name)
{
    for (size_t i = 0; i < s->n_headers; i++) {
        if (strcasecmp(s->headers[i].name, name) == 0) {
            return s->headers[i].value;
        }
    }
    return NULL;
}

/* The text behind name= up to the next comma or blank, copied; false if it is not there. */
static bool field(const char *authorization, const char *name, char *dst, size_t size)
{
    const char *p = strstr(authorization, name);
    if (!p) {
        return false;
    }
    p += strlen(name);
    size_t n = strcspn(p, ", ");
    if (n >= size) {
        return false;
    }
    memcpy(dst, p, n);
    dst[n] = '\0';
    return true;
}

/* name:value lines of the signed headers in the order given; false if one was not sent. */
static bool put_signed(struct buf *b, const struct seen *s, const char *names)
{
    char previous[100] = "";
    while (*names) {
        size_t n = strcspn(names, ";");
        char name[100];
        snprintf(name, sizeof(name), "%.*s", (int)n, names);
        const char *value = seen_header(s, name);
        if (!value || strcmp(previous, name) >= 0) {
            return false;
        }
        buf_printf(b, "%s:", name);
        for (; *value; value++) {
            if (*value != ' ' || (b->p[b->n - 1] != ' ' && b->p[b->n - 1] != ':')) {
                buf_putc(b, *value);
            }
        }
        buf_putc(b, '\n');
        str_copy(previous, sizeof(previous), name);
        names += n + (names[n] == ';');
    }
    return true;
}

static bool names_contain(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = names; (p = strcasestr(p, name)) != NULL; p += n) {
        if ((p == names || p[-1] == ';') && (p[n] == ';' || !p[n])) {
            return true;
        }
    }
    return false;
}

/* host, content-type and every x-amz-* header that was sent have to be covered. */
static const char *uncovered(const struct seen *s, const char *names)
{
    for (size_t i = 0; i < s->n_headers; i++) {
        const char *name = s->headers[i].name;
        bool must = strcasecmp(name, "host") == 0 || strcasecmp(name, "content-type") == 0 ||
                    strncasecmp(name, "x-amz-", 6) == 0;
        if (must && !names_contain(names, name)) {
            return name;
        }
    }
    return NULL;
}

static void signature(const char *secret, const char *scope, const char *date,
                      const char *canonical_hash, char out[65])
{
    AUTO_BUF struct buf text = {0};
    uint8_t key[SHA256_BYTES];
    char part[64];
    buf_init(&text, 4096);
    buf_printf(&text, "AWS4%s", secret);
    const char *p = scope;
    hash_hmac_sha256(text.p, text.n, p, strcspn(p, "/"), key);
    for (p += strcspn(p, "/") + 1; *p; p += strcspn(p, "/"), p += *p == '/') {
        snprintf(part, sizeof(part), "%.*s", (int)strcspn(p, "/"), p);
        hash_hmac_sha256(key, sizeof(key), part, strlen(part), key);
    }
    buf_reset(&text);
    buf_printf(&text, "AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope, canonical_hash);
    hash_hmac_sha256(key, sizeof(key), text.p, text.n, key);
    hash_hex(key, sizeof(key), out);
}

/* The canonical request, hashed; false if a header that is said to be signed was not sent. */
static bool canonical(const struct seen *s, const char *names, char out[SHA256_HEX])
{
    AUTO_BUF struct buf b = {0};
    char payload[SHA256_HEX];
    buf_init(&b, 1u << 20);
    hash_sha256_hex(s->body.p, s->body.n, payload);
    buf_printf(&b, "%s\n%s\n\n", s->method, s->path);
    bool ok = put_signed(&b, s, names);
    buf_printf(&b, "\n%s\n%s", names, payload);
    hash_sha256_hex(b.p, b.n, out);
    return ok;
}

/* The date must be now, and the scope's day the date's. */
static bool fresh(const char *date, const char *scope)
{
    char low[TIMEFMT_TEXT], high[TIMEFMT_TEXT];
    int64_t now = clock_wall(&clock_real);
    timefmt_basic(now - 5 * NS_PER_MIN, low);
    timefmt_basic(now + 5 * NS_PER_MIN, high);
    return strlen(date) == 16 && strcmp(low, date) <= 0 && strcmp(date, high) <= 0 &&
           strncmp(date, scope, 8) == 0 && scope[8] == '/';
}

/* "ok REGION/SERVICE", or what is wrong. */
static void verify(struct seen *s, const char *key_id, const char *secret)
{
    char credential[200], names[400], sig[100], hash[SHA256_HEX], want[65];
    const char *auth = seen_header(s, "Authorization");
    const char *date = seen_header(s, "X-Amz-Date");
    const char *fault = NULL, *missing = NULL;
    char *scope = credential + strlen(key_id) + 1;
    if (!auth || !date || !str_starts(auth, "AWS4-HMAC-SHA256 ") ||
        !field(auth, "Credential=", credential, sizeof(credential)) ||
        !field(auth, "SignedHeaders=", names, sizeof(names)) ||
        !field(auth, "Signature=", sig, sizeof(sig))) {
        fault = "no signature";
    } else if (!str_starts(credential, key_id) || credential[strlen(key_id)] != '/') {
        fault = "another key";
    } else if (!fresh(date, scope)) {
        fault = "bad date";
    } else if ((missing = uncovered(s, names)) != NULL) {
        fault = missing;
    } else if (!canonical(s, names, hash)) {
        fault = "a signed header was not sent";
    } else {
        signature(secret, scope, date, hash, want);
        fault = strcmp(sig, want) == 0 ? NULL : "mismatch";
    }
    if (fault) {
        snprintf(s->verdict, sizeof(s->verdict), "%s", fault);
        return;
    }
    size_t n = strlen(scope) - strlen("/aws4_request") - 9;
    snprintf(s->verdict, sizeof(s->verdict), "ok %.*s", (int)n, scope + 9);
}

#endif
