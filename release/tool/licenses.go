package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenseFile matches the names of files that a license requires to be distributed.
var licenseFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|copyright|notice|unlicense)`)

// sourceFile matches files about licenses that are none.
var sourceFile = regexp.MustCompile(`\.(rs|toml|json|ya?ml|sh|py)$`)

// ownLicense is the text of Apache-2.0. Some crates of the list below contain no license file.
const ownLicense = "LICENSE"

// withoutFile are crates whose archive contains no license file, and whose license is Apache-2.0.
var withoutFile = []string{"kube", "kube-client", "kube-core", "kube-runtime"}

// writeLicenses prints the license files of the crates that are linked for any of the targets. Equal texts are printed once.
func writeLicenses(targets []string) error {
	users := map[string][]string{}
	expressions := map[string]string{}
	for _, target := range targets {
		crates, err := linkedCrates(target)
		if err != nil {
			return err
		}
		for _, crate := range crates {
			if crate.checksum == "" {
				continue
			}
			expressions[crate.key()] = crate.license
			texts, err := licenseTexts(crate)
			if err != nil {
				return err
			}
			for _, text := range texts {
				if !slices.Contains(users[text], crate.key()) {
					users[text] = append(users[text], crate.key())
				}
			}
		}
	}
	keys := make([]string, 0, len(expressions))
	for key := range expressions {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	output := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(output, "Licenses of the %d crates that are linked into trainmesh, then their texts. Those of Rust's standard library are in\n"+
		"COPYRIGHT-library.html, and that of musl in MUSL.\n\n", len(keys))
	for _, key := range keys {
		fmt.Fprintf(output, "%s: %s\n", key, expressions[key])
	}
	texts := make([]string, 0, len(users))
	for text, crates := range users {
		slices.Sort(crates)
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int {
		if order := strings.Compare(users[a][0], users[b][0]); order != 0 {
			return order
		}
		return strings.Compare(a, b)
	})
	for _, text := range texts {
		fmt.Fprintf(output, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 100), strings.Join(users[text], ", "), text)
	}
	return output.Flush()
}

// licenseTexts returns the license files of a crate.
func licenseTexts(crate crate) ([]string, error) {
	var paths []string
	// Crates with code of others have further files in subdirectories.
	err := filepath.WalkDir(crate.dir, func(path string, item fs.DirEntry, err error) error {
		if err == nil && item.Type().IsRegular() && licenseFile.MatchString(item.Name()) && !sourceFile.MatchString(item.Name()) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		if !slices.Contains(withoutFile, crate.name) || crate.license != "Apache-2.0" {
			return nil, fmt.Errorf("%s (%s) contains no license file: find its text", crate.key(), crate.license)
		}
		paths = []string{ownLicense}
	}
	var texts []string
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(content), "\r\n", "\n")))
	}
	return texts, nil
}
