package main

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"debug/pe"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// sectionName is that of the section that `cargo auditable` adds.
const sectionName = ".dep-v0"

var errNoSection = errors.New("no section " + sectionName + ": it was not built by cargo auditable")

// minCrates is fewer than any binary has: with less, the SBOM was not read correctly.
const minCrates = 50

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
	if len(listed) < minCrates || len(missing) > 0 {
		return fmt.Errorf("%d crates in %s, %d in the binary: %s", len(listed), sbom, len(recorded), strings.Join(missing, ", "))
	}
	return nil
}

// recordedCrates reads the section that `cargo auditable` adds: JSON, compressed by zlib.
func recordedCrates(path string) (map[string]bool, error) {
	compressed, err := auditSection(path)
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

// auditSection returns the section of an ELF file, or of a PE file, whose name ends with exe.
func auditSection(path string) ([]byte, error) {
	if strings.HasSuffix(path, ".exe") {
		file, err := pe.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return sectionData(file.Section(sectionName))
	}
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return sectionData(file.Section(sectionName))
}

// sectionData returns the content of a section; an absent one is nil.
func sectionData[S interface {
	comparable
	Data() ([]byte, error)
}](section S) ([]byte, error) {
	var absent S
	if section == absent {
		return nil, errNoSection
	}
	return section.Data()
}
