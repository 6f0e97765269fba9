package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// store answers reads from memory, with copies unless the caller says that it needs none, as the
// informer cache. Kinds that the files do not have are empty. There are no writes: whatever else is
// called of the interface, there is nothing behind it.
type store struct {
	client.Client
	pools  []*v1.NodePool
	claims []*v1.NodeClaim
	nodes  map[string]*corev1.Node
	order  []string                 // of nodes
	pods   map[string][]*corev1.Pod // by node, "" = bound to none
}

func newStore(pools []*v1.NodePool) *store {
	return &store{pools: pools, nodes: map[string]*corev1.Node{}, pods: map[string][]*corev1.Pod{}}
}

func (s *store) addNode(n *corev1.Node) {
	s.nodes[n.Name] = n
	s.order = append(s.order, n.Name)
}

func (s *store) addPod(p *corev1.Pod) {
	s.pods[p.Spec.NodeName] = append(s.pods[p.Spec.NodeName], p)
}

func (s *store) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch o := into.(type) {
	case *corev1.Node:
		if n, ok := s.nodes[key.Name]; ok {
			n.DeepCopyInto(o)
			return nil
		}
	case *v1.NodePool:
		for _, p := range s.pools {
			if p.Name == key.Name {
				p.DeepCopyInto(o)
				return nil
			}
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
}

func (s *store) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	share := o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy
	switch list := into.(type) {
	case *corev1.PodList:
		list.Items = nil
		s.listPods(&o, func(p *corev1.Pod) { list.Items = append(list.Items, copied(p, share)) })
	case *corev1.NodeList:
		list.Items = nil
		for _, name := range s.order {
			list.Items = append(list.Items, copied(s.nodes[name], share))
		}
	case *v1.NodePoolList:
		list.Items = nil
		for _, p := range s.pools {
			list.Items = append(list.Items, copied(p, share))
		}
	case *v1.NodeClaimList:
		list.Items = nil
		for _, c := range s.claims {
			list.Items = append(list.Items, copied(c, share))
		}
	}
	return nil
}

func copied[T any, P interface {
	*T
	DeepCopy() *T
}](o P, share bool) T {
	if share {
		return *o
	}
	return *o.DeepCopy()
}

func (s *store) listPods(o *client.ListOptions, each func(*corev1.Pod)) {
	if o.FieldSelector != nil {
		if node, ok := o.FieldSelector.RequiresExactMatch("spec.nodeName"); ok {
			filtered(s.pods[node], o, each)
			return
		}
	}
	filtered(s.pods[""], o, each)
	for _, name := range s.order {
		filtered(s.pods[name], o, each)
	}
}

func filtered(pods []*corev1.Pod, o *client.ListOptions, each func(*corev1.Pod)) {
	for _, p := range pods {
		if o.Namespace != "" && p.Namespace != o.Namespace {
			continue
		}
		if o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(p.Labels)) {
			continue
		}
		each(p)
	}
}
