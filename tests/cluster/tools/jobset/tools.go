//go:build tools

// Package tools pins jobset. The build tag keeps it out of every build; the import
// keeps the module in go.mod.
package tools

import _ "sigs.k8s.io/jobset"
