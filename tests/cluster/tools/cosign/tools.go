//go:build tools

// Package tools pins the program that signs a release. The build tag keeps it out of every
// build; the imports keep the modules in go.mod.
package tools

import (
	_ "github.com/sigstore/cosign/v3/cmd/cosign"
)
