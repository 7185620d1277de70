// Command oracle parses YAML as Istio and kubectl do, and applies JSON patches as the apiserver does, so that tests can
// compare trainmesh with them.
//
// Each line of standard input is a request {"id": …, "yaml": "…", "strict": bool}. The response is one line
// {"id": …, "json": …} or {"id": …, "error": "…"}; responses are in the order of the requests. Istio parses
// proxy.istio.io/config with strict off: the last of duplicate keys wins. With strict on, duplicate keys are errors.
//
// The response to a request {"id": …, "document": …, "patch": […]} has the patched document.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"
)

type request struct {
	ID     json.RawMessage `json:"id"`
	YAML   string          `json:"yaml"`
	Strict bool            `json:"strict"`

	Document json.RawMessage `json:"document"`
	Patch    json.RawMessage `json:"patch"`
}

type response struct {
	ID    json.RawMessage `json:"id"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Error string          `json:"error,omitempty"`
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	requests := json.NewDecoder(bufio.NewReader(in))
	buffered := bufio.NewWriter(out)
	responses := json.NewEncoder(buffered)
	for {
		var next request
		if err := requests.Decode(&next); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("decode request: %w", err)
		}
		if err := responses.Encode(respond(next)); err != nil {
			return fmt.Errorf("write response: %w", err)
		}
		// A client may wait for this response before it sends the next request.
		if err := buffered.Flush(); err != nil {
			return fmt.Errorf("send response: %w", err)
		}
	}
}

func respond(r request) response {
	value, err := evaluate(r)
	if err != nil {
		return response{ID: r.ID, Error: err.Error()}
	}
	return response{ID: r.ID, JSON: value}
}

func evaluate(r request) ([]byte, error) {
	switch {
	case r.Patch != nil:
		patch, err := jsonpatch.DecodePatch(r.Patch)
		if err != nil {
			return nil, fmt.Errorf("decode patch: %w", err)
		}
		return patch.Apply(r.Document)
	case r.Strict:
		return yaml.YAMLToJSONStrict([]byte(r.YAML))
	default:
		return yaml.YAMLToJSON([]byte(r.YAML))
	}
}
