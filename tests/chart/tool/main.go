// Command tool does for the chart's tests what a shell cannot: it reads YAML.
//
//	tool openapi OUT FILE…         JSON schemas of Kubernetes' swagger.json or of CustomResourceDefinitions
//	tool values-schema BASE CONFIG  values.schema.json
//	tool objects [-bare]           the objects on standard input in one form, so that two lists can be compared
//	tool kustomize OUT             Helm's output on standard input as files of a kustomization
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error: "+err.Error())
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("no command given")
	}
	command, arguments := arguments[0], arguments[1:]
	switch {
	case command == "openapi" && len(arguments) > 1:
		return openapi(arguments[0], arguments[1:])
	case command == "values-schema" && len(arguments) == 2:
		return valuesSchema(os.Stdout, arguments[0], arguments[1])
	case command == "objects" && len(arguments) == 0:
		return objects(os.Stdin, os.Stdout, false)
	case command == "objects" && len(arguments) == 1 && arguments[0] == "-bare":
		return objects(os.Stdin, os.Stdout, true)
	case command == "kustomize" && len(arguments) == 1:
		return kustomize(os.Stdin, arguments[0])
	}
	return fmt.Errorf("unknown command, or not its arguments: %s %q", command, arguments)
}
