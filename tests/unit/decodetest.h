/*
 * decodetest.h - what the tests of kube/decode share: a decoder, and objects written as YAML flow,
 * which reads better in C strings than JSON.
 */
#ifndef KARP_TESTS_DECODETEST_H
#define KARP_TESTS_DECODETEST_H

#include "unit.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/yamlx.h"
#include "common/core/labels.h"
#include "common/kube/decode.h"

static inline json_t *parse(const char *text)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *docs = yamlx_parse_all(text, strlen(text), "row", NULL, &err);
    ck_assert_msg(docs != NULL, "%s in: %s", err.msg, text);
    ck_assert_uint_eq(json_array_size(docs), 1);
    return json_incref(json_array_get(docs, 0));
}

static struct symtab *symtab;
static struct decoder *decoder;

static inline void begin(void)
{
    symtab = labels_symtab_new();
    decoder = decoder_new(symtab);
}

static inline void end(void)
{
    ck_assert_uint_eq(decoder_class_count(decoder), 0);
    decoder_free(decoder);
    symtab_free(symtab);
}

#define REF "nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}"

#endif
