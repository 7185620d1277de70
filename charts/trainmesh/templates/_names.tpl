{{/*
Names do not depend on the name of the release: certificates, permissions and the order of admission rely on them, and a
cluster has one installation.
*/}}

{{- define "trainmesh.labels.selector" -}}
app.kubernetes.io/name: trainmesh
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "trainmesh.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace }}
{{- end }}

{{/* Returns the labels of an object. Arguments: root; component, optional. */}}
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

{{/* Returns the metadata of an object. Arguments: root, name; optional: component, annotations, labels, namespace, cluster
(true: cluster-scoped). */}}
{{- define "trainmesh.metadata" -}}
name: {{ .name }}
{{- if not .cluster }}
namespace: {{ .namespace | default (include "trainmesh.namespace" .root) }}
{{- end }}
labels:
  {{- include "trainmesh.labels" (dict "root" .root "component" .component "extra" .labels) | nindent 2 }}
{{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Returns the labels of a component's pods. Neither server takes part in a mesh: the apiserver calls the webhook without
mTLS. Only labels of the pods change this, and not those of all objects. The labels of the selector come last, so that no value
replaces them. Arguments: root, component. */}}
{{- define "trainmesh.podLabels" -}}
{{- $mesh := dict "sidecar.istio.io/inject" "false" "istio.io/dataplane-mode" "none" -}}
{{- $fixed := dict "app.kubernetes.io/name" "trainmesh" "app.kubernetes.io/component" .component "app.kubernetes.io/instance" .root.Release.Name -}}
{{- $values := index .root.Values .component | default dict -}}
{{- toYaml (mergeOverwrite (deepCopy .root.Values.commonLabels) $mesh (deepCopy ($values.podLabels | default dict)) $fixed) }}
{{- end }}

{{/* Returns `imagePullSecrets` of a pod, from names or objects with a name. */}}
{{- define "trainmesh.imagePullSecrets" -}}
{{- with .Values.global.imagePullSecrets -}}
imagePullSecrets:
  {{- range . }}
  - name: {{ if kindIs "map" . }}{{ .name }}{{ else }}{{ . }}{{ end }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "trainmesh.image" -}}
{{- $image := .Values.image -}}
{{- $registry := .Values.global.imageRegistry | default $image.registry -}}
{{- with $registry }}{{ . }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{/* Returns the name of the service account of a component. Arguments: root, component. */}}
{{- define "trainmesh.serviceAccountName" -}}
{{- $values := index .root.Values .component -}}
{{- $values.serviceAccount.name | default (printf "trainmesh-%s" .component) }}
{{- end }}

{{/* Returns the subjects of a binding. Arguments: root, component. */}}
{{- define "trainmesh.subjects" -}}
- kind: ServiceAccount
  name: {{ include "trainmesh.serviceAccountName" . }}
  namespace: {{ include "trainmesh.namespace" .root }}
{{- end }}

{{/* Returns the Secret of the webhook's serving certificate. Each mode has its own, because Helm can neither adopt a Secret
that cert-manager created, nor keep it when the mode changes. */}}
{{- define "trainmesh.certificate.secret" -}}
{{- if eq .Values.certificates.mode "self" -}} trainmesh-webhook-tls
{{- else if eq .Values.certificates.mode "certManager" -}} trainmesh-webhook-cert-manager
{{- else -}} {{ .Values.certificates.provided.secretName }}
{{- end }}
{{- end }}

{{/* Returns the seconds of a duration such as 1h30m. */}}
{{- define "trainmesh.seconds" -}}
{{- $sum := 0.0 -}}
{{- $units := dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0 -}}
{{- range regexFindAll "[0-9.]+(ms|s|m|h)" . -1 -}}
{{- $number := regexFind "[0-9.]+" . -}}
{{- $sum = addf $sum (mulf (float64 $number) (get $units (trimPrefix $number .))) -}}
{{- end -}}
{{- $sum -}}
{{- end }}
