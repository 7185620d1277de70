//! The findings of a diagnosis: severity, layer, symptom, evidence and fix of each.

mod fabric;
mod kubernetes;
mod mesh;
mod mpi;
mod rendezvous;
mod transport;

use crate::codes::codes;
use crate::finding::Severity;

/// Layer of the system in which a problem was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Pods, nodes, schedulers and queues.
    Kubernetes,
    /// Istio's proxy and other sidecars.
    Mesh,
    /// The process group: its settings, address and store.
    Rendezvous,
    /// Launcher and workers of MPI jobs.
    Mpi,
    /// Devices and fabric profiles.
    Fabric,
    /// NCCL and its networks, from logs.
    Transport,
}

impl Layer {
    /// Returns the name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Mesh => "mesh",
            Self::Rendezvous => "rendezvous",
            Self::Mpi => "mpi",
            Self::Fabric => "fabric",
            Self::Transport => "transport",
        }
    }
}

codes! {
    /// Codes of the findings.
    pub enum DiagnosisCode {
        /// Waiting in `ImagePullBackOff` and similar states.
        ImagePullFails => "the image of a container cannot be pulled, so its pod does not start and its peers wait",
        /// Waiting in `CreateContainerConfigError` and similar states.
        ContainerNotCreated => "a container cannot be created, so its pod does not start and its peers wait",
        /// Waiting in `ContainerCreating` or `PodInitializing`.
        PodNotStarting => "a pod has a node and its main containers do not start, so its peers wait",
        /// Waiting in `CrashLoopBackOff`.
        CrashLoop => "a container crashes again and again, so its peers wait",
        /// `OOMKilled`.
        OutOfMemory => "a main container exceeded its memory limit, so its rank is lost",
        /// A rank is gone for good.
        RankFailed => "a rank failed and is not restarted by the kubelet, so its peers wait for it",
        /// Code 0, as if the job had completed.
        RankCompletedEarly => "a rank completed while others of its process group run, so they wait for it in their next collective operation",
        /// Neither running nor failed.
        RankMissing => "a rank has no pod, so its peers wait for it",
        /// Events of the node.
        ProcessKilled => "the kernel killed a process on the node of a running rank, and no container of that node terminated: a rank or a data loader may be gone while its container lives",
        /// F7.
        GangPartlyScheduled => "only a part of a job's pods is scheduled, so the accelerators of that part are idle",
        /// F8.
        GangsDeadlocked => "jobs wait for the accelerators that each other's scheduled pods hold",
        /// No pod of the job is scheduled.
        PodsUnschedulable => "no node fits the pods of a job",
        /// No condition `PodScheduled`.
        SchedulingNotAttempted => "no scheduler has reported an attempt to schedule the pods of a job",
        /// `spec.schedulingGates`.
        PodsGated => "a scheduling gate holds the pods of a job, so no scheduler looks at them",
        /// Node selector or affinity.
        PinnedNodeMissing => "a pod is limited by name to nodes that do not exist",
        /// F9.
        PodGroupMissing => "a pod names a PodGroup that does not exist, so its scheduler ignores it, often without an event",
        /// The minimum is never reached.
        PodGroupTooLarge => "a PodGroup needs more pods than its job creates, so none is scheduled",
        /// A gang of Koordinator has fewer pods than its minimum.
        GangIncomplete => "fewer pods are in a gang of Koordinator than its minimum, so none is scheduled",
        /// Pods of several jobs.
        PodGroupShared => "a PodGroup has two owners, or pods of several jobs name it: it counts pods that do not belong together",
        /// `kai.scheduler/stale-podgroup-timestamp`.
        PodGroupStale => "a gang has fewer pods than its minimum, and its scheduler is about to evict the rest",
        /// The workload was deleted.
        PodGroupOrphaned => "a PodGroup remains although its pod owner does not exist: it may hold resources of its queue",
        /// Events of controllers.
        PodCreationFails => "a controller cannot create the pods of a job",
        /// Older than 10 minutes.
        PodsNotCreated => "a job that has not finished has no pods: it waits in the queue of its scheduler, or its operator does not act",
        /// Bound to a node that left or does not report.
        NodeNotReporting => "the node of a pod does not exist or does not report, so the rank on it is lost",
        /// F11.
        PodStuckTerminating => "a pod is being deleted for longer than its grace period, so no pod of its name can replace it",
        /// `DisruptionTarget`.
        PodDisrupted => "a pod was evicted, so its rank is lost until the pod is replaced",
        /// `UnexpectedAdmissionError`.
        RejectedByNode => "the kubelet rejected a pod that was scheduled to its node, so its rank is missing",
        /// Conditions and taints of node monitors.
        AcceleratorUnhealthy => "a node or a rank of the job reports an unhealthy accelerator",
        /// `spec.suspend`.
        JobSuspended => "the job is suspended, so it has no pods",
        /// The condition `Failed`.
        JobFailed => "the job has failed: the finding shows which pod failed first",
        /// No condition `Failed`.
        FailureUnreported => "all pods of a job have failed, and its operator neither replaces them nor reports that the job has failed",
        /// The quota is reserved.
        QuotaHeld => "Kueue reserves quota for a job that has no pods",

        /// F10.
        SidecarOutlivesMain => "the main containers have finished, but the proxy or another sidecar runs, so the pod does not complete and holds its accelerators",
        /// The opposite.
        ProxyEndedEarly => "the proxy has exited while a main container runs, so all captured traffic of the pod fails",
        /// F12.
        ProxyNotReady => "the proxy is not ready, so the main containers do not start, or the pod has no DNS record in a headless Service",
        /// The hold was requested.
        HoldNotRendered => "the pod requests that the application waits for the proxy, but the injector rendered no such hold, so the first connections may fail",
        /// FP021 in a running pod.
        TrafficCaptured => "the traffic between the ranks of a training job passes through Envoy, behind which NCCL and Gloo may hang",
        /// STRICT with headless Services.
        PlaintextRejected => "ranks connect to each other's pod addresses without TLS, and the mesh rejects plaintext",
        /// On the wrong level.
        InjectionKeyOnWorkload => "the workload disables injection by a key on itself, which has no effect: its pods have a proxy",

        /// Variables and flags.
        SettingsDiffer => "the members of a process group have different settings, so they never meet",
        /// `RANK`.
        RanksCollide => "two members of a process group have the same rank, or one exceeds the number of members",
        /// `--nnodes`.
        NodesExceedPods => "torchrun waits for more nodes than the job has pods, so no group forms",
        /// F4: no Service.
        MasterUnresolvable => "the address of the master is that of no Service and no pod",
        /// F4: the selector.
        ServiceMissesMaster => "the Service of the master leads to other pods or to none",
        /// F3: the port.
        ServicePortClosed => "the Service of the master has a cluster IP and does not forward the port of the process group",
        /// F4: readiness.
        MasterNotReady => "the master runs and is not ready, so its name does not resolve",
        /// Cluster DNS.
        MasterLookupFails => "workers wait for the name of the master, although it should resolve",
        /// The workers were first.
        MasterAwaited => "workers wait for the master, which has not started",
        /// F1.
        MasterRestarted => "the master restarted, and its workers wait for a process group that does not exist any more",
        /// F2.
        WorkerRestarted => "a worker restarted alone, and its peers wait in a collective operation without it",
        /// F5.
        StoreLost => "the store of torchrun's rendezvous is gone, so no group can form",
        /// Version 2.
        EtcdWithoutV2 => "etcd does not serve the API of torchrun's backends etcd and etcd-v2",
        /// F6.
        RestartsUsedUp => "torchrun exited after a failure of its processes: its restarts may be used up",
        /// Two jobs.
        RendezvousShared => "jobs have the same rendezvous, so their agents form one group",

        /// `launcherCreationPolicy`.
        LauncherAwaitsGang => "the workers wait for a gang with the launcher, which is created when they run",
        /// `launcherCreationPolicy` again.
        LauncherAwaitsWorkers => "the launcher is created when all workers are ready, and a worker is not",
        /// Names of the workers.
        WorkersUnreachable => "the launcher cannot resolve the names of its workers, so mpirun reaches no sshd",
        /// Exit code, or the limit of the Job.
        LauncherFailed => "the launcher has failed, so the workers hold their accelerators and no rank runs",
        /// `cleanPodPolicy`.
        WorkersLeft => "the launcher or the job has finished, and workers run on: sshd, for example, does not end by itself",
        /// `slotsPerWorker`.
        SlotsExceedAccelerators => "each worker runs more ranks than it has accelerators",

        /// FP028 in a pod that waits.
        DeviceOnNoNode => "a pod requests a device that no node offers",
        /// FP051 in a pod that waits.
        ClaimNotAllocated => "a pod waits for a ResourceClaim that does not exist or has no device",
        /// FP031 in running pods.
        FabricMixed => "the ranks of a job have different fabric profiles, so NCCL may hang or use TCP",
        /// `trainmesh.dev/refused`.
        FabricRefused => "a fabric profile was refused for a pod, so that it got no RDMA device from trainmesh, and NCCL may use TCP",

        /// `Using network Socket`, though the pod requests RDMA.
        RankOnTcp => "a rank uses TCP although it requests RDMA, so all ranks wait for the slowest connection, or cannot connect to it over RDMA",
        /// `dlopen` failed.
        LibibverbsMissing => "a rank cannot load libibverbs, so NCCL uses TCP although the pod requests RDMA",
        /// No network in common.
        NetworksDiffer => "the ranks of a job use networks that cannot connect to each other",
        /// Also `Mismatched NCCL version detected`.
        NcclVersionsDiffer => "the ranks of a job use different versions of NCCL, so initialization fails",
        /// `NCCL_SOCKET_IFNAME`.
        NoSocketInterface => "no network interface matches the settings, so the rank cannot start",
        /// Loopback.
        BootstrapUnreachable => "a rank listens for its peers at an address that only its own node reaches, so initialization hangs",
        /// memlock.
        LockedMemoryTooSmall => "the adapter cannot register memory, because the limit of locked memory is too small",
        /// GID index.
        WrongGid => "the adapter cannot connect, because its address (GID) does not exist or has another type",
        /// Status 12.
        FabricTimeout => "an adapter gets no acknowledgement from its peer: a switch, a cable, a full queue or the peer itself fails",
        /// `/dev/shm`.
        SharedMemoryTooSmall => "/dev/shm is too small for the buffers of NCCL or of PyTorch's data loader",
        /// `NCCL_NET`.
        NetPluginMissing => "NCCL_NET or NCCL_NET_PLUGIN names a network that NCCL cannot load",
        /// Two ranks on one GPU.
        AcceleratorShared => "two ranks use the same accelerator, so initialization fails",
        /// The watchdog.
        CollectiveTimeout => "a collective operation timed out: a rank that timed out waited for another one",
        /// Closed or reset.
        PeerLost => "a rank lost the connection to a peer: the peer terminated first, or the network did",
        /// By its own cadence.
        RankSilent => "a rank that logged regularly has stopped, while other ranks continue",
        /// No lines of NCCL.
        GpuDirectUnused => "an adapter copies through the memory of the host instead of that of the accelerator, which lowers the bandwidth",
        /// In both reports.
        RankUnresponsive => "a process of the job does not respond to NCCL's RAS, so operations with its ranks do not complete",
        /// `async_error`.
        CommunicatorFailed => "a rank reports an error of NCCL, so its communicator does not work",
        /// Two reports.
        RankBehind => "a rank has launched fewer operations than others, and none advances: the others wait for it",
        /// Nothing is known.
        RasInconclusive => "the reports of RAS do not explain the state of the job",
        /// `NCCL WARN`, or an exception.
        UnexplainedError => "a log contains an error of NCCL, PyTorch or mpirun that no other finding explains",
        /// Nothing is known.
        NcclDebugUnset => "the logs do not show which network NCCL uses",
    }
}

/// Documentation of a finding, in the file of its layer.
#[derive(Clone, Copy, Debug)]
struct Entry {
    code: DiagnosisCode,
    severity: Severity,
    /// Fields that prove the finding, and what rules it out.
    proof: &'static str,
    fix: &'static str,
    /// Path of a page in the repository, with an anchor.
    link: &'static str,
}

/// The findings by layer, in the order of [`DiagnosisCode::ALL`].
const LAYERS: [(Layer, &[Entry]); 6] = [
    (Layer::Kubernetes, kubernetes::ENTRIES),
    (Layer::Mesh, mesh::ENTRIES),
    (Layer::Rendezvous, rendezvous::ENTRIES),
    (Layer::Mpi, mpi::ENTRIES),
    (Layer::Fabric, fabric::ENTRIES),
    (Layer::Transport, transport::ENTRIES),
];

/// Layer and documentation by the position of the finding.
static ENTRIES: [(Layer, Entry); DiagnosisCode::ALL.len()] = join_layers();

/// Joins [`LAYERS`]. Does not compile if a finding has no entry, or is at another position.
const fn join_layers() -> [(Layer, Entry); DiagnosisCode::ALL.len()] {
    let mut joined = [(LAYERS[0].0, LAYERS[0].1[0]); DiagnosisCode::ALL.len()];
    let (mut layer, mut first) = (0, 0);
    while layer < LAYERS.len() {
        let (name, entries) = LAYERS[layer];
        let mut index = 0;
        while index < entries.len() {
            assert!(entries[index].code as usize == first + index, "the order differs from that of the findings");
            joined[first + index] = (name, entries[index]);
            index += 1;
        }
        first += entries.len();
        layer += 1;
    }
    assert!(first == DiagnosisCode::ALL.len(), "a finding has no entry");
    joined
}

impl DiagnosisCode {
    /// Returns the layer.
    #[must_use]
    pub fn layer(self) -> Layer {
        ENTRIES[self as usize].0
    }

    /// Returns the severity.
    #[must_use]
    pub fn severity(self) -> Severity {
        self.entry().severity
    }

    /// Returns the fields that prove the finding, and what rules it out.
    #[must_use]
    pub fn proof(self) -> &'static str {
        self.entry().proof
    }

    /// Returns the fix.
    #[must_use]
    pub fn fix(self) -> &'static str {
        self.entry().fix
    }

    /// Returns the documentation: the path of a page in the repository, with an anchor.
    #[must_use]
    pub fn link(self) -> &'static str {
        self.entry().link
    }

    /// Returns the position in the list, by which findings of the same severity are sorted.
    pub(super) fn rank(self) -> usize {
        self as usize
    }

    fn entry(self) -> &'static Entry {
        &ENTRIES[self as usize].1
    }
}
