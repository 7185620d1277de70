package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

type object = map[string]any

type injector struct {
	image  string
	native bool
	// The certificate that all proxies share, and its key, as PEM.
	certificate, key string
}

const (
	proxyName        = "istio-proxy"
	statusAnnotation = "sidecar.istio.io/status"
	configAnnotation = "proxy.istio.io/config"
	nativeAnnotation = "sidecar.istio.io/nativeSidecar"
	overrides        = "proxy.istio.io/overrides"
	templateNames    = "inject.istio.io/templates"
	portAnnotation   = "status.sidecar.istio.io/port"
	injectKey        = "sidecar.istio.io/inject"
)

// inject changes the pod in place. It works on plain JSON, so that unknown fields are
// preserved. Like Istio 1.30, it merges the rendered container into one of the same name. If
// the status annotation lists that container, an earlier injection rendered it, and the pod
// is injected again; if not, the container customizes the sidecar and is merged over the result.
func (config injector) inject(pod object, namespace string) (bool, error) {
	metadata, spec := child(pod, "metadata"), child(pod, "spec")
	labels, annotations := child(metadata, "labels"), child(metadata, "annotations")
	if spec["hostNetwork"] == true {
		return false, nil
	}
	// The selectors have checked the label; without it, the old annotation counts.
	if _, labelled := labels[injectKey]; !labelled && text(annotations, injectKey) == "false" {
		return false, nil
	}
	proxyConfig, err := readConfig(text(annotations, configAnnotation), text(annotations, portAnnotation))
	if err != nil {
		return false, err
	}
	intercepted, err := readInterception(annotations)
	if err != nil {
		return false, err
	}
	template, err := selectTemplate(text(annotations, templateNames))
	if err != nil {
		return false, err
	}
	native := template == "sidecar" && config.native
	// An empty value stands for the default.
	if value := text(annotations, nativeAnnotation); value != "" && template == "sidecar" {
		native = value != "false"
	}
	for _, container := range list(spec, "containers") {
		if name := text(container.(object), "name"); name != proxyName {
			setDefault(annotations, "kubectl.kubernetes.io/default-container", name)
			setDefault(annotations, "kubectl.kubernetes.io/default-logs-container", name)
			break
		}
	}

	field := "containers"
	present := take(spec, proxyName, "containers")
	if native {
		field = "initContainers"
		if sidecar := take(spec, proxyName, "initContainers"); sidecar != nil {
			present = sidecar
		}
	}
	proxy, err := customize(annotations, field, present, config.container(proxyConfig, template, native))
	if err != nil {
		return false, err
	}
	if native || proxyConfig.hold {
		spec[field] = append([]any{proxy}, list(spec, field)...)
	} else {
		spec[field] = append(list(spec, field), proxy)
	}
	status := object{"initContainers": nil, "containers": nil, "volumes": []any{"istio-envoy"}, "imagePullSecrets": nil, "revision": "default"}
	status[field] = []any{proxyName}
	take(spec, initName, "initContainers")
	if template == "sidecar" && intercepted != nil && proxyConfig.metadata[captureVariable] != "" {
		spec["initContainers"] = append([]any{config.initContainer(intercepted)}, list(spec, "initContainers")...)
		names, _ := status["initContainers"].([]any)
		status["initContainers"] = append([]any{initName}, names...)
	}
	spec["volumes"] = overlayItems(list(spec, "volumes"), []any{object{"name": "istio-envoy", "emptyDir": object{"medium": "Memory"}}}, "name")

	encoded, err := json.Marshal(status)
	if err != nil {
		return false, err
	}
	annotations[statusAnnotation] = string(encoded)
	annotations["istio.io/rev"] = "default"
	setDefault(labels, "security.istio.io/tlsMode", "istio")
	setDefault(labels, "service.istio.io/canonical-name", canonicalName(metadata, labels))
	setDefault(labels, "service.istio.io/canonical-revision", "latest")
	metadata["labels"], metadata["annotations"] = labels, annotations
	return true, nil
}

// selectTemplate returns the last template that the annotation names: each one overrides
// the previous one.
func selectTemplate(names string) (string, error) {
	template := "sidecar"
	for _, name := range strings.Split(names, ",") {
		switch name = strings.TrimSpace(name); name {
		case "":
		case "sidecar", "grpc-agent", "gateway":
			template = name
		default:
			return "", fmt.Errorf("requested template %q not found", name)
		}
	}
	return template, nil
}

func (config injector) container(proxyConfig proxyConfig, template string, native bool) object {
	environment := []any{object{"name": "PROXY_CONFIG", "value": proxyConfig.json}}
	for _, name := range proxyConfig.metadataNames {
		environment = append(environment, object{"name": name, "value": proxyConfig.metadata[name]})
	}
	if proxyConfig.metadata[captureVariable] != "" {
		environment = append(environment,
			object{"name": "TEST_MESH_CERTIFICATE", "value": config.certificate}, object{"name": "TEST_MESH_KEY", "value": config.key})
	}
	readyPort := 15021 // Envoy's; without Envoy, the agent's own
	if template == "grpc-agent" {
		readyPort = 15020
	}
	probe := func(period, failures int) object {
		return object{
			"httpGet":       object{"path": "/healthz/ready", "port": readyPort},
			"periodSeconds": period, "timeoutSeconds": 3, "failureThreshold": failures,
		}
	}
	role := "sidecar"
	if template == "gateway" {
		role = "router"
	}
	container := object{
		"name":            proxyName,
		"image":           config.image,
		"imagePullPolicy": "Never", // no registry can be reached from the test node
		"args":            []any{"proxy", role},
		"ports":           []any{object{"containerPort": 15090, "protocol": "TCP", "name": "http-envoy-prom"}},
		"startupProbe":    probe(1, 600),
		"readinessProbe":  probe(15, 4),
		"resources":       object{"requests": object{"cpu": "10m", "memory": "40Mi"}, "limits": object{"cpu": "2", "memory": "1Gi"}},
		"securityContext": object{
			"allowPrivilegeEscalation": false, "privileged": false, "readOnlyRootFilesystem": true,
			"runAsNonRoot": true, "runAsUser": 1337, "runAsGroup": 1337, "capabilities": object{"drop": []any{"ALL"}},
		},
		"volumeMounts": []any{object{"name": "istio-envoy", "mountPath": "/etc/istio/proxy"}},
	}
	switch {
	case template == "grpc-agent":
		environment = append(environment, object{"name": "DISABLE_ENVOY", "value": "true"})
		container["lifecycle"] = object{"postStart": execute("pilot-agent", "wait", "--url=http://localhost:15020/healthz/ready")}
	case native:
		container["restartPolicy"] = "Always"
		container["lifecycle"] = object{"preStop": execute("pilot-agent", "request", "--debug-port=15020", "POST", "drain")}
	case proxyConfig.hold && template == "sidecar":
		container["lifecycle"] = object{"postStart": execute("pilot-agent", "wait")}
	}
	container["env"] = environment
	return container
}

type proxyConfig struct {
	hold          bool
	json          string
	metadata      map[string]string
	metadataNames []string
}

// readConfig parses the annotation as Istio does: with Istio's own YAML parser, both spellings
// of a name and unknown fields allowed, and an error if a known field has another type.
// The annotation of the status port takes precedence.
func readConfig(annotation, statusPort string) (proxyConfig, error) {
	result := proxyConfig{json: "{}"}
	if annotation == "" && statusPort == "" {
		return result, nil
	}
	refuse := func(err error) (proxyConfig, error) {
		return result, fmt.Errorf("failed to convert to proto: annotation %s: %w", configAnnotation, err)
	}
	converted, err := yaml.YAMLToJSON([]byte(annotation))
	if err != nil {
		return refuse(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(converted, &fields); err != nil {
		return refuse(err)
	}
	if fields == nil { // the text was empty
		fields = map[string]json.RawMessage{}
	}
	known := []struct {
		names  []string
		target any
	}{
		{[]string{"holdApplicationUntilProxyStarts", "hold_application_until_proxy_starts"}, &result.hold},
		{[]string{"proxyMetadata", "proxy_metadata"}, &result.metadata},
		{[]string{"terminationDrainDuration", "termination_drain_duration"}, new(string)},
		{[]string{"proxyAdminPort", "proxy_admin_port"}, new(int)},
		{[]string{"statusPort", "status_port"}, new(int)},
	}
	for _, field := range known {
		for _, name := range field.names {
			raw, given := fields[name]
			if !given {
				continue
			}
			if err := json.Unmarshal(raw, field.target); err != nil {
				return refuse(fmt.Errorf("%s: %w", name, err))
			}
			// The proxy reads only the first spelling.
			delete(fields, name)
			fields[field.names[0]] = raw
		}
	}
	if statusPort != "" {
		fields["statusPort"] = json.RawMessage(statusPort)
	}
	for name := range result.metadata {
		result.metadataNames = append(result.metadataNames, name)
	}
	slices.Sort(result.metadataNames)
	rendered, err := json.Marshal(fields)
	if err != nil {
		return refuse(err)
	}
	result.json = string(rendered)
	return result, nil
}

func canonicalName(metadata, labels object) string {
	for _, key := range []string{"app.kubernetes.io/name", "app"} {
		if value := text(labels, key); value != "" {
			return value
		}
	}
	for _, owner := range list(metadata, "ownerReferences") {
		if name := text(owner.(object), "name"); name != "" {
			return name
		}
	}
	// A generated name has no suffix yet; a label must not end in a dash.
	return strings.TrimRight(podName(object{"metadata": metadata}), "-.")
}

func podName(pod object) string {
	metadata := child(pod, "metadata")
	if name := text(metadata, "name"); name != "" {
		return name
	}
	return text(metadata, "generateName")
}

func execute(command ...any) object { return object{"exec": object{"command": command}} }

func child(parent object, key string) object {
	if value, ok := parent[key].(object); ok {
		return value
	}
	return object{}
}

func list(parent object, key string) []any {
	value, _ := parent[key].([]any)
	return value
}

func text(parent object, key string) string {
	value, _ := parent[key].(string)
	return value
}

func setDefault(target object, key, value string) {
	if _, given := target[key]; !given && value != "" {
		target[key] = value
	}
}
