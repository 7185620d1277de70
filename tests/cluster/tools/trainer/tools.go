//go:build tools

// Package tools pins Kubeflow Trainer. The build tag keeps it out of every build; the import
// keeps the module in go.mod.
package tools

import _ "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager"
