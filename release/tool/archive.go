package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name       string
	executable bool
	content    []byte
}

// writeArchive writes the files below dir, with the directory's own name as their first component.
func writeArchive(file, dir string, modified time.Time) error {
	var entries []entry
	// WalkDir visits names in lexical order.
	err := filepath.WalkDir(dir, func(path string, item fs.DirEntry, err error) error {
		if err != nil || item.IsDir() {
			return err
		}
		if !item.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		info, err := item.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(filepath.Dir(dir), path)
		if err != nil {
			return err
		}
		entries = append(entries, entry{relative, info.Mode()&0o100 != 0, content})
		return nil
	})
	if err != nil {
		return err
	}
	bytes, err := tarOf(entries, modified)
	if err != nil {
		return err
	}
	if strings.HasSuffix(file, "gz") {
		if bytes, err = compress(bytes); err != nil {
			return err
		}
	}
	return os.WriteFile(file, bytes, 0o644)
}

// tarOf returns a tar whose entries belong to root and have one time.
func tarOf(entries []entry, modified time.Time) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, entry := range entries {
		mode := int64(0o644)
		if entry.executable {
			mode = 0o755
		}
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: entry.name, Mode: mode, Size: int64(len(entry.content)), ModTime: modified, Format: tar.FormatPAX,
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(entry.content); err != nil {
			return nil, err
		}
	}
	err := writer.Close()
	return buffer.Bytes(), err
}

// compress returns content as gzip, without a name and a time.
func compress(content []byte) ([]byte, error) {
	var buffer bytes.Buffer
	writer, err := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(writer, bytes.NewReader(content)); err != nil {
		return nil, err
	}
	err = writer.Close()
	return buffer.Bytes(), err
}
