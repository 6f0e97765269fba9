// Command peer runs upstream Karpenter's scheduler and consolidation on the files that karp-bench reads,
// with one worker as Karpenter does by default, and prints one JSON object per run.
//
//	peer schedule --types FILE --nodepool FILE --pods FILE [--preference-policy Respect|Ignore] [--repeat N]
//	peer consolidate --types FILE --cluster FILE [--single] [--rest]
//
// Only exported packages of sigs.k8s.io/karpenter are used; no API server is behind them, but a store
// in memory (store.go) that answers as the informer cache does, with copies. Files may be gzip.
//
// milliseconds of `schedule` is Solve alone, the median of all runs, each with a new scheduler; what
// leads up to it is setupMilliseconds. Of `consolidate` it is finding candidates and computing the
// first command, without the 15 seconds that Karpenter then waits before it looks again. peakRssBytes
// is how far the resident size rose above what decoded input needs.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
)

const usage = `usage: peer schedule --types FILE --nodepool FILE --pods FILE [--preference-policy Respect|Ignore] [--repeat N]
       peer consolidate --types FILE --cluster FILE [--single] [--rest]`

type arguments struct {
	types, nodePool, pods, cluster, policy string
	repeat                                 int
	single, rest                           bool
}

func parse(args []string) (string, arguments, error) {
	var a arguments
	if len(args) == 0 {
		return "", a, fmt.Errorf("schedule or consolidate?")
	}
	fs := flag.NewFlagSet(args[0], flag.ContinueOnError)
	fs.StringVar(&a.types, "types", "", "instance types, described in full")
	fs.StringVar(&a.nodePool, "nodepool", "", "a NodePool or a List of them")
	fs.StringVar(&a.pods, "pods", "", "a List of pods")
	fs.StringVar(&a.cluster, "cluster", "", "nodePool, nodeClaims, nodes and pods")
	fs.StringVar(&a.policy, "preference-policy", "Respect", "Respect or Ignore")
	fs.IntVar(&a.repeat, "repeat", 1, "runs, of which the median is told")
	fs.BoolVar(&a.single, "single", false, "the single-node pass too where the multi-node pass found something")
	fs.BoolVar(&a.rest, "rest", false, "carry commands out until none is left")
	if err := fs.Parse(args[1:]); err != nil {
		return "", a, err
	}
	switch {
	case fs.NArg() > 0 || a.types == "" || a.repeat < 1 || (a.policy != "Respect" && a.policy != "Ignore"):
		return "", a, fmt.Errorf("options are missing or wrong")
	case args[0] == "schedule" && a.nodePool != "" && a.pods != "":
	case args[0] == "consolidate" && a.cluster != "":
	default:
		return "", a, fmt.Errorf("options are missing or wrong")
	}
	return args[0], a, nil
}

func main() {
	command, a, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "peer: %v\n%s\n", err, usage)
		os.Exit(2)
	}
	ctrllog.SetLogger(logging.NopLogger)
	var report any
	if command == "schedule" {
		report, err = schedule(a)
	} else {
		report, err = consolidate(a)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(report)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "peer: %v\n", err)
		os.Exit(1)
	}
}
