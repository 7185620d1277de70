//! Source of each variable: the release and the file that read or document it. `make nccl-table` compares the table
//! with a checkout of NCCL.

/// Place that reads or documents a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Newest known release of NCCL with the variable, or a commit after the last release; `-` for variables of other
    /// projects.
    pub release: &'static str,
    /// File in NCCL's repository, or another project's repository and file.
    pub file: &'static str,
}

/// The table, one line per variable.
const TABLE: &str = include_str!("sources.tsv");

/// Returns all sources with the names of their variables.
pub(super) fn sources() -> impl Iterator<Item = (&'static str, Source)> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut columns = line.split('\t');
        let (name, release, file) = (columns.next()?, columns.next()?, columns.next()?);
        Some((name, Source { release, file }))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{variable, variables};
    use super::*;

    #[test]
    fn every_variable_has_a_source() {
        let names: Vec<&str> = sources().map(|(name, _)| name).collect();
        assert!(names.is_sorted());
        assert_eq!(names, variables().map(|variable| variable.name).collect::<Vec<_>>());
        let source = |name: &str| variable(name).unwrap().source.unwrap();
        assert_eq!(source("NCCL_IB_TIMEOUT"), Source { release: "2.30.7", file: "src/transport/net_ib/connect.cc" });
        assert_eq!(source("NCCL_GIN_NCONTEXTS"), Source { release: "2.29.7", file: "src/gin/gin_host.cc" });
    }
}
