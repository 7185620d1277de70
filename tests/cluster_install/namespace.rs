//! An installation in a namespace with another name than the default: each has one here.

use crate::life::wait_until_called;
use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::pods::{SERVED, patched, pod};
use trainmesh_testing::release::Release;

const HOLD: &str = "holdApplicationUntilProxyStarts";

#[test]
fn commands_find_the_installation_in_any_namespace() {
    let release = Release::started(&[]);
    let namespace = Cluster::get().namespace(&SERVED);
    wait_until_called(&namespace);
    let preview = || {
        let run = trainmesh(
            &["preview", "-f", "-", "--cluster", "-n", &namespace.name, "-o", "patch"],
            &pod("train").to_string(),
        );
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stdout
    };
    assert!(preview().contains(HOLD));

    release.upgrade(&["config.mesh.hold=false"]);
    release.settled();
    assert!(!preview().contains(HOLD), "the preview does not read the configuration of this installation");

    for (key, value) in SERVED {
        let label = format!("{key}={value}");
        let _ = Cluster::get().kubectl(&["label", "namespace", &release.home.name, &label], "").success();
    }
    release.upgrade(&["config.mesh.hold=true"]);
    release.settled();
    wait_until_called(&namespace);
    let mut own = pod("train");
    own["spec"]["securityContext"] =
        serde_json::json!({"runAsNonRoot": true, "runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}});
    own["spec"]["containers"][0]["securityContext"] =
        serde_json::json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    let own = release.home.rehearse(&own).unwrap();
    assert!(own["metadata"]["annotations"].get("trainmesh.dev/applied").is_none(), "{}", own["metadata"]);
    assert!(patched(&namespace));
}
