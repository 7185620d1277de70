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
}

impl Layer {
    /// Returns the name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Mesh => "mesh",
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
        evidence "a container waits with reason `CrashLoopBackOff`; a warning until the third restart, because the first connections of a job may fail",
        fix "read the log of the last run: kubectl logs --previous", link "crashloop";
    /// `OOMKilled`.
    Kubernetes Error OutOfMemory => "a main container exceeded its memory limit, so its rank is lost",
        evidence "the last termination of a main container has reason `OOMKilled`; a warning if the container runs again",
        fix "raise the memory limit, or lower the batch size, the number of data loader workers or the size of /dev/shm", link "outofmemory";
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
    /// Node selector or affinity.
    Kubernetes Error PinnedNodeMissing => "a pod is limited by name to nodes that do not exist",
        evidence "`spec.nodeSelector[kubernetes.io/hostname]` or the required node affinity names only nodes that are not in the cluster",
        fix "remove the selector, or name a node that exists", link "pinnednodemissing";
    /// F9.
    Kubernetes Error PodGroupMissing => "a pod names a PodGroup that does not exist, so its scheduler ignores it, often without an event",
        evidence "the gang key of an unscheduled pod that is at least one minute old, while the other PodGroups of its scheduler are known",
        fix "create the PodGroup, or remove the key from the pod template", link "podgroupmissing";
    /// The minimum is never reached.
    Kubernetes Error PodGroupTooLarge => "a PodGroup needs more pods than its job creates, so none is scheduled",
        evidence "`spec.minMember` exceeds the number of pods of the workload, and no pod of the job is scheduled",
        fix "set minMember to the number of pods that start together", link "podgrouptoolarge";
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
        evidence "`spec.suspend` or `spec.runPolicy.suspend` is true; with the conditions of Kueue's Workload",
        fix "with a queue, free quota or raise the priority; without one, set suspend to false", link "jobsuspended";
    /// The quota is reserved.
    Kubernetes Warning QuotaHeld => "Kueue reserves quota for a job that has no pods",
        evidence "the Workload has been Admitted for 10 minutes and not Finished, and no pod of its owner exists",
        fix "check the events of the job; deactivate the Workload to release the quota", link "quotaheld";

    /// F10.
    Mesh Error SidecarOutlivesMain => "the main containers have finished, but the proxy or another sidecar runs, so the pod does not complete and holds its accelerators",
        evidence "all main containers have terminated for good for one minute, phase Running, and another application container runs; native sidecars do not count",
        fix "install trainmesh's controller and label the namespace; until then: trainmesh sweep --apply", link "sidecaroutlivesmain";
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
        evidence "a rank with peers has a proxy, and none of the annotations `traffic.sidecar.istio.io/…`",
        fix "label the namespace or the pod template trainmesh.dev/mesh-traffic=disableCapture, and recreate the pods", link "trafficcaptured";
}

impl DiagnosisCode {
    /// Returns the position in the list, by which findings of the same severity are sorted.
    pub(super) fn rank(self) -> usize {
        self as usize
    }
}
