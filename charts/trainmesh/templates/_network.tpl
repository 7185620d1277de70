{{/* Who may reach a component, and whom it may reach: root, component. */}}
{{- define "trainmesh.networkPolicy" -}}
{{- $policy := .root.Values.networkPolicy -}}
{{- if $policy.enabled -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "trainmesh.metadata" (dict "root" .root "name" (printf "trainmesh-%s" .component) "component" .component) | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "trainmesh.labels.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    {{- if eq .component "webhook" }}
    # The apiserver's address is no pod's, and not known.
    - ports:
        - {protocol: TCP, port: webhook}
    {{- end }}
    - ports:
        - {protocol: TCP, port: admin}
      from:
        {{- toYaml ($policy.metricsFrom | default (list (dict "namespaceSelector" dict))) | nindent 8 }}
  egress:
    - ports:
        - {protocol: UDP, port: 53}
        - {protocol: TCP, port: 53}
    - ports:
        {{- range $policy.apiserverPorts }}
        - {protocol: TCP, port: {{ int . }}}
        {{- end }}
{{- end }}
{{- end }}
