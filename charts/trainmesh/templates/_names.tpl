{{/*
Names are fixed, whatever the release is called: certificates, rights and the order of admission depend on them, and one
cluster holds one trainmesh.
*/}}

{{- define "trainmesh.labels.selector" -}}
app.kubernetes.io/name: trainmesh
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels of an object; of a component's where .component is given. */}}
{{- define "trainmesh.labels" -}}
{{- $labels := dict
      "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_")
      "app.kubernetes.io/name" "trainmesh"
      "app.kubernetes.io/instance" .root.Release.Name
      "app.kubernetes.io/version" .root.Chart.AppVersion
      "app.kubernetes.io/managed-by" .root.Release.Service }}
{{- with .component }}{{ $_ := set $labels "app.kubernetes.io/component" . }}{{ end }}
{{- toYaml (mergeOverwrite (deepCopy .root.Values.commonLabels) (.extra | default dict) $labels) }}
{{- end }}

{{/* metadata of an object: root, name; component, annotations, labels, cluster (true: in no namespace). */}}
{{- define "trainmesh.metadata" -}}
name: {{ .name }}
{{- if not .cluster }}
namespace: {{ .root.Release.Namespace }}
{{- end }}
labels:
  {{- include "trainmesh.labels" (dict "root" .root "component" .component "extra" .labels) | nindent 2 }}
{{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "trainmesh.image" -}}
{{- $image := .Values.image -}}
{{- $registry := .Values.global.imageRegistry | default $image.registry -}}
{{- with $registry }}{{ . }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{/* The account of a component: root, component. */}}
{{- define "trainmesh.account" -}}
{{- $values := index .root.Values .component -}}
{{- $values.serviceAccount.name | default (printf "trainmesh-%s" .component) }}
{{- end }}

{{/* subjects of a binding: root, component. */}}
{{- define "trainmesh.subjects" -}}
- kind: ServiceAccount
  name: {{ include "trainmesh.account" . }}
  namespace: {{ .root.Release.Namespace }}
{{- end }}

{{/* The Secret that the webhook's certificate lies in. Each mode has its own: Helm could neither take over one that
cert-manager made, nor leave it alone when the mode changes. */}}
{{- define "trainmesh.certificate.secret" -}}
{{- if eq .Values.certificates.mode "self" -}} trainmesh-webhook-tls
{{- else if eq .Values.certificates.mode "certManager" -}} trainmesh-webhook-cert-manager
{{- else -}} {{ .Values.certificates.provided.secretName }}
{{- end }}
{{- end }}
