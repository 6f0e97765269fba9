/* hash.c - see hash.h */
#include "hash.h"

#include "alloc.h"
#include "err.h"

#include <mbedtls/base64.h>
#include <mbedtls/md.h>

uint64_t hash_fnv1a(const void *p, size_t n)
{
    const uint8_t *b = p;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) {
        h = (h ^ b[i]) * UINT64_C(0x100000001b3);
    }
    return h;
}

static const mbedtls_md_info_t *sha256(void)
{
    const mbedtls_md_info_t *md = mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);
    if (!md) {
        BUG("mbedTLS has no SHA-256");
    }
    return md;
}

/* mbedTLS wants a pointer even to nothing. */
static const unsigned char *bytes(const void *p)
{
    return p ? p : (const unsigned char *)"";
}

static void hash_sha256(const void *p, size_t n, uint8_t out[SHA256_BYTES])
{
    int rc = mbedtls_md(sha256(), bytes(p), n, out);
    if (rc != 0) {
        BUG("mbedtls_md: %d", rc);
    }
}

void hash_sha256_hex(const void *p, size_t n, char out[SHA256_HEX])
{
    uint8_t digest[SHA256_BYTES];
    hash_sha256(p, n, digest);
    hash_hex(digest, sizeof(digest), out);
}

/* Fails only for want of memory. */
void hash_hmac_sha256(const void *key, size_t key_n, const void *p, size_t n,
                      uint8_t out[SHA256_BYTES])
{
    int rc = mbedtls_md_hmac(sha256(), bytes(key), key_n, bytes(p), n, out);
    if (rc != 0) {
        BUG("mbedtls_md_hmac: %d", rc);
    }
}

void hash_hex(const uint8_t *p, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[p[i] >> 4];
        out[2 * i + 1] = digits[p[i] & 15];
    }
    out[2 * n] = '\0';
}

char *base64_encode(const void *p, size_t n)
{
    if (n > SIZE_MAX / 2) {
        BUG("base64 of %zu bytes", n);
    }
    size_t size = n / 3 * 4 + 5;
    char *out = xmalloc(size);
    size_t len = 0;
    int rc = mbedtls_base64_encode((unsigned char *)out, size, &len, bytes(p), n);
    if (rc != 0) {
        BUG("mbedtls_base64_encode: %d", rc);
    }
    out[len] = '\0';
    return out;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Groups of four with padding at the very end only; the library itself is more lenient. */
static bool is_padded(const char *s, size_t n)
{
    const char *pad = memchr(s, '=', n);
    if (n % 4 != 0) {
        return false;
    }
    return !pad || pad == s + n - 1 || (pad == s + n - 2 && pad[1] == '=');
}

uint8_t *base64_decode(const char *s, size_t *ret_n)
{
    size_t len = strlen(s);
    char *text = xmalloc(len + 1);
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (!is_space(s[i])) {
            text[n++] = s[i];
        }
    }
    uint8_t *out = xmalloc(n / 4 * 3 + 1);
    size_t out_n = 0;
    bool ok = is_padded(text, n) &&
              mbedtls_base64_decode(out, n / 4 * 3, &out_n, (unsigned char *)text, n) == 0;
    free(text);
    if (!ok) {
        free(out);
        return NULL;
    }
    out[out_n] = '\0';
    *ret_n = out_n;
    return out;
}
