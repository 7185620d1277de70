//! Commands detect an installation in another namespace than the default. Each release in these tests has its own.

use crate::lifecycle::wait_until_called;
use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::pods::{OPTED_IN, adds_hold, pod};
use trainmesh_testing::release::Release;

const HOLD: &str = "holdApplicationUntilProxyStarts";

#[test]
fn commands_find_the_installation_in_any_namespace() {
    let release = Release::start(&[]);
    let namespace = Cluster::get().namespace(&OPTED_IN);
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
    release.wait_until_rolled_out();
    assert!(!preview().contains(HOLD), "the preview must read the configuration of this installation");

    for (key, value) in OPTED_IN {
        let label = format!("{key}={value}");
        let _ = Cluster::get().kubectl(&["label", "namespace", &release.namespace.name, &label], "").success();
    }
    release.upgrade(&["config.mesh.hold=true"]);
    release.wait_until_rolled_out();
    wait_until_called(&namespace);
    let mut own = pod("train");
    own["spec"]["securityContext"] =
        serde_json::json!({"runAsNonRoot": true, "runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}});
    own["spec"]["containers"][0]["securityContext"] =
        serde_json::json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    let own = release.namespace.create_dry_run(&own).unwrap();
    assert!(own["metadata"]["annotations"].get("trainmesh.dev/applied").is_none(), "{}", own["metadata"]);
    assert!(adds_hold(&namespace));
}
