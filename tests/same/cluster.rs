//! The cluster for both builds: the installation in `config/kustomize/base`, plus `cluster.yaml`.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::inputs::{Inputs, read, yaml_files};

/// Returns the objects, among them a namespace for each profile that selects it.
pub fn objects(inputs: &Inputs) -> Vec<Value> {
    let texts = yaml_files("config/kustomize/base").into_iter().chain(["tests/same/cluster.yaml".to_owned()]);
    let mut objects: Vec<Value> = texts.flat_map(|path| documents(&read(&path))).collect();
    objects.extend(inputs.profiles.iter().map(|profile| {
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace(profile), "labels": {
            "trainmesh.dev/inject": "enabled", "istio-injection": "enabled", "trainmesh.dev/fabric": profile}}})
    }));
    let file = |name: &str| json!(ByteString(inputs.read(&format!("certificate/{name}")).into_bytes()));
    for object in &mut objects {
        object["metadata"]["resourceVersion"] = "1".into();
        object["metadata"]["uid"] = "705ab4f5-6393-11e8-b7cc-42010a800002".into();
        match object["metadata"]["name"].as_str() {
            Some("trainmesh-webhook-tls") => {
                object["data"] =
                    json!({"ca.crt": file("ca.crt"), "tls.crt": file("tls.crt"), "tls.key": file("tls.key")});
            }
            Some("0-trainmesh") => {
                for webhook in object["webhooks"].as_array_mut().expect("a list") {
                    webhook["clientConfig"]["caBundle"] = file("ca.crt");
                }
            }
            _ => {}
        }
    }
    objects
}

/// Returns the namespace that selects `profile`.
pub fn namespace(profile: &str) -> String {
    format!("fabric-{profile}")
}

pub fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).expect("YAML")
}
