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

const generated = "# Generated from charts/trainmesh by make chart-update. Do not edit.\n"

var (
	source     = regexp.MustCompile(`(?m)^# Source: [^/\n]+/templates/(.*)\.yaml\n`)
	helmLabels = regexp.MustCompile(`(?m)^ *(` + strings.Join(helmLabelKeys, "|") + `): .*\n`)
)

// kustomize writes Helm's output as the files of a kustomization, one for each template, with the comments but without
// Helm's labels and tests.
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
		document = helmLabels.ReplaceAllString(source.ReplaceAllString(document, ""), "")
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
