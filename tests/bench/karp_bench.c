/* karp_bench.c - the command line; see bench.h. */
#include "bench.h"

#include "common/base/str.h"

static const char help[] =
    "karp-bench times the decision core by itself, on inputs from files.\n"
    "\n"
    "  karp-bench schedule [--placement P | --baseline] [--only GLOB]\n"
    "      All inputs of --data in one table: time, claims, price, peak memory and pods left\n"
    "      over, with upstream Karpenter's figures beside ours, as recorded or, with --peer,\n"
    "      from a run right before. TIGHT: the cheapest plan, with which kube-scheduler would\n"
    "      leave STRANDED pods over; $/H: the plan that is carried out; BASELINE: what the\n"
    "      placement costs as Karpenter makes it, and with --baseline no more is done. BOUND: no\n"
    "      fleet that carries the pods costs less. P: Compatible (default) or Cheapest.\n"
    "  karp-bench schedule --types FILE --nodepool FILE... --pods FILE... [--plan "
    "FILE]\n"
    "      An input of one's own; --plan writes the placement as JSON.\n"
    "  karp-bench consolidate [--only GLOB]\n"
    "  karp-bench consolidate --types FILE --input FILE [--plan FILE]\n"
    "      Clusters: what one plan saves, the most that can be saved at all, upstream's first\n"
    "      command, and what it has saved once it finds no more.\n"
    "  karp-bench generate --pods N [--pools N] [--seed N] [--shape S] --out FOLDER\n"
    "      pods.json.gz and nodepools.json. Shapes: diverse generic spread-zone spread-host\n"
    "      affinity-zone anti-host preference.\n"
    "  karp-bench generate --pods N --nodes N [--pools N] [--seed N] [--shape S] --out FOLDER\n"
    "      cluster.json.gz, of --types (default builtin). Shapes: under over packed mixed.\n"
    "      The same seed gives the same files.\n"
    "  karp-bench types [--region R] --out FILE\n"
    "      The built-in EC2 catalog with its prices, as a file that --types and peers take.\n"
    "\n"
    "  --data FOLDER       inputs.json and what it names (default " BENCH_DATA ")\n"
    "  --types FILE        instance types described in full, or \"builtin\": EC2's at list prices\n"
    "  --region R          of the built-in ones (default " BENCH_REGION ")\n"
    "  --preference-policy Respect|Ignore|Reasonable   (default Respect; --data has its own)\n"
    "  --repeat N          runs per input, of which the median is told (default 3)\n"
    "  --peer PROGRAM      runs upstream on each input too (tests/bench/peer.sh builds it)\n"
    "  --record            writes what the peer says into inputs.json\n"
    "  -o table|json       (default table)\n"
    "\n"
    "The clock starts with decoded objects and ends with the decision. MIB is how far the\n"
    "resident size rises meanwhile. SLICE is the longest step of the agent's loop. BY-CPU is\n"
    "FASTER by processor time, which a busy machine leaves alone; upstream's includes\n"
    "collecting garbage. MOVED are the pods that move, LEAST the fewest that any plan of that\n"
    "saving moves. Files may be gzip.\n"
    "Exit status: 0, 1 if an input failed, 2 wrong usage.\n";

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
