//! Servers whose clock is an hour off, using libfaketime.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use serde_json::json;
use trainmesh_core::objects::SERVING_SECRET;

use crate::continuity::no_pod_is_missed;
use crate::modes::{secret, wait_presented};
use trainmesh_testing::cluster::server::{self, Server};
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};
use trainmesh_testing::release::Release;

/// Renews the serving certificate every 40 s. A new CA is trusted 10 s before it signs.
const LIFETIMES: [&str; 2] = ["--ca-lifetime=2m", "--certificate-lifetime=1m"];
/// Number of renewals, enough to include a new CA.
const RENEWALS: usize = 2;

/// Starts a server outside of the cluster's pods whose clock is off by this many hours.
fn start_skewed(release: &Release, hours: i64, command: &[&str]) -> Server {
    let folder = server::temp_folder();
    let mut kubeconfig = Cluster::get().kubectl(&["config", "view", "--raw", "-o", "json"], "").success().object();
    for entry in kubeconfig["clusters"].as_array_mut().unwrap() {
        // The apiserver's own certificate is younger than an hour.
        entry["cluster"] = json!({"server": entry["cluster"]["server"], "insecure-skip-tls-verify": true});
    }
    let kubeconfig = server::write_file(folder.path(), "kubeconfig", &kubeconfig.to_string());
    let server = Server::start(folder, |program: &mut Command| {
        program
            .args(command)
            .args(["--namespace", &release.namespace.name, "--kubeconfig"])
            .arg(kubeconfig)
            .env("LD_PRELOAD", library())
            .env("FAKETIME", format!("{hours:+}h"))
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    });
    let logged: Timestamp = server.log()[0]["timestamp"].as_str().unwrap().parse().unwrap();
    let error = logged.duration_since(Timestamp::now()) - SignedDuration::from_hours(hours);
    assert!(error.abs() < SignedDuration::from_mins(1), "the clock is not skewed: {logged}");
    server
}

fn library() -> OsString {
    let folders = fs::read_dir("/usr/lib").unwrap().map(|entry| entry.unwrap().path());
    let library = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|path| path.exists());
    library.expect("the package libfaketime, which `tests/cluster/cluster up` installs").into()
}

#[rstest]
#[case::ahead(1)]
#[case::behind(-1)]
fn a_leader_with_a_skewed_clock_renews_in_time(#[case] hours: i64) {
    let release = Release::start(&[]);
    let arguments = ["scale", "deployment/trainmesh-controller", "--replicas=0"];
    let _ = release.namespace.kubectl(&arguments, "").success();
    no_pod_is_missed(&format!("a leader {hours} h off"), || {
        let _leader = start_skewed(&release, hours, &[&["controller"], &LIFETIMES[..]].concat());
        let mut certificates = BTreeSet::new();
        eventually(2 * TIMEOUT, "certificates are renewed", || {
            certificates.insert(secret(&release, SERVING_SECRET, "tls.crt"));
            if certificates.len() > RENEWALS { Ok(()) } else { Err(format!("{} certificates", certificates.len())) }
        });
        wait_presented(&release, SERVING_SECRET);
    });
}

#[rstest]
#[case::ahead(1)]
#[case::behind(-1)]
fn a_replica_with_a_skewed_clock_serves(#[case] hours: i64) {
    let release = Release::start(&[]);
    start_skewed(&release, hours, &["webhook", "--listen", "127.0.0.1:0"]).wait_until_ready();
}
