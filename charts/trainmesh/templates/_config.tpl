{{/*
Features that the configuration enables determine the permissions. The defaults are those of config/default.yaml; null
selects the default, as in the binary.
*/}}

{{/* Returns a field of a section as JSON. Arguments: root, section, field, default. */}}
{{- define "trainmesh.config.field" -}}
{{- $section := get (.root.Values.config | default dict) .section | default dict -}}
{{- $value := get $section .field -}}
{{- if and (hasKey $section .field) (not (kindIs "invalid" $value)) }}{{ toJson $value }}{{ else }}{{ toJson .default }}{{ end }}
{{- end }}

{{- define "trainmesh.traffic" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "mesh" "field" "traffic" "default" "leave") | trimAll "\"" }}
{{- end }}

{{/* Not empty if the IP ranges of the pods are set. */}}
{{- define "trainmesh.podCIDRs" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "mesh" "field" "podCIDRs" "default" list) | trimAll "[]" }}
{{- end }}

{{/* Not empty if the feature is enabled. */}}
{{- define "trainmesh.termination" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "termination" "field" "enabled" "default" true) | trimAll "false" }}
{{- end }}

{{/* Not empty if the feature is enabled. */}}
{{- define "trainmesh.portForward" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "termination" "field" "portForward" "default" false) | trimAll "false" }}
{{- end }}

{{/* Not empty if the feature is enabled. */}}
{{- define "trainmesh.curl" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "termination" "field" "curl" "default" false) | trimAll "false" }}
{{- end }}

{{/* Not empty if the feature is enabled. */}}
{{- define "trainmesh.fabric" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "fabric" "field" "enabled" "default" true) | trimAll "false" }}
{{- end }}

{{/* Not empty if the feature is enabled. */}}
{{- define "trainmesh.gang" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "gang" "field" "enabled" "default" true) | trimAll "false" }}
{{- end }}

{{/* Not empty if the devices of claims count. */}}
{{- define "trainmesh.fabric.claims" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "fabric" "field" "resourceClaims" "default" true) | trimAll "false" }}
{{- end }}

{{/* Returns the ConfigMaps that profiles name, as JSON: {configMaps: […]}. */}}
{{- define "trainmesh.fabric.named" -}}
{{- $named := .Files.Get "files/fabric.yaml" | fromYaml -}}
{{- $maps := $named.configMaps -}}
{{- range include "trainmesh.config.field" (dict "root" . "section" "fabric" "field" "profiles" "default" list) | fromJsonArray }}
{{- range (.volumes | default dict).configMaps }}{{ $maps = append $maps .name }}{{ end -}}
{{- end -}}
{{ dict "configMaps" ($maps | uniq | sortAlpha) | toJson }}
{{- end }}

{{- define "trainmesh.proxyContainer" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "termination" "field" "proxyContainer" "default" "istio-proxy") | trimAll "\"" }}
{{- end }}

{{/* Returns the sidecar entries as a JSON list: those of the configuration, and the built-in ones of other names. */}}
{{- define "trainmesh.sidecars" -}}
{{- $configured := include "trainmesh.config.field" (dict "root" . "section" "termination" "field" "helpers" "default" list) | fromJsonArray -}}
{{- $names := list -}}
{{- range $configured }}{{ $names = append $names .name }}{{ end -}}
{{- $all := $configured -}}
{{- range (.Files.Get "files/sidecars.yaml" | fromYaml).sidecars }}
{{- if not (has .name $names) }}{{ $all = append $all . }}{{ end }}
{{- end -}}
{{ toJson $all }}
{{- end }}
