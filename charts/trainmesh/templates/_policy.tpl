{{/*
CEL of the exec policy. Words are compared one by one: a joined command line could hide its borders.
*/}}

{{/* A text as a CEL literal. */}}
{{- define "trainmesh.cel.text" -}}
'{{ . | replace "\\" "\\\\" | replace "'" "\\'" | replace "\n" "\\n" }}'
{{- end }}

{{/* Whether the command is these words: a list. */}}
{{- define "trainmesh.cel.command" -}}
{{- $terms := list (printf "size(object.command) == %d" (len .)) -}}
{{- range $index, $word := . -}}
{{- if contains "{port}" $word -}}
{{- $pattern := regexQuoteMeta $word | replace "\\{port\\}" "[0-9]+" | printf "^%s$" -}}
{{- $terms = append $terms (printf "object.command[%d].matches(%s)" $index (include "trainmesh.cel.text" $pattern)) -}}
{{- else -}}
{{- $terms = append $terms (printf "object.command[%d] == %s" $index (include "trainmesh.cel.text" $word)) -}}
{{- end -}}
{{- end -}}
{{ join " && " $terms }}
{{- end }}

{{/* What the account may do, as a JSON list of CEL terms, of which one must hold: of commands in containers. */}}
{{- define "trainmesh.cel.execs" -}}
{{- $terms := list -}}
{{- $proxy := include "trainmesh.cel.text" (include "trainmesh.proxyContainer" .) -}}
{{- $ladder := (.Files.Get "files/catalogue.yaml" | fromYaml).proxy -}}
{{- range ternary (append $ladder.exec $ladder.curl) $ladder.exec (not (empty (include "trainmesh.curl" .))) -}}
{{- $terms = append $terms (printf "variables.container == %s && %s" $proxy (include "trainmesh.cel.command" .)) -}}
{{- end -}}
{{- $extra := .Values.execPolicy.extraContainers -}}
{{- range include "trainmesh.helpers" . | fromJsonArray -}}
{{- if .exec -}}
{{- $containers := list -}}
{{- range prepend $extra .name }}{{ $containers = append $containers (include "trainmesh.cel.text" .) }}{{ end -}}
{{- $terms = append $terms (printf "variables.container in [%s] && %s" (join ", " $containers) (include "trainmesh.cel.command" .exec)) -}}
{{- end -}}
{{- end -}}
{{ toJson $terms }}
{{- end }}

{{/* The ports that it may forward, as in `1, 2`. */}}
{{- define "trainmesh.cel.ports" -}}
{{- $ports := list (int (.Files.Get "files/catalogue.yaml" | fromYaml).proxy.port) -}}
{{- range include "trainmesh.helpers" . | fromJsonArray }}{{ with .http }}{{ $ports = append $ports (int .port) }}{{ end }}{{ end -}}
{{- range .Values.execPolicy.extraPorts }}{{ $ports = append $ports (int .) }}{{ end -}}
{{ join ", " (uniq $ports) }}
{{- end }}

{{/* The namespaces that no label opts in, as in `'a', 'b'`. */}}
{{- define "trainmesh.cel.excluded" -}}
{{- $names := list -}}
{{- range concat (list "kube-system" .Release.Namespace) .Values.webhook.excludedNamespaces | uniq -}}
{{- $names = append $names (include "trainmesh.cel.text" . | trim) -}}
{{- end -}}
{{ join ", " $names }}
{{- end }}
