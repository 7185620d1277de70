//! Settings in the apiserver's `AdmissionConfiguration`: client certificates for webhooks, and the Pod Security level
//! of namespaces without a label.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually};
use trainmesh_testing::pods::{OPTED_IN, adds_hold, pod};
use trainmesh_testing::release::Release;
use trainmesh_testing::release::doctor::run_doctor;

/// Writes a client certificate and its key to `folder`, and returns the PEM of the CA that signed it.
fn client_certificate(folder: &Path) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "clients of webhooks");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let ca = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "apiserver");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    fs::write(folder.join("client.crt"), params.signed_by(&key, &issuer).unwrap().pem()).unwrap();
    fs::write(folder.join("client.key"), key.serialize_pem()).unwrap();
    ca
}

fn wait_patched(namespace: &Namespace) {
    eventually(TIMEOUT, "the webhook is called", || if adds_hold(namespace) { Ok(()) } else { Err("not called") });
}

/// Follows `docs/operations.md`.
#[test]
fn the_apiserver_presents_a_client_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let ca = client_certificate(folder.path());
    let release = Release::start(&[]);
    let namespace = Cluster::get().namespace(&OPTED_IN);
    wait_patched(&namespace);

    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "webhook-client-ca"},
        "data": {"ca.crt": ca}});
    let _ = release.namespace.create(&config_map).success();
    release.upgrade(&["webhook.clientCA.configMapName=webhook-client-ca"]);
    release.wait_until_rolled_out();
    assert!(!adds_hold(&namespace), "a client without a certificate must be rejected");

    let path = |name: &str| folder.path().join(name);
    let user = json!({"name": format!("trainmesh-webhook.{}.svc", release.namespace.name),
        "user": {"client-certificate": path("client.crt"), "client-key": path("client.key")}});
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "users": [user]});
    fs::write(path("kubeconfig.yaml"), kubeconfig.to_string()).unwrap();
    let _admission =
        Cluster::get().set_admission_configuration(&json!([{"name": "MutatingAdmissionWebhook", "configuration": {
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": path("kubeconfig.yaml")}}]));
    wait_patched(&namespace);
}

/// Returns true if pods of the namespace get `IPC_LOCK`, which the level `baseline` forbids; an error if they are
/// rejected.
fn gets_ipc_lock(namespace: &Namespace) -> Result<bool, String> {
    let mut pod = pod("train");
    pod["spec"]["containers"][0]["resources"] = json!({"limits": {"nvidia.com/gpu": 1}});
    let pod = namespace.create_dry_run(&pod).map_err(|error| error.to_string())?;
    let security: &Value = &pod["spec"]["containers"][0]["securityContext"];
    Ok(security["capabilities"]["add"] == json!(["IPC_LOCK"]))
}

fn has_finding(release: &Release, code: &str) -> bool {
    let findings = run_doctor(release).findings;
    findings.iter().any(|(other, _)| other == code)
}

/// No API exposes this default: `doctor` detects it, and the configuration states it.
#[test]
fn the_pod_security_default_of_the_cluster_is_detected_and_respected() {
    const PROFILE: &str = "config.fabric.profiles[0].name=own,config.fabric.profiles[0].transport=ib,\
        config.fabric.profiles[0].securityContext.capabilities.add[0]=IPC_LOCK,\
        config.fabric.profiles[0].env[0].name=NCCL_IB_HCA,config.fabric.profiles[0].env[0].value=mlx5_0";
    let release = Release::start(&[PROFILE]);
    let namespace = Cluster::get().namespace(&[("trainmesh.dev/inject", "enabled"), ("trainmesh.dev/fabric", "own")]);
    eventually(TIMEOUT, "pods get the profile", || match gets_ipc_lock(&namespace) {
        Ok(true) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert!(has_finding(&release, "PodSecurityAdmits"));

    let _admission = Cluster::get().set_admission_configuration(&json!([{"name": "PodSecurity", "configuration": {
        "apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration",
        "defaults": {"enforce": "baseline", "enforce-version": "latest"},
        "exemptions": {"namespaces": ["kube-system"]}}}]));
    let rejected =
        eventually(TIMEOUT, "the patched pod is rejected", || gets_ipc_lock(&namespace).err().ok_or("not rejected"));
    assert!(rejected.contains("violates PodSecurity \"baseline:latest\""), "{rejected}");
    assert!(has_finding(&release, "PodSecurityForbids"));

    release.upgrade(&[PROFILE, "config.fabric.podSecurityDefault=baseline"]);
    release.wait_until_rolled_out();
    eventually(TIMEOUT, "pods do not get the profile", || match gets_ipc_lock(&namespace) {
        Ok(false) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert!(has_finding(&release, "PodSecurityConfigured"));
}
