//go:build tools

// Package tools pins what the chart is tested with. The build tag keeps it out of every
// build; the imports keep the modules in go.mod.
package tools

import (
	_ "github.com/helm-unittest/helm-unittest/cmd/helm-unittest"
	_ "github.com/norwoodj/helm-docs/cmd/helm-docs"
	_ "github.com/yannh/kubeconform/cmd/kubeconform"
	_ "helm.sh/helm/v3/cmd/helm"
	_ "helm.sh/helm/v4/cmd/helm"
)
