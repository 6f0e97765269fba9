/* ledger.c - see ledger.h. */
#include "ledger.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#define SCHEMA 1
#define FRAME_BYTES 64u /* around the entries */

static bool is_entry(const json_t *o)
{
    return jsonx_str(o, "uid") && jsonx_str(o, "time");
}

json_t *ledger_read(const char *text, struct err *reterr)
{
    json_t *ledger = json_array();
    if (!text) {
        return ledger;
    }
    AUTO_JSON json_t *doc = jsonx_parse(text, strlen(text), "karp-history", reterr);
    const json_t *list = jsonx_arr(doc, "entries");
    if (doc && !list) {
        err_set(reterr, ERR_INVALID, "karp-history: it has no entries");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (is_entry(json_array_get(list, i))) {
            json_array_append(ledger, json_array_get(list, i));
        }
    }
    return ledger;
}

bool ledger_has(const json_t *ledger, const char *uid)
{
    for (size_t i = json_array_size(ledger); i > 0; i--) {
        if (str_eq(jsonx_str(json_array_get(ledger, i - 1), "uid"), uid)) {
            return true;
        }
    }
    return false;
}

void ledger_add(json_t *ledger, json_t *entry)
{
    if (ledger_has(ledger, jsonx_str(entry, "uid"))) {
        json_decref(entry);
    } else {
        json_array_append_new(ledger, entry);
    }
}

/* ---- what is kept ------------------------------------------------------------------------------
 */

static bool is_old(const json_t *entry, int64_t now_ns)
{
    int64_t at_ns;
    return !timefmt_parse_rfc3339(jsonx_str_or(entry, "time", ""), &at_ns) ||
           now_ns - at_ns > LEDGER_AGE_NS;
}

/* From which entry on all fit. */
static size_t first_that_fits(const json_t *ledger)
{
    size_t n = json_array_size(ledger), bytes = FRAME_BYTES;
    size_t first = n > LEDGER_ENTRIES_MAX ? n - LEDGER_ENTRIES_MAX : 0;
    for (size_t i = n; i > first; i--) {
        bytes += json_dumpb(json_array_get(ledger, i - 1), NULL, 0, JSON_COMPACT) + 1;
        if (bytes > LEDGER_BYTES_MAX) {
            return i;
        }
    }
    return first;
}

char *ledger_text(json_t *ledger, int64_t now_ns)
{
    for (size_t i = json_array_size(ledger); i > 0; i--) {
        if (is_old(json_array_get(ledger, i - 1), now_ns)) {
            json_array_remove(ledger, i - 1);
        }
    }
    for (size_t n = first_that_fits(ledger); n > 0; n--) {
        json_array_remove(ledger, 0);
    }
    AUTO_JSON json_t *doc = json_pack("{s:i, s:O}", "schema", SCHEMA, "entries", ledger);
    return jsonx_dump(doc);
}
