package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

type schema = map[string]any

const quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"

// openapi converts published object definitions into JSON schemas for kubeconform. A file is Kubernetes' swagger.json
// or the manifest of a CustomResourceDefinition. The schemas are strict: unknown fields are rejected, as with `kubectl
// apply --validate=strict`.
func openapi(out string, files []string) error {
	for _, file := range files {
		if err := convert(out, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func convert(out, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var document schema
	if err := yaml.Unmarshal(text, &document); err != nil {
		return err
	}
	if document["kind"] == "CustomResourceDefinition" {
		return convertDefinition(out, document)
	}
	definitions, _ := document["definitions"].(schema)
	for _, definition := range definitions {
		tighten(definition.(schema))
	}
	// It is always serialized as a string, but a number is valid as well.
	definitions[quantity].(schema)["type"] = []any{"string", "number"}
	for name, definition := range definitions {
		kinds, _ := definition.(schema)["x-kubernetes-group-version-kind"].([]any)
		for _, each := range kinds {
			kind := each.(schema)
			if err := write(out, kind["group"], kind["version"], kind["kind"], closure(definitions, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func convertDefinition(out string, document schema) error {
	spec := document["spec"].(schema)
	for _, each := range spec["versions"].([]any) {
		version := each.(schema)
		form := version["schema"].(schema)["openAPIV3Schema"].(schema)
		// Fields of every object, whose schema the definition leaves to the apiserver.
		form["properties"].(schema)["metadata"] = schema{"type": "object"}
		tighten(form)
		if err := write(out, spec["group"], version["name"], spec["names"].(schema)["kind"], form); err != nil {
			return err
		}
	}
	return nil
}

// closure returns the definition with all definitions that it refers to.
func closure(definitions schema, name string) schema {
	needed := schema{}
	var visit func(any)
	visit = func(value any) {
		switch value := value.(type) {
		case schema:
			if reference, ok := value["$ref"].(string); ok {
				other := strings.TrimPrefix(reference, "#/definitions/")
				if _, seen := needed[other]; !seen {
					needed[other] = definitions[other]
					visit(definitions[other])
				}
			}
			for _, inner := range value {
				visit(inner)
			}
		case []any:
			for _, inner := range value {
				visit(inner)
			}
		}
	}
	visit(definitions[name])
	return schema{"allOf": []any{definitions[name]}, "definitions": needed}
}

// tighten rejects unknown fields, and translates OpenAPI formats and extensions into JSON Schema.
func tighten(form schema) {
	_, listed := form["properties"]
	_, open := form["additionalProperties"]
	if listed && !open && form["x-kubernetes-preserve-unknown-fields"] != true {
		form["additionalProperties"] = false
	}
	if form["format"] == "int-or-string" || form["x-kubernetes-int-or-string"] == true {
		form["type"] = []any{"string", "integer"}
		delete(form, "anyOf")
	}
	delete(form, "format")
	properties, _ := form["properties"].(schema)
	inners := []any{form["items"], form["additionalProperties"]}
	for _, inner := range properties {
		inners = append(inners, inner)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		several, _ := form[key].([]any)
		inners = append(inners, several...)
	}
	for _, inner := range inners {
		if inner, ok := inner.(schema); ok {
			tighten(inner)
		}
	}
}

// write stores a schema under the name that kubeconform expects.
func write(out string, group, version, kind any, form schema) error {
	text, err := json.Marshal(form)
	if err != nil {
		return err
	}
	// For the core group, kubeconform puts the version in its place.
	if group == "" {
		group = version
	}
	folder := filepath.Join(out, fmt.Sprintf("%s/%s", group, version))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, strings.ToLower(fmt.Sprintf("%s.json", kind))), text, 0o644)
}
