//! Files of directories that are not manifests, which are reported in one note.

use std::collections::BTreeMap;
use std::io::Write;

use super::print_note;
use trainmesh_core::manifest::{DocumentError, SkippedFile};

/// Counts of files that were skipped.
#[derive(Debug, Default)]
pub(super) struct SkippedFiles(BTreeMap<SkippedFile, usize>);

impl SkippedFiles {
    /// Counts the file of `error` and returns true, if the file was skipped; otherwise it is an error. `verbose` prints its name.
    pub(super) fn add(&mut self, error: &DocumentError, verbose: bool, stderr: &mut impl Write) -> bool {
        let Some(reason) = error.skipped else { return false };
        *self.0.entry(reason).or_default() += 1;
        if verbose {
            print_note(stderr, format_args!("{}: skipped: {}", error.source, reason_text(reason, &error.message)));
        }
        true
    }

    /// Prints the counts, if there are any.
    pub(super) fn print(&self, verbose: bool, stderr: &mut impl Write) {
        let total: usize = self.0.values().sum();
        if total == 0 {
            return;
        }
        let files = if total == 1 {
            "1 file that is not a manifest".to_owned()
        } else {
            format!("{total} files that are not manifests")
        };
        let reasons: Vec<String> = self.0.iter().map(|(reason, count)| text(*reason, *count)).collect();
        let hint = if verbose { "" } else { "; -v lists them" };
        print_note(stderr, format_args!("skipped {files}: {}{hint}", reasons.join(", ")));
    }
}

/// Returns why a file was skipped: the same reason as in the counts. `message` describes what its text lacks.
fn reason_text(reason: SkippedFile, message: &str) -> &str {
    match reason {
        SkippedFile::NoObject => message,
        SkippedFile::Kustomization => "a kustomization (render with -k)",
        SkippedFile::MisnamedKustomization => "a kustomization in a file that kustomize does not read (rename it)",
        SkippedFile::KustomizePatch => "a patch of a kustomization",
        SkippedFile::HelmTemplate => "a Helm template",
        SkippedFile::LinkedDirectory => "a symbolic link to a directory (specify it with -f)",
    }
}

fn text(reason: SkippedFile, count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    match reason {
        SkippedFile::NoObject => format!("{count} without apiVersion or kind"),
        SkippedFile::Kustomization => format!("{count} kustomization{plural} (render with -k)"),
        SkippedFile::MisnamedKustomization => {
            format!("{count} kustomization{plural} in files that kustomize does not read (rename them)")
        }
        SkippedFile::KustomizePatch if count == 1 => "1 patch of a kustomization".to_owned(),
        SkippedFile::KustomizePatch => format!("{count} patches of kustomizations"),
        SkippedFile::LinkedDirectory if count == 1 => "1 symbolic link to a directory (specify it with -f)".to_owned(),
        SkippedFile::LinkedDirectory => format!("{count} symbolic links to directories (specify them with -f)"),
        SkippedFile::HelmTemplate => {
            format!(
                "{count} Helm template{plural} (render with `helm template NAME CHART -n NAMESPACE`, and pipe to `-f -`)"
            )
        }
    }
}
