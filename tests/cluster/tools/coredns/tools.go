//go:build tools

// Package tools pins coredns. The build tag keeps it out of every build; the import
// keeps the module in go.mod.
package tools

import _ "github.com/coredns/coredns"
