package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// program is the package of the binary.
const program = "trainmesh"

// crate is a package whose code is linked into a binary.
type crate struct {
	name, version, license string
	// Directory of its sources.
	dir string
	// SHA-256 of its archive in the registry; empty for packages of the workspace.
	checksum string
	// Keys of the crates that it uses.
	dependencies []string
}

// key identifies a crate; the lock file has each version once.
func (c crate) key() string { return c.name + " " + c.version }

// features returns the flags that select the features of a target. The binary for Windows has only commands that need no cluster.
func features(target string) []string {
	if strings.Contains(target, "-windows-") {
		return []string{"--no-default-features"}
	}
	return nil
}

// linkedCrates returns the crates that are linked for a target, without build scripts and macros, in order of their keys.
func linkedCrates(target string) ([]crate, error) {
	tree, err := cargo(append([]string{"tree", "--locked", "--package", program, "--target", target, "--edges", "normal,no-proc-macro",
		"--prefix", "none", "--no-dedupe", "--format", "{p}"}, features(target)...)...)
	if err != nil {
		return nil, err
	}
	linked := map[string]bool{}
	for line := range strings.Lines(string(tree)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			return nil, fmt.Errorf("cargo tree printed %q", line)
		}
		linked[fields[0]+" "+strings.TrimPrefix(fields[1], "v")] = true
	}
	checksums, err := lockedChecksums("Cargo.lock")
	if err != nil {
		return nil, err
	}
	output, err := cargo(append([]string{"metadata", "--locked", "--format-version", "1", "--filter-platform", target}, features(target)...)...)
	if err != nil {
		return nil, err
	}
	var metadata struct {
		Packages []struct {
			ID, Name, Version, License string
			ManifestPath               string `json:"manifest_path"`
		}
		Resolve struct {
			Nodes []struct {
				ID   string
				Deps []struct {
					Pkg      string
					DepKinds []struct{ Kind string } `json:"dep_kinds"`
				}
			}
		}
	}
	if err := json.Unmarshal(output, &metadata); err != nil {
		return nil, fmt.Errorf("cargo metadata: %w", err)
	}
	keys := map[string]string{}
	crates := map[string]*crate{}
	for _, item := range metadata.Packages {
		key := item.Name + " " + item.Version
		keys[item.ID] = key
		if linked[key] {
			license := strings.ReplaceAll(item.License, "/", " OR ")
			crates[key] = &crate{item.Name, item.Version, license, filepath.Dir(item.ManifestPath), checksums[key], nil}
		}
	}
	for _, node := range metadata.Resolve.Nodes {
		user := crates[keys[node.ID]]
		if user == nil {
			continue
		}
		for _, dependency := range node.Deps {
			normal := slices.ContainsFunc(dependency.DepKinds, func(kind struct{ Kind string }) bool { return kind.Kind == "" })
			if key := keys[dependency.Pkg]; normal && linked[key] {
				user.dependencies = append(user.dependencies, key)
			}
		}
		slices.Sort(user.dependencies)
	}
	var result []crate
	for key := range linked {
		if crates[key] == nil {
			return nil, fmt.Errorf("cargo metadata has no package %s", key)
		}
		result = append(result, *crates[key])
	}
	slices.SortFunc(result, func(a, b crate) int { return strings.Compare(a.key(), b.key()) })
	return result, nil
}

// lockedChecksums returns the checksums of a lock file.
func lockedChecksums(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	result := map[string]string{}
	var name, version string
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		key, value, _ := strings.Cut(scanner.Text(), " = ")
		value = strings.Trim(value, `"`)
		switch key {
		case "name":
			name = value
		case "version":
			version = value
		case "checksum":
			result[name+" "+version] = value
		}
	}
	return result, scanner.Err()
}

func cargo(arguments ...string) ([]byte, error) {
	name := os.Getenv("CARGO")
	if name == "" {
		name = "cargo"
	}
	command := exec.Command(name, arguments...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("cargo %s: %w\n%s", arguments[0], err, stderr.String())
	}
	return output, nil
}
