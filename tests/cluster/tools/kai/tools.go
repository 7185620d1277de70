//go:build tools

// Package tools pins KAI-Scheduler, its podgrouper and its binder. The build tag keeps it
// out of every build; the imports keep the module in go.mod.
package tools

import (
	_ "github.com/NVIDIA/KAI-scheduler/cmd/binder"
	_ "github.com/NVIDIA/KAI-scheduler/cmd/podgrouper"
	_ "github.com/NVIDIA/KAI-scheduler/cmd/scheduler"
)
