/* version.c - `kubectl karp version`. */
#include "cmd.h"

#include "cmd/read/connect.h"
#include "cmd/read/facts.h"
#include "cmd/read/gather.h"
#include "common/base/jsonx.h"
#include "opts_table.h"
#include "out.h"

struct versions {
    const char *client, *server;
    struct facts facts;
};

/* The server's and, as far as they can be seen, the controller's. */
static int ask(struct cmd *c, struct world *w, struct arena *a, struct versions *v,
               struct err *reterr)
{
    if (gather_live(c, GATHER(KIND_LEASE) | GATHER(KIND_CONFIG_MAP), w, reterr) != 0) {
        return -1;
    }
    w->now_ns = clock_wall(c->clock);
    w->lease_now_ns = w->now_ns + w->skew_ns;
    world_finish(w);
    facts_read(w, a, &v->facts);
    v->server = w->version;
    return 0;
}

static void put_line(struct buf *out, const char *what, const char *version)
{
    if (version) {
        buf_printf(out, "%s: %s\n", what, version);
    }
}

static void put_text(const struct versions *v, struct buf *out)
{
    put_line(out, "Client Version", v->client);
    put_line(out, "Server Version", v->server);
    if (v->facts.charge == CHARGE_KARP) {
        put_line(out, "Agent Version", v->facts.version ? v->facts.version : "unknown");
    } else if (v->facts.charge == CHARGE_KARPENTER) {
        put_line(out, "Controller", "karpenter");
    }
}

static json_t *report(const struct versions *v)
{
    json_t *o = json_object();
    jsonx_set_new(o, "apiVersion", json_string("karp.dev/v1alpha1"));
    jsonx_set_new(o, "kind", json_string("VersionReport"));
    jsonx_set_new(o, "client.version", json_string(v->client));
    if (v->server) {
        jsonx_set_new(o, "server.version", json_string(v->server));
    }
    if (charge_name(v->facts.charge)) {
        jsonx_set_new(o, "controller", json_string(charge_name(v->facts.charge)));
    }
    if (v->facts.charge == CHARGE_KARP && v->facts.version) {
        jsonx_set_new(o, "agent.version", json_string(v->facts.version));
    }
    return o;
}

static int print(const struct cmd *c, const struct versions *v, const struct out_spec *spec,
                 struct err *reterr)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUT_MAX);
    if (spec->format == OUT_TABLE) {
        put_text(v, &out);
    } else {
        AUTO_JSON json_t *o = report(v);
        if (out_report(spec, o, &out, reterr) != 0) {
            return -1;
        }
    }
    return out_flush(c->out, &out, reterr);
}

/* What could not be asked is an error, after what is known has been printed (as kubectl). */
static int run(struct cmd *c, struct err *reterr)
{
    struct out_spec spec;
    struct versions v = {.client = "v" KARP_VERSION};
    struct world w;
    struct arena a;
    if (c->o->words.n > 0) {
        return err_set(reterr, ERR_INVALID, "version takes no arguments");
    }
    if (out_parse(c->o->output, OUT_TABLE | OUT_JSON | OUT_YAML | OUT_JSONPATH, &spec, reterr) !=
        0) {
        return -1;
    }
    world_init(&w, c->o->agent_namespace);
    arena_init(&a, 0, SIZE_MAX);
    struct err later = ERR_INIT;
    int asked = c->o->client_only ? 0 : ask(c, &w, &a, &v, &later);
    int rc = print(c, &v, &spec, reterr);
    arena_done(&a);
    world_done(&w);
    if (rc == 0 && asked != 0) {
        if (reterr) {
            *reterr = later;
        }
        rc = -1;
    }
    return rc;
}

static const struct opt_group *const groups[] = {&opts_output, &opts_version, &opts_connection,
                                                 &opts_general, NULL};

const struct cmd_info cmd_version_info = {
    "version",
    "Versions of this program, of the server and of the agent",
    "[flags]",
    "Prints the version of this program, of the API server and, if it can be seen, of "
    "karp-agent.\n",
    run,
    groups};
