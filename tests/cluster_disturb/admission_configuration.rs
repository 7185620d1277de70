//! What an administrator sets in the apiserver's `AdmissionConfiguration`: client certificates for webhooks, and the Pod
//! Security level of namespaces without a label.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace, PATIENCE, eventually};
use trainmesh_testing::pods::{SERVED, patched, pod};
use trainmesh_testing::release::Release;
use trainmesh_testing::release::doctor::diagnosis;

/// Writes a client certificate and its key to `folder`, and returns the PEM of the CA that has signed it.
fn client_certificate(folder: &Path) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "clients of webhooks");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "apiserver");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    fs::write(folder.join("client.crt"), params.signed_by(&key, &issuer).unwrap().pem()).unwrap();
    fs::write(folder.join("client.key"), key.serialize_pem()).unwrap();
    authority
}

fn eventually_patched(namespace: &Namespace) {
    eventually(PATIENCE, "the webhook is called", || if patched(namespace) { Ok(()) } else { Err("it is not") });
}

/// As `docs/operations.md` describes it.
#[test]
fn the_apiserver_presents_a_client_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let authority = client_certificate(folder.path());
    let release = Release::started(&[]);
    let namespace = Cluster::get().namespace(&SERVED);
    eventually_patched(&namespace);

    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "webhook-client-ca"},
        "data": {"ca.crt": authority}});
    let _ = release.home.create(&config_map).success();
    release.upgrade(&["webhook.clientCA.configMapName=webhook-client-ca"]);
    release.settled();
    assert!(!patched(&namespace), "a client without a certificate is served");

    let path = |name: &str| folder.path().join(name);
    let user = json!({"name": format!("trainmesh-webhook.{}.svc", release.home.name),
        "user": {"client-certificate": path("client.crt"), "client-key": path("client.key")}});
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "users": [user]});
    fs::write(path("kubeconfig.yaml"), kubeconfig.to_string()).unwrap();
    let _admission = Cluster::get().admission(&json!([{"name": "MutatingAdmissionWebhook", "configuration": {
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": path("kubeconfig.yaml")}}]));
    eventually_patched(&namespace);
}

/// Whether pods of the namespace are given `IPC_LOCK`, which the level `baseline` forbids; an error if they are rejected.
fn locks_memory(namespace: &Namespace) -> Result<bool, String> {
    let mut pod = pod("train");
    pod["spec"]["containers"][0]["resources"] = json!({"limits": {"nvidia.com/gpu": 1}});
    let pod = namespace.rehearse(&pod).map_err(|error| error.to_string())?;
    let security: &Value = &pod["spec"]["containers"][0]["securityContext"];
    Ok(security["capabilities"]["add"] == json!(["IPC_LOCK"]))
}

fn found(release: &Release, code: &str) -> bool {
    let found = diagnosis(release).found;
    found.iter().any(|(it, _)| it == code)
}

/// No API shows this default: `doctor` finds it, and a setting passes it on.
#[test]
fn a_pod_security_default_of_the_cluster_is_found_and_observed() {
    const PROFILE: &str = "config.fabric.profiles[0].name=own,config.fabric.profiles[0].transport=ib,\
        config.fabric.profiles[0].securityContext.capabilities.add[0]=IPC_LOCK,\
        config.fabric.profiles[0].env[0].name=NCCL_IB_HCA,config.fabric.profiles[0].env[0].value=mlx5_0";
    let release = Release::started(&[PROFILE]);
    let namespace = Cluster::get().namespace(&[("trainmesh.dev/inject", "enabled"), ("trainmesh.dev/fabric", "own")]);
    eventually(PATIENCE, "pods get the profile", || match locks_memory(&namespace) {
        Ok(true) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert!(found(&release, "PodSecurityAdmits"));

    let _admission = Cluster::get().admission(&json!([{"name": "PodSecurity", "configuration": {
        "apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration",
        "defaults": {"enforce": "baseline", "enforce-version": "latest"},
        "exemptions": {"namespaces": ["kube-system"]}}}]));
    let rejected =
        eventually(PATIENCE, "the patched pod is rejected", || locks_memory(&namespace).err().ok_or("it is not"));
    assert!(rejected.contains("violates PodSecurity \"baseline:latest\""), "{rejected}");
    assert!(found(&release, "PodSecurityForbids"));

    release.upgrade(&[PROFILE, "config.fabric.podSecurityDefault=baseline"]);
    release.settled();
    eventually(PATIENCE, "pods are left without the profile", || match locks_memory(&namespace) {
        Ok(false) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert!(found(&release, "PodSecurityConfigured"));
}
