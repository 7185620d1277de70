{{/*
What the configuration switches on decides which rights are given. The defaults are those of config/default.yaml; a null
takes its default, as in the binary.
*/}}

{{/* A field of a section, as JSON: root, section, field, default. */}}
{{- define "trainmesh.config.field" -}}
{{- $section := get .root.Values.config .section | default dict -}}
{{- $value := get $section .field -}}
{{- if and (hasKey $section .field) (not (kindIs "invalid" $value)) }}{{ toJson $value }}{{ else }}{{ toJson .default }}{{ end }}
{{- end }}

{{/* Not empty where the feature is on. */}}
{{- define "trainmesh.termination" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "termination" "field" "enabled" "default" true) | trimAll "false" }}
{{- end }}

{{/* Not empty where the feature is on. */}}
{{- define "trainmesh.portForward" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "termination" "field" "portForward" "default" false) | trimAll "false" }}
{{- end }}

{{/* Not empty where the feature is on. */}}
{{- define "trainmesh.curl" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "termination" "field" "curl" "default" false) | trimAll "false" }}
{{- end }}

{{/* Not empty where the feature is on. */}}
{{- define "trainmesh.fabric" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "fabric" "field" "enabled" "default" true) | trimAll "false" }}
{{- end }}

{{/* The ConfigMaps and ResourceClaimTemplates that profiles name, as JSON: {configMaps: […], claimTemplates: […]}. */}}
{{- define "trainmesh.fabric.named" -}}
{{- $named := .Files.Get "files/fabric.yaml" | fromYaml -}}
{{- $maps := $named.configMaps -}}
{{- $claims := $named.claimTemplates -}}
{{- range include "trainmesh.config.field" (dict "root" . "section" "fabric" "field" "profiles" "default" list) | fromJsonArray }}
{{- range (.volumes | default dict).configMaps }}{{ $maps = append $maps .name }}{{ end -}}
{{- range (.dra | default dict).claims }}{{ $claims = append $claims .resourceClaimTemplateName }}{{ end -}}
{{- end -}}
{{ dict "configMaps" ($maps | uniq | sortAlpha) "claimTemplates" ($claims | uniq | sortAlpha) | toJson }}
{{- end }}

{{- define "trainmesh.proxyContainer" -}}
{{- include "trainmesh.config.field" (dict "root" . "section" "termination" "field" "proxyContainer" "default" "istio-proxy") | trimAll "\"" }}
{{- end }}

{{/* The helpers in force as a JSON list: the built-in ones, those of the configuration replacing others of their name. */}}
{{- define "trainmesh.helpers" -}}
{{- $own := include "trainmesh.config.field" (dict "root" . "section" "termination" "field" "helpers" "default" list) | fromJsonArray -}}
{{- $names := list -}}
{{- range $own }}{{ $names = append $names .name }}{{ end -}}
{{- $all := $own -}}
{{- range (.Files.Get "files/catalogue.yaml" | fromYaml).helpers }}
{{- if not (has .name $names) }}{{ $all = append $all . }}{{ end }}
{{- end -}}
{{ toJson $all }}
{{- end }}
