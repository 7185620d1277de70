//! Every reason for which a rule decides as it does: its code for machines and its text for people, in one place.

use serde::{Serialize, Serializer};

use crate::codes::codes;
use crate::scope::Exclusion;

codes! {
    /// Why a rule decided as it did.
    pub enum Reason {
        /// The apiserver never asks about pods of this namespace.
        NamespaceNotOptedIn => "the namespace is not labelled trainmesh.dev/inject=enabled or audit",
        /// The apiserver never asks about this pod.
        PodOptedOut => "the pod is labelled trainmesh.dev/inject=disabled",
        /// `kube-system` and our own namespace are never served.
        ExcludedNamespace => "pods of this namespace are never changed",
        /// A static pod's image at the apiserver.
        MirrorPod => "a mirror pod follows a file on its node",
        /// The stand-in of `YuniKorn` for a pod to come.
        PlaceholderPod => "a placeholder of YuniKorn only reserves room",
        /// Neither Istio nor RDMA is there on Windows.
        WindowsPod => "a Windows pod",
        /// Too late for any change.
        BeingDeleted => "the pod is being deleted",
        /// What came in does not decode.
        NotAPod => "the object is no Pod that the apiserver would take",
        /// The apiserver rejects a pod with more than 256 KiB of annotations.
        AnnotationsTooLarge => "the pod's annotations leave no room within the apiserver's limit of 256 KiB",
        /// The check of the finished patch failed.
        PatchWithheld => "the patch did not pass its own check and was withheld",
        /// Configuration: `mesh.enabled: false`.
        MeshOff => "mesh rules are switched off in the configuration",
        /// Only the hold and termination are served there.
        IstioAuxNamespace => "a namespace labelled for istio-aux gets hold and termination alone",

        /// Istio leaves pods with `hostNetwork` alone.
        HostNetwork => "Istio does not inject pods with hostNetwork",
        /// By label or annotation `sidecar.istio.io/inject`.
        InjectionOptedOut => "the pod says sidecar.istio.io/inject: \"false\"",
        /// By the namespace label `istio-injection`.
        InjectionDisabled => "the namespace label istio-injection is not enabled",
        /// Nobody asked for injection.
        InjectionNotRequested => "neither namespace nor pod asks Istio for a sidecar",
        /// There is no sidecar to wait for.
        Ambient => "the pod is in the ambient mesh and gets no sidecar",
        /// Istio ignores these namespaces.
        SystemNamespace => "Istio ignores this namespace",
        /// The rule mesh.traffic has switched injection off.
        InjectionSwitchedOff => "mesh.traffic switches injection off for this pod",
        /// The pod already has its proxy.
        AlreadyInjected => "the pod has been injected already",

        /// `holdApplicationUntilProxyStarts: true` was written.
        HoldAdded => "the application is held until istio-proxy is ready (has effect on a classic sidecar only)",
        /// The user's text asks for it already.
        HoldAlreadyRequested => "proxy.istio.io/config asks for the hold already",
        /// The user's text says no.
        HoldDeclined => "proxy.istio.io/config says holdApplicationUntilProxyStarts: false",
        /// Configuration: `mesh.hold: false`.
        HoldOff => "mesh.hold is switched off in the configuration",
        /// The text cannot be merged without a risk.
        ProxyConfigRefused => "proxy.istio.io/config is left as it is",
        /// An injected pod whose proxy holds the application.
        HoldRendered => "istio-proxy holds the application",
        /// An injected pod whose proxy may hold the application for longer now.
        WaitRaised => "istio-proxy may hold the application for as long as mesh.waitTimeout says",
        /// An injected pod whose proxy does not.
        HoldNotRendered => "the pod was injected without the hold",
        /// A native sidecar starts before the application anyway.
        NativeSidecar => "a native sidecar starts before the application without a hold",
        /// The template renders an application container, whatever the annotation says.
        GrpcAgent => "the grpc-agent template ignores sidecar.istio.io/nativeSidecar",
        /// The pod runs nothing but the proxy.
        GatewayPod => "a gateway runs no application beside its proxy",

        /// `sidecar.istio.io/nativeSidecar: "true"` was written.
        NativePreferred => "a native sidecar is asked for",
        /// Configuration: `mesh.nativeSidecar: leave`.
        NativeLeft => "mesh.nativeSidecar leaves the choice to Istio",
        /// The user has chosen.
        NativeSetByUser => "the pod sets sidecar.istio.io/nativeSidecar itself",

        /// Capture was switched off.
        CaptureDisabled => "no traffic is captured by istio-proxy",
        /// It is off already.
        CaptureAlreadyDisabled => "istio-proxy captures no traffic already",
        /// The pod steers capture by itself.
        TrafficSetByUser => "the pod sets traffic.sidecar.istio.io annotations itself",
        /// The injection label was written.
        InjectionTurnedOff => "injection is switched off for this pod",
        /// The pod says itself whether it is injected.
        InjectionSetByUser => "the pod sets sidecar.istio.io/inject itself",
        /// The image of such a container is mostly `auto`, which only the injector replaces.
        ProxyCustomized => "the pod's own istio-proxy container is incomplete without injection",
        /// Nothing to do.
        TrafficLeft => "mesh.traffic leaves the traffic to Istio",
        /// A label with a value that we do not know.
        UnknownTrafficMode => "label trainmesh.dev/mesh-traffic has an unknown value",

        /// Everything that was missing was written.
        FabricAdded => "the pod gets what its fabric needs",
        /// Nothing is missing.
        FabricPresent => "the pod has what its fabric needs",
        /// `onConflict: tcp`.
        FabricFellBack => "the pod gets the settings of plain TCP instead of its fabric",
        /// Configuration: `fabric.enabled: false`.
        FabricOff => "fabrics are switched off in the configuration",
        /// No label, and no default in the configuration.
        FabricNotNamed => "neither pod nor namespace names a fabric",
        /// The word `none`.
        FabricOptedOut => "the label trainmesh.dev/fabric says none",
        /// No profile is called so.
        UnknownFabric => "no fabric has this name",
        /// `namespaces` of the profile.
        FabricNotAllowed => "the profile is for other namespaces, and the pod is left as it is",
        /// A launcher, say.
        NoAccelerator => "no container asks for an accelerator that the fabric is for",
        /// `minGpus` or `fullNodeGpus` of the profile.
        TooFewAccelerators => "the fabric is for pods with more accelerators",
        /// The user's text and the profile exclude each other.
        FabricContradicted => "the pod contradicts its fabric and is left as it is",
        /// The cluster would reject the pod, or never start it.
        FabricGuarded => "a guard of the fabric says no, and the pod is left as it is",
        /// The profile has changed while a job runs.
        FabricOfSiblings => "living pods of the job carry another fabric, and the pod is left as it is",

        /// Label `trainmesh.dev/managed` was written.
        HelpersManaged => "the controller ends the pod's helpers when its payload has ended",
        /// The label is there already.
        ManagedAlready => "the pod is labelled trainmesh.dev/managed already",
        /// Nobody but proxy and payload.
        NoHelpers => "the pod has no helpers beside a proxy",
        /// Its restart policies say so.
        PayloadNeverEnds => "a payload container is always started again",
        /// Configuration: `termination.enabled: false`.
        TerminationOff => "termination is switched off in the configuration",
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl From<Exclusion> for Reason {
    fn from(why: Exclusion) -> Self {
        match why {
            Exclusion::NamespaceNotOptedIn => Self::NamespaceNotOptedIn,
            Exclusion::PodOptedOut => Self::PodOptedOut,
            Exclusion::ExcludedNamespace => Self::ExcludedNamespace,
        }
    }
}
