// Command tool parses YAML for the chart's tests, which a shell cannot do.
//
//	tool openapi OUT FILE…         JSON schemas from Kubernetes' swagger.json or from CustomResourceDefinitions
//	tool values-schema CHART CONFIG  prints values.schema.json
//	tool objects [-bare]           the objects on standard input, normalized so that two lists can be compared
//	tool gitops-values             the chart values of an Application of Argo CD or a HelmRelease of Flux on standard input
//	tool null-values CHART         for each value of a chart, a line with values in which it is null
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
		return fmt.Errorf("missing command")
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
	case command == "gitops-values" && len(arguments) == 0:
		return gitopsValues(os.Stdin, os.Stdout)
	case command == "null-values" && len(arguments) == 1:
		return nullValues(os.Stdout, arguments[0])
	case command == "kustomize" && len(arguments) == 1:
		return kustomize(os.Stdin, arguments[0])
	}
	return fmt.Errorf("unknown command, or wrong arguments: %s %q", command, arguments)
}
