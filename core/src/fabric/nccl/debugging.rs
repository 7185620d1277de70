//! Variables in the section "Debugging" of NCCL's documentation. Set permanently, they slow down jobs, and can crash or
//! hang them. Includes names that NCCL no longer reads, or never did.

use super::system::THREE_WAY;
use super::{Group, ValueKind, Variable};

pub(super) const VARIABLES: &[Variable] = &[
    debugging("NCCL_P2P_DISABLE", ValueKind::FLAG),
    debugging("NCCL_P2P_LEVEL", ValueKind::Level).since("2.3.4"),
    debugging("NCCL_P2P_DIRECT_DISABLE", ValueKind::FLAG),
    debugging("NCCL_SHM_DISABLE", ValueKind::FLAG),
    debugging("NCCL_BUFFSIZE", ValueKind::POSITIVE),
    debugging("NCCL_NTHREADS", ValueKind::Keyword(&["64", "128", "256", "512"])),
    debugging("NCCL_MAX_NCHANNELS", ValueKind::POSITIVE).deprecated("deprecated since 2.17; use NCCL_MAX_CTAS"),
    debugging("NCCL_MIN_NCHANNELS", ValueKind::NON_NEGATIVE).deprecated("deprecated since 2.17; use NCCL_MIN_CTAS"),
    debugging("NCCL_MAX_CTAS", CHANNELS).since("2.17"),
    debugging("NCCL_MIN_CTAS", CHANNELS).since("2.17"),
    debugging("NCCL_CHECKS_DISABLE", ValueKind::FLAG)
        .since("2.0.5")
        .deprecated("deprecated since 2.2.12; use NCCL_CHECK_MODE"),
    debugging("NCCL_CHECK_POINTERS", ValueKind::FLAG)
        .since("2.2.12")
        .deprecated("deprecated since 2.29.7; use NCCL_CHECK_MODE"),
    debugging("NCCL_CHECK_MODE", ValueKind::KeywordIgnoreCase(&["DEFAULT", "DEBUG_LOCAL", "DEBUG_GLOBAL"]))
        .since("2.29.7"),
    debugging("NCCL_LAUNCH_MODE", ValueKind::Keyword(&["PARALLEL", "GROUP"]))
        .since("2.1.0")
        .deprecated("deprecated since 2.9"),
    debugging("NCCL_IB_DISABLE", ValueKind::FLAG),
    debugging("NCCL_IB_AR_THRESHOLD", ValueKind::NON_NEGATIVE).since("2.6"),
    debugging("NCCL_IB_OOO_RQ", ValueKind::FLAG).since("2.30"),
    debugging("NCCL_IB_QPS_PER_CONNECTION", ValueKind::Integer { min: 1, max: 128 }).since("2.10"),
    debugging("NCCL_IB_SPLIT_DATA_ON_QPS", ValueKind::FLAG).since("2.18"),
    debugging("NCCL_IB_CUDA_SUPPORT", ValueKind::FLAG).deprecated("removed in 2.4; use NCCL_NET_GDR_LEVEL"),
    debugging("NCCL_IB_GDR_LEVEL", ValueKind::Level).since("2.3.4").deprecated("renamed to NCCL_NET_GDR_LEVEL in 2.4"),
    debugging("NCCL_IB_PCI_RELAXED_ORDERING", THREE_WAY).since("2.12"),
    debugging("NCCL_IB_ADAPTIVE_ROUTING", ValueKind::FLAG).since("2.16"),
    debugging("NCCL_IB_ECE_ENABLE", ValueKind::FLAG).since("2.23"),
    debugging("NCCL_MEM_SYNC_DOMAIN", ValueKind::FLAG).since("2.16"),
    debugging("NCCL_NET_SHARED_BUFFERS", ValueKind::FLAG).since("2.8"),
    debugging("NCCL_NET_SHARED_COMMS", ValueKind::FLAG).since("2.12"),
    debugging("NCCL_SINGLE_RING_THRESHOLD", ValueKind::NON_NEGATIVE).since("2.1").deprecated("removed in 2.3"),
    debugging("NCCL_LL_THRESHOLD", ValueKind::NON_NEGATIVE).since("2.1").deprecated("removed in 2.5"),
    debugging("NCCL_TREE_THRESHOLD", ValueKind::NON_NEGATIVE).since("2.4").deprecated("removed in 2.5"),
    debugging("NCCL_ALGO", ValueKind::KeywordList(ALGORITHMS)).since("2.5"),
    debugging("NCCL_PROTO", ValueKind::KeywordList(&["LL", "LL128", "Simple"])).since("2.5"),
    debugging("NCCL_NVB_DISABLE", ValueKind::FLAG).since("2.11"),
    debugging("NCCL_PXN_DISABLE", ValueKind::FLAG).since("2.12"),
    debugging("NCCL_P2P_PXN_LEVEL", THREE_WAY).since("2.12"),
    debugging("NCCL_PXN_C2C", ValueKind::FLAG).since("2.27"),
    debugging("NCCL_RUNTIME_CONNECT", ValueKind::FLAG).since("2.22"),
    debugging("NCCL_GRAPH_REGISTER", ValueKind::FLAG).since("2.11"),
    debugging("NCCL_LOCAL_REGISTER", ValueKind::FLAG).since("2.19"),
    debugging("NCCL_LEGACY_CUDA_REGISTER", ValueKind::FLAG).since("2.24"),
    debugging("NCCL_WIN_ENABLE", ValueKind::FLAG).since("2.27"),
    debugging("NCCL_SET_STACK_SIZE", ValueKind::FLAG).since("2.9"),
    debugging("NCCL_GRAPH_MIXING_SUPPORT", ValueKind::FLAG).since("2.13"),
    debugging("NCCL_GRAPH_STREAM_ORDERING", ValueKind::FLAG).since("2.30"),
    debugging("NCCL_P2P_NET_CHUNKSIZE", ValueKind::POSITIVE).since("2.14"),
    debugging("NCCL_P2P_LL_THRESHOLD", ValueKind::NON_NEGATIVE).since("2.14"),
    debugging("NCCL_ALLOC_P2P_NET_LL_BUFFERS", ValueKind::FLAG).since("2.14"),
    debugging("NCCL_COMM_BLOCKING", ValueKind::FLAG).since("2.14"),
    debugging("NCCL_CGA_CLUSTER_SIZE", ValueKind::Integer { min: 0, max: 8 }).since("2.16"),
    debugging("NCCL_LAUNCH_ORDER_IMPLICIT", ValueKind::FLAG).since("2.26"),
    debugging("NCCL_LAUNCH_RACE_FATAL", ValueKind::FLAG).since("2.26"),
    debugging("NCCL_IPC_USE_ABSTRACT_SOCKET", ValueKind::FLAG).since("2.29"),
    debugging("NCCL_SYM_GIN_KERNELS_ENABLE", ValueKind::FLAG).since("2.29"),
    debugging("NCCL_RMA_EAGER_INIT", ValueKind::FLAG),
    debugging("NCCL_RUN_RAS_DIAGNOSTICS", ValueKind::FLAG),
    // Former names of PyTorch variables, which now start with TORCH_. NCCL never read them.
    debugging("NCCL_ASYNC_ERROR_HANDLING", ValueKind::Integer { min: 0, max: 3 })
        .deprecated("a PyTorch variable; use TORCH_NCCL_ASYNC_ERROR_HANDLING"),
    debugging("NCCL_BLOCKING_WAIT", ValueKind::FLAG).deprecated("a PyTorch variable; use TORCH_NCCL_BLOCKING_WAIT"),
];

const CHANNELS: ValueKind = ValueKind::Integer { min: 1, max: 64 };
const ALGORITHMS: &[&str] = &["Tree", "Ring", "CollnetDirect", "CollnetChain", "Collnet", "NVLS", "NVLSTree", "PAT"];

const fn debugging(name: &'static str, kind: ValueKind) -> Variable {
    Variable::new(name, kind, Group::Debugging)
}
