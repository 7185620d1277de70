// Command judge reads YAML the way Istio and kubectl do, and applies JSON patches the way the apiserver does, so that
// tests can compare ours with theirs.
//
// Each line of standard input is a JSON object {"id": …, "yaml": "…", "strict": bool}; each is answered, in order, by
// one line {"id": …, "json": …} or {"id": …, "error": "…"}. Istio reads proxy.istio.io/config with strict off: of
// duplicate keys the last one wins. With strict on they are errors.
//
// A line {"id": …, "document": …, "patch": […]} is answered by the patched document.
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

type verdict struct {
	ID    json.RawMessage `json:"id"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Error string          `json:"error,omitempty"`
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	requests := json.NewDecoder(bufio.NewReader(in))
	answers := bufio.NewWriter(out)
	verdicts := json.NewEncoder(answers)
	for {
		var next request
		if err := requests.Decode(&next); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("decode request: %w", err)
		}
		if err := verdicts.Encode(judge(next)); err != nil {
			return fmt.Errorf("write verdict: %w", err)
		}
		// Who asks one question at a time waits for its answer.
		if err := answers.Flush(); err != nil {
			return fmt.Errorf("send verdict: %w", err)
		}
	}
}

func judge(r request) verdict {
	value, err := answer(r)
	if err != nil {
		return verdict{ID: r.ID, Error: err.Error()}
	}
	return verdict{ID: r.ID, JSON: value}
}

func answer(r request) ([]byte, error) {
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
