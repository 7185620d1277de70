//go:build tools

// Package tools pins the checks of a release. The build tag keeps it out of every
// build; the imports keep the modules in go.mod.
package tools

import (
	_ "github.com/CycloneDX/sbom-utility"
	_ "sigs.k8s.io/krew/cmd/validate-krew-manifest"
)
