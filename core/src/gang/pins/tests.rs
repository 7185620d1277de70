//! Tests of pinning. Revisions of a profile differ only in their description.

use rstest::rstest;

use super::*;
use crate::config::Configuration;

/// Configures an `ib` profile with this description for each name.
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

/// Returns the description of the profile that gang `a` is pinned to.
fn pinned(pins: &Pins) -> &str {
    let body = pins.find(&gang("a")).map(|pin| pin.body.map_or("no body", |body| body.description.as_str()));
    body.unwrap_or("nothing")
}

#[rstest]
#[case::current(&["old"], &["old"], "old")]
#[case::changed_before_first_observation(&["old"], &["new", "old"], "old")]
#[case::no_longer_configured(&["old"], &["new"], "no body")]
#[case::oldest_pod(&["old", "new"], &["old", "new"], "old")]
#[case::no_pod(&[], &["old"], "nothing")]
fn pins_the_assignment_of_the_oldest_pod(
    #[case] assigned_revisions: &[&str],
    #[case] configured: &[&str],
    #[case] expected: &str,
) {
    let gang_pods = assigned_revisions
        .iter()
        .zip(1..)
        .map(|(description, created)| assigned(created, &profiles(&["ib"], description), "ib"));
    let active = BTreeMap::from([pods("a", gang_pods.collect())]);
    let configured: Vec<Profiles> = configured.iter().map(|description| profiles(&["ib"], description)).collect();
    let (pins, dropped) = Pins::default().reconcile(&active, &configured.iter().collect::<Vec<_>>());
    assert_eq!(pinned(&pins), expected);
    assert_eq!(dropped, Dropped::default());
}

#[test]
fn keeps_a_pin_while_a_pod_has_its_assignment() {
    let (old, new) = (profiles(&["ib"], "old"), profiles(&["ib"], "new"));
    let reconcile =
        |pins: &Pins, assignment: Vec<AssignedPod>| pins.reconcile(&BTreeMap::from([pods("a", assignment)]), &[&new]).0;
    let (first, _) = Pins::default().reconcile(&BTreeMap::from([pods("a", vec![assigned(5, &old, "ib")])]), &[&old]);
    let second = reconcile(&first, vec![assigned(1, &new, "ib"), assigned(5, &old, "ib")]);
    assert_eq!(pinned(&second), "old", "another pod is older");
    let third = reconcile(&second, vec![assigned(1, &new, "ib")]);
    assert_eq!(pinned(&third), "new", "no pod has the old one any more");
    assert!(third.reconcile(&BTreeMap::new(), &[&new]).0.is_empty());
    assert_eq!(
        pinned(&third.reconcile(&BTreeMap::from([pods("b", vec![assigned(1, &new, "ib")])]), &[&new]).0),
        "nothing"
    );
}

#[test]
fn round_trips_through_json() {
    let (ib, active) = (profiles(&["ib"], "original"), |pods| BTreeMap::from([pods]));
    let (pins, _) = Pins::default().reconcile(&active(pods("a", vec![assigned(1, &ib, "ib")])), &[&ib]);
    let read = Pins::from_json(&pins.to_json()).unwrap();
    assert!(read == pins);
    assert_eq!(pinned(&read), "original");
    assert_eq!(Pins::from_json(&Pins::default().to_json()).unwrap(), Pins::default());
    assert!(Pins::from_json("{}").is_err());
}

#[test]
fn ignores_a_body_that_does_not_match_its_revision() {
    let ib = profiles(&["ib"], "before");
    let (pins, _) = Pins::default().reconcile(&BTreeMap::from([pods("a", vec![assigned(1, &ib, "ib")])]), &[&ib]);
    let forged = Pins::from_json(&pins.to_json().replace("before", "forged")).unwrap();
    assert_eq!(pinned(&forged), "no body");
    let renamed = Pins::from_json(&pins.to_json().replacen("\"profile\":\"ib\"", "\"profile\":\"of\"", 1)).unwrap();
    assert_eq!(pinned(&renamed), "no body");
}

/// Returns gang `number`. Consecutive gangs are spread over twenty namespaces.
fn spread(number: usize) -> GangId {
    GangId { namespace: format!("team-{}", number % 20), id: number.to_string() }
}

#[test]
fn drops_the_youngest_gangs_beyond_the_limit() {
    let names: Vec<String> = (0..=MAX_BODIES).map(|number| format!("ib-{number}")).collect();
    let ib = profiles(&names.iter().map(String::as_str).collect::<Vec<_>>(), "x");
    let new_pod = |number: usize| assigned(i64::try_from(number).unwrap(), &ib, &names[number.min(MAX_BODIES)]);
    let active =
        |last: usize| (0..=last).map(|number| (spread(number), vec![new_pod(number)])).collect::<BTreeMap<_, _>>();

    let (pins, dropped) = Pins::default().reconcile(&active(MAX_GANGS), &[&ib]);
    assert_eq!((dropped.gangs, dropped.namespace), (1, Some(spread(MAX_GANGS).namespace)));
    assert!(pins.find(&spread(0)).is_some() && pins.find(&spread(MAX_GANGS)).is_none());

    let (pins, dropped) = Pins::default().reconcile(&active(MAX_BODIES), &[&ib]);
    assert_eq!(dropped, Dropped { bodies: 1, ..Dropped::default() });
    assert!(pins.find(&spread(0)).unwrap().body.is_some() && pins.find(&spread(MAX_BODIES)).unwrap().body.is_none());
    assert!(Pins::from_json(&pins.to_json()).unwrap() == pins);
}

#[test]
fn limits_the_gangs_of_a_namespace() {
    let ib = profiles(&["ib"], "x");
    let new_pod = |created: usize| vec![assigned(i64::try_from(created).unwrap(), &ib, "ib")];
    let other = GangId { namespace: "team-b".to_owned(), id: "1".to_owned() };
    let mut active: BTreeMap<_, _> =
        (1..=MAX_GANGS_PER_NAMESPACE + 1).map(|number| (gang(&number.to_string()), new_pod(number))).collect();
    active.insert(other.clone(), new_pod(MAX_GANGS));
    let (pins, dropped) = Pins::default().reconcile(&active, &[&ib]);
    let youngest = gang(&(MAX_GANGS_PER_NAMESPACE + 1).to_string());
    assert_eq!((dropped.gangs, dropped.namespace.as_deref()), (1, Some("team-a")));
    assert!(pins.find(&other).is_some() && pins.find(&youngest).is_none());

    // A new gang does not evict a pinned one, even if it is older.
    active.insert(gang("0"), new_pod(0));
    let (pins, dropped) = pins.reconcile(&active, &[&ib]);
    assert_eq!(dropped.gangs, 2);
    assert!(pins.find(&gang("0")).is_none() && pins.find(&gang("1")).is_some());
}

/// Checks that the size limit applies to the JSON form, including escapes.
#[rstest]
#[case::digits("0", "0123456789ab")]
#[case::escaped("\u{1}", "\u{1}")]
fn bounds_the_size_of_the_json(#[case] id: &str, #[case] revision: &str) {
    let ib = profiles(&["ib"], "x");
    let many = (0..MAX_GANGS).map(|number| {
        let key = GangId { namespace: "n".repeat(number % 60), id: format!("{}{number}", id.repeat(120)) };
        let assignment = Assignment { profile: "ib".to_owned(), revision: format!("{revision}{}", number / 2) };
        (key, vec![AssignedPod { created: i64::try_from(number).unwrap(), assignment }])
    });
    let (pins, dropped) = Pins::default().reconcile(&many.collect(), &[&ib]);
    assert!(dropped.gangs > 0);
    assert!(pins.to_json().len() <= MAX_BYTES, "{}", pins.to_json().len());
}

#[test]
fn drops_invalid_entries_of_earlier_versions() {
    let parse = |revision: &str, gang: &str| {
        let entry = serde_json::json!({"profile": "ib", "revision": revision, "body": null, "gangs": [gang]});
        Pins::from_json(&serde_json::json!([entry]).to_string()).unwrap()
    };
    assert!(!parse("0123456789ab", "team-a/1").is_empty());
    assert!(parse(&"\u{1}".repeat(200_000), "team-a/1").is_empty());
    assert!(parse("0123456789ab", "team-a/\u{1}").is_empty());
}

#[test]
fn every_builtin_profile_round_trips_through_json() {
    for (name, entry) in crate::config::builtin_profiles().all() {
        let read = crate::config::ProfileEntry::parse(&serde_json::json!(entry.profile).to_string()).unwrap();
        assert_eq!(read.revision, entry.revision, "{name}");
    }
}
