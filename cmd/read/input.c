/* input.c - see input.h. */
#include "input.h"

#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK (64u << 10)

/* ---- one file -------------------------------------------------------------------------------- */

static int os_error(struct err *reterr, const char *path, int os)
{
    enum err_kind kind = os == ENOENT ? ERR_NOT_FOUND : ERR_INVALID;
    (void)err_set(reterr, kind, "%s: %s", path, strerror(os));
    if (reterr) {
        reterr->os = os;
    }
    return -1;
}

static int open_input(const char *path, struct err *reterr)
{
    struct stat st;
    int fd = str_eq(path, "-") ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return os_error(reterr, path, errno);
    }
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        (void)close(fd);
        return os_error(reterr, path, EISDIR);
    }
    return fd;
}

static void close_gz(gzFile *f)
{
    if (*f) {
        (void)gzclose(*f);
    }
}

static int gz_error(gzFile f, const char *path, struct err *reterr)
{
    int code = Z_OK;
    const char *text = gzerror(f, &code);
    if (code == Z_ERRNO) {
        return os_error(reterr, path, errno);
    }
    if (code == Z_BUF_ERROR || str_contains(text, "unexpected end")) {
        return err_set(reterr, ERR_INVALID, "%s: the gzip data ends too early", path);
    }
    const char *colon = strstr(text, ": "); /* zlib begins with a name of its own */
    return err_set(reterr, ERR_INVALID, "%s: broken gzip data: %s", path, colon ? colon + 2 : text);
}

int input_read(const char *path, struct buf *out, struct err *reterr)
{
    int fd = open_input(path, reterr);
    if (fd < 0) {
        return -1;
    }
    CLEANUP(close_gz) gzFile f = gzdopen(fd, "rb");
    if (!f) {
        (void)close(fd);
        return err_set(reterr, ERR_INVALID, "%s: cannot be read", path);
    }
    AUTO_FREE char *p = xmalloc(CHUNK);
    for (;;) {
        int n = gzread(f, p, CHUNK);
        if (n < 0) {
            return gz_error(f, path, reterr);
        }
        if (n > 0 && buf_put(out, p, (size_t)n) != 0) {
            return err_set(reterr, ERR_LIMIT, "%s: larger than %u MiB", path, INPUT_FILE_MAX >> 20);
        }
        if (n < (int)CHUNK) {
            break;
        }
    }
    int code = Z_OK;
    (void)gzerror(f, &code);
    return code == Z_OK || code == Z_STREAM_END ? 0 : gz_error(f, path, reterr);
}

json_t *input_json(const char *path, struct err *reterr)
{
    AUTO_BUF struct buf text;
    buf_init(&text, INPUT_FILE_MAX);
    if (input_read(path, &text, reterr) != 0) {
        return NULL;
    }
    return jsonx_parse(text.p, text.n, path, reterr);
}

/* ---- folders --------------------------------------------------------------------------------- */

struct walk {
    struct arena *a;
    const char **v;
    size_t n, cap;
    struct err *err;
};

static bool wanted(const char *name)
{
    static const char *const ends[] = {".json", ".yaml", ".yml", ".json.gz", ".yaml.gz", ".yml.gz"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (str_ends(name, ends[i])) {
            return true;
        }
    }
    return false;
}

static void close_dir(DIR **d)
{
    if (*d) {
        (void)closedir(*d);
    }
}

static int walk_folder(struct walk *w, const char *path, unsigned depth);

static int walk_entry(struct walk *w, const char *folder, const char *name, unsigned depth)
{
    struct stat st;
    const char *sep = str_ends(folder, "/") ? "" : "/";
    const char *path = arena_printf(w->a, "%s%s%s", folder, sep, name);
    if (stat(path, &st) != 0) {
        return os_error(w->err, path, errno);
    }
    if (S_ISDIR(st.st_mode)) {
        return walk_folder(w, path, depth + 1);
    }
    if (!S_ISREG(st.st_mode) || !wanted(name)) {
        return 0;
    }
    if (w->n >= INPUT_FILES_MAX) {
        return err_set(w->err, ERR_LIMIT, "%s: more than %u files", folder, INPUT_FILES_MAX);
    }
    ARENA_GROW(w->a, w->v, w->n, w->cap);
    w->v[w->n++] = path;
    return 0;
}

static int walk_folder(struct walk *w, const char *path, unsigned depth)
{
    if (depth > INPUT_DEPTH_MAX) {
        return err_set(w->err, ERR_LIMIT, "%s: more than %u folders deep", path, INPUT_DEPTH_MAX);
    }
    CLEANUP(close_dir) DIR *d = opendir(path);
    if (!d) {
        return os_error(w->err, path, errno);
    }
    for (;;) {
        const struct dirent *e = readdir(d);
        if (!e) {
            return 0;
        }
        if (e->d_name[0] != '.' && walk_entry(w, path, e->d_name, depth) != 0) {
            return -1;
        }
    }
}

int input_files(struct arena *a, const char *path, const char *const **ret, size_t *ret_n,
                struct err *reterr)
{
    struct walk w = {.a = a, .err = reterr};
    struct stat st;
    bool folder = !str_eq(path, "-") && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    if (!folder) {
        ARENA_GROW(a, w.v, w.n, w.cap);
        w.v[w.n++] = arena_strdup(a, path);
    } else if (walk_folder(&w, path, 0) != 0) {
        return -1;
    }
    if (w.n > 1) {
        qsort(w.v, w.n, sizeof(*w.v), str_qsort_cmp);
    }
    *ret = w.v;
    *ret_n = w.n;
    return 0;
}
