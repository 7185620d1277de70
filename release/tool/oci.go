package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"sort"
	"strings"
	"time"
)

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
	// Media types of Helm's charts in registries.
	chartConfigType  = "application/vnd.cncf.helm.config.v1+json"
	chartContentType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// object is a JSON object, whose keys are written in lexical order.
type object = map[string]any

// layout collects the blobs of an OCI image layout.
type layout map[string][]byte

// add stores a blob and returns its descriptor.
func (l layout) add(mediaType string, content []byte) object {
	digest := sha256Hex(content)
	l["blobs/sha256/"+digest] = content
	return object{"mediaType": mediaType, "digest": "sha256:" + digest, "size": len(content)}
}

// addJSON stores a JSON object and returns its descriptor.
func (l layout) addJSON(mediaType string, value object) (object, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return l.add(mediaType, content), nil
}

// write writes the layout as an archive with one named root.
func (l layout) write(file, name string, root object, modified time.Time) error {
	_, tag, found := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	if !found {
		return fmt.Errorf("%s has no tag", name)
	}
	// containerd reads the complete name, other programs the tag.
	root["annotations"] = object{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}
	index, err := json.Marshal(object{"schemaVersion": 2, "mediaType": indexType, "manifests": []object{root}})
	if err != nil {
		return err
	}
	l["index.json"] = index
	l["oci-layout"] = []byte(`{"imageLayoutVersion":"1.0.0"}`)
	var entries []entry
	for path, content := range l {
		entries = append(entries, entry{name: path, content: content})
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].name < entries[j].name })
	archive, err := tarOf(entries, modified)
	if err != nil {
		return err
	}
	return os.WriteFile(file, archive, 0o644)
}

// writeImage writes an image of one file for each architecture, and the index of these images.
func writeImage(release release, file, name string, arguments []string) error {
	architectures, err := binaries(arguments)
	if err != nil {
		return err
	}
	created := release.time.Format(time.RFC3339)
	labels := object{
		"org.opencontainers.image.title":       "trainmesh",
		"org.opencontainers.image.description": "Distributed training on a service mesh with no manifest changed: webhook, controller and preview",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     release.version,
		"org.opencontainers.image.revision":    release.revision,
		"org.opencontainers.image.created":     created,
	}
	layout := layout{}
	var manifests []object
	for _, binary := range architectures {
		content, err := os.ReadFile(binary[1])
		if err != nil {
			return err
		}
		files, err := tarOf([]entry{{"trainmesh", true, content}}, release.time)
		if err != nil {
			return err
		}
		compressed, err := compress(files)
		if err != nil {
			return err
		}
		config, err := layout.addJSON(configType, object{
			"architecture": binary[0], "os": "linux", "created": created,
			// Numeric, because `runAsNonRoot` cannot verify a user name.
			"config":  object{"User": "65532:65532", "Entrypoint": []string{"/trainmesh"}, "Labels": labels},
			"rootfs":  object{"type": "layers", "diff_ids": []string{"sha256:" + sha256Hex(files)}},
			"history": []object{{"created": created, "created_by": "release/tool image"}},
		})
		if err != nil {
			return err
		}
		manifest, err := layout.addJSON(manifestType, object{
			"schemaVersion": 2, "mediaType": manifestType, "config": config,
			"layers": []object{layout.add(layerType, compressed)}, "annotations": labels,
		})
		if err != nil {
			return err
		}
		manifest["platform"] = object{"architecture": binary[0], "os": "linux"}
		manifests = append(manifests, manifest)
	}
	index, err := layout.addJSON(indexType, object{
		"schemaVersion": 2, "mediaType": indexType, "manifests": manifests, "annotations": labels,
	})
	if err != nil {
		return err
	}
	fmt.Println(index["digest"])
	return layout.write(file, name, index, release.time)
}

// writeChart writes the archive of a packaged chart, as `helm push` stores it in a registry.
func writeChart(release release, file, name, packaged string) error {
	content, err := os.ReadFile(packaged)
	if err != nil {
		return err
	}
	metadata, err := chartMetadata(content)
	if err != nil {
		return fmt.Errorf("%s: %w", packaged, err)
	}
	layout := layout{}
	config, err := layout.addJSON(chartConfigType, metadata)
	if err != nil {
		return err
	}
	manifest, err := layout.addJSON(manifestType, object{
		"schemaVersion": 2, "mediaType": manifestType, "config": config,
		"layers": []object{layout.add(chartContentType, content)},
		"annotations": object{
			"org.opencontainers.image.title":       metadata["name"],
			"org.opencontainers.image.description": metadata["description"],
			"org.opencontainers.image.version":     metadata["version"],
			"org.opencontainers.image.created":     release.time.Format(time.RFC3339),
		},
	})
	if err != nil {
		return err
	}
	return layout.write(file, name, manifest, release.time)
}

// chartMetadata returns the fields of Chart.yaml that hold one string. They are all that clients read.
func chartMetadata(packaged []byte) (object, error) {
	stream, err := gzip.NewReader(bytes.NewReader(packaged))
	if err != nil {
		return nil, err
	}
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if err != nil {
			return nil, fmt.Errorf("no Chart.yaml: %w", err)
		}
		if !strings.HasSuffix(header.Name, "/Chart.yaml") || strings.Count(header.Name, "/") != 1 {
			continue
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		metadata := object{}
		// Helm breaks long lines: the next one is indented.
		folded := regexp.MustCompile(`\n +([^ -])`).ReplaceAllString(string(text), " $1")
		for _, line := range strings.Split(folded, "\n") {
			key, value, found := strings.Cut(line, ": ")
			switch key {
			case "apiVersion", "name", "description", "type", "version", "appVersion", "kubeVersion":
				if found {
					metadata[key] = strings.Trim(value, `"'`)
				}
			}
		}
		for _, key := range []string{"apiVersion", "name", "version"} {
			if metadata[key] == nil {
				return nil, fmt.Errorf("Chart.yaml has no %s", key)
			}
		}
		return metadata, nil
	}
}

func sha256Hex(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
