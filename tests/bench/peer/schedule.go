package main

import (
	"context"
	"runtime/debug"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
)

type scheduleReport struct {
	Kind              string  `json:"kind"`
	Input             string  `json:"input"`
	Policy            string  `json:"preferencePolicy"`
	Pods              int     `json:"pods"`
	Milliseconds      float64 `json:"milliseconds"`
	CPUMilliseconds   float64 `json:"cpuMilliseconds"` // with setup and collecting garbage
	SetupMilliseconds float64 `json:"setupMilliseconds"`
	PeakRSSBytes      int64   `json:"peakRssBytes"`
	Claims            int     `json:"claims"`
	Unschedulable     int     `json:"unschedulable"`
	PricePerHour      float64 `json:"pricePerHour"`
}

// solve is one run with everything new; pods are the run's own.
func solve(ctx context.Context, pools []*v1.NodePool, types []*cloudprovider.InstanceType, pods []*corev1.Pod, ignore bool) (scheduling.Results, time.Duration, time.Duration, error) {
	opts := []scheduling.Options{scheduling.NumConcurrentReconciles(1)}
	if ignore {
		opts = append(opts, scheduling.IgnorePreferences)
	}
	byPool := map[string][]*cloudprovider.InstanceType{}
	for _, p := range pools {
		byPool[p.Name] = types
	}
	reader, clk := newStore(pools), clock.RealClock{}
	start := time.Now()
	cluster := state.NewCluster(clk, reader, &provider{types})
	topology, err := scheduling.NewTopology(ctx, reader, cluster, nil, pools, byPool, pods, opts...)
	if err != nil {
		return scheduling.Results{}, 0, 0, err
	}
	s := scheduling.NewScheduler(ctx, reader, pools, cluster, nil, topology, byPool, nil, silence{}, clk, nil, nil, opts...)
	ready := time.Now()
	results, err := s.Solve(ctx, pods)
	return results, ready.Sub(start), time.Since(ready), err
}

func schedule(a arguments) (any, error) {
	types, err := readTypes(a.types)
	if err != nil {
		return nil, err
	}
	pools, err := readPools(a.nodePool)
	if err != nil {
		return nil, err
	}
	pods, err := readPods(a.pods)
	if err != nil {
		return nil, err
	}
	ctx := background(a.policy)
	var setup, took, busy []time.Duration
	var results scheduling.Results
	debug.FreeOSMemory()
	forgetPeak()
	before := rss("VmRSS")
	for range a.repeat {
		var copies []*corev1.Pod
		for _, p := range pods {
			copies = append(copies, p.DeepCopy())
		}
		used := cpu()
		r, s, t, err := solve(ctx, pools, types, copies, a.policy == "Ignore")
		if err != nil {
			return nil, err
		}
		results, setup, took, busy = r, append(setup, s), append(took, t), append(busy, cpu()-used)
	}
	report := scheduleReport{
		Kind: "PeerSchedule", Input: a.pods, Policy: a.policy, Pods: len(pods),
		Milliseconds: median(took), SetupMilliseconds: median(setup), CPUMilliseconds: median(busy),
		PeakRSSBytes: rss("VmHWM") - before,
		Claims:       len(results.NewNodeClaims), Unschedulable: len(results.PodErrors),
	}
	for _, c := range results.NewNodeClaims {
		report.PricePerHour += cheapest(c)
	}
	return report, nil
}

// cheapest is what the cheapest offering costs that the claim may be launched as.
func cheapest(c *scheduling.NodeClaim) float64 {
	best := -1.0
	for _, it := range c.InstanceTypeOptions {
		for _, o := range it.Offerings.Available().Compatible(c.Requirements) {
			if best < 0 || o.Price < best {
				best = o.Price
			}
		}
	}
	return max(best, 0)
}

func median(v []time.Duration) float64 {
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
	return milliseconds(v[len(v)/2])
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
