//! The time of a dump, and the note about a file that is newer.

use std::fs::{self, File};
use std::time::SystemTime;

use jiff::Timestamp;
use rstest::rstest;
use tempfile::TempDir;
use trainmesh_testing::cli::{Run, trainmesh};

use crate::diagnose::{DUMP, HEALTHY};

const NOTE: &str = "note: durations end at 2026-01-01T12:00:00Z, the newest time of the objects; if nothing has happened since, \
    pass --now 2026-01-01T12:01:01Z\n";

/// Writes a dump whose newest time is 12:00:00, and a log. Sets when each was written.
fn written(dump: &str, log: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, time) in [("dump.json", HEALTHY, dump), ("team-a_a.log", "text\n", log)] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let time: Timestamp = format!("2026-01-01T{time}Z").parse().unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(SystemTime::from(time)).unwrap();
    }
    folder
}

/// Diagnoses `path` of the folder.
fn diagnose(folder: &TempDir, path: &str, arguments: &[&str]) -> Run {
    let path = folder.path().join(path);
    trainmesh(&[&["diagnose", "-f", path.to_str().unwrap()], arguments].concat(), "")
}

#[rstest]
#[case::later("12:01:00.000001", "12:00:00", "dump.json", &[], &NOTE.replace("12:01:01Z", "12:01:00Z"))]
#[case::a_minute("12:01:00", "12:00:00", "dump.json", &[], "")]
#[case::before("11:00:00", "12:00:00", "dump.json", &[], "")]
#[case::in_a_directory("12:01:01", "12:00:00", "", &[], NOTE)]
#[case::log("12:01:00", "13:00:00", "", &[], "")]
#[case::stated("13:00:00", "12:00:00", "dump.json", &["--now", "2026-01-01T12:00:00Z"], "")]
fn a_dump_that_was_written_later(
    #[case] dump: &str,
    #[case] log: &str,
    #[case] path: &str,
    #[case] arguments: &[&str],
    #[case] stderr: &str,
) {
    let run = diagnose(&written(dump, log), path, arguments);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), stderr), "{run:#?}");
}

/// The time of standard input is not known, and matters only if nothing was found.
#[rstest]
#[case::healthy(&[], HEALTHY, 0, true)]
#[case::stated(&["--now", "2026-01-01T12:00:00Z"], HEALTHY, 0, false)]
#[case::found(&[], DUMP, 1, false)]
fn standard_input_has_no_time(
    #[case] arguments: &[&str],
    #[case] dump: &str,
    #[case] code: i32,
    #[case] is_noted: bool,
) {
    let run = trainmesh(&[&["diagnose", "-f", "-"], arguments].concat(), dump);
    let note = "note: durations end at 2026-01-01T12:00:00Z, the newest time of the objects, so that a failure";
    assert_eq!((run.code, run.stderr.starts_with(note)), (Some(code), is_noted), "{run:#?}");
}
