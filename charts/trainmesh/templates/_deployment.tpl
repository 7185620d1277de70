{{/*
The Deployment of a component. Arguments: root, component, args (list), ports (list), volumes, mounts (lists, may be empty).
*/}}
{{- define "trainmesh.deployment" -}}
{{- $values := index .root.Values .component -}}
{{- $name := printf "trainmesh-%s" .component -}}
{{- $selector := include "trainmesh.labels.selector" . -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "trainmesh.metadata" (dict "root" .root "name" $name "component" .component) | nindent 2 }}
spec:
  replicas: {{ $values.replicas }}
  strategy:
    type: RollingUpdate
    {{- if eq true $values.hostNetwork }}
    # If there are no more nodes than replicas, a surge pod would wait for host ports that the old replicas occupy.
    rollingUpdate: {maxUnavailable: 1, maxSurge: 0}
    {{- else }}
    rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
    {{- end }}
  selector:
    matchLabels:
      {{- $selector | nindent 6 }}
  template:
    metadata:
      labels:
        {{- $selector | nindent 8 }}
        app.kubernetes.io/instance: {{ .root.Release.Name }}
        {{- with mergeOverwrite (deepCopy .root.Values.commonLabels) $values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        kubectl.kubernetes.io/default-container: {{ .component }}
        {{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "trainmesh.serviceAccountName" . }}
      {{- with .root.Values.global.imagePullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- if $values.hostNetwork }}
      hostNetwork: true
      {{- end }}
      dnsPolicy: {{ $values.dnsPolicy | default (ternary "ClusterFirstWithHostNet" "ClusterFirst" (eq true $values.hostNetwork)) }}
      securityContext:
        {{- toYaml .root.Values.podSecurityContext | nindent 8 }}
      terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
      containers:
        - name: {{ .component }}
          image: {{ include "trainmesh.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args:
            - {{ .component }}
            - --admin-listen={{ .root.Values.listenAddress }}:{{ .root.Values.adminPort }}
            - --namespace={{ .root.Release.Namespace }}
            - --log-format={{ .root.Values.logging.format }}
            - --log-level={{ .root.Values.logging.level }}
            {{- range .args }}
            - {{ . }}
            {{- end }}
            {{- range $values.extraArgs }}
            - {{ . | quote }}
            {{- end }}
          env:
            - name: TOKIO_WORKER_THREADS
              value: {{ .root.Values.workerThreads | quote }}
            {{- with $values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            {{- range .ports }}
            - name: {{ .name }}
              containerPort: {{ .port }}
              protocol: TCP
            {{- end }}
            - name: admin
              containerPort: {{ .root.Values.adminPort }}
              protocol: TCP
          startupProbe:
            httpGet: {path: /healthz, port: admin}
            periodSeconds: 1
            failureThreshold: 60
          livenessProbe:
            httpGet: {path: /healthz, port: admin}
            timeoutSeconds: 5
          readinessProbe:
            httpGet: {path: /readyz, port: admin}
            periodSeconds: 2
            timeoutSeconds: 2
          resources:
            {{- toYaml $values.resources | nindent 12 }}
          securityContext:
            {{- toYaml .root.Values.securityContext | nindent 12 }}
          {{- with concat .mounts $values.extraVolumeMounts }}
          volumeMounts:
            {{- toYaml . | nindent 12 }}
          {{- end }}
      {{- with concat .volumes $values.extraVolumes }}
      volumes:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        {{- if $values.topologySpreadConstraints }}
        {{- toYaml $values.topologySpreadConstraints | nindent 8 }}
        {{- else }}
        {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
        - topologyKey: {{ . }}
          maxSkew: 1
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- $selector | nindent 14 }}
          matchLabelKeys: [pod-template-hash]
        {{- end }}
        {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}

{{/* Budget that lets node drains evict one replica at a time, for more than one replica. Arguments: root, component. */}}
{{- define "trainmesh.disruptionBudget" -}}
{{- $values := index .root.Values .component -}}
{{- if and $values.podDisruptionBudget.enabled (gt (int $values.replicas) 1) -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "trainmesh.metadata" (dict "root" .root "name" (printf "trainmesh-%s" .component) "component" .component) | nindent 2 }}
spec:
  maxUnavailable: {{ $values.podDisruptionBudget.maxUnavailable }}
  # A replica that never became ready must not block the drain of its node.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "trainmesh.labels.selector" . | nindent 6 }}
{{- end }}
{{- end }}

{{- define "trainmesh.serviceAccount" -}}
{{- $values := index .root.Values .component -}}
{{- if $values.serviceAccount.create -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "trainmesh.metadata" (dict "root" .root "name" (include "trainmesh.serviceAccountName" .) "component" .component "annotations" $values.serviceAccount.annotations) | nindent 2 }}
{{- end }}
{{- end }}
