package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// runtimes are linked into every static binary, but are no crates of the lock file.
func runtimes(target string) ([]object, error) {
	output, err := exec.Command("rustc", "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("rustc --version: %w", err)
	}
	fields := strings.Fields(string(output))
	if len(fields) < 2 {
		return nil, fmt.Errorf("rustc --version printed %q", output)
	}
	result := []object{{
		"type": "library", "bom-ref": "pkg:github/rust-lang/rust@" + fields[1], "name": "std", "version": fields[1],
		"purl": "pkg:github/rust-lang/rust@" + fields[1], "licenses": []object{{"expression": "MIT OR Apache-2.0"}},
	}}
	if strings.HasSuffix(target, "-musl") {
		result = append(result, object{
			"type": "library", "bom-ref": "pkg:generic/musl@" + muslVersion, "name": "musl", "version": muslVersion,
			"purl": "pkg:generic/musl@" + muslVersion, "licenses": []object{{"license": object{"id": "MIT"}}},
		})
	}
	return result, nil
}

// muslVersion is that of the C library in the targets of Rust 1.95.
const muslVersion = "1.2.5"

// writeSBOM prints a CycloneDX document of one binary, or of an image of several.
func writeSBOM(release release, name string, arguments []string) error {
	binaries, err := binaries(arguments)
	if err != nil {
		return err
	}
	var applications []object
	components := map[string]object{}
	dependencies := map[string][]string{}
	for _, binary := range binaries {
		target, path := binary[0], binary[1]
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		crates, err := linkedCrates(target)
		if err != nil {
			return err
		}
		library, err := runtimes(target)
		if err != nil {
			return err
		}
		published := map[string]bool{}
		for _, crate := range crates {
			published[crate.key()] = crate.checksum != ""
		}
		// Two packages of the workspace have the names of published crates that they replace.
		reference := func(key string) string {
			kind := "pkg:generic/trainmesh/"
			if published[key] {
				kind = "pkg:cargo/"
			}
			return kind + strings.Replace(key, " ", "@", 1)
		}
		application := fmt.Sprintf("pkg:generic/%s@%s?target=%s", program, release.version, target)
		for _, crate := range crates {
			uses := []string{}
			for _, key := range crate.dependencies {
				uses = append(uses, reference(key))
			}
			if crate.name == program {
				for _, item := range library {
					uses = append(uses, item["bom-ref"].(string))
				}
				dependencies[application] = uses
				continue
			}
			dependencies[reference(crate.key())] = uses
			components[reference(crate.key())] = crate.component(reference(crate.key()))
		}
		for _, item := range library {
			components[item["bom-ref"].(string)] = item
		}
		applications = append(applications, object{
			"type": "application", "bom-ref": application, "name": program, "version": release.version, "purl": application,
			"hashes":   []object{{"alg": "SHA-256", "content": sha256Hex(content)}},
			"licenses": []object{{"license": object{"id": "Apache-2.0"}}},
		})
	}
	var root object
	if len(applications) == 1 {
		root = applications[0]
	} else {
		reference := fmt.Sprintf("pkg:generic/%s@%s", name, release.version)
		root = object{"type": "container", "bom-ref": reference, "name": name, "version": release.version, "purl": reference}
		for _, application := range applications {
			dependencies[reference] = append(dependencies[reference], application["bom-ref"].(string))
			components[application["bom-ref"].(string)] = application
		}
	}
	document := object{
		"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": object{
			"timestamp": release.time.Format(time.RFC3339), "component": root,
			"tools": object{"components": []object{{"type": "application", "name": "release/tool", "version": release.version}}},
		},
		"components": sorted(components),
	}
	var edges []object
	for reference, uses := range dependencies {
		slices.Sort(uses)
		edges = append(edges, object{"ref": reference, "dependsOn": slices.Compact(uses)})
	}
	slices.SortFunc(edges, func(a, b object) int { return strings.Compare(a["ref"].(string), b["ref"].(string)) })
	document["dependencies"] = edges
	// The serial number identifies the content, so that two builds of one commit have the same.
	content, err := json.Marshal(document)
	if err != nil {
		return err
	}
	sum := []byte(sha256Hex(content))
	sum[12], sum[16] = '8', 'a' // version 8 (custom) and variant of RFC 9562
	document["serialNumber"] = fmt.Sprintf("urn:uuid:%s-%s-%s-%s-%s", sum[:8], sum[8:12], sum[12:16], sum[16:20], sum[20:32])
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

func (c crate) component(reference string) object {
	component := object{"type": "library", "bom-ref": reference, "name": c.name, "version": c.version, "purl": reference}
	if c.license != "" {
		component["licenses"] = []object{{"expression": c.license}}
	}
	if c.checksum != "" {
		component["hashes"] = []object{{"alg": "SHA-256", "content": c.checksum}}
	}
	return component
}

func sorted(components map[string]object) []object {
	result := []object{}
	for _, component := range components {
		result = append(result, component)
	}
	slices.SortFunc(result, func(a, b object) int { return strings.Compare(a["bom-ref"].(string), b["bom-ref"].(string)) })
	return result
}
