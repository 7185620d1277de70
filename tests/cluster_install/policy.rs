//! Permissions of the controller's account in a pod: it may only terminate a sidecar, in namespaces that have opted in.

use serde_json::json;

use trainmesh_testing::cluster::{Cluster, KubectlOutput, Namespace, TIMEOUT, eventually};
use trainmesh_testing::release::Release;

/// Port-forwards are disabled by default.
const PORT_FORWARD: &str = "config.termination.portForward=true";
const OPTED_IN: (&str, &str) = ("trainmesh.dev/inject", "enabled");
const ISTIO_AUX: (&str, &str) = ("io.datastrophic/istio-aux", "enabled");

const EXEC_DENIED: &str = "may run only commands that terminate a sidecar, and only in that sidecar";
const STDIN_DENIED: &str = "may not attach standard input to a command";
const PORT_DENIED: &str = "may forward only ports that terminate a sidecar";
const NAMESPACE_DENIED: &str = "may act only in namespaces that have opted in";
const FORWARD_DENIED: &str = "may only exec";
/// Admission has passed: the pod is looked up afterwards.
const NO_POD: &str = "pods \"p\" not found";
/// Admission has passed: the container has no such program.
const EXEC_ADMITTED: &str = "executable file not found";
/// Admission has passed: a plain GET is not upgraded.
const FORWARD_ADMITTED: &str = "pgrade request required";

const EXECS_AND_FORWARDS: &[(&[&str], &str)] = &[
    (&["exec", "p", "-c", "train", "--", "id"], EXEC_DENIED),
    (&["exec", "p", "-c", "istio-proxy", "--", "id"], EXEC_DENIED),
    (&["exec", "p", "-c", "train", "--", "pilot-agent", "request", "POST", "quitquitquit"], EXEC_DENIED),
    (&["exec", "p", "--", "pilot-agent", "request", "POST", "quitquitquit"], EXEC_DENIED),
    (&["exec", "p", "-c", "istio-proxy", "--", "pilot-agent request", "POST", "quitquitquit"], EXEC_DENIED),
    (&["exec", "p", "-c", "istio-proxy", "--", "pilot-agent", "request", "POST", "quitquitquit", "x"], EXEC_DENIED),
    (
        &[
            "exec",
            "p",
            "-c",
            "istio-proxy",
            "--",
            "pilot-agent",
            "request",
            "--debug-port",
            "x",
            "POST",
            "quitquitquit",
        ],
        EXEC_DENIED,
    ),
    (&["exec", "p", "-c", "fluent-bit", "--", "pilot-agent", "request", "POST", "quitquitquit"], EXEC_DENIED),
    (&["exec", "p", "-c", "fluent-bit", "--", "kill", "-TERM", "2"], EXEC_DENIED),
    (&["exec", "p", "-c", "fluent-bit", "--", "sh", "-c", "kill -TERM 1"], EXEC_DENIED),
    (&["exec", "p", "-c", "istio-proxy", "--", "kill", "-TERM", "1"], EXEC_DENIED),
    (&["exec", "-i", "p", "-c", "istio-proxy", "--", "pilot-agent", "request", "POST", "quitquitquit"], STDIN_DENIED),
    (&["exec", "p", "-c", "istio-proxy", "--", "pilot-agent", "request", "POST", "quitquitquit"], EXEC_ADMITTED),
    (
        &[
            "exec",
            "p",
            "-c",
            "istio-proxy",
            "--",
            "pilot-agent",
            "request",
            "--debug-port",
            "15021",
            "POST",
            "quitquitquit",
        ],
        EXEC_ADMITTED,
    ),
    (
        &["exec", "p", "-c", "istio-proxy", "--", "curl", "-fsS", "-X", "POST", "http://127.0.0.1:15020/quitquitquit"],
        EXEC_DENIED,
    ),
    (&["get", "--raw", "/api/v1/namespaces/@/pods/p/portforward"], PORT_DENIED),
    (&["get", "--raw", "/api/v1/namespaces/@/pods/p/portforward?ports=22"], PORT_DENIED),
    (&["get", "--raw", "/api/v1/namespaces/@/pods/p/portforward?ports=15020&ports=22"], PORT_DENIED),
    (&["get", "--raw", "/api/v1/namespaces/@/pods/p/portforward?ports=15020"], FORWARD_ADMITTED),
    (&["get", "--raw", "/api/v1/namespaces/@/pods/p/portforward?ports=9091"], FORWARD_ADMITTED),
    (&["attach", "p", "-c", "train"], "cannot create resource \"pods/attach\""),
    (&["get", "--raw", "/api/v1/namespaces/@/pods/p:15020/proxy/"], "cannot get resource \"pods/proxy\""),
    (&["delete", "pod", "p"], "cannot delete resource \"pods\""),
    (&["get", "secrets"], "cannot list resource \"secrets\""),
];

/// Requests that terminate a proxy, one for each permission.
const REQUESTS: [&str; 2] = [
    "exec?container=istio-proxy&command=pilot-agent&command=request&command=POST&command=quitquitquit",
    "portforward?ports=15020",
];

/// Namespace labels, and the expected error.
const LABELS: &[(&[(&str, &str)], &str)] = &[
    (&[OPTED_IN], NO_POD),
    (&[ISTIO_AUX], NO_POD),
    (&[OPTED_IN, ISTIO_AUX], NO_POD),
    (&[], NAMESPACE_DENIED),
    (&[("trainmesh.dev/inject", "audit")], NAMESPACE_DENIED),
    (&[("trainmesh.dev/inject", "disabled")], NAMESPACE_DENIED),
    (&[("trainmesh.dev/inject", "audit"), ISTIO_AUX], NAMESPACE_DENIED),
    (&[("io.datastrophic/istio-aux", "true")], NAMESPACE_DENIED),
    (&[("istio-injection", "enabled")], NAMESPACE_DENIED),
];

/// Sends a request about a pod `p` in `namespace`, which does not exist.
fn request(cluster: &Namespace, namespace: &str, request: &str, flags: &[&str]) -> KubectlOutput {
    let path = format!("/api/v1/namespaces/{namespace}/pods/p/{request}");
    cluster.kubectl(&[&["get", "--raw", &path], flags].concat(), "")
}

/// Installs the chart without waiting for its pods, but until the apiserver enforces the permissions of the controller's account
/// and the policy, which it reads from watches.
fn install_with_port_forward() -> Release {
    let release = Release::install("helm", &[PORT_FORWARD]);
    let account = format!("--as={}", release.account("controller"));
    let namespace = Cluster::get().namespace(&[]);
    for path in REQUESTS {
        eventually(TIMEOUT, "the policy is in force", || {
            let error = request(&namespace, &namespace.name, path, &[&account]).stderr;
            if error.contains(NAMESPACE_DENIED) { Ok(()) } else { Err(error) }
        });
    }
    release
}

#[test]
fn the_controller_may_act_only_in_opted_in_namespaces() {
    let release = install_with_port_forward();
    let account = format!("--as={}", release.account("controller"));
    let cluster = Cluster::get();
    for (labels, expected) in LABELS {
        let namespace = cluster.namespace(labels);
        for path in REQUESTS {
            let output = request(&namespace, &namespace.name, path, &[&account]);
            assert!(output.stderr.contains(expected), "{labels:?} {path}: {}", output.stderr);
            // A user who runs `trainmesh sweep` has other permissions.
            let output = request(&namespace, &namespace.name, path, &[]);
            assert!(output.stderr.contains(NO_POD), "{labels:?} {path}: {}", output.stderr);
        }
    }
    // No label opts these in.
    for excluded in ["kube-system", &*release.namespace.name] {
        let label =
            |label| release.namespace.kubectl(&["label", "--overwrite", "namespace", excluded, label], "").success();
        let _ = label("trainmesh.dev/inject=enabled");
        let outputs = REQUESTS.map(|path| request(&release.namespace, excluded, path, &[&account]).stderr);
        let _ = label("trainmesh.dev/inject-");
        assert!(outputs.iter().all(|output| output.contains(NAMESPACE_DENIED)), "{excluded}: {outputs:?}");
    }
}

#[test]
fn the_controller_may_not_forward_ports_by_default() {
    let release = Release::install("helm", &[]);
    let namespace = Cluster::get().namespace(&[OPTED_IN]);
    let account = release.account("controller");
    let flag = format!("--as={account}");
    let send = |path| request(&namespace, &namespace.name, path, &[&flag]).stderr;
    eventually(TIMEOUT, "the chart's permissions are in force", || {
        let exec = send(REQUESTS[0]);
        if exec.contains(NO_POD) { Ok(()) } else { Err(exec) }
    });
    let forward = send(REQUESTS[1]);
    assert!(forward.contains("cannot get resource \"pods/portforward\""), "{forward}");
    // Granting the permission without the chart's value does not change the policy.
    let _ =
        namespace.kubectl(&["create", "role", "p", "--verb=get,create", "--resource=pods/portforward"], "").success();
    let subject = format!("--user={account}");
    let _ = namespace.kubectl(&["create", "rolebinding", "p", "--role=p", &subject], "").success();
    eventually(TIMEOUT, "the permission is granted", || {
        let forward = request(&namespace, &namespace.name, REQUESTS[1], &[&flag]).stderr;
        if forward.contains(FORWARD_DENIED) { Ok(()) } else { Err(forward) }
    });
}

#[test]
fn the_controller_may_only_terminate_sidecars() {
    let release = install_with_port_forward();
    let namespace = Cluster::get().namespace(&[OPTED_IN]);
    let container = |name: &str| {
        json!({"name": name, "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
            "command": ["sh", "-c", "trap 'exit 0' TERM; sleep 600 & wait"]})
    };
    let containers = ["train", "istio-proxy", "fluent-bit"].map(container);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"restartPolicy": "Never", "containers": containers}});
    let _ = namespace.apply(&pod).success();
    let _ = namespace.kubectl(&["wait", "pod/p", "--for=condition=Ready", "--timeout=240s"], "").success();
    let account = format!("--as={}", release.account("controller"));
    for (arguments, expected) in EXECS_AND_FORWARDS {
        let arguments: Vec<_> = arguments.iter().map(|word| word.replace('@', &namespace.name)).collect();
        let arguments: Vec<_> = std::iter::once(&*account).chain(arguments.iter().map(String::as_str)).collect();
        let output = namespace.kubectl(&arguments, "");
        assert!(!output.status.success(), "{arguments:?}: {}", output.stdout);
        assert!(output.stderr.contains(expected), "{arguments:?}: {}", output.stderr);
    }
    let quit = ["exec", "p", "-c", "fluent-bit", &account, "--", "kill", "-TERM", "1"];
    // Terminating the container also terminates its commands, including this one: its exit code does not matter.
    let output = namespace.kubectl(&quit, "");
    eventually(TIMEOUT, "fluent-bit has terminated", || {
        let pod = namespace.get("pod", "p").ok_or("no pod")?;
        let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
        let terminated = statuses
            .into_iter()
            .any(|status| status["name"] == "fluent-bit" && status["state"]["terminated"].is_object());
        if terminated { Ok(()) } else { Err(output.stderr.as_str()) }
    });
    // Other users are not restricted.
    let _ = namespace.kubectl(&["exec", "p", "-c", "train", "--", "id"], "").success();
}
