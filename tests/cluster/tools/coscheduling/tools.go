//go:build tools

// Package tools pins the scheduler and controller of scheduler-plugins. The build tag keeps
// it out of every build; the imports keep the module in go.mod.
package tools

import (
	_ "sigs.k8s.io/scheduler-plugins/cmd/controller"
	_ "sigs.k8s.io/scheduler-plugins/cmd/scheduler"
)
