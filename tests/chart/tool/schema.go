package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"sigs.k8s.io/yaml"
)

// nullable are the values that null removes on purpose. Their templates handle the absence.
var nullable = []string{
	".config",
	".webhook.replicas", ".webhook.resources.limits", ".webhook.resources.requests",
	".controller.replicas", ".controller.resources.limits", ".controller.resources.requests",
	".podSecurityContext.seccompProfile",
}

// threshold matches a number that the chart's values replace, as the template of the alerts does.
var threshold = regexp.MustCompile(`\([0-9.]+\)`)

// valuesSchema writes the hand-written schema of the values of `chart`, with the configuration's schema in place of `config`,
// the names of the alerts, and the default values as required: Helm removes a value that is null before it checks the schema, so
// that templates would print its absence.
func valuesSchema(out io.Writer, chart, configuration string) error {
	var values, config, defaults schema
	var alerts struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	for file, into := range map[string]any{
		filepath.Join(chart, "values.schema.yaml"): &values,
		filepath.Join(chart, "values.yaml"):        &defaults,
		filepath.Join(chart, "files/alerts.yaml"):  &alerts,
		configuration: &config,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	require(values, defaults, "")
	names, thresholds := []string{}, []string{}
	for _, group := range alerts.Groups {
		for _, rule := range group.Rules {
			names = append(names, rule.Alert)
			if threshold.MatchString(rule.Expr) {
				thresholds = append(thresholds, rule.Alert)
			}
		}
	}
	values["$defs"].(schema)["alert"] = schema{"enum": names}
	values["$defs"].(schema)["threshold"] = schema{"enum": thresholds}
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

// require makes the keys of `defaults` required, wherever the form lists its properties.
func require(form, defaults schema, path string) {
	properties, _ := form["properties"].(schema)
	required := []string{}
	for key, value := range defaults {
		property, known := properties[key].(schema)
		if !known {
			continue
		}
		if inner, ok := value.(schema); ok {
			require(property, inner, path+"."+key)
		}
		if !slices.Contains(nullable, path+"."+key) {
			required = append(required, key)
		}
	}
	if len(required) > 0 {
		slices.Sort(required)
		form["required"] = required
	}
}
