/*
 * hash.h - digests and base64 (over mbedTLS), and a fast hash for tables.
 */
#ifndef KARP_BASE_HASH_H
#define KARP_BASE_HASH_H

#include "compat.h"

#include <stdbool.h>

#define SHA256_BYTES 32
#define SHA256_HEX 65 /* with NUL */

uint64_t hash_fnv1a(const void *p, size_t n);
void hash_sha256_hex(const void *p, size_t n, char out[SHA256_HEX]);
void hash_hmac_sha256(const void *key, size_t key_n, const void *p, size_t n,
                      uint8_t out[SHA256_BYTES]);
void hash_hex(const uint8_t *p, size_t n, char *out); /* out: 2n+1 */
/* Heap string, standard alphabet with padding. */
char *base64_encode(const void *p, size_t n) MUST_CHECK;
/* Heap bytes with a NUL behind them; white space is skipped; NULL if it is not base64. */
uint8_t *base64_decode(const char *s, size_t *ret_n) MUST_CHECK;

#endif
