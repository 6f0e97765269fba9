/* test_hash.c - published vectors of SHA-256, HMAC, FNV-1a, base64 */
#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"

/* FIPS 180-4 examples and the empty text. */
static const struct {
    const char *s;
    int repeat;
    const char *hex;
} sha_rows[] = {
    {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

START_TEST(sha256)
{
    size_t n = strlen(sha_rows[_i].s);
    size_t repeat = (size_t)sha_rows[_i].repeat;
    AUTO_FREE char *text = NEW_N(char, n *repeat + 1);
    for (size_t i = 0; i < repeat; i++) {
        memcpy(text + i * n, sha_rows[_i].s, n);
    }
    char hex[SHA256_HEX];
    hash_sha256_hex(text, n * repeat, hex);
    ck_assert_str_eq(hex, sha_rows[_i].hex);
    if (n == 0) {
        hash_sha256_hex(NULL, 0, hex);
        ck_assert_str_eq(hex, sha_rows[_i].hex);
    }
}
END_TEST

/* RFC 4231, cases 1, 2, 3 and 6; the last row is HMAC of nothing with no key. */
static const struct {
    const char *key; /* one character: repeated key_n times */
    size_t key_n;
    const char *data;
    size_t data_n; /* 0: the whole text */
    const char *hex;
} hmac_rows[] = {
    {"\x0b", 20, "Hi There", 0, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
    {"Jefe", 4, "what do ya want for nothing?", 0,
     "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
    {"\xaa", 20, "\xdd", 50, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
    {"\xaa", 131, "Test Using Larger Than Block-Size Key - Hash Key First", 0,
     "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    {"", 0, "", 0, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"},
};

START_TEST(hmac)
{
    char key[200];
    char data[200];
    size_t data_n = hmac_rows[_i].data_n;
    memset(key, hmac_rows[_i].key[0], sizeof(key));
    memset(data, hmac_rows[_i].data[0], sizeof(data));
    if (strlen(hmac_rows[_i].key) > 1) {
        memcpy(key, hmac_rows[_i].key, hmac_rows[_i].key_n);
    }
    if (data_n == 0) {
        data_n = strlen(hmac_rows[_i].data);
        memcpy(data, hmac_rows[_i].data, data_n);
    }
    uint8_t out[SHA256_BYTES];
    char hex[SHA256_HEX];
    hash_hmac_sha256(key, hmac_rows[_i].key_n, data, data_n, out);
    hash_hex(out, sizeof(out), hex);
    ck_assert_str_eq(hex, hmac_rows[_i].hex);
}
END_TEST

static const struct {
    const char *s;
    uint64_t hash;
} fnv_rows[] = {
    {"", UINT64_C(0xcbf29ce484222325)},
    {"a", UINT64_C(0xaf63dc4c8601ec8c)},
    {"foobar", UINT64_C(0x85944171f73967e8)},
};

START_TEST(fnv1a)
{
    ck_assert_uint_eq(hash_fnv1a(fnv_rows[_i].s, strlen(fnv_rows[_i].s)), fnv_rows[_i].hash);
}
END_TEST

/* RFC 4648, section 10. */
static const struct {
    const char *plain, *text;
} base64_rows[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xff\xfe\xfb", "//77"},
};

START_TEST(base64)
{
    const char *plain = base64_rows[_i].plain;
    AUTO_FREE char *text = base64_encode(plain, strlen(plain));
    ck_assert_str_eq(text, base64_rows[_i].text);
    size_t n = 99;
    AUTO_FREE uint8_t *back = base64_decode(text, &n);
    ck_assert_ptr_nonnull(back);
    ck_assert_uint_eq(n, strlen(plain));
    ck_assert_int_eq(memcmp(back, plain, n + 1), 0);
}
END_TEST

static const struct {
    const char *text, *plain; /* NULL: not base64 */
} decode_rows[] = {
    {" Zm9v\r\nYm\tFy\n", "foobar"},
    {"Zg= =", "f"},
    {"Zg", NULL},
    {"Zg=", NULL},
    {"Zg===", NULL},
    {"=", NULL},
    {"====", NULL},
    {"Z===", NULL},
    {"Zg==Zg==", NULL},
    {"Zm9-", NULL},
    {"Zm9_", NULL},
    {"Zm9\xc3", NULL},
    {"Z=9v", NULL},
    {"Zm=v", NULL},
    {"Zm9vY", NULL},
    {"\n \n", ""},
};

START_TEST(decodes_strictly)
{
    size_t n = 99;
    AUTO_FREE uint8_t *got = base64_decode(decode_rows[_i].text, &n);
    if (!decode_rows[_i].plain) {
        ck_assert_ptr_null(got);
        return;
    }
    ck_assert_ptr_nonnull(got);
    ck_assert_str_eq((char *)got, decode_rows[_i].plain);
    ck_assert_uint_eq(n, strlen(decode_rows[_i].plain));
}
END_TEST

START_TEST(every_length_round_trips)
{
    uint8_t bytes[300];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 37);
    }
    for (size_t n = 0; n <= sizeof(bytes); n++) {
        AUTO_FREE char *text = base64_encode(bytes, n);
        size_t back_n = 0;
        AUTO_FREE uint8_t *back = base64_decode(text, &back_n);
        ck_assert_uint_eq(back_n, n);
        ck_assert_int_eq(memcmp(back, bytes, n), 0);
    }
}
END_TEST

UNIT_MAIN("hash", UNIT_CASES(sha256, sha_rows), UNIT_CASES(hmac, hmac_rows),
          UNIT_CASES(fnv1a, fnv_rows), UNIT_CASES(base64, base64_rows),
          UNIT_CASES(decodes_strictly, decode_rows), UNIT_TEST(every_length_round_trips))
