//! The findings of a diagnosis: severity, layer, symptom, evidence and fix of each.

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

/// Declares [`DiagnosisCode`] with [`codes`].
macro_rules! diagnoses {
    ($($(#[doc = $doc:literal])+ $layer:ident $severity:ident $name:ident =>
        $symptom:literal, evidence $evidence:literal, fix $fix:literal, link $link:literal;)+) => {
        codes! {
            /// Codes of the findings.
            pub enum DiagnosisCode { $($(#[doc = $doc])+ $name => $symptom,)+ }
        }

        impl DiagnosisCode {
            /// Returns the layer.
            #[must_use]
            pub fn layer(self) -> Layer {
                match self { $(Self::$name => Layer::$layer,)+ }
            }

            /// Returns the severity.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)+ }
            }

            /// Returns the fields that prove the finding, and what rules it out.
            #[must_use]
            pub fn proof(self) -> &'static str {
                match self { $(Self::$name => $evidence,)+ }
            }

            /// Returns the fix.
            #[must_use]
            pub fn fix(self) -> &'static str {
                match self { $(Self::$name => $fix,)+ }
            }

            /// Returns the documentation: the path of a page in the repository, with an anchor.
            #[must_use]
            pub fn link(self) -> &'static str {
                match self { $(Self::$name => concat!("docs/diagnose.md#", $link),)+ }
            }
        }
    };
}

diagnoses! {
    /// Waiting in `ImagePullBackOff` and similar states.
    Kubernetes Error ImagePullFails => "the image of a container cannot be pulled, so its pod does not start and its peers wait",
        evidence "a container waits with reason `ErrImagePull`, `ImagePullBackOff`, `InvalidImageName`, `ErrImageNeverPull`, `ImageInspectError` or `RegistryUnavailable`",
        fix "read the message: correct the image name, push the image, or add the credentials to imagePullSecrets", link "imagepullfails";
    /// Waiting in `CreateContainerConfigError` and similar states.
    Kubernetes Error ContainerNotCreated => "a container cannot be created, so its pod does not start and its peers wait",
        evidence "a container waits with reason `CreateContainerConfigError`, `CreateContainerError`, `RunContainerError` or `PreCreateHookError`; not in the first 2 minutes of a pod, in which an operator may still create its ConfigMap",
        fix "read the message: create the ConfigMap or Secret that it names, or correct the command, the volume or the device", link "containernotcreated";
    /// Waiting in `CrashLoopBackOff`.
    Kubernetes Error CrashLoop => "a main container crashes again and again, so its peers wait",
        evidence "a container waits with reason `CrashLoopBackOff`, or a main container has failed again after three restarts, and is about to be restarted; a warning until the third restart, because the first connections of a job may fail",
        fix "read the log of the last run: kubectl logs --previous", link "crashloop";
    /// `OOMKilled`.
    Kubernetes Error OutOfMemory => "a main container exceeded its memory limit, so its rank is lost",
        evidence "the last termination of a main container has reason `OOMKilled`; a warning if the container runs again",
        fix "raise the memory limit, or lower the batch size, the number of data loader workers or the size of /dev/shm", link "outofmemory";
    /// A rank is gone for good.
    Kubernetes Error RankFailed => "a rank failed and is not restarted by the kubelet, so its peers wait for it",
        evidence "a main container has terminated with a code other than 0 for one minute, its restart policy does not restart it, and other ranks run; not if a newer pod has the same role and index, nor for elastic jobs with their minimum of nodes",
        fix "read the log of the rank: kubectl logs; then recreate the job, or use the restart policy OnFailure or ExitCode", link "rankfailed";
    /// Neither running nor failed.
    Kubernetes Error RankMissing => "a rank has no pod, so its peers wait for it",
        evidence "the workload requests more pods of a role than exist, all of its pods are at least 5 minutes old, and one of its ranks runs; not for workloads that are suspended, finished or being deleted, elastic jobs with their minimum of nodes, nor if the pods cannot be created (PodCreationFails)",
        fix "check that the operator runs, its log, and the events of the job: kubectl describe; then recreate the job", link "rankmissing";
    /// Events of the node.
    Kubernetes Warning ProcessKilled => "the kernel killed a process on the node of a running rank, and no container of that node terminated: a rank or a data loader may be gone while its container lives",
        evidence "an event `OOMKilling` or `SystemOOM` of the node, after the start of the pod's main containers, while no container of the node was `OOMKilled` within one minute of it",
        fix "check the processes: kubectl exec … -- ps; give the container more memory, and let torchrun supervise the ranks", link "processkilled";
    /// F7.
    Kubernetes Error GangPartlyScheduled => "only a part of a job's pods is scheduled, so the accelerators of that part are idle",
        evidence "some pods of a training job have a node and others have had none for 5 minutes; not while the autoscaler adds nodes (event `TriggeredScaleUp` in the last 10 minutes), nor for elastic jobs with their minimum of nodes",
        fix "schedule the pods as a gang, so that all of them or none hold accelerators; free the missing capacity", link "gangpartlyscheduled";
    /// F8.
    Kubernetes Error GangsDeadlocked => "jobs wait for the accelerators that each other's scheduled pods hold",
        evidence "two or more partly scheduled jobs request the same resource, and the free accelerators of all nodes are fewer than each of them needs; not if a pod of one of them was scheduled in the last 5 minutes",
        fix "delete one of the jobs, and schedule both as gangs", link "gangsdeadlocked";
    /// No pod of the job is scheduled.
    Kubernetes Warning PodsUnschedulable => "no node fits the pods of a job",
        evidence "no pod of the job has a node, and the condition `PodScheduled` has been False for 5 minutes, with the scheduler's message",
        fix "read the scheduler's message: free capacity, add nodes, or correct requests, selectors and tolerations", link "podsunschedulable";
    /// No condition `PodScheduled`.
    Kubernetes Warning SchedulingNotAttempted => "no scheduler has reported an attempt to schedule the pods of a job",
        evidence "no pod of the job has a node, and for 5 minutes neither a condition `PodScheduled` nor an event `FailedScheduling`; not if its PodGroup does not exist (PodGroupMissing)",
        fix "check that the scheduler in spec.schedulerName runs under this name, and the status of the PodGroup and queue, for which Volcano and others wait before they look at pods", link "schedulingnotattempted";
    /// `spec.schedulingGates`.
    Kubernetes Warning PodsGated => "a scheduling gate holds the pods of a job, so no scheduler looks at them",
        evidence "`spec.schedulingGates` of all pods without a node for 5 minutes; for the gates of Kueue with the conditions of its Workload, and a note while the job waits for quota",
        fix "check the controller that removes the gate; for a gate of Kueue, free quota or raise the priority", link "podsgated";
    /// Node selector or affinity.
    Kubernetes Error PinnedNodeMissing => "a pod is limited by name to nodes that do not exist",
        evidence "`spec.nodeSelector[kubernetes.io/hostname]` or the required node affinity names only nodes that are not in the cluster",
        fix "remove the selector, or name a node that exists", link "pinnednodemissing";
    /// F9.
    Kubernetes Error PodGroupMissing => "a pod names a PodGroup that does not exist, so its scheduler ignores it, often without an event",
        evidence "the gang key of an unscheduled pod that is at least one minute old, while the other PodGroups of its scheduler are known",
        fix "create the PodGroup, or remove the key from the pod template; if trainmesh added the key, check its controller", link "podgroupmissing";
    /// The minimum is never reached.
    Kubernetes Error PodGroupTooLarge => "a PodGroup needs more pods than its job creates, so none is scheduled",
        evidence "`spec.minMember`, or `spec.schedulingPolicy.gang.minCount`, exceeds the number of pods of the workload, and no pod of the job is scheduled",
        fix "set this field to the number of pods that start together", link "podgrouptoolarge";
    /// Pods of several jobs.
    Kubernetes Warning PodGroupShared => "a PodGroup has two owners, or pods of several jobs name it: it counts pods that do not belong together",
        evidence "the gang keys of unfinished pods of different workloads are the same, or `metadata.ownerReferences` has several entries",
        fix "give each job its own PodGroup", link "podgroupshared";
    /// `kai.scheduler/stale-podgroup-timestamp`.
    Kubernetes Warning PodGroupStale => "a gang has fewer pods than its minimum, and its scheduler is about to evict the rest",
        evidence "the annotation `kai.scheduler/stale-podgroup-timestamp`",
        fix "find the pod that failed first, and why", link "podgroupstale";
    /// The workload was deleted.
    Kubernetes Warning PodGroupOrphaned => "a PodGroup remains although its pod owner does not exist: it may hold resources of its queue",
        evidence "the owner of the PodGroup is a pod that is not in the cluster, and no pod names the PodGroup",
        fix "delete the PodGroup", link "podgrouporphaned";
    /// Events of controllers.
    Kubernetes Error PodCreationFails => "a controller cannot create the pods of a job",
        evidence "an event `FailedCreate`, `FailedCreatePod` or `FailedDeployPodGroup` of the workload or of an object that it owns, in the last 30 minutes, while pods are missing",
        fix "read the message: raise the quota, or correct what the webhook or the Pod Security level denies", link "podcreationfails";
    /// Bound to a node that left or does not report.
    Kubernetes Error NodeNotReporting => "the node of a pod does not exist or does not report, so the rank on it is lost",
        evidence "`spec.nodeName` is not among the nodes, or the condition `Ready` of the node is not True for one minute",
        fix "check the node; delete the pod, so that its owner creates another one, if the owner does not replace it", link "nodenotreporting";
    /// F11.
    Kubernetes Error PodStuckTerminating => "a pod is being deleted for longer than its grace period, so no pod of its name can replace it",
        evidence "`metadata.deletionTimestamp` passed 2 minutes ago; with the node that does not report, or the finalizers",
        fix "if the node is gone, taint it with node.kubernetes.io/out-of-service=nodeshutdown:NoExecute or delete it; else ask the owner of the finalizer", link "podstuckterminating";
    /// `DisruptionTarget`.
    Kubernetes Warning PodDisrupted => "a pod was evicted, so its rank is lost until the pod is replaced",
        evidence "the condition `DisruptionTarget` of a pod, with reason `PreemptionByScheduler`, `DeletionByTaintManager`, `EvictionByEvictionAPI`, `DeletionByPodGC` or `TerminationByKubelet`; not if a newer pod has the same role and index",
        fix "protect training pods with a priority class, and drain nodes between jobs", link "poddisrupted";
    /// `UnexpectedAdmissionError`.
    Kubernetes Error RejectedByNode => "the kubelet rejected a pod that was scheduled to its node, so its rank is missing",
        evidence "phase Failed with reason `UnexpectedAdmissionError`, `NodeAffinity`, `NodeShutdown`, `OutOfcpu`, `OutOfmemory` or `OutOf` an extended resource; not if a newer pod has the same role and index",
        fix "check the device plugin on the node: it offers fewer healthy devices than the node's allocatable; delete the pod", link "rejectedbynode";
    /// Conditions and taints of node monitors.
    Kubernetes Error AcceleratorUnhealthy => "a node with pods of the job reports an unhealthy accelerator",
        evidence "a condition of the node with `GPU`, `Xid`, `NVLink` or `NVSwitch` in its type has status True (for `…Healthy` and `…Ready`: False), or the key of a taint contains one of them with `error`, `fault`, `unhealthy` or `xid`",
        fix "cordon the node, move the job, and reset or replace the accelerator", link "acceleratorunhealthy";
    /// `spec.suspend`.
    Kubernetes Warning JobSuspended => "the job is suspended, so it has no pods",
        evidence "`spec.suspend` or `spec.runPolicy.suspend` is true; with the conditions of Kueue's Workload; a note while the job waits for quota",
        fix "with a queue, free quota or raise the priority, or correct a queue that cannot admit the job; without one, set suspend to false", link "jobsuspended";
    /// The quota is reserved.
    Kubernetes Warning QuotaHeld => "Kueue reserves quota for a job that has no pods",
        evidence "the Workload has been Admitted for 10 minutes and not Finished, and no pod of its owner exists",
        fix "check the events of the job; deactivate the Workload to release the quota", link "quotaheld";

    /// F10.
    Mesh Error SidecarOutlivesMain => "the main containers have finished, but the proxy or another sidecar runs, so the pod does not complete and holds its accelerators",
        evidence "all main containers have terminated for good for one minute, phase Running, and another application container runs; native sidecars do not count",
        fix "install trainmesh's controller and label the namespace; until then: trainmesh sweep --apply. If the pod is excluded, remove its label trainmesh.dev/inject", link "sidecaroutlivesmain";
    /// The opposite.
    Mesh Error ProxyEndedEarly => "the proxy has exited while a main container runs, so all captured traffic of the pod fails",
        evidence "the classic proxy has terminated, its restart policy does not restart it, and a main container runs",
        fix "recreate the pod; find out what stopped the proxy: kubectl logs -c istio-proxy", link "proxyendedearly";
    /// F12.
    Mesh Error ProxyNotReady => "the proxy is not ready, so the pod has no DNS record in a headless Service",
        evidence "the classic proxy has run for 2 minutes with `ready: false`, while all main containers run",
        fix "check the proxy: kubectl logs -c istio-proxy, istioctl proxy-status", link "proxynotready";
    /// The hold was requested.
    Mesh Warning HoldNotRendered => "the pod requests that the application waits for the proxy, but the injector rendered no such hold, so the first connections may fail",
        evidence "the annotation `proxy.istio.io/config` or the proxy's configuration requests the hold, the classic proxy is not the first container with `pilot-agent wait`, and a main container has terminated",
        fix "check for another webhook that reorders containers, and for a global.proxy.lifecycle in Istio's values; or use native sidecars", link "holdnotrendered";
    /// FP021 in a running pod.
    Mesh Warning TrafficCaptured => "the traffic between the ranks of a training job passes through Envoy, behind which NCCL and Gloo may hang",
        evidence "a rank with peers, by its own fields or the number of pods, has a proxy, and none of the annotations `traffic.sidecar.istio.io/…`",
        fix "label the namespace or the pod template trainmesh.dev/mesh-traffic=disableCapture, and recreate the pods", link "trafficcaptured";
    /// STRICT with headless Services.
    Mesh Error PlaintextRejected => "ranks connect to each other's pod addresses without TLS, and the mesh rejects plaintext",
        evidence "as for TrafficCaptured, while the PeerAuthentication of the namespace, or that of istio-system, has mode STRICT, and none of the namespace selects pods",
        fix "label the namespace or the pod template trainmesh.dev/mesh-traffic=disableCapture, and recreate the pods; or set the mode to PERMISSIVE", link "plaintextrejected";
    /// On the wrong level.
    Mesh Warning InjectionKeyOnWorkload => "the workload disables injection by a key on itself, which has no effect: its pods have a proxy",
        evidence "the label or annotation `sidecar.istio.io/inject: \"false\"` of the workload, whose pods have a proxy",
        fix "move the label into the pod template (spec.template.metadata.labels)", link "injectionkeyonworkload";

    /// Variables and flags.
    Rendezvous Error SettingsDiffer => "the members of a process group have different settings, so they never meet",
        evidence "`MASTER_ADDR`, `MASTER_PORT`, `WORLD_SIZE`, or a setting of torchrun (flag, or variable with `PET_`) has several values; a flag takes precedence over variables, and the master may use its own name",
        fix "remove the setting from the pod templates, so that the operator's applies, or set the same value in all of them", link "settingsdiffer";
    /// `RANK`.
    Rendezvous Error RanksCollide => "two members of a process group have the same rank, or one exceeds the number of members",
        evidence "`RANK` or `PET_NODE_RANK` of unfinished pods is the same, or not less than `WORLD_SIZE` or the maximum of `PET_NNODES`",
        fix "remove RANK and WORLD_SIZE from the pod templates: the operator sets them", link "rankscollide";
    /// F4: no Service.
    Rendezvous Error MasterUnresolvable => "the address of the master is that of no Service and no pod",
        evidence "the Service that `MASTER_ADDR` or `PET_RDZV_ENDPOINT` names is not among the Services of the namespace for 2 minutes, or the address is a loopback address or that of another pod",
        fix "check the operator, which creates the Service; or correct the address", link "masterunresolvable";
    /// F4: the selector.
    Rendezvous Error ServiceMissesMaster => "the Service of the master leads to other pods or to none",
        evidence "the selector of the Service does not match the labels of rank 0, or its host name differs",
        fix "correct the selector of the Service, or the labels of the pod template", link "servicemissesmaster";
    /// F3: the port.
    Rendezvous Error ServicePortClosed => "the Service of the master has a cluster IP and does not forward the port of the process group",
        evidence "no entry of `spec.ports` leads from the port of the workers to that of the master; the ports of headless Services have no effect",
        fix "add the port to the Service, or make it headless (clusterIP: None)", link "serviceportclosed";
    /// F4: readiness.
    Rendezvous Error MasterNotReady => "the master runs and is not ready, so its name does not resolve",
        evidence "the condition `Ready` of rank 0 has been False for 2 minutes while its main containers run, and its Service does not publish addresses that are not ready",
        fix "remove the readiness probe, or set publishNotReadyAddresses in the Service", link "masternotready";
    /// Cluster DNS.
    Rendezvous Error MasterLookupFails => "workers wait for the name of the master, although it should resolve",
        evidence "an init container `init-pytorch` or `wait-for-master` has run for 2 minutes, while rank 0 is ready and its Service selects it",
        fix "check the DNS of the cluster, and network policies for port 53: kubectl logs -c init-pytorch", link "masterlookupfails";
    /// The workers were first.
    Rendezvous Info MasterAwaited => "workers wait for the master, which has not started",
        evidence "rank 0 has a node, its main container has not started for the first time, and a worker has run for 2 minutes",
        fix "check the events of the master: kubectl describe pod", link "masterawaited";
    /// F1.
    Rendezvous Error MasterRestarted => "the master restarted, and its workers wait for a process group that does not exist any more",
        evidence "rank 0 runs again for one minute after a run of at least 30 seconds, or was recreated, and members have run since before that; not for torchrun with a dynamic rendezvous",
        fix "find out why it terminated, and restart all members: delete their pods, or recreate the job", link "masterrestarted";
    /// F2.
    Rendezvous Error WorkerRestarted => "a worker restarted alone, and its peers wait in a collective operation without it",
        evidence "as for MasterRestarted, for other ranks",
        fix "find out why it terminated, and restart all members: delete their pods, or recreate the job", link "workerrestarted";
    /// F5.
    Rendezvous Error StoreLost => "the store of torchrun's rendezvous is gone, so no group can form",
        evidence "no pod of the Service in `PET_RDZV_ENDPOINT` is ready (`etcd`, `etcd-v2`), or the member with the store restarted after 30 seconds while other agents run on (`c10d`); an etcd outside of the cluster is not visible",
        fix "restore etcd, or find out why the member terminated; then restart the agents that do not restart by themselves", link "storelost";
    /// Version 2.
    Rendezvous Error EtcdWithoutV2 => "etcd does not serve the API of torchrun's backends etcd and etcd-v2",
        evidence "the image of a pod of the Service in `PET_RDZV_ENDPOINT` is etcd 3.6 or newer, or 3.4 or 3.5 without `--enable-v2`",
        fix "use the backend c10d; or etcd 3.5 with --enable-v2=true", link "etcdwithoutv2";
    /// F6.
    Rendezvous Warning RestartsUsedUp => "torchrun exited after a failure of its processes: its restarts may be used up",
        evidence "`--max-restarts` or `PET_MAX_RESTARTS` is set, and the container's last exit code is 1; the restarts themselves are not in the API",
        fix "read the log of the last run for the first failure: kubectl logs --previous", link "restartsusedup";
    /// Two jobs.
    Rendezvous Error RendezvousShared => "jobs have the same rendezvous, so their agents form one group",
        evidence "backend, endpoint and identifier (`PET_RDZV_ID`, by default `none`) of unfinished jobs are the same",
        fix "give each job its own --rdzv-id", link "rendezvousshared";

    /// `launcherCreationPolicy`.
    Mpi Error LauncherAwaitsGang => "the workers wait for a gang with the launcher, which is created when they run",
        evidence "`spec.launcherCreationPolicy: WaitForWorkersReady`, no launcher, and the PodGroup of workers without nodes for 5 minutes needs more pods than there are workers",
        fix "set schedulingPolicy.minAvailable to the number of workers, or launcherCreationPolicy to AtStartup", link "launcherawaitsgang";
    /// Names of the workers.
    Mpi Error WorkersUnreachable => "the launcher cannot resolve the names of its workers, so mpirun reaches no sshd",
        evidence "the launcher has run for 2 minutes or failed, and the headless Service of the job does not exist, or running workers have not been ready for 2 minutes; the API does not show whether sshd listens",
        fix "remove readiness probes that need the job to run; check the proxy of the workers, and sshd: kubectl logs", link "workersunreachable";
    /// Exit code, or the limit of the Job.
    Mpi Error LauncherFailed => "the launcher has failed, so the workers hold their accelerators and no rank runs",
        evidence "all launcher pods have terminated with a code other than 0 for one minute, or the Job of the launcher has the condition Failed, while workers run and the MPIJob has not finished; not if the workers are unreachable (WorkersUnreachable)",
        fix "read the log of the launcher: kubectl logs; correct the cause, and recreate the MPIJob", link "launcherfailed";
    /// `cleanPodPolicy`.
    Mpi Warning WorkersLeft => "the launcher has finished, and the workers run on: sshd does not end by itself",
        evidence "the condition Succeeded or Failed of the job, or phase Succeeded of the launcher, for 2 minutes, while workers are in phase Running",
        fix "set runPolicy.cleanPodPolicy to Running, and delete the workers or the job", link "workersleft";
    /// `slotsPerWorker`.
    Mpi Warning SlotsExceedAccelerators => "each worker runs more ranks than it has accelerators",
        evidence "`spec.slotsPerWorker` exceeds the accelerators that a worker requests",
        fix "set slotsPerWorker to the number of accelerators of a worker", link "slotsexceedaccelerators";

    /// FP028 in a pod that waits.
    Fabric Error DeviceOnNoNode => "a pod requests a device that no node offers",
        evidence "a container of a pod without a node requests an extended resource that `status.allocatable` of no node contains; not while the autoscaler adds nodes",
        fix "check the spelling, and the device plugin on the nodes: kubectl get nodes -o yaml; or remove the request", link "deviceonnonode";
    /// FP031 in running pods.
    Fabric Error FabricMixed => "the ranks of a job have different fabric profiles, so NCCL may hang or use TCP",
        evidence "the annotation `trainmesh.dev/fabric-revision` of unfinished ranks with accelerators differs, or only some have it",
        fix "recreate all pods of the job", link "fabricmixed";

    /// `Using network Socket`, though the pod requests RDMA.
    Transport Error RankOnTcp => "a rank uses TCP although it requests RDMA, so all ranks wait for the slowest connection",
        evidence "NCCL logs `Using network Socket` or `via NET/Socket`, or the plugin of libfabric a provider over TCP, in a job of several pods whose main containers request an RDMA device or which have a built-in RDMA profile",
        fix "read the lines before: no adapter found (device, profile or node), or a variable that disables RDMA", link "rankontcp";
    /// `dlopen` failed.
    Transport Error LibibverbsMissing => "a rank cannot load libibverbs, so NCCL uses TCP although the pod requests RDMA",
        evidence "NCCL logs `Failed to open libibverbs.so[.1]`, or since 2.30 `Count not open libibverbs.so.1`, and the rank uses TCP; alone, neither line is a problem",
        fix "install libibverbs1 and the provider of the adapter (ibverbs-providers) in the image", link "libibverbsmissing";
    /// No network in common.
    Transport Error NetworksDiffer => "the ranks of a job use networks that cannot connect to each other",
        evidence "the names in `Using network` and `via NET/` of at least two ranks have none in common",
        fix "give all pods the same devices, image and NCCL_NET", link "networksdiffer";
    /// Also `Mismatched NCCL version detected`.
    Transport Error NcclVersionsDiffer => "the ranks of a job use different versions of NCCL, so initialization fails",
        evidence "the versions in `NCCL version` of at least two ranks have none in common, or NCCL logs `Mismatched NCCL version detected`; before 2.27 only rank 0 logs its version",
        fix "use one image for all pods of the job; check LD_PRELOAD and LD_LIBRARY_PATH", link "ncclversionsdiffer";
    /// `NCCL_SOCKET_IFNAME`.
    Transport Error NoSocketInterface => "no network interface matches the settings, so the rank cannot start",
        evidence "NCCL logs `no socket interface found`, `no interface found`, `No usable listening interface found` or `No IP interface found`, or Gloo `Unable to find address for:`",
        fix "remove NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME, or name an interface of the pod; Gloo accepts a name only, without ^ and =", link "nosocketinterface";
    /// Loopback.
    Transport Error BootstrapUnreachable => "a rank listens for its peers at an address that only its own node reaches, so initialization hangs",
        evidence "NCCL logs `Bootstrap: Using` with an address in 127.0.0.0/8 or 169.254.0.0/16, in a job of several pods",
        fix "set NCCL_SOCKET_IFNAME to the interface of the pod's network, such as eth0", link "bootstrapunreachable";
    /// memlock.
    Transport Error LockedMemoryTooSmall => "the adapter cannot register memory, because the limit of locked memory is too small",
        evidence "NCCL warns that `ibv_reg_mr`, `ibv_create_qp` or `ibv_create_cq` failed with `Cannot allocate memory`",
        fix "add the capability IPC_LOCK to a container that runs as root, or raise LimitMEMLOCK of the container runtime on the nodes", link "lockedmemorytoosmall";
    /// GID index.
    Transport Error WrongGid => "the adapter cannot connect, because its address (GID) does not exist or has another type",
        evidence "NCCL warns that `ibv_modify_qp` failed with `Invalid argument`",
        fix "remove NCCL_IB_GID_INDEX: NCCL 2.21 and newer choose it", link "wronggid";
    /// Status 12.
    Transport Error FabricTimeout => "an adapter gets no acknowledgement from its peer: a switch, a cable, a full queue or the peer itself fails",
        evidence "NCCL warns `Got completion from peer` with status 12 (transport retry counter exceeded)",
        fix "find the peer and adapter that the lines of several ranks have in common; check the link (ibstat, rdma statistic), and on RoCE PFC and the traffic class", link "fabrictimeout";
    /// `/dev/shm`.
    Transport Error SharedMemoryTooSmall => "/dev/shm is too small for NCCL's buffers",
        evidence "NCCL warns `failed to extend /dev/shm`, or `No space left on device` there",
        fix "mount an emptyDir with medium: Memory at /dev/shm, and count it in the memory limit", link "sharedmemorytoosmall";
    /// `NCCL_NET`.
    Transport Error NetPluginMissing => "NCCL_NET or NCCL_NET_PLUGIN names a network that NCCL cannot load",
        evidence "NCCL warns `Failed to initialize any NET plugin`",
        fix "remove NCCL_NET, or mount the plugin and add its directory to LD_LIBRARY_PATH", link "netpluginmissing";
    /// Two ranks on one GPU.
    Transport Error AcceleratorShared => "two ranks use the same accelerator, so initialization fails",
        evidence "NCCL warns `Duplicate GPU detected` or `Multiple Ranks are using the same GPU`",
        fix "set the device of each process from LOCAL_RANK, and request as many accelerators as processes", link "acceleratorshared";
    /// The watchdog.
    Transport Error CollectiveTimeout => "a collective operation timed out: a rank that timed out waited for another one",
        evidence "PyTorch logs `Watchdog caught collective operation timeout`; numbers of operations (`SeqNum`) are compared within one process group (`PG GUID`) only, and `[rank5]:` is the rank in the job, `[Rank 5]` that in its group",
        fix "look at the ranks that are behind, or that logged no time-out: an exception, a slow checkpoint or data loader, a different code path; TORCH_NCCL_TRACE_BUFFER_SIZE records the last operations", link "collectivetimeout";
    /// Closed or reset.
    Transport Warning PeerLost => "a rank lost the connection to a peer: the peer terminated first, or the network did",
        evidence "NCCL logs `Connection closed by remote peer`, or Gloo `Connection closed by peer`, `Read error` or `Write error`, with the peer's address",
        fix "read the log of the peer that all others name", link "peerlost";
    /// By its own cadence.
    Transport Warning RankSilent => "a rank that logged regularly has stopped, while other ranks continue",
        evidence "the last line of a rank that runs is at least 5 minutes, and three times its own longest pause, older than that of another rank; only after 5 minutes with lines, because most jobs log at rank 0 only",
        fix "look at its processes: kubectl exec … -- py-spy dump --pid …; and at its node", link "ranksilent";
    /// No lines of NCCL.
    Transport Warning GpuDirectUnused => "an adapter copies through the memory of the host instead of that of the accelerator, which lowers the bandwidth",
        evidence "no connection over RDMA of a rank ends in `/GDRDMA`",
        fix "load nvidia-peermem or use DMA-BUF (Linux 5.12, open kernel modules); check NCCL_NET_GDR_LEVEL and ACS", link "gpudirectunused";
    /// In both reports.
    Transport Error RankUnresponsive => "a process of the job does not respond to NCCL's RAS, so operations with its ranks do not complete",
        evidence "two reports of RAS list the rank as missing, and as unresponsive or considered dead (not reached for 60 s)",
        fix "look at the process and its node: a stopped process, a dead node, a broken network", link "rankunresponsive";
    /// `async_error`.
    Transport Error CommunicatorFailed => "a rank reports an error of NCCL, so its communicator does not work",
        evidence "`init_state` or `async_error` of a rank in the report of RAS is neither 0 (success) nor 7 (in progress)",
        fix "read the log of the rank; the codes are those of ncclResult_t", link "communicatorfailed";
    /// Two reports.
    Transport Warning RankBehind => "a rank has launched fewer operations than others, and none advances: the others wait for it",
        evidence "two reports of RAS with 10 s between them contain the same numbers of operations for all ranks of a communicator, and they differ between ranks; one mismatch alone is normal",
        fix "look at the rank that is behind: an exception, a slow checkpoint or data loader, a different code path", link "rankbehind";
    /// Nothing is known.
    Transport Info RasInconclusive => "the reports of RAS do not explain the state of the job",
        evidence "RAS sees all ranks with the same number of operations although PyTorch logs a time-out; or on the network of a node, none of 16 connections reached a process that the job's log names",
        fix "add --logs, so that the processes of the job are known; else use py-spy and PyTorch's flight recorder", link "rasinconclusive";
    /// Nothing is known.
    Transport Info NcclDebugUnset => "the logs do not show which network NCCL uses",
        evidence "no log of a rank with accelerators contains a line of NCCL, and no main container sets `NCCL_DEBUG`",
        fix "set NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET,ENV in the pod template", link "nccldebugunset";
}

impl DiagnosisCode {
    /// Returns the position in the list, by which findings of the same severity are sorted.
    pub(super) fn rank(self) -> usize {
        self as usize
    }
}
