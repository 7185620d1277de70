//! Leader election with a real apiserver.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::timeout;
use trainmesh::cluster::lease::{self, Candidate, LeadershipLost, Timing};
use trainmesh_core::objects::LEASE;

use trainmesh_testing::cluster::server::{self, Server};
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually};

/// Like in production, except for the deadlines of the leader, which a busy machine misses.
const TIMING: Timing = Timing {
    lease_duration: Duration::from_secs(20),
    renew_interval: Duration::from_secs(2),
    renew_deadline: Duration::from_secs(16),
    retry_period: Duration::from_secs(1),
};

/// Two candidates for the lease of one namespace.
struct Election {
    leases: Api<Lease>,
    first: Candidate,
    second: Candidate,
    /// Deleted when the test ends.
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

    /// Returns the time that the second candidate needs to lead while the first does not.
    async fn wait_succession(&mut self) -> Duration {
        let began = Instant::now();
        timeout(TIMEOUT, self.second.acquire()).await.expect("the second becomes leader");
        began.elapsed()
    }
}

/// Waits until the lease has been renewed for this long.
async fn wait_renewed(leases: &Api<Lease>, time: Duration) {
    let last = async || leases.get(LEASE).await.unwrap().spec.unwrap().renew_time.unwrap().0;
    let end = last().await + time;
    timeout(TIMEOUT, async {
        while last().await < end {
            tokio::time::sleep(TIMING.retry_period).await;
        }
    })
    .await
    .expect("the lease is renewed");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_one_candidate_leads() {
    let Election { mut first, mut second, leases, home: _home } = Election::new().await;
    first.acquire().await;
    tokio::select! {
        biased;
        lost = first.hold() => panic!("{lost}"),
        () = second.acquire() => panic!("both lead"),
        () = wait_renewed(&leases, TIMING.lease_duration * 2) => {}
    }
    let spec = leases.get(LEASE).await.unwrap().spec.unwrap();
    assert!(spec.holder_identity.unwrap().starts_with("first_"));
    assert_eq!((spec.lease_duration_seconds, spec.lease_transitions), (Some(20), Some(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graceful_stop_releases_the_lease() {
    let mut election = Election::new().await;
    election.first.acquire().await;
    election.first.release().await;
    let holder = election.leases.get(LEASE).await.unwrap().spec.unwrap().holder_identity;
    assert_eq!(holder, None, "the next leader must not have to wait for the lease to expire");
    election.wait_succession().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_leader_is_replaced_after_the_lease_duration() {
    let mut election = Election::new().await;
    election.first.acquire().await;
    let took = election.wait_succession().await;
    assert!(took >= TIMING.lease_duration, "{took:?}");
    let lost = timeout(TIMEOUT, election.first.hold()).await.expect("the first notices the loss");
    assert!(
        matches!(&lost, LeadershipLost::Taken(by) if by.starts_with("second_"))
            || matches!(lost, LeadershipLost::Expired(_)),
        "{lost}"
    );
    election.first.release().await;
    let holder = election.leases.get(LEASE).await.unwrap().spec.unwrap().holder_identity;
    assert!(holder.unwrap().starts_with("second_"), "a candidate must release only its own lease");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_by_another_client_does_not_lose_the_lease() {
    let Election { mut first, leases, home: _home, .. } = Election::new().await;
    first.acquire().await;
    let label = Patch::Merge(json!({"metadata": {"labels": {"team": "a"}}}));
    let patched = async {
        leases.patch(LEASE, &PatchParams::default(), &label).await.unwrap();
        wait_renewed(&leases, TIMING.lease_duration).await;
    };
    tokio::select! {
        biased;
        lost = first.hold() => panic!("{lost}"),
        () = patched => {}
    }
    let labels = leases.get(LEASE).await.unwrap().metadata.labels.unwrap();
    assert_eq!(labels["team"], "a", "changes by other clients must be kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_lease_is_lost() {
    let Election { mut first, leases, home: _home, .. } = Election::new().await;
    first.acquire().await;
    leases.delete(LEASE, &DeleteParams::default()).await.unwrap();
    let lost = timeout(TIMEOUT, first.hold()).await.expect("the loss is noticed");
    assert!(matches!(lost, LeadershipLost::Removed), "{lost}");
}

/// A manifest may create the controller before its namespace.
#[test]
fn a_controller_waits_for_its_namespace() {
    let home = Cluster::get().namespace(&[]);
    let later = format!("{}-later", home.name);
    let server = Server::start(server::temp_folder(), |command| {
        command.args(["controller", "--certificates", "none", "--namespace", &later]);
    });
    eventually(TIMEOUT, "/readyz reports the missing namespace", || match server.get("/readyz") {
        (503, body) if body.contains("the namespace of the lease does not exist") => Ok(()),
        other => Err(format!("{other:?}")),
    });

    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": later}});
    let _ = Cluster::get().create(&namespace).success();
    server.wait_until_ready();
    server.wait_for_metric("trainmesh_leader", 1);
    let _ = Cluster::get().kubectl(&["delete", "namespace", &later, "--wait=false"], "").success();
}
