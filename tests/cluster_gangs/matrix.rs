//! The table of docs/gang.md: the kinds of jobs that were run with each scheduler, and the versions.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{env, fs};

use trainmesh_testing::cluster::Cluster;

use crate::fixture::Fixture;
use crate::kinds::Kind;
use crate::placement::{CAPACITY, Completion, check_in_part, check_placed_whole};
use crate::scheduler::Scheduler;

const PAGE: &str = "docs/gang.md";
/// Column for pods with Istio's sidecar.
const SIDECAR: &str = "with a sidecar";
/// Cell of a combination that was run.
const SEEN: &str = "yes";
/// Cell of one that was not.
const UNSEEN: &str = "–";
/// Selects combinations whose names contain this text, as in `volcano/`.
const FILTER: &str = "GANG_MATRIX";

/// Kinds that are run with every scheduler that groups their pods.
const BASIC: [Kind; 2] = [Kind::JOB, Kind::PYTORCH_JOB];

/// Kinds whose pods KAI's podgrouper groups.
const GROUPED_BY_KAI: [Kind; 4] = [Kind::PYTORCH_JOB, Kind::LEADER_WORKER_SET, Kind::RAY_CLUSTER, Kind::MPI_JOB];

/// Tools of the default control plane, and of a newer one, whose native API differs.
const CONTROL_PLANE: &str = "kubernetes";
const NEWER_CONTROL_PLANE: &str = "kubernetes-1.37";

/// A scheduler with a kind of job.
#[derive(Clone, Copy, Debug)]
struct Combination {
    /// Tools of the control plane.
    control_plane: &'static str,
    scheduler: Scheduler,
    kind: Kind,
    sidecar: bool,
}

/// Cells by row and column.
type Cells = BTreeMap<(String, String), String>;

/// Every scheduler, with the kinds that are run with it. Kinds whose operators conflict are far apart.
fn combinations() -> Vec<Combination> {
    let plain = |scheduler, kind| Combination { control_plane: CONTROL_PLANE, scheduler, kind, sidecar: false };
    let sidecar = |scheduler, kind| Combination { sidecar: true, ..plain(scheduler, kind) };
    let mut all = Vec::new();
    for (control_plane, scheduler) in [
        (CONTROL_PLANE, Scheduler::NATIVE),
        (NEWER_CONTROL_PLANE, Scheduler::NATIVE),
        (CONTROL_PLANE, Scheduler::VOLCANO),
    ] {
        let kinds = Kind::ALL.map(|kind| plain(scheduler, kind)).into_iter().chain([sidecar(scheduler, Kind::JOB)]);
        all.extend(kinds.map(|combination| Combination { control_plane, ..combination }));
    }
    for scheduler in [Scheduler::COSCHEDULING, Scheduler::YUNIKORN, Scheduler::KOORDINATOR] {
        all.extend(BASIC.map(|kind| plain(scheduler, kind)));
        all.push(sidecar(scheduler, Kind::JOB));
    }
    all.push(sidecar(Scheduler::KAI, Kind::PYTORCH_JOB));
    all.extend(GROUPED_BY_KAI.map(|kind| plain(Scheduler::KAI, kind)));
    all
}

#[test]
#[ignore = "builds all schedulers and operators, and takes some minutes: `make soak` runs it"]
fn every_scheduler_places_every_kind_as_a_whole() {
    let filter = env::var(FILTER).unwrap_or_default();
    let path = trainmesh_testing::repository().join(PAGE);
    let page = fs::read_to_string(&path).unwrap();
    let table = find_table(&page);
    let mut cells = parse(table);
    let control_plane =
        Cluster::get().kubectl(&["get", "--raw", "/version"], "").success().object()["gitVersion"].take();
    // Its webhook for pods and jobs of all kinds fails while it restarts, or notices a new operator.
    Scheduler::KUEUE.stop();
    let mut failed = Vec::new();
    let mut last: Option<Scheduler> = None;
    for combination in combinations() {
        let Combination { scheduler, .. } = combination;
        if control_plane != format!("v{}", version(combination.control_plane)) {
            continue;
        }
        let name = format!("{}/{}", scheduler.mode, combination.column());
        if !name.contains(&filter) {
            continue;
        }
        if let Some(last) = last.filter(|last| last.mode != scheduler.mode) {
            last.stop();
        }
        let is_first = last.is_none_or(|last| last.mode != scheduler.mode);
        last = Some(scheduler);
        // Each scheduler must place jobs in part without keys, or the rest would prove nothing.
        let run = || {
            if is_first {
                check_in_part(scheduler);
            }
            combination.run();
        };
        let seen = catch_unwind(AssertUnwindSafe(run)).is_ok();
        println!("{name}: {}", if seen { "placed as a whole" } else { "FAILED" });
        cells.insert((combination.row(), combination.column()), if seen { SEEN } else { UNSEEN }.to_owned());
        if !seen {
            failed.push(name);
        }
    }
    last.expect("the cluster runs some of the combinations").stop();
    fs::write(&path, page.replace(table, &render(&cells))).unwrap();
    assert!(failed.is_empty(), "failed: {failed:?}");
}

impl Combination {
    fn run(self) {
        let Self { scheduler, kind, sidecar, .. } = self;
        kind.start_operator();
        let completion = if sidecar || !kind.completes { Completion::Delete } else { Completion::Complete };
        let fixture = if sidecar { Fixture::in_mesh(scheduler, CAPACITY) } else { Fixture::new(scheduler, CAPACITY) };
        check_placed_whole(&fixture, kind, completion);
    }

    fn row(self) -> String {
        let Scheduler { mode, project, operator } = self.scheduler;
        format!("`{mode}`: {project} {}", version(operator.unwrap_or(self.control_plane)))
    }

    fn column(self) -> String {
        match self.kind.operator {
            _ if self.sidecar => SIDECAR.to_owned(),
            None => self.kind.name.to_owned(),
            Some(operator) => format!("{}, {operator} {}", self.kind.name, version(operator)),
        }
    }
}

/// Returns the version of a set of tools of the test cluster: that of the only module that it requires directly.
fn version(tools: &str) -> String {
    let path = trainmesh_testing::repository().join(format!("tests/cluster/tools/{tools}/go.mod"));
    let text = fs::read_to_string(&path).unwrap();
    let required = text.lines().find_map(|line| line.strip_prefix("require ")?.split_once(" v"));
    required.unwrap_or_else(|| panic!("no version in {}", path.display())).1.to_owned()
}

fn find_table(page: &str) -> &str {
    let (_, section) = page.split_once("\n## Tested versions\n").expect("the section with the table");
    let start = section.find("\n|").expect("a table") + 1;
    let table = &section[start..];
    table.split("\n\n").next().expect("the table ends")
}

/// Reads the cells of combinations that still exist.
fn parse(table: &str) -> Cells {
    let cells =
        |line: &str| -> Vec<String> { line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect() };
    let mut lines = table.lines();
    let header = lines.next().map(cells).unwrap_or_default();
    let mut found = Cells::new();
    for row in lines.skip(1).map(cells) {
        let titles = header.iter().zip(&row).skip(1);
        found.extend(titles.map(|(column, cell)| ((row[0].clone(), column.clone()), cell.clone())));
    }
    let exists = |key: &(String, String)| combinations().iter().any(|all| (all.row(), all.column()) == *key);
    found.retain(|key, _| exists(key));
    found
}

fn render(cells: &Cells) -> String {
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for combination in combinations() {
        let (row, column) = (combination.row(), combination.column());
        if !rows.contains(&row) {
            rows.push(row);
        }
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let mut lines =
        vec![format!("| scheduler | {} |", columns.join(" | ")), format!("|{}", "---|".repeat(columns.len() + 1))];
    for row in rows {
        let found =
            columns.iter().map(|column| cells.get(&(row.clone(), column.clone())).map_or(UNSEEN, String::as_str));
        lines.push(format!("| {row} | {} |", found.collect::<Vec<_>>().join(" | ")));
    }
    lines.join("\n")
}
