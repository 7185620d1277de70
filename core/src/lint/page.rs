//! `docs/lint.md`, made of the table.

use std::fmt::Write as _;

use super::{Check, checks, letter};
use crate::finding::Severity;

const HEAD: &str = "\
# Lint: FP001 to FP035

What looks wrong in a pod that uses RDMA or NCCL. The webhook tells it as admission warnings (E and W, five at most) for
pods that have to do with a fabric, `trainmesh preview` in full, and `trainmesh lint -f FILE` for any manifest, with exit
code 1 when something is found at `--fail-on` or above. Nothing is concluded from what is not known: checks that look at
nodes or quotas are silent where these were not read.

E: it would break. W: it is likely wrong. I: worth knowing.

`fabric.lint` in the configuration, and `lint` in a profile, switch checks off or weigh them otherwise:

```yaml
fabric:
  lint:
    disable: [FP010]
    severity: {FP013: I}
```

This page is made of the checks themselves: `UPDATE_DOCS=1 cargo test --test unit docs::` renews it.

";

/// The page that documents every check.
#[must_use]
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    page += "| id | severity | finds |\n|---|---|---|\n";
    for Check { id, severity, title, .. } in checks() {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| [{id}](#{}) | {} | {title} |", id.to_string().to_lowercase(), letter(*severity));
    }
    for check in checks() {
        section(&mut page, check);
    }
    page
}

fn section(page: &mut String, check: &Check) {
    let Check { id, severity, title, why, cure, example, .. } = check;
    let weight = match severity {
        Severity::Error => "it would break",
        Severity::Warning => "it is likely wrong",
        Severity::Info | Severity::Ok => "worth knowing",
    };
    let letter = letter(*severity);
    // As above.
    let _ = write!(page, "\n## {id}\n\n{letter} ({weight}): {title}.\n\n{why}\n\nCure: {cure}.\n\n");
    let given = if example.given.is_empty() { String::new() } else { format!(", where {}", example.given) };
    let _ =
        write!(page, "Wrong{given}:\n\n```yaml\n{}```\n\nMended:\n\n```yaml\n{}```\n", example.wrong, example.mended);
}
