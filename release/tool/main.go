// Command tool writes the parts of a release that no other program writes reproducibly. `release/run` calls it.
//
//	tool archive FILE DIR               a tar of a directory, compressed if FILE ends with gz
//	tool image FILE NAME ARCH=BINARY…   an OCI archive of images from scratch; prints the digest of their index
//	tool chart FILE NAME CHART.tgz      an OCI archive of a chart
//	tool sbom NAME [TARGET=BINARY]…     a CycloneDX document
//	tool licenses TARGET…               the licenses of all linked crates
//	tool crates BINARY SBOM             compares the metadata of cargo auditable with an SBOM
//	tool notes CHANGELOG VERSION        the section of the changelog
//
// The environment has VERSION, REVISION and SOURCE_DATE_EPOCH. The output depends on nothing else, in particular not on the
// time, the user and the directory.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// release is what all parts of a release have in common.
type release struct {
	version, revision string
	time              time.Time
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release/tool:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("no command: see the package's documentation")
	}
	command, rest := arguments[0], arguments[1:]
	minimum := map[string]int{"archive": 2, "image": 3, "chart": 3, "sbom": 2, "licenses": 1, "crates": 2, "notes": 2}
	if need, known := minimum[command]; !known || len(rest) < need {
		return fmt.Errorf("unknown command %q, or too few arguments: see the package's documentation", command)
	}
	release, err := readRelease()
	if err != nil {
		return err
	}
	switch command {
	case "archive":
		return writeArchive(rest[0], rest[1], release.time)
	case "image":
		return writeImage(release, rest[0], rest[1], rest[2:])
	case "chart":
		return writeChart(release, rest[0], rest[1], rest[2])
	case "sbom":
		return writeSBOM(release, rest[0], rest[1:])
	case "licenses":
		return writeLicenses(rest)
	case "crates":
		return compareCrates(rest[0], rest[1])
	default:
		return writeNotes(rest[0], rest[1])
	}
}

func readRelease() (release, error) {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return release{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	result := release{os.Getenv("VERSION"), os.Getenv("REVISION"), time.Unix(seconds, 0).UTC()}
	if result.version == "" || result.revision == "" {
		return release{}, fmt.Errorf("VERSION or REVISION is not set")
	}
	return result, nil
}

// binaries parses KEY=PATH arguments.
func binaries(arguments []string) ([][2]string, error) {
	var result [][2]string
	for _, argument := range arguments {
		key, path, found := strings.Cut(argument, "=")
		if !found || key == "" || path == "" {
			return nil, fmt.Errorf("%q is not KEY=PATH", argument)
		}
		result = append(result, [2]string{key, path})
	}
	return result, nil
}
