//go:build tools

// Package controlplane holds on to the binaries of a real control plane, so that go.mod and go.sum
// pin what the end-to-end tests run against. The staging modules carry the release's own number.
package controlplane

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
