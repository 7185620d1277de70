// The judge reads YAML as Kubernetes does and answers in JSON, one request a line.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"sigs.k8s.io/yaml"
)

type request struct {
	ID   json.RawMessage `json:"id"`
	YAML string          `json:"yaml"`
}

type answer struct {
	ID    json.RawMessage `json:"id"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Error string          `json:"error,omitempty"`
}

func judge(ask request) (reply answer) {
	reply.ID = ask.ID
	text, err := yaml.YAMLToJSON([]byte(ask.YAML))
	if err != nil {
		reply.Error = err.Error()
	} else {
		reply.JSON = text
	}
	return reply
}

func main() {
	requests := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := bufio.NewWriter(os.Stdout)
	answers := json.NewEncoder(out)
	for {
		var ask request
		if requests.Decode(&ask) != nil {
			return
		}
		if answers.Encode(judge(ask)) != nil || out.Flush() != nil {
			os.Exit(1)
		}
	}
}
