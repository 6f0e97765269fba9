/*
 * complete.h - what the shell may offer behind `kubectl karp`.
 *
 * kubectl asks the program kubectl_complete-karp on PATH, with the words behind "karp", of which
 * the last is the one being typed, perhaps "". Ours is a line of shell that `kubectl karp
 * completion` writes and that runs `kubectl-karp __complete WORDS...`. Answered are lines
 * "CHOICE<TAB>WHAT IT IS" and ":N", cobra's directive: ":4", no file names, or ":0", file names
 * where an option takes a file.
 *
 * Offered are commands, kinds behind explain and history, options and the choices that options
 * have. Nothing is asked of a cluster: an answer may not take long, ask a person, or run a program
 * that does.
 */
#ifndef KARP_CMD_COMPLETE_H
#define KARP_CMD_COMPLETE_H

#include "cmd.h"

void complete_words(const struct cmd_info *const *commands, size_t n_commands, int n,
                    const char *const *words, struct buf *out);

#endif
