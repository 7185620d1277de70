package main

import (
	"fmt"
	"os"
	"strings"
)

// writeNotes prints the section of a version, without its heading.
func writeNotes(changelog, version string) error {
	content, err := os.ReadFile(changelog)
	if err != nil {
		return err
	}
	sections := strings.Split("\n"+string(content), "\n## ")
	for _, section := range sections[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		if name, _, _ := strings.Cut(strings.Trim(heading, " "), " "); strings.Trim(name, "[]") == version {
			if strings.TrimSpace(text) == "" {
				return fmt.Errorf("%s: the section %s is empty", changelog, version)
			}
			fmt.Println(strings.TrimSpace(text))
			return nil
		}
	}
	return fmt.Errorf("%s has no section %s", changelog, version)
}
