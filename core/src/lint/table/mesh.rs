//! Services of the mesh, and the start of pods in it.

use super::super::{services, startup};
use super::{Check, Example, MESH};
use crate::finding::Severity;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: MESH[0],
        severity: Severity::Warning,
        title: "a Service with a port that Envoy does not capture",
        why: "Clients with a sidecar choose mTLS by the label security.istio.io/tlsMode of the pod, which the injector \
              sets to istio, not by the ports that Envoy captures. The application cannot read the TLS that they send \
              to another port.",
        fix: "list the port in traffic.sidecar.istio.io/includeInboundPorts, if the pod sets it; with the mode direct, declare the \
              port in the container, or list it in the annotation trainmesh.dev/mesh-ports",
        example: Example {
            given: "in a namespace with Istio injection, with a Service that selects `app: train` and sends connections to \
                    port 6006",
            wrong: r#"metadata:
  labels: {app: train}
  annotations: {traffic.sidecar.istio.io/includeInboundPorts: "8080"}
spec:
  containers:
  - name: train
"#,
            fixed: r#"metadata:
  labels: {app: train}
  annotations: {traffic.sidecar.istio.io/includeInboundPorts: "6006,8080"}
spec:
  containers:
  - name: train
"#,
        },
        run: |context, findings| services::uncaptured_port(context.input, findings),
    },
    Check {
        id: MESH[1],
        severity: Severity::Warning,
        title: "a DestinationRule that requires mTLS on a port that Envoy does not capture",
        why: "With the mode ISTIO_MUTUAL, clients with a sidecar send TLS whatever the label security.istio.io/tlsMode \
              of the pod. The application cannot read it.",
        fix: "remove the mode from the DestinationRule (Istio then chooses mTLS by the pod), set it to DISABLE for this \
              port, or have Envoy capture the port: annotation trainmesh.dev/mesh-ports with the mode direct, otherwise \
              traffic.sidecar.istio.io/includeInboundPorts",
        example: Example {
            given: "in a namespace with Istio injection, with a Service that selects `app: train` and sends connections to \
                    port 6006, and a DestinationRule for it with the mode ISTIO_MUTUAL",
            wrong: r#"metadata:
  labels: {app: train, security.istio.io/tlsMode: disabled}
  annotations: {traffic.sidecar.istio.io/includeInboundPorts: ""}
spec:
  containers:
  - name: train
"#,
            fixed: r#"metadata:
  labels: {app: train}
  annotations: {traffic.sidecar.istio.io/includeInboundPorts: "6006"}
spec:
  containers:
  - name: train
"#,
        },
        run: |context, findings| services::mutual_rule(context.input, findings),
    },
    Check {
        id: MESH[2],
        severity: Severity::Warning,
        title: "direct calls to pods that require mTLS",
        why: "With direct traffic, connections to addresses of pods bypass Envoy, and therefore also those to headless \
              Services. Pods that require mTLS reject them. If the pod does not name the Service, but may find it in its \
              namespace, the severity is information. Another pod of the same job, whose host name and port a manifest \
              names, requires mTLS on the ports that it declares, except those of the job.",
        fix: "give the Service a cluster IP, or set the mode of its port to PERMISSIVE",
        example: Example {
            given: "in a namespace with Istio injection, with the headless Service `db` in the namespace `data`, whose pods require \
                    mTLS",
            wrong: r"metadata:
  annotations:
    trainmesh.dev/applied: mesh.traffic
    traffic.sidecar.istio.io/excludeOutboundIPRanges: 10.244.0.0/16
spec:
  containers:
  - name: train
    env: [{name: DATABASE, value: 'postgres://db.data:5432/train'}]
",
            fixed: r"metadata:
  annotations:
    trainmesh.dev/applied: mesh.traffic
    traffic.sidecar.istio.io/excludeOutboundIPRanges: 10.244.0.0/16
spec:
  containers:
  - name: train
    env: [{name: DATABASE, value: 'postgres://db-rw.data:5432/train'}]
",
        },
        run: |context, findings| services::direct_calls(context.input, findings),
    },
    Check {
        id: MESH[3],
        severity: Severity::Error,
        title: "STRICT mTLS with a headless Service without ports",
        why: "Istio creates no listener for a Service without ports. Envoy passes connections to its pods through in \
              plain text, and their proxies reject them under STRICT mTLS. The operators of MPIJob, JobSet, TrainJob and \
              LeaderWorkerSet create such Services.",
        fix: "label the namespace or the pods trainmesh.dev/mesh-traffic: direct; for a LeaderWorkerSet, which counts as \
              serving: disableCapture",
        example: Example {
            given: "in a namespace with Istio injection and a PeerAuthentication with the mode STRICT",
            wrong: r#"metadata:
  labels:
    jobset.sigs.k8s.io/jobset-name: llama
    jobset.sigs.k8s.io/replicatedjob-name: workers
  annotations: {jobset.sigs.k8s.io/global-replicas: "2"}
spec:
  containers:
  - name: train
"#,
            fixed: r#"metadata:
  labels:
    jobset.sigs.k8s.io/jobset-name: llama
    jobset.sigs.k8s.io/replicatedjob-name: workers
    security.istio.io/tlsMode: disabled
  annotations:
    jobset.sigs.k8s.io/global-replicas: "2"
    traffic.sidecar.istio.io/includeInboundPorts: ""
    traffic.sidecar.istio.io/excludeOutboundIPRanges: 10.244.0.0/16
spec:
  containers:
  - name: train
"#,
        },
        run: |context, findings| services::service_without_ports(context.input, findings),
    },
    Check {
        id: MESH[4],
        severity: Severity::Warning,
        title: "a postStart hook in the ambient mesh",
        why: "The kubelet publishes the address of a pod after the postStart hooks of its containers have ended. Until \
              then, istiod does not send the pod to ztunnel, which blocks its connections. A hook that waits for the \
              network, or for a process that does, delays the start by minutes (istio/istio#60969).",
        fix: "move the work of the hook into the command of the container, or label the pod istio.io/dataplane-mode: none",
        example: Example {
            given: "in a namespace with the label `istio.io/dataplane-mode: ambient`",
            wrong: r"spec:
  containers:
  - name: train
    lifecycle: {postStart: {exec: {command: [wget, -q, 'http://tracking/start']}}}
",
            fixed: r"spec:
  containers:
  - name: train
    command: [sh, -c, 'wget -q http://tracking/start; exec python train.py']
",
        },
        run: |context, findings| startup::ambient_hook(context.input, findings),
    },
    Check {
        id: MESH[5],
        severity: Severity::Warning,
        title: "limits of the whole pod, which the proxy shares",
        why: "The injector does not raise spec.resources. The apiserver rejects a pod if a limit of the proxy exceeds the \
              limit of the pod, or if the requests of all containers exceed those of the pod. Otherwise, the proxy uses a \
              part of the application's resources (istio/istio#58769).",
        fix: "add the requests and limits of the proxy to those of the pod, or set limits for each container instead",
        example: Example {
            given: "in a namespace with Istio injection",
            wrong: r#"spec:
  resources: {limits: {cpu: "8", memory: 64Gi}}
  containers:
  - name: train
"#,
            fixed: r#"spec:
  containers:
  - name: train
    resources: {limits: {cpu: "8", memory: 64Gi}}
"#,
        },
        run: |context, findings| startup::pod_limits(context.input, findings),
    },
    Check {
        id: MESH[6],
        severity: Severity::Warning,
        title: "a headless Service of Ray with many ports",
        why: "Every proxy of the mesh keeps a listener for each port of each pod of a headless Service. Ray's default \
              range of worker ports has 10,000 ports, and the proxies of other teams run out of memory \
              (ray-project/ray#53385). A Service is reported from 1,000 listeners, which take 54 MB in Envoy 1.39.",
        fix: "set a smaller max-worker-port, leave the worker ports out of the Service and label the namespace or the pods \
              trainmesh.dev/mesh-traffic: direct, or limit the visibility of the Service: annotation \
              networking.istio.io/exportTo",
        example: Example {
            given: "in a namespace with Istio injection, with a headless Service of 1,000 ports that selects `app: train`",
            wrong: r"metadata:
  labels: {ray.io/cluster: tune, app: train}
spec:
  containers:
  - name: ray-worker
",
            fixed: r"metadata:
  labels: {ray.io/cluster: tune}
spec:
  containers:
  - name: ray-worker
",
        },
        run: |context, findings| services::many_listeners(context.input, findings),
    },
    Check {
        id: MESH[7],
        severity: Severity::Warning,
        title: "an init container that needs the network before the proxy starts",
        why: "A classic istio-proxy is an application container, which starts after all init containers, but their \
              connections are already redirected to it. The init containers with which operators wait for another pod never \
              complete. A native sidecar starts before them. If Istio decides about the kind of the sidecar, the severity is \
              information.",
        fix: "use native sidecars: mesh.nativeSidecar: prefer, or the annotation sidecar.istio.io/nativeSidecar: \"true\"",
        example: Example {
            given: "with a classic sidecar",
            wrong: r#"metadata:
  annotations: {sidecar.istio.io/status: '{"initContainers":["istio-init"],"containers":["istio-proxy"]}'}
spec:
  initContainers:
  - name: istio-init
  - name: wait-gcs-ready
  containers:
  - name: ray-worker
  - name: istio-proxy
"#,
            fixed: r#"metadata:
  annotations: {sidecar.istio.io/status: '{"initContainers":["istio-init","istio-proxy"],"containers":null}'}
spec:
  initContainers:
  - name: istio-init
  - {name: istio-proxy, restartPolicy: Always}
  - name: wait-gcs-ready
  containers:
  - name: ray-worker
"#,
        },
        run: |context, findings| startup::early_network_use(context.input, findings),
    },
];
