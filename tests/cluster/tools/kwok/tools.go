//go:build tools

// Package tools pins kwok, whose nodes and pods are told of and never run.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
