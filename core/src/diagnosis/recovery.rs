//! The recovery of problems without an action: the table of `docs/diagnose.md`.

/// Answer to the question if a problem disappears without an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovers {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// The API does not show it.
    Unknown,
}

impl Recovers {
    /// Returns the value in JSON: `yes`, `no` or `unknown`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

/// Declares [`Recovery`] with its table.
macro_rules! recoveries {
    ($($(#[doc = $doc:literal])+ $name:ident => $recovers:ident, $situation:literal, $reason:literal;)+) => {
        /// A row of the table: a situation, and whether it disappears by itself.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Recovery { $($(#[doc = $doc])+ $name,)+ }

        impl Recovery {
            /// Every row, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns whether the problem disappears by itself.
            #[must_use]
            pub fn recovers(self) -> Recovers {
                match self { $(Self::$name => Recovers::$recovers,)+ }
            }

            /// Returns the situation, a lowercase fragment.
            #[must_use]
            pub fn situation(self) -> &'static str {
                match self { $(Self::$name => $situation,)+ }
            }

            /// Returns why, a lowercase fragment.
            #[must_use]
            pub fn reason(self) -> &'static str {
                match self { $(Self::$name => $reason,)+ }
            }
        }
    };
}

recoveries! {
    /// The registry may serve the image later.
    ImageRetried => Unknown, "the image cannot be pulled", "the kubelet tries again at least every 5 minutes";
    /// The registry answered that there is no such image, or denied access.
    ImageMissing => No, "the registry has no such image, or denies access", "it needs a correct name, a push, or credentials";
    /// The kubelet will not pull.
    ImageInvalid => No, "the image name is invalid, or its pull policy forbids the pull", "it needs another pod spec";
    /// A reference that does not resolve.
    ConfigurationMissing => No, "a container cannot be created", "the kubelet tries again, but the missing object or the pod spec needs a change";
    /// The driver or the runtime.
    NodeFaulty => Unknown, "a container cannot be created because of its node", "the kubelet tries again, but the driver, the runtime or the disk of the node may need a repair";
    /// A volume or a network.
    StartRetried => Unknown, "a pod has a node and does not start, with an error of the kubelet", "the kubelet tries again every few minutes, but the cause in the event may need a change";
    /// The API shows no progress.
    StartTakesLong => Unknown, "a pod has had a node for 15 minutes and has not started", "the pull of its image or an init container may still complete";
    /// Restarted with growing delays.
    CrashRetried => Unknown, "a container crashes again and again", "the kubelet restarts it at least every 5 minutes, until the owner's limit of restarts";
    /// The kubelet restarts it.
    MemoryRestarted => Unknown, "a main container ran out of memory and is restarted", "it may run out of memory again, and its peers may not accept it back";
    /// Nobody restarts it.
    MemoryEnded => No, "a main container ran out of memory and is not restarted by the kubelet", "its restart policy ends it; only an owner that replaces the pod helps";
    /// The API does not show processes.
    ProcessKilled => Unknown, "the kernel killed a process on the node of a running pod", "the API does not show whether the main process has noticed";
    /// Depends on other users of the cluster.
    WaitsForCapacity => Unknown, "pods wait for a node", "they are scheduled when capacity becomes free or a node is added";
    /// A provisioner may bind it.
    VolumeAwaited => Unknown, "pods wait for a PersistentVolumeClaim", "they are scheduled when a volume is bound to it, for which it has to exist, and needs a provisioner or a volume that fits";
    /// Pods of the gang are missing.
    GangShort => Unknown, "the scheduler reports that a gang has fewer pods than its minimum", "it places none of them until the missing pods exist or the minimum is lower, however much capacity is free";
    /// Whatever is free.
    QueueLimitTooSmall => No, "a job requests more than the limit of its queue in the scheduler", "the scheduler never places it: the job or the limit needs a change";
    /// Other jobs.
    QueueInUse => Unknown, "the queue of a job in the scheduler is full", "it is placed when others in the queue terminate or the limit is raised; new nodes do not help if a limit is set";
    /// New nodes may fit.
    NodesExcluded => Unknown, "the taints and labels of all nodes, or a volume that they do not reach, exclude the pods", "they are scheduled when a node is added that fits, or a taint is removed";
    /// The scheduler does not run, or waits for the gang.
    SchedulerAwaited => Unknown, "no scheduler has looked at the pods", "the scheduler may start, or admit their PodGroup";
    /// Its controller removes it.
    GateHeld => Unknown, "a scheduling gate holds pods", "the controller of the gate has to remove it";
    /// Its controller decides.
    AdmissionAwaited => Unknown, "Kueue has reserved quota for a job that it has not started", "Kueue starts it when its admission checks succeed and its pods have a topology";
    /// Circular wait.
    Deadlocked => No, "gangs wait for the accelerators of each other", "none releases its accelerators before it has all of them";
    /// The nodes do not exist.
    NodeRemoved => No, "a pod is limited to nodes that do not exist", "it needs such a node, or another pod spec";
    /// The scheduler waits for the object.
    PodGroupAwaited => No, "the PodGroup of a pod does not exist", "the scheduler ignores the pod until somebody creates it";
    /// More pods than the job creates.
    PodGroupExceeds => No, "the PodGroup needs more pods than the job creates", "it needs a smaller minMember, or more replicas";
    /// No object of the gang can be changed.
    GangAwaited => Unknown, "a gang of Koordinator has fewer pods than the minimum in its pods' annotations", "Koordinator places none of them until the missing ones exist, and waits without a limit";
    /// Two jobs in one gang.
    PodGroupMixed => Unknown, "pods of several jobs name one PodGroup", "each counts for the minimum of the other, so either can start alone";
    /// KAI evicts it.
    GangEvicted => Yes, "KAI considers the gang incomplete", "it evicts the whole gang after 60 s, and the owner recreates the pods";
    /// KAI evicts it, without the rank that failed.
    GangReduced => Unknown, "KAI considers the gang incomplete, and a pod of it has failed for good", "it evicts the other pods after 60 s, and the owner recreates these, but not the one that failed";
    /// The object stays.
    OwnerGone => No, "the owner of a PodGroup does not exist", "nobody deletes the PodGroup or completes its gang";
    /// The controller retries.
    CreationRetried => Unknown, "a controller cannot create pods because of a quota", "it tries again with growing delays, and succeeds when quota becomes free";
    /// Whatever quota is free.
    CreationExceedsQuota => No, "a controller cannot create pods, because each of them requests more than a quota allows in all", "it tries again, but the pods or the quota need a change";
    /// A webhook or a policy.
    CreationDenied => No, "a controller cannot create pods, and not because of a quota", "it tries again, but the cause in the message needs a change";
    /// The webhook does not run.
    WebhookUnavailable => Unknown, "a controller cannot create pods because a webhook does not answer", "it tries again with growing delays, and succeeds when the webhook answers";
    /// The scheduler admits the group first.
    GroupQueued => Unknown, "a job has no pods, and its PodGroup waits", "its pods are created when its scheduler admits the PodGroup";
    /// For example in another cluster.
    PodsElsewhere => Unknown, "a job has no pods, and another controller runs it", "that controller decides, and may run the job in another cluster";
    /// The operator may not run.
    PodsAwaited => Unknown, "a job has no pods, for no reason that its objects show", "its controller creates them, if it runs";
    /// The operator may not run.
    RankAwaited => Unknown, "a rank has no pod", "its controller creates the pod if it runs and the job's limit of restarts allows it";
    /// The node may return.
    NodeSilent => Unknown, "the node of a pod does not report", "the pod is evicted after 5 minutes, and its owner may replace it";
    /// For example because of a toleration.
    EvictionOverdue => Unknown, "the same for 10 minutes, and the pod is not being deleted", "the pod should have been evicted after 5 minutes: it may tolerate the taint of its node, or the node controller does not act";
    /// Nobody confirms the deletion.
    DeletionStuck => No, "a pod is being deleted on a node that does not report", "the deletion ends when the node returns or is deleted";
    /// A controller has to act.
    FinalizerHeld => Unknown, "a pod is being deleted and has finalizers", "the controller of each finalizer has to remove it";
    /// The kubelet has to act.
    DeletionRetried => Unknown, "a pod without finalizers is being deleted, and its node reports or is not known", "the kubelet tries again, but no signal ends a process that hangs in a driver or file system";
    /// Replaced by the owner.
    DisruptedOwned => Unknown, "a pod with an owner was evicted or rejected by its node", "the owner replaces it, if its policy and its limit of failures allow that";
    /// No owner.
    DisruptedBare => No, "a pod without an owner was evicted or rejected by its node", "nobody replaces it";
    /// Needs an operator.
    DeviceUnhealthy => No, "a node or a rank reports an unhealthy accelerator", "it needs a reset or a repair, and the pods another node";
    /// `UnschedulablePendingReplacement`, or a reboot.
    NodeMarked => Unknown, "HyperPod has marked a node for a reboot or a replacement", "it acts if its automatic recovery is enabled, and the pods need another node meanwhile";
    /// The queue decides.
    QueueWaits => Unknown, "a job waits in a queue of Kueue", "Kueue admits it when quota becomes free";
    /// Not in the input.
    QueueUnknown => Unknown, "a suspended job names a queue of Kueue, and its Workload is not known", "Kueue admits it when quota becomes free, if it manages the job";
    /// Another kind or namespace, or Kueue does not run.
    QueueUnmanaged => Unknown, "a suspended job names a queue of Kueue, which has no Workload of it", "Kueue may not manage the job, or not run";
    /// Not a question of quota.
    QueueInadmissible => No, "Kueue cannot admit a job, for another reason than quota", "its queue, the ClusterQueue or the job needs a change";
    /// Whatever quota is free.
    QuotaTooSmall => No, "a job requests more than the quota of its queue in Kueue", "Kueue never admits it: the job or the quota needs a change";
    /// Kueue puts it back.
    QueueRequeued => Yes, "Kueue evicted a job for others (Preempted) and put it back into the queue", "Kueue admits it again when quota becomes free";
    /// The cause may remain.
    QueueEvicts => Unknown, "Kueue evicted a job for another reason", "Kueue admits it again when quota becomes free, but evicts it again or deactivates it while the cause remains";
    /// Somebody has to activate it.
    QueueDeactivated => No, "the Workload of Kueue was deactivated", "it needs spec.active: true";
    /// By a person or a controller.
    SuspendedByUser => No, "a job without a queue is suspended", "somebody has to resume it";
    /// Nobody starts it again.
    JobEnded => No, "a job has failed", "somebody has to correct the cause and create it again";
    /// The operator may not run.
    EndUnreported => Unknown, "all pods of a job have failed, and its end is not reported or not known", "its controller replaces the pods or reports the failure, if it runs";
    /// The job has no pods.
    QuotaIdle => Unknown, "Kueue admitted a job that has no pods", "the job's controller may still create them";
    /// Nobody terminates it.
    SidecarRuns => No, "the main containers have finished and a sidecar runs", "nothing terminates it: in an enabled namespace, the controller of trainmesh would have within seconds";
    /// No label of the webhook.
    SidecarMissed => No, "the main containers have finished, and a sidecar runs in a pod without a proxy that the webhook has not labeled", "nothing terminates it: the controller of trainmesh does not watch the pod";
    /// A method that is disabled, or none.
    SidecarBlocked => No, "the main containers have finished and a sidecar runs that trainmesh does not terminate", "the evidence contains the reason, such as a method that is disabled or not known";
    /// The kubelet does not restart it.
    ProxyLost => No, "the proxy has exited before the main containers", "its restart policy does not restart it";
    /// It may need configuration from istiod.
    ProxyStarts => Unknown, "the proxy runs and is not ready", "it becomes ready when it gets its configuration from istiod";
    /// Containers of a pod do not change.
    HoldMissing => Unknown, "a pod started without the hold and crashed", "a restart of the container finds the proxy ready";
    /// Annotations are read at creation.
    TrafficStays => No, "the traffic between ranks passes through Envoy", "the capture is set up when the pod starts";
    /// A policy.
    PlaintextStays => No, "the mesh rejects the plaintext between ranks", "the policy or the capture of the pods needs a change";
    /// Read at creation.
    InjectionStays => No, "pods have a proxy although their workload disables injection", "the injector reads only the pods";

    /// `Never`, or an exit code below 128 with `ExitCode`.
    RankStays => No, "a rank failed, and its owner does not replace it", "its peers wait until their time-out, and fail too";
    /// `ExitCode`, or a Job.
    RankReplaced => Unknown, "a rank failed, and its owner may replace it", "it depends on the exit code, the limit of failures, and whether the peers rejoin";
    /// Not visible until the time-out.
    RankCompleted => Unknown, "a rank completed while others of its process group run", "they fail at the time-out of their next collective operation, or complete if they need none";
    /// `--nnodes` with a minimum.
    NodeShrinks => Yes, "the node of a pod does not report, and the other pods are enough for torchrun's minimum of nodes and include that with the c10d store", "the agents form a smaller group";
    /// Fixed at creation.
    SettingsFixed => No, "members of a process group have different or wrong settings", "they are set when the pods are created";
    /// Fixed at creation.
    RanksFixed => No, "members of a process group have the same rank, or one that is too large", "the ranks are set when the pods are created";
    /// The operator creates it.
    ServiceMissing => Unknown, "the Service of the master does not exist", "the operator may create it, and workers retry until their time-out";
    /// A Job has no operator.
    ServiceNotCreated => No, "the Service of the master of a Job does not exist", "no operator creates it; workers that still retry connect when somebody has";
    /// Somebody has to correct it.
    ServiceFixed => No, "the Service does not lead to the master, or not to its port", "it needs a correction; workers that still retry connect after it";
    /// Readiness probe.
    MasterStarts => Unknown, "the master runs and is not ready", "its name resolves when it is ready, and workers retry until their time-out";
    /// Cluster DNS.
    LookupRetried => Unknown, "the name of a ready master does not resolve", "the init container retries, and is restarted, until DNS answers";
    /// Workers first.
    WorkersRetry => Yes, "workers started before the master, less than 10 minutes ago", "they retry the connection until their time-out";
    /// Workers first, for too long.
    WorkersOverdue => Unknown, "workers started before the master, 10 minutes ago or earlier", "their time-out may have passed; a restart policy starts them again";
    /// `OnFailure`, or `ExitCode`: the watchdog ends processes by SIGABRT, exit code 134.
    PeersRejoin => Yes, "a member of a static process group restarted, and its peers will", "the watchdog aborts them at the collective time-out, with NCCL 10 minutes by default, and they rejoin";
    /// `TORCH_NCCL_ASYNC_ERROR_HANDLING`.
    PeersNotAborted => No, "a member of a static process group restarted, and a variable of its peers disables NCCL's watchdog", "nobody aborts their collective operation, so that they wait without a limit";
    /// Gloo.
    PeersWithoutWatchdog => Unknown, "a member of a static process group without accelerators restarted, and its peers will", "Gloo has no watchdog: its operations fail when a connection is closed, or at their time-out, 30 minutes by default";
    /// It does not stay.
    MemberRestartsAgain => Unknown, "a member of a static process group has restarted three times or more", "it may terminate again before its peers are aborted and rejoin";
    /// The watchdog should have acted.
    PeersStalled => Unknown, "a member of a static process group restarted more than 20 minutes ago, and its peers did not", "the peers should have been aborted: the time-out is longer, or the watchdog is disabled";
    /// `Never`.
    PeersStay => No, "a member of a static process group restarted, and its peers have the restart policy Never", "they fail at the collective time-out, and nobody restarts them";
    /// The owner is not in the snapshot.
    PeersUnknown => Unknown, "a member restarted, exited or lost its store, and the owner that decides about restarts is not known", "pods of operators have the policy Never also for ExitCode, with which the operator replaces them";
    /// `backoffLimit`.
    BackoffUsedUp => No, "peers will restart, but the restarts of the job reach its back-off limit", "the next restarts fail the job";
    /// Before the group formed.
    StoreAwaited => Yes, "etcd is down and the agents have not formed a group, less than 10 minutes after their start", "they wait for it until their time-out";
    /// Before the group formed, for too long.
    StoreOverdue => Unknown, "the same, 10 minutes after their start or later", "the agents exit at their time-out, and their restart policy decides";
    /// After the group formed.
    AgentsRestart => Yes, "the store of a running group is lost, and the agents will restart", "their monitor ends the processes within 60 seconds, and they form a group once the store is back";
    /// The monitor should have acted.
    AgentsStalled => Unknown, "the same, more than 2 minutes ago", "the agents should have exited";
    /// `Never`.
    AgentsStay => No, "the store of a running group is lost, and the agents have the restart policy Never", "their monitor ends the processes, and nobody restarts them";
    /// Not the API of this version.
    EtcdReplaced => No, "etcd does not serve version 2 of its API", "both backends of torchrun for etcd use only that version";
    /// A new agent.
    AgentReplaced => Unknown, "torchrun exited, and its container is restarted", "each run has all restarts again, until the limit of the owner; the cause may persist";
    /// `Never`.
    AgentEnded => No, "torchrun exited, and nothing restarts it", "its restart policy or the back-off limit ends it";
    /// One group.
    RendezvousMixed => No, "jobs have the same rendezvous", "their agents join each other's group until one of them uses another identifier";

    /// Circular wait.
    LauncherDeadlocked => No, "an MPI launcher and the gang of its workers wait for each other", "neither starts without the other";
    /// The operator watches them.
    LauncherDelayed => Unknown, "the launcher of an MPI job waits for a worker that is not ready", "the operator creates it when all workers are ready";
    /// `OnFailure` and the limit of the Job.
    LauncherRetries => Unknown, "an MPI launcher cannot resolve its workers", "the launcher is restarted up to its back-off limit, and succeeds if the workers become ready before";
    /// The operator creates it.
    WorkersServiceMissing => Unknown, "the Service of an MPI job's workers does not exist", "the operator may create it, and the launcher is restarted up to its back-off limit";
    /// `OnFailure`, or a new pod of the Job.
    LauncherReplaced => Unknown, "an MPI launcher failed, and its Job is below its back-off limit", "the Job starts another launcher, which may fail for the same reason";
    /// The Job has failed.
    LauncherEnded => No, "an MPI launcher failed, and its Job has reached its back-off limit", "nothing starts another launcher";
    /// sshd runs again, and not the daemon of the launcher.
    WorkerRanksLost => Unknown, "a worker of an MPI job restarted, and its launcher runs on", "the ranks of the worker are gone: mpirun may still notice it, end, and be started again by its Job";
    /// sshd.
    WorkersStay => No, "a job of the training operator or its launcher has finished, and its workers run", "with cleanPodPolicy None, the default, nobody deletes them";
    /// `cleanPodPolicy` is not `None`.
    CleanupAwaited => Unknown, "the same, with cleanPodPolicy Running or All", "the operator should have deleted them, and does so when it runs";
    /// Fixed at creation.
    SlotsFixed => No, "an MPI job has more slots than accelerators", "the hostfile is written when the job is created";
    /// No device plugin.
    DeviceAwaited => Unknown, "no node offers a device that a pod requests", "a device plugin or a new node may offer it";
    /// By a person, or from the template.
    ClaimMissing => Unknown, "a ResourceClaim that a pod names does not exist", "somebody may create it, or Kubernetes from its template once that exists";
    /// The scheduler allocates it.
    ClaimAwaited => Unknown, "a ResourceClaim of a pod has no device", "a driver may offer a fitting device, or another pod release one";
    /// Written at creation.
    FabricStays => No, "the ranks of a job have different fabric profiles, or a profile was refused", "a profile is applied when a pod is created";

    /// Chosen at initialization.
    NetworkStays => No, "a rank uses another network than it requests, or than its peers", "NCCL chooses the network when it starts";
    /// The image.
    LibraryMissing => No, "NCCL cannot load a library", "it needs another image, mount or variable";
    /// The image.
    VersionsStay => No, "the ranks use different versions of NCCL", "they need one image";
    /// A setting.
    InterfaceMissing => No, "NCCL or Gloo uses the wrong network interface, or none", "it needs other settings, and new processes";
    /// A limit of the pod.
    MemoryLimited => No, "the limit of locked or shared memory is too small", "it needs another pod spec or container runtime";
    /// A setting.
    AddressInvalid => No, "an adapter cannot use its address", "it needs another setting, or another network attachment";
    /// A link or a switch.
    FabricUnreliable => Unknown, "an adapter gets no acknowledgement from its peer", "NCCL ends the communicator, and the restart policy decides; the cause may be a link that fails again";
    /// The assignment of devices.
    DeviceShared => No, "two ranks use the same accelerator", "each restart assigns the same devices";
    /// The watchdog.
    CollectiveAborted => Unknown, "a collective operation timed out", "the watchdog ends the process, and the restart policy decides if all ranks start again";
    /// An exception.
    OperationFailed => Unknown, "an operation of Gloo timed out", "the process fails with an exception, and the restart policy decides if all ranks start again";
    /// Not known.
    ErrorUnknown => Unknown, "a log contains an error that no other finding explains", "the line does not show whether the rank continues";
    /// The peer.
    PeerEnded => Unknown, "a rank lost the connection to a peer", "the rank fails, and the restart policies of both decide";
    /// Not visible.
    RankWaits => Unknown, "a rank has stopped logging", "the log does not show if it waits, computes or hangs";
    /// It may be stopped.
    RankLost => Unknown, "a process does not respond to RAS", "it may continue, if it was stopped; else the watchdogs of its peers end them";
    /// The application decides.
    CommunicatorEnded => Unknown, "a communicator has failed", "the application and its restart policy decide";
    /// Not visible.
    RasUnknown => Unknown, "RAS does not explain the state", "the operation may hang on the device or in the network";
    /// Not visible.
    NetworkUnknown => Unknown, "the logs do not show the network", "they contain no line of NCCL; other lines may show a failure";
}
