//! What the controller's account may do in a pod: what terminates a sidecar, in namespaces that have opted in, and nothing
//! else.

use serde_json::json;

use trainmesh_testing::cluster::{Applied, Cluster, Namespace, PATIENCE, eventually};
use trainmesh_testing::release::Release;

/// Port-forwards are off by default.
const PORT_FORWARD: &str = "config.termination.portForward=true";
const OPTED_IN: (&str, &str) = ("trainmesh.dev/inject", "enabled");
const ISTIO_AUX: (&str, &str) = ("io.datastrophic/istio-aux", "enabled");

const EXECS: &str = "may run only what ends a sidecar, and only in that sidecar";
const INPUT: &str = "may not write to a command";
const PORTS: &str = "may forward only the ports by which a sidecar is ended";
const NAMESPACES: &str = "may act only in namespaces that have opted in";
const EXEC_ALONE: &str = "may only exec";
/// The pod is looked up behind admission.
const NO_POD: &str = "pods \"p\" not found";
/// Said behind admission: the container has no such program.
const ADMITTED: &str = "executable file not found";
/// Said behind admission: a plain GET forwards nothing.
const OPENED: &str = "pgrade request required";

const TABLE: &[(&[&str], &str)] = &[
    (&["exec", "p", "-c", "train", "--", "id"], EXECS),
    (&["exec", "p", "-c", "istio-proxy", "--", "id"], EXECS),
    (&["exec", "p", "-c", "train", "--", "pilot-agent", "request", "POST", "quitquitquit"], EXECS),
    (&["exec", "p", "--", "pilot-agent", "request", "POST", "quitquitquit"], EXECS),
    (&["exec", "p", "-c", "istio-proxy", "--", "pilot-agent request", "POST", "quitquitquit"], EXECS),
    (&["exec", "p", "-c", "istio-proxy", "--", "pilot-agent", "request", "POST", "quitquitquit", "x"], EXECS),
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
        EXECS,
    ),
    (&["exec", "p", "-c", "fluent-bit", "--", "pilot-agent", "request", "POST", "quitquitquit"], EXECS),
    (&["exec", "p", "-c", "fluent-bit", "--", "kill", "-TERM", "2"], EXECS),
    (&["exec", "p", "-c", "fluent-bit", "--", "sh", "-c", "kill -TERM 1"], EXECS),
    (&["exec", "p", "-c", "istio-proxy", "--", "kill", "-TERM", "1"], EXECS),
    (&["exec", "-i", "p", "-c", "istio-proxy", "--", "pilot-agent", "request", "POST", "quitquitquit"], INPUT),
    (&["exec", "p", "-c", "istio-proxy", "--", "pilot-agent", "request", "POST", "quitquitquit"], ADMITTED),
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
        ADMITTED,
    ),
    (
        &["exec", "p", "-c", "istio-proxy", "--", "curl", "-fsS", "-X", "POST", "http://127.0.0.1:15020/quitquitquit"],
        EXECS,
    ),
    (&["get", "--raw", "/api/v1/namespaces/@/pods/p/portforward"], PORTS),
    (&["get", "--raw", "/api/v1/namespaces/@/pods/p/portforward?ports=22"], PORTS),
    (&["get", "--raw", "/api/v1/namespaces/@/pods/p/portforward?ports=15020&ports=22"], PORTS),
    (&["get", "--raw", "/api/v1/namespaces/@/pods/p/portforward?ports=15020"], OPENED),
    (&["get", "--raw", "/api/v1/namespaces/@/pods/p/portforward?ports=9091"], OPENED),
    (&["attach", "p", "-c", "train"], "cannot create resource \"pods/attach\""),
    (&["get", "--raw", "/api/v1/namespaces/@/pods/p:15020/proxy/"], "cannot get resource \"pods/proxy\""),
    (&["delete", "pod", "p"], "cannot delete resource \"pods\""),
    (&["get", "secrets"], "cannot list resource \"secrets\""),
];

/// What terminates a proxy, by the one permission and by the other.
const CALLS: [&str; 2] = [
    "exec?container=istio-proxy&command=pilot-agent&command=request&command=POST&command=quitquitquit",
    "portforward?ports=15020",
];

/// The labels of a namespace, and what the account is told there.
const LABELS: &[(&[(&str, &str)], &str)] = &[
    (&[OPTED_IN], NO_POD),
    (&[ISTIO_AUX], NO_POD),
    (&[OPTED_IN, ISTIO_AUX], NO_POD),
    (&[], NAMESPACES),
    (&[("trainmesh.dev/inject", "audit")], NAMESPACES),
    (&[("trainmesh.dev/inject", "disabled")], NAMESPACES),
    (&[("trainmesh.dev/inject", "audit"), ISTIO_AUX], NAMESPACES),
    (&[("io.datastrophic/istio-aux", "true")], NAMESPACES),
    (&[("istio-injection", "enabled")], NAMESPACES),
];

/// The answer to a call for a pod `p` in `namespace`, where there is none.
fn call(cluster: &Namespace, namespace: &str, call: &str, flags: &[&str]) -> Applied {
    let path = format!("/api/v1/namespaces/{namespace}/pods/p/{call}");
    cluster.kubectl(&[&["get", "--raw", &path], flags].concat(), "")
}

#[test]
fn the_controllers_account_may_act_only_in_namespaces_that_have_opted_in() {
    let release = Release::install("helm", &[PORT_FORWARD]);
    let account = format!("--as={}", release.account("controller"));
    let cluster = Cluster::get();
    for (labels, expected) in LABELS {
        let namespace = cluster.namespace(labels);
        for path in CALLS {
            let answer = call(&namespace, &namespace.name, path, &[&account]);
            assert!(answer.stderr.contains(expected), "{labels:?} {path}: {}", answer.stderr);
            // A person who runs `trainmesh sweep` has permissions of their own.
            let answer = call(&namespace, &namespace.name, path, &[]);
            assert!(answer.stderr.contains(NO_POD), "{labels:?} {path}: {}", answer.stderr);
        }
    }
    // No label opts these in.
    for excluded in ["kube-system", &*release.home.name] {
        let label = |label| release.home.kubectl(&["label", "--overwrite", "namespace", excluded, label], "").success();
        let _ = label("trainmesh.dev/inject=enabled");
        let answers = CALLS.map(|path| call(&release.home, excluded, path, &[&account]).stderr);
        let _ = label("trainmesh.dev/inject-");
        assert!(answers.iter().all(|answer| answer.contains(NAMESPACES)), "{excluded}: {answers:?}");
    }
}

#[test]
fn by_default_the_controllers_account_may_forward_no_port() {
    let release = Release::install("helm", &[]);
    let namespace = Cluster::get().namespace(&[OPTED_IN]);
    let account = release.account("controller");
    let flag = format!("--as={account}");
    let [exec, forward] = CALLS.map(|path| call(&namespace, &namespace.name, path, &[&flag]).stderr);
    assert!(exec.contains(NO_POD), "{exec}");
    assert!(forward.contains("cannot get resource \"pods/portforward\""), "{forward}");
    // Whoever grants the permission without the value of the chart has not changed the policy.
    let _ =
        namespace.kubectl(&["create", "role", "p", "--verb=get,create", "--resource=pods/portforward"], "").success();
    let subject = format!("--user={account}");
    let _ = namespace.kubectl(&["create", "rolebinding", "p", "--role=p", &subject], "").success();
    eventually(PATIENCE, "the permission is granted", || {
        let forward = call(&namespace, &namespace.name, CALLS[1], &[&flag]).stderr;
        if forward.contains(EXEC_ALONE) { Ok(()) } else { Err(forward) }
    });
}

#[test]
fn the_controllers_account_may_only_end_sidecars() {
    let release = Release::install("helm", &[PORT_FORWARD]);
    let namespace = Cluster::get().namespace(&[OPTED_IN]);
    let container = |name: &str| {
        json!({"name": name, "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
            "command": ["sh", "-c", "trap 'exit 0' TERM; sleep 600 & wait"]})
    };
    let containers = ["train", "istio-proxy", "fluent-bit"].map(container);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"restartPolicy": "Never", "containers": containers}});
    let _ = namespace.apply(&pod).success();
    let _ = namespace.kubectl(&["wait", "pod/p", "--for=condition=Ready", "--timeout=120s"], "").success();
    let account = format!("--as={}", release.account("controller"));
    for (arguments, expected) in TABLE {
        let arguments: Vec<_> = arguments.iter().map(|word| word.replace('@', &namespace.name)).collect();
        let arguments: Vec<_> = std::iter::once(&*account).chain(arguments.iter().map(String::as_str)).collect();
        let answer = namespace.kubectl(&arguments, "");
        assert!(!answer.status.success(), "{arguments:?}: {}", answer.stdout);
        assert!(answer.stderr.contains(expected), "{arguments:?}: {}", answer.stderr);
    }
    let end = ["exec", "p", "-c", "fluent-bit", &account, "--", "kill", "-TERM", "1"];
    // With the container its commands end, this one among them: how is of no matter.
    let told = namespace.kubectl(&end, "");
    eventually(PATIENCE, "fluent-bit has ended", || {
        let pod = namespace.get("pod", "p").ok_or("no pod")?;
        let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
        let ended = statuses.into_iter().any(|it| it["name"] == "fluent-bit" && it["state"]["terminated"].is_object());
        if ended { Ok(()) } else { Err(told.stderr.as_str()) }
    });
    // Others are not looked at.
    let _ = namespace.kubectl(&["exec", "p", "-c", "train", "--", "id"], "").success();
}
