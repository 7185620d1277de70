//! Generates `docs/lint.md` from the table of checks.

use std::fmt::Write as _;

use super::{Check, checks, severity_letter};
use crate::finding::Severity;

const HEAD: &str = "\
# Lint checks

These checks find settings that break RDMA or NCCL in a pod, or slow them down. Three commands report them:

- The webhook returns errors and warnings, five at most, as admission warnings for pods that use a fabric, and
  FP045 for every pod.
- `trainmesh preview` shows all findings.
- `trainmesh lint -f FILE` checks any manifest. It exits with code 1 if a finding reaches the severity `--fail-on`.

Checks that need facts of the cluster, such as nodes and quotas, report nothing if these are not available.

Settings are read from the environment of a container, from the configuration file that trainmesh mounts, and from the
command: `export NAME=VALUE` and `mpirun -x NAME=VALUE`. For a manifest, the checks also consider the other roles of the job.
The table shows the default severity; checks document cases with another severity.

| severity | meaning |
|---|---|
| E | error: the pod or job fails |
| W | warning: likely a mistake |
| I | information |

To disable a check or change its severity, set `fabric.lint` in the configuration or `lint` in a profile:

```yaml
fabric:
  lint:
    disable: [FP010]
    severity: {FP013: I}
```

This page is generated from the table of checks. To update it, run `UPDATE_DOCS=1 cargo test --test unit docs::`.

";

/// Renders the page that documents every check.
#[must_use]
pub fn reference_page() -> String {
    let mut page = HEAD.to_owned();
    page += "| ID | severity | finding |\n|---|---|---|\n";
    for Check { id, severity, title, .. } in checks() {
        // Writing to a string cannot fail.
        let _ =
            writeln!(page, "| [{id}](#{}) | {} | {title} |", id.to_string().to_lowercase(), severity_letter(*severity));
    }
    for check in checks() {
        write_check(&mut page, check);
    }
    page
}

fn write_check(page: &mut String, check: &Check) {
    let Check { id, severity, title, why, fix, example, .. } = check;
    let severity_name = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info | Severity::Ok => "information",
    };
    let letter = severity_letter(*severity);
    // Writing to a string cannot fail.
    let _ = write!(page, "\n## {id}\n\n{letter} ({severity_name}): {title}.\n\n{why}\n\nFix: {fix}.\n\n");
    let given = if example.given.is_empty() { String::new() } else { format!(" ({})", example.given) };
    let _ = write!(page, "Wrong{given}:\n\n```yaml\n{}```\n\nFixed:\n\n```yaml\n{}```\n", example.wrong, example.fixed);
}
