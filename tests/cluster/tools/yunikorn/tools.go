//go:build tools

// Package tools pins YuniKorn's scheduler. The build tag keeps it out of every build; the
// imports keep the module in go.mod.
package tools

import _ "github.com/apache/yunikorn-k8shim/pkg/cmd/shim"
