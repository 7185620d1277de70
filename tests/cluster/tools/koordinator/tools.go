//go:build tools

// Package tools pins Koordinator's scheduler. The build tag keeps it
// out of every build; the imports keep the module in go.mod.
package tools

import _ "github.com/koordinator-sh/koordinator/cmd/koord-scheduler"
