//! Variables that earlier releases read. NCCL ignores them now.

use super::{Group, ValueKind, Variable};

/// Returns all removed variables that are not in the other tables.
pub(super) fn variables() -> impl Iterator<Item = Variable> {
    REMOVED.iter().map(|(name, note)| Variable::new(name, ValueKind::AnyText, Group::Undocumented).deprecated(note))
}

const REMOVED: &[(&str, &str)] = &[
    ("NCCL_AGG_CHANNEL_SIZE", "removed after 2.19.4"),
    ("NCCL_CREATE_THREAD_CONTEXT", "removed after 2.30.4"),
    ("NCCL_CUDA_PATH", "removed after 2.20.5"),
    ("NCCL_GDRCOPY_TAIL_ENABLE", "removed after 2.11.4"),
    ("NCCL_GIN_COUNTER_POOL_SIZE", "removed after 2.29.7"),
    ("NCCL_GIN_EXCLUSIVE_CONTEXTS", "removed after 2.29.7"),
    ("NCCL_GIN_NCONTEXTS", "removed after 2.29.7: NCCL_GIN_NCONNECTIONS"),
    ("NCCL_GIN_SIGNAL_POOL_SIZE", "removed after 2.29.7"),
    ("NCCL_PROXY_PROFILE", "removed after 2.22.3: NCCL_PROFILER_PLUGIN"),
    ("NCCL_RINGS", "removed after 2.4.8: NCCL_GRAPH_FILE"),
    ("NCCL_SHM_MEMCPY_MODE", "removed after 2.30.4"),
    ("NCCL_SHM_USE_CUDA_MEMCPY", "removed after 2.30.4"),
    ("NCCL_THREAD_THRESHOLD", "removed after 2.4.8: NCCL_THREAD_THRESHOLDS"),
    ("NCCL_WORK_FIFO_DEPTH", "removed after 2.21.5: NCCL_WORK_FIFO_BYTES"),
];

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::variable;

    #[rstest]
    #[case::copies("NCCL_SHM_USE_CUDA_MEMCPY", "removed after 2.30.4")]
    #[case::mode_of_copies("NCCL_SHM_MEMCPY_MODE", "removed after 2.30.4")]
    #[case::thread_context("NCCL_CREATE_THREAD_CONTEXT", "removed after 2.30.4")]
    #[case::queue("NCCL_WORK_FIFO_DEPTH", "removed after 2.21.5: NCCL_WORK_FIFO_BYTES")]
    #[case::gin_contexts("NCCL_GIN_NCONTEXTS", "removed after 2.29.7: NCCL_GIN_NCONNECTIONS")]
    fn names_the_last_release_and_the_replacement(#[case] name: &str, #[case] expected: &str) {
        let variable = variable(name).unwrap();
        let is_typed = variable.is_integer() || variable.is_debugging();
        assert_eq!((is_typed, variable.deprecated), (false, Some(expected)));
    }
}
