{{/*
Fails for an extra flag with which the server exits: one that it does not have, that is set twice, or with a value that it rejects.
Arguments: root, component, args (flags of the chart, besides those of every server).
*/}}
{{- define "trainmesh.checkExtraArgs" -}}
{{- $component := .component -}}
{{- $flags := index (.root.Files.Get "files/flags.yaml" | fromYaml) $component -}}
{{- $fixed := list "--admin-listen" "--namespace" "--log-format" "--log-level" -}}
{{- range .args }}{{ $fixed = append $fixed (regexFind "^[^=]+" .) }}{{ end -}}
{{- $extra := list -}}
{{- range (index .root.Values $component).extraArgs -}}
{{- $flag := regexFind "^[^=]+" . -}}
{{- if not (hasKey $flags $flag) -}}
{{- fail (printf "%s.extraArgs: trainmesh %s has no flag %s" $component $component $flag) -}}
{{- else if has $flag $fixed -}}
{{- $value := get $flags $flag -}}
{{- fail (printf "%s.extraArgs: the chart sets %s: remove it%s" $component $flag (ternary (printf ", and use %v" $value) "" (not (empty $value)))) -}}
{{- else if has $flag $extra -}}
{{- fail (printf "%s.extraArgs: %s is set twice" $component $flag) -}}
{{- end -}}
{{- $value := trimPrefix (printf "%s=" $flag) . -}}
{{- if and (has $flag (list "--drain" "--grace")) (not (regexMatch "^([0-9]+([.][0-9]+)?(ms|s|m|h))+$" $value)) -}}
{{- fail (printf "%s.extraArgs: %s: expected a duration such as 20s, found %s" $component $flag $value) -}}
{{- else if and (eq $flag "--max-review-nodes") (not (and (regexMatch "^[1-9][0-9]{3,5}$" $value) (ge (int $value) 5000) (le (int $value) 200000))) -}}
{{- fail (printf "%s.extraArgs: %s: expected a number from 5000 to 200000, found %s" $component $flag $value) -}}
{{- end -}}
{{- $extra = append $extra $flag -}}
{{- end -}}
{{- end }}

{{/*
Fails if the kubelet would kill a server before it has shut down. Durations of extra flags that are no whole seconds are not compared.
Arguments: root, component, times (durations of a shutdown in seconds, by flag).
*/}}
{{- define "trainmesh.checkShutdown" -}}
{{- $values := index .root.Values .component -}}
{{- $sum := 0 -}}
{{- $isKnown := true -}}
{{- range $flag, $seconds := .times -}}
{{- range $values.extraArgs -}}
{{- if hasPrefix (printf "%s=" $flag) . -}}
{{- $text := trimPrefix (printf "%s=" $flag) . -}}
{{- $isKnown = and $isKnown (regexMatch "^[0-9]{1,6}s$" $text) -}}
{{- $seconds = trimSuffix "s" $text -}}
{{- end -}}
{{- end -}}
{{- $sum = add $sum (int $seconds) -}}
{{- end -}}
{{- if and $isKnown (le (int $values.terminationGracePeriodSeconds) (int $sum)) -}}
{{- fail (printf "%s.terminationGracePeriodSeconds: set more than %d, the time of a shutdown (%s)" .component (int $sum) (join " and " (keys .times | sortAlpha))) -}}
{{- end -}}
{{- end }}

{{/*
The Deployment of a component. Arguments: root, component, args (list), ports (list), volumes, mounts (lists, may be empty).
*/}}
{{- define "trainmesh.deployment" -}}
{{- include "trainmesh.checkExtraArgs" . -}}
{{- if regexMatch "^(127[.]|\\[(::1|::ffff:127[.].*)\\]$)" .root.Values.listenAddress -}}
{{- fail (printf "listenAddress: no probe and no call reaches the loopback address %s: use [::] or 0.0.0.0" .root.Values.listenAddress) -}}
{{- end -}}
{{- $values := index .root.Values .component -}}
{{- $name := printf "trainmesh-%s" .component -}}
{{- $selector := include "trainmesh.labels.selector" . -}}
{{- $strategy := dict "type" "RollingUpdate" "rollingUpdate" (dict "maxUnavailable" 0 "maxSurge" 1) -}}
{{- if eq true $values.hostNetwork -}}
{{- /* If there are no more nodes than replicas, a surge pod would wait for host ports that the old replicas occupy. */ -}}
{{- $strategy = dict "type" "RollingUpdate" "rollingUpdate" (dict "maxUnavailable" 1 "maxSurge" 0) -}}
{{- end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "trainmesh.metadata" (dict "root" .root "name" $name "component" .component) | nindent 2 }}
spec:
  {{- if not (or (kindIs "invalid" $values.replicas) (($values.autoscaling | default dict).enabled)) }}
  replicas: {{ $values.replicas }}
  {{- end }}
  revisionHistoryLimit: {{ $values.revisionHistoryLimit }}
  strategy:
    {{- toYaml ($values.strategy | default $strategy) | nindent 4 }}
  selector:
    matchLabels:
      {{- $selector | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "trainmesh.podLabels" . | nindent 8 }}
      annotations:
        {{- $fixed := dict "kubectl.kubernetes.io/default-container" .component }}
        {{- toYaml (mergeOverwrite (deepCopy .root.Values.commonAnnotations) (deepCopy $values.podAnnotations) $fixed) | nindent 8 }}
    spec:
      serviceAccountName: {{ include "trainmesh.serviceAccountName" . }}
      {{- with include "trainmesh.imagePullSecrets" .root }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- if $values.hostNetwork }}
      hostNetwork: true
      {{- end }}
      dnsPolicy: {{ $values.dnsPolicy | default (ternary "ClusterFirstWithHostNet" "ClusterFirst" (eq true $values.hostNetwork)) }}
      {{- with $values.dnsConfig }}
      dnsConfig:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.runtimeClassName }}
      runtimeClassName: {{ . }}
      {{- end }}
      securityContext:
        {{- toYaml .root.Values.podSecurityContext | nindent 8 }}
      terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
      containers:
        - name: {{ .component }}
          image: {{ include "trainmesh.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args:
            - {{ .component }}
            - {{ printf "--admin-listen=%s:%d" .root.Values.listenAddress (int .root.Values.adminPort) | quote }}
            - --namespace={{ include "trainmesh.namespace" .root }}
            - --log-format={{ .root.Values.logging.format }}
            - --log-level={{ .root.Values.logging.level }}
            {{- range .args }}
            - {{ . | quote }}
            {{- end }}
            {{- range $values.extraArgs }}
            - {{ . | quote }}
            {{- end }}
          env:
            {{- $threads := list (dict "name" "TOKIO_WORKER_THREADS" "value" (toString .root.Values.workerThreads)) }}
            {{- range $values.extraEnv }}
            {{- if eq .name "TOKIO_WORKER_THREADS" }}{{ $threads = list }}{{ end }}
            {{- end }}
            {{- toYaml (concat $threads $values.extraEnv) | nindent 12 }}
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
            {{- with $values.startupProbe }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          livenessProbe:
            httpGet: {path: /healthz, port: admin}
            {{- with $values.livenessProbe }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          readinessProbe:
            httpGet: {path: /readyz, port: admin}
            {{- with $values.readinessProbe }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
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
        {{- range $values.topologySpreadConstraints }}
        {{- $pods := dict "labelSelector" (dict "matchLabels" (fromYaml $selector)) }}
        {{- toYaml (list (merge (deepCopy .) $pods)) | nindent 8 }}
        {{- end }}
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

{{/* Budget that lets node drains evict one replica at a time. It does not block a single replica. Arguments: root, component. */}}
{{- define "trainmesh.disruptionBudget" -}}
{{- $values := index .root.Values .component -}}
{{- if $values.podDisruptionBudget.enabled -}}
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
