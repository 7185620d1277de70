package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// packaging are the labels that say how an object came into the cluster.
var packaging = []string{"helm.sh/chart", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by"}

var separator = regexp.MustCompile(`(?m)^---\s*$`)

// objects prints every object in one form and order, without its packaging: what is left must be equal, whoever rendered
// it. Namespaces and Helm's hooks are passed over, for not every packaging has them. Bare: without any labels.
func objects(in io.Reader, out io.Writer, bare bool) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var printed []string
	for _, document := range separator.Split(string(text), -1) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return err
		}
		if object == nil || object["kind"] == "Namespace" || isHook(object) {
			continue
		}
		unpack(object, bare)
		form, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		metadata := object["metadata"].(map[string]any)
		head := fmt.Sprintf("# %v %v/%v\n", object["kind"], metadata["namespace"], metadata["name"])
		printed = append(printed, head+string(form))
	}
	slices.Sort(printed)
	_, err = io.WriteString(out, strings.Join(printed, "---\n"))
	return err
}

func isHook(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	_, hook := annotations["helm.sh/hook"]
	return hook
}

// unpack takes the packaging off an object and the pods that it makes.
func unpack(value any, bare bool) {
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		labels, _ := metadata["labels"].(map[string]any)
		for _, label := range packaging {
			delete(labels, label)
		}
		if bare {
			delete(metadata, "labels")
		}
	}
	for _, inner := range object {
		unpack(inner, bare)
	}
}
