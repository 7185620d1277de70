package main

import (
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// gitopsValues writes the chart values of the manifest of a GitOps tool: those of an Application of Argo CD or a HelmRelease of Flux.
func gitopsValues(in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var found []any
	for _, document := range separator.Split(string(text), -1) {
		var manifest struct {
			Kind string
			Spec struct {
				Values any
				Source struct {
					Helm struct{ ValuesObject any }
				}
			}
		}
		if err := yaml.Unmarshal([]byte(document), &manifest); err != nil {
			return err
		}
		switch manifest.Kind {
		case "Application":
			found = append(found, manifest.Spec.Source.Helm.ValuesObject)
		case "HelmRelease":
			found = append(found, manifest.Spec.Values)
		}
	}
	if len(found) != 1 || found[0] == nil {
		return fmt.Errorf("%d manifests with values, expected one", len(found))
	}
	values, err := yaml.Marshal(found[0])
	if err != nil {
		return err
	}
	_, err = out.Write(values)
	return err
}
