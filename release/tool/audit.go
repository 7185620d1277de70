package main

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// compareCrates compares the crates that `cargo auditable` recorded in a binary, from which scanners find vulnerable versions,
// with those of an SBOM.
func compareCrates(binary, sbom string) error {
	recorded, err := recordedCrates(binary)
	if err != nil {
		return fmt.Errorf("%s: %w", binary, err)
	}
	content, err := os.ReadFile(sbom)
	if err != nil {
		return err
	}
	var document struct {
		Components []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(content, &document); err != nil {
		return fmt.Errorf("%s: %w", sbom, err)
	}
	listed := map[string]bool{}
	for _, component := range document.Components {
		if strings.HasPrefix(component.Purl, "pkg:cargo/") {
			listed[component.Name+" "+component.Version] = true
		}
	}
	var missing []string
	for key := range listed {
		if !recorded[key] {
			missing = append(missing, key+" is not in the binary's metadata")
		}
	}
	slices.Sort(missing)
	if len(listed) < 100 || len(missing) > 0 {
		return fmt.Errorf("%d crates in %s, %d in the binary: %s", len(listed), sbom, len(recorded), strings.Join(missing, ", "))
	}
	return nil
}

// recordedCrates reads the section that `cargo auditable` adds: JSON, compressed by zlib.
func recordedCrates(path string) (map[string]bool, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	section := file.Section(".dep-v0")
	if section == nil {
		return nil, fmt.Errorf("no section .dep-v0: it was not built by cargo auditable")
	}
	compressed, err := section.Data()
	if err != nil {
		return nil, err
	}
	reader, err := zlib.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	var metadata struct {
		Packages []struct{ Name, Version, Kind string }
	}
	if err := json.NewDecoder(reader).Decode(&metadata); err != nil {
		return nil, err
	}
	result := map[string]bool{}
	for _, item := range metadata.Packages {
		if item.Kind != "build" {
			result[item.Name+" "+item.Version] = true
		}
	}
	return result, nil
}
