//! What a run of the binary must have come to.

use super::cli::Run;

/// Holds that `run` ended with `code`, and wrote every part of `stdout` and `stderr` there, without colours.
pub fn ended(run: &Run, code: i32, stdout: &[&str], stderr: &str) {
    assert_eq!(run.code, Some(code), "{run:#?}");
    for part in stdout {
        assert!(run.stdout.contains(part), "{part:?} is not in {run:#?}");
    }
    assert!(run.stderr.contains(stderr), "{stderr:?} is not in {run:#?}");
    assert!(!run.stdout.contains('\x1b') && !run.stderr.contains('\x1b'), "colours reach a terminal only");
}
