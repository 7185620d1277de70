//! What every attack needs: the installation, a tenant, and a neighbor.

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
use trainmesh_testing::pods::SERVED;
use trainmesh_testing::release::Release;

/// How long an attack lasts: until a flood has filled a server and three probes in a row would have failed.
const SECONDS: u64 = 15;
/// An action that hangs takes this long: far longer than any that does not, on a busy machine.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
/// A profile that no namespace of these tests may use.
pub const PRIVILEGED: &str = "privileged-roce";

/// The installation, which the tests of this process share, and what one of them adds. One attack at a time.
pub struct Fixture {
    pub tenant: Tenant,
    pub neighbor: Neighbor,
    release: Arc<Release>,
    _exclusive: MutexGuard<'static, ()>,
}

impl Fixture {
    /// Waits until the other tests are done, and the installation is ready.
    pub fn new() -> Self {
        static EXCLUSIVE: Mutex<()> = Mutex::new(());
        // First, so that the installation outlives the waiting.
        let release = release();
        let exclusive = EXCLUSIVE.lock().unwrap_or_else(PoisonError::into_inner);
        release.ready();
        Self { tenant: Tenant::new(&SERVED), neighbor: Neighbor::new(), release, _exclusive: exclusive }
    }

    /// Runs `attack`, which is told when to end, and reports what it did.
    pub fn attack(&self, name: &str, attack: impl FnOnce(Instant)) -> Report {
        self.attack_beside(&self.neighbor, name, attack)
    }

    /// As [`Self::attack`], beside another neighbor.
    pub fn attack_beside(&self, neighbor: &Neighbor, name: &str, attack: impl FnOnce(Instant)) -> Report {
        let (neighbor, replicas) =
            observer::during(&self.release, &self.dialer(), || neighbor.during(|| attack(Instant::now() + duration())));
        Report { attack: name.to_owned(), neighbor, replicas }
    }

    /// The replicas of the webhook.
    pub fn webhooks(&self) -> Vec<Replica> {
        Replica::all(&self.release, "webhook")
    }

    /// All replicas.
    pub fn replicas(&self) -> Vec<Replica> {
        observer::replicas(&self.release)
    }

    /// A client of the webhook that has no credentials.
    pub fn dialer(&self) -> Dialer {
        let secret = self.release.home.get("secret", objects::SERVING_SECRET).expect("the certificate's Secret");
        let bundle: k8s_openapi::ByteString = serde_json::from_value(secret["data"]["ca.crt"].clone()).unwrap();
        let host = objects::service_host(objects::SERVICE, &self.release.home.name);
        Dialer::new(&String::from_utf8(bundle.0).unwrap(), host)
    }

    /// The installation.
    pub fn release(&self) -> &Release {
        &self.release
    }
}

/// The installation, for as long as some test holds it.
fn release() -> Arc<Release> {
    static SHARED: Mutex<Weak<Release>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        Cluster::get().mesh();
        let timeout = format!("config.termination.attemptTimeout={}s", ATTEMPT_TIMEOUT.as_secs());
        let profile = format!(
            "config.fabric.profiles[0].name={PRIVILEGED},config.fabric.profiles[0].transport=roce,\
             config.fabric.profiles[0].securityContext.privileged=true,config.fabric.profiles[0].namespaces.names[0]=research"
        );
        // The hostile clients run on the node outside of any pod, where nothing weighs their share of the CPU against that of
        // the replicas.
        let share = "webhook.resources.requests.cpu=250m,controller.resources.requests.cpu=250m";
        let release = Arc::new(Release::started(&[&timeout, &profile, share]));
        *shared = Arc::downgrade(&release);
        release
    })
}

fn duration() -> Duration {
    let seconds = env::var("ATTACK_SECONDS").map_or(SECONDS, |text| text.parse().expect("ATTACK_SECONDS is a number"));
    Duration::from_secs(seconds)
}
