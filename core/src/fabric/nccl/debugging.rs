//! What the documentation lists under "Debugging": kept set, it costs speed, and can crash or hang a job. And names that
//! NCCL no longer reads, or never did.

use super::system::THREE_WAY;
use super::{Group, Kind, Variable};

pub(super) const VARIABLES: &[Variable] = &[
    debugging("NCCL_P2P_DISABLE", Kind::FLAG),
    debugging("NCCL_P2P_LEVEL", Kind::Level).since("2.3.4"),
    debugging("NCCL_P2P_DIRECT_DISABLE", Kind::FLAG),
    debugging("NCCL_SHM_DISABLE", Kind::FLAG),
    debugging("NCCL_BUFFSIZE", Kind::POSITIVE),
    debugging("NCCL_NTHREADS", Kind::Word(&["64", "128", "256", "512"])),
    debugging("NCCL_MAX_NCHANNELS", CHANNELS).retired("deprecated since 2.17: NCCL_MAX_CTAS"),
    debugging("NCCL_MIN_NCHANNELS", CHANNELS).retired("deprecated since 2.17: NCCL_MIN_CTAS"),
    debugging("NCCL_MAX_CTAS", CHANNELS).since("2.17"),
    debugging("NCCL_MIN_CTAS", CHANNELS).since("2.17"),
    debugging("NCCL_CHECKS_DISABLE", Kind::FLAG).since("2.0.5").retired("deprecated since 2.2.12: NCCL_CHECK_MODE"),
    debugging("NCCL_CHECK_POINTERS", Kind::FLAG).since("2.2.12").retired("deprecated since 2.29.7: NCCL_CHECK_MODE"),
    debugging("NCCL_CHECK_MODE", Kind::Word(&["DEFAULT", "DEBUG_LOCAL", "DEBUG_GLOBAL"])).since("2.29.7"),
    debugging("NCCL_LAUNCH_MODE", Kind::Word(&["PARALLEL", "GROUP"])).since("2.1.0").retired("deprecated since 2.9"),
    debugging("NCCL_IB_DISABLE", Kind::FLAG),
    debugging("NCCL_IB_AR_THRESHOLD", Kind::SIZE).since("2.6"),
    debugging("NCCL_IB_OOO_RQ", Kind::FLAG).since("2.30"),
    debugging("NCCL_IB_QPS_PER_CONNECTION", Kind::Integer { least: 1, most: 128 }).since("2.10"),
    debugging("NCCL_IB_SPLIT_DATA_ON_QPS", Kind::FLAG).since("2.18"),
    debugging("NCCL_IB_CUDA_SUPPORT", Kind::FLAG).retired("removed in 2.4: NCCL_NET_GDR_LEVEL"),
    debugging("NCCL_IB_GDR_LEVEL", Kind::Level).since("2.3.4").retired("renamed in 2.4: NCCL_NET_GDR_LEVEL"),
    debugging("NCCL_IB_PCI_RELAXED_ORDERING", THREE_WAY).since("2.12"),
    debugging("NCCL_IB_ADAPTIVE_ROUTING", Kind::FLAG).since("2.16"),
    debugging("NCCL_IB_ECE_ENABLE", Kind::FLAG).since("2.23"),
    debugging("NCCL_MEM_SYNC_DOMAIN", Kind::FLAG).since("2.16"),
    debugging("NCCL_NET_SHARED_BUFFERS", Kind::FLAG).since("2.8"),
    debugging("NCCL_NET_SHARED_COMMS", Kind::FLAG).since("2.12"),
    debugging("NCCL_SINGLE_RING_THRESHOLD", Kind::SIZE).since("2.1").retired("removed in 2.3"),
    debugging("NCCL_LL_THRESHOLD", Kind::SIZE).since("2.1").retired("removed in 2.5"),
    debugging("NCCL_TREE_THRESHOLD", Kind::SIZE).since("2.4").retired("removed in 2.5"),
    debugging("NCCL_ALGO", Kind::Words(ALGORITHMS)).since("2.5"),
    debugging("NCCL_PROTO", Kind::Words(&["LL", "LL128", "Simple"])).since("2.5"),
    debugging("NCCL_NVB_DISABLE", Kind::FLAG).since("2.11"),
    debugging("NCCL_PXN_DISABLE", Kind::FLAG).since("2.12"),
    debugging("NCCL_P2P_PXN_LEVEL", THREE_WAY).since("2.12"),
    debugging("NCCL_PXN_C2C", Kind::FLAG).since("2.27"),
    debugging("NCCL_RUNTIME_CONNECT", Kind::FLAG).since("2.22"),
    debugging("NCCL_GRAPH_REGISTER", Kind::FLAG).since("2.11"),
    debugging("NCCL_LOCAL_REGISTER", THREE_WAY).since("2.19"),
    debugging("NCCL_LEGACY_CUDA_REGISTER", Kind::FLAG).since("2.24"),
    debugging("NCCL_WIN_ENABLE", Kind::FLAG).since("2.27"),
    debugging("NCCL_SET_STACK_SIZE", Kind::FLAG).since("2.9"),
    debugging("NCCL_GRAPH_MIXING_SUPPORT", THREE_WAY).since("2.13"),
    debugging("NCCL_GRAPH_STREAM_ORDERING", Kind::NUMBER).since("2.30"),
    debugging("NCCL_P2P_NET_CHUNKSIZE", Kind::POSITIVE).since("2.14"),
    debugging("NCCL_P2P_LL_THRESHOLD", Kind::SIZE).since("2.14"),
    debugging("NCCL_ALLOC_P2P_NET_LL_BUFFERS", Kind::FLAG).since("2.14"),
    debugging("NCCL_COMM_BLOCKING", Kind::FLAG).since("2.14"),
    debugging("NCCL_CGA_CLUSTER_SIZE", Kind::Integer { least: 0, most: 8 }).since("2.16"),
    debugging("NCCL_LAUNCH_ORDER_IMPLICIT", Kind::FLAG).since("2.26"),
    debugging("NCCL_LAUNCH_RACE_FATAL", Kind::FLAG).since("2.26"),
    debugging("NCCL_IPC_USE_ABSTRACT_SOCKET", Kind::FLAG).since("2.29"),
    debugging("NCCL_SYM_GIN_KERNELS_ENABLE", Kind::FLAG).since("2.29"),
    // Names of PyTorch before it put TORCH_ in front of them. NCCL never read them.
    debugging("NCCL_ASYNC_ERROR_HANDLING", Kind::Integer { least: 0, most: 3 })
        .retired("of PyTorch: TORCH_NCCL_ASYNC_ERROR_HANDLING"),
    debugging("NCCL_BLOCKING_WAIT", Kind::FLAG).retired("of PyTorch: TORCH_NCCL_BLOCKING_WAIT"),
];

const CHANNELS: Kind = Kind::Integer { least: 1, most: 64 };
const ALGORITHMS: &[&str] = &["Tree", "Ring", "CollnetDirect", "CollnetChain", "Collnet", "NVLS", "NVLSTree", "PAT"];

const fn debugging(name: &'static str, kind: Kind) -> Variable {
    Variable::new(name, kind, Group::Debugging)
}
