#!/usr/bin/env bash
# With the options against flapping on no pod is moved twice within an hour, and no node replaced by its equal: a few hours
# of a swinging load (tests/bench/stability.py). Another binary: KARP_SIM=path.
exec "$(dirname "$0")/../bench/stability.sh" 4
