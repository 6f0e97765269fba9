/*
 * cmdrun.h - runs a command of the plugin as main does and catches what it says.
 */
#ifndef KARP_TESTS_CMDRUN_H
#define KARP_TESTS_CMDRUN_H

#include "cmd/cmd.h"
#include "unit.h"

#include <unistd.h>

#define CMDRUN_ARGS 32

struct cmdrun {
    int rc; /* of the command */
    struct err err;
    char *out, *said; /* heap: stdout and stderr */
};

static inline size_t cmdrun_groups(const struct cmd_info *info, struct opt_group dst[16])
{
    size_t n = 0;
    for (; info->groups[n]; n++) {
        ck_assert_uint_lt(n, 16);
        dst[n] = *info->groups[n];
    }
    return n;
}

/* args end with NULL. server: URL of an API server, or NULL. types: what a person at the terminal
 * does; NULL: there is none. */
static inline void cmdrun_with(const struct cmd_info *info, const char *const *args,
                               const char *server, const struct clock *clock, const char *types,
                               struct cmdrun *ret, int *ret_code)
{
    struct opt_group groups[16];
    struct cmd_opts o;
    struct kube_env env = {.home = "/nonexistent"};
    size_t n_out, n_said;
    int argc = 0;
    while (args[argc]) {
        argc++;
    }
    memset(ret, 0, sizeof(*ret));
    FILE *out = open_memstream(&ret->out, &n_out), *said = open_memstream(&ret->said, &n_said);
    opts_init(&o);
    size_t n = cmdrun_groups(info, groups);
    ck_assert_int_ge(opts_parse(&o, groups, n, argc, args, false, &ret->err), 0);
    o.kube.server = server;
    o.kube.token = server ? "secret" : NULL;
    struct cmd c = {
        .prog = "kubectl karp", .o = &o, .env = &env, .clock = clock, .out = out, .err = said};
    c.term.width = 100;
    if (types) {
        c.in = *types ? fmemopen((void *)(uintptr_t)types, strlen(types), "r")
                      : fopen("/dev/null", "r");
    }
    ret->rc = info->run(&c, &ret->err);
    *ret_code = c.code;
    if (c.in) {
        fclose(c.in);
    }
    fclose(out);
    fclose(said);
    opts_done(&o);
}

static inline void cmdrun_typing(const struct cmd_info *info, const char *const *args,
                                 const char *server, const char *types, struct cmdrun *ret,
                                 int *ret_code)
{
    cmdrun_with(info, args, server, &clock_real, types, ret, ret_code);
}

static inline void cmdrun_at(const struct cmd_info *info, const char *const *args,
                             const char *server, const struct clock *clock, struct cmdrun *ret)
{
    int code;
    cmdrun_with(info, args, server, clock, NULL, ret, &code);
}

static inline void cmdrun(const struct cmd_info *info, const char *const *args, const char *server,
                          struct cmdrun *ret)
{
    cmdrun_at(info, args, server, &clock_real, ret);
}

static inline void cmdrun_done(struct cmdrun *r)
{
    free(r->out);
    free(r->said);
}

/* The report of a command that was asked for JSON. New reference. */
static inline json_t *cmdrun_json(const struct cmd_info *info, const char *const *args)
{
    struct cmdrun r;
    json_error_t e;
    cmdrun(info, args, NULL, &r);
    ck_assert_msg(r.rc == 0, "%s", r.err.msg);
    json_t *ret = json_loads(r.out, 0, &e);
    ck_assert_msg(ret != NULL, "%s", e.text);
    cmdrun_done(&r);
    return ret;
}

/* A file of its own with this text. */
static inline void cmdrun_file(char path[64], const char *text)
{
    unit_path(path, 64, "file");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

#endif
