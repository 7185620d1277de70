//! State → step, as a table.

use std::time::Duration;

use rstest::rstest;

use super::*;

/// CA and leaf: renewed after 600 s and 300 s.
const CA: u64 = 900;
const LEAF: u64 = 450;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// An authority made at `second`, with its key.
fn ca(second: i64) -> Authority {
    let number = u8::try_from(second / 10).unwrap();
    Authority { id: Id([number; 32]), dates: Dates::starting(at(second), Duration::from_secs(CA)), keyed: true }
}

fn keyless(second: i64) -> Authority {
    Authority { keyed: false, ..ca(second) }
}

/// The names of those made at these seconds.
fn ids<const N: usize>(seconds: [i64; N]) -> Vec<Id> {
    seconds.map(|second| ca(second).id).into()
}

fn set<const N: usize>(authorities: [Authority; N]) -> CertificateSet {
    CertificateSet { authorities: authorities.into(), foreign: false }
}

fn foreign(set: CertificateSet) -> CertificateSet {
    CertificateSet { foreign: true, ..set }
}

/// A leaf made at `second` by the authority of `issuer`.
fn leaf(second: i64, issuer: i64) -> Leaf {
    let dates = Dates::starting(at(second), Duration::from_secs(LEAF));
    Leaf { issuer: Some(ca(issuer).id), dates, fit: true }
}

fn serving<const N: usize>(leaf: impl Into<Option<Leaf>>, bundle: [Authority; N]) -> Serving {
    Serving { leaf: leaf.into(), bundle: set(bundle) }
}

/// One authority, in service, at second 10.
fn settled() -> Facts {
    Facts {
        now: at(10),
        record: Some(set([ca(0)])),
        serving: Some(serving(leaf(0, 0), [ca(0)])),
        trusted: Some(set([keyless(0)])),
        established: BTreeSet::new(),
    }
}

/// Second 600: a second one stands beside it everywhere.
fn overlapping() -> Facts {
    Facts {
        now: at(650),
        record: Some(set([ca(600), ca(0)])),
        serving: Some(serving(leaf(500, 0), [keyless(600), keyless(0)])),
        trusted: Some(set([keyless(600), keyless(0)])),
        established: BTreeSet::from([ca(0).id]),
    }
}

/// Installed a moment ago: the Secrets are empty.
fn empty() -> Facts {
    Facts {
        record: Some(CertificateSet::default()),
        serving: Some(Serving::default()),
        trusted: Some(foreign(set([]))),
        ..settled()
    }
}

fn record(keep: impl Into<Vec<Authority>>, mint: bool) -> Step {
    Step::Record { keep: keep.into(), mint }
}

fn issue<const N: usize>(signer: i64, bundle: [i64; N]) -> Step {
    Step::Issue { signer: ca(signer).id, bundle: ids(bundle) }
}

#[rstest]
// The first one.
#[case::nothing_there(Facts { record: None, serving: None, trusted: None, ..settled() }, Step::Rest)]
#[case::empty(empty(), record([], true))]
#[case::recorded(Facts { record: Some(set([ca(0)])), ..empty() }, Step::Trust(ids([0])))]
#[case::trusted(Facts { serving: Some(Serving::default()), ..settled() }, issue(0, [0]))]
#[case::not_registered_yet(
    Facts { serving: Some(Serving::default()), trusted: None, ..settled() }, issue(0, [0]))]
#[case::settled(settled(), Step::Rest)]
// Renewal.
#[case::leaf_due(Facts { now: at(300), ..settled() }, issue(0, [0]))]
#[case::leaf_expired(Facts { now: at(500), ..settled() }, issue(0, [0]))]
#[case::authority_due(
    Facts { now: at(600), serving: Some(serving(leaf(500, 0), [ca(0)])), ..settled() }, record([ca(0)], true))]
#[case::all_expired(Facts { now: at(5000), ..settled() }, record([], true))]
// Rotation.
#[case::new_one_recorded(
    Facts { trusted: Some(set([keyless(0)])), ..overlapping() }, Step::Trust(ids([600, 0])))]
#[case::new_one_trusted(overlapping(), Step::Rest)]
#[case::new_one_trusted_by_some(
    Facts { trusted: Some(foreign(set([keyless(0)]))), ..overlapping() }, Step::Trust(ids([600, 0])))]
#[case::new_one_not_in_the_bundle(
    Facts { serving: Some(serving(leaf(500, 0), [keyless(0)])), ..overlapping() }, Step::Bundle(ids([600, 0])))]
#[case::leaf_due_meanwhile(
    Facts { serving: Some(serving(leaf(300, 0), [keyless(600), keyless(0)])), ..overlapping() }, issue(0, [600, 0]))]
#[case::new_one_established(
    Facts { established: BTreeSet::from([ca(0).id, ca(600).id]), ..overlapping() }, issue(600, [600, 0]))]
#[case::new_one_signs(
    Facts { serving: Some(serving(leaf(650, 600), [keyless(600), keyless(0)])), ..overlapping() },
    record([ca(600), keyless(0)], false))]
#[case::old_one_retired(
    Facts { record: Some(set([ca(600), keyless(0)])),
        serving: Some(serving(leaf(650, 600), [keyless(600), keyless(0)])), ..overlapping() },
    Step::Rest)]
#[case::old_one_expired(
    Facts { now: at(901), record: Some(set([ca(600), keyless(0)])),
        serving: Some(serving(leaf(650, 600), [keyless(600), keyless(0)])), ..overlapping() },
    record([ca(600)], false))]
#[case::old_one_expired_and_dropped(
    Facts { now: at(901), record: Some(set([ca(600)])),
        serving: Some(serving(leaf(650, 600), [keyless(600), keyless(0)])), ..overlapping() },
    Step::Trust(ids([600])))]
// What others do to it.
#[case::ca_bundle_wiped(Facts { trusted: Some(set([])), ..settled() }, Step::Trust(ids([0])))]
#[case::ca_bundle_replaced(Facts { trusted: Some(foreign(set([]))), ..settled() }, Step::Trust(ids([0])))]
#[case::ca_bundle_with_more(Facts { trusted: Some(foreign(set([keyless(0)]))), ..settled() }, Step::Trust(ids([0])))]
#[case::record_wiped(Facts { record: Some(set([])), ..settled() }, record([keyless(0)], true))]
#[case::record_with_more(Facts { record: Some(foreign(set([ca(0)]))), ..settled() }, record([ca(0)], false))]
#[case::key_lost(Facts { record: Some(set([keyless(0)])), ..settled() }, record([keyless(0)], true))]
#[case::both_secrets_wiped(
    Facts { trusted: Some(set([keyless(0)])), ..empty() }, record([keyless(0)], true))]
#[case::after_that_nothing_is_signed_too_soon(
    Facts { record: Some(set([ca(10), keyless(0)])), trusted: Some(set([keyless(10), keyless(0)])), ..empty() },
    Step::Rest)]
#[case::record_from_a_backup(
    Facts { record: Some(set([ca(0)])), serving: Some(serving(leaf(650, 600), [keyless(600), keyless(0)])),
        ..overlapping() },
    record([keyless(600), ca(0)], true))]
#[case::leaf_wiped(Facts { serving: Some(Serving::default()), ..settled() }, issue(0, [0]))]
#[case::leaf_of_others(
    Facts { serving: Some(serving(Leaf { issuer: None, ..leaf(0, 0) }, [])), ..settled() }, issue(0, [0]))]
#[case::leaf_for_another_service(
    Facts { serving: Some(serving(Leaf { fit: false, ..leaf(0, 0) }, [ca(0)])), ..settled() }, issue(0, [0]))]
#[case::leaf_wiped_meanwhile(Facts { serving: Some(Serving::default()), ..overlapping() }, issue(0, [600, 0]))]
#[case::record_gone(
    Facts { record: None, trusted: Some(set([])), ..settled() }, Step::Trust(ids([0])))]
#[case::serving_gone(Facts { serving: None, ..settled() }, Step::Rest)]
// The clock.
#[case::an_hour_back(Facts { now: at(-3600), ..settled() }, Step::Rest)]
#[case::more_than_an_hour_back(Facts { now: at(-3601), ..settled() }, record([], true))]
#[case::new_one_from_the_future(
    Facts { now: at(-3000), record: Some(set([ca(610), ca(0)])), ..settled() }, record([ca(0)], false))]
fn state_to_step(#[case] facts: Facts, #[case] expected: Step) {
    let schedule = Schedule::new(Duration::from_secs(CA), Duration::from_secs(LEAF)).unwrap();
    assert_eq!(next(&facts, &schedule), expected);
}

#[test]
fn what_every_webhook_trusts() {
    assert_eq!(overlapping().trusted_ids().collect::<Vec<_>>(), ids([600, 0]));
    assert_eq!(Facts { trusted: None, ..overlapping() }.trusted_ids().count(), 0);
}

#[test]
fn an_id_is_shown_by_its_first_four_bytes() {
    let id = Id([0x0a; 32]);
    assert_eq!((id.to_string().as_str(), format!("{id:?}").as_str()), ("0a0a0a0a", "0a0a0a0a"));
}
