package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/nodepool"
	"sigs.k8s.io/karpenter/pkg/utils/resources"
)

// readJSON reads a file that may be gzip.
func readJSON(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = bufio.NewReader(f)
	if magic, err := r.(*bufio.Reader).Peek(2); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if r, err = gzip.NewReader(r); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := json.NewDecoder(r).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

type requirement struct {
	Key      string                      `json:"key"`
	Operator corev1.NodeSelectorOperator `json:"operator"`
	Values   []string                    `json:"values"`
}

func requirementsOf(list []requirement) scheduling.Requirements {
	reqs := scheduling.NewRequirements()
	for _, r := range list {
		reqs.Add(scheduling.NewRequirement(r.Key, r.Operator, r.Values...))
	}
	return reqs
}

// instanceType is a type as the files describe it: "in full", as kubectl karp --catalog takes it too.
type instanceType struct {
	Name         string              `json:"name"`
	Requirements []requirement       `json:"requirements"`
	Capacity     corev1.ResourceList `json:"capacity"`
	Allocatable  corev1.ResourceList `json:"allocatable"`
	Offerings    []struct {
		Available    bool          `json:"available"`
		Price        json.Number   `json:"price"`
		Requirements []requirement `json:"requirements"`
	} `json:"offerings"`
}

// readTypes puts all that is not allocatable down to kubelet; Karpenter only looks at the sum.
func readTypes(path string) ([]*cloudprovider.InstanceType, error) {
	var list []instanceType
	if err := readJSON(path, &list); err != nil {
		return nil, err
	}
	var types []*cloudprovider.InstanceType
	for _, t := range list {
		it := &cloudprovider.InstanceType{
			Name:         t.Name,
			Requirements: requirementsOf(t.Requirements),
			Capacity:     t.Capacity,
			Overhead:     &cloudprovider.InstanceTypeOverhead{KubeReserved: resources.Subtract(t.Capacity, t.Allocatable)},
		}
		if !it.Requirements.Has(corev1.LabelInstanceTypeStable) {
			it.Requirements.Add(scheduling.NewRequirement(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, t.Name))
		}
		zones := scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn)
		kinds := scheduling.NewRequirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn)
		for _, o := range t.Offerings {
			price, err := o.Price.Float64()
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, t.Name, err)
			}
			reqs := requirementsOf(o.Requirements)
			it.Offerings = append(it.Offerings, &cloudprovider.Offering{Requirements: reqs, Price: price, Available: o.Available})
			zones.Insert(reqs.Get(corev1.LabelTopologyZone).Values()...)
			kinds.Insert(reqs.Get(v1.CapacityTypeLabelKey).Values()...)
		}
		// What a provider says of a type beside its labels: where it is to be had at all.
		if !it.Requirements.Has(corev1.LabelTopologyZone) {
			it.Requirements.Add(zones)
		}
		if !it.Requirements.Has(v1.CapacityTypeLabelKey) {
			it.Requirements.Add(kinds)
		}
		types = append(types, it)
	}
	return types, nil
}

type clusterFile struct {
	NodePool   v1.NodePool    `json:"nodePool"`
	NodePools  []*v1.NodePool `json:"nodePools"`
	NodeClaims []*v1.NodeClaim
	Nodes      []*corev1.Node
	Pods       []*corev1.Pod
}

// readPools reads one NodePool or a List of them, heaviest first.
func readPools(path string) ([]*v1.NodePool, error) {
	var raw json.RawMessage
	if err := readJSON(path, &raw); err != nil {
		return nil, err
	}
	var list struct{ Items []*v1.NodePool }
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(list.Items) == 0 {
		list.Items = []*v1.NodePool{{}}
		if err := json.Unmarshal(raw, list.Items[0]); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	nodepool.OrderByWeight(list.Items)
	return list.Items, nil
}

func readPods(path string) ([]*corev1.Pod, error) {
	var list struct{ Items []*corev1.Pod }
	err := readJSON(path, &list)
	return list.Items, err
}
