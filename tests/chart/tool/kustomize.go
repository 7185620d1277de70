package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const generated = "# Made of charts/trainmesh: tests/chart/run --update\n"

var (
	source = regexp.MustCompile(`(?m)^# Source: [^/\n]+/templates/(.*)\.yaml\n`)
	helms  = regexp.MustCompile(`(?m)^ *(` + strings.Join(packaging, "|") + `): .*\n`)
)

// kustomize writes what Helm has rendered as the files of a kustomization, one for each template, with its comments but
// without the labels that speak of Helm. Helm's own tests are left out.
func kustomize(in io.Reader, out string) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	files := map[string][]string{}
	for _, document := range separator.Split(string(text), -1) {
		match := source.FindStringSubmatch(document)
		if match == nil || strings.HasPrefix(match[1], "tests/") {
			continue
		}
		name := strings.ReplaceAll(match[1], "/", "-") + ".yaml"
		document = helms.ReplaceAllString(source.ReplaceAllString(document, ""), "")
		files[name] = append(files[name], strings.Trim(document, "\n")+"\n")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, documents := range files {
		content := generated + strings.Join(documents, "---\n")
		if err := os.WriteFile(filepath.Join(out, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	names := slices.Sorted(maps.Keys(files))
	list := generated + `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- namespace.yaml
- ` + strings.Join(names, "\n- ") + "\n"
	namespace := generated + `apiVersion: v1
kind: Namespace
metadata:
  name: trainmesh-system
  labels:
    pod-security.kubernetes.io/enforce: restricted
`
	if err := os.WriteFile(filepath.Join(out, "namespace.yaml"), []byte(namespace), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "kustomization.yaml"), []byte(list), 0o644)
}
