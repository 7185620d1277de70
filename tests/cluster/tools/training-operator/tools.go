//go:build tools

// Package tools pins training-operator. The build tag keeps it out of every build; the import
// keeps the module in go.mod.
package tools

import _ "github.com/kubeflow/training-operator/cmd/training-operator.v1"
