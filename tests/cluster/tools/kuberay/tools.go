//go:build tools

// Package tools pins KubeRay's operator. The build tag keeps it
// out of every build; the imports keep the module in go.mod.
package tools

import _ "github.com/ray-project/kuberay/ray-operator"
