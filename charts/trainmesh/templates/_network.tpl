{{/* Permitted connections to a component and, if egress is restricted, from it. Arguments: root, component. */}}
{{- define "trainmesh.networkPolicy" -}}
{{- $policy := .root.Values.networkPolicy -}}
{{- if or $policy.enabled $policy.egress.enabled -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "trainmesh.metadata" (dict "root" .root "name" (printf "trainmesh-%s" .component) "component" .component) | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "trainmesh.labels.selector" . | nindent 6 }}
  policyTypes:
    {{- if $policy.enabled }}
    - Ingress
    {{- end }}
    {{- if $policy.egress.enabled }}
    - Egress
    {{- end }}
  {{- if $policy.enabled }}
  {{- if or (eq .component "webhook") $policy.metricsFrom $policy.extraIngress }}
  ingress:
    {{- if eq .component "webhook" }}
    # The source address is that of a managed control plane or of a Konnectivity agent, which no selector matches.
    - ports:
        - {protocol: TCP, port: webhook}
    {{- end }}
    {{- with $policy.metricsFrom }}
    - ports:
        - {protocol: TCP, port: admin}
      from:
        {{- toYaml . | nindent 8 }}
    {{- end }}
    {{- with $policy.extraIngress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- else }}
  ingress: []
  {{- end }}
  {{- end }}
  {{- if $policy.egress.enabled }}
  egress:
    - ports:
        - {protocol: UDP, port: 53}
        - {protocol: TCP, port: 53}
    - ports:
        {{- range $policy.apiserverPorts }}
        - {protocol: TCP, port: {{ int . }}}
        {{- end }}
    {{- with $policy.egress.extra }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}
