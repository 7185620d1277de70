//! Servers whose own clock is an hour off, by libfaketime.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use serde_json::json;
use trainmesh_core::objects::SERVING_SECRET;

use crate::continuity::no_pod_is_missed;
use crate::modes::{secret, shows};
use trainmesh_testing::cluster::server::{self, Server};
use trainmesh_testing::cluster::{Cluster, PATIENCE, eventually};
use trainmesh_testing::release::Release;

/// A certificate is renewed every 16 s.
const LIFETIMES: [&str; 2] = ["--ca-lifetime=48s", "--certificate-lifetime=24s"];
/// So many renewals, which take a new CA with them.
const RENEWALS: usize = 2;

/// A server of ours beside the cluster's pods, whose clock is off by so many hours.
fn skewed(release: &Release, hours: i64, command: &[&str]) -> Server {
    let folder = server::folder();
    let mut kubeconfig = Cluster::get().kubectl(&["config", "view", "--raw", "-o", "json"], "").success().object();
    for entry in kubeconfig["clusters"].as_array_mut().unwrap() {
        // The apiserver's own certificate is younger than an hour.
        entry["cluster"] = json!({"server": entry["cluster"]["server"], "insecure-skip-tls-verify": true});
    }
    let kubeconfig = server::file(folder.path(), "kubeconfig", &kubeconfig.to_string());
    let server = Server::start(folder, |program: &mut Command| {
        program
            .args(command)
            .args(["--namespace", &release.home.name, "--kubeconfig"])
            .arg(kubeconfig)
            .env("LD_PRELOAD", library())
            .env("FAKETIME", format!("{hours:+}h"))
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    });
    let told: Timestamp = server.log()[0]["timestamp"].as_str().unwrap().parse().unwrap();
    let off = told.duration_since(Timestamp::now()) - SignedDuration::from_hours(hours);
    assert!(off.abs() < SignedDuration::from_mins(1), "its clock is not off: {told}");
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
fn a_leader_whose_clock_is_off_renews_in_time(#[case] hours: i64) {
    let release = Release::started(&[]);
    let words = ["scale", "deployment/trainmesh-controller", "--replicas=0"];
    let _ = release.home.kubectl(&words, "").success();
    no_pod_is_missed(&format!("a leader {hours} h off"), || {
        let _leader = skewed(&release, hours, &[&["controller"], &LIFETIMES[..]].concat());
        let mut seen = BTreeSet::new();
        eventually(PATIENCE, "certificates are renewed", || {
            seen.insert(secret(&release, SERVING_SECRET, "tls.crt"));
            if seen.len() > RENEWALS { Ok(()) } else { Err(format!("{} certificates", seen.len())) }
        });
        shows(&release, SERVING_SECRET);
    });
}

#[rstest]
#[case::ahead(1)]
#[case::behind(-1)]
fn a_replica_whose_clock_is_off_serves(#[case] hours: i64) {
    let release = Release::started(&[]);
    skewed(&release, hours, &["webhook", "--listen", "127.0.0.1:0"]).ready();
}
