/*
 * config.h - which API server to talk to and as whom: kubeconfig files, flags, or the pod's own
 * service account. Rules: client-go's clientcmd.
 *
 *  - --kubeconfig F: only F, and it must exist. Else the files of $KUBECONFIG (":" between them;
 *    duplicates, empty items and missing files skipped; one that does not parse is an error). Else
 *    $HOME/.kube/config.
 *  - clusters, users and contexts: the first file that defines a name wins whole. current-context:
 *    the first that is not empty.
 *  - Relative paths belong to the file they stand in; *-data beats its file twin.
 *  - Flags beat files: a CA file also beats CA data, insecure drops the CA, a server drops the
 *    file's tls-server-name, a token beats every other credential of the file.
 *  - Nothing usable in files or flags and in a pod: in-cluster. Otherwise an error that says where
 *    was looked.
 *  - Namespace: flag, else context's, else in cluster the service account's, else "default".
 *
 * Certificates that stand in files are read once here; tokens in files are read by auth.h again and
 * again. All strings live in the config's arena. Errors are ERR_INVALID (or ERR_NOT_FOUND for a
 * missing file or name) and name file and entry.
 */
#ifndef KARP_KUBE_CONFIG_H
#define KARP_KUBE_CONFIG_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <jansson.h>
#include <stdbool.h>

#define KUBE_CONFIG_FILE_MAX (4u << 20)
#define KUBE_CONFIG_FILES_MAX 64u
#define KUBE_SA_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* The flags, NULL = not given. As kubectl's of the same name. */
struct kube_flags {
    const char *kubeconfig, *context, *cluster, *user, *ns;
    const char *server, *tls_server_name, *certificate_authority;
    const char *token, *client_certificate, *client_key, *username, *password;
    const char *as, *as_uid;
    const char *const *as_groups;
    size_t n_as_groups;
    bool insecure; /* --insecure-skip-tls-verify */
    bool disable_compression;
};

/* What is read from the surroundings, so that tests can have their own. NULL = unset. */
struct kube_env {
    const char *kubeconfig;                  /* $KUBECONFIG */
    const char *home;                        /* $HOME */
    const char *service_host, *service_port; /* $KUBERNETES_SERVICE_HOST, _PORT */
    const char *sa_dir;                      /* KUBE_SA_DIR */
};

struct kube_exec_env {
    const char *name, *value;
};

enum kube_exec_mode { EXEC_NEVER, EXEC_IF_AVAILABLE, EXEC_ALWAYS };

/* A user's exec plugin. */
struct kube_exec {
    const char *command;
    const char *const *args;
    size_t n_args;
    const struct kube_exec_env *env;
    size_t n_env;
    const char *api_version; /* client.authentication.k8s.io/v1 or v1beta1, checked */
    enum kube_exec_mode mode;
    bool provide_cluster_info;
    const char *install_hint; /* "" if none */
    json_t *cluster_config;   /* owned: the cluster's extension of that name, or NULL */
};

struct kube_config {
    struct arena mem;
    const char *context, *cluster, *user; /* names for people; "" if from flags only */
    const char *ns;
    const char *server; /* "https://host:6443", no trailing slash; may have a path */
    const char *tls_server_name, *proxy_url; /* NULL = not set */
    const char *ca_pem;                      /* NULL = the system's */
    size_t ca_n;
    bool insecure, disable_compression, in_cluster;
    /* Who: a client certificate is presented in any case, beside it the first of token file, token,
     * basic; exec only if there is none of all these, id_token only if there is no exec either. */
    const char *token_file, *token;
    const char *username, *password;
    const char *cert_file, *key_file; /* where the next two came from, NULL if data */
    const char *cert_pem, *key_pem;
    size_t cert_n, key_n;
    const struct kube_exec *exec;
    const char *id_token; /* of the old oidc provider: good until it expires */
    const char *as, *as_uid;
    const char *const *as_groups;
    size_t n_as_groups;
    const char *warning; /* NULL, or something worth saying once */
};

/* The process's environment. */
struct kube_env kube_env_system(void);

/* Fills *ret, which kube_config_done releases; on failure there is nothing to release. */
int kube_config_load(const struct kube_flags *flags, const struct kube_env *env,
                     struct kube_config *ret, struct err *reterr);
void kube_config_done(struct kube_config *c);

/* Reads a whole file, at most max bytes, NUL-terminated behind them, into the arena. */
int kube_read_file(struct arena *a, const char *path, size_t max, const char **ret, size_t *ret_n,
                   struct err *reterr);

#endif
