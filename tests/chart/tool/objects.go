package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// packaging lists the labels that depend on the packaging tool.
var helmLabelKeys = []string{"helm.sh/chart", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by"}

var separator = regexp.MustCompile(`(?m)^---\s*$`)

// objects prints every object in one format and order, without packaging, so that the output of different tools can be
// compared. Namespaces and Helm's hooks are skipped, because not every tool has them. With bare, all labels are
// removed.
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
		removeLabels(object, bare)
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

// unpack removes the packaging from an object and its pod template.
func removeLabels(value any, bare bool) {
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		labels, _ := metadata["labels"].(map[string]any)
		for _, label := range helmLabelKeys {
			delete(labels, label)
		}
		if bare {
			delete(metadata, "labels")
		}
	}
	for _, inner := range object {
		removeLabels(inner, bare)
	}
}
