/* keepfile.c - see keepfile.h. */
#include "keepfile.h"

#include "alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const struct keepfile *k, const char *what, struct err *reterr)
{
    enum err_kind kind = errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND
                         : errno == EWOULDBLOCK              ? ERR_CONFLICT
                                                             : ERR_UNAVAILABLE;
    return err_set(reterr, kind, "%s: %s: %s", k->path, what, strerror(errno));
}

static int set_size(struct keepfile *k, struct err *reterr)
{
    struct stat st;
    if (fstat(k->fd, &st) < 0) {
        return failed(k, "stat", reterr);
    }
    if (st.st_size != (off_t)k->size && ftruncate(k->fd, 0) < 0) {
        return failed(k, "truncate", reterr);
    }
    errno = posix_fallocate(k->fd, 0, (off_t)k->size);
    return errno ? failed(k, "allocate", reterr) : 0;
}

int keepfile_open(struct keepfile *k, const char *folder, const char *name, size_t size,
                  struct err *reterr)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    *k = (struct keepfile){.fd = -1, .size = size, .path = xcalloc(1, n)};
    snprintf(k->path, n, "%s/%s", folder, name);
    int rc = 0;
    k->fd = open(k->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (k->fd < 0) {
        rc = failed(k, "open", reterr);
    } else if (flock(k->fd, LOCK_EX | LOCK_NB) < 0) {
        rc = failed(k, "lock", reterr);
    } else if (set_size(k, reterr) < 0) {
        rc = -1;
    } else {
        k->mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, k->fd, 0);
        if (k->mem == MAP_FAILED) {
            k->mem = NULL;
            rc = failed(k, "map", reterr);
        }
    }
    if (rc < 0) {
        keepfile_close(k);
    }
    return rc;
}

void keepfile_close(struct keepfile *k)
{
    if (k->mem) {
        munmap(k->mem, k->size);
    }
    if (k->path && k->fd >= 0) {
        close(k->fd);
    }
    free(k->path);
    *k = (struct keepfile){.fd = -1};
}
