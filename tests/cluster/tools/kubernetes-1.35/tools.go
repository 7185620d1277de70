//go:build tools

// Package tools pins the Kubernetes binaries that the test cluster runs. The
// build tag keeps it out of every build; the imports keep the modules in go.mod.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
