//! Another authority takes over, while pods are created: not one call may fail.

use std::sync::Arc;

use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace, PATIENCE, eventually};
use trainmesh_testing::load::{goes_on, under_load};
use trainmesh_testing::pods::{SERVED, creations, held};
use trainmesh_testing::webhook::{
    Authority, Options, Process, Registration, Scope, base64, calls, failed_open, manifest,
};

/// How often the authority changes.
const TURNS: usize = 3;

/// A registration whose CA bundle changes.
struct Trust<'a> {
    registration: &'a Registration,
    namespace: &'a Namespace,
    changes: usize,
}

impl Trust<'_> {
    /// Has the apiserver trust `authorities`; returns when it does. It learns of that by a watch, and a request tells of a
    /// registration only its names: so the webhooks get new ones at the same time. Another order of the same
    /// authorities is another bundle, for which the apiserver makes new connections.
    fn replace(&mut self, authorities: &[&Authority]) {
        self.changes += 1;
        let bundle = base64(&authorities.iter().map(|authority| authority.pem.as_str()).collect::<String>());
        let mark = format!("change-{}.{}.trainmesh.dev", self.changes, self.registration.label().1);
        let replace = |index: usize| {
            let at = |field: &str| format!("/webhooks/{index}/{field}");
            [
                json!({"op": "replace", "path": at("name"), "value": format!("webhook-{index}.{mark}")}),
                json!({"op": "replace", "path": at("clientConfig/caBundle"), "value": bundle}),
            ]
        };
        let patch = [0, 1, 2].into_iter().flat_map(replace).collect::<Value>().to_string();
        self.registration.patch(&patch);
        eventually(PATIENCE, "calls go by the new registration", || {
            let marked = |event: &Value| calls(event).iter().any(|call| call.webhook.ends_with(&mark));
            if self.namespace.audit(marked).is_empty() { Err("not one") } else { Ok(()) }
        });
    }
}

#[test]
fn no_call_is_lost_while_the_authority_changes() {
    let mut days = 1..;
    let mut sign = |authority: &Authority| authority.certificate(days.next().unwrap());
    let authorities = ["first", "second"].map(Authority::new);
    let [mut old, mut new] = authorities.each_ref();
    let home = Cluster::get().namespace(&[]);
    let process = Process::start(&home.name, Arc::new(sign(old)), &Options::default());
    let registration = Registration::new(Scope::new(), "0-trainmesh", manifest(None, process.listen, &old.pem));
    let namespace = registration.namespace(&SERVED);
    let mut trust = Trust { registration: &registration, namespace: &namespace, changes: 0 };

    let load = under_load(&namespace, || {
        for _ in 0..TURNS {
            trust.replace(&[old, new]);
            // Replicas may differ for a while: one that shows the old authority's again is trusted as well.
            for (authority, order) in [(new, [new, old]), (old, [old, new]), (new, [new, old])] {
                process.renew(&sign(authority));
                trust.replace(&order);
            }
            trust.replace(&[new]);
            (old, new) = (new, old);
        }
        goes_on(&namespace);
    });

    assert_eq!(load.failed, [""; 0]);
    for request in creations(&namespace, &load.created) {
        assert_eq!(failed_open(&request), [""; 0], "{}", request["annotations"]);
        assert!(held(&request["responseObject"]), "{}", request["objectRef"]);
    }
    assert_eq!(process.metric("trainmesh_tls_handshake_failures_total{reason=\"certificate_rejected\"}"), Some(0));
    let counted = |metric: &str| Cluster::get().metric(metric, registration.label().1);
    assert_ne!(counted("apiserver_admission_webhook_request_total"), 0, "the new names are found");
    assert_eq!(counted("apiserver_admission_webhook_fail_open_count"), 0);
}
