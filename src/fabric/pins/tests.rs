//! What is kept of gangs, as tables: gangs are named by letters, revisions come from descriptions.

use rstest::rstest;

use super::*;
use crate::config::Configuration;

/// The configuration with a profile `ib` of this description for each word.
fn profiles(names: &[&str], description: &str) -> Profiles {
    let entries = names.iter().map(|name| {
        format!("{{name: {name}, transport: ib, description: {description}, resources: [{{name: rdma/a, mode: perPod, count: 1}}]}}")
    });
    let list = entries.collect::<Vec<_>>().join(", ");
    let text = format!(
        "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\nfabric: {{profiles: [{list}]}}\n"
    );
    Configuration::parse(&text).unwrap().fabric.profiles
}

fn gang(uid: &str) -> GangKey {
    GangKey { namespace: "team-a".to_owned(), uid: uid.to_owned() }
}

fn stamped(created: i64, profiles: &Profiles, name: &str) -> Stamped {
    let revision = profiles.find(name).unwrap().revision.clone();
    Stamped { created, carried: Carried { profile: name.to_owned(), revision } }
}

fn pods(uid: &str, pods: Vec<Stamped>) -> (GangKey, Vec<Stamped>) {
    (gang(uid), pods)
}

/// What is found of gang `a`: the description of the body, where there is one.
fn found(pins: &Pins) -> &str {
    let body = pins.find(&gang("a")).map(|pin| pin.body.map_or("no body", |body| body.description.as_str()));
    body.unwrap_or("nothing")
}

#[rstest]
#[case::current(&["old"], &["old"], "old")]
#[case::changed_before_it_was_seen(&["old"], &["new", "old"], "old")]
#[case::nobody_has_it(&["old"], &["new"], "no body")]
#[case::the_oldest_decides(&["old", "new"], &["old", "new"], "old")]
#[case::no_pod(&[], &["old"], "nothing")]
fn first_seen(#[case] carried: &[&str], #[case] in_force: &[&str], #[case] expected: &str) {
    let carried = carried.iter().zip(1..).map(|(word, created)| stamped(created, &profiles(&["ib"], word), "ib"));
    let living = BTreeMap::from([pods("a", carried.collect())]);
    let configured: Vec<Profiles> = in_force.iter().map(|word| profiles(&["ib"], word)).collect();
    let (pins, dropped) = Pins::default().follow(&living, &configured.iter().collect::<Vec<_>>());
    assert_eq!(found(&pins), expected);
    assert_eq!(dropped, Dropped::default());
}

#[test]
fn a_pin_lasts_as_long_as_a_pod_carries_it() {
    let (old, new) = (profiles(&["ib"], "old"), profiles(&["ib"], "new"));
    let follow = |pins: &Pins, carried: Vec<Stamped>| pins.follow(&BTreeMap::from([pods("a", carried)]), &[&new]).0;
    let (first, _) = Pins::default().follow(&BTreeMap::from([pods("a", vec![stamped(5, &old, "ib")])]), &[&old]);
    let second = follow(&first, vec![stamped(1, &new, "ib"), stamped(5, &old, "ib")]);
    assert_eq!(found(&second), "old", "though another pod is older");
    let third = follow(&second, vec![stamped(1, &new, "ib")]);
    assert_eq!(found(&third), "new", "nobody carries the old one any more");
    assert!(third.follow(&BTreeMap::new(), &[&new]).0.is_empty());
    assert_eq!(found(&third.follow(&BTreeMap::from([pods("b", vec![stamped(1, &new, "ib")])]), &[&new]).0), "nothing");
}

#[test]
fn another_leader_reads_what_was_written() {
    let (ib, living) = (profiles(&["ib"], "as it was"), |pods| BTreeMap::from([pods]));
    let (pins, _) = Pins::default().follow(&living(pods("a", vec![stamped(1, &ib, "ib")])), &[&ib]);
    let read = Pins::read(&pins.write()).unwrap();
    assert!(read == pins);
    assert_eq!(found(&read), "as it was");
    assert_eq!(Pins::read(&Pins::default().write()).unwrap(), Pins::default());
    assert!(Pins::read("{}").is_err());
}

#[test]
fn a_body_that_is_not_of_its_revision_is_not_believed() {
    let ib = profiles(&["ib"], "before");
    let (pins, _) = Pins::default().follow(&BTreeMap::from([pods("a", vec![stamped(1, &ib, "ib")])]), &[&ib]);
    let forged = Pins::read(&pins.write().replace("before", "forged")).unwrap();
    assert_eq!(found(&forged), "no body");
    let renamed = Pins::read(&pins.write().replacen("\"profile\":\"ib\"", "\"profile\":\"of\"", 1)).unwrap();
    assert_eq!(found(&renamed), "no body");
}

#[test]
fn the_oldest_go_where_there_are_too_many() {
    let names: Vec<String> = (0..=MOST_BODIES).map(|number| format!("ib-{number}")).collect();
    let ib = profiles(&names.iter().map(String::as_str).collect::<Vec<_>>(), "x");
    let of = |number: usize| stamped(i64::try_from(number).unwrap(), &ib, &names[number.min(MOST_BODIES)]);
    let many: BTreeMap<_, _> = (0..=MOST_GANGS).map(|number| pods(&number.to_string(), vec![of(number)])).collect();
    let (pins, dropped) = Pins::default().follow(&many, &[&ib]);
    assert_eq!(dropped, Dropped { gangs: 1, bodies: 0 });
    assert!(pins.find(&gang("0")).is_none() && pins.find(&gang("1")).is_some());
    let few: BTreeMap<_, _> = (0..=MOST_BODIES).map(|number| pods(&number.to_string(), vec![of(number)])).collect();
    let (pins, dropped) = Pins::default().follow(&few, &[&ib]);
    assert_eq!(dropped, Dropped { gangs: 0, bodies: 1 });
    assert!(pins.find(&gang("0")).unwrap().body.is_none() && pins.find(&gang("1")).unwrap().body.is_some());
    assert!(Pins::read(&pins.write()).unwrap() == pins);
}

#[test]
fn the_text_fits_into_an_object() {
    let ib = profiles(&["ib"], "x");
    let long = "n".repeat(63);
    let many = (0..MOST_GANGS).map(|number| {
        let key = GangKey { namespace: long.clone(), uid: format!("{number:0>64}") };
        (key, vec![stamped(i64::try_from(number).unwrap(), &ib, "ib")])
    });
    let (pins, dropped) = Pins::default().follow(&many.collect(), &[&ib]);
    assert!(dropped.gangs > 0);
    assert!(pins.write().len() <= MOST_BYTES, "{}", pins.write().len());
}

#[rstest]
#[case::given(Some("mesh.hold,fabric=ib-shared,gang=native"), Some("0123456789ab"), Some("ib-shared"))]
#[case::no_fabric(Some("mesh.hold"), Some("0123456789ab"), None)]
#[case::no_revision(Some("fabric=ib-shared"), None, None)]
#[case::no_mark(None, Some("0123456789ab"), None)]
fn marks(#[case] applied: Option<&str>, #[case] revision: Option<&str>, #[case] expected: Option<&str>) {
    assert_eq!(Carried::read(applied, revision).map(|carried| carried.profile).as_deref(), expected);
}

#[test]
fn every_profile_reads_back_from_its_json() {
    for (name, entry) in crate::fabric::builtin().all() {
        let read = crate::fabric::Entry::parse(&serde_json::json!(entry.profile).to_string()).unwrap();
        assert_eq!(read.revision, entry.revision, "{name}");
    }
}
