//go:build tools

// Package tools pins Volcano's scheduler, controllers and webhooks. The build tag keeps it
// out of every build; the imports keep the module in go.mod.
package tools

import (
	_ "volcano.sh/volcano/cmd/controller-manager"
	_ "volcano.sh/volcano/cmd/scheduler"
	_ "volcano.sh/volcano/cmd/webhook-manager"
)
