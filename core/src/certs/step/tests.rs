//! Steps for a table of states.

use std::time::Duration;

use rstest::rstest;

use super::*;

/// Lifetimes in seconds: the CA is renewed after 600 s, the certificate after 300 s.
const CA_LIFETIME: u64 = 900;
const CERTIFICATE_LIFETIME: u64 = 450;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// Returns a CA created at `second`, with its key.
fn ca(second: i64) -> CaFacts {
    let number = u8::try_from(second / 10).unwrap();
    CaFacts {
        id: CertificateId([number; 32]),
        validity: Validity::from_lifetime(at(second), Duration::from_secs(CA_LIFETIME)),
        has_key: true,
    }
}

fn keyless(second: i64) -> CaFacts {
    CaFacts { has_key: false, ..ca(second) }
}

/// Returns the IDs of the CAs created at these seconds.
fn ids<const N: usize>(seconds: [i64; N]) -> Vec<CertificateId> {
    seconds.map(|second| ca(second).id).into()
}

fn set<const N: usize>(cas: [CaFacts; N]) -> CertificateSet {
    CertificateSet { cas: cas.into(), foreign: false }
}

fn foreign(set: CertificateSet) -> CertificateSet {
    CertificateSet { foreign: true, ..set }
}

/// Returns a certificate issued at `second` by the CA created at `issuer`.
fn certificate(second: i64, issuer: i64) -> CertificateFacts {
    let validity = Validity::from_lifetime(at(second), Duration::from_secs(CERTIFICATE_LIFETIME));
    CertificateFacts { issuer: Some(ca(issuer).id), validity, matches_service: true }
}

fn serving_secret<const N: usize>(
    certificate: impl Into<Option<CertificateFacts>>,
    bundle: [CaFacts; N],
) -> ServingSecret {
    ServingSecret { certificate: certificate.into(), bundle: set(bundle) }
}

/// Second 10: one CA, in use.
fn settled() -> RotationFacts {
    RotationFacts {
        now: at(10),
        ca_secret: Some(set([ca(0)])),
        serving_secret: Some(serving_secret(certificate(0, 0), [ca(0)])),
        ca_bundle: Some(set([keyless(0)])),
        established: BTreeSet::new(),
    }
}

/// Second 650: a second CA has been added everywhere.
fn overlapping() -> RotationFacts {
    RotationFacts {
        now: at(650),
        ca_secret: Some(set([ca(600), ca(0)])),
        serving_secret: Some(serving_secret(certificate(500, 0), [keyless(600), keyless(0)])),
        ca_bundle: Some(set([keyless(600), keyless(0)])),
        established: BTreeSet::from([ca(0).id]),
    }
}

/// A new installation: the Secrets are empty.
fn empty() -> RotationFacts {
    RotationFacts {
        ca_secret: Some(CertificateSet::default()),
        serving_secret: Some(ServingSecret::default()),
        ca_bundle: Some(foreign(set([]))),
        ..settled()
    }
}

fn store_authorities(keep: impl Into<Vec<CaFacts>>, generate: bool) -> RotationStep {
    RotationStep::StoreCas { keep: keep.into(), generate }
}

fn issue_certificate<const N: usize>(signer: i64, bundle: [i64; N]) -> RotationStep {
    RotationStep::IssueCertificate { signer: ca(signer).id, bundle: ids(bundle) }
}

#[rstest]
// The first CA.
#[case::nothing_there(RotationFacts { ca_secret: None, serving_secret: None, ca_bundle: None, ..settled() }, RotationStep::Idle)]
#[case::empty(empty(), store_authorities([], true))]
#[case::stored(RotationFacts { ca_secret: Some(set([ca(0)])), ..empty() }, RotationStep::UpdateCaBundle(ids([0])))]
#[case::ca_bundle(RotationFacts { serving_secret: Some(ServingSecret::default()), ..settled() }, issue_certificate(0, [0]))]
#[case::no_webhook_configuration_yet(
    RotationFacts { serving_secret: Some(ServingSecret::default()), ca_bundle: None, ..settled() }, issue_certificate(0, [0]))]
#[case::settled(settled(), RotationStep::Idle)]
// Renewal.
#[case::certificate_due(RotationFacts { now: at(300), ..settled() }, issue_certificate(0, [0]))]
#[case::certificate_expired(RotationFacts { now: at(500), ..settled() }, issue_certificate(0, [0]))]
#[case::ca_due(
    RotationFacts { now: at(600), serving_secret: Some(serving_secret(certificate(500, 0), [ca(0)])), ..settled() }, store_authorities([ca(0)], true))]
#[case::all_expired(RotationFacts { now: at(5000), ..settled() }, store_authorities([], true))]
// Rotation.
#[case::new_ca_stored(
    RotationFacts { ca_bundle: Some(set([keyless(0)])), ..overlapping() }, RotationStep::UpdateCaBundle(ids([600, 0])))]
#[case::new_ca_trusted(overlapping(), RotationStep::Idle)]
#[case::new_ca_trusted_by_some(
    RotationFacts { ca_bundle: Some(foreign(set([keyless(0)]))), ..overlapping() }, RotationStep::UpdateCaBundle(ids([600, 0])))]
#[case::new_ca_not_in_the_bundle(
    RotationFacts { serving_secret: Some(serving_secret(certificate(500, 0), [keyless(0)])), ..overlapping() }, RotationStep::UpdateServingBundle(ids([600, 0])))]
#[case::certificate_due_meanwhile(
    RotationFacts { serving_secret: Some(serving_secret(certificate(300, 0), [keyless(600), keyless(0)])), ..overlapping() }, issue_certificate(0, [600, 0]))]
#[case::new_ca_established(
    RotationFacts { established: BTreeSet::from([ca(0).id, ca(600).id]), ..overlapping() }, issue_certificate(600, [600, 0]))]
#[case::new_ca_signs(
    RotationFacts { serving_secret: Some(serving_secret(certificate(650, 600), [keyless(600), keyless(0)])), ..overlapping() },
    store_authorities([ca(600), keyless(0)], false))]
#[case::old_ca_retired(
    RotationFacts { ca_secret: Some(set([ca(600), keyless(0)])),
        serving_secret: Some(serving_secret(certificate(650, 600), [keyless(600), keyless(0)])), ..overlapping() },
    RotationStep::Idle)]
#[case::old_ca_expired(
    RotationFacts { now: at(901), ca_secret: Some(set([ca(600), keyless(0)])),
        serving_secret: Some(serving_secret(certificate(650, 600), [keyless(600), keyless(0)])), ..overlapping() },
    store_authorities([ca(600)], false))]
#[case::old_ca_expired_and_dropped(
    RotationFacts { now: at(901), ca_secret: Some(set([ca(600)])),
        serving_secret: Some(serving_secret(certificate(650, 600), [keyless(600), keyless(0)])), ..overlapping() },
    RotationStep::UpdateCaBundle(ids([600])))]
// Changes by other clients.
#[case::ca_bundle_wiped(RotationFacts { ca_bundle: Some(set([])), ..settled() }, RotationStep::UpdateCaBundle(ids([0])))]
#[case::ca_bundle_replaced(RotationFacts { ca_bundle: Some(foreign(set([]))), ..settled() }, RotationStep::UpdateCaBundle(ids([0])))]
#[case::ca_bundle_with_foreign_data(RotationFacts { ca_bundle: Some(foreign(set([keyless(0)]))), ..settled() }, RotationStep::UpdateCaBundle(ids([0])))]
#[case::ca_secret_wiped(RotationFacts { ca_secret: Some(set([])), ..settled() }, store_authorities([keyless(0)], true))]
#[case::ca_secret_with_foreign_data(RotationFacts { ca_secret: Some(foreign(set([ca(0)]))), ..settled() }, store_authorities([ca(0)], false))]
#[case::key_lost(RotationFacts { ca_secret: Some(set([keyless(0)])), ..settled() }, store_authorities([keyless(0)], true))]
#[case::both_secrets_wiped(
    RotationFacts { ca_bundle: Some(set([keyless(0)])), ..empty() }, store_authorities([keyless(0)], true))]
#[case::no_signature_before_the_new_ca_is_established(
    RotationFacts { ca_secret: Some(set([ca(10), keyless(0)])), ca_bundle: Some(set([keyless(10), keyless(0)])), ..empty() },
    RotationStep::Idle)]
#[case::ca_secret_from_a_backup(
    RotationFacts { ca_secret: Some(set([ca(0)])), serving_secret: Some(serving_secret(certificate(650, 600), [keyless(600), keyless(0)])),
        ..overlapping() },
    store_authorities([keyless(600), ca(0)], true))]
#[case::certificate_wiped(RotationFacts { serving_secret: Some(ServingSecret::default()), ..settled() }, issue_certificate(0, [0]))]
#[case::foreign_certificate(
    RotationFacts { serving_secret: Some(serving_secret(CertificateFacts { issuer: None, ..certificate(0, 0) }, [])), ..settled() }, issue_certificate(0, [0]))]
#[case::certificate_for_another_service(
    RotationFacts { serving_secret: Some(serving_secret(CertificateFacts { matches_service: false, ..certificate(0, 0) }, [ca(0)])), ..settled() }, issue_certificate(0, [0]))]
#[case::certificate_wiped_meanwhile(RotationFacts { serving_secret: Some(ServingSecret::default()), ..overlapping() }, issue_certificate(0, [600, 0]))]
#[case::ca_secret_gone(
    RotationFacts { ca_secret: None, ca_bundle: Some(set([])), ..settled() }, RotationStep::UpdateCaBundle(ids([0])))]
#[case::serving_secret_gone(RotationFacts { serving_secret: None, ..settled() }, RotationStep::Idle)]
// The clock.
#[case::an_hour_back(RotationFacts { now: at(-3600), ..settled() }, RotationStep::Idle)]
#[case::more_than_an_hour_back(RotationFacts { now: at(-3601), ..settled() }, store_authorities([], true))]
#[case::new_ca_from_the_future(
    RotationFacts { now: at(-3000), ca_secret: Some(set([ca(610), ca(0)])), ..settled() }, store_authorities([ca(0)], false))]
fn returns_the_next_step(#[case] facts: RotationFacts, #[case] expected: RotationStep) {
    let schedule = Schedule::new(Duration::from_secs(CA_LIFETIME), Duration::from_secs(CERTIFICATE_LIFETIME)).unwrap();
    assert_eq!(next_step(&facts, &schedule), expected);
}

#[test]
fn trusted_ids_are_those_of_every_webhook() {
    assert_eq!(overlapping().trusted_ids().collect::<Vec<_>>(), ids([600, 0]));
    assert_eq!(RotationFacts { ca_bundle: None, ..overlapping() }.trusted_ids().count(), 0);
}

#[test]
fn an_id_is_displayed_by_its_first_four_bytes() {
    let id = CertificateId([0x0a; 32]);
    assert_eq!((id.to_string().as_str(), format!("{id:?}").as_str()), ("0a0a0a0a", "0a0a0a0a"));
}
