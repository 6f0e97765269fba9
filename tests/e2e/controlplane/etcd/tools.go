//go:build tools

// Package etcd holds on to the etcd server; it has a module of its own because its dependencies are
// newer than those of the Kubernetes release beside it.
package etcd

import _ "go.etcd.io/etcd/server/v3"
