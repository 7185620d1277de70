//! Fixture of all attacks: the installation, a tenant, and a neighbor.

use std::env;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use trainmesh_core::objects;

use crate::neighbor::Neighbor;
use crate::network::Dialer;
use crate::observer;
use crate::replica::Replica;
use crate::report::Report;
use crate::tenant::Tenant;
use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::pods::OPTED_IN;
use trainmesh_testing::release::Release;

/// Default duration of an attack: long enough to fill a server and to fail three probes in a row.
const SECONDS: u64 = 15;
/// Duration of an action that hangs: far longer than any other action, even on a busy machine.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
/// A profile that no namespace of these tests may use.
pub const PRIVILEGED: &str = "privileged-roce";

/// The installation, shared by all tests of this process, and the namespaces of one test. Attacks run one at a time.
pub struct Fixture {
    pub tenant: Tenant,
    pub neighbor: Neighbor,
    release: Arc<Release>,
    _exclusive: MutexGuard<'static, ()>,
}

impl Fixture {
    /// Waits until no other test runs and the installation is ready.
    pub fn new() -> Self {
        static EXCLUSIVE: Mutex<()> = Mutex::new(());
        // Taken before the lock, so that the installation is kept while waiting.
        let release = release();
        let exclusive = EXCLUSIVE.lock().unwrap_or_else(PoisonError::into_inner);
        release.wait_until_ready();
        Self { tenant: Tenant::new(&OPTED_IN), neighbor: Neighbor::new(), release, _exclusive: exclusive }
    }

    /// Runs `attack`, passing the time to stop, and returns a report.
    pub fn attack(&self, name: &str, attack: impl FnOnce(Instant)) -> Report {
        self.attack_with_neighbor(&self.neighbor, name, attack)
    }

    /// Like [`Self::attack`], with another neighbor.
    pub fn attack_with_neighbor(&self, neighbor: &Neighbor, name: &str, attack: impl FnOnce(Instant)) -> Report {
        let (neighbor, replicas) =
            observer::during(&self.release, &self.dialer(), || neighbor.during(|| attack(Instant::now() + duration())));
        Report { attack: name.to_owned(), neighbor, replicas }
    }

    /// Returns the replicas of the webhook.
    pub fn webhooks(&self) -> Vec<Replica> {
        Replica::all(&self.release, "webhook")
    }

    /// Returns all replicas.
    pub fn replicas(&self) -> Vec<Replica> {
        observer::replicas(&self.release)
    }

    /// Returns a client of the webhook without credentials.
    pub fn dialer(&self) -> Dialer {
        let secret = self.release.namespace.get("secret", objects::SERVING_SECRET).expect("the certificate's Secret");
        let bundle: k8s_openapi::ByteString = serde_json::from_value(secret["data"]["ca.crt"].clone()).unwrap();
        let host = objects::service_host(objects::SERVICE, &self.release.namespace.name);
        Dialer::new(&String::from_utf8(bundle.0).unwrap(), host)
    }

    /// Returns the installation.
    pub fn release(&self) -> &Release {
        &self.release
    }
}

/// Returns the shared installation, which is removed with its last user.
fn release() -> Arc<Release> {
    static SHARED: Mutex<Weak<Release>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        Cluster::get().start_mesh();
        let timeout = format!("config.termination.attemptTimeout={}s", ATTEMPT_TIMEOUT.as_secs());
        let profile = format!(
            "config.fabric.profiles[0].name={PRIVILEGED},config.fabric.profiles[0].transport=roce,\
             config.fabric.profiles[0].securityContext.privileged=true,config.fabric.profiles[0].namespaces.names[0]=research"
        );
        // The hostile clients run on the node outside of any pod, where no CPU weight balances them against the
        // replicas.
        let cpu_requests = "webhook.resources.requests.cpu=250m,controller.resources.requests.cpu=250m";
        // The default, within which an attack must not delay a call.
        let call_timeout = "webhook.timeoutSeconds=5";
        let release = Arc::new(Release::start(&[&timeout, &profile, cpu_requests, call_timeout]));
        *shared = Arc::downgrade(&release);
        release
    })
}

fn duration() -> Duration {
    let seconds = env::var("ATTACK_SECONDS").map_or(SECONDS, |text| text.parse().expect("ATTACK_SECONDS is a number"));
    Duration::from_secs(seconds)
}
