/* test_aws_xml.c - AWS's XML as a tree, and everything that must not get in (aws/xml.h) */
#include "common/aws/xml.h"
#include "common/base/buf.h"
#include "unit.h"

static struct arena arena;

static const struct xml *parse(const char *p, size_t n, struct err *e)
{
    arena_init(&arena, 0, 256u << 20);
    return xml_parse(&arena, p, n, e);
}

/* ---- what is read ---------------------------------------------------------------------------- */

#define DOC                                                                                        \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"                                                 \
    "<R xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\n"                                     \
    "  <requestId>59dbff89</requestId>\n"                                                          \
    "  <!-- skipped --><?pi skipped?>\n"                                                           \
    "  <set><item><k>a</k><v>1</v></item><other/><item><k>b</k><v/></item></set>\n"                \
    "  <t>x &lt;&amp;&gt; &#233; <![CDATA[<raw>&]]></t>\n"                                         \
    "  <n>-12</n><big>99999999999999999999</big><yes>true</yes><no>false</no><odd>1</odd>\n"       \
    "  <when>2026-01-05T09:00:00.000Z</when>\n"                                                    \
    "</R>"

static const struct {
    const char *path, *text;
} texts[] = {
    {"requestId", "59dbff89"},
    {"set/item/k", "a"},
    {"set/item/v", "1"},
    {"set/other", ""},
    {"t", "x <&> \xc3\xa9 <raw>&"},
    {"", NULL},
    {"set", NULL},
    {"set/item", NULL},
    {"nothing", NULL},
    {"set/nothing/k", NULL},
    {"requestId/deeper", NULL},
    {"ite", NULL},
    {"requestIdX", NULL},
};

START_TEST(texts_at_paths)
{
    const struct xml *root = parse(DOC, sizeof(DOC) - 1, NULL);
    ck_assert_ptr_nonnull(root);
    ck_assert_pstr_eq(xml_text(root, texts[_i].path), texts[_i].text);
    ck_assert_str_eq(xml_text_or(root, texts[_i].path, "d"), texts[_i].text ? texts[_i].text : "d");
    arena_done(&arena);
}
END_TEST

START_TEST(typed_getters)
{
    const struct xml *root = parse(DOC, sizeof(DOC) - 1, NULL);
    ck_assert_str_eq(root->name, "R");
    ck_assert_int_eq(xml_int(root, "n", 7), -12);
    ck_assert_int_eq(xml_int(root, "big", 7), 7);
    ck_assert_int_eq(xml_int(root, "t", 7), 7);
    ck_assert_int_eq(xml_int(root, "absent", 7), 7);
    ck_assert(xml_bool(root, "yes", false));
    ck_assert(!xml_bool(root, "no", true));
    ck_assert(xml_bool(root, "odd", true));
    ck_assert_int_eq(xml_time(root, "when", 7), INT64_C(1767603600) * 1000000000);
    ck_assert_int_eq(xml_time(root, "n", 7), 7);
    ck_assert_uint_eq(xml_count(root, "set", "item"), 2);
    ck_assert_uint_eq(xml_count(root, "set", "none"), 0);
    ck_assert_uint_eq(xml_count(root, "none", "item"), 0);
    ck_assert_ptr_null(xml_child(NULL, "x"));
    ck_assert_ptr_null(xml_at(NULL, "x/y"));
    size_t n = 0;
    for (XML_EACH(xml_at(root, "set"), "item", it)) {
        ck_assert_str_eq(xml_text(it, "k"), n == 0 ? "a" : "b");
        ck_assert_str_eq(xml_text(it, "v"), n == 0 ? "1" : "");
        n++;
    }
    ck_assert_uint_eq(n, 2);
    arena_done(&arena);
}
END_TEST

/* ---- hostile input --------------------------------------------------------------------------- */

static const struct {
    const char *name, *doc;
    enum err_kind kind;
} refused[] = {
    {"empty", "", ERR_INVALID},
    {"blank", " \n ", ERR_INVALID},
    {"html", "<html><body><br></body></html>", ERR_INVALID},
    {"json", "{\"a\":1}", ERR_INVALID},
    {"two roots", "<a/><b/>", ERR_INVALID},
    {"bytes behind the end", "<a/>x", ERR_INVALID},
    {"crossed tags", "<a><b></a></b>", ERR_INVALID},
    {"bad utf-8", "<a>\xff\xfe</a>", ERR_INVALID},
    {"nul reference", "<a>&#0;</a>", ERR_INVALID},
    {"unknown entity", "<a>&x;</a>", ERR_INVALID},
    {"doctype", "<!DOCTYPE a><a/>", ERR_INVALID},
    {"entity", "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", ERR_INVALID},
    {"external entity", "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>",
     ERR_INVALID},
    {"external subset", "<!DOCTYPE a SYSTEM \"http://127.0.0.1:1/x.dtd\"><a/>", ERR_INVALID},
    {"laughs",
     "<!DOCTYPE a [<!ENTITY a0 \"ha\"><!ENTITY a1 \"&a0;&a0;&a0;&a0;\">"
     "<!ENTITY a2 \"&a1;&a1;&a1;&a1;\"><!ENTITY a3 \"&a2;&a2;&a2;&a2;\">]><a>&a3;</a>",
     ERR_INVALID},
    {"repeated attribute", "<a x='1' x='2'/>", ERR_INVALID},
};

START_TEST(refuses)
{
    struct err e = ERR_INIT;
    ck_assert_ptr_null(parse(refused[_i].doc, strlen(refused[_i].doc), &e));
    ck_assert_msg(e.kind == refused[_i].kind, "%s: %s", refused[_i].name, e.msg);
    ck_assert(e.msg[0]);
    arena_done(&arena);
    ck_assert_ptr_null(parse(refused[_i].doc, strlen(refused[_i].doc), NULL));
    arena_done(&arena);
}
END_TEST

START_TEST(cut_short_anywhere)
{
    for (size_t n = 0; n < sizeof(DOC) - 1; n++) {
        struct err e = ERR_INIT;
        /* An exact heap copy, so that reading past the end is seen. */
        char *copy = malloc(n ? n : 1);
        memcpy(copy, DOC, n);
        ck_assert_msg(parse(copy, n, &e) == NULL, "accepted the first %zu bytes", n);
        ck_assert_int_eq(e.kind, ERR_INVALID);
        arena_done(&arena);
        free(copy);
    }
    ck_assert_ptr_nonnull(parse(DOC, sizeof(DOC) - 1, NULL));
    arena_done(&arena);
}
END_TEST

static void put_n(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_puts(b, s);
    }
}

static const struct {
    size_t depth;
    bool ok;
} depths[] = {
    {1, true},
    {XML_DEPTH_MAX, true},
    {XML_DEPTH_MAX + 1, false},
    {100000, false},
};

START_TEST(depth_is_capped)
{
    AUTO_BUF struct buf b = {0};
    buf_init(&b, 4u << 20);
    put_n(&b, "<a>", depths[_i].depth);
    put_n(&b, "</a>", depths[_i].depth);
    struct err e = ERR_INIT;
    ck_assert_int_eq(parse(b.p, b.n, &e) != NULL, depths[_i].ok);
    ck_assert_int_eq(e.kind, depths[_i].ok ? ERR_NONE : ERR_LIMIT);
    arena_done(&arena);
}
END_TEST

static const struct {
    size_t n;
    bool ok;
} lengths[] = {{XML_TEXT_MAX, true}, {XML_TEXT_MAX + 1, false}, {4 * XML_TEXT_MAX, false}};

START_TEST(text_is_capped)
{
    AUTO_BUF struct buf b = {0};
    buf_init(&b, 8u << 20);
    buf_puts(&b, "<a><b>");
    put_n(&b, "x", lengths[_i].n);
    buf_puts(&b, "</b></a>");
    struct err e = ERR_INIT;
    const struct xml *root = parse(b.p, b.n, &e);
    ck_assert_int_eq(root != NULL, lengths[_i].ok);
    if (root) {
        ck_assert_uint_eq(strlen(xml_text(root, "b")), lengths[_i].n);
    } else {
        ck_assert_int_eq(e.kind, ERR_LIMIT);
    }
    arena_done(&arena);
}
END_TEST

START_TEST(elements_are_capped_by_the_arena)
{
    AUTO_BUF struct buf b = {0};
    buf_init(&b, 4u << 20);
    buf_puts(&b, "<a>");
    put_n(&b, "<b/>", 100000);
    buf_puts(&b, "</a>");
    struct err e = ERR_INIT;
    arena_init(&arena, 0, 64u << 10);
    ck_assert_ptr_null(xml_parse(&arena, b.p, b.n, &e));
    ck_assert_int_eq(e.kind, ERR_LIMIT);
    ck_assert_uint_lt(arena.used_bytes, 128u << 10);
    arena_done(&arena);
}
END_TEST

START_TEST(long_names_are_refused)
{
    AUTO_BUF struct buf b = {0};
    buf_init(&b, 4096);
    buf_putc(&b, '<');
    put_n(&b, "n", XML_NAME_MAX + 1);
    buf_puts(&b, "/>");
    struct err e = ERR_INIT;
    ck_assert_ptr_null(parse(b.p, b.n, &e));
    ck_assert_int_eq(e.kind, ERR_LIMIT);
    arena_done(&arena);
}
END_TEST

UNIT_MAIN("aws_xml", UNIT_CASES(texts_at_paths, texts), UNIT_TEST(typed_getters),
          UNIT_CASES(refuses, refused), UNIT_TEST(cut_short_anywhere),
          UNIT_CASES(depth_is_capped, depths), UNIT_CASES(text_is_capped, lengths),
          UNIT_TEST(elements_are_capped_by_the_arena), UNIT_TEST(long_names_are_refused))
