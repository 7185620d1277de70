//! Reasons for the decisions of rules: a stable code for machines and a text for users.

use serde::{Serialize, Serializer};

use crate::codes::codes;
use crate::scope::Exclusion;

codes! {
    /// Reason for the decision of a rule.
    pub enum Reason {
        /// The apiserver does not send pods of this namespace to the webhook.
        NamespaceNotOptedIn => "the namespace is not labeled trainmesh.dev/inject=enabled or audit",
        /// The apiserver does not send this pod to the webhook.
        PodOptedOut => "the pod is labeled trainmesh.dev/inject=disabled",
        /// The namespace is `kube-system` or the namespace of the installation.
        ExcludedNamespace => "pods in this namespace are never changed",
        /// The pod is the apiserver's copy of a static pod.
        MirrorPod => "mirror pods cannot be changed: their source is a file on the node",
        /// The pod reserves capacity for another pod.
        PlaceholderPod => "YuniKorn placeholder pods only reserve capacity",
        /// Neither Istio nor RDMA is available on Windows.
        WindowsPod => "Windows pods are not supported",
        /// The pod has a deletion timestamp.
        BeingDeleted => "the pod is being deleted",
        /// The object does not decode as a Pod, or has a name or label value that the apiserver rejects.
        NotAPod => "the object is not a valid Pod",
        /// The annotations exceed the apiserver's limit of 256 KiB, or leave no space for those of the patch and of
        /// other webhooks.
        AnnotationsTooLarge => "the pod's annotations leave no space for other webhooks within the apiserver's limit of 256 KiB",
        /// Verification of the patch failed.
        PatchWithheld => "the patch failed verification and was withheld",
        /// Used only to explain a pod that exists.
        RecordedAsApplied => "the annotation trainmesh.dev/applied records the rule",
        /// Used only to explain a pod that exists.
        MissedByWebhook => "the pod lacks the change",
        /// Used only to explain a pod that exists.
        ConfigurationUnknown => "no annotation of the pod records the rule, and the configuration that decides about it could not be read",
        /// Configuration: `mesh.enabled: false`.
        MeshOff => "mesh rules are disabled in the configuration",
        /// The mode is [`Mode::IstioAux`](crate::scope::Mode::IstioAux).
        IstioAuxNamespace => "namespaces labeled for istio-aux only get the hold and termination",

        /// `spec.hostNetwork` is true.
        HostNetwork => "Istio does not inject pods with hostNetwork",
        /// Set by the label or annotation `sidecar.istio.io/inject`.
        InjectionOptedOut => "the pod sets sidecar.istio.io/inject: \"false\"",
        /// Set by the namespace label `istio-injection`.
        InjectionDisabled => "the namespace label istio-injection is not set to enabled",
        /// No label requests injection.
        InjectionNotRequested => "neither the namespace nor the pod requests sidecar injection",
        /// The ambient mesh uses no sidecar.
        Ambient => "the pod is in the ambient mesh and gets no sidecar",
        /// Istio's injector ignores this namespace.
        SystemNamespace => "Istio does not inject pods in this namespace",
        /// The rule mesh.traffic disables injection.
        InjectionSwitchedOff => "mesh.traffic disables injection for this pod",
        /// The pod already has its proxy.
        AlreadyInjected => "the pod is already injected",

        /// `holdApplicationUntilProxyStarts: true` was written.
        HoldAdded => "the application is held until istio-proxy is ready (affects classic sidecars only)",
        /// The user's configuration already requests the hold.
        HoldAlreadyRequested => "proxy.istio.io/config already requests the hold",
        /// The user's configuration declines the hold.
        HoldDeclined => "proxy.istio.io/config sets holdApplicationUntilProxyStarts: false",
        /// Configuration: `mesh.hold: false`.
        HoldOff => "mesh.hold is disabled in the configuration",
        /// The hold cannot be merged into the user's configuration safely.
        ProxyConfigRefused => "proxy.istio.io/config is left unchanged",
        /// The injected proxy holds the application.
        HoldRendered => "istio-proxy holds the application",
        /// The timeout of the injected proxy's wait was raised.
        WaitRaised => "istio-proxy may hold the application for up to mesh.waitTimeout",
        /// The injected proxy does not hold the application.
        HoldNotRendered => "the pod was injected without the hold",
        /// A native sidecar needs no hold.
        NativeSidecar => "a native sidecar starts before the application without a hold",
        /// The template always renders an application container.
        GrpcAgent => "the grpc-agent template ignores sidecar.istio.io/nativeSidecar",
        /// The pod is an Istio gateway.
        GatewayPod => "a gateway runs no application container",

        /// `sidecar.istio.io/nativeSidecar: "true"` was written.
        NativePreferred => "a native sidecar is requested",
        /// Configuration: `mesh.nativeSidecar: leave`.
        NativeLeft => "mesh.nativeSidecar is set to leave: Istio decides",
        /// The user set the annotation.
        NativeSetByUser => "the pod already sets sidecar.istio.io/nativeSidecar",

        /// The capture annotations were written.
        CaptureDisabled => "istio-proxy captures no traffic",
        /// Capture is already disabled.
        CaptureAlreadyDisabled => "istio-proxy already captures no traffic",
        /// The user set capture annotations.
        TrafficSetByUser => "the pod already sets traffic.sidecar.istio.io annotations",
        /// The capture annotations of the mode `direct` were written.
        TrafficDirect => "connections between the pods of the job bypass istio-proxy",
        /// The pod already has the annotations that the mode `direct` writes.
        TrafficAlreadyDirect => "connections between the pods of the job already bypass istio-proxy",
        /// The mode `direct` is limited to pods of training jobs.
        NotTraining => "direct traffic is limited to training jobs, and the pod belongs to none",
        /// The mode `direct` is limited to jobs of several pods. Neither the fields that all pods of the job share nor the
        /// object of the job show that there are several.
        PeersUnknown => "direct traffic is limited to jobs of several pods, which neither the pod nor its job shows",
        /// The interception mode is `NONE`, or the injection template is `grpc-agent`.
        InterceptionOff => "istio-proxy intercepts no traffic of the pod",
        /// In the ambient mesh, no annotation of the pod excludes connections between pods.
        TrafficAmbient => "ztunnel redirects the pod's traffic in ambient mode",
        /// Configuration: `mesh.podCIDRs` is empty.
        PodCidrsMissing => "mesh.podCIDRs is not configured",
        /// The injector would reject the pod because of a capture annotation of the user.
        CaptureAnnotationInvalid => "Istio's injector rejects an annotation of the pod about capture",
        /// The annotation cannot be parsed.
        MeshPortsInvalid => "the annotation trainmesh.dev/mesh-ports is not a list of ports",
        /// An annotation of the user captures a port on which the pods of the job communicate.
        MemberPortCaptured => "the pod requests capture of a port on which its job communicates",
        /// The annotation would exceed the limit of ports.
        TooManyPorts => "the pod declares more ports than trainmesh lists",
        /// The injection label was written.
        InjectionTurnedOff => "injection is disabled for this pod",
        /// The user set the injection label or annotation.
        InjectionSetByUser => "the pod already sets sidecar.istio.io/inject",
        /// The image of the pod's `istio-proxy` container is usually `auto`, which only the injector replaces.
        ProxyCustomized => "the pod defines its own istio-proxy container, which is incomplete without injection",
        /// The traffic mode is `leave`.
        TrafficLeft => "Istio decides about traffic capture",
        /// The label has an unknown value.
        UnknownTrafficMode => "the label trainmesh.dev/mesh-traffic has an unknown value",

        /// The missing parts of the profile were written.
        FabricAdded => "the fabric profile is applied",
        /// No part of the profile is missing.
        FabricPresent => "the pod already has everything that its fabric profile adds",
        /// The profile sets `onConflict: tcp`.
        FabricFellBack => "the pod gets plain TCP settings instead of its fabric profile",
        /// Configuration: `fabric.enabled: false`.
        FabricOff => "fabrics are disabled in the configuration",
        /// No label is set, and the configuration has no default.
        FabricNotNamed => "neither the pod nor the namespace selects a fabric profile",
        /// The label is set to `none`.
        FabricOptedOut => "the label trainmesh.dev/fabric is set to none",
        /// The configuration has no profile of this name.
        UnknownFabric => "no fabric profile has this name",
        /// The profile's `namespaces` exclude the pod's namespace.
        FabricNotAllowed => "the fabric profile is not available in this namespace",
        /// For example, the pod is a launcher.
        NoAccelerator => "no container requests an accelerator that the fabric profile matches",
        /// A claim, template or class does not exist yet, or a claim allows several numbers of devices.
        AcceleratorsUnknown => "the number of accelerators that the pod's claims provide is unknown",
        /// Used only for a manifest: the node labels of a `ResourceFlavor` of Kueue may supply the instance type.
        InstanceTypeUnknown => "the fabric profile depends on the instance type, which the queue of the job may supply",
        /// The pod is below `minGpus` or `fullNodeGpus` of the profile.
        TooFewAccelerators => "the fabric profile requires more accelerators",
        /// The user's settings and the profile exclude each other.
        FabricContradicted => "the pod conflicts with its fabric profile, which is not applied",
        /// The cluster would reject the pod or never start it.
        FabricGuarded => "a guard of the fabric profile failed; the profile is not applied",
        /// The profile changed while a job is running.
        FabricOfSiblings => "running pods of the job use another fabric profile or revision; the profile is not applied",

        /// The keys of the mode were written.
        GangJoined => "the scheduler places the pods of the job together",
        /// The webhook wrote the keys in an earlier round.
        GangPresent => "the pod already has the keys of its gang",
        /// Configuration: `gang.enabled: false`.
        GangOff => "gangs are disabled in the configuration",
        /// No label is set, and the configuration has no default.
        GangNotSelected => "neither the pod nor the namespace selects a gang mode",
        /// The label is set to `none`.
        GangOptedOut => "the label trainmesh.dev/gang is set to none",
        /// The label has an unknown value.
        UnknownGangMode => "the label trainmesh.dev/gang has an unknown value",
        /// The mode is `auto`.
        NoGangScheduler => "no gang scheduler is known to run",
        /// The mode is `auto`.
        SeveralGangSchedulers => "several gang schedulers run, so that auto selects none",
        /// For example, a pod of a Deployment or of a Job without completion indexes.
        NotInGang => "the pod does not belong to a job whose pods start together",
        /// For example, a launcher that is created when all workers are ready.
        StartsAlone => "no other pod of the job starts at the same time",
        /// The kind does not declare its sizes.
        GangKindUnknown => "the number of pods that start together is not known for this kind",
        /// The mode was selected while the job was running, or the first pods could not get keys.
        GangOfSiblings => "pods of the job that start with this one run, or ran in the last 30 seconds, without keys of a gang",
        /// The workload cannot be read, or does not contain the role of the pod.
        GangSizeUnknown => "the number of pods that start together is unknown",
        /// The operator creates some pods only after others have a node.
        GangConflict => "the pods of the job cannot wait for each other",
        /// An operator, a user or another controller wrote the key.
        GangKeyPresent => "the pod already has a key of a gang or a queue, which is left unchanged",
        /// Another controller removes the gates.
        SchedulingGated => "the pod has scheduling gates of another controller",
        /// `spec.schedulerName` is neither the default nor that of the mode.
        OtherScheduler => "the pod selects another scheduler",
        /// The mode is `kueue`.
        GangLeftToKueue => "Kueue admits jobs as a whole, and pods need no key",
        /// The mode is `kai`.
        NotGroupedByKai => "KAI-Scheduler does not group the pods of this kind",
        /// The mode is `yunikorn`.
        GangQueueUnknown => "the pod names no queue of YuniKorn",
        /// The mode needs objects of an API that the controller does not announce.
        GangApiMissing => "the cluster does not serve the PodGroups of this mode, or denies them to the controller",
        /// The object does not exist, and the controller's Lease is not fresh.
        GangControllerMissing => "no controller runs that can create the PodGroup",
        /// The apiserver denied the controller's writes, although it has the permission.
        GangObjectDenied => "a quota or policy of the namespace denies the PodGroup",

        /// The variable was added.
        CheckpointIntervalSet => "the interval between checkpoints is in the environment of the main containers",
        /// The user set the variable, or the webhook in an earlier round.
        CheckpointIntervalPresent => "the main containers already have TRAINMESH_CHECKPOINT_INTERVAL_SECONDS",
        /// Only one of the annotations is set.
        CheckpointInputMissing => "the rule needs trainmesh.dev/checkpoint-write-time and trainmesh.dev/node-mtbf",
        /// An annotation is not a duration, or out of range.
        CheckpointInputInvalid => "an annotation of the checkpoint rule is not a valid duration",
        /// The workload cannot be read, or its kind does not declare its sizes.
        CheckpointNodesUnknown => "the number of nodes of the job is unknown",
        /// The job fails before it has written a checkpoint.
        CheckpointTooSlow => "a checkpoint takes as long as the job runs between two failures",
        /// For example, a pod that contains sidecars only.
        CheckpointNoContainer => "the pod has no main container",
        /// The variable of the webhook would override that of `envFrom`.
        CheckpointVariableUnknown => "envFrom may set TRAINMESH_CHECKPOINT_INTERVAL_SECONDS",
        /// The ranks run in sessions of sshd.
        CheckpointNotInherited => "sshd sessions do not inherit the container's environment: annotate the launcher, and use mpirun -x",

        /// The label `trainmesh.dev/managed` was written.
        HelpersManaged => "the controller terminates the pod's sidecars after its main containers complete",
        /// The label `trainmesh.dev/managed` was written, but the controller cannot terminate every sidecar.
        SidecarNotTerminated => "the controller cannot terminate every sidecar: the pod completes only after all have exited",
        /// It is too long, or names something else than application containers without the proxy. Nothing is terminated.
        PayloadUnknown => "trainmesh.dev/payload-containers does not match the pod: nothing will be terminated",
        /// The pod already has the label.
        ManagedAlready => "the pod is already labeled trainmesh.dev/managed",
        /// The pod runs only its main containers and istio-proxy.
        NoHelpers => "the pod has no known sidecar other than istio-proxy",
        /// The pod has no main container, or the restart policy of one is `Always`.
        PayloadNeverEnds => "a main container never completes, or the pod has none",
        /// Configuration: `termination.enabled: false`.
        TerminationOff => "termination is disabled in the configuration",
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl From<Exclusion> for Reason {
    fn from(exclusion: Exclusion) -> Self {
        match exclusion {
            Exclusion::NamespaceNotOptedIn => Self::NamespaceNotOptedIn,
            Exclusion::PodOptedOut => Self::PodOptedOut,
            Exclusion::ExcludedNamespace => Self::ExcludedNamespace,
        }
    }
}
