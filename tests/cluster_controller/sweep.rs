//! `trainmesh sweep`: for the person on call, with no controller anywhere.

use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::controller::{Group, Manifest, PROXY, SERVED, Seen, State, asked_of_all, see, watch};

#[test]
fn what_hangs_is_listed_with_its_reason_and_ended_when_asked() {
    let group = Group::new();
    let namespace = Cluster::get().namespace(&SERVED);
    let create = |pod: Manifest| namespace.create(&pod).success();
    let _ = create(group.pod("hangs").runs("train", "exit 3"));
    let _ = create(group.pod("works").runs("train", "sleep 1h"));
    let _ = create(group.pod("alone").label("trainmesh.dev/inject", "disabled").runs("train", "true"));
    let _ = create(group.pod("native").native(true).runs("train", "true"));
    for name in ["hangs", "alone"] {
        watch(&namespace, name, "it hangs", |seen| seen.ended("train").is_some() && seen.ready(PROXY));
    }
    watch(&namespace, "native", "over", Seen::over);

    let look = trainmesh(&["sweep", "-n", &namespace.name], "");
    assert_eq!((look.code, look.stderr.as_str()), (Some(0), ""));
    let line = |name: &str| look.stdout.lines().find(|line| line.split_whitespace().any(|word| word == name));
    assert!(line("hangs").is_some_and(|line| line.contains("the proxy istio-proxy still runs")), "{}", look.stdout);
    assert!(line("alone").is_some_and(|line| line.contains("left alone")), "{}", look.stdout);
    for name in ["works", "native"] {
        assert!(line(name).is_none(), "{name} hangs on nothing:\n{}", look.stdout);
    }
    assert!(asked_of_all(&namespace).is_empty(), "looking changes nothing");

    let swept = trainmesh(&["sweep", "-n", &namespace.name, "--apply"], "");
    assert_eq!(swept.code, Some(0), "{}", swept.stderr);
    assert_eq!(watch(&namespace, "hangs", "over", Seen::over).phase(), "Failed");
    assert_eq!(asked_of_all(&namespace).into_keys().collect::<Vec<_>>(), ["hangs"]);
    assert_eq!(see(&namespace, "alone").state(PROXY), State::Running);

    let empty = trainmesh(&["sweep", "-n", &namespace.name], "");
    assert_eq!(empty.code, Some(0));
    assert!(empty.stdout.contains("alone") && !empty.stdout.contains("hangs"), "{}", empty.stdout);
}
