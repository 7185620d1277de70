//go:build tools

// Package tools pins Kueue. The build tag keeps it
// out of every build; the imports keep the module in go.mod.
package tools

import _ "sigs.k8s.io/kueue/cmd/kueue"
