/* karp_bench.c - the command line; see bench.h. */
#include "bench.h"

#include "common/base/str.h"

static const char help[] =
    "karp-bench times the decision core by itself, on inputs from files.\n"
    "\n"
    "  karp-bench schedule --baseline [--only GLOB]\n"
    "      All inputs of --data (default " BENCH_DATA "), in one table: time, claims, price, peak\n"
    "      memory and pods left over, with upstream Karpenter's figures beside ours, as recorded "
    "or,\n"
    "      with --peer, from a run right before. BOUND: no fleet that carries the pods costs "
    "less.\n"
    "  karp-bench schedule --baseline --types FILE --nodepool FILE... --pods FILE... [--plan "
    "FILE]\n"
    "      An input of one's own. --plan writes the placement as JSON.\n"
    "  karp-bench consolidate [--only GLOB]\n"
    "  karp-bench consolidate --types FILE --input FILE [--plan FILE]\n"
    "      The same for clusters: what can be saved, what is, and upstream's first command.\n"
    "  karp-bench generate --seed N --pods N [--nodes N] [--pools N] [--shape S] --out FOLDER\n"
    "      Makes inputs: pods.json.gz and nodepools.json, with --nodes cluster.json.gz too. "
    "Shapes\n"
    "      of pods: diverse generic spread-zone spread-host affinity-zone anti-host preference; "
    "of\n"
    "      clusters: under over packed mixed. The same seed gives the same files.\n"
    "  karp-bench types [--region R] --out FILE\n"
    "      The built-in EC2 catalog with its prices as a file that --types and the peer take.\n"
    "\n"
    "  --types FILE        instance types described in full, or \"builtin\": EC2's, with list "
    "prices\n"
    "  --region R          of the built-in ones (default " BENCH_REGION ")\n"
    "  --preference-policy Respect|Ignore|Reasonable   (default Respect; --data has its own)\n"
    "  --repeat N          runs per input, of which the median is told (default 3)\n"
    "  --peer PROGRAM      runs upstream on each input too (tests/bench/peer.sh builds it)\n"
    "  --record            writes what the peer says into the folder's inputs.json\n"
    "  -o table|json       (default table)\n"
    "\n"
    "The clock starts with decoded objects and ends with the decision. MIB is how far the "
    "resident\n"
    "size rises meanwhile. Files may be gzip. Exit status: 0, 1 if an input failed, 2 wrong "
    "usage.\n";

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } commands[] = {{"schedule", bench_schedule},
                    {"consolidate", bench_consolidate},
                    {"generate", bench_generate},
                    {"types", bench_types}};
    for (int i = 1; i < argc; i++) {
        if (str_eq(argv[i], "--help") || str_eq(argv[i], "-h")) {
            (void)fputs(help, stdout);
            return 0;
        }
    }
    for (size_t i = 0; argc > 1 && i < ARRAY_LEN(commands); i++) {
        if (str_eq(argv[1], commands[i].name)) {
            return commands[i].run(argc - 2, argv + 2);
        }
    }
    (void)fputs(help, stderr);
    return 2;
}
