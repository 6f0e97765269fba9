#include "auth_exec.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAP_EVERY_NS (10 * NS_PER_MS)

struct auth_exec {
    struct loop *loop;
    const struct kube_config *cfg;
    auth_exec_fn done;
    void *arg;
    pid_t pid;
    int out_fd; /* -1 once it was read to its end */
    struct buf out;
    struct timer deadline, reap;
};

void auth_exec_cred_done(struct auth_exec_cred *c)
{
    free(c->token);
    free(c->cert_pem);
    free(c->key_pem);
    memset(c, 0, sizeof(*c));
}

/* ---- what the plugin is told ----------------------------------------------------------------- */

static bool is_interactive(const struct kube_exec *x)
{
    return x->mode != EXEC_NEVER && isatty(STDIN_FILENO);
}

static json_t *cluster_info(const struct kube_config *cfg)
{
    json_t *o = json_pack("{s:s}", "server", cfg->server);
    if (cfg->tls_server_name) {
        json_object_set_new(o, "tls-server-name", json_string(cfg->tls_server_name));
    }
    if (cfg->insecure) {
        json_object_set_new(o, "insecure-skip-tls-verify", json_true());
    }
    if (cfg->ca_pem) {
        AUTO_FREE char *text = base64_encode(cfg->ca_pem, cfg->ca_n);
        json_object_set_new(o, "certificate-authority-data", json_string(text));
    }
    if (cfg->proxy_url) {
        json_object_set_new(o, "proxy-url", json_string(cfg->proxy_url));
    }
    if (cfg->disable_compression) {
        json_object_set_new(o, "disable-compression", json_true());
    }
    if (cfg->exec->cluster_config) {
        json_object_set(o, "config", cfg->exec->cluster_config);
    }
    return o;
}

static char *exec_info(const struct kube_config *cfg)
{
    const struct kube_exec *x = cfg->exec;
    AUTO_JSON json_t *o = json_pack("{s:s, s:s, s:{s:b}}", "kind", "ExecCredential", "apiVersion",
                                    x->api_version, "spec", "interactive", is_interactive(x));
    if (x->provide_cluster_info) {
        jsonx_set_new(o, "spec.cluster", cluster_info(cfg));
    }
    AUTO_FREE char *text = jsonx_dump(o);
    return xasprintf("KUBERNETES_EXEC_INFO=%s", text);
}

/* Is this line of the environment replaced by one of ours? */
static bool env_replaced(const struct kube_exec *x, const char *line)
{
    if (str_starts(line, "KUBERNETES_EXEC_INFO=")) {
        return true;
    }
    for (size_t i = 0; i < x->n_env; i++) {
        size_t n = strlen(x->env[i].name);
        if (strncmp(line, x->env[i].name, n) == 0 && line[n] == '=') {
            return true;
        }
    }
    return false;
}

/* Our environment and the entry's on top. Strings of ours begin at *ret_own; free those and the
 * array. */
static char **make_env(const struct kube_config *cfg, size_t *ret_own)
{
    const struct kube_exec *x = cfg->exec;
    size_t n = 0, k = 0;
    while (environ[n]) {
        n++;
    }
    char **env = NEW_N(char *, n + x->n_env + 2);
    for (size_t i = 0; i < n; i++) {
        if (!env_replaced(x, environ[i])) {
            env[k++] = environ[i];
        }
    }
    *ret_own = k;
    for (size_t i = 0; i < x->n_env; i++) {
        env[k++] = xasprintf("%s=%s", x->env[i].name, x->env[i].value);
    }
    env[k++] = exec_info(cfg);
    return env;
}

/* ---- starting -------------------------------------------------------------------------------- */

static int spawn_with(const struct kube_config *cfg, int out_fd, char **argv, char **env,
                      pid_t *ret_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, usual;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    /* The loop blocks signals that the plugin wants to die of. */
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &usual);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
    if (!is_interactive(cfg->exec)) {
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    int os = posix_spawnp(ret_pid, argv[0], &files, &attr, argv, env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return os;
}

static int spawn(const struct kube_config *cfg, int out_fd, pid_t *ret_pid)
{
    const struct kube_exec *x = cfg->exec;
    char **argv = NEW_N(char *, x->n_args + 2);
    argv[0] = (char *)(uintptr_t)x->command; /* posix_spawn does not write to them */
    for (size_t i = 0; i < x->n_args; i++) {
        argv[i + 1] = (char *)(uintptr_t)x->args[i];
    }
    size_t own;
    char **env = make_env(cfg, &own);
    int os = spawn_with(cfg, out_fd, argv, env, ret_pid);
    for (size_t i = own; env[i]; i++) {
        free(env[i]);
    }
    free(env);
    free(argv);
    return os;
}

static void on_output(void *arg, int fd, unsigned events);
static void on_deadline(void *arg);

static struct auth_exec *watch_run(struct loop *l, const struct kube_config *cfg, pid_t pid, int fd,
                                   struct err *reterr)
{
    struct auth_exec *x = NEW(struct auth_exec);
    x->loop = l;
    x->cfg = cfg;
    x->pid = pid;
    x->out_fd = fd;
    buf_init(&x->out, KUBE_EXEC_OUTPUT_MAX);
    if (loop_fd_add(l, fd, LOOP_IN, on_output, x, reterr)) {
        x->out_fd = -1;
        close(fd);
        auth_exec_abort(x);
        return NULL;
    }
    int64_t at_ns = clock_mono(loop_clock(l)) + KUBE_EXEC_TIMEOUT_NS;
    timer_set(loop_timers(l), &x->deadline, at_ns, on_deadline, x);
    return x;
}

struct auth_exec *auth_exec_start(struct loop *l, const struct kube_config *cfg, auth_exec_fn done,
                                  void *arg, struct err *reterr)
{
    const struct kube_exec *e = cfg->exec;
    if (e->mode == EXEC_ALWAYS && !isatty(STDIN_FILENO)) {
        err_set(reterr, ERR_UNAUTHENTICATED, "exec plugin %s needs a terminal", e->command);
        return NULL;
    }
    int fds[2];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK)) {
        err_set(reterr, ERR_LIMIT, "pipe: %s", strerror(errno));
        return NULL;
    }
    /* Only our end is non-blocking: the plugin may expect an ordinary stdout. */
    (void)fcntl(fds[1], F_SETFL, 0);
    pid_t pid;
    int os = spawn(cfg, fds[1], &pid);
    close(fds[1]);
    if (os) {
        close(fds[0]);
        err_set(reterr, ERR_UNAUTHENTICATED, "exec plugin %s: %s%s%s", e->command, strerror(os),
                *e->install_hint ? ". " : "", e->install_hint);
        return NULL;
    }
    struct auth_exec *x = watch_run(l, cfg, pid, fds[0], reterr);
    if (x) {
        x->done = done;
        x->arg = arg;
    }
    return x;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void close_output(struct auth_exec *x)
{
    if (x->out_fd >= 0) {
        loop_fd_del(x->loop, x->out_fd);
        close(x->out_fd);
        x->out_fd = -1;
    }
}

static void run_free(struct auth_exec *x)
{
    close_output(x);
    timer_stop(loop_timers(x->loop), &x->deadline);
    timer_stop(loop_timers(x->loop), &x->reap);
    buf_done(&x->out);
    free(x);
}

static void kill_child(struct auth_exec *x)
{
    kill(x->pid, SIGKILL);
    while (waitpid(x->pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

void auth_exec_abort(struct auth_exec *x)
{
    if (x) {
        kill_child(x);
        run_free(x);
    }
}

/* Tells the outcome; the run is gone before. */
static void run_end(struct auth_exec *x, struct auth_exec_cred *cred, const struct err *why)
{
    auth_exec_fn done = x->done;
    void *arg = x->arg;
    run_free(x);
    done(arg, cred, why);
}

static void run_fail(struct auth_exec *x, const char *fault)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_UNAUTHENTICATED, "exec plugin %s %s", x->cfg->exec->command, fault);
    kill_child(x);
    run_end(x, NULL, &err);
}

static void on_deadline(void *arg)
{
    run_fail(arg, "did not answer in time");
}

static int parse_cred(const struct auth_exec *x, struct auth_exec_cred *ret, struct err *reterr)
{
    const char *command = x->cfg->exec->command;
    AUTO_JSON json_t *o = jsonx_parse(x->out.p, x->out.n, "output", reterr);
    if (!o) {
        return err_wrap(reterr, "exec plugin %s", command);
    }
    const char *version = jsonx_str_or(o, "apiVersion", "");
    if (!str_eq(jsonx_str(o, "kind"), "ExecCredential") ||
        !str_eq(version, x->cfg->exec->api_version)) {
        return err_set(reterr, ERR_INVALID, "exec plugin %s answered %s \"%s\" instead of \"%s\"",
                       command, jsonx_str_or(o, "kind", "something"), version,
                       x->cfg->exec->api_version);
    }
    const char *token = jsonx_str_or(o, "status.token", "");
    const char *cert = jsonx_str_or(o, "status.clientCertificateData", "");
    const char *key = jsonx_str_or(o, "status.clientKeyData", "");
    if (!*cert != !*key || (!*token && !*cert)) {
        return err_set(reterr, ERR_INVALID,
                       "exec plugin %s gave neither a token nor a certificate with its key",
                       command);
    }
    const char *expires = jsonx_str(o, "status.expirationTimestamp");
    ret->expires_ns = NS_NEVER;
    if (expires && !timefmt_parse_rfc3339(expires, &ret->expires_ns)) {
        return err_set(reterr, ERR_INVALID, "exec plugin %s: expirationTimestamp \"%s\" is no time",
                       command, expires);
    }
    ret->token = *token ? xstrdup(token) : NULL;
    ret->cert_pem = *cert ? xstrdup(cert) : NULL;
    ret->key_pem = *key ? xstrdup(key) : NULL;
    return 0;
}

static void run_exited(struct auth_exec *x, int status)
{
    struct err err = ERR_INIT;
    struct auth_exec_cred cred = {NULL, NULL, NULL, NS_NEVER};
    if (WIFSIGNALED(status)) {
        err_set(&err, ERR_UNAUTHENTICATED, "exec plugin %s was killed by signal %d",
                x->cfg->exec->command, WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        err_set(&err, ERR_UNAUTHENTICATED, "exec plugin %s failed with exit code %d",
                x->cfg->exec->command, WEXITSTATUS(status));
    } else if (parse_cred(x, &cred, &err)) {
        err.kind = ERR_UNAUTHENTICATED;
    }
    run_end(x, &cred, &err);
}

/* It closed its output; its end may come a little later. */
static void on_reap(void *arg)
{
    struct auth_exec *x = arg;
    int status = 0;
    pid_t pid = waitpid(x->pid, &status, WNOHANG);
    if (pid == x->pid) {
        run_exited(x, status);
    } else if (pid == 0 || errno == EINTR) {
        int64_t at_ns = clock_mono(loop_clock(x->loop)) + REAP_EVERY_NS;
        timer_set(loop_timers(x->loop), &x->reap, at_ns, on_reap, x);
    } else {
        run_exited(x, 0); /* somebody else reaped it: the answer must speak for itself */
    }
}

static void on_output(void *arg, int fd, unsigned events UNUSED)
{
    struct auth_exec *x = arg;
    char block[4096];
    ssize_t n;
    while ((n = read(fd, block, sizeof(block))) > 0) {
        if (buf_put(&x->out, block, (size_t)n)) {
            run_fail(x, "answered too much");
            return;
        }
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_output(x);
        on_reap(x);
    }
}
