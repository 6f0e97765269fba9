package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
)

type pass struct {
	Milliseconds   float64 `json:"milliseconds"`
	Decision       string  `json:"decision"` // no-op, delete, replace
	NodesOut       int     `json:"nodesOut"`
	NodesIn        int     `json:"nodesIn"`
	PodsMoved      int     `json:"podsMoved"`
	SavingsPerHour float64 `json:"savingsPerHour"`
}

type rest struct {
	Commands       int     `json:"commands"`
	Nodes          int     `json:"nodes"`
	PodsMoved      int     `json:"podsMoved"`
	SavingsPerHour float64 `json:"savingsPerHour"`
	Milliseconds   float64 `json:"milliseconds"`
}

type consolidateReport struct {
	Kind              string  `json:"kind"`
	Input             string  `json:"input"`
	Nodes             int     `json:"nodes"`
	Pods              int     `json:"pods"`
	FleetPricePerHour float64 `json:"fleetPricePerHour"`
	Milliseconds      float64 `json:"milliseconds"` // to the first command, or to knowing that there is none
	CPUMilliseconds   float64 `json:"cpuMilliseconds"`
	PeakRSSBytes      int64   `json:"peakRssBytes"`
	Multi             pass    `json:"multi"`
	Single            *pass   `json:"single,omitempty"`
	Rest              *rest   `json:"rest,omitempty"`
}

// agrees is a validator that believes at once, without waiting.
type agrees struct{}

func (agrees) Validate(_ context.Context, c disruption.Command, _ time.Duration) (disruption.Command, error) {
	return c, nil
}

// karpenter is a cluster and what decides about it.
type karpenter struct {
	ctx         context.Context
	store       *store
	cloud       *provider
	clock       clock.Clock
	cluster     *state.Cluster
	provisioner *provisioning.Provisioner
	queue       *disruption.Queue
}

func newKarpenter(ctx context.Context, s *store, cloud *provider) (*karpenter, error) {
	k := &karpenter{ctx: ctx, store: s, cloud: cloud, clock: clock.RealClock{}}
	k.cluster = state.NewCluster(k.clock, s, cloud)
	for _, c := range s.claims {
		k.cluster.UpdateNodeClaim(c)
	}
	for _, name := range s.order {
		if err := k.cluster.UpdateNode(ctx, s.nodes[name]); err != nil {
			return nil, err
		}
		for _, p := range s.pods[name] {
			if err := k.cluster.UpdatePod(ctx, p); err != nil {
				return nil, err
			}
		}
	}
	k.provisioner = provisioning.NewProvisioner(s, silence{}, cloud, k.cluster, k.clock, nil, nil)
	k.queue = disruption.NewQueue(s, silence{}, k.cluster, k.clock, k.provisioner)
	return k, nil
}

func (k *karpenter) method(multi bool) disruption.Method {
	c := disruption.MakeConsolidation(k.clock, k.cluster, k.store, k.provisioner, k.cloud, silence{}, k.queue)
	if multi {
		return disruption.NewMultiNodeConsolidation(c, disruption.WithValidator(agrees{}))
	}
	return disruption.NewSingleNodeConsolidation(c, disruption.WithValidator(agrees{}))
}

// decide is one pass as Karpenter's controller makes it: candidates, budgets, commands.
func (k *karpenter) decide(m disruption.Method) ([]disruption.Command, error) {
	candidates, totals, err := disruption.GetCandidatesWithTotals(k.ctx, k.cluster, k.store, silence{}, k.clock, k.cloud, m.ShouldDisrupt, m.Class(), k.queue, nil)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	if s, ok := m.(disruption.NodePoolTotalsSetter); ok {
		s.SetNodePoolTotals(totals)
	}
	budgets, err := disruption.BuildDisruptionBudgetMapping(k.ctx, k.cluster, k.clock, k.store, k.cloud, silence{}, m.Reason())
	if err != nil {
		return nil, err
	}
	return m.ComputeCommands(k.ctx, budgets, candidates...)
}

func (k *karpenter) run(multi bool) (pass, *disruption.Command, error) {
	m := k.method(multi)
	start := time.Now()
	commands, err := k.decide(m)
	p := pass{Milliseconds: milliseconds(time.Since(start)), Decision: string(disruption.NoOpDecision)}
	if err != nil || len(commands) == 0 {
		return p, nil, err
	}
	c := &commands[0]
	p.Decision = string(c.Decision())
	p.NodesOut, p.NodesIn = len(c.Candidates), len(c.Replacements)
	for _, n := range c.Candidates {
		p.PodsMoved += len(k.store.pods[n.Name()])
	}
	p.SavingsPerHour = c.SourceCost()
	for _, r := range c.Replacements {
		p.SavingsPerHour -= cheapest(r.NodeClaim)
	}
	return p, c, nil
}

func (k *karpenter) fleetPrice() float64 {
	sum := 0.0
	for _, n := range k.store.nodes {
		for _, it := range k.cloud.types {
			if it.Name == n.Labels[corev1.LabelInstanceTypeStable] {
				price, _ := it.OfferingPrice(n.Labels[corev1.LabelTopologyZone], n.Labels[v1.CapacityTypeLabelKey])
				sum += price
			}
		}
	}
	return sum
}

func consolidate(a arguments) (any, error) {
	all, err := readTypes(a.types)
	if err != nil {
		return nil, err
	}
	var f clusterFile
	if err := readJSON(a.cluster, &f); err != nil {
		return nil, err
	}
	if f.NodePool.Name != "" {
		f.NodePools = append(f.NodePools, &f.NodePool)
	}
	s := newStore(f.NodePools)
	s.claims = f.NodeClaims
	for _, n := range f.Nodes {
		s.addNode(n)
	}
	for _, p := range f.Pods {
		s.addPod(p)
	}
	k, err := newKarpenter(background(a.policy), s, &provider{all})
	if err != nil {
		return nil, err
	}
	report := consolidateReport{Kind: "PeerConsolidate", Input: a.cluster, Nodes: len(f.Nodes), Pods: len(f.Pods), FleetPricePerHour: k.fleetPrice()}
	debug.FreeOSMemory()
	forgetPeak()
	before, used := rss("VmRSS"), cpu()
	if report.Multi, _, err = k.run(true); err != nil {
		return nil, err
	}
	report.Milliseconds, report.CPUMilliseconds = report.Multi.Milliseconds, milliseconds(cpu()-used)
	found := report.Multi.Decision != string(disruption.NoOpDecision)
	if !found || a.single {
		p, _, err := k.run(false)
		if err != nil {
			return nil, err
		}
		report.Single = &p
		if !found {
			report.Milliseconds += p.Milliseconds
			report.CPUMilliseconds = milliseconds(cpu() - used)
		}
	}
	report.PeakRSSBytes = rss("VmHWM") - before
	if a.rest {
		if report.Rest, err = k.toRest(filepath.Base(a.cluster)); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// toRest carries commands out, pods going where the simulation put them and replacements being what
// is cheapest, until neither pass finds one.
func (k *karpenter) toRest(name string) (*rest, error) {
	r, before, start := &rest{}, k.fleetPrice(), time.Now()
	for multi := true; ; {
		p, c, err := k.run(multi)
		if err != nil {
			return nil, err
		}
		if c == nil && !multi {
			break
		}
		if c == nil {
			multi = false
			continue
		}
		multi = true
		r.Commands++
		r.PodsMoved += p.PodsMoved
		if err := k.carryOut(c, fmt.Sprintf("new-%05d", r.Commands)); err != nil {
			return nil, fmt.Errorf("%s: command %d: %w", name, r.Commands, err)
		}
		next, err := newKarpenter(k.ctx, k.store, k.cloud)
		if err != nil {
			return nil, err
		}
		*k = *next
	}
	r.Nodes, r.SavingsPerHour, r.Milliseconds = len(k.store.nodes), before-k.fleetPrice(), milliseconds(time.Since(start))
	return r, nil
}

func (k *karpenter) carryOut(c *disruption.Command, name string) error {
	old := k.store
	s := newStore(old.pools)
	gone, to, moved := map[string]bool{}, map[types.NamespacedName]string{}, map[string]*v1.NodeClaim{}
	for _, n := range c.Candidates {
		gone[n.Name()] = true
	}
	for _, e := range c.Results.ExistingNodes {
		for _, p := range e.Pods {
			to[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = e.Name()
		}
	}
	for _, claim := range old.claims {
		if gone[claim.Status.NodeName] {
			moved[claim.Status.NodeName] = claim
		} else {
			s.claims = append(s.claims, claim)
		}
	}
	for _, n := range old.order {
		if !gone[n] {
			s.addNode(old.nodes[n])
		}
	}
	for i, r := range c.Replacements {
		full := fmt.Sprintf("%s-%d", name, i)
		like := c.Candidates[0].Name()
		node, claim, err := launched(full, r.NodeClaim, old.nodes[like], moved[like])
		if err != nil {
			return err
		}
		s.addNode(node)
		s.claims = append(s.claims, claim)
		for _, p := range r.NodeClaim.Pods {
			to[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = full
		}
	}
	for n, pods := range old.pods {
		for _, p := range pods {
			if gone[n] {
				target, ok := to[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}]
				if !ok {
					return fmt.Errorf("pod %s/%s goes nowhere", p.Namespace, p.Name)
				}
				p = p.DeepCopy()
				p.Spec.NodeName = target
			}
			s.addPod(p)
		}
	}
	k.store = s
	return nil
}

// launched is the node that a replacement becomes: the cheapest offering, everything else as of a
// node that it replaces.
func launched(name string, r *scheduling.NodeClaim, node *corev1.Node, claim *v1.NodeClaim) (*corev1.Node, *v1.NodeClaim, error) {
	var it *cloudprovider.InstanceType
	var offering *cloudprovider.Offering
	for _, t := range r.InstanceTypeOptions {
		for _, o := range t.Offerings.Available().Compatible(r.Requirements) {
			if offering == nil || o.Price < offering.Price {
				it, offering = t, o
			}
		}
	}
	if offering == nil {
		return nil, nil, fmt.Errorf("a replacement cannot be launched")
	}
	node, claim = node.DeepCopy(), claim.DeepCopy()
	for _, labels := range []map[string]string{node.Labels, claim.Labels} {
		labels[corev1.LabelInstanceTypeStable] = it.Name
		labels[corev1.LabelTopologyZone] = offering.Zone()
		labels[v1.CapacityTypeLabelKey] = offering.CapacityType()
		labels[corev1.LabelHostname] = name
	}
	node.Name, node.UID, node.Spec.ProviderID = name, types.UID(name), "peer:///"+name
	claim.Name, claim.UID = name, types.UID("claim-"+name)
	claim.Status.NodeName, claim.Status.ProviderID = name, node.Spec.ProviderID
	node.Status.Capacity, node.Status.Allocatable = it.Capacity.DeepCopy(), it.Allocatable().DeepCopy()
	claim.Status.Capacity, claim.Status.Allocatable = node.Status.Capacity, node.Status.Allocatable
	return node, claim, nil
}
