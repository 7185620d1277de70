//! Leader election against a real apiserver: who leads, and when another does.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::timeout;
use trainmesh::cluster::lease::{self, Candidate, Lost, Timing};
use trainmesh_core::objects::LEASE;

use trainmesh_testing::cluster::server::{self, Server};
use trainmesh_testing::cluster::{Cluster, Namespace, PATIENCE, eventually};

/// As in production, five times as fast.
const TIMING: Timing = Timing {
    term: Duration::from_secs(3),
    renewal: Duration::from_secs(1),
    patience: Duration::from_secs(2),
    retry: Duration::from_millis(200),
};

/// Two candidates for the lease of one namespace.
struct Election {
    leases: Api<Lease>,
    first: Candidate,
    second: Candidate,
    /// Goes when the test ends.
    home: Namespace,
}

impl Election {
    async fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = trainmesh::cluster::client::connect(None, None).await.unwrap();
        let home = tokio::task::block_in_place(|| Cluster::get().namespace(&[]));
        let candidate =
            |client: &Client, name| Candidate::new(client.clone(), &home.name, lease::identity(name), TIMING);
        Self {
            first: candidate(&client, "first"),
            second: candidate(&client, "second"),
            leases: Api::namespaced(client, &home.name),
            home,
        }
    }

    /// How long the second needs to lead, while the first does not.
    async fn succession(&mut self) -> Duration {
        let began = Instant::now();
        timeout(PATIENCE, self.second.lead()).await.expect("the second leads in the end");
        began.elapsed()
    }
}

/// Waits until the lease has been renewed for so long from now on.
async fn renewed(leases: &Api<Lease>, time: Duration) {
    let last = async || leases.get(LEASE).await.unwrap().spec.unwrap().renew_time.unwrap().0;
    let end = last().await + time;
    timeout(PATIENCE, async {
        while last().await < end {
            tokio::time::sleep(TIMING.retry).await;
        }
    })
    .await
    .expect("the lease is renewed");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_leads_and_the_other_waits() {
    let Election { mut first, mut second, leases, home: _home } = Election::new().await;
    first.lead().await;
    tokio::select! {
        biased;
        lost = first.keep() => panic!("{lost}"),
        () = second.lead() => panic!("both lead"),
        () = renewed(&leases, TIMING.term * 2) => {}
    }
    let spec = leases.get(LEASE).await.unwrap().spec.unwrap();
    assert!(spec.holder_identity.unwrap().starts_with("first_"));
    assert_eq!((spec.lease_duration_seconds, spec.lease_transitions), (Some(3), Some(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_stop_hands_over_at_once() {
    let mut election = Election::new().await;
    election.first.lead().await;
    election.first.release().await;
    let holder = election.leases.get(LEASE).await.unwrap().spec.unwrap().holder_identity;
    assert_eq!(holder, None, "whoever comes next need not wait for the end of a term");
    election.succession().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_falls_silent_is_followed_after_its_term() {
    let mut election = Election::new().await;
    election.first.lead().await;
    let took = election.succession().await;
    assert!(took >= TIMING.term, "{took:?}");
    let lost = timeout(PATIENCE, election.first.keep()).await.expect("the first hears of it");
    assert!(
        matches!(&lost, Lost::Taken(by) if by.starts_with("second_")) || matches!(lost, Lost::Expired(_)),
        "{lost}"
    );
    election.first.release().await;
    let holder = election.leases.get(LEASE).await.unwrap().spec.unwrap().holder_identity;
    assert!(holder.unwrap().starts_with("second_"), "only one's own lease is given up");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_by_a_bystander_costs_nobody_the_lease() {
    let Election { mut first, leases, home: _home, .. } = Election::new().await;
    first.lead().await;
    let label = Patch::Merge(json!({"metadata": {"labels": {"team": "a"}}}));
    let patched = async {
        leases.patch(LEASE, &PatchParams::default(), &label).await.unwrap();
        renewed(&leases, TIMING.term).await;
    };
    tokio::select! {
        biased;
        lost = first.keep() => panic!("{lost}"),
        () = patched => {}
    }
    let labels = leases.get(LEASE).await.unwrap().metadata.labels.unwrap();
    assert_eq!(labels["team"], "a", "what others write is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_lease_is_lost() {
    let Election { mut first, leases, home: _home, .. } = Election::new().await;
    first.lead().await;
    leases.delete(LEASE, &DeleteParams::default()).await.unwrap();
    let lost = timeout(PATIENCE, first.keep()).await.expect("it is noticed");
    assert!(matches!(&lost, Lost::Taken(by) if by == "nobody"), "{lost}");
}

/// A manifest may start the controller before it creates the namespace.
#[test]
fn a_controller_waits_for_its_namespace() {
    let home = Cluster::get().namespace(&[]);
    let later = format!("{}-later", home.name);
    let server = Server::start(server::folder(), |command| {
        command.args(["controller", "--certificates", "none", "--namespace", &later]);
    });
    eventually(PATIENCE, "it is not ready, and says why", || match server.get("/readyz") {
        (503, body) if body.contains("the namespace of the lease does not exist") => Ok(()),
        other => Err(format!("{other:?}")),
    });

    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": later}});
    let _ = Cluster::get().create(&namespace).success();
    server.ready();
    server.counts("trainmesh_leader", 1);
    let _ = Cluster::get().kubectl(&["delete", "namespace", &later, "--wait=false"], "").success();
}
