// Command judge reads YAML the way Istio and kubectl do, so that tests can compare our reading with theirs.
//
// Each line of standard input is a JSON object {"id": …, "yaml": "…", "strict": bool}; each is answered, in order, by
// one line {"id": …, "json": …} or {"id": …, "error": "…"}. Istio reads proxy.istio.io/config with strict off: of
// duplicate keys the last one wins. With strict on they are errors.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"
)

type request struct {
	ID     json.RawMessage `json:"id"`
	YAML   string          `json:"yaml"`
	Strict bool            `json:"strict"`
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
			return answers.Flush()
		} else if err != nil {
			return fmt.Errorf("decode request: %w", err)
		}
		if err := verdicts.Encode(judge(next)); err != nil {
			return fmt.Errorf("write verdict: %w", err)
		}
	}
}

func judge(r request) verdict {
	read := yaml.YAMLToJSON
	if r.Strict {
		read = yaml.YAMLToJSONStrict
	}
	value, err := read([]byte(r.YAML))
	if err != nil {
		return verdict{ID: r.ID, Error: err.Error()}
	}
	return verdict{ID: r.ID, JSON: value}
}
