//go:build tools

// Package tools pins the lint of the workflows. The build tag keeps it out of every
// build; the imports keep the modules in go.mod.
package tools

import (
	_ "github.com/rhysd/actionlint/cmd/actionlint"
)
