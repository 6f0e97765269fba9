/*
 * keepfile.h - a piece of memory that outlives the process: a file, mapped and shared.
 *
 * What is written there is in the kernel's hands at once and is there again after a crash, whatever
 * the signal was; a machine that dies may lose it. Nothing is ever synchronized to the disk, so a
 * write costs what a write to memory costs.
 *
 * One process at a time: the file is locked while it is open. It always has exactly the size asked
 * for, all of it backed by storage (a full disk is an error here, not a SIGBUS later).
 */
#ifndef KARP_BASE_KEEPFILE_H
#define KARP_BASE_KEEPFILE_H

#include "err.h"

#include <stddef.h>

struct keepfile {
    int fd;
    void *mem;
    size_t size;
    char *path;
};

/* Opens or makes folder/name (mode 0600). Content of another size is dropped: all zeros.
 * ERR_NOT_FOUND: there is no such folder; ERR_CONFLICT: another process has it. */
int keepfile_open(struct keepfile *k, const char *folder, const char *name, size_t size,
                  struct err *reterr);
/* The content stays. Fine on one that is all zeros. */
void keepfile_close(struct keepfile *k);

#endif
