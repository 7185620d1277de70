//! Pods as releases of Istio inject them with their default values.
//!
//! The fields follow the injection template and the expected outputs in the source of each release. Istio itself does not run: a
//! release that renders something else with other values is not covered.

use serde_json::{Value, json};

/// Modeled releases, oldest first: the three newest minor versions, and a candidate of the next.
pub const RELEASES: [&str; 4] = ["1.28.10", "1.29.6", "1.30.3", "1.31.0-rc.0"];

/// Value of `proxy.istio.io/config` that requests the hold.
pub const HOLD: &str = "holdApplicationUntilProxyStarts: true";

/// How the injector adds the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sidecar {
    /// A native sidecar: the default of these releases, if all kubelets have version 1.33 or later.
    Native,
    /// A container after the main containers: the pod selects it with `sidecar.istio.io/nativeSidecar: "false"`.
    Classic,
    /// As [`Sidecar::Classic`], first and with a hook that waits for the proxy: the pod also requests the hold.
    Held,
}

impl Sidecar {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Native, Self::Classic, Self::Held];
}

/// Returns an injected pod of a training job.
pub fn injected(release: &str, sidecar: Sidecar) -> Value {
    let mut annotations = json!({"istio.io/rev": "default", "kubectl.kubernetes.io/default-container": "train",
        "kubectl.kubernetes.io/default-logs-container": "train", "prometheus.io/path": "/stats/prometheus",
        "prometheus.io/port": "15020", "prometheus.io/scrape": "true", "sidecar.istio.io/status": status(sidecar)});
    if sidecar != Sidecar::Native {
        annotations["sidecar.istio.io/nativeSidecar"] = "false".into();
    }
    if sidecar == Sidecar::Held {
        annotations["proxy.istio.io/config"] = HOLD.into();
    }
    // The probe of the container is redirected to pilot-agent.
    let train = json!({"name": "train", "image": "registry.example.com/train:1", "ports": [{"containerPort": 8080, "name": "http"}],
        "readinessProbe": {"httpGet": {"path": "/app-health/train/readyz", "port": 15020}}});
    let (init, proxy) = (iptables(release), proxy(release, sidecar));
    let (init_containers, containers) = match sidecar {
        Sidecar::Native => (vec![init, proxy], vec![train]),
        Sidecar::Classic => (vec![init], vec![train, proxy]),
        Sidecar::Held => (vec![init], vec![proxy, train]),
    };
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("istio-{}", release.replace('.', "-")), "annotations": annotations,
            "labels": {"security.istio.io/tlsMode": "istio", "service.istio.io/canonical-name": "train",
                "service.istio.io/canonical-revision": "latest"}},
        "spec": {"restartPolicy": "Never", "initContainers": init_containers, "containers": containers, "volumes": volumes()}})
}

fn status(sidecar: Sidecar) -> String {
    let (init_containers, containers) = match sidecar {
        Sidecar::Native => (json!(["istio-init", "istio-proxy"]), Value::Null),
        Sidecar::Classic | Sidecar::Held => (json!(["istio-init"]), json!(["istio-proxy"])),
    };
    let volumes = volumes();
    let names: Vec<&Value> = volumes.as_array().into_iter().flatten().map(|volume| &volume["name"]).collect();
    json!({"initContainers": init_containers, "containers": containers, "volumes": names, "imagePullSecrets": null,
        "revision": "default"})
    .to_string()
}

fn image(release: &str) -> String {
    format!("registry.example.com/proxyv2:{release}")
}

fn resources() -> Value {
    json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "128Mi"}})
}

fn iptables(release: &str) -> Value {
    // The value of -x is empty.
    let arguments = "istio-iptables -p 15001 -z 15006 -u 1337 -m REDIRECT -i * -x  -b * -d 15090,15021,15020 --log_output_level=default:info";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    json!({"name": "istio-init", "image": image(release), "args": arguments, "resources": resources(),
        "securityContext": {"allowPrivilegeEscalation": false, "privileged": false, "readOnlyRootFilesystem": false,
            "runAsGroup": 0, "runAsNonRoot": false, "runAsUser": 0,
            "capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]}}})
}

fn proxy(release: &str, sidecar: Sidecar) -> Value {
    let probe = |period: u32, failures: u32| {
        json!({"httpGet": {"path": "/healthz/ready", "port": 15021}, "periodSeconds": period, "timeoutSeconds": 3,
            "failureThreshold": failures})
    };
    let mut proxy = json!({"name": "istio-proxy", "image": image(release), "args": ["proxy", "sidecar", "--domain",
            "$(POD_NAMESPACE).svc.cluster.local", "--proxyLogLevel=warning", "--proxyComponentLogLevel=misc:error",
            "--log_output_level=default:info"],
        "ports": [{"containerPort": 15090, "name": "http-envoy-prom", "protocol": "TCP"}],
        "env": environment(release, sidecar), "resources": resources(), "volumeMounts": mounts(),
        "startupProbe": probe(1, 600), "readinessProbe": probe(15, 4),
        "securityContext": {"allowPrivilegeEscalation": false, "privileged": false, "readOnlyRootFilesystem": true,
            "runAsGroup": 1337, "runAsNonRoot": true, "runAsUser": 1337, "capabilities": {"drop": ["ALL"]}}});
    match sidecar {
        Sidecar::Native => {
            proxy["restartPolicy"] = "Always".into();
            let drain = ["pilot-agent", "request", "--debug-port=15020", "POST", "drain"];
            proxy["lifecycle"] = json!({"preStop": {"exec": {"command": drain}}});
        }
        Sidecar::Classic => {}
        Sidecar::Held => proxy["lifecycle"] = json!({"postStart": {"exec": {"command": ["pilot-agent", "wait"]}}}),
    }
    proxy
}

fn environment(release: &str, sidecar: Sidecar) -> Value {
    let config = if sidecar == Sidecar::Held { "{\"holdApplicationUntilProxyStarts\":true}\n" } else { "{}\n" };
    let value = |name: &str, value: &str| json!({"name": name, "value": value});
    let field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let limit = |name: &str, resource: &str| {
        // Since 1.29 the template sets the divisor, which the apiserver sets to 0 otherwise.
        let divisor = if release.starts_with("1.28.") { "0" } else { "1" };
        json!({"name": name, "valueFrom": {"resourceFieldRef": {"resource": resource, "divisor": divisor}}})
    };
    json!([
        value("PILOT_CERT_PROVIDER", "istiod"),
        value("CA_ADDR", "istiod.istio-system.svc:15012"),
        field("POD_NAME", "metadata.name"),
        field("POD_NAMESPACE", "metadata.namespace"),
        field("INSTANCE_IP", "status.podIP"),
        field("SERVICE_ACCOUNT", "spec.serviceAccountName"),
        field("HOST_IP", "status.hostIP"),
        limit("ISTIO_CPU_LIMIT", "limits.cpu"),
        value("PROXY_CONFIG", config),
        value("ISTIO_META_POD_PORTS", r#"[{"name":"http","containerPort":8080}]"#),
        value("ISTIO_META_APP_CONTAINERS", "train"),
        limit("GOMEMLIMIT", "limits.memory"),
        limit("GOMAXPROCS", "limits.cpu"),
        value("ISTIO_META_CLUSTER_ID", "Kubernetes"),
        field("ISTIO_META_NODE_NAME", "spec.nodeName"),
        value("ISTIO_META_INTERCEPTION_MODE", "REDIRECT"),
        value("ISTIO_META_MESH_ID", "cluster.local"),
        value("TRUST_DOMAIN", "cluster.local"),
        value("ISTIO_KUBE_APP_PROBERS", r#"{"/app-health/train/readyz":{"httpGet":{"port":8080}}}"#),
    ])
}

/// Returns the mounts of the proxy.
fn mounts() -> Value {
    let paths = [
        ("workload-socket", "/var/run/secrets/workload-spiffe-uds"),
        ("credential-socket", "/var/run/secrets/credential-uds"),
        ("workload-certs", "/var/run/secrets/workload-spiffe-credentials"),
        ("istiod-ca-cert", "/var/run/secrets/istio"),
        ("istio-ca-crl", "/var/run/secrets/istio/crl"),
        ("istio-data", "/var/lib/istio/data"),
        ("istio-envoy", "/etc/istio/proxy"),
        ("istio-token", "/var/run/secrets/tokens"),
        ("istio-podinfo", "/etc/istio/pod"),
    ];
    paths.map(|(name, path)| json!({"name": name, "mountPath": path})).into_iter().collect()
}

fn volumes() -> Value {
    let empty = |name: &str| json!({"name": name, "emptyDir": {}});
    let item = |path: &str, field: &str| json!({"path": path, "fieldRef": {"fieldPath": field}});
    let token = json!({"audience": "istio-ca", "expirationSeconds": 43200, "path": "istio-token"});
    json!([
        empty("workload-socket"),
        empty("credential-socket"),
        empty("workload-certs"),
        {"name": "istio-envoy", "emptyDir": {"medium": "Memory"}},
        empty("istio-data"),
        {"name": "istio-podinfo", "downwardAPI": {"items": [
            item("labels", "metadata.labels"), item("annotations", "metadata.annotations")]}},
        {"name": "istio-token", "projected": {"sources": [{"serviceAccountToken": token}]}},
        {"name": "istiod-ca-cert", "configMap": {"name": "istio-ca-root-cert"}},
        {"name": "istio-ca-crl", "configMap": {"name": "istio-ca-crl", "optional": true}},
    ])
}
