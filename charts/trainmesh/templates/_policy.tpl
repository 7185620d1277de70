{{/*
CEL expressions of the exec policy. Arguments are compared one by one, because a joined command line is ambiguous.
*/}}

{{/* Not empty if the exec policy is enabled: with `auto`, unless the cluster is known not to serve it. */}}
{{- define "trainmesh.execPolicy" -}}
{{- $served := semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version -}}
{{- if .Capabilities.APIVersions.Has "v1/Pod" -}}
{{- /* APIVersions of a real cluster list kinds, which is more reliable than its version. */ -}}
{{- $served = .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy" -}}
{{- else if semverCompare "<3.15.0-0" .Capabilities.HelmVersion.Version -}}
{{- /* Without a cluster, Helm 3.14 assumes Kubernetes 1.29, so the version is unknown. */ -}}
{{- $served = true -}}
{{- end -}}
{{- if ternary $served .Values.execPolicy.enabled (eq (toString .Values.execPolicy.enabled) "auto") }}true{{ end -}}
{{- end }}

{{/* Returns a string as a CEL literal. */}}
{{- define "trainmesh.cel.text" -}}
'{{ . | replace "\\" "\\\\" | replace "'" "\\'" | replace "\n" "\\n" }}'
{{- end }}

{{/* Returns the condition that the command equals this list of arguments. */}}
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

{{/* Returns the permitted commands in their containers as a JSON list of CEL terms; one of them must be true. */}}
{{- define "trainmesh.cel.execs" -}}
{{- $terms := list -}}
{{- $proxy := include "trainmesh.cel.text" (include "trainmesh.proxyContainer" .) -}}
{{- $methods := (.Files.Get "files/sidecars.yaml" | fromYaml).proxy -}}
{{- range ternary (append $methods.exec $methods.curl) $methods.exec (not (empty (include "trainmesh.curl" .))) -}}
{{- $terms = append $terms (printf "variables.container == %s && %s" $proxy (include "trainmesh.cel.command" .)) -}}
{{- end -}}
{{- $extra := .Values.execPolicy.extraContainers -}}
{{- range include "trainmesh.sidecars" . | fromJsonArray -}}
{{- if .exec -}}
{{- $containers := list -}}
{{- range prepend $extra .name }}{{ $containers = append $containers (include "trainmesh.cel.text" .) }}{{ end -}}
{{- $terms = append $terms (printf "variables.container in [%s] && %s" (join ", " $containers) (include "trainmesh.cel.command" .exec)) -}}
{{- end -}}
{{- end -}}
{{ toJson $terms }}
{{- end }}

{{/* Returns the permitted ports, as in `1, 2`. */}}
{{- define "trainmesh.cel.ports" -}}
{{- $ports := list (int (.Files.Get "files/sidecars.yaml" | fromYaml).proxy.port) -}}
{{- range include "trainmesh.sidecars" . | fromJsonArray }}{{ with .http }}{{ $ports = append $ports (int .port) }}{{ end }}{{ end -}}
{{- range .Values.execPolicy.extraPorts }}{{ $ports = append $ports (int .) }}{{ end -}}
{{ join ", " (uniq $ports) }}
{{- end }}

{{/* Returns the namespaces that no label can opt in, as in `'a', 'b'`. */}}
{{- define "trainmesh.cel.excluded" -}}
{{- $names := list -}}
{{- range concat (list "kube-system" (include "trainmesh.namespace" .)) .Values.webhook.excludedNamespaces | uniq -}}
{{- $names = append $names (include "trainmesh.cel.text" . | trim) -}}
{{- end -}}
{{ join ", " $names }}
{{- end }}
