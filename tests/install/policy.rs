//! What the controller's account may do in a pod: what ends a sidecar, and nothing else.

use serde_json::json;

use crate::cluster::{Cluster, PATIENCE, eventually};
use crate::release::Release;

const EXECS: &str = "may run only what ends a sidecar, and only in that sidecar";
const INPUT: &str = "may not write to a command";
const PORTS: &str = "may forward only the ports by which a sidecar is ended";
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

#[test]
fn the_controllers_account_may_only_end_sidecars() {
    let release = Release::install("helm", &[]);
    let namespace = Cluster::get().namespace(&[]);
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
