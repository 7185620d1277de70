package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"
)

// valuesSchema writes the hand-written schema of the values, with the configuration's schema in place of `config`.
func valuesSchema(out io.Writer, base, configuration string) error {
	var values, config schema
	for file, into := range map[string]*schema{base: &values, configuration: &config} {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	// These two belong to the document. The chart writes them, so that values must not.
	for _, key := range []string{"$schema", "title", "required"} {
		delete(config, key)
	}
	sections := config["properties"].(schema)
	delete(sections, "apiVersion")
	delete(sections, "kind")
	shared, _ := config["$defs"].(schema)
	delete(config, "$defs")
	for name, definition := range shared {
		values["$defs"].(schema)[name] = definition
	}
	values["properties"].(schema)["config"] = config
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(values)
}
