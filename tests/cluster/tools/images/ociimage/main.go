// Command ociimage writes an OCI image archive of one layer from a local directory, so that
// containerd can import it: no registry can be reached from the test node.
//
//	ociimage FILE NAME:TAG DIR [ENTRYPOINT…]
//
// The output is reproducible: it contains no times and no owners.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	indexType    = "application/vnd.oci.image.index.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
)

type object = map[string]any

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: ociimage FILE NAME:TAG DIR [ENTRYPOINT…]")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, "ociimage:", err)
		os.Exit(1)
	}
}

func write(file, name, dir string, entrypoint []string) error {
	layer, err := pack(dir)
	if err != nil {
		return err
	}
	config, err := json.Marshal(object{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       object{"Entrypoint": entrypoint, "Env": []string{"PATH=/usr/local/bin:/usr/bin:/bin"}},
		"rootfs":       object{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(object{
		"schemaVersion": 2,
		"mediaType":     manifestType,
		"config":        descriptor(configType, config),
		"layers":        []object{descriptor(layerType, layer)},
	})
	if err != nil {
		return err
	}
	entry := descriptor(manifestType, manifest)
	entry["annotations"] = object{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
	index, err := json.Marshal(object{"schemaVersion": 2, "mediaType": indexType, "manifests": []object{entry}})
	if err != nil {
		return err
	}

	// A reader must never see a partial archive under the final name.
	out, err := os.Create(file + ".tmp")
	if err != nil {
		return err
	}
	archive := tar.NewWriter(out)
	for _, part := range []struct {
		path    string
		content []byte
	}{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", index},
		{blob(manifest), manifest},
		{blob(config), config},
		{blob(layer), layer},
	} {
		if err := archive.WriteHeader(&tar.Header{Name: part.path, Mode: 0o644, Size: int64(len(part.content))}); err != nil {
			return err
		}
		if _, err := archive.Write(part.content); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(file+".tmp", file)
}

// pack creates the layer: directories, files and symbolic links, all owned by root.
func pack(dir string) ([]byte, error) {
	var layer bytes.Buffer
	writer := tar.NewWriter(&layer)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var target string
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			if target, err = os.Readlink(path); err != nil {
				return err
			}
		case !info.IsDir() && !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file, a directory nor a symbolic link", path)
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: filepath.ToSlash(inside), Mode: int64(info.Mode().Perm()), Linkname: target}
		switch {
		case target != "":
			header.Typeflag, header.Mode = tar.TypeSymlink, 0o777
		case info.IsDir():
			header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
		default:
			header.Typeflag, header.Size = tar.TypeReg, info.Size()
		}
		if err := writer.WriteHeader(header); err != nil || header.Typeflag != tar.TypeReg {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(writer, file)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}

func digest(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

func blob(content []byte) string { return fmt.Sprintf("blobs/sha256/%x", sha256.Sum256(content)) }

func descriptor(mediaType string, content []byte) object {
	return object{"mediaType": mediaType, "digest": digest(content), "size": len(content)}
}
