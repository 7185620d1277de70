package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// nullValues prints one line for each default value of a chart and each of their sections: JSON of values in which only it is null.
func nullValues(out io.Writer, chart string) error {
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return err
	}
	var defaults map[string]any
	if err := yaml.Unmarshal(text, &defaults); err != nil {
		return err
	}
	return printNull(out, defaults, func(value any) any { return value })
}

// printNull prints a line for each key of a section. The function inserts the section into the values.
func printNull(out io.Writer, section map[string]any, insert func(any) any) error {
	for _, key := range slices.Sorted(maps.Keys(section)) {
		insertKey := func(value any) any { return insert(map[string]any{key: value}) }
		line, err := json.Marshal(insertKey(nil))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, string(line)); err != nil {
			return err
		}
		if inner, ok := section[key].(map[string]any); ok {
			if err := printNull(out, inner, insertKey); err != nil {
				return err
			}
		}
	}
	return nil
}
