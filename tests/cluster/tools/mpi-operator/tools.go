//go:build tools

// Package tools pins mpi-operator. The build tag keeps it out of every build; the import
// keeps the module in go.mod.
package tools

import _ "github.com/kubeflow/mpi-operator/cmd/mpi-operator"
