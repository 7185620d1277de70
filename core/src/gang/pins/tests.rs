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

fn gang(id: &str) -> GangId {
    GangId { namespace: "team-a".to_owned(), id: id.to_owned() }
}

fn assigned(created: i64, profiles: &Profiles, name: &str) -> AssignedPod {
    let revision = profiles.find(name).unwrap().revision.clone();
    AssignedPod { created, assignment: Assignment { profile: name.to_owned(), revision } }
}

fn pods(id: &str, pods: Vec<AssignedPod>) -> (GangId, Vec<AssignedPod>) {
    (gang(id), pods)
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
fn first_seen(#[case] assignment: &[&str], #[case] in_force: &[&str], #[case] expected: &str) {
    let assignment =
        assignment.iter().zip(1..).map(|(word, created)| assigned(created, &profiles(&["ib"], word), "ib"));
    let living = BTreeMap::from([pods("a", assignment.collect())]);
    let configured: Vec<Profiles> = in_force.iter().map(|word| profiles(&["ib"], word)).collect();
    let (pins, dropped) = Pins::default().follow(&living, &configured.iter().collect::<Vec<_>>());
    assert_eq!(found(&pins), expected);
    assert_eq!(dropped, Dropped::default());
}

#[test]
fn a_pin_lasts_as_long_as_a_pod_carries_it() {
    let (old, new) = (profiles(&["ib"], "old"), profiles(&["ib"], "new"));
    let follow =
        |pins: &Pins, assignment: Vec<AssignedPod>| pins.follow(&BTreeMap::from([pods("a", assignment)]), &[&new]).0;
    let (first, _) = Pins::default().follow(&BTreeMap::from([pods("a", vec![assigned(5, &old, "ib")])]), &[&old]);
    let second = follow(&first, vec![assigned(1, &new, "ib"), assigned(5, &old, "ib")]);
    assert_eq!(found(&second), "old", "though another pod is older");
    let third = follow(&second, vec![assigned(1, &new, "ib")]);
    assert_eq!(found(&third), "new", "nobody carries the old one any more");
    assert!(third.follow(&BTreeMap::new(), &[&new]).0.is_empty());
    assert_eq!(found(&third.follow(&BTreeMap::from([pods("b", vec![assigned(1, &new, "ib")])]), &[&new]).0), "nothing");
}

#[test]
fn another_leader_reads_what_was_written() {
    let (ib, living) = (profiles(&["ib"], "as it was"), |pods| BTreeMap::from([pods]));
    let (pins, _) = Pins::default().follow(&living(pods("a", vec![assigned(1, &ib, "ib")])), &[&ib]);
    let read = Pins::read(&pins.write()).unwrap();
    assert!(read == pins);
    assert_eq!(found(&read), "as it was");
    assert_eq!(Pins::read(&Pins::default().write()).unwrap(), Pins::default());
    assert!(Pins::read("{}").is_err());
}

#[test]
fn a_body_that_is_not_of_its_revision_is_not_believed() {
    let ib = profiles(&["ib"], "before");
    let (pins, _) = Pins::default().follow(&BTreeMap::from([pods("a", vec![assigned(1, &ib, "ib")])]), &[&ib]);
    let forged = Pins::read(&pins.write().replace("before", "forged")).unwrap();
    assert_eq!(found(&forged), "no body");
    let renamed = Pins::read(&pins.write().replacen("\"profile\":\"ib\"", "\"profile\":\"of\"", 1)).unwrap();
    assert_eq!(found(&renamed), "no body");
}

/// Gang `number`, one of twenty namespaces' each in turn.
fn spread(number: usize) -> GangId {
    GangId { namespace: format!("team-{}", number % 20), id: number.to_string() }
}

#[test]
fn the_youngest_are_refused_where_there_are_too_many() {
    let names: Vec<String> = (0..=MOST_BODIES).map(|number| format!("ib-{number}")).collect();
    let ib = profiles(&names.iter().map(String::as_str).collect::<Vec<_>>(), "x");
    let of = |number: usize| assigned(i64::try_from(number).unwrap(), &ib, &names[number.min(MOST_BODIES)]);
    let living = |most: usize| (0..=most).map(|number| (spread(number), vec![of(number)])).collect::<BTreeMap<_, _>>();

    let (pins, dropped) = Pins::default().follow(&living(MOST_GANGS), &[&ib]);
    assert_eq!((dropped.gangs, dropped.namespace), (1, Some(spread(MOST_GANGS).namespace)));
    assert!(pins.find(&spread(0)).is_some() && pins.find(&spread(MOST_GANGS)).is_none());

    let (pins, dropped) = Pins::default().follow(&living(MOST_BODIES), &[&ib]);
    assert_eq!(dropped, Dropped { bodies: 1, ..Dropped::default() });
    assert!(pins.find(&spread(0)).unwrap().body.is_some() && pins.find(&spread(MOST_BODIES)).unwrap().body.is_none());
    assert!(Pins::read(&pins.write()).unwrap() == pins);
}

#[test]
fn one_namespace_does_not_take_the_place_of_others() {
    let ib = profiles(&["ib"], "x");
    let of = |created: usize| vec![assigned(i64::try_from(created).unwrap(), &ib, "ib")];
    let other = GangId { namespace: "team-b".to_owned(), id: "1".to_owned() };
    let mut living: BTreeMap<_, _> =
        (1..=MOST_IN_NAMESPACE + 1).map(|number| (gang(&number.to_string()), of(number))).collect();
    living.insert(other.clone(), of(MOST_GANGS));
    let (pins, dropped) = Pins::default().follow(&living, &[&ib]);
    let youngest = gang(&(MOST_IN_NAMESPACE + 1).to_string());
    assert_eq!((dropped.gangs, dropped.namespace.as_deref()), (1, Some("team-a")));
    assert!(pins.find(&other).is_some() && pins.find(&youngest).is_none());

    // Whatever its age, a gang that comes later evicts none.
    living.insert(gang("0"), of(0));
    let (pins, dropped) = pins.follow(&living, &[&ib]);
    assert_eq!(dropped.gangs, 2);
    assert!(pins.find(&gang("0")).is_none() && pins.find(&gang("1")).is_some());
}

/// A text that is longer as JSON than it is in memory counts as it is stored.
#[rstest]
#[case::digits("0", "0123456789ab")]
#[case::escaped("\u{1}", "\u{1}")]
fn the_text_fits_into_an_object(#[case] id: &str, #[case] revision: &str) {
    let ib = profiles(&["ib"], "x");
    let many = (0..MOST_GANGS).map(|number| {
        let key = GangId { namespace: "n".repeat(number % 60), id: format!("{}{number}", id.repeat(120)) };
        let assignment = Assignment { profile: "ib".to_owned(), revision: format!("{revision}{}", number / 2) };
        (key, vec![AssignedPod { created: i64::try_from(number).unwrap(), assignment }])
    });
    let (pins, dropped) = Pins::default().follow(&many.collect(), &[&ib]);
    assert!(dropped.gangs > 0);
    assert!(pins.write().len() <= MOST_BYTES, "{}", pins.write().len());
}

#[test]
fn invalid_entries_of_an_earlier_version_are_dropped() {
    let written = |revision: &str, gang: &str| {
        let entry = serde_json::json!({"profile": "ib", "revision": revision, "body": null, "gangs": [gang]});
        Pins::read(&serde_json::json!([entry]).to_string()).unwrap()
    };
    assert!(!written("0123456789ab", "team-a/1").is_empty());
    assert!(written(&"\u{1}".repeat(200_000), "team-a/1").is_empty());
    assert!(written("0123456789ab", "team-a/\u{1}").is_empty());
}

#[test]
fn every_profile_reads_back_from_its_json() {
    for (name, entry) in crate::config::builtin_profiles().all() {
        let read = crate::config::Entry::parse(&serde_json::json!(entry.profile).to_string()).unwrap();
        assert_eq!(read.revision, entry.revision, "{name}");
    }
}
